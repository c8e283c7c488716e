"""The browser's microphone as a Streamlit component: `take = arrived("mic")`, then `recorder("mic")` draws it."""

import base64
import binascii
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

HERE = Path(__file__).parent
MOST = 4 * 2**20  # characters; ten seconds at 96 kHz in base64 are 2.6 million, and any client can send anything
REMEMBERED = 16  # takes; the browser sends one again only until it is told that it has arrived
NAME = re.compile(r"[0-9a-f-]{36}")
_component = st.components.v2.component(
    "tmlcd_recorder",
    js=(HERE / "recorder.js").read_text(encoding="utf-8"),
    css=(HERE / "recorder.css").read_text(encoding="utf-8"),
)


@dataclass(frozen=True)
class Recording:
    """One take as the browser sent it."""

    wav: bytes
    long: bool


def recorder(key: str, *, prompt: str = "", blocked: str = "", long: bool = False) -> None:
    """Show the recorder, after `arrived` has taken in what it sent: it is told that this has come.

    `prompt` says what to say; with `blocked`, a sentence, nothing can be recorded; `long` offers takes of ten seconds.
    """
    data = {"prompt": prompt, "blocked": blocked, "long": long, "done": _done(key)}
    _component(key=key, data=data, on_take_change=lambda: None)


def arrived(key: str) -> Recording | None:
    """The take that has just come from the recorder: each once, however often the browser sends it."""
    sent = getattr(st.session_state.get(key), "take", None)
    if not isinstance(sent, dict):
        return None
    name = sent.get("id")
    done = _done(key)
    if not isinstance(name, str) or not NAME.fullmatch(name) or name in done:
        return None
    done.append(name)
    del done[:-REMEMBERED]
    return _recording(sent)


def _recording(sent: dict[str, Any]) -> Recording | None:
    text = sent.get("wav")
    if not isinstance(text, str) or len(text) > MOST:
        return None
    try:
        return Recording(base64.b64decode(text, validate=True), sent.get("kind") == "long")
    except (binascii.Error, ValueError):
        return None


def _done(key: str) -> list[str]:
    names: list[str] = st.session_state.setdefault(f"{key}:done", [])
    return names
