"""Live sessions: teach words by voice, judge the predictions, start a drift, and watch the learners adapt."""

from tmlcd_core.live.answers import Answer, Ballot, Guide, LiveCurve, Outcome, Verdict
from tmlcd_core.live.drifts import FAULTS, LIVE_DRIFTS
from tmlcd_core.live.project import SessionProject, session_project
from tmlcd_core.live.session import (
    FEWEST_WORDS,
    GOOD_START,
    LONGEST_NAME,
    MOST_TAKES,
    MOST_WORDS,
    LiveSession,
    clean_name,
    warm_up,
)
from tmlcd_core.live.settings import LIVE_LEARNERS, RANGES, LiveSettings

__all__ = [
    "FAULTS",
    "FEWEST_WORDS",
    "GOOD_START",
    "LIVE_DRIFTS",
    "LIVE_LEARNERS",
    "LONGEST_NAME",
    "MOST_TAKES",
    "MOST_WORDS",
    "RANGES",
    "Answer",
    "Ballot",
    "Guide",
    "LiveCurve",
    "LiveSession",
    "LiveSettings",
    "Outcome",
    "SessionProject",
    "Verdict",
    "clean_name",
    "session_project",
    "warm_up",
]
