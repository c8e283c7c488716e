"""The page itself: three steps, the recorder always in the same place, and one next thing to do."""

import streamlit as st

from pages.shell.url_widgets import as_text
from pages.views.microphone import sources
from pages.views.microphone.save_load import save_and_load
from pages.views.microphone.settings import settings
from pages.views.microphone.steps import change, say
from pages.views.microphone.steps import teach as teaching
from pages.views.microphone.tab_state import STEP, TabState, warming

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
    """Everything below the title."""
    warming()
    st.html(CSS)
    tab = TabState.here()
    if NEXT in st.session_state:
        st.session_state[STEP] = st.session_state.pop(NEXT)
    elif STEP not in st.session_state:  # reloaded, or back from another page
        begun = tab.answer is not None or tab.session.started
        st.session_state[STEP] = CHANGE if tab.guide is not None else SAY if begun else TEACH
    sources.take_in(tab, st.session_state[STEP] == TEACH)
    with tab.alone():
        draw(tab)
    tab.keep()


def draw(tab: TabState) -> None:
    with st.sidebar:
        save_and_load(tab)
        settings(tab)
    step = st.segmented_control(
        "Step", (TEACH, SAY, CHANGE), key=STEP, required=True, label_visibility="collapsed",
        on_change=tab.said.clear,
    )  # fmt: skip
    teach = step == TEACH
    overtaken(tab)
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
        if step == CHANGE:  # on top while it is to be read; then what was understood, and the alarm, are looked at
            going = tab.guide is not None and tab.session.judged > tab.ordered
            parts.insert(2 if going or tab.waits_for_truth() else 0, change.order)
        for part in parts:
            part(tab)
    left, right = st.columns(2, gap="medium")  # a row of its own: on a telephone the answer follows the recorder
    with left:
        say.curves(tab)
    with right:
        say.forgotten(tab)
        say.why(tab)


def overtaken(tab: TabState) -> None:
    """Say that another server has a newer version of this session, and offer it."""
    if tab.stored_session is None or not tab.stored_session.former:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.warning(
            "This session was changed on another server at the same time. The newer version has kept the address; "
            "this tab goes on with yours under a new one. Nothing was lost.",
            icon=":material/call_split:",
        )
        st.button("Open the newer version", key="mic:newer", on_click=tab.open_newer)


def next_step(tab: TabState, step: str) -> None:
    """The one thing to do now."""
    lacks = tab.lacks()
    if tab.cut:
        told, go = "**Next:** hear the words that were found, drop what is wrong, and keep the rest.", TEACH
    elif lacks is not None:
        told, go = f"**Next:** {as_text(lacks)}.", TEACH
    elif step == TEACH:
        told, go = "**Ready.** It knows every word a little: more takes make it better, or let it listen.", SAY
    elif tab.waits_for_truth():
        told, go = "**Next:** tell it what you said; it learns from that.", step
    elif not tab.session.started:
        told, go = "**Next:** say one of the words and see what it understands.", step
    elif tab.guide is not None and tab.alarms:
        told, go = "**It has noticed.** Go on and watch it recover, or end the drift.", CHANGE
    elif tab.guide is not None:
        told, go = "**Next:** go on saying words, as the box tells you.", CHANGE
    elif (left := tab.session.settings.warmup - tab.session.judged) > 0:
        told, go = f"**Next:** say {left} more words, so that it knows how good it is; then change something.", step
    elif step == SAY:
        told, go = "**Next:** change something, and see whether it notices.", CHANGE
    else:
        told, go = "**Next:** choose what is to change, and begin.", step
    with st.container(horizontal=True, vertical_alignment="center", key="mic-next"):
        st.markdown(told)
        if go != step:
            st.button(
                GO[go], key="mic:go", type="primary", icon=":material/arrow_forward:",
                on_click=st.session_state.__setitem__, args=(NEXT, go),
            )  # fmt: skip
