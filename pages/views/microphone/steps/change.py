"""Step 3: begin a drift, follow it, end it."""

import streamlit as st

from pages.shell.url_widgets import as_text
from pages.views.microphone.actions.change import begin_drift, end_drift
from pages.views.microphone.tab_state import TabState
from tmlcd_core.features import EFFECTS
from tmlcd_core.live import FAULTS, Guide

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
DETAILS = {  # parameters of each drift, and the keys of their widgets
    "class-change": {"old": "mic:old", "new": "mic:new"},
    "new-word": {"word": "mic:newcomer"},
    "fault": {"effect": "mic:fault", "strength": "mic:strength"},
}
HARMFUL = "wrong sample rate"  # affects every extractor; the best one tolerates most other faults
SPARE = ("down", "left", "stop", "go")  # suggested new words


def order(tab: TabState) -> None:
    """Draw the choice of a drift, or what to do during the one in progress."""
    if tab.drift.guide is not None:
        under_way(tab, tab.drift.guide)
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
                f"Warm-up: judge {needed - judged} more answers before a drift ({judged} of {needed} so far).",
                icon=":material/hourglass_top:",
            )
        st.button(
            "Begin", key="mic:begin", type="primary", icon=":material/play_arrow:", on_click=begin,
            args=(tab, kind), disabled=bool(session.missing()),
        )  # fmt: skip


def begin(tab: TabState, kind: str) -> None:
    """Begin a drift with the values that the widgets have now: a word may be typed just before the click."""
    tab.run_action(
        begin_drift, tab, kind, **{name: st.session_state[key] for name, key in DETAILS.get(kind, {}).items()}
    )


def details(tab: TabState, kind: str) -> None:
    """Draw the widgets of a drift's parameters."""
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


def under_way(tab: TabState, guide: Guide) -> None:
    """Draw what to do during a drift, when its alarm is expected, and a button to end it."""
    since = tab.session.judged - tab.drift.started_at
    with st.container(border=True):
        st.markdown(f"#### {as_text(guide.sentence)}")
        st.caption(as_text(guide.expectation))
        if guide.between is not None and not tab.drift.alarms(tab.session):
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
            "End this drift", key="mic:end", icon=":material/stop:", on_click=tab.run_action, args=(end_drift, tab),
            help="All is as it was at first; then another drift can be ordered.",
        )  # fmt: skip
