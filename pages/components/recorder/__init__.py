"""Microphone recorder as a Streamlit component: `take = arrived("mic")`, then `recorder("mic")` draws it."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from tmlcd_core.viz.recorder import REMEMBERED, SentTake, recorder_script, recorder_style, sent_take

_component = st.components.v2.component("tmlcd_recorder", js=recorder_script(), css=recorder_style())


@dataclass(frozen=True)
class Recording(SentTake):
    """Take sent by the browser, which resends it until it is acknowledged."""

    done: list[str]

    def acknowledge(self) -> None:
        """Mark the take as processed, so that the recorder stops resending it."""
        self.done.append(self.id)
        del self.done[:-REMEMBERED]


def recorder(
    key: str,
    *,
    prompt: str = "",
    word: str = "",
    blocked: str = "",
    long: bool = False,
    answer: str = "",
    bars: Sequence[tuple[str, float]] = (),
    hearing: str = "",
) -> None:
    """Show the recorder; call `arrived` first, so that it receives the acknowledgements.

    `prompt` tells the visitor what to say, and each take returns `word`. `blocked` is a message that disables
    recording. `long` offers takes of ten seconds. `bars` are the votes of the last answer, word and share 0..1, shown
    for a moment when the id `answer` changes. While a word is said, the sound so far is sent to the address `hearing`,
    which answers with the probability of each word; the bars show it.
    """
    data = {"prompt": prompt, "word": word, "blocked": blocked, "long": long, "answer": answer, "bars": list(bars)}
    _component(key=key, data=data | {"hearing": hearing, "done": _done(key)}, on_take_change=lambda: None)


def arrived(key: str) -> Recording | None:
    """Return the take sent by the recorder; None if there is none or it is already acknowledged.

    Acknowledge it directly after processing: a call to Streamlit in between may end the script run.
    """
    done = _done(key)
    sent = sent_take(getattr(st.session_state.get(key), "take", None))
    return None if sent is None or sent.id in done else Recording(**vars(sent), done=done)


def _done(key: str) -> list[str]:
    names: list[str] = st.session_state.setdefault(f"{key}:done", [])
    return names
