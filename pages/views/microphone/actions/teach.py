"""Actions of step 1, Teach."""

from collections.abc import Sequence

from pages.views.microphone.tab_state import TabState
from tmlcd_core.errors import AudioError
from tmlcd_core.features.voice import Take
from tmlcd_core.live import LiveSession

TEACH_ANYWAY = "To teach it anyway, switch “Listen all the time” off and press for each take."


def teach_take(tab: TabState, take: Take, word: str, pressed: bool = True) -> None:
    """Teach one take of a word; TmlcdError if the session refuses it, or if it is noise that nobody chose to record."""
    with tab.exclusive() as session:
        identity = session.teach(word, take)
        if not pressed and session.is_noise(identity):
            session.drop(identity)
            raise AudioError(f"that was a noise, no word: nothing was stored. {TEACH_ANYWAY}")
        tab.handle.mark_changed()
        tab.refresh()


def keep_cut(tab: TabState, word: str) -> None:
    """Teach the words of a long recording that were not dropped, all as `word`."""
    with tab.exclusive():
        for take in tab.teach.cut.values():
            with tab.changing() as session:
                session.teach(word, take)
        tab.teach.cut = {}
        tab.refresh()


def name_words(tab: TabState, words: Sequence[str]) -> None:
    """Name the words of a session that has no take yet; ConfigError for fewer than two."""
    old = tab.handle.draft
    tab.handle.draft = LiveSession(words, old.extractor, old.learners, old.settings, provisional=old.provisional)
    tab.teach.refresh(tab.session)


def add_word(tab: TabState, word: str) -> None:
    """Add a word to the session, and teach it next."""

    def add(session: LiveSession) -> None:
        tab.teach.choose(session.add_word(word))

    tab.apply(add)
