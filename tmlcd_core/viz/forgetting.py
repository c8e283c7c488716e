"""Picture of the study of forgetting: accuracy gained by forgetting against the share of T that a change affected."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tmlcd_core.optional_packages import require
from tmlcd_core.paper.forgetting import OWN, PERFECT, Forgetting, ForgettingCase, title
from tmlcd_core.paper.study import Gain
from tmlcd_core.viz.palette import BLUE, GREEN, GREY, PURPLE, VERMILLION
from tmlcd_core.viz.plotly_json import Part, axis, axis_key, heading, on_axes, plotly_figure

ROWS = {PERFECT: "perfect alarm", OWN: "Hybrid's own alarm"}
COLUMNS = {"rotated": "Labels rotated (wrong)", "replaced": "Classes replaced (useless)"}
COLOURS = (BLUE, VERMILLION, GREEN, PURPLE)  # of the data, in their order; of λ if all are of the same data
SYMBOLS = {2: ("circle", "o"), 3: ("square", "s"), 5: ("diamond", "D"), 10: ("triangle-up", "^")}  # of λ
OTHER_SYMBOL = ("x", "X")  # the first is Plotly's name, the second Matplotlib's
APART = 0.006  # of the share, between lines that would hide each other
HEIGHT = 620  # px
X_TITLE, Y_TITLE = "share of T affected", "accuracy gained"


@dataclass(frozen=True)
class Series:
    """Points of one dataset and λ in one panel, by share."""

    name: str
    colour: str
    symbol: tuple[str, str]
    shift: float
    cases: list[ForgettingCase]
    gains: list[Gain]

    @property
    def x(self) -> list[float]:
        """Share of T affected, moved by the shift."""
        return [round(case.share + self.shift, 4) for case in self.cases]

    @property
    def y(self) -> list[float]:
        """Mean accuracy gained."""
        return [one.mean for one in self.gains]

    @property
    def errors(self) -> tuple[list[float], list[float]]:
        """Lengths of the error bars below and above the points."""
        return [one.mean - one.low for one in self.gains], [one.high - one.mean for one in self.gains]


def series(study: Forgetting, kind: str, part: str) -> Iterator[Series]:
    """Yield the lines of one panel: a kind of change and a part of the split."""
    data = list(dict.fromkeys(case.data for case in study.cases))
    groups = list(dict.fromkeys((case.data, case.classes) for case in study.cases))
    for number, (name, classes) in enumerate(groups):
        cases = [case for case in study.of(kind) if (case.data, case.classes) == (name, classes)]
        if any(case.affected for case in cases):  # no change at all is no line
            yield Series(
                f"{Path(name).name}, λ = {classes}",
                COLOURS[(data.index(name) if len(data) > 1 else number) % len(COLOURS)],
                SYMBOLS.get(classes, OTHER_SYMBOL),
                APART * (number - (len(groups) - 1) / 2),
                cases,
                [case.gain(part) for case in cases],
            )


def interactive_study(study: Forgetting) -> Any:
    """Return the Plotly figure: a column for each kind of change, a row for the perfect alarm and Hybrid's own."""
    data: list[Part] = []
    layout: Part = {"height": HEIGHT, "annotations": [], "shapes": [], "legend": {"orientation": "h", "y": -0.12}}
    layout["margin"] = {"l": 6, "r": 6, "t": 44, "b": 6}
    shown: set[str] = set()
    for number, (part, kind) in enumerate((part, kind) for part in ROWS for kind in COLUMNS):
        row, column = divmod(number, len(COLUMNS))
        for one in series(study, kind, part):
            data.append(_trace(one, one.name not in shown) | on_axes(number))
            shown.add(one.name)
        across, upwards = (0.0, 0.46) if column == 0 else (0.54, 1.0), (0.58, 1.0) if row == 0 else (0.0, 0.42)
        layout["annotations"].append(heading(f"{COLUMNS[kind]}<br>{ROWS[part]}", sum(across) / 2, upwards[1]))
        layout["shapes"].append(_zero(number))
        x: Part = {"domain": across, "anchor": axis("y", number), "range": (-0.05, 1.05)}
        x |= {"tickformat": ".0%"} | ({"title": {"text": X_TITLE}} if row else {})
        y: Part = {"domain": upwards, "anchor": axis("x", number), "tickformat": "+.2f"}
        y |= {"showticklabels": False} if column else {"title": {"text": Y_TITLE}}  # both columns have one scale
        layout[axis_key("x", number)] = x
        layout[axis_key("y", number)] = y | ({"matches": "y"} if number else {})
    return plotly_figure(data, layout)


def _trace(one: Series, in_legend: bool) -> Part:
    below, above = one.errors
    told = [f"{case.affected} of {case.classes} classes" for case in one.cases]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "x": one.x,
        "y": one.y,
        "error_y": {"type": "data", "array": above, "arrayminus": below, "thickness": 1, "width": 3},
        "line": {"color": one.colour, "width": 1},
        "marker": {"color": one.colour, "symbol": one.symbol[0], "size": 8},
        "name": one.name,
        "legendgroup": one.name,
        "showlegend": in_legend,
        "text": told,
        "hovertemplate": "%{text}: %{y:+.3f}<extra>" + one.name + "</extra>",
    }


def _zero(number: int) -> Part:
    line = {"color": GREY, "width": 1}
    span = {"x0": 0, "x1": 1, "xref": f"{axis('x', number)} domain", "y0": 0, "y1": 0, "yref": axis("y", number)}
    return {"type": "line", "line": line, **span}


def study_in_words(study: Forgetting) -> str:
    """Return a text alternative of the picture: the gain at the smallest and largest share of every line."""
    lines = [
        f"{COLUMNS[kind]}, {ROWS[part]}, {one.name}: from {one.y[0]:+.3f} to {one.y[-1]:+.3f}"
        for part in ROWS
        for kind in COLUMNS
        for one in series(study, kind, part)
    ]
    return f"{title(study)}. Accuracy gained by forgetting, by share of T affected. {'; '.join(lines)}."


def printed_study(study: Forgetting) -> Any:
    """Return the picture as a Matplotlib figure."""
    require("matplotlib")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 7), layout="constrained")
    figure.suptitle(title(study), fontsize=11)
    axes = figure.subplots(len(ROWS), len(COLUMNS), sharex=True, sharey=True)
    for row, (part, alarm) in zip(axes, ROWS.items(), strict=True):
        for chart, (kind, change) in zip(row, COLUMNS.items(), strict=True):
            chart.axhline(0, color=GREY, linewidth=1)
            for one in series(study, kind, part):
                chart.errorbar(
                    one.x, one.y, one.errors, color=one.colour, marker=one.symbol[1], markersize=4, linewidth=0.8,
                    elinewidth=0.8, capsize=2, label=one.name,
                )  # fmt: skip
            chart.set_title(f"{change}; {alarm}", fontsize=9)
            chart.tick_params(labelsize=8)
            chart.grid(alpha=0.25)
        row[0].set_ylabel(Y_TITLE, fontsize=8)
    for chart in axes[-1]:
        chart.set_xlabel(X_TITLE, fontsize=8)
    axes[0][0].legend(fontsize=7)
    return figure


def write_picture(folder: Path, study: Forgetting, name: str = "forgetting") -> list[Path]:
    """Write the picture as `name`.html (self-contained), .png and .svg; return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.{kind}" for kind in ("html", "png", "svg")]
    page = interactive_study(study).update_layout(template="plotly_white", title=title(study), margin={"t": 80})
    page.write_html(paths[0], include_plotlyjs=True, full_html=True)
    figure = printed_study(study)
    for path in paths[1:]:
        # No date inside: the same results give the same file.
        figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)
    return paths
