"""A class at once: the teacher's panel with code and results, and the phone of a student."""

import os
from hashlib import sha256
from urllib.parse import urlsplit

import streamlit as st

from pages.classroom import ADDRESSES, qr_code
from pages.classroom.voice_class import ClassSummary, PhoneResult, VoiceClass, VoiceClasses
from pages.shell.url_widgets import as_text
from pages.views.microphone.actions.change import begin_drift, end_drift
from pages.views.microphone.actions.teach import name_words
from pages.views.microphone.tab_address import show_tab
from pages.views.microphone.tab_state import TabState
from tmlcd_core.errors import TmlcdError

CODE, KEY = "class", "lead"  # query parameters of a phone and of the teacher
JOIN, PAIR = "mic:join", "mic:pair"
EVERY = "1s"  # refresh of the teacher's panel and of waiting phones
CELLS = """<style>
.phones { display: grid; grid-template-columns: repeat(auto-fill, minmax(7.5rem, 1fr)); gap: 0.5rem; }
.phone { padding: 0.5rem; border-radius: 0.5rem; border: 2px solid color-mix(in srgb, currentColor 25%, transparent);
  font-size: 2rem; font-weight: 600; line-height: 1.1; text-align: center; font-variant-numeric: tabular-nums; }
.phone small { display: block; font-size: 0.85rem; font-weight: 400; }
.phone.alarm { color: #fff; background: #b3261e; border-color: #b3261e; }
</style>"""


@st.cache_resource(show_spinner=False)
def voice_classes() -> VoiceClasses:
    """Return the classes of this server."""
    return VoiceClasses()


# ---------------------------------------------------------------- teacher


def led() -> VoiceClass | None:
    """Return the class that this tab leads, by the key in the address."""
    return voice_classes().led_by(st.query_params.get(KEY, ""))


def start_or_join(tab: TabState) -> None:
    """Draw the sidebar's choices: start a class, join one, or leave it."""
    with st.expander("Class", icon=":material/groups:"):
        if (joined := voice_classes().find(st.query_params.get(CODE, ""))) is not None:
            st.caption(f"You are in class {joined.code}. The projector shows your accuracy without your name.")
            st.button("Leave the class", key="mic:leave", on_click=leave, args=(tab, joined))
            return
        st.caption("All students teach the same words, each on their own phone with their own learner.")
        st.button("Start a class", key="mic:class", icon=":material/qr_code:", on_click=start, args=(tab,))
        st.text_input("Or join: code", key=JOIN, max_chars=5, on_change=join_by_code, args=(tab,))


def start(tab: TabState) -> None:
    """Open a class with the words of this tab, and lead it."""
    with tab.messages.catch_errors():
        st.query_params[KEY] = voice_classes().open(tab.session.words).key


def address_of(lesson: VoiceClass) -> str:
    """Return the address that phones open."""
    published = os.environ.get(ADDRESSES, "").split()
    here = urlsplit(st.context.url or "")
    return f"{published[0] if published else f'{here.scheme}://{here.netloc}'}/microphone?{CODE}={lesson.code}"


def teach_class(lesson: VoiceClass) -> None:
    """Draw the teacher's panel for the projector: code, results of all phones, and the swap."""
    address = address_of(lesson)
    left, right = st.columns([1, 3], gap="medium")
    with left:
        st.image(qr_code(address), width="stretch", alt=f"QR code of {address}")
        st.markdown(f"# {lesson.code}")
        st.caption(
            f"Open {as_text(address)}, or enter the code under “Class”. Words: {as_text(', '.join(lesson.words))}."
        )
    with right:
        results(lesson)
        first, second, *_ = lesson.words
        if lesson.swapped is None:
            pair = st.multiselect("Words that swap", lesson.words, [first, second], max_selections=2, key=PAIR)
            st.button(
                "Now everybody swaps", key="mic:everybody", type="primary", icon=":material/swap_horiz:",
                on_click=lesson.swap, args=tuple(pair), disabled=len(pair) != 2,
            )  # fmt: skip
        else:
            a, b = lesson.swapped
            st.markdown(
                f"### From now on “{as_text(a)}” means “{as_text(b)}”, and “{as_text(b)}” means “{as_text(a)}”."
            )
            st.button("End the swap", key="mic:everybody:end", icon=":material/stop:", on_click=lesson.end)
        st.button("Close the class", key="mic:class:close", icon=":material/close:", on_click=close, args=(lesson,))


@st.fragment(run_every=EVERY)
def results(lesson: VoiceClass) -> None:
    """Draw the results of all phones, renewed every second."""
    found = lesson.summary()
    phones, accuracy, answers, alarms = st.columns(4)
    phones.metric("Phones", len(found.phones))
    accuracy.metric("Accuracy", "…" if found.accuracy is None else f"{found.accuracy:.0%}")
    answers.metric("Answers", found.answers)
    alarms.metric("Alarms", f"{found.alarms} of {len(found.phones)}")
    st.html(CELLS + cells(found))


def cells(found: ClassSummary) -> str:
    """Return one cell per phone as HTML: numbers only."""
    parts = []
    for phone in found.phones:
        text = "…" if phone.accuracy is None else f"{phone.accuracy:.0%}"
        note = "alarm" if phone.alarmed else f"{phone.judged} answers"
        parts.append(f'<div class="phone{" alarm" * phone.alarmed}">{text}<small>{note}</small></div>')
    return f'<div class="phones">{"".join(parts)}</div>'


def close(lesson: VoiceClass) -> None:
    """Close the class and show the teacher's own trial."""
    voice_classes().close(lesson)
    st.query_params.pop(KEY, None)


# ---------------------------------------------------------------- phone


def phone_of(tab: TabState) -> str:
    """Return the anonymous name of a tab's session in its class, the same after a reload."""
    assert tab.handle.stored is not None
    return sha256(tab.handle.stored.token.encode()).hexdigest()[:16]


def join_by_code(tab: TabState) -> None:
    """Join the class of the typed code."""
    code, st.session_state[JOIN] = st.session_state[JOIN], ""
    if voice_classes().find(code) is None:
        tab.messages.warn(f"There is no class {code!r}: check the code.")
    else:
        st.query_params[CODE] = code.strip().upper()


def leave(tab: TabState, lesson: VoiceClass) -> None:
    """Leave the class; the session stays."""
    if tab.handle.stored is not None:
        lesson.leave(phone_of(tab))
    st.query_params.pop(CODE, None)


def follow(tab: TabState) -> TabState:
    """Join the class of the address, and begin or end its swap; return the tab with the words of the class."""
    code = st.query_params.get(CODE)
    if code is None:
        return tab
    lesson = voice_classes().find(code)
    if lesson is None:
        tab.messages.warn(f"The class {code!r} has ended or did not start. You can continue without it.")
        st.query_params.pop(CODE, None)
        return tab
    if not set(lesson.words) <= set(tab.session.words):
        fresh = TabState()  # a session of one's own with other words keeps its address
        name_words(fresh, lesson.words)
        tab = show_tab(fresh)
    with tab.exclusive() as session:
        if tab.handle.stored is None:
            tab.handle.mark_changed()
        under_way = tab.drift.guide is not None and tab.drift.guide.kind == "swap"
        if lesson.swapped is not None and not under_way and not session.missing():
            first, second = lesson.swapped
            begin_drift(tab, "swap", first=first, second=second)
        elif lesson.swapped is None and lesson.turns and under_way:
            end_drift(tab)
    return tab


def tell(tab: TabState) -> None:
    """Report the results of this phone to its class."""
    lesson = voice_classes().find(st.query_params.get(CODE, ""))
    if lesson is None or tab.handle.stored is None:
        return
    session = tab.session
    curve = session.curves().get(session.learners[-1])
    accuracy = float(curve.accuracy[-1]) if curve is not None and len(curve.accuracy) else None
    alarmed = lesson.swapped is not None and bool(tab.drift.alarms(session))
    try:
        lesson.report(phone_of(tab), PhoneResult(session.judged, accuracy, alarmed))
    except TmlcdError as error:
        st.warning(as_text(str(error)))
    waiting(lesson, lesson.turns)


@st.fragment(run_every=EVERY)
def waiting(lesson: VoiceClass, turns: int) -> None:
    """Run the page again when the teacher begins or ends a swap."""
    if lesson.turns != turns:
        st.rerun()
