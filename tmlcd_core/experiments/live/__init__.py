"""Live trials: teach words by voice, judge the answers, change what they mean, and watch the learners follow."""

from tmlcd_core.experiments.live.answers import Answer, Ballot, Guide, LiveCurve, Outcome, Verdict
from tmlcd_core.experiments.live.drifts import FAULTS, KINDS
from tmlcd_core.experiments.live.project import SessionProject, session_project
from tmlcd_core.experiments.live.session import (
    GOOD_START,
    LONGEST_NAME,
    MOST_TAKES,
    MOST_WORDS,
    LiveSession,
    clean_name,
    warm_up,
)
from tmlcd_core.experiments.live.settings import LEARNERS, RANGES, Delay, LiveSettings

__all__ = [
    "FAULTS",
    "GOOD_START",
    "KINDS",
    "LEARNERS",
    "LONGEST_NAME",
    "MOST_TAKES",
    "MOST_WORDS",
    "RANGES",
    "Answer",
    "Ballot",
    "Delay",
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
