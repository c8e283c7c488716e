"""Actions of step 2, Say."""

from pages.views.microphone.tab_state import TabState
from tmlcd_core.features.voice import Take
from tmlcd_core.live.drifts import sound_changes
from tmlcd_core.live.unknown import is_softer


def answer_take(tab: TabState, take: Take, word: str = "", asked: str = "") -> None:
    """Answer one take, and judge the answer if its word is known; TmlcdError if the session refuses it.

    The word is `word` if it is certain. Otherwise it is the word that the page asked for (`asked`, or the one on the
    screen), unless the answer is "noise", or it is "unknown" or the take much softer than the last ones while the
    sound of the words has not changed: then it was a noise, another word or another person, which must not be learned.
    An earlier answer that was not judged is removed: nothing was learned from it.
    """
    with tab.exclusive() as session:
        discard(tab)
        soft = is_softer(take, [session.takes[name] for name in session.labels()])
        given = session.say(take)
        tab.say.show(given)
        tab.handle.mark_changed()
        asks = not word and tab.say.prompting
        if asks and not given.noise and (sound_changes(session) or not (given.unknown or soft)):
            word = asked or tab.say.prompted
        elif asks and soft and not given.unknown:
            tab.messages.info("Much softer than the last words: nothing was learned. Select the word if it was you.")
        if word:
            judge(tab, word)


def judge(tab: TabState, word: str) -> None:
    """Judge the answer on the screen: `word` was said. Another word than before corrects the judgement."""
    answer, outcome = tab.say.answer, tab.say.outcome
    if answer is None or (outcome is not None and outcome.word == word):
        return
    with tab.changing() as session:
        if outcome is None:
            tab.say.outcome = session.judge(answer.id, word)
            tab.say.choose_prompt(session, tab.drift)
        else:
            tab.say.outcome = session.judge_again(answer.id, word)


def ignore(tab: TabState) -> None:
    """Remove the answer on the screen with its take, also if it is judged: nothing is learned from it."""
    if tab.say.answer is not None:
        with tab.changing() as session:
            session.drop(tab.say.answer.id)
            tab.say.show(None)


def discard(tab: TabState) -> None:
    """Clear the answer on the screen; one that was not judged is removed with its take."""
    if tab.say.awaits_judgement:
        ignore(tab)
    tab.say.show(None)


def set_prompting(tab: TabState, on: bool) -> None:
    """Switch on or off that the page asks for words."""
    tab.say.prompting = on
    tab.say.choose_prompt(tab.session, tab.drift)
