"""Plotly figures from JSON in one call: it checks every later update on its own, which takes ten times as long."""

from __future__ import annotations

from typing import Any

from tmlcd_core.optional_packages import require

Part = dict[str, Any]  # a trace, an axis or a layout, as Plotly's JSON writes it


def plotly_figure(data: list[Part], layout: Part) -> Any:
    """The figure of these traces and this layout.

    >>> plotly_figure([{"type": "scatter", "y": [1, 2]}], {"height": 100}).layout.height
    100
    """
    require("plotly")
    import plotly.graph_objects as go

    return go.Figure(data, layout)


def axis(letter: str, number: int) -> str:
    """What a trace calls its axis, counted from 0: `x`, `x2`, …"""
    return f"{letter}{number + 1 if number else ''}"


def axis_key(letter: str, number: int) -> str:
    """What a layout calls that axis: `xaxis`, `xaxis2`, …"""
    return f"{letter}axis{number + 1 if number else ''}"


def on_axes(number: int) -> Part:
    """The part of a trace that puts it on the axes of this number."""
    return {"xaxis": axis("x", number), "yaxis": axis("y", number)}


def heading(text: str, x: float, y: float) -> Part:
    """Text above a part of the figure, whose middle and top are given as shares of its width and height."""
    place = {"xref": "paper", "yref": "paper", "x": x, "y": y, "xanchor": "center", "yanchor": "bottom"}
    return place | {"text": text, "showarrow": False}


def upright(x: float, colour: str, number: int = 0) -> Part:
    """A dotted line over the whole height of the axes of this number."""
    line = {"color": colour, "dash": "dot", "width": 2}
    span = {"x0": x, "x1": x, "y0": 0, "y1": 1, "xref": axis("x", number), "yref": f"{axis('y', number)} domain"}
    return {"type": "line", "line": line, **span}
