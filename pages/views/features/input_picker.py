"""Input of the page From sound to features: a spoken word, a ready-made clip, a digit, or a file."""

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
CLEAR = "stop 1"  # shown first: it has no noise, so every step is easy to see
LARGE = 512  # pixels: a larger picture is cropped first
VOICES = 383  # a word has up to 385 combinations of speaker, pitch and speed
WRITERS = 170  # every digit has more pictures than that
LAST, DECODED = "medium:last", "medium:decoded"
MISSING = "The input chosen in the sidebar is missing. This is the last one, or an example."


class Medium(NamedTuple):
    """Clip (samples,) at 22,050 Hz or uint8 picture (height, width, 3), another one of its class, and a remark."""

    data: NDArray
    alike: NDArray | None = None
    remark: str = ""

    @property
    def is_sound(self) -> bool:
        """True for a clip, False for a picture."""
        return self.data.dtype != np.uint8


def pick_input() -> Medium:
    """Draw the widgets and return their input; on an error show a message and return the last valid input."""
    with faults_as_messages():
        if (chosen := _chosen()) is not None:
            st.session_state[LAST] = chosen
            return chosen
    last = st.session_state.get(LAST) or Medium(*_digits().media("0", [0, 1]))
    return last._replace(remark=MISSING)


def _chosen() -> Medium | None:
    ready = _bundled()
    kinds = (*((BUNDLED,) if ready else ()), WORD, DIGIT, FILE)
    kind = checked(st.selectbox, "Input", kinds, key="medium", help="Clips and pictures go through the same steps.")
    if kind == WORD:
        word = checked(
            st.text_input, "Word", "yes", key="say", help="Any word of up to one second, spoken by eSpeak NG."
        )
        voice = checked(st.number_input, "Voice", 0, VOICES, 0, key="voice", help="Speaker, pitch and speed.")
        return Medium(*_spoken(word, int(voice)))
    if kind == BUNDLED:
        names = tuple(ready)
        first = names.index(CLEAR) if CLEAR in names else 0
        return Medium(*map(load_clip, ready[checked(st.selectbox, "Clip", names, index=first, key="clip")]))
    if kind == DIGIT:
        digit = checked(st.selectbox, "Digit", _digits().classes, key="digit")
        writer = int(checked(st.number_input, "Writer", 0, WRITERS, 0, key="writer", help="Number of the picture."))
        return Medium(*_digits().media(digit, [writer, writer + 1]))
    return _uploaded()


def _uploaded() -> Medium | None:
    file = st.file_uploader("File", [*SOUNDS, *PICTURES], key="medium:file", max_upload_size=MAX_MB)
    st.caption(f"Sound ({', '.join(SOUNDS)}): first second. Picture ({', '.join(PICTURES)}): middle part.")
    if file is None:
        return None
    if file.size > MAX_MB * 2**20:
        raise DataError(f"the file has {file.size / 2**20:.1f} MB: upload at most {MAX_MB} MB")
    known = st.session_state.get(DECODED)
    if known is None or known[0] != file.file_id:  # decode it once, not in every rerun
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
    """Return the clips of the pack by name, each followed by another clip of its word."""
    try:
        clips = load_pack().clips
    except DataError:
        return {}
    pairs = {word: (*paths, *paths[:1]) for word, paths in clips.items()}
    return {f"{word} {i + 1}": pair[i : i + 2] for word, pair in pairs.items() for i in range(len(pair) - 1)}
