"""Learner of a live session with its history: fitted on the taught takes, run over the judged ones."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.knn.class_balance import in_turns
from tmlcd_core.learners import StreamLearner
from tmlcd_core.live.answers import Ballot, LiveCurve, Verdict

TAPS = 10  # answers in the moving average of the accuracy
SHARPNESS = 16.0  # power of 1 / distance in `closeness`; with 16 the confidence matches the measured accuracy
NEAREST = 5  # stored takes shown with an answer
CLOSEST = 1e-9  # minimum distance, to avoid a division by zero


class LiveLearner:
    """Learner of a live session with its history.

    Parameters
    ----------
    learner : StreamLearner
        Unfitted learner.
    ids, X, words : list of str, array (n, d), list of str
        Initial takes. The learner is fitted on them with the words in turns, since users teach word by word and T
        drops its oldest takes first.
    warmup : int
        Number of judged takes at the start that are stored even if they are predicted correctly. Users teach one take
        of a word: with so small a T, a few errors outvote what is outdated before the test can detect the change.

    Examples
    --------
    >>> from tmlcd_core.live import LiveSettings
    >>> cit, taught = LiveSettings().learner("cit"), np.eye(2, dtype=np.float32)
    >>> live_learner = LiveLearner(cit, ["t1", "t2"], taught, ["yes", "no"])
    >>> live_learner.vote(np.array([1.0, 0.1], np.float32), {"t1": 0.1, "t2": 1.35}).prediction
    'yes'
    """

    def __init__(
        self, learner: StreamLearner, ids: list[str], X: NDArray[np.float32], words: list[str], warmup: int = 0
    ) -> None:
        order = in_turns(words)
        self._warmup = warmup
        self.learner = learner.fit(X[order], [words[i] for i in order])
        self._at = {0: [ids[i] for i in order]}  # take ids by time of arrival
        self._judged: list[str] = []
        self._correct: list[bool] = []
        self._size: list[int] = []
        self._statistic: list[float] = []
        self._alarms: list[int] = []
        self._changes: list[int] = []
        self._forgotten: list[tuple[str, ...]] = []

    def stored(self) -> list[str]:
        """Return the ids of the takes in T, oldest first.

        T is ordered by time and drops the oldest first: of several takes with the same time it keeps the last ones.
        """
        times, counts = np.unique(self.learner.times_, return_counts=True)
        return [
            take
            for t, n in zip(times.tolist(), counts.tolist(), strict=True)
            for take in self._at[t][len(self._at[t]) - n :]
        ]

    def vote(self, x: NDArray[np.float32], distances: Mapping[str, float], known: float = 1.0) -> Ballot:
        """Return the `Ballot` for x (d,), given the distances to all stored takes, which the learners share.

        `known` is the probability that x is one of the words.
        """
        stored = self.stored()
        near = np.array([distances[take] for take in stored])
        labels = self.learner.labels_
        order = near.argsort(kind="stable")
        # With k = 1 the nearest take decides (the older one of equals), so the distances need not be computed again.
        prediction = str(labels[order[0]] if self.learner.k == 1 else self.learner.predict(x[None])[0])
        votes = closeness(near, labels)
        nearest = tuple((stored[place], float(near[place])) for place in order[:NEAREST].tolist())
        return Ballot(prediction, votes, known * votes[prediction], nearest)

    def take_in(self, take: str, x: NDArray[np.float32], word: str) -> None:
        """Store a take that is taught during the stream; x has shape (d,)."""
        self._at.setdefault(self.learner.time_, []).append(take)
        self.learner.take_in(x[None], [word])

    def judge(self, take: str, x: NDArray[np.float32], word: str) -> Verdict:
        """Test and train the learner on a judged take; x has shape (d,). Return the `Verdict`."""
        learner = self.learner
        before = self.stored()
        self._at[learner.time_ + 1] = [take]
        prediction = str(learner.observe(x, word))
        alarm = learner.alarm_
        if prediction == word and len(self._judged) < self._warmup:  # an error is stored by the learner itself
            self.take_in(take, x, word)
        self._judged.append(take)
        self._correct.append(prediction == word)
        self._size.append(len(learner))
        self._statistic.append(learner.statistic_)
        if alarm is None:
            return Verdict(prediction, prediction == word, False, None, (), len(learner))
        self._alarms.append(alarm.time - 1)
        self._changes.append(alarm.change_time - 1)
        kept = set(self.stored())
        forgotten = tuple(t for t in before if t not in kept)
        self._forgotten.append(forgotten)
        change = self._judged[alarm.change_time - 1]
        return Verdict(prediction, prediction == word, True, change, forgotten, len(learner))

    def curve(self, threshold: float, drifts: tuple[int, ...]) -> LiveCurve:
        """Return the curves over the judged answers."""
        correct = np.array(self._correct, bool)
        return LiveCurve(
            tuple(self._judged),
            correct,
            running_accuracy(correct),
            np.array(self._size, np.int64),
            np.array(self._statistic, np.float64),
            math.nan if self.learner.detector_ is None else threshold,
            tuple(self._alarms),
            tuple(self._changes),
            tuple(self._forgotten),
            drifts,
        )


def running_accuracy(correct: NDArray[np.bool_], taps: int = TAPS) -> NDArray[np.float64]:
    """Return the moving average of the accuracy over the last `taps` answers (or all, if fewer), shape (n,).

    >>> running_accuracy(np.array([True, False, True]), taps=2).tolist()
    [1.0, 0.5, 0.5]
    """
    hits = np.concatenate([[0.0], np.cumsum(correct)])
    last = np.arange(1, len(hits))
    first = np.maximum(last - taps, 0)
    return (hits[last] - hits[first]) / np.maximum(last - first, 1)


def closeness(distances: NDArray[np.float64], labels: NDArray) -> dict[str, float]:
    """Return the share of each word, for distances (n,) and words (n,): its nearest take votes by distance^-SHARPNESS.

    A kNN with k = 1 has only one vote; the shares measure its confidence.

    >>> {word: round(share, 3) for word, share in closeness(np.array([1.0, 1.2]), np.array(["yes", "no"])).items()}
    {'no': 0.051, 'yes': 0.949}
    """
    nearest = {str(word): max(float(distances[labels == word].min()), CLOSEST) for word in np.unique(labels)}
    least = min(nearest.values())
    weights = {word: (least / distance) ** SHARPNESS for word, distance in nearest.items()}
    return {word: weight / sum(weights.values()) for word, weight in weights.items()}
