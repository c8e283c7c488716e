"""Takes to see, to hear, to move and to drop, as a Streamlit component."""

import base64
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import streamlit as st

HERE = Path(__file__).parent
_component = st.components.v2.component(
    "tmlcd_take_gallery",
    js=(HERE / "take_gallery.js").read_text(encoding="utf-8"),
    css=(HERE / "take_gallery.css").read_text(encoding="utf-8"),
)


@dataclass(frozen=True)
class Card:
    """One take: its picture as a data address, a label and a note below it, and what it is called for the blind."""

    id: str
    picture: str
    alt: str
    label: str = ""
    note: str = ""


@dataclass(frozen=True)
class Group:
    """Takes under one title."""

    title: str
    takes: Sequence[Card]
    note: str = ""


@dataclass(frozen=True)
class Wish:
    """What a visitor wants done with a take."""

    what: Literal["drop", "move"]
    id: str
    word: str = ""


def take_gallery(
    key: str,
    groups: Sequence[Group],
    sound: Callable[[str], bytes],
    *,
    words: Sequence[str] = (),
    drops: bool = False,
    flow: bool = False,
) -> Wish | None:
    """Show takes and return what is wished, once. A click plays one: `sound` gives its WAV file when it is wanted.

    With `drops` a take can be dropped; with `words` it can be moved to one of them; `flow` puts groups side by side.
    """
    shown = {card.id for group in groups for card in group.takes}
    sent = getattr(st.session_state.get(key), "event", None)
    event = sent if isinstance(sent, dict) else {}
    what, name, word = event.get("what"), event.get("id"), event.get("word", "")
    data = {"groups": [asdict(group) for group in groups], "words": list(words), "drops": drops, "flow": flow}
    known = isinstance(name, str) and name in shown  # what comes from a browser is checked
    if known and what == "play":
        try:
            wav = base64.b64encode(sound(name)).decode()
        except KeyError:  # dropped meanwhile, in another tab: the whole page is drawn again
            st.rerun()
        data["sound"] = {"id": name, "turn": str(event.get("turn")), "wav": wav}
    _component(key=key, data=data, on_event_change=lambda: None)
    if known and what == "drop" and drops:
        return Wish("drop", name)
    if known and what == "move" and word in words:
        return Wish("move", name, word)
    return None
