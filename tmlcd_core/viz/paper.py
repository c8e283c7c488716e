"""The paper's two figures from results, in Plotly and Matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.experiments import Curve, Results
from tmlcd_core.optional_packages import require
from tmlcd_core.paper.configurations import PaperConfiguration
from tmlcd_core.viz.palette import GREY, Style, styles
from tmlcd_core.viz.plotly_json import Part, axis, axis_key, heading, on_axes, plotly_figure, upright

MOST_POINTS = 600  # per curve in a figure, for a small file
KEPT_POINTS = 150  # per curve in the included results
CHART = 300  # px, height of a chart alone
BAND = 0.15  # opacity of the standard deviation


@dataclass(frozen=True)
class CurveLine:
    """Curve of a chart with its standard deviation and style."""

    style: Style
    curve: Curve


@dataclass(frozen=True)
class FigurePanel:
    """Chart of a figure: lines over the samples `x`, and the changes."""

    title: str
    unit: str
    lines: list[CurveLine]
    changes: tuple[int, ...]
    x: NDArray[np.int64]

    def thinned(self, most: int) -> FigurePanel:
        """Return the panel downsampled to at most so many points."""
        kept = np.unique(np.linspace(0, len(self.x) - 1, min(len(self.x), most)).round().astype(np.int64))
        lines = [CurveLine(one.style, Curve(one.curve.mean[kept], one.curve.std[kept])) for one in self.lines]
        return replace(self, lines=lines, x=self.x[kept])


Pair = tuple[FigurePanel, FigurePanel]  # accuracy and memory


def algorithm_panels(results: Results, configurations: Sequence[PaperConfiguration]) -> list[Pair]:
    """Return the panels of accuracy and memory of every learner, for each configuration."""
    found = []
    for one in configurations:
        looks = styles(one.experiment.learners)
        accuracy = [CurveLine(look, results.accuracy(one.experiment, name)) for name, look in looks.items()]
        sizes = [CurveLine(look, results.sizes(one.experiment, name)) for name, look in looks.items()]
        found.append(_pair(one.title, accuracy, sizes, results.runs(one.experiment)[0].changes))
    return found


def approximation_panels(results: Results, configurations: Sequence[PaperConfiguration]) -> list[Pair]:
    """Return the panels that compare the variants of Hybrid, for each number of classes."""
    found = []
    for classes in sorted({one.experiment.classes for one in configurations}):
        group = [one for one in configurations if one.experiment.classes == classes]
        looks = list(styles(one.title for one in group).values())
        pairs = list(zip(looks, group, strict=True))
        accuracy = [CurveLine(look, results.accuracy(one.experiment, "hybrid")) for look, one in pairs]
        sizes = [CurveLine(look, results.sizes(one.experiment, "hybrid")) for look, one in pairs]
        title, changes = f"Speech, a class changes, {classes} classes", results.runs(group[0].experiment)[0].changes
        found.append(_pair(title, accuracy, sizes, changes))
    return found


def _pair(title: str, accuracy: list[CurveLine], sizes: list[CurveLine], changes: tuple[int, ...]) -> Pair:
    x = np.arange(len(sizes[0].curve.mean))
    return FigurePanel(title, "accuracy", accuracy, changes, x), FigurePanel(title, "|T|, samples", sizes, changes, x)


def to_json(panels: Sequence[Pair]) -> list[list[dict[str, Any]]]:
    """Return the panels as JSON values with few points, for a small file."""
    return [[_panel_json(panel.thinned(KEPT_POINTS)) for panel in pair] for pair in panels]


def _panel_json(panel: FigurePanel) -> dict[str, Any]:
    lines = [
        {
            **asdict(line.style),
            "mean": [None if v != v else round(v, 4) for v in line.curve.mean.tolist()],
            "std": [None if v != v else round(v, 4) for v in line.curve.std.tolist()],
        }
        for line in panel.lines
    ]
    return {
        "title": panel.title,
        "unit": panel.unit,
        "changes": list(panel.changes),
        "x": panel.x.tolist(),
        "lines": lines,
    }


def from_json(found: Sequence[Sequence[Mapping[str, Any]]]) -> list[Pair]:
    """Return the panels of values made by `to_json`."""
    return [(_panel_of(accuracy), _panel_of(sizes)) for accuracy, sizes in found]


def _panel_of(found: Mapping[str, Any]) -> FigurePanel:
    lines = [
        CurveLine(
            Style(one["name"], one["short"], one["colour"], tuple(one["dash"])),
            Curve(np.array(one["mean"], np.float64), np.array(one["std"], np.float64)),
        )
        for one in found["lines"]
    ]
    return FigurePanel(found["title"], found["unit"], lines, tuple(found["changes"]), np.array(found["x"], np.int64))


def interactive_panels(panels: Sequence[Sequence[FigurePanel]]) -> Any:
    """Return a Plotly figure with one row per configuration: accuracy on the left, memory on the right."""
    rows = len(panels)
    gap = 0.25 / rows
    high = (1 - gap * (rows - 1)) / rows
    data: list[Part] = []
    layout: Part = {"height": 340 * rows, "hovermode": "x unified", "shapes": [], "annotations": []}
    shown: set[str] = set()
    places = [(row, column, panel) for row, line in enumerate(panels) for column, panel in enumerate(line)]
    for number, (row, column, whole) in enumerate(places):
        top = 1 - row * (high + gap)
        across = [(column + (0.1 if column else 0)) / len(panels[row]), 0.0]
        across[1] = across[0] + (1 - 0.1 * (len(panels[row]) - 1)) / len(panels[row])
        panel = whole.thinned(MOST_POINTS)
        for line in panel.lines:
            data += [trace | on_axes(number) for trace in _traces(panel.x, line, line.style.name not in shown)]
            shown.add(line.style.name)
        layout["shapes"] += [upright(change, GREY, number) for change in panel.changes]
        layout["annotations"].append(heading(f"{panel.title}: {panel.unit}", sum(across) / 2, top))
        layout[axis_key("x", number)] = {"domain": across, "anchor": axis("y", number)}
        layout[axis_key("y", number)] = {"domain": (max(0.0, top - high), top), "anchor": axis("x", number)}
    return plotly_figure(data, layout)


def chart(panel: FigurePanel) -> Any:
    """Return a Plotly figure of a single chart with the legend below it, for narrow layouts."""
    figure = interactive_panels([[panel]])
    legend = {"orientation": "h", "y": -0.12}
    return figure.update_layout(height=CHART, margin={"l": 6, "r": 6, "t": 28, "b": 6}, legend=legend)


def panel_in_words(panel: FigurePanel) -> str:
    """Return a text alternative of a chart: first and last value of each line."""
    ends = [
        f"{line.style.name} from {line.curve.mean[~np.isnan(line.curve.mean)][0]:.3g} to {line.curve.mean[-1]:.3g}"
        for line in panel.lines
    ]
    changes = ", ".join(map(str, panel.changes)) or "none"
    return f"{panel.title}: {panel.unit}. {'; '.join(ends)}. Changes at sample: {changes}."


def _traces(x: NDArray[np.int64], line: CurveLine, in_legend: bool) -> list[Part]:
    mean, std = line.curve.mean, line.curve.std
    drawn = ~np.isnan(mean)
    x, mean, std = x[drawn], mean[drawn], std[drawn]
    colour, name = line.style.colour, line.style.name
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    band = {
        "type": "scatter",
        "x": np.concatenate([x, x[::-1]]),
        "y": np.concatenate([mean + std, (mean - std)[::-1]]).astype(np.float32),
        "fill": "toself",
        "fillcolor": f"rgba({red},{green},{blue},{BAND})",
        "line": {"width": 0},
        "hoverinfo": "skip",
        "legendgroup": name,
        "showlegend": False,
    }
    dash = {"color": colour, "dash": line.style.plotly_dash, "width": 2}
    curve = {
        "type": "scatter", "x": x, "y": mean.round(4), "name": name, "legendgroup": name, "showlegend": in_legend,
        "line": dash,
    }  # fmt: skip
    return [band, curve]


def printed_panels(panels: Sequence[Pair]) -> Any:
    """Return the panels as a Matplotlib figure."""
    require("matplotlib")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 2.6 * len(panels)), layout="constrained")
    axes = figure.subplots(len(panels), 2, squeeze=False)
    for row, pair in zip(axes, panels, strict=True):
        for chart, whole in zip(row, pair, strict=True):
            panel = whole.thinned(MOST_POINTS)
            for line in panel.lines:
                _draw(chart, panel.x, line)
            for change in panel.changes:
                chart.axvline(change, color=GREY, linestyle=":", linewidth=1)
            chart.set_title(panel.title, fontsize=9)
            chart.set_ylabel(panel.unit, fontsize=8)
            chart.tick_params(labelsize=7)
            chart.grid(alpha=0.25)
        row[0].legend(fontsize=7, loc="lower left")
    for chart in axes[-1]:
        chart.set_xlabel("sample", fontsize=8)
    return figure


def _draw(chart: Any, x: NDArray[np.int64], line: CurveLine) -> None:
    mean, std = line.curve.mean, line.curve.std
    # Matplotlib counts dashes in line widths.
    dashes = (0, tuple(length / 2 for length in line.style.dash)) if line.style.dash else "-"
    chart.plot(x, mean, color=line.style.colour, linestyle=dashes, linewidth=1.4, label=line.style.name)
    chart.fill_between(x, mean - std, mean + std, color=line.style.colour, alpha=BAND, linewidth=0)


def write_figure(folder: Path, name: str, panels: Sequence[Pair]) -> list[Path]:
    """Write the figure as `name`.html (self-contained), .png and .svg; return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / f"{name}.html"
    interactive_panels(panels).update_layout(template="plotly_white").write_html(
        page, include_plotlyjs=True, full_html=True
    )
    figure = printed_panels(panels)
    paths = [page]
    for kind in ("png", "svg"):
        paths.append(folder / f"{name}.{kind}")
        # No date inside: the same results give the same file.
        figure.savefig(paths[-1], dpi=150, metadata={"Date": None} if kind == "svg" else None)
    return paths
