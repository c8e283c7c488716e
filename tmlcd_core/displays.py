"""Display of experiments and results in notebooks. The drawing is in `tmlcd_core.viz.notebook`, loaded on first use."""

from __future__ import annotations

import html
import importlib
from collections.abc import Mapping, Sequence
from typing import Any


def notebook() -> Any:
    """Return the module `tmlcd_core.viz.notebook`."""
    return importlib.import_module("tmlcd_core.viz.notebook")


class Playable:
    """Result over time that a notebook can draw (`plot`) or play (`play`)."""

    def plot(self) -> Any:
        """Return a matplotlib figure: accuracy, samples in T and CUSUM statistic over time, as far as known."""
        return notebook().figure_of(self)

    def play(self, **options: Any) -> Any:
        """Return the player as a Jupyter widget; see `tmlcd_core.viz.notebook.player_widget` for the options."""
        return notebook().player_widget(self, **options)


def html_table(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return an HTML table; the first column is the head of its row."""
    top = "".join(f'<th style="text-align:left">{html.escape(str(head))}</th>' for head in heads)
    lines = "".join(
        f'<tr><th style="text-align:left">{html.escape(str(first))}</th>'
        + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in cells)
        + "</tr>"
        for first, *cells in rows
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table>"


def settings_table(caption: str, values: Mapping[str, Any]) -> str:
    """Return an HTML table of settings by name."""
    return f"<b>{html.escape(caption)}</b>" + html_table(("setting", "value"), [*values.items()])
