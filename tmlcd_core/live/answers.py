"""What a live session says: its answers, what a judgement did, how the curves stand, what a drift will do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.features.voice import Take


@dataclass(frozen=True)
class Ballot:
    """What one learner makes of a take."""

    prediction: str
    votes: dict[str, float]  # how near each word is, as shares: its nearest take votes with 1 / distance^16
    confidence: float  # the predicted word's share, 0..1
    nearest: tuple[tuple[str, float], ...]  # id and distance of the stored takes, nearest first


@dataclass(frozen=True)
class Answer:
    """What a session says to a take; `id` is the take's."""

    id: str
    take: Take  # as it was heard: with the simulated fault, if there is one
    ballots: dict[str, Ballot]  # by learner
    seconds: float  # the model's own part: features and predictions


@dataclass(frozen=True)
class Verdict:
    """What one learner did with a judged answer: test, then train."""

    prediction: str
    right: bool
    alarm: bool
    change_point: str | None  # id of the first answer of the new concept, as estimated at the alarm
    forgotten: tuple[str, ...]  # ids of the takes dropped from T by the alarm
    stored: int  # |T| afterwards


@dataclass(frozen=True)
class Outcome:
    """What a judgement did, learner by learner."""

    id: str
    word: str
    verdicts: dict[str, Verdict]


@dataclass(frozen=True)
class Guide:
    """What to do for a drift, and when the alarm is to be expected."""

    kind: str
    sentence: str  # what to do from now on
    expectation: str  # what will happen
    between: tuple[int, int] | None  # judged answers from now on, four cases of five; None where no alarm is expected
    accuracy_after: float  # that the expectation reckons with
    often: str | None  # the word to mean every second time, where one has changed or is new


@dataclass(frozen=True, eq=False)
class LiveCurve:
    """One learner over the judged answers, one value each; alarms, change points and drifts count answers from 0."""

    answers: tuple[str, ...]  # ids
    correct: NDArray[np.bool_]
    accuracy: NDArray[np.float64]  # over the last TAPS answers
    size: NDArray[np.int64]  # |T|
    statistic: NDArray[np.float64]  # g; nan while warming up or without a test
    threshold: float  # h; nan without a test
    alarms: tuple[int, ...]
    change_points: tuple[int, ...]
    forgotten: tuple[tuple[str, ...], ...]  # ids of the takes that each alarm dropped from T
    drifts: tuple[int, ...]  # answers before each drift that was ordered
