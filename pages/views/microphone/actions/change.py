"""Actions of step 3, Change."""

from pages.views.microphone.tab_state import TabState
from tmlcd_core.errors import DataError


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
