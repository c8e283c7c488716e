"""Actions of step 3, Change."""

from pages.views.microphone.tab_state import TabState
from tmlcd_core.errors import DataError
from tmlcd_core.live import LiveSession
from tmlcd_core.live.drifts import in_force


def begin_drift(tab: TabState, kind: str, **details: object) -> None:
    """Begin a drift of a kind, with the details of `LiveSession.begin_drift`."""
    with tab.changing() as session:
        if lacking := session.missing():
            raise DataError(lacking)
        tab.drift.guide = session.begin_drift(kind, **details)
        tab.drift.started_at = session.judged
        tab.say.choose_prompt(session, tab.drift)


def end_drift(tab: TabState) -> None:
    """End the drift in progress."""
    tab.apply(lambda session: session.begin_drift("end"))


def spoken_for(session: LiveSession, word: str) -> str:
    """Return the word to say for `word`: another one while a class change is in force."""
    changes = in_force(session.events, "class-change")
    return next((event["new"] for event in changes if event["old"] == word), word)
