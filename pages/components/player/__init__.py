"""The canvas player as a Streamlit component: `position = player(run, key="lab")`."""

import math
from pathlib import Path
from typing import Literal

import streamlit as st

from tmlcd_core.viz.player import PlayerRun

HERE = Path(__file__).parent
_component = st.components.v2.component(
    "tmlcd_player",
    js=(HERE / "player.js").read_text(encoding="utf-8"),
    css=(HERE / "player.css").read_text(encoding="utf-8"),
)


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
    """Show a run and return the sample under the cursor; None before the player has told where it stands.

    With `reports` the position comes back when the user pauses, steps or lets go of the scrubber, and when another
    run moves the cursor; the page then runs again. Without, the server stays idle. `start` and `autoplay` count when
    the player first appears; a later run under the same key goes on where it stood. `speed` (samples per second)
    counts until the user chooses one.
    """
    first = {"begin": 0, "end": run.length - 1}.get(start, start) if isinstance(start, str) else start
    data = run.pack(start=first, autoplay=autoplay, speed=speed, height=height, reports=reports)
    state = _component(key=key, data=data, default={"position": None}, on_position_change=lambda: None)
    position = state.position
    # What comes from a browser is checked: any client can send anything.
    if not isinstance(position, int | float) or isinstance(position, bool) or not math.isfinite(position):
        return None
    return max(0, min(run.length - 1, int(position)))
