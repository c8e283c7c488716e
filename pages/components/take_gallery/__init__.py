"""Gallery of takes as a Streamlit component: view, play, relabel and delete."""

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
    """One take: id, picture (data URL), text for screen readers, label and note."""

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
    """Action of the visitor on a take: delete it, or move it to another word."""

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
    """Show takes and return the visitor's action, once; None if there is none.

    A click plays a take: `sound` returns its WAV file by id. `drops` allows deleting takes, `words` allows moving them
    to one of these words, `flow` puts groups side by side.
    """
    shown = {card.id for group in groups for card in group.takes}
    sent = getattr(st.session_state.get(key), "event", None)
    event = sent if isinstance(sent, dict) else {}
    what, name, word = event.get("what"), event.get("id"), event.get("word", "")
    data = {"groups": [asdict(group) for group in groups], "words": list(words), "drops": drops, "flow": flow}
    known = isinstance(name, str) and name in shown  # validate: a client can send anything
    if known and what == "play":
        try:
            wav = base64.b64encode(sound(name)).decode()
        except KeyError:  # deleted in another tab meanwhile: redraw the page
            st.rerun()
        data["sound"] = {"id": name, "turn": str(event.get("turn")), "wav": wav}
    _component(key=key, data=data, on_event_change=lambda: None)
    if known and what == "drop" and drops:
        return Wish("drop", name)
    if known and what == "move" and word in words:
        return Wish("move", name, word)
    return None
