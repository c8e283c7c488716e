"""From sound to features: one clip or picture on its way to the numbers that a learner sees."""

import hashlib
from typing import NamedTuple

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.shell.url_widgets import checked, faults_as_messages
from pages.views.features.input_picker import Medium, pick_input
from tmlcd_core.features import EFFECTS, Extractor, make_clip
from tmlcd_core.features.extractor import PAPER_FILTER
from tmlcd_core.viz import features as viz
from tmlcd_core.viz.medium import wav

NOTHING, DRIFT, OTHER, SLOW = "Nothing", "A drift at the source", "Another filter", "4,410 Hz"
RATE, SLOW_RATE, SLOW_WINDOW = 22_050, 4_410, 128  # Hz, Hz, samples (paper, Secs. 7.3 and 8)
FILTERS = tuple(viz.filter_name(number) for number in range(64))
RIVAL = 45  # answers most before the max-pool
CARDS = 3  # a row
AUDIO_WIDTH = 260  # px: two stand beside the sizes
CONFIG = {"displaylogo": False, "displayModeBar": False}


def choose_filter(label: str, key: str, default: int) -> int:
    told = "One of the 64 of ResNet-18's first layer; the paper keeps the one that answers most to photographs."
    return FILTERS.index(checked(st.selectbox, label, FILTERS, index=default, key=key, help=told))


class Start(NamedTuple):
    """What goes into a way: the clip or picture, the extractor, and what to call it beside another."""

    medium: NDArray
    extractor: Extractor
    label: str

    def way(self) -> viz.Way:
        return viz.Way.through(self.extractor, self.medium, self.label)

    def key(self) -> str:
        """A short text for all of it: arrays of this size Streamlit would hash from a sample of their numbers."""
        digest = hashlib.sha256(np.ascontiguousarray(self.medium)).hexdigest()
        return f"{digest} {self.medium.shape} {self.extractor.key} {self.label}"


def choose_starts(medium: Medium) -> list[Start]:
    """One way through the extractor, or two to be compared."""
    number = choose_filter("Filter", "filter", PAPER_FILTER)
    offered = (NOTHING, DRIFT, OTHER, *((SLOW,) if medium.is_sound else ()))
    beside = checked(st.selectbox, "Beside it", offered, key="beside", help="A second way, step by step.")
    one = Extractor((number,))
    if beside == DRIFT:
        kind = "audio" if medium.is_sound else "image"
        names = tuple(name for name, effect in EFFECTS.items() if effect.kind == kind)
        effect = EFFECTS[checked(st.selectbox, "Drift", names, key=f"{kind}-drift")]
        strength = checked(st.slider, "Strength", 0.0, 1.0, 0.5, 0.05, key="amount", help="From none to full.")
        st.caption(effect.explanation)
        changed = effect(medium.data[None], strength, sample_rate=RATE)[0]
        return [Start(medium.data, one, "as it is"), Start(changed, one, f"{effect.name}, {strength:.0%}")]
    if beside == OTHER:
        other = choose_filter("Other filter", "other", RIVAL)
        return [Start(medium.data, Extractor((each,)), f"filter {each}") for each in (number, other)]
    if beside == SLOW:
        slow = Extractor((number,), SLOW_RATE, SLOW_WINDOW, SLOW_WINDOW)
        less = make_clip(medium.data, RATE, SLOW_RATE)
        return [Start(medium.data, one, "22,050 Hz"), Start(less, slow, "4,410 Hz")]
    return [Start(medium.data, one, "as it is")]


def compared(ways: list[viz.Way], medium: Medium) -> str:
    """How far apart the two ways end, in words."""
    if ways[0].filter != ways[1].filter:
        return "Each filter sees something else; with two filters kept, a sample has twice as many numbers."
    apart = viz.distance(*ways)
    if apart is None:
        a, b = (len(way.features) for way in ways)
        return f"A sample of T takes {a} or {b} numbers; the smaller one leaves out all above 2,205 Hz."
    text = f"The two vectors lie **{apart:.2f}** apart, the distance that a nearest neighbour is chosen by."
    if medium.alike is not None:
        other = viz.distance(ways[0], viz.Way.through(ways[0].extractor, medium.alike))
        kind = "clip of this word" if medium.is_sound else "picture of this digit"
        text += f" For comparison: another {kind} lies {other:.2f} away."
    return text


# The text stands for all that is shown: for what was shown before, Streamlit sends the same elements again.
@st.cache_data(max_entries=64, show_spinner="Preparing the filter; the first time takes some seconds …")
def show_steps(text: str, _starts: list[Start], _medium: Medium) -> None:
    """Six cards, and all 64 filters below them."""
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
        st.caption("Framed: in use. Crossed out: dead, training has switched it off. Red, green and blue as weights.")
        board = viz.board_figure(chosen)
        st.plotly_chart(board, key="board", config=CONFIG, alt="The 64 filters as small pictures.")
    with right:
        st.caption("How much each answers to this clip or picture; the paper's rule takes the highest on photographs.")
        means = viz.activation_figure(viz.mean_activations(ways[0].extractor, _medium.data), chosen)
        st.plotly_chart(means, key="means", config=CONFIG, alt="Mean of each filter's map.")


st.title("From sound to features")
with st.sidebar:
    medium = pick_input()
    starts = [Start(medium.data, Extractor(), "as it is")]
    with faults_as_messages():
        starts = choose_starts(medium)

heard = [starts[0], *(start for start in starts[1:] if not np.array_equal(start.medium, starts[0].medium))]
with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
    with st.container(width="content", gap="xxsmall"):
        for size in dict.fromkeys(viz.sizes(start.extractor, start.medium.shape) for start in starts):
            st.markdown(f"**{size}** numbers. {medium.remark}")
    with st.container(width="content", horizontal=True):
        for start in heard if medium.is_sound else ():
            with st.container(width=AUDIO_WIDTH, gap="xxsmall"):
                if len(starts) > 1:
                    st.caption(start.label)
                st.audio(wav(start.medium, start.extractor.sample_rate), alt=f"Hear it, {start.label}")
alike = b"" if medium.alike is None else medium.alike.tobytes()
text = "\n".join([hashlib.sha256(alike).hexdigest(), *(start.key() for start in starts)])
with faults_as_messages():
    show_steps(text, starts, medium)
