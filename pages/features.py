"""From sound to features page: every step of the feature extraction for one clip or picture."""

import hashlib
from typing import NamedTuple

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.shell.url_widgets import checked, chosen, faults_as_messages
from pages.views.features.input_picker import Medium, pick_input
from pages.views.features.network import show_network
from tmlcd_core.features import EFFECTS, EXTRACTORS, Extractor, make_clip
from tmlcd_core.features.extractor import PAPER_FILTER
from tmlcd_core.features.speech_extractor import PAPER_NAME
from tmlcd_core.viz import features as viz
from tmlcd_core.viz.medium import wav

NOTHING, DRIFT, OTHER, SLOW = "Nothing", "A drift at the source", "Another filter", "4,410 Hz"
RATE, SLOW_RATE, SLOW_WINDOW = 22_050, 4_410, 128  # Hz, Hz, samples (paper, Secs. 7.3 and 8)
FILTERS = tuple(viz.filter_name(number) for number in range(64))
RIVAL = 45  # highest mean activation before the max-pool
NETWORK_SIZES = "25,600 → 32 × 157 → 96"  # of the network trained on speech
CARDS = 3  # per row
AUDIO_WIDTH = 260  # px: two players fit beside the sizes
CONFIG = {"displaylogo": False, "displayModeBar": False}


def choose_filter(label: str, key: str, default: int) -> int:
    """Return the number of the chosen filter, 0 to 63."""
    told = "One of the 64 filters in ResNet-18's first layer. The paper keeps the most active one on photographs."
    return FILTERS.index(checked(st.selectbox, label, FILTERS, index=default, key=key, help=told))


class Start(NamedTuple):
    """Input of a feature extraction: clip (samples,) or picture (height, width, 3), extractor, and label."""

    medium: NDArray
    extractor: Extractor
    label: str

    def way(self) -> viz.Way:
        """Return the extraction with all its steps."""
        return viz.Way.through(self.extractor, self.medium, self.label)

    def key(self) -> str:
        """Return a cache key of all fields: Streamlit hashes only a sample of large arrays."""
        digest = hashlib.sha256(np.ascontiguousarray(self.medium)).hexdigest()
        return f"{digest} {self.medium.shape} {self.extractor.key} {self.label}"


def choose_starts(medium: Medium) -> list[Start]:
    """Return the input of one extraction, or of two to compare."""
    number = choose_filter("Filter", "filter", PAPER_FILTER)
    offered = (NOTHING, DRIFT, OTHER, *((SLOW,) if medium.is_sound else ()))
    beside = checked(
        st.selectbox, "Compare with", offered, key="beside", help="Show a second input or filter beside the first."
    )
    one = Extractor((number,))
    if beside == DRIFT:
        kind = "audio" if medium.is_sound else "image"
        names = tuple(name for name, effect in EFFECTS.items() if effect.kind == kind)
        effect = EFFECTS[checked(st.selectbox, "Drift", names, key=f"{kind}-drift")]
        strength = checked(st.slider, "Strength", 0.0, 1.0, 0.5, 0.05, key="amount", help="0 = none, 1 = full effect.")
        st.caption(effect.explanation)
        changed = effect(medium.data[None], strength, sample_rate=RATE)[0]
        return [Start(medium.data, one, "original"), Start(changed, one, f"{effect.name}, {strength:.0%}")]
    if beside == OTHER:
        other = choose_filter("Other filter", "other", RIVAL)
        return [Start(medium.data, Extractor((each,)), f"filter {each}") for each in (number, other)]
    if beside == SLOW:
        slow = Extractor((number,), SLOW_RATE, SLOW_WINDOW, SLOW_WINDOW)
        less = make_clip(medium.data, RATE, SLOW_RATE)
        return [Start(medium.data, one, "22,050 Hz"), Start(less, slow, "4,410 Hz")]
    return [Start(medium.data, one, "original")]


def compared(ways: list[viz.Way], medium: Medium) -> str:
    """Return the distance between two feature vectors as a sentence (Markdown)."""
    if ways[0].filter != ways[1].filter:
        return "Each filter detects a different pattern. With two filters, a sample has twice as many features."
    apart = viz.distance(*ways)
    if apart is None:
        a, b = (len(way.features) for way in ways)
        return f"A stored sample has {a} or {b} features. At the lower rate, all sound above 2,205 Hz is lost."
    text = f"The distance between the two vectors is **{apart:.2f}**; kNN uses it to find the nearest neighbours."
    if medium.alike is not None:
        other = viz.distance(ways[0], viz.Way.through(ways[0].extractor, medium.alike))
        kind = "clip of this word" if medium.is_sound else "picture of this digit"
        text += f" For comparison, the distance to another {kind} is {other:.2f}."
    return text


# `text` is the cache key: for the same text Streamlit replays the elements.
@st.cache_data(max_entries=64, show_spinner="Loading the filter. The first time takes a few seconds …")
def show_steps(text: str, _starts: list[Start], _medium: Medium) -> None:
    """Show a card for each of the six steps, and all 64 filters below."""
    ways = [start.way() for start in _starts]
    if len(ways) > 1:
        st.markdown(compared(ways, _medium))
    steps = viz.steps(ways)
    for first in range(0, len(steps), CARDS):
        row = zip(st.columns(CARDS), steps[first : first + CARDS], strict=True)
        for place, (cell, step) in enumerate(row, first + 1):
            with cell.container(border=True, height="stretch"):
                st.markdown(f"**{place} {step.name}** · {step.size}")
                st.caption(step.text)
                st.plotly_chart(step.figure, key=f"step{place}", config=CONFIG, alt=f"{step.name}: {step.text}")

    st.subheader("All 64 filters")
    chosen = [way.filter for way in ways]
    left, right = st.columns(2)
    with left:
        st.caption("Framed: in use. Crossed out: dead, responds to no input. Colours: red, green and blue weights.")
        board = viz.board_figure(chosen)
        st.plotly_chart(board, key="board", config=CONFIG, alt="The 64 filters as small pictures.")
    with right:
        st.caption("Mean activation of each filter for this input. The paper takes the highest on photographs.")
        means = viz.activation_figure(viz.mean_activations(ways[0].extractor, _medium.data), chosen)
        st.plotly_chart(means, key="means", config=CONFIG, alt="Mean activation of each filter.")


st.title("From sound to features")
with st.sidebar:
    medium = pick_input()
    starts = [Start(medium.data, Extractor(), "original")]
    name = PAPER_NAME
    if medium.is_sound:
        told = "One filter of a network for photographs, as in the paper, or a network that was trained on speech."
        name = chosen(st.selectbox, "Extractor", EXTRACTORS, key="extractor", help=told)
    with faults_as_messages():
        starts = choose_starts(medium) if name == PAPER_NAME else starts

heard = [starts[0], *(start for start in starts[1:] if not np.array_equal(start.medium, starts[0].medium))]
with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
    with st.container(width="content", gap="xxsmall"):
        for size in dict.fromkeys(viz.sizes(start.extractor, start.medium.shape) for start in starts):
            st.markdown(f"**{size if name == PAPER_NAME else NETWORK_SIZES}** numbers. {medium.remark}")
    with st.container(width="content", horizontal=True):
        for start in heard if medium.is_sound else ():
            with st.container(width=AUDIO_WIDTH, gap="xxsmall"):
                if len(starts) > 1:
                    st.caption(start.label)
                st.audio(wav(start.medium, start.extractor.sample_rate), alt=f"Sound of the input, {start.label}")
alike = b"" if medium.alike is None else medium.alike.tobytes()
text = "\n".join([hashlib.sha256(alike).hexdigest(), *(start.key() for start in starts)])
with faults_as_messages():
    if name == PAPER_NAME:
        show_steps(text, starts, medium)
    else:
        show_network(medium.data, RATE)
