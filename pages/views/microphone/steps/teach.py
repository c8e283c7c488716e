"""Step 1: name words and record a few takes of each."""

from functools import partial

import streamlit as st

from pages.components.take_gallery import Group, take_gallery
from pages.shell.url_widgets import as_text
from pages.views.microphone.actions import teach as actions
from pages.views.microphone.step_state import GOAL
from pages.views.microphone.tab_state import TabState
from pages.views.microphone.thumbnails import cards
from tmlcd_core.errors import TmlcdError
from tmlcd_core.features.voice import Take
from tmlcd_core.live import FEWEST_WORDS, MOST_WORDS, LiveSession

SUGGESTED = ("yes", "no", "up", "down", "left", "right", "stop", "go", "on", "off")
PILLS, ADD, NAMES = "mic:word", "mic:add", "mic:names"


def words(tab: TabState) -> None:
    """Draw the words with their number of takes, to choose one; before the first take, also their names."""
    if tab.handle.stored is None:
        name_words(tab)
    session = tab.session
    counts = session.counts()
    st.session_state[PILLS] = tab.teach.word
    st.pills(
        "Word to say", session.words, key=PILLS, required=True, wrap=True, on_change=turn_to, args=(tab,),
        format_func=lambda word: f"{as_text(word)} · **{counts[word]}**",
        help=f"The page asks for the words in turn. Select a word to record {GOAL} takes of it.",
    )  # fmt: skip
    if tab.handle.stored is not None:
        with st.popover("Add or remove a word", icon=":material/edit:"):
            edit_words(tab)


def turn_to(tab: TabState) -> None:
    """Teach the chosen word next."""
    if st.session_state[PILLS] in tab.session.words:
        tab.teach.choose(st.session_state[PILLS])


def name_words(tab: TabState) -> None:
    """Draw the names of the words of a new session."""
    st.session_state.setdefault(NAMES, list(tab.session.words))
    named = st.multiselect(
        "Your words (2 to 10)", SUGGESTED, key=NAMES, accept_new_options=True, wrap=True,
        max_selections=MOST_WORDS, placeholder="Choose or type words", help="You can type any word.",
    )  # fmt: skip
    if named != tab.session.words:
        if len(named) < FEWEST_WORDS:
            more = FEWEST_WORDS - len(named)
            st.caption(f"Add {more} more word{'s' * (more > 1)}: type it and press Enter.")
            return
        try:
            actions.name_words(tab, named)
        except TmlcdError as error:
            st.caption(f"Choose another word: {as_text(str(error))}.")


def edit_words(tab: TabState) -> None:
    """Draw a field for a new word, and a button to remove each word."""
    session = tab.session
    st.text_input("New word", key=ADD, max_chars=40, on_change=add_word, args=(tab,), placeholder="type, then Enter")
    if session.started or len(session.words) <= 2:
        st.caption("You can remove words only before the first judged answer, and at least two must remain.")
        return
    for word in session.words:
        count = session.counts()[word]
        lost = f" and its {count} take{'s' * (count > 1)}" if count else ""
        st.button(
            f"Remove “{as_text(word)}”{lost}", key=f"mic:remove:{word}", on_click=tab.run_action,
            args=(tab.apply, partial(LiveSession.remove_word, word=word)),
        )  # fmt: skip


def add_word(tab: TabState) -> None:
    """Add the word in the text field, and empty the field."""
    word, st.session_state[ADD] = st.session_state[ADD], ""
    if word.strip():
        actions.add_word(tab, word)


def cut(tab: TabState) -> None:
    """Draw the words found in a long recording, to play, delete or keep them."""
    found, word = tab.teach.cut, tab.teach.word
    if not found:
        return
    with st.container(border=True):
        st.markdown(f"**{len(found)} words found.** Click to listen, delete wrong ones, keep the rest.")
        gallery(tab, "mic:cut", [Group("", cards(found.items(), word))], found)
        with st.container(horizontal=True):
            st.button(
                f"Keep {len(found)} as “{as_text(word)}”", key="mic:keep", type="primary", icon=":material/check:",
                on_click=tab.run_action, args=(actions.keep_cut, tab, word),
            )  # fmt: skip
            st.button("Delete all", key="mic:drop", icon=":material/close:", on_click=found.clear)


def taught(tab: TabState) -> None:
    """Draw all takes with a word, taught or judged, grouped by word."""
    session = tab.session
    events = [event for event in session.events if event["do"] in ("teach", "judge")]
    if not events:
        if not tab.teach.cut:
            how_it_works()
        return
    odd(tab)
    st.subheader("Recorded takes")
    st.caption("Click a take to listen or to correct its word. × deletes it.")
    groups = []
    for word in session.words:
        own = [event for event in events if event["word"] == word]
        shown = cards([(event["take"], session.takes[event["take"]]) for event in own], word)
        judged = sum(event["do"] == "judge" for event in own)
        note = f"{len(own) - judged} taught" + (f", {judged} judged" if judged else "")
        if own:
            groups.append(Group(word, shown, note))
    gallery(tab, "mic:taught", groups, session.takes, tuple(session.words))


def odd(tab: TabState) -> None:
    """Draw a question about the first taught take that sounds like another word."""
    session = tab.session
    take, like = next(((t, w) for t, w in session.odd_takes().items() if t not in tab.teach.kept), ("", ""))
    if not take:
        return
    word = session.labels()[take]
    number = [t for t, label in session.labels().items() if label == word].index(take) + 1
    with st.container(border=True, key="mic-odd"):
        st.markdown(f"**Take {number} of “{as_text(word)}” sounds like “{as_text(like)}”.** Is it right?")
        with st.container(horizontal=True):
            st.button("Keep", key="mic:odd:keep", icon=":material/check:", on_click=tab.teach.kept.add, args=(take,))
            st.button(
                f"It is “{as_text(like)}”", key="mic:odd:relabel", icon=":material/edit:", on_click=tab.run_action,
                args=(tab.apply, partial(LiveSession.relabel, take=take, word=like)),
            )  # fmt: skip
            st.button(
                "Delete", key="mic:odd:drop", icon=":material/close:", on_click=tab.run_action,
                args=(tab.apply, partial(LiveSession.drop, take=take)),
            )  # fmt: skip


def how_it_works() -> None:
    """Draw an explanation of the three steps."""
    with st.container(border=True):
        st.markdown(
            "#### In three steps\n"
            "1. **Teach**: press the microphone once, then say each word once.\n"
            "2. **Say**: say the words that the page asks for. The learners predict each of them, then learn it.\n"
            "3. **Change**: let two words swap their meaning. The learners raise an alarm, forget outdated takes, and "
            "adapt.\n\n"
            "The server keeps your recordings for one day at most. You can remove them at any time."
        )


@st.fragment
def gallery(tab: TabState, key: str, groups: list[Group], known: dict[str, Take], words: tuple[str, ...] = ()) -> None:
    """Draw takes to play, relabel and delete; playing reruns only this fragment. `known` holds the takes by id."""
    wish = take_gallery(key, groups, lambda name: known[name].wav(), words=words, drops=True)
    if wish is None:
        return
    tab.messages.clear()
    if known is tab.teach.cut:
        known.pop(wish.id, None)
    elif wish.what == "drop":
        tab.apply(lambda session: session.drop(wish.id))
    else:
        tab.apply(lambda session: session.relabel(wish.id, wish.word))
    st.rerun()
