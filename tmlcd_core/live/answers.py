"""Result types of a live session: predictions, effects of a judgement, curves, and instructions for a drift."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.features.voice import Take


@dataclass(frozen=True)
class Ballot:
    """Prediction of one learner for a take, with its votes."""

    prediction: str
    votes: dict[str, float]  # share of each word: its nearest take votes with weight 1 / distance^16
    confidence: float  # probability that the prediction is right: the word's share, times that of a known word
    nearest: tuple[tuple[str, float], ...]  # id and distance of the stored takes, nearest first


@dataclass(frozen=True)
class Answer:
    """Predictions of all learners for a take; `id` is the id of the take."""

    id: str
    take: Take  # with the simulated fault, if there is one
    ballots: dict[str, Ballot]  # by learner
    known: float  # probability that it is one of the words, 0..1; a confidence includes it
    seconds: float  # time for features and predictions
    noise: bool = False  # unknown, and nearer to the room than to every word

    @property
    def unknown(self) -> bool:
        """True if the take is too far from every take with a word to be one of the words."""
        return self.known < 0.5

    def shares(self) -> dict[str, float]:
        """Return the probability of each word, mean over the learners; the rest to 1 is that of an unknown word."""
        words = list(dict.fromkeys(word for ballot in self.ballots.values() for word in ballot.votes))
        count = len(self.ballots)
        return {
            word: self.known * sum(ballot.votes.get(word, 0.0) for ballot in self.ballots.values()) / count
            for word in words
        }


@dataclass(frozen=True)
class Verdict:
    """Test-then-train result of one learner for a judged answer."""

    prediction: str
    right: bool
    alarm: bool
    change_point: str | None  # id of the first answer of the new concept, estimated at the alarm
    forgotten: tuple[str, ...]  # ids of the takes that the alarm removed from T
    stored: int  # |T| afterwards


@dataclass(frozen=True)
class Outcome:
    """Result of a judgement, by learner."""

    id: str
    word: str
    verdicts: dict[str, Verdict]


@dataclass(frozen=True)
class Guide:
    """Instructions for a drift, and the measured time of the alarm."""

    kind: str
    sentence: str  # what the user does from now on
    expectation: str  # what is expected to happen
    between: tuple[int, int] | None  # answers until the alarm: median, 80 % quantile; None if no alarm is expected
    often: tuple[str, ...]  # words whose meaning or sound has changed, one of them to be said every second time


@dataclass(frozen=True, eq=False)
class LiveCurve:
    """Curves of one learner over the judged answers, shape (n,); alarms, change points and drifts are indices."""

    answers: tuple[str, ...]  # ids
    correct: NDArray[np.bool_]
    accuracy: NDArray[np.float64]  # over the last TAPS answers
    size: NDArray[np.int64]  # |T|
    statistic: NDArray[np.float64]  # g; nan while warming up or without a detector
    threshold: float  # h; nan without a detector
    alarms: tuple[int, ...]
    change_points: tuple[int, ...]
    forgotten: tuple[tuple[str, ...], ...]  # ids of the takes that each alarm removed from T
    drifts: tuple[int, ...]  # number of answers before each drift
