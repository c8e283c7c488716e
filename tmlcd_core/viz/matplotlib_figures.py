"""Matplotlib figures for print, slides and notebooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.detectors import ThresholdRow
from tmlcd_core.mcu import Bar
from tmlcd_core.mcu.boards import KB
from tmlcd_core.optional_packages import require
from tmlcd_core.viz.cusum import CusumState
from tmlcd_core.viz.mcu import PARTS, REST, in_kb, parts_of
from tmlcd_core.viz.palette import BLUE, GREY, SEQUENTIAL, VERMILLION, Style, styles
from tmlcd_core.viz.picture import CLASSES
from tmlcd_core.viz.player import Panel, PlayerRun

WIDTH = 7.5  # inches: a column of text on a screen or a page
MARKERS = ("o", "s", "D", "^", "P")  # of classes, in the order of CLASSES
MOST_POINTS = 1000  # per curve: more than there are pixels
GRID = 120  # points per side at which a classifier's regions are evaluated
BAND = 0.15  # opacity of a standard deviation


def _figure(height: float, **options: Any) -> tuple[Any, Any]:
    require("matplotlib")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, figure.subplots(squeeze=False, **options)


def timeline(run: PlayerRun) -> Any:
    """Return a figure of the player's charts one above the other, with true changes (grey) and alarms (triangles).

    Examples
    --------
    >>> panel = Panel("Accuracy", "accuracy", {"hybrid": np.linspace(0, 1, 50)})
    >>> len(timeline(PlayerRun("One chart", (panel,), ("hybrid",), changes=(20,))).axes)
    1
    """
    panels = [panel for panel in run.panels if panel.curves]
    figure, axes = _figure(0.6 + 1.5 * len(panels), nrows=len(panels), sharex=True)
    looks = styles(run.learners)
    for axis, panel in zip(axes[:, 0], panels, strict=True):
        _draw_panel(axis, panel, looks)
        for change in run.changes or ():
            axis.axvline(change, color=GREY, linewidth=1.2)
    lowest = axes[-1, 0]
    for learner, alarms in run.alarms.items():
        places = np.full(len(alarms), lowest.get_ylim()[0])
        lowest.plot(alarms, places, "^", color=looks[learner].colour, markersize=8, clip_on=False)
    lowest.set_xlabel(run.x_label, fontsize=9)
    axes[0, 0].legend(fontsize=8, loc="lower left", framealpha=0.8)
    return figure


def _draw_panel(axis: Any, panel: Panel, looks: Mapping[str, Style]) -> None:
    for learner, curve in panel.curves.items():
        look = looks[learner]
        kept = np.unique(np.linspace(0, len(curve) - 1, min(len(curve), MOST_POINTS)).astype(np.int64))
        # Matplotlib counts dashes in line widths.
        dashes = (0, tuple(length / 2 for length in look.dash)) if look.dash else "-"
        axis.plot(kept, curve[kept], color=look.colour, linestyle=dashes, linewidth=1.5, label=look.name)
        if learner in panel.deviation:
            low, high = (curve[kept] + sign * panel.deviation[learner][kept] for sign in (-1, 1))
            axis.fill_between(kept, low, high, color=look.colour, alpha=BAND, linewidth=0)
    if panel.threshold is not None:
        axis.axhline(panel.threshold, color=GREY, linestyle=":")
        place = {"xycoords": axis.get_yaxis_transform(), "ha": "right", "va": "bottom"}
        axis.annotate(panel.threshold_label, (1.0, panel.threshold), fontsize=8, color=GREY, **place)
    axis.set_ylim(panel.low, panel.high if panel.high != 1.0 else 1.02)
    axis.set_title(panel.title, fontsize=9, loc="left")
    _plain(axis)


def _plain(axis: Any) -> None:
    axis.tick_params(labelsize=8)
    axis.grid(alpha=0.25)
    axis.spines[["top", "right"]].set_visible(False)


@dataclass(frozen=True)
class Plane:
    """Samples in the plane, and the decision regions of a classifier.

    Parameters
    ----------
    title
        Title of the chart.
    X, y
        Points, shape (n, 2), and their labels, shape (n,).
    predict
        Function from points (m, 2) to labels (m,), for the coloured decision regions; None for none.
    marked
        Boolean mask, shape (n,), of the points to draw large; the others are pale. None marks none.

    Examples
    --------
    >>> from tmlcd_core import TinyKNN
    >>> X, y = np.array([[0.0, 0], [1, 1]]), np.array(["a", "b"])
    >>> len(planes([Plane("two points", X, y, TinyKNN(k=1).fit(X, y).predict)]).axes)
    1
    """

    title: str
    X: NDArray
    y: NDArray
    predict: Callable[[NDArray], NDArray] | None = None
    marked: NDArray | None = None


def planes(parts: Sequence[Plane]) -> Any:
    """Return a figure of planes side by side, on the same scale."""
    require("matplotlib")
    from matplotlib.colors import ListedColormap

    figure, axes = _figure(3.4, ncols=len(parts), sharex=True, sharey=True)
    everything = np.concatenate([part.X for part in parts])
    (left, bottom), (right, top) = everything.min(axis=0) - 0.3, everything.max(axis=0) + 0.3
    classes = np.unique(np.concatenate([part.y for part in parts])).tolist()
    ground = np.stack(np.meshgrid(np.linspace(left, right, GRID), np.linspace(bottom, top, GRID)), axis=-1)
    for axis, part in zip(axes[0], parts, strict=True):
        if part.predict is not None:
            predicted = np.searchsorted(classes, part.predict(ground.reshape(-1, 2))).reshape(GRID, GRID)
            colours = ListedColormap([CLASSES[number % len(CLASSES)] for number in range(len(classes))])
            axis.pcolormesh(
                ground[..., 0], ground[..., 1], predicted, cmap=colours, vmin=-0.5, vmax=len(classes) - 0.5, alpha=0.18,
                linewidth=0, rasterized=True,
            )  # fmt: skip
        marked = np.zeros(len(part.X), bool)
        marked[slice(None) if part.marked is None else part.marked] = True
        for number, label in enumerate(classes):
            turn = number % len(CLASSES)
            look = {"marker": MARKERS[turn], "color": CLASSES[turn], "linewidths": 0}
            pale, bold = (part.X[(part.y == label) & which] for which in (~marked, marked))
            axis.scatter(*pale.T, s=9, alpha=0.3, **look)
            axis.scatter(*bold.T, s=16 if part.marked is None else 38, alpha=0.85, label=str(label), **look)
        axis.set_title(part.title, fontsize=9, loc="left")
        axis.set_aspect("equal")
        _plain(axis)
    axes[0, 0].legend(fontsize=8, loc="upper left", framealpha=0.8)
    return figure


def matrix(state: CusumState) -> Any:
    """Return a heat map of S_j^t(v1) with its maximum marked."""
    figure, ((axis,),) = _figure(3.2)
    test, (row, column) = state.test, state.best
    limit = max(abs(float(state.matrix.max())), test.threshold)
    shown = axis.pcolormesh(
        test.candidates, state.starts, np.clip(state.matrix, -limit, limit), cmap=SEQUENTIAL.lower(), vmin=-limit,
        vmax=limit, shading="nearest", rasterized=True,
    )  # fmt: skip
    best = {"marker": "D", "facecolors": "none", "edgecolors": VERMILLION, "linewidths": 2.5, "s": 110}
    axis.scatter(test.candidates[column], state.starts[row], label="largest sum", **best)
    axis.axvline(test.accuracy_before, color=VERMILLION, linestyle=":", label="$\\upsilon_0$")
    axis.set_xlabel("accuracy after the change, $\\upsilon_1$", fontsize=9)
    axis.set_ylabel("first sample after the change, j", fontsize=9)
    axis.tick_params(labelsize=8)
    axis.legend(fontsize=8, loc="lower left")
    figure.colorbar(shown, label="$S_j^t(\\upsilon_1)$", extend="min")
    return figure


def thresholds(rows: Sequence[ThresholdRow], threshold: float) -> Any:
    """Return a chart of false-alarm rate and mean delay over the threshold, with the chosen one marked."""
    figure, axes = _figure(2.5, ncols=2)
    levels = [row.threshold for row in rows]
    series = (
        ("false-alarm rate, %", [100 * row.false_alarm_rate for row in rows], BLUE),
        ("mean delay, samples", [row.mean_delay for row in rows], VERMILLION),
    )
    for axis, (title, values, colour) in zip(axes[0], series, strict=True):
        axis.plot(levels, values, "o-", color=colour, markersize=3)
        axis.axvline(threshold, color=GREY, linestyle=":")
        axis.set_title(title, fontsize=9, loc="left")
        axis.set_xlabel("threshold h", fontsize=9)
        axis.set_ylim(bottom=0)
        _plain(axis)
    return figure


def memory(bars: Sequence[Bar]) -> Any:
    """Return a stacked bar chart of the needed RAM for each board, with the board's limit."""
    figure, ((axis,),) = _figure(3.2)
    sizes = [parts_of(bar) for bar in bars]
    foot = np.zeros(len(bars))
    for part in [*PARTS, REST]:
        heights = np.array([size[part] for size in sizes]) / KB
        colour = PARTS[part][0] if part in PARTS else GREY
        axis.bar(range(len(bars)), heights, 0.55, foot, label=part, color=colour)
        foot += heights
    for place, bar in enumerate(bars):
        axis.hlines(bar.limit / KB, place - 0.4, place + 0.4, color=GREY, linestyle="--")
        top = (place, max(bar.limit / KB, foot[place]))
        axis.annotate(f"RAM {in_kb(bar.limit)}", top, ha="center", va="bottom", fontsize=8)
    axis.set_xticks(range(len(bars)), [bar.board for bar in bars])
    axis.set_ylim(0, 1.12 * max(max(bar.limit for bar in bars) / KB, foot.max()))
    axis.set_ylabel("KB of 1,024 bytes", fontsize=9)
    axis.legend(fontsize=8)
    _plain(axis)
    return figure
