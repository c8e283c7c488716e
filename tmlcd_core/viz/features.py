"""Charts of feature extraction step by step: description, output size and figure of each step."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.features import AudioStages, Extractor, load_stem
from tmlcd_core.features.extractor import PAPER_FILTER
from tmlcd_core.features.images import IMAGE_SIZE
from tmlcd_core.features.spectrogram import frame_count
from tmlcd_core.features.stem import IMAGENET_MEAN, IMAGENET_STD, N_FILTERS
from tmlcd_core.optional_packages import require
from tmlcd_core.viz.palette import OLIVE, PURPLE, SEQUENTIAL, VERMILLION
from tmlcd_core.viz.plotly_json import Part, axis, axis_key, heading, on_axes, plotly_figure

FAINT = (1, 99)  # percentiles of the colour range, since the edges of a map would dominate it
DEAD = 1e-3  # |bn1 weight| below which a filter is dead
MAX_POINTS = 2000  # per line: more than the pixels of a screen
TILE = 10  # pixels from one filter to the next on the board of all 64: 7 of its own and room for its number
ALONE, STACKED = 175, 165  # px, height of a step's chart with one way, and of each of two
TWO_ROWS = ((0.62, 1), (0, 0.38))  # of a chart's height: the upper and the lower way
WEIGHTS = "RdBu"  # diverging, and safe for colour-blind readers

SECONDS: Part = {"title": "s"}
HIDDEN: Part = {"visible": False}


@dataclass(frozen=True, eq=False)
class Way:
    """Feature extraction of one clip or image with one extractor, with a label for comparison.

    Parameters
    ----------
    label
        Title of its half of a chart that compares two extractions.
    extractor
        Extractor with one filter.
    stages
        Result of each stage, from `Extractor.stages`.

    Examples
    --------
    >>> tone = np.sin(np.arange(22050) / 5).astype(np.float32)
    >>> way = Way.through(Extractor(), tone)
    >>> [step.size for step in steps([way])]
    ['22,050', '257 × 44', '257 × 44 × 3', '7 × 7 × 3', '65 × 11', '715']
    """

    label: str
    extractor: Extractor
    stages: Any

    @classmethod
    def through(cls, extractor: Extractor, medium: NDArray, label: str = "") -> Way:
        """Return the extraction of a clip (samples,) at the extractor's rate, or a uint8 image (height, width, 3)."""
        if medium.dtype == np.uint8:
            return cls(label, extractor, extractor.image_stages(medium))
        return cls(label, extractor, extractor.stages(medium))

    @property
    def features(self) -> NDArray[np.float32]:
        """Feature vector, shape (n_features,)."""
        return self.stages.maps.ravel()

    @property
    def filter(self) -> int:
        """Number of the filter."""
        return self.extractor.filters[0]


@dataclass(frozen=True, eq=False)
class ChainStep:
    """Step of the feature extraction: name, output size, one sentence and a Plotly figure."""

    name: str
    size: str
    text: str
    figure: Any


def distance(one: Way, other: Way) -> float | None:
    """Return the Euclidean distance of two feature vectors; None if they differ in length."""
    if one.features.shape != other.features.shape:
        return None
    return float(np.linalg.norm(one.features - other.features))


def dead_filters() -> tuple[int, ...]:
    """Return the dead filters, whose output is constant.

    >>> dead_filters()
    (2, 4, 7, 9, 13, 36, 38, 48)
    """
    return tuple(np.flatnonzero(np.abs(load_stem().weight) < DEAD).tolist())


def filter_name(number: int) -> str:
    """Return the label of a filter in a list."""
    return f"{number}{', the paper’s' * (number == PAPER_FILTER)}{', dead' * (number in dead_filters())}"


def mean_activations(extractor: Extractor, medium: NDArray) -> NDArray[np.float64]:
    """Return the mean activation of each of the 64 filters, (64,), on a clip (samples,) or image (height, width, 3)."""
    every = replace(extractor, filters=tuple(range(N_FILTERS)))
    return Way.through(every, medium).stages.maps.mean(axis=(1, 2), dtype=np.float64)


def envelope(values: NDArray, most: int = MAX_POINTS) -> tuple[NDArray, NDArray]:
    """Downsample values (n,) to at most `most`: minimum and maximum of equal intervals; return positions and values.

    >>> x, y = envelope(np.array([0, 3, 1, 1, -2, 0]), most=4)
    >>> x.tolist(), y.tolist()
    ([0, 1, 3, 4], [0, 3, 1, -2])
    """
    if len(values) <= most:
        return np.arange(len(values)), values
    edges = np.linspace(0, len(values), most // 2 + 1).astype(int)
    pairs = [sorted((a + int(values[a:b].argmin()), a + int(values[a:b].argmax()))) for a, b in pairwise(edges)]
    x = np.array(pairs).ravel()
    return x, values[x]


# ---------------------------------------------------------------- the steps


def steps(ways: Sequence[Way]) -> list[ChainStep]:
    """Return the six steps of one extraction, or of two of the same kind for comparison.

    Steps that are equal in both are drawn once.
    """
    early = _sound_steps if isinstance(ways[0].stages, AudioStages) else _picture_steps
    return [*early(unlike(ways)), *_shared_steps(ways)]


def unlike(ways: Sequence[Way]) -> Sequence[Way]:
    """Return the first extraction, and those whose input differs from its input."""
    entry = "waveform" if isinstance(ways[0].stages, AudioStages) else "image"
    begin = [getattr(way.stages, entry) for way in ways]
    return [
        ways[0],
        *(way for way, medium in zip(ways[1:], begin[1:], strict=True) if not np.array_equal(medium, begin[0])),
    ]


def sizes(extractor: Extractor, shape: Sequence[int]) -> str:
    """Return the output sizes of all steps as one line, for a clip (samples,) or an image (height, width, 3).

    >>> sizes(Extractor(), (22_050,)), sizes(Extractor(), (300, 200, 3))[-25:]
    ('22,050 → 257 × 44 → 257 × 44 × 3 → 65 × 11 → 715', '224 × 3 → 56 × 56 → 3,136')
    """
    if len(shape) == 1:
        plane = (extractor.n_fft // 2 + 1, frame_count(extractor.samples, extractor.n_fft, extractor.hop))
        along = [(extractor.samples,), plane, (*plane, 3)]
        maps = extractor.shape
    else:
        along = [tuple(shape), *[(IMAGE_SIZE, IMAGE_SIZE, 3)] * 2]
        maps = extractor.image_shape
    return " → ".join([*map(_times, along), _times(maps[1:]), f"{int(np.prod(maps)):,}"])


def _sound_steps(ways: Sequence[Way]) -> list[ChainStep]:
    rates = " or ".join(f"{rate:,}" for rate in dict.fromkeys(way.extractor.sample_rate for way in ways))
    window = 1000 * ways[0].extractor.n_fft / ways[0].extractor.sample_rate
    loudness = {"range": _limits([way.stages.waveform for way in ways], 0, 100)}
    # Plotly draws images with the first row at the top and square pixels; a spectrogram needs neither.
    hertz = [
        {"title": "Hz", "tickformat": "~s", "range": [0, way.extractor.sample_rate / 2], "scaleanchor": False}
        for way in ways
    ]
    return [
        ChainStep(
            "Sound",
            _sizes(ways, "waveform"),
            f"One second of sound: the air pressure, measured {rates} times.",
            _stack(ways, [_wave(way) for way in ways], SECONDS | {"range": [0, 1]}, [loudness] * len(ways)),
        ),
        ChainStep(
            "Spectrogram",
            _sizes(ways, "decibels"),
            f"The loudness of each frequency in windows of {window:.0f} ms, in decibels below the loudest.",
            _stack(ways, [_decibels(way) for way in ways], SECONDS, hertz),
        ),
        ChainStep(
            "Colours",
            _sizes(ways, "coloured"),
            "The network was trained on photographs, so each loudness becomes a colour (red, green, blue).",
            _stack(ways, [_coloured(way) for way in ways], SECONDS, hertz),
        ),
    ]


def _picture_steps(ways: Sequence[Way]) -> list[ChainStep]:
    texts = {
        "image": ("Image", "The input image: red, green and blue of each pixel."),
        "cropped": ("Crop", "The shorter side is resized to 224 pixels, and the middle is cropped."),
        "normalised": ("Normalised", "Each colour minus its mean, divided by its deviation, both over ImageNet."),
    }
    found = []
    for stage, (name, text) in texts.items():
        pixels = [getattr(way.stages, stage) for way in ways]
        traces = [_picture(_visible(one) if stage == "normalised" else one) for one in pixels]
        found.append(ChainStep(name, _sizes(ways, stage), text, _stack(ways, traces, HIDDEN, [HIDDEN] * len(ways))))
    return found


def _shared_steps(ways: Sequence[Way]) -> list[ChainStep]:
    filters = list(dict.fromkeys(way.filter for way in ways))
    sound = isinstance(ways[0].stages, AudioStages)
    every = [way.features for way in ways]
    across, up = SECONDS, [{"title": "Hz", "tickformat": "~s"}] * len(ways)
    if not sound:
        across = HIDDEN | {"constrain": "domain"}
        up = [HIDDEN | {"autorange": "reversed", "scaleanchor": axis("x", i)} for i in range(len(ways))]
    numbers = [{"range": _limits(every, 0, 100)}] * len(ways)
    limits = _limits(every, *FAINT)
    return [
        ChainStep(
            f"Filter {' and '.join(str(number) for number in filters)}",
            "7 × 7 × 3",
            "The convolution moves these 147 weights over the colours in steps of two and sums the products.",
            filter_figure(filters, upwards=sound),
        ),
        ChainStep(
            "Feature map",
            " | ".join(dict.fromkeys(_times(way.stages.maps.shape[1:]) for way in ways)),
            "After the convolution: negative values become zero (ReLU), then the maximum of each 3 × 3 cells is kept.",
            _stack(ways, [_map(way, limits) for way in ways], across, up),
        ),
        ChainStep(
            "Features",
            " | ".join(dict.fromkeys(f"{len(way.features):,}" for way in ways)),
            "The feature map, row by row. This vector is the input of the learner.",
            _stack(ways, [_numbers(way) for way in ways], {"title": "position in the vector"}, numbers),
        ),
    ]


def _sizes(ways: Sequence[Way], stage: str) -> str:
    return " | ".join(dict.fromkeys(_times(getattr(way.stages, stage).shape) for way in ways))


def _times(shape: Sequence[int]) -> str:
    return " × ".join(f"{size:,}" for size in shape)


def _limits(parts: Sequence[NDArray], low: float, high: float) -> list[float]:
    """Percentiles over all parts, so that two extractions share a colour scale; never an empty range."""
    least, most = np.percentile(np.concatenate(parts), [low, high]).tolist()
    return [least, most] if most > least else [least - 1, most + 1]


# ---------------------------------------------------------------- the figures


def _stack(ways: Sequence[Way], traces: Sequence[Part], x: Part, y: Sequence[Part]) -> Any:
    """One chart, or one for each extraction below each other."""
    two = len(ways) > 1
    layout: Part = {"annotations": []}
    data = []
    for i, (way, trace) in enumerate(zip(ways, traces, strict=True)):
        data.append(trace | on_axes(i))
        domain = TWO_ROWS[i] if two else (0, 1)
        named = {"title": {"text": x.get("title", ""), "standoff": 6} if way is ways[-1] else None}
        layout[axis_key("x", i)] = x | named | {"anchor": axis("y", i)}
        layout[axis_key("y", i)] = y[i] | {"domain": domain, "anchor": axis("x", i)}
        if two:
            layout["annotations"].append(heading(way.label, 0.5, domain[1]))
    return _laid_out(data, layout, STACKED * 2 if two else ALONE, top=22 if two else 6)


def _laid_out(data: list[Part], layout: Part, height: int, top: int) -> Any:
    margin = {"l": 6, "r": 6, "t": top, "b": 6}
    return plotly_figure(
        data, layout | {"height": height, "margin": margin, "showlegend": False, "uirevision": "steps"}
    )


def _wave(way: Way) -> Part:
    x, y = envelope(way.stages.waveform)
    seconds = (x / way.extractor.sample_rate).astype(np.float32)
    return _line(seconds, y, "%{x:.3f} s: %{y:.3f}<extra></extra>")


def _numbers(way: Way) -> Part:
    return _line(*envelope(way.features), "number %{x}: %{y:.3f}<extra></extra>")


def _line(x: NDArray, y: NDArray, tip: str) -> Part:
    look = {"color": PURPLE, "width": 1}
    return {"type": "scatter", "x": x, "y": y, "mode": "lines", "line": look, "hovertemplate": tip}


def _cell(way: Way) -> tuple[float, float]:
    """Cell size of a spectrogram in seconds and hertz."""
    e = way.extractor
    return e.hop / e.sample_rate, e.sample_rate / e.n_fft


def _decibels(way: Way) -> Part:
    seconds, hertz = _cell(way)
    return {
        "type": "heatmap", "x0": 0, "dx": seconds, "y0": 0, "dy": hertz,
        "z": np.rint(way.stages.decibels).astype(np.int8), "zmin": -80, "zmax": 0, "colorscale": "gray",
        "colorbar": {"thickness": 8, "title": {"text": "dB"}, "tickvals": [-80, -40, 0]},
        "hovertemplate": "%{x:.2f} s, %{y:,.0f} Hz: %{z} dB<extra></extra>",
    }  # fmt: skip


def _coloured(way: Way) -> Part:
    seconds, hertz = _cell(way)
    return _picture(way.stages.coloured * 255) | {"x0": 0, "dx": seconds, "y0": 0, "dy": hertz}


def _picture(pixels: NDArray) -> Part:
    require("PIL")
    from PIL import Image

    out = io.BytesIO()
    Image.fromarray(np.rint(pixels).astype(np.uint8)).save(out, "PNG")
    source = "data:image/png;base64," + base64.b64encode(out.getvalue()).decode()
    return {"type": "image", "source": source, "hovertemplate": "red, green, blue: %{color}<extra></extra>"}


def _visible(normalised: NDArray[np.float32]) -> NDArray[np.float32]:
    """Normalised colours scaled to 0..255: the lowest and highest value that any channel can have."""
    low = min(-m / s for m, s in zip(IMAGENET_MEAN, IMAGENET_STD, strict=True))
    high = max((1 - m) / s for m, s in zip(IMAGENET_MEAN, IMAGENET_STD, strict=True))
    return (normalised - low) / (high - low) * 255


def _map(way: Way, limits: list[float]) -> Part:
    found: Part = {
        "type": "heatmap", "z": way.stages.maps[0], "zmin": limits[0], "zmax": limits[1], "colorscale": SEQUENTIAL,
        "colorbar": {"thickness": 8, "nticks": 4}, "hovertemplate": "%{z:.3f}<extra></extra>",
    }  # fmt: skip
    if isinstance(way.stages, AudioStages):
        seconds, hertz = _cell(way)
        found |= {"x0": 0, "dx": 4 * seconds, "y0": 0, "dy": 4 * hertz}
        found["hovertemplate"] = "about %{x:.2f} s, %{y:,.0f} Hz: %{z:.3f}<extra></extra>"
    return found


def filter_figure(filters: Sequence[int], upwards: bool) -> Any:
    """Return a Plotly figure of the weights of filters: one row of red, green and blue for each.

    `upwards` draws the first row at the bottom, as in a spectrogram.
    """
    kernels = load_stem().conv1[list(filters)]
    top = float(np.abs(kernels).max())
    two = len(filters) > 1
    data: list[Part] = []
    layout: Part = {
        "annotations": [],
        "coloraxis": {"colorscale": WEIGHTS, "cmin": -top, "cmax": top, "colorbar": {"thickness": 8, "nticks": 4}},
    }
    for row, (number, planes) in enumerate(zip(filters, kernels, strict=True)):
        for column, plane in enumerate(planes):
            i = len(data)
            x, y = axis("x", i), axis("y", i)
            tip = "%{z:.4f}<extra></extra>"
            data.append({"type": "heatmap", "z": plane, "coloraxis": "coloraxis", "xaxis": x, "yaxis": y,
                         "hovertemplate": tip})  # fmt: skip
            down, left = TWO_ROWS[row] if two else (0, 1), column * 0.34
            layout[axis_key("x", i)] = HIDDEN | {"constrain": "domain", "domain": [left, left + 0.32],
                                                             "anchor": y}  # fmt: skip
            layout[axis_key("y", i)] = HIDDEN | {
                "constrain": "domain", "constraintoward": "top", "domain": down, "scaleanchor": x, "anchor": x,
                "autorange": True if upwards else "reversed",
            }  # fmt: skip
            name = ("red", "green", "blue")[column] + f" {number}" * two
            layout["annotations"].append(heading(name, left + 0.16, down[1]))
    return _laid_out(data, layout, STACKED * 2 if two else ALONE, top=22)


def board_figure(chosen: Sequence[int]) -> Any:
    """Return a Plotly figure of all 64 filters; dead ones are crossed out, selected ones framed."""
    conv, dead, side = load_stem().conv1, dead_filters(), int(N_FILTERS**0.5)
    middle = 3 + TILE * np.stack(np.unravel_index(np.arange(N_FILTERS), (side, side)))
    board = np.zeros((TILE * side, TILE * side, 4))  # transparent between the tiles
    for number, (row, column) in enumerate(middle.T):
        scale = np.abs(conv).max() if number in dead else np.abs(conv[number]).max()
        tile = board[row - 3 : row + 4, column - 3 : column + 4]
        tile[..., :3] = 127.5 + 127.5 * conv[number].transpose(1, 2, 0) / scale
        tile[..., 3] = 255
    names = [filter_name(number) for number in range(N_FILTERS)]
    quiet = {"type": "scatter", "hoverinfo": "skip"}
    data = [
        _picture(board) | {"hoverinfo": "skip", "hovertemplate": None},
        {"type": "scatter", "x": middle[1], "y": middle[0], "mode": "markers", "marker": {"size": 30, "opacity": 0},
         "text": names, "hovertemplate": "filter %{text}<extra></extra>"},
        quiet | {"x": middle[1], "y": middle[0] + 5, "mode": "text", "text": [str(n) for n in range(N_FILTERS)],
                 "textfont": {"size": 10}},
    ]  # fmt: skip
    for numbers, symbol, size in ((dead, "x-thin", 18), (chosen, "square-open", 36)):
        at = middle[:, list(numbers)]
        mark = {"symbol": symbol, "size": size, "color": VERMILLION, "line": {"width": 3, "color": VERMILLION}}
        data.append(quiet | {"x": at[1], "y": at[0], "mode": "markers", "marker": mark})
    ends = {"xaxis": HIDDEN | {"range": [-2, TILE * side - 2]}, "yaxis": HIDDEN | {"range": [TILE * side, -2]}}
    return _laid_out(data, ends, 380, top=6)


def activation_figure(means: NDArray[np.float64], chosen: Sequence[int]) -> Any:
    """Return a Plotly chart of the mean activation of each filter, `means` (64,), with the chosen ones highlighted."""
    colours = np.where(np.isin(np.arange(N_FILTERS), list(chosen)), VERMILLION, OLIVE)
    bars = {
        "type": "bar", "x": np.arange(N_FILTERS), "y": means, "marker": {"color": colours},
        "text": [filter_name(number) for number in range(N_FILTERS)], "textposition": "none",
        "hovertemplate": "filter %{text}: %{y:.3f}<extra></extra>",
    }  # fmt: skip
    return _laid_out([bars], {"xaxis": {"title": "filter"}, "yaxis": {"title": "mean activation"}}, 380, top=6)
