"""Actions of step 2, Say."""

from pages.views.microphone.tab_state import TabState
from tmlcd_core.features.voice import Take


def answer_take(tab: TabState, take: Take, word: str = "") -> None:
    """Answer one take, and judge the answer if its word is known; TmlcdError if the session refuses it.

    The word is `word`, or the word that the page has asked for, unless the answer is "unknown" without a drift: then
    it was a noise or another word, which must not be learned.
    """
    with tab.exclusive() as session:
        given = session.say(take)
        tab.say.show(given)
        tab.handle.mark_changed()
        if not word and tab.say.prompting and not (given.unknown and tab.drift.guide is None):
            word = tab.say.prompted
        if word:
            judge(tab, word)


def judge(tab: TabState, word: str) -> None:
    """Judge the answer on the screen: `word` was said. A second click changes nothing."""
    if tab.say.answer is None or tab.say.outcome is not None:
        return
    with tab.changing() as session:
        tab.say.outcome = session.judge(tab.say.answer.id, word)
        tab.say.choose_prompt(session, tab.drift)


def ignore(tab: TabState) -> None:
    """Remove the answer on the screen with its take: nothing is learned from it."""
    if tab.say.awaits_judgement and tab.say.answer is not None:
        with tab.changing() as session:
            session.drop(tab.say.answer.id)
            tab.say.show(None)


def set_prompting(tab: TabState, on: bool) -> None:
    """Switch on or off that the page asks for words."""
    tab.say.prompting = on
    tab.say.choose_prompt(tab.session, tab.drift)
