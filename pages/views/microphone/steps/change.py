"""Step 3: begin a drift, follow it, end it."""

import streamlit as st

from pages.shell.url_widgets import as_text
from pages.views.microphone.actions.change import begin_drift, end_drift
from pages.views.microphone.tab_state import TabState
from tmlcd_core.features import EFFECTS
from tmlcd_core.live import FAULTS, Guide
from tmlcd_core.live.expectations import CYCLE

DRIFT_TITLES = {
    "swap": "Two words swap",
    "rotate": "Three words rotate",
    "class-change": "A word changes",
    "fault": "A simulated fault",
    "cover": "Cover the microphone",
    "new-word": "A new word",
    "speaker": "Another person speaks",
}
ABOUT = {
    "swap": "Each of two words now means the other one: what was learned is wrong.",
    "rotate": "Each of three words now means another one of them: what was learned is wrong.",
    "class-change": "You say another word with the same meaning.",
    "fault": "The page changes the sound of every later take.",
    "cover": "Put your hand over the microphone.",
    "new-word": "You say a word that was never taught.",
    "speaker": "Another person says the same words.",
}
DETAILS = {  # parameters of each drift, and the keys of their widgets
    "swap": {name: f"mic:{name}" for name in CYCLE[:2]},
    "rotate": {name: f"mic:{name}" for name in CYCLE},
    "class-change": {"old": "mic:old", "new": "mic:new"},
    "new-word": {"word": "mic:newcomer"},
    "fault": {"effect": "mic:fault", "strength": "mic:strength"},
}
HARMFUL = "wrong sample rate"  # affects every extractor; the best one tolerates most other faults
SPARE = ("down", "left", "stop", "go")  # suggested new words


def order(tab: TabState) -> None:
    """Draw the choice of a drift; nothing while one is in progress, which the banner shows."""
    if tab.drift.guide is not None:
        return
    session = tab.session
    with st.container(border=True):
        kinds = [kind for kind in DRIFT_TITLES if kind != "rotate" or len(session.words) >= len(CYCLE)]
        kind = st.selectbox("What changes?", kinds, format_func=DRIFT_TITLES.__getitem__, key="mic:kind")
        st.caption(ABOUT[kind])
        details(tab, kind)
        judged, needed = session.judged, session.settings.warmup
        if judged < needed:
            st.info(
                f"Warm-up: judge {needed - judged} more answers before starting a drift ({judged} of {needed} so far).",
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
    if kind in ("swap", "rotate"):
        for place, (name, key) in enumerate(keys.items()):
            st.selectbox(f"{name.capitalize()} word", words, index=place, key=key)
    elif kind == "class-change":
        st.selectbox("Old word", words, key=keys["old"])
        st.text_input("New word", spare, max_chars=40, key=keys["new"])
    elif kind == "new-word":
        st.text_input("New word", spare, max_chars=40, key=keys["word"])
    elif kind == "fault":
        effect = st.selectbox("Fault", FAULTS, index=FAULTS.index(HARMFUL), key=keys["effect"])
        st.caption(EFFECTS[effect].explanation)
        st.slider("Strength", 0.0, 1.0, 1.0, 0.05, key=keys["strength"])


def progress(tab: TabState, guide: Guide) -> str:
    """Return the drift in progress in Markdown: what to do, the answers so far, and when alarms came when measured."""
    since = tab.session.judged - tab.drift.started_at
    text = f"**{DRIFT_TITLES[guide.kind]}**: " + ("" if tab.say.prompting else f"{as_text(guide.sentence)} ")
    text += f"{since} answer{'s' * (since != 1)} so far."
    if guide.between is not None:
        text += f" Half of the measured alarms came within {guide.between[0]}."
    return text


def drift_buttons(tab: TabState, guide: Guide) -> None:
    """Draw what to expect from the drift in progress, and a button to end it."""
    with st.popover("What to expect", icon=":material/info:"):
        st.markdown(as_text(guide.sentence))
        st.markdown(as_text(guide.expectation))
    st.button(
        "End this drift", key="mic:end", icon=":material/stop:", on_click=tab.run_action, args=(end_drift, tab),
        help="Use the words and the microphone as at the start. Then you can begin another drift.",
    )  # fmt: skip
