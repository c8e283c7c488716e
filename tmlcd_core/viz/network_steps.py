"""Figures of the network trained on speech for one clip: word, mel spectrogram, layers and vector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.features.speech_extractor import SpeechExtractor, word_of
from tmlcd_core.features.voice import VOICE_RATE, speech_network
from tmlcd_core.features.voice.extractors import centred
from tmlcd_core.viz.features import ChainStep, envelope
from tmlcd_core.viz.palette import PURPLE, SEQUENTIAL
from tmlcd_core.viz.plotly_json import Part, plotly_figure

HEIGHT, LAYER_HEIGHT = 220, 420  # px
ACROSS = 8  # channels in a row of the mosaic
GAP = 1  # cells between two channels


@dataclass(frozen=True, eq=False)
class NetworkWay:
    """Extraction of one clip by the network: sound (25600,), mel frames (frames, 32), layers and features (96,).

    `layers` are the outputs of the 20 layers, each (channels, time, frequency).

    Examples
    --------
    >>> way = network_way(np.sin(np.arange(16_000) / 5).astype(np.float32))
    >>> len(way.layers), way.features.shape
    (20, (96,))
    """

    sound: NDArray[np.float32]
    frames: NDArray[np.float32]
    layers: list[NDArray[np.float32]]
    features: NDArray[np.float32]


def network_way(clip: NDArray[np.float32]) -> NetworkWay:
    """Return the extraction of a clip (samples,) at 16 kHz with all its steps."""
    sound = centred(word_of(clip))
    frames = speech_network.mel_frames(sound)
    layers = [layer[0] for layer in speech_network.layer_outputs(frames[None])]
    return NetworkWay(sound, frames, layers, SpeechExtractor().transform(clip)[0])


def network_steps(way: NetworkWay) -> list[ChainStep]:
    """Return the steps before and after the layers: the word, its mel spectrogram, and the vector."""
    place, level = envelope(way.sound)
    at, value = np.arange(len(way.features)), way.features
    frames, bands = way.frames.shape
    windows = way.layers[-1].shape[1]
    return [
        ChainStep(
            "Word",
            f"{len(way.sound):,}",
            "The word is found, placed in the middle of 1.6 seconds and scaled to one loudness.",
            _chart(_line(place / VOICE_RATE, level), "s"),
        ),
        ChainStep(
            "Mel spectrogram",
            f"{bands} × {frames}",
            "The loudness in 32 bands that are as wide as the ear hears them, every 10 ms.",
            _chart(_heat(way.frames.T), "frame (10 ms)", "band"),
        ),
        ChainStep(
            "Features",
            f"{len(value)}",
            f"The mean of the last layer over {windows} places in time, minus the mean over many words, with length 1.",
            _chart(_line(at, value), "position in the vector"),
        ),
    ]


def layer_figure(way: NetworkWay, layer: int) -> Any:
    """Return a figure with all channels of a layer, counted from 1, side by side; low frequencies at the bottom."""
    trace = _heat(mosaic(way.layers[layer - 1])) | {"showscale": False}
    hidden = {"visible": False}
    return plotly_figure([trace], _layout(LAYER_HEIGHT) | {"xaxis": hidden, "yaxis": hidden})


def mosaic(channels: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return channels (c, time, frequency) as one picture (height, width), `ACROSS` in a row, the first at the top.

    Each channel is scaled to 0..1; the cells between two channels are nan.

    >>> mosaic(np.zeros((9, 4, 3), np.float32)).shape
    (7, 39)
    """
    count, width, height = channels.shape
    columns, rows = min(count, ACROSS), -(-count // ACROSS)
    found = np.full((rows * (height + GAP) - GAP, columns * (width + GAP) - GAP), np.nan, np.float32)
    for i, channel in enumerate(channels):
        row, column = rows - 1 - i // ACROSS, i % ACROSS  # row 0 of a heat map is at the bottom
        low, high = channel.min(), channel.max()
        top, left = row * (height + GAP), column * (width + GAP)
        found[top : top + height, left : left + width] = (channel.T - low) / max(high - low, np.float32(1e-9))
    return found


def layer_text(way: NetworkWay, layer: int) -> str:
    """Return the size of a layer's output in words; layers count from 1."""
    channels, time, frequency = way.layers[layer - 1].shape
    pooled = ", after a max-pool" * (layer - 1 in speech_network.POOLS)
    return f"{channels} channels of {frequency} × {time} (frequency × time){pooled}"


def _line(x: NDArray, y: NDArray) -> Part:
    return {"type": "scatter", "x": x, "y": y, "mode": "lines", "line": {"color": PURPLE, "width": 1}}


def _heat(values: NDArray[np.float32]) -> Part:
    return {"type": "heatmap", "z": values, "colorscale": SEQUENTIAL, "showscale": False, "hoverinfo": "skip"}


def _chart(trace: Part, across: str, up: str = "") -> Any:
    axes = {"xaxis": {"title": {"text": across, "standoff": 6}}, "yaxis": {"title": {"text": up}}}
    return plotly_figure([trace], _layout(HEIGHT) | axes)


def _layout(height: int) -> Part:
    return {"height": height, "margin": {"l": 6, "r": 6, "t": 6, "b": 6}, "showlegend": False, "uirevision": "network"}
