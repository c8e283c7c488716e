"""Layout of the Microphone page: three steps, the recorder always in the same place, and the next thing to do."""

import threading

import streamlit as st

from pages.shell.url_widgets import as_text
from pages.views.microphone import sources
from pages.views.microphone.save_load import save_and_load
from pages.views.microphone.settings import settings
from pages.views.microphone.steps import change, say
from pages.views.microphone.steps import teach as teaching
from pages.views.microphone.tab_address import STEP, current_tab, open_newer, save_tab
from pages.views.microphone.tab_state import TabState
from tmlcd_core.live import warm_up

TEACH, SAY, CHANGE = "1 Teach", "2 Say", "3 Change"
NEXT = "mic:next"
GO = {TEACH: "Teach words", SAY: "Say words", CHANGE: "Change something"}
CSS = """<style>
.st-key-mic-answer [data-testid="stMetricValue"] { font-size: clamp(2.2rem, 5cqw + 1.5rem, 4.5rem); line-height: 1.15; }
.st-key-mic-answer [data-testid="stMetricValue"] > div { white-space: normal; overflow-wrap: anywhere; }
.st-key-mic-next p { font-size: 1.15rem; }
@media (max-width: 640px) { [data-testid="stHorizontalBlock"]:has(.st-key-mic-begin) > :last-child { order: -1; } }
</style>"""


def show() -> None:
    """Draw everything below the title."""
    warming()
    st.html(CSS)
    tab = current_tab()
    if NEXT in st.session_state:
        st.session_state[STEP] = st.session_state.pop(NEXT)
    elif STEP not in st.session_state:  # reloaded, or back from another page
        begun = tab.say.answer is not None or tab.session.started
        st.session_state[STEP] = CHANGE if tab.drift.guide is not None else SAY if begun else TEACH
    sources.take_in(tab, st.session_state[STEP] == TEACH)
    with tab.exclusive():
        draw(tab)
    save_tab(tab)


@st.cache_resource(show_spinner=False)
def warming() -> threading.Thread:
    """Start and return a thread that imports and compiles what the first take needs, once per server."""
    thread = threading.Thread(target=warm_up, daemon=True)
    thread.start()
    return thread


def draw(tab: TabState) -> None:
    """Draw the sidebar and the chosen step; hold the session's lock."""
    with st.sidebar:
        save_and_load(tab)
        settings(tab)
    step = st.segmented_control(
        "Step", (TEACH, SAY, CHANGE), key=STEP, required=True, label_visibility="collapsed",
        on_change=tab.messages.clear,
    )  # fmt: skip
    teach = step == TEACH
    newer_version(tab)
    next_step(tab, step)
    left, right = st.columns(2, gap="medium")
    with left:
        if teach:
            teaching.words(tab)
        else:
            say.ask_toggle(tab)
        sources.show_recorder(tab, teach)
        sources.show_others(tab, teach)
    with right:
        if teach:
            teaching.cut(tab)
            teaching.taught(tab)
            return
        parts = [say.answer, say.alarms]
        if step == CHANGE:  # above the answer until the first answer of the drift
            going = tab.drift.guide is not None and tab.session.judged > tab.drift.started_at
            parts.insert(2 if going or tab.say.awaits_judgement else 0, change.order)
        for part in parts:
            part(tab)
    left, right = st.columns(2, gap="medium")  # a second row: on a phone the answer follows the recorder
    with left:
        say.curves(tab)
    with right:
        say.forgotten(tab)
        say.why(tab)


def newer_version(tab: TabState) -> None:
    """Draw a warning that another server has a newer version of this session, with a button to open it."""
    if tab.handle.stored is None or not tab.handle.stored.former_token:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.warning(
            "This session was changed on another server at the same time. The newer version keeps the address; "
            "your version now has a new address. Nothing was lost.",
            icon=":material/call_split:",
        )
        st.button("Open the newer version", key="mic:newer", on_click=open_newer, args=(tab,))


def next_step(tab: TabState, step: str) -> None:
    """Draw the next thing to do, with a button if it is in another step."""
    advice = tab.teach.advice(tab.session)
    if tab.teach.cut:
        text, go = "**Next:** listen to the words that were found, delete wrong ones, and keep the rest.", TEACH
    elif advice is not None:
        text, go = f"**Next:** {as_text(advice)}.", TEACH
    elif step == TEACH:
        text, go = "**Ready.** Every word has enough takes. Record more to improve the accuracy, or go on.", SAY
    elif tab.say.awaits_judgement and tab.say.answer is not None and tab.say.answer.unknown:
        text, go = "**Next:** select the word that you said, or ignore the take.", step
    elif tab.say.awaits_judgement:
        text, go = "**Next:** select the word that you said; the learners learn it.", step
    elif not tab.session.started:
        text, go = "**Next:** say one of the words and see the prediction.", step
    elif tab.drift.guide is not None and tab.drift.alarms(tab.session):
        text, go = "**Change detected.** Go on and watch the accuracy recover, or end the drift.", CHANGE
    elif tab.drift.guide is not None:
        text, go = "**Next:** follow the instructions in the box.", CHANGE
    elif (left := tab.session.settings.warmup - tab.session.judged) > 0:
        text, go = f"**Next:** say {left} more word{'s' * (left > 1)} (warm-up), then change something.", step
    elif step == SAY:
        text, go = "**Next:** change something, and see whether it is detected.", CHANGE
    else:
        text, go = "**Next:** choose a change and begin.", step
    with st.container(horizontal=True, vertical_alignment="center", key="mic-next"):
        st.markdown(text)
        if go != step:
            st.button(
                GO[go], key="mic:go", type="primary", icon=":material/arrow_forward:",
                on_click=st.session_state.__setitem__, args=(NEXT, go),
            )  # fmt: skip
