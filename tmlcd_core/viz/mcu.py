"""Charts and tables of microcontroller memory and of the accuracy of each configuration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tmlcd_core.mcu import (
    PAPER_TIMES,
    Accuracy,
    Bar,
    Budget,
    Case,
    FirmwareConfiguration,
    Fit,
    find_board,
    recorded,
    time_rows,
)
from tmlcd_core.mcu.board_choices import BoardChoice
from tmlcd_core.mcu.boards import KB
from tmlcd_core.viz.palette import GREY, OLIVE, PINK, PURPLE, SKY
from tmlcd_core.viz.plotly_json import Part, plotly_figure

# Parts of the bar: a colour not used by learners, and the rows of the table in this part.
PARTS = {
    "Audio": (SKY, ("Audio",)),
    "Spectrogram": (PURPLE, ("Spectrogram",)),
    "Filter, features": (PINK, ("Filter", "Features")),
    "Training set T": (OLIVE, ("Training set T", "History window W")),
}
MARGIN = {"l": 6, "r": 6, "t": 6, "b": 6}  # px
REST = "Not counted in the paper"
STAGES = {
    "spectrogram": "Spectrogram",
    "features": "Features",
    "knn_10": "Prediction, |T| = 10",
    "knn_50": "Prediction, |T| = 50",
    "worst": "Slowest update, |T| = 50",
}


def in_kb(size: float) -> str:
    """Return a size in bytes as text, in KB as in data sheets, or in MB and GB if it is larger than any board's.

    >>> in_kb(98304), in_kb(1500), in_kb(28_713_710_552)
    ('96 KB', '1.5 KB', '27 GB')
    """
    for unit, name in ((KB**3, "GB"), (KB**2, "MB")):
        if size >= 10 * unit:
            return f"{size / unit:,.0f} {name}"
    return f"{size / KB:,.0f} KB" if size % KB == 0 else f"{size / KB:,.1f} KB"


def parts_of(bar: Bar) -> dict[str, int]:
    """Return the bytes of each part of the figure's bar; other rows are summed in REST.

    >>> from tmlcd_core.mcu import ram_bars
    >>> parts = parts_of(ram_bars(FirmwareConfiguration())[0])
    >>> parts["Training set T"], sum(parts.values()) - parts[REST]
    (143400, 370744)
    """
    sizes = dict.fromkeys([*PARTS, REST], 0)
    for name, size in bar.parts:
        sizes[next((part for part, (_, rows) in PARTS.items() if name in rows), REST)] += size
    return sizes


def ram_figure(bars: Sequence[Bar]) -> Any:
    """Return a stacked Plotly bar chart of the needed RAM for each board, with the board's limit."""
    boards = [bar.board for bar in bars]
    sizes = [parts_of(bar) for bar in bars]
    data = [
        {
            "type": "bar",
            "x": boards,
            "y": np.array([size[part] for size in sizes]) / KB,
            "name": part,
            "marker": {"color": PARTS[part][0] if part in PARTS else GREY},
            "customdata": np.array([size[part] for size in sizes]),
            "hovertemplate": "%{x}<br>" + part + ": %{customdata:,} bytes<extra></extra>",
        }
        for part in [*PARTS, REST]
    ]
    shapes, notes = [], []
    for place, bar in enumerate(bars):
        limit = bar.limit / KB
        shapes.append({
            "type": "line", "x0": place - 0.45, "x1": place + 0.45, "y0": limit, "y1": limit,
            "line": {"width": 3, "dash": "dash", "color": GREY},
        })  # fmt: skip
        short = sum(sizes[place].values()) - bar.limit
        verdict = "fits" if short <= 0 else f"{in_kb(-(-short // KB) * KB)} short"  # whole KB: two boards stand close
        notes.append({
            "x": place, "y": max(bar.limit, bar.limit + short) / KB, "yanchor": "bottom", "showarrow": False,
            "text": f"RAM {in_kb(bar.limit)}<br><b>{verdict}</b>",
        })  # fmt: skip
    highest = max(max(bar.limit, sum(size.values())) for bar, size in zip(bars, sizes, strict=True))
    layout = {
        "barmode": "stack", "height": 420, "bargap": 0.35, "margin": MARGIN, "uirevision": "ram",
        "legend": {"orientation": "h", "y": -0.12, "traceorder": "normal"}, "shapes": shapes, "annotations": notes,
        "yaxis": {"title": {"text": "KB of 1,024 bytes"}, "range": [0, 1.17 * highest / KB]},
    }  # fmt: skip
    return plotly_figure(data, layout)


def bars_in_words(bars: Sequence[Bar]) -> str:
    """Return a text alternative of the RAM chart."""
    needed = [sum(size for _, size in bar.parts) for bar in bars]
    limits = (f"{bar.board} has {bar.limit:,} bytes of RAM" for bar in bars)
    return f"{needed[0]:,} bytes are needed; " + ", ".join(limits) + "."


def accuracy_figure(configuration: FirmwareConfiguration, found: Accuracy | None) -> Any:
    """Return a Plotly chart of the measured accuracy over |T| for both sampling rates; the chosen one is marked."""
    looks = {22_050: (PURPLE, "solid", "circle"), 4_410: (OLIVE, "dash", "square")}
    data: list[Part] = []
    for rate, (colour, dash, symbol) in looks.items():
        rows = [a for a in recorded() if (a.sample_rate, a.store) == (rate, configuration.store)]
        data.append({
            "type": "scatter",
            "x": np.array([a.samples for a in rows]),
            "y": np.array([a.accuracy for a in rows]),
            "name": f"{rate:,} Hz", "mode": "lines+markers", "line": {"color": colour, "dash": dash, "width": 3},
            "marker": {"symbol": symbol, "size": 9}, "hovertemplate": "|T| = %{x}: %{y:.1%}<extra></extra>",
        })  # fmt: skip
    if found is not None:
        mark = {"symbol": "circle-open", "size": 22, "color": GREY, "line": {"width": 3}}
        data.append({
            "type": "scatter", "x": np.array([found.samples]), "y": np.array([found.accuracy]), "mode": "markers",
            "marker": mark, "hoverinfo": "skip", "showlegend": False,
        })  # fmt: skip
    layout = {
        "height": 300, "margin": MARGIN, "uirevision": "accuracy", "legend": {"orientation": "h", "y": 1.12},
        "xaxis": {"title": {"text": "|T|"}, "range": [0, 210]},
        "yaxis": {"title": {"text": "accuracy"}, "tickformat": ".0%"},
    }  # fmt: skip
    return plotly_figure(data, layout)


def budget_table(table: Budget) -> dict[str, list[str]]:
    """Return Table 2 of a configuration: the paper's rows and sum, the rows that it does not count, and the total."""
    rows: list[tuple[str, str, int, str]] = []
    for row in (r for r in table.rows if r.in_paper):
        rows.append((row.name, row.size, row.bytes, row.note))
    rows.append(("Total, as the paper counts", "", table.total, ""))
    for row in (r for r in table.rows if not r.in_paper):
        rows.append((f"{row.name} +", row.size, row.bytes, row.note))
    rows.append(("Needed", "", table.needed, "with all that is marked +"))
    names, sizes, counts, notes = zip(*rows, strict=True)
    return {"": list(names), "Size": list(sizes), "Bytes": [f"{n:,}" for n in counts], "Note": list(notes)}


def choices_table(choices: Sequence[BoardChoice]) -> dict[str, list[str]]:
    """Return the table of front ends on boards, columns by name; the board's best one is marked."""
    return {
        "Board": [c.board.title for c in choices],
        "Front end": [f"{c.title}{' ★' if c.best else ''}" for c in choices],
        "Same voice": [f"{c.accuracy.same_voice:.1%}" for c in choices],
        "Another voice": [f"{c.accuracy.other_voice:.1%}" for c in choices],
        "RAM": [in_kb(c.ram) for c in choices],
        "Flash": [in_kb(c.flash) for c in choices],
        "Largest |T|": [f"{c.largest:,}" if c.fits else "does not fit" for c in choices],
        "Instructions per word": [f"{c.instructions.word:,}" for c in choices],
        "Time per word (estimate)": [f"{1000 * c.seconds:,.0f} ms" for c in choices],
    }


def best_in_words(choices: Sequence[BoardChoice]) -> str:
    """Return a Markdown list with the best front end of each board."""
    return "\n".join(
        f"- **{c.board.title}**: {c.title}. {c.accuracy.same_voice:.1%} of ten words right with your voice, "
        f"{c.accuracy.other_voice:.1%} with another one, after one take each; room for {c.largest:,} samples; about "
        f"{1000 * c.seconds:,.0f} ms per word (estimate)."
        for c in choices
        if c.best
    )


def page_and_chip(choices: Sequence[BoardChoice]) -> str:
    """Return the accuracies of page and chip on the same sound, and the predictions that differ, by front end."""
    heard = {c.title: c.accuracy for c in choices if c.accuracy.different}
    return "; ".join(
        f"{title}: {a.page_same:.1%} and {a.same_voice:.1%}, with another voice {a.page_other:.1%} and "
        f"{a.other_voice:.1%}, {a.different:,} predictions differ"
        for title, a in heard.items()
    )


def fit_table(fits: Sequence[Fit]) -> dict[str, list[str]]:
    """Return one row per board: whether the configuration fits, and the largest |T| that does."""
    return {
        "Board": [fit.board.title for fit in fits],
        "Cortex": [f"{fit.board.core.title().removeprefix('Cortex-')}, {fit.board.mhz:g} MHz" for fit in fits],
        "RAM": [in_kb(fit.board.ram) for fit in fits],
        "Fits": ["yes" if fit.fits else "no" for fit in fits],
        "Bytes free": [f"{fit.free:,}" for fit in fits],
        "Largest |T|": [f"{fit.largest:,}" if fit.largest else "none" for fit in fits],
    }


def paper_times() -> dict[str, list[str]]:
    """Return the paper's Table 3, in milliseconds."""
    return {
        "Board": [find_board(t.board).title for t in PAPER_TIMES],
        "Spectrogram": [f"{t.spectrogram}" for t in PAPER_TIMES],
        "Features": [f"{t.features}" for t in PAPER_TIMES],
        "kNN, |T| = 10": [f"{t.knn_10}" for t in PAPER_TIMES],
        "kNN, |T| = 50": [f"{t.knn_50}–{t.knn_50_worst}" for t in PAPER_TIMES],
    }


def stage_table(case: Case) -> dict[str, list[str]]:
    """Return the table of instructions (measured), milliseconds (estimated) and the paper's milliseconds by stage."""
    rows = time_rows([case])
    found = {
        "Stage": [STAGES[row.stage] for row in rows],
        "Instructions, measured": [f"{row.instructions:,}" for row in rows],
        "ms at 1 cycle each (estimate)": [f"{row.one_cycle_ms:.1f}" for row in rows],
        "ms at the paper's speed (estimate)": [f"{row.paper_pace_ms:.1f}" for row in rows],
    }
    if any(row.paper for row in rows):
        found["ms in the paper"] = [row.paper for row in rows]
    return found
