"""Ready-made clips for users without a microphone: the clips of data/, and any other word spoken by eSpeak NG."""

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from tmlcd_core.datasets.espeak import SAMPLE_RATE
from tmlcd_core.datasets.speech import Recipe, SpeechSource
from tmlcd_core.features import EFFECTS
from tmlcd_core.live.drifts import COVERED

# One person in a quiet room, with some variation, like a real user; OTHER is the second speaker of the speaker drift.
PERSON = Recipe(
    voices=("en-gb-x-rp",),
    pitches=(35, 45, 55),
    rates=(105, 120, 135, 150),
    onset=(0.1, 0.2),
    peak=(0.2, 0.5),
    clean=0.3,
    level=0.1,
)
OTHER = Recipe(**{**PERSON.__dict__, "voices": ("en-us",), "pitches": (80, 90, 99)})


@st.cache_resource(max_entries=64, show_spinner="Speaking the word …")
def sample_clip(word: str, number: int, other: bool = False, covered: bool = False) -> tuple[NDArray[np.float32], int]:
    """Return clip `number` of a word, and its rate (Hz); by the other speaker, or with the microphone covered."""
    source = SpeechSource([word], recipe=OTHER if other else PERSON)
    clips = source.media(word, [number])
    if covered:
        effect, strength = COVERED
        clips = EFFECTS[effect](clips, strength, indices=[number], sample_rate=SAMPLE_RATE)
    return clips[0], SAMPLE_RATE
