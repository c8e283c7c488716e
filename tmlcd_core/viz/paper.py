"""The paper's two figures from results: Plotly to look into, Matplotlib to print."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.experiments import Curve, Results
from tmlcd_core.experiments.paper.configurations import Configuration
from tmlcd_core.viz.palette import Style, styles

MOST_POINTS = 600  # per curve in the interactive figure: what a screen can show, and a small file
BAND = 0.15  # opacity of the standard deviation


@dataclass(frozen=True)
class Line:
    """One curve with its spread and its look."""

    style: Style
    curve: Curve


@dataclass(frozen=True)
class Panel:
    """One chart: lines over the same samples, and where the changes are."""

    title: str
    unit: str
    lines: list[Line]
    changes: tuple[int, ...]


def algorithm_panels(results: Results, configurations: Sequence[Configuration]) -> list[tuple[Panel, Panel]]:
    """Accuracy and memory of every learner, for each configuration."""
    found = []
    for one in configurations:
        looks = styles(one.experiment.learners)
        accuracy = [Line(look, results.accuracy(one.experiment, name)) for name, look in looks.items()]
        sizes = [Line(look, results.sizes(one.experiment, name)) for name, look in looks.items()]
        changes = one.experiment.scenario.changes
        found.append(
            (Panel(one.title, "accuracy", accuracy, changes), Panel(one.title, "|T|, samples", sizes, changes))
        )
    return found


def approximation_panels(results: Results, configurations: Sequence[Configuration]) -> list[tuple[Panel, Panel]]:
    """The Hybrid's variants side by side, for each number of classes."""
    found = []
    for classes in sorted({one.experiment.scenario.start.size for one in configurations}):
        group = [one for one in configurations if one.experiment.scenario.start.size == classes]
        looks = list(styles(one.title for one in group).values())
        pairs = list(zip(looks, group, strict=True))
        accuracy = [Line(look, results.accuracy(one.experiment, "hybrid")) for look, one in pairs]
        sizes = [Line(look, results.sizes(one.experiment, "hybrid")) for look, one in pairs]
        title, changes = f"Speech, a class changes, {classes} classes", group[0].experiment.scenario.changes
        found.append(_pair(title, accuracy, sizes, changes))
    return found


def _pair(title: str, accuracy: list[Line], sizes: list[Line], changes: tuple[int, ...]) -> tuple[Panel, Panel]:
    return Panel(title, "accuracy", accuracy, changes), Panel(title, "|T|, samples", sizes, changes)


def interactive(panels: Sequence[tuple[Panel, Panel]]) -> Any:
    """A Plotly figure: one row for each configuration, accuracy on the left, memory on the right."""
    from plotly.subplots import make_subplots

    titles = [f"{panel.title}: {panel.unit}" for pair in panels for panel in pair]
    figure = make_subplots(rows=len(panels), cols=2, subplot_titles=titles, vertical_spacing=0.25 / len(panels))
    shown: set[str] = set()
    for row, pair in enumerate(panels, 1):
        for column, panel in enumerate(pair, 1):
            for line in panel.lines:
                for trace in _traces(line, line.style.name not in shown):
                    figure.add_trace(trace, row=row, col=column)
                shown.add(line.style.name)
            for change in panel.changes:
                figure.add_vline(change, line={"dash": "dot", "color": "#7F7F7F"}, row=row, col=column)
    figure.update_layout(height=340 * len(panels), template="plotly_white", hovermode="x unified")
    return figure


def _traces(line: Line, in_legend: bool) -> list[Any]:
    import plotly.graph_objects as go

    x = _thinned(len(line.curve.mean))
    mean, std = line.curve.mean[x], line.curve.std[x]
    colour, name = line.style.colour, line.style.name
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    band = go.Scatter(
        x=np.concatenate([x, x[::-1]]),
        y=np.concatenate([mean + std, (mean - std)[::-1]]).round(4),
        fill="toself",
        fillcolor=f"rgba({red},{green},{blue},{BAND})",
        line={"width": 0},
        hoverinfo="skip",
        legendgroup=name,
        showlegend=False,
    )
    dash = {"color": colour, "dash": line.style.plotly_dash, "width": 2}
    curve = go.Scatter(x=x, y=mean.round(4), name=name, legendgroup=name, showlegend=in_legend, line=dash)
    return [band, curve]


def _thinned(n: int) -> NDArray[np.int64]:
    return np.unique(np.linspace(0, n - 1, min(n, MOST_POINTS)).round().astype(np.int64))


def printable(panels: Sequence[tuple[Panel, Panel]]) -> Any:
    """The same as a Matplotlib figure."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 2.6 * len(panels)), layout="constrained")
    axes = figure.subplots(len(panels), 2, squeeze=False)
    for row, pair in zip(axes, panels, strict=True):
        for axis, panel in zip(row, pair, strict=True):
            for line in panel.lines:
                _draw(axis, line)
            for change in panel.changes:
                axis.axvline(change, color="#7F7F7F", linestyle=":", linewidth=1)
            axis.set_title(panel.title, fontsize=9)
            axis.set_ylabel(panel.unit, fontsize=8)
            axis.tick_params(labelsize=7)
            axis.grid(alpha=0.25)
        row[0].legend(fontsize=7, loc="lower left")
    for axis in axes[-1]:
        axis.set_xlabel("sample", fontsize=8)
    return figure


def _draw(axis: Any, line: Line) -> None:
    mean, std = line.curve.mean, line.curve.std
    x = np.arange(len(mean))
    # Matplotlib counts dashes in line widths.
    dashes = (0, tuple(length / 2 for length in line.style.dash)) if line.style.dash else "-"
    axis.plot(x, mean, color=line.style.colour, linestyle=dashes, linewidth=1.4, label=line.style.name)
    axis.fill_between(x, mean - std, mean + std, color=line.style.colour, alpha=BAND, linewidth=0)


def write_figure(folder: Path, name: str, panels: Sequence[tuple[Panel, Panel]]) -> list[Path]:
    """`name`.html (self-contained), .png and .svg."""
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / f"{name}.html"
    interactive(panels).write_html(page, include_plotlyjs=True, full_html=True)
    figure = printable(panels)
    paths = [page]
    for kind in ("png", "svg"):
        paths.append(folder / f"{name}.{kind}")
        # No date inside: the same results give the same file.
        figure.savefig(paths[-1], dpi=150, metadata={"Date": None} if kind == "svg" else None)
    return paths
