"""The canvas player as a Streamlit component: `position = player(run, key="lab")`."""

from collections.abc import Callable
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
    on_move: Callable[[], None] | None = None,
) -> int:
    """Show a run and return the sample under the cursor.

    The position comes back when the user pauses, steps or lets go of the scrubber, and the page then runs
    again; with `on_move=None` the player keeps it to itself and the server stays idle. `start` and
    `autoplay` count when the player first appears; a later run under the same key goes on where it stood. `speed`
    (samples per second) counts until the user chooses one.
    """
    first = {"begin": 0, "end": run.length - 1}.get(start, start) if isinstance(start, str) else start
    data = run.pack(start=first, autoplay=autoplay, speed=speed, height=height, reports=on_move is not None)
    state = _component(key=key, data=data, default={"position": first}, on_position_change=on_move or (lambda: None))
    position = state.position
    # What comes from a browser is checked: any client can send anything.
    if not isinstance(position, int | float) or isinstance(position, bool) or position != position:
        position = first
    return max(0, min(run.length - 1, int(position)))
