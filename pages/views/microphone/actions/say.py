"""Actions of step 2, Say."""

from pages.views.microphone.tab_state import TabState
from tmlcd_core.features.voice import Take


def answer_take(tab: TabState, take: Take, word: str = "") -> None:
    """Answer one take, and judge the answer if its word is known; TmlcdError if the session refuses it.

    The word is `word`, or the word that the page has asked for.
    """
    with tab.exclusive() as session:
        tab.say.show(session.say(take))
        tab.handle.mark_changed()
        if word := word or (tab.say.prompted if tab.say.prompting else ""):
            judge(tab, word)


def judge(tab: TabState, word: str) -> None:
    """Judge the answer on the screen: `word` was said. A second click changes nothing."""
    if tab.say.answer is None or tab.say.outcome is not None:
        return
    with tab.changing() as session:
        tab.say.outcome = session.judge(tab.say.answer.id, word)
        tab.say.choose_prompt(session, tab.drift)


def set_prompting(tab: TabState, on: bool) -> None:
    """Switch on or off that the page says which word to say."""
    tab.say.prompting = on
    tab.say.choose_prompt(tab.session, tab.drift)
