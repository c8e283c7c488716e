"""Step 1: name words and record a few takes of each."""

from functools import partial

import streamlit as st

from pages.microphone.pictures import cards
from pages.microphone.visit import GOAL, Visit
from pages.takes import Group, takes
from pages.widgets import as_text
from tmlcd_core.errors import TmlcdError
from tmlcd_core.experiments.live import MOST_WORDS, LiveSession
from tmlcd_core.features.voice import Take

SUGGESTED = ("yes", "no", "up", "down", "left", "right", "stop", "go", "on", "off")
PILLS, ADD, NAMES = "mic:word", "mic:add", "mic:names"


def words(visit: Visit) -> None:
    """Name the words; once there are takes, choose the one to say, with a counter for each."""
    session = visit.session
    if visit.room is None:
        name_words(visit)
        session = visit.session
    counts = session.counts()
    st.session_state[PILLS] = visit.word
    st.pills(
        "Word to say", session.words, key=PILLS, required=True, wrap=True, on_change=turn_to, args=(visit,),
        format_func=lambda word: f"{as_text(word)} · **{counts[word]}**",
        help=f"Its turn passes to the next word after {GOAL} takes; choose another at any time.",
    )  # fmt: skip
    if visit.room is not None:
        with st.popover("Add or remove a word", icon=":material/edit:"):
            edit_words(visit)


def turn_to(visit: Visit) -> None:
    if st.session_state[PILLS] in visit.session.words:
        visit.word = st.session_state[PILLS]


def name_words(visit: Visit) -> None:
    st.session_state.setdefault(NAMES, list(visit.draft.words))
    named = st.multiselect(
        "Your words, two to ten", SUGGESTED, key=NAMES, accept_new_options=True, wrap=True,
        max_selections=MOST_WORDS, placeholder="Choose or type words", help="Any word can be typed.",
    )  # fmt: skip
    if named != visit.draft.words:
        try:
            old = visit.draft
            visit.draft = LiveSession(named, old.extractor, old.learners, old.settings)
            visit.next_word()
        except TmlcdError as fault:
            st.error(as_text(str(fault)), icon=":material/error:")


def edit_words(visit: Visit) -> None:
    session = visit.session
    st.text_input("New word", key=ADD, max_chars=40, on_change=add_word, args=(visit,), placeholder="type, then Enter")
    if session.started or len(session.words) <= 2:
        st.caption("A session keeps its words once answers have been judged, and at least two of them.")
        return
    for word in session.words:
        count = session.counts()[word]
        lost = f" and its {count} take{'s' * (count > 1)}" if count else ""
        st.button(
            f"Remove “{as_text(word)}”{lost}", key=f"mic:remove:{word}", on_click=visit.act,
            args=(visit.do, partial(LiveSession.remove_word, word=word)),
        )  # fmt: skip


def add_word(visit: Visit) -> None:
    word, st.session_state[ADD] = st.session_state[ADD], ""
    if word.strip():
        visit.do(lambda session: setattr(visit, "word", session.add_word(word)))


def cut(visit: Visit) -> None:
    """The words of a long take: hear them, drop what is wrong, keep the rest."""
    if not visit.cut:
        return
    word = as_text(visit.word)
    with st.container(border=True):
        st.markdown(f"**{len(visit.cut)} words found.** Click to hear, drop what is wrong, keep the rest.")
        shown = [Group("", cards(visit.cut.items(), visit.word))]
        gallery(visit, "mic:cut", shown, visit.cut)
        with st.container(horizontal=True):
            st.button(
                f"Keep {len(visit.cut)} as “{word}”", key="mic:keep", type="primary", icon=":material/check:",
                on_click=visit.act, args=(visit.keep_cut, visit.word),
            )  # fmt: skip
            st.button("Drop all", key="mic:drop", icon=":material/close:", on_click=visit.cut.clear)


def taught(visit: Visit) -> None:
    """Every take that was taught, word by word."""
    session = visit.session
    events = [event for event in session.events if event["do"] in ("teach", "judge")]
    if not events:
        if not visit.cut:
            how_it_works()
        return
    st.subheader("What it has been taught")
    st.caption("Click a take to hear it and to say what it really is; × drops it.")
    groups = []
    for word in session.words:
        own = [event for event in events if event["word"] == word]
        shown = cards([(event["take"], session.takes[event["take"]]) for event in own], word)
        judged = sum(event["do"] == "judge" for event in own)
        note = f"{len(own) - judged} taught" + (f", {judged} answered and judged" if judged else "")
        if own:
            groups.append(Group(word, shown, note))
    gallery(visit, "mic:taught", groups, session.takes, tuple(session.words))


def how_it_works() -> None:
    with st.container(border=True):
        st.markdown(
            "#### In three steps\n"
            "1. **Teach**: press the microphone and say the word that is asked for, three to five times each.\n"
            "2. **Say**: speak any of the words. It tells what it has understood, and learns when you correct it.\n"
            "3. **Change**: say another word for the same meaning, cover the microphone, or let somebody else speak. "
            "It raises an alarm, forgets what is no longer true, and adapts.\n\n"
            "Your recordings stay on this server for a day at most, and go at once if you wish."
        )


@st.fragment
def gallery(visit: Visit, key: str, groups: list[Group], known: dict[str, Take], words: tuple[str, ...] = ()) -> None:
    """Takes to hear, to move and to drop. Hearing one runs this part of the page alone."""
    wish = takes(key, groups, lambda name: known[name].wav(), words=words, drops=True)
    if wish is None:
        return
    visit.said.clear()
    if known is visit.cut:
        visit.cut.pop(wish.id, None)
    elif wish.what == "drop":
        visit.do(lambda session: session.drop(wish.id))
    else:
        visit.do(lambda session: session.relabel(wish.id, wish.word))
    st.rerun()
