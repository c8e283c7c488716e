"""Canvas player of a run as a Streamlit component: `position = player(run, key="lab")`."""

import math
from typing import Literal

import streamlit as st

from tmlcd_core.viz.player import PlayerRun, script, style

_component = st.components.v2.component("tmlcd_player", js=script(), css=style())


def player(
    run: PlayerRun,
    key: str,
    *,
    start: Literal["begin", "end"] | int = "end",
    autoplay: bool = False,
    speed: float | None = None,
    height: int | None = None,
    reports: bool = False,
) -> int | None:
    """Show a run and return the sample at the cursor; None before the player has reported a position.

    Parameters
    ----------
    run : PlayerRun
        Curves, marks and table.
    key : str
        Streamlit key. A new run under the same key keeps the position of the cursor.
    start : "begin", "end" or int
        First position, used when the player appears.
    autoplay : bool
        Play when the player appears.
    speed : float, optional
        Samples per second until the user chooses a speed.
    height : int, optional
        Height of a chart in px.
    reports : bool
        Report the position to the server, and rerun the page, when the user pauses, steps or releases the slider and
        when a new run moves the cursor.
    """
    first = {"begin": 0, "end": run.length - 1}.get(start, start) if isinstance(start, str) else start
    data = run.pack(start=first, autoplay=autoplay, speed=speed, height=height, reports=reports)
    state = _component(key=key, data=data, default={"position": None}, on_position_change=lambda: None)
    position = state.position
    # Validate the value: a client can send anything.
    if not isinstance(position, int | float) or isinstance(position, bool) or not math.isfinite(position):
        return None
    return max(0, min(run.length - 1, int(position)))
