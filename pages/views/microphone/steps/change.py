"""Step 3: a drift to order, with when its alarm is expected."""

from functools import partial

import streamlit as st

from pages.shell.url_widgets import as_text
from pages.views.microphone.tab_state import TabState
from tmlcd_core.features import EFFECTS
from tmlcd_core.live import FAULTS, LiveSession

DRIFT_TITLES = {
    "class-change": "A word changes",
    "fault": "A simulated fault",
    "cover": "Cover the microphone",
    "new-word": "A new word",
    "speaker": "Somebody else speaks",
}
ABOUT = {
    "class-change": "You say another word and mean the old one.",
    "fault": "The page does something to every later take.",
    "cover": "Put your hand over the microphone.",
    "new-word": "One more word comes in that was never taught.",
    "speaker": "Another person goes on with the same words.",
}
DETAILS = {  # what a drift is told, and the widget that tells it
    "class-change": {"old": "mic:old", "new": "mic:new"},
    "new-word": {"word": "mic:newcomer"},
    "fault": {"effect": "mic:fault", "strength": "mic:strength"},
}
HARMFUL = "wrong sample rate"  # hurts every extractor; the best one hardly minds most of the others
SPARE = ("down", "left", "stop", "go")  # words to say instead


def order(tab: TabState) -> None:
    """Choose a drift and begin it, or read what to do in the one under way."""
    if tab.guide is not None:
        under_way(tab)
        return
    session = tab.session
    with st.container(border=True):
        kind = st.selectbox(
            "What is to change?", list(DRIFT_TITLES), format_func=DRIFT_TITLES.__getitem__, key="mic:kind"
        )
        st.caption(ABOUT[kind])
        details(tab, kind)
        judged, needed = session.judged, session.settings.warmup
        if judged < needed:
            st.info(
                f"First let it see how good it is: {needed - judged} more judged answers without a change, please "
                f"({judged} of {needed} so far).",
                icon=":material/hourglass_top:",
            )
        st.button(
            "Begin", key="mic:begin", type="primary", icon=":material/play_arrow:", on_click=begin,
            args=(tab, kind), disabled=bool(session.missing()),
        )  # fmt: skip


def begin(tab: TabState, kind: str) -> None:
    """Begin it with what stands in the widgets now: a word may have been typed just before the click."""
    tab.act(tab.order, kind, **{name: st.session_state[key] for name, key in DETAILS.get(kind, {}).items()})


def details(tab: TabState, kind: str) -> None:
    keys = DETAILS.get(kind, {})
    words = tab.session.words
    spare = next(word for word in (*SPARE, "other") if word not in words)
    if kind == "class-change":
        st.selectbox("Instead of", words, key=keys["old"])
        st.text_input("say from now on", spare, max_chars=40, key=keys["new"])
    elif kind == "new-word":
        st.text_input("The new word", spare, max_chars=40, key=keys["word"])
    elif kind == "fault":
        effect = st.selectbox("Fault", FAULTS, index=FAULTS.index(HARMFUL), key=keys["effect"])
        st.caption(EFFECTS[effect].explanation)
        st.slider("Strength", 0.0, 1.0, 1.0, 0.05, key=keys["strength"])


def under_way(tab: TabState) -> None:
    guide = tab.guide
    assert guide is not None
    since = tab.session.judged - tab.ordered
    with st.container(border=True):
        st.markdown(f"#### {as_text(guide.sentence)}")
        st.caption(as_text(guide.expectation))
        if guide.between is not None and not tab.alarms:
            low, high = guide.between
            if since < low:
                state = f"{since} answers since: the alarm is not to be expected before {low}."
            elif since <= high:
                state = f"{since} answers since: the alarm may come any moment now (expected between {low} and {high})."
            else:
                state = (
                    f"{since} answers since: it is late (expected between {low} and {high}). If it is still mostly "
                    "right, the change is too small to notice: end it and try another."
                )
            st.progress(min(1.0, since / high), text=state)
        st.button(
            "End this drift", key="mic:end", icon=":material/stop:", on_click=tab.act,
            args=(tab.do, partial(LiveSession.begin_drift, kind="end")),
            help="All is as it was at first; then another drift can be ordered.",
        )  # fmt: skip
