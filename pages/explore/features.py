"""From sound to features: one clip or picture on its way to the numbers that a learner sees."""

from typing import Any

import streamlit as st

from pages.medium import Medium, choose_medium
from pages.widgets import checked, faults_as_messages
from tmlcd_core.features import EFFECTS, Extractor, make_clip
from tmlcd_core.features.extractor import PAPER_FILTER
from tmlcd_core.viz import features as viz
from tmlcd_core.viz.medium import wav

NOTHING, DRIFT, OTHER, SLOW = "Nothing", "A drift at the source", "Another filter", "4,410 Hz"
RATE, SLOW_RATE, SLOW_WINDOW = 22_050, 4_410, 128  # Hz, Hz, samples (paper, Secs. 7.3 and 8)
FILTERS = tuple(viz.filter_name(number) for number in range(64))
RIVAL = 45  # answers most before the max-pool
CARDS = 3  # a row
CONFIG = {"displaylogo": False, "displayModeBar": False}


def choose_filter(label: str, key: str, default: int) -> int:
    told = "One of the 64 of ResNet-18's first layer; the paper keeps the one that answers most to photographs."
    return FILTERS.index(checked(st.selectbox, label, FILTERS, index=default, key=key, help=told))


def choose_ways(medium: Medium) -> list[viz.Way]:
    """One way through the extractor, or two to be compared."""
    number = choose_filter("Filter", "filter", PAPER_FILTER)
    offered = (NOTHING, DRIFT, OTHER, *((SLOW,) if medium.is_sound else ()))
    beside = checked(st.selectbox, "Beside it", offered, key="beside", help="A second way, step by step.")
    one = Extractor((number,))
    through = viz.Way.through
    if beside == DRIFT:
        kind = "audio" if medium.is_sound else "image"
        names = tuple(name for name, effect in EFFECTS.items() if effect.kind == kind)
        effect = EFFECTS[checked(st.selectbox, "Drift", names, key=f"{kind}-drift")]
        strength = checked(st.slider, "Strength", 0.0, 1.0, 0.5, 0.05, key="amount", help="From none to full.")
        st.caption(effect.explanation)
        changed = effect(medium.data[None], strength, sample_rate=RATE)[0]
        return [through(one, medium.data, "as it is"), through(one, changed, f"{effect.name}, {strength:.0%}")]
    if beside == OTHER:
        other = choose_filter("Other filter", "other", RIVAL)
        pair = (number, other)
        return [through(Extractor((each,)), medium.data, f"filter {each}") for each in pair]
    if beside == SLOW:
        slow = Extractor((number,), SLOW_RATE, SLOW_WINDOW, SLOW_WINDOW)
        less = make_clip(medium.data, RATE, SLOW_RATE)
        return [through(one, medium.data, "22,050 Hz"), through(slow, less, "4,410 Hz")]
    return [through(one, medium.data, "as it is")]


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


@st.cache_resource(max_entries=64, show_spinner=False)
def board(chosen: tuple[int, ...]) -> Any:
    return viz.board_figure(chosen)


st.title("From sound to features")
with st.sidebar:
    medium = choose_medium()
    with st.spinner("Preparing the filter; the first time takes some seconds …"), faults_as_messages():
        ways = choose_ways(medium)

steps = viz.steps(ways)
with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
    with st.container(width="content", gap="xxsmall"):
        for size in dict.fromkeys(viz.sizes(way) for way in ways):
            st.markdown(f"**{size}** numbers. {medium.remark}")
    for way in viz.unlike(ways) if medium.is_sound else ():
        with st.container(width=300, gap="xxsmall"):
            if len(ways) > 1:
                st.caption(way.label)
            st.audio(wav(way.stages.waveform, way.extractor.sample_rate), alt=f"Hear it, {way.label}")
if len(ways) > 1:
    st.markdown(compared(ways, medium))
for start in range(0, len(steps), CARDS):
    row = zip(st.columns(CARDS), steps[start : start + CARDS], strict=True)
    for place, (cell, step) in enumerate(row, start + 1):
        with cell.container(border=True, height="stretch"):
            st.markdown(f"**{place} {step.name}** · {step.size}")
            st.caption(step.text)
            st.plotly_chart(step.figure, key=f"step{place}", config=CONFIG, alt=f"{step.name}: {step.text}")

st.subheader("All 64 filters")
chosen = [way.filter for way in ways]
left, right = st.columns(2)
with left:
    st.caption("Framed: in use. Crossed out: dead, training has switched it off. Red, green and blue as weights.")
    st.plotly_chart(board(tuple(chosen)), key="board", config=CONFIG, alt="The 64 filters as small pictures.")
with right:
    st.caption("How much each answers to this clip or picture; the paper's rule takes the highest on photographs.")
    means = viz.mean_activations(ways[0].extractor, medium.data)
    st.plotly_chart(viz.activation_figure(means, chosen), key="means", config=CONFIG, alt="Mean of each filter's map.")
