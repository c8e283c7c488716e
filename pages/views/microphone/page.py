"""Layout of the Microphone page: three steps, the recorder always in the same place, and the next thing to do."""

import threading

import streamlit as st

from pages.shell.url_widgets import as_text
from pages.views.microphone import class_view, sources
from pages.views.microphone.save_load import open_sent, save_and_load
from pages.views.microphone.settings import settings
from pages.views.microphone.step_state import CHANGE, SAY, STEPS, TEACH, AlarmMessage
from pages.views.microphone.steps import change, say
from pages.views.microphone.steps import teach as teaching
from pages.views.microphone.tab_address import current_tab, open_newer, save_tab
from pages.views.microphone.tab_state import TabState
from tmlcd_core.live import warm_up
from tmlcd_core.live.expectations import expect_unknown
from tmlcd_core.viz.palette import styles

BELL = ":material/notifications_active:"
ALARMS_SHOWN = 2  # the last ones
GO = {TEACH: "Teach words", SAY: "Say words", CHANGE: "Change something"}


def show() -> None:
    """Draw everything below the title."""
    warming()
    if (lesson := class_view.led()) is not None:
        class_view.teach_class(lesson)
        return
    tab = class_view.follow(open_sent(current_tab()))
    tab.use_best_voice()
    choose_step(tab)
    sources.take_in(tab, tab.step == TEACH)
    with tab.exclusive():
        draw(tab)
        class_view.tell(tab)
    save_tab(tab)


@st.cache_resource(show_spinner=False)
def warming() -> threading.Thread:
    """Start and return a thread that imports and compiles what the first take needs, once per server."""
    thread = threading.Thread(target=warm_up, daemon=True)
    thread.start()
    return thread


def choose_step(tab: TabState) -> None:
    """Draw the choice of the step.

    The page never changes the value of this widget: it draws another one, with a new key. So what the browser sends
    before it has received the new step has no effect, and no run can send an older step after a click.
    """
    with st.container(key="mic-steps"):
        tab.step = st.segmented_control(
            "Step", STEPS, default=tab.step, key=f"mic:step:{tab.moves}", required=True, label_visibility="collapsed",
            on_change=tab.messages.clear,
        )  # fmt: skip


def draw(tab: TabState) -> None:
    """Draw the sidebar and the chosen step; hold the session's lock."""
    step = tab.step
    with st.sidebar:
        class_view.start_or_join(tab)
        save_and_load(tab)
        settings(tab)
    teach = step == TEACH
    newer_version(tab)
    next_step(tab, step)
    left, right = st.columns(2, gap="medium")
    with left:
        if teach:
            teaching.words(tab)
        elif step == CHANGE:
            change.order(tab)
        sources.show_recorder(tab, teach)
        if teach:
            sources.show_others(tab, teach)
        else:
            say.answer(tab)
    with right:
        if teach:
            teaching.cut(tab)
            teaching.taught(tab)
            return
        say.curves(tab)
        say.forgotten(tab)
    left, right = st.columns(2, gap="medium")  # a second row: on a phone the curves follow the answer
    with left:
        say.ask_toggle(tab)
        sources.show_others(tab, teach)
    with right:
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
    """Draw the banner: the alarm if there is one, else the next thing to do; with a button if it is in another step."""
    alarms = tab.drift.alarms(tab.session)
    go = step
    if alarms and step != TEACH:
        text = "  \n".join(alarm_in_words(tab, alarm) for alarm in alarms[-ALARMS_SHOWN:])
    else:
        text, go = advice(tab, step)
    key = "mic-alarm" if text.startswith(BELL) else "mic-next"
    with st.container(horizontal=True, vertical_alignment="center", key=key):
        st.markdown(text)
        if go != step:
            st.button(
                GO[go], key=f"mic:go:{go}", type="primary", icon=":material/arrow_forward:",
                on_click=tab.go_to, args=(go,),
            )  # fmt: skip
        if step == CHANGE and tab.drift.guide is not None:
            change.drift_buttons(tab, tab.drift.guide)


def alarm_in_words(tab: TabState, alarm: AlarmMessage) -> str:
    """Return an alarm as a sentence in Markdown."""
    text = f"{BELL} **Alarm** of {styles(tab.session.learners)[alarm.learner].short}"
    if tab.drift.guide is not None:
        text += f" after {alarm.at - tab.drift.started_at} answers"
    return f"{text}: {len(alarm.forgotten) or 'no'} old takes forgotten."


def advice(tab: TabState, step: str) -> tuple[str, str]:
    """Return the next thing to do in Markdown, and the step where it is done."""
    teach = tab.teach.advice(tab.session)
    if tab.teach.cut:
        return "**Next:** listen to the words that were found, delete wrong ones, and keep the rest.", TEACH
    if teach is not None:
        return f"**Next:** {as_text(teach)}.", TEACH
    if step == TEACH:
        ready = f"**Ready.** Every word has enough takes. Go on, or record more. {as_text(expect_unknown(tab.session))}"
        return ready.rstrip(), SAY
    if tab.say.awaits_judgement and tab.say.answer is not None and tab.say.answer.unknown:
        again = "say it again" if tab.say.prompting else "say the next one"
        return f"**Next:** select the word that you said, or {again}.", step
    if tab.say.awaits_judgement:
        return "**Next:** select the word that you said; the learners learn it.", step
    if not tab.session.started:
        return "**Next:** say one of the words and see the prediction.", step
    if tab.drift.guide is not None:
        return change.progress(tab, tab.drift.guide), CHANGE
    if (left := tab.session.settings.warmup - tab.session.judged) > 0:
        return f"**Next:** say {left} more word{'s' * (left > 1)} (warm-up), then change something.", step
    if step == SAY:
        return "**Next:** change something, and see whether it is detected.", CHANGE
    return "**Next:** choose a change and begin.", step
