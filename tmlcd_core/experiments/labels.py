"""Labels as in life: some never come, some come late, some are wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tmlcd_core.draws import INSTEAD, MISSING, WRONG, Draws
from tmlcd_core.validation import real_number, whole_number


@dataclass(frozen=True)
class Supervision:
    """Which labels of a stream a learner gets, and when. The initial samples always have their true labels.

    Parameters
    ----------
    labels : float
        Share of the samples that get a label, 0 to 1; the others are only predicted.
    label_delay : int
        Delay in samples: the learner gets the label of sample t after it has predicted sample t + label_delay.
    wrong_labels : float
        Share of these labels that are wrong, 0 to 1: another class, each with the same probability.
    """

    labels: float = 1.0
    label_delay: int = 0
    wrong_labels: float = 0.0

    def __post_init__(self) -> None:
        real_number("labels", self.labels, 0.0, 1.0)
        real_number("wrong_labels", self.wrong_labels, 0.0, 1.0)
        whole_number("label_delay", self.label_delay, 0)

    @property
    def is_random(self) -> bool:
        """True if the labels depend on the seed."""
        return self.labels < 1 or self.wrong_labels > 0


FULL = Supervision()  # every label, at once and right


class Teacher:
    """Labels that a learner gets, drawn block by block with the generator of `tmlcd_core.draws`.

    Sample t has no label if the number t of the sequence `MISSING` is at least `labels`; its label is wrong if number t
    of `WRONG` is below `wrong_labels`; number t of `INSTEAD` chooses among the other classes, sorted.

    Parameters
    ----------
    supervision : Supervision
        Shares and delay.
    classes : sequence
        All classes.
    seed : int
        Seed of the draws.

    Examples
    --------
    >>> teacher = Teacher(Supervision(labels=0.5, wrong_labels=0.5), ["a", "b"], seed=0)
    >>> teacher.labels(["a", "a", "a", "a"]).tolist()
    ['a', None, 'b', 'b']
    """

    def __init__(self, supervision: Supervision, classes: Sequence[Any] | NDArray, seed: int = 0) -> None:
        self.supervision = supervision
        self._classes = np.unique(np.asarray(classes))
        self._missing, self._wrong, self._instead = (Draws(seed, purpose) for purpose in (MISSING, WRONG, INSTEAD))

    def labels(self, y: ArrayLike) -> NDArray:
        """Return the labels of the next samples, shape (n,), None where one is missing; y are the true ones."""
        true = np.asarray(y)
        if not self.supervision.is_random:
            return true
        n, others = len(true), len(self._classes) - 1
        wrong = (self._wrong.uniform(n) < self.supervision.wrong_labels) & (others > 0)
        code = np.searchsorted(self._classes, true)
        other = (self._instead.uniform(n) * max(others, 1)).astype(np.int64)
        found = np.where(wrong, self._classes[np.where(other < code, other, other + (others > 0))], true)
        missing = self._missing.uniform(n) >= self.supervision.labels
        if not missing.any():
            return found
        given = found.astype(object)
        given[missing] = None
        return given


class JudgedPredictions(NamedTuple):
    """Input of a change-detection test: `correct` (m,), the `samples` (m,) judged, and when their labels `came` (m,).

    Samples count from 0, the first of the stream; `came` is the sample after whose prediction the label was known.
    """

    correct: NDArray[np.bool_]
    samples: NDArray[np.int64]
    came: NDArray[np.int64]

    def known_at(self, sample: int) -> int:
        """Return the position of the newest judged prediction after `sample` of the stream; 0 if there is none yet."""
        return max(0, int(np.searchsorted(self.came, sample, side="right")) - 1)


def judge_predictions(predictions: ArrayLike, y: ArrayLike, teacher: Teacher) -> JudgedPredictions:
    """Return the predictions (n,) judged by the labels that a new `teacher` gives for the true labels y (n,).

    >>> late = Teacher(Supervision(label_delay=2), ["a", "b"])
    >>> [part.tolist() for part in judge_predictions(["a", "a", "b"], ["a", "b", "b"], late)]
    [[True], [0], [2]]
    """
    given = teacher.labels(y)
    known = np.array([label is not None for label in given.tolist()], bool)
    known[max(0, len(known) - teacher.supervision.label_delay) :] = False  # their labels come after the stream
    samples = np.flatnonzero(known)
    correct = np.asarray(predictions)[samples] == given[samples]
    return JudgedPredictions(correct.astype(bool), samples, samples + teacher.supervision.label_delay)
