"""Choose a clip or a picture: a word that is spoken, a ready-made clip, a digit, or a file of one's own."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.shell.url_widgets import checked, faults_as_messages
from tmlcd_core.datasets import DigitsSource, load_pack
from tmlcd_core.datasets.speech import SpeechSource
from tmlcd_core.errors import DataError
from tmlcd_core.features import image_size, load_clip, load_fitted, load_image

WORD, BUNDLED, DIGIT, FILE = "A spoken word", "A ready-made clip", "A handwritten digit", "Your file"
SOUNDS, PICTURES = ("wav", "flac", "ogg", "mp3"), ("jpg", "jpeg", "png")
MAX_MB = 10
CLEAR = "stop 1"  # the first that is shown: it has no noise, so every step is plain to see
LARGE = 512  # pixels: a larger picture is cropped before anything is done to it
VOICES = 383  # a word is said in up to 385 voices, pitches and paces
WRITERS = 170  # every digit was written more often than that
LAST, DECODED = "medium:last", "medium:decoded"
MISSING = "What the sidebar asks for is missing: this stands in for it."


class Medium(NamedTuple):
    """A clip (samples,) at 22,050 Hz or a uint8 picture, another one of its class if there is one, and a remark."""

    data: NDArray
    alike: NDArray | None = None
    remark: str = ""

    @property
    def is_sound(self) -> bool:
        return self.data.dtype != np.uint8


def pick_input() -> Medium:
    """Draw the widgets; while what they say is unusable, their message stands and the last medium stays."""
    with faults_as_messages():
        if (chosen := _chosen()) is not None:
            st.session_state[LAST] = chosen
            return chosen
    last = st.session_state.get(LAST) or Medium(*_digits().media("0", [0, 1]))
    return last._replace(remark=MISSING)


def _chosen() -> Medium | None:
    ready = _bundled()
    kinds = (*((BUNDLED,) if ready else ()), WORD, DIGIT, FILE)
    kind = checked(st.selectbox, "Take", kinds, key="medium", help="Any clip or picture goes the same way.")
    if kind == WORD:
        word = checked(st.text_input, "Word", "yes", key="say", help="Any word of up to a second; eSpeak NG says it.")
        voice = checked(st.number_input, "Voice", 0, VOICES, 0, key="voice", help="Speaker, pitch and pace.")
        return Medium(*_spoken(word, int(voice)))
    if kind == BUNDLED:
        names = tuple(ready)
        first = names.index(CLEAR) if CLEAR in names else 0
        return Medium(*map(load_clip, ready[checked(st.selectbox, "Clip", names, index=first, key="clip")]))
    if kind == DIGIT:
        digit = checked(st.selectbox, "Digit", _digits().classes, key="digit")
        writer = int(checked(st.number_input, "Writer", 0, WRITERS, 0, key="writer", help="Which picture of it."))
        return Medium(*_digits().media(digit, [writer, writer + 1]))
    return _uploaded()


def _uploaded() -> Medium | None:
    file = st.file_uploader("File", [*SOUNDS, *PICTURES], key="medium:file", max_upload_size=MAX_MB)
    st.caption(f"Of {', '.join(SOUNDS)} the first second, of {', '.join(PICTURES)} the middle is taken.")
    if file is None:
        return None
    if file.size > MAX_MB * 2**20:
        raise DataError(f"the file has {file.size / 2**20:.1f} MB: give at most {MAX_MB} MB")
    known = st.session_state.get(DECODED)
    if known is None or known[0] != file.file_id:  # once, not with every click on the page
        known = st.session_state[DECODED] = file.file_id, _decoded(file.name, file.getvalue())
    return known[1]


def _decoded(name: str, content: bytes) -> Medium:
    if name.lower().endswith(SOUNDS):
        return Medium(load_clip(content))
    width, height = image_size(content)
    if max(width, height) <= LARGE:
        return Medium(load_image(content))
    return Medium(load_fitted(content), remark=f"Your picture of {width:,} × {height:,} pixels is cropped first.")


@st.cache_data(max_entries=64, show_spinner="Speaking the word …")
def _spoken(word: str, voice: int) -> NDArray[np.float32]:
    return SpeechSource([word]).media(word, [voice, voice + 1])


@st.cache_resource(max_entries=1, show_spinner="Opening the digits …")
def _digits() -> DigitsSource:
    return DigitsSource()


@st.cache_resource(max_entries=1, show_spinner=False)
def _bundled() -> dict[str, tuple[Path, ...]]:
    """The clips of the pack by name, each with another one of its word."""
    try:
        clips = load_pack().clips
    except DataError:
        return {}
    pairs = {word: (*paths, *paths[:1]) for word, paths in clips.items()}
    return {f"{word} {i + 1}": pair[i : i + 2] for word, pair in pairs.items() for i in range(len(pair) - 1)}
