"""Canvas player of a run as a Streamlit component: `position = player(run, key="lab")`."""

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal

import streamlit as st

from tmlcd_core.viz.player import PlayerRun, player_script, player_style

LEAD = 1 / 6  # of the run, before its first change: 2.5 s at the initial speed

_component = st.components.v2.component("tmlcd_player", js=player_script(), css=player_style())
# Hands the picture and the sound of a sample to the player, which asked for them.
_medium = st.components.v2.component(
    "tmlcd_medium",
    js="""export default ({ data }) => {
  if (data) dispatchEvent(new CustomEvent("tmlcd-medium", { detail: data }));
};""",
)


def give_medium(place: int, picture: str, sound: str | None) -> None:
    """Give the player the picture and the sound (data URLs) of the sample at `place`, initial samples first."""
    _medium(key="lab medium", data={"place": place, "picture": picture, "sound": sound})


def player(
    run: PlayerRun,
    key: str,
    *,
    start: Literal["change", "end"] | int = "end",
    autoplay: bool = False,
    speed: float | None = None,
    height: int | None = None,
    reports: bool = False,
    links: Mapping[str, Mapping[str, str]] | None = None,
    tools: Mapping[str, Any] | None = None,
    on_ask: Mapping[str, Callable[[], None]] | None = None,
) -> int | None:
    """Show a run and return the sample at the cursor; None before the player has reported a position.

    Parameters
    ----------
    run : PlayerRun
        Curves, marks and table.
    key : str
        Streamlit key. A new run under the same key keeps the position of the cursor.
    start : "change", "end" or int
        First position, used when the player appears; "change": shortly before the first true change, or the beginning.
    autoplay : bool
        Play when the player appears.
    speed : float, optional
        Samples per second until the user chooses a speed.
    height : int, optional
        Height of a chart in px.
    reports : bool
        Report the position to the server, and rerun the page, when the user pauses, steps or releases the slider and
        when a new run moves the cursor.
    links : mapping, optional
        Addresses by learner: "alarm" with {sample}, for the alarms, and "memory" with {size}, for |T|.
    tools : mapping, optional
        Further tools: "keep" and "link" (True), "world" (pairs of a drift and its label), and "learner" (name and
        label of a learner to add with one click).
    on_ask : mapping, optional
        Callbacks of "world", "learner" and "look"; the values are in `st.session_state[key]`.
    """
    before_change = max(0, min(run.changes or (0,)) - round(LEAD * run.length))
    first = {"change": before_change, "end": run.length - 1}.get(start, start) if isinstance(start, str) else start
    options = {"links": links or {}, "tools": tools or {}}
    data = run.pack(start=first, autoplay=autoplay, speed=speed, height=height, reports=reports, **options)
    asked = {f"on_{name}_change": callback for name, callback in (on_ask or {}).items()}
    state = _component(key=key, data=data, default={"position": None}, on_position_change=lambda: None, **asked)
    position = state.position
    # Validate the value: a client can send anything.
    if not isinstance(position, int | float) or isinstance(position, bool) or not math.isfinite(position):
        return None
    return max(0, min(run.length - 1, int(position)))
