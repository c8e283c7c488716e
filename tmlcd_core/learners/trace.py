"""Trace of a learner over a stream: predictions, sizes, statistic and alarms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.displays import Playable
from tmlcd_core.learners.membership import Membership


class Memory(NamedTuple):
    """Memory of a learner on the device: samples of T and W of equal size, and what it holds besides."""

    sample_bytes: int
    window: int = 0  # largest |W|, samples
    fixed_bytes: int = 0

    def over_time(self, sizes: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the bytes after each sample, int64 (n,), from |T| after each sample, shape (n,); W grows from 0."""
        window = np.minimum(np.arange(1, len(sizes) + 1), self.window)
        return self.fixed_bytes + self.sample_bytes * (np.asarray(sizes, np.int64) + window)


@dataclass(frozen=True)
class Trace(Playable):
    """Result of `run`: one entry per sample; indices count from the first sample of that run."""

    predictions: NDArray  # label predicted before learning
    sizes: NDArray[np.int32]  # |T| after learning
    statistic: NDArray[np.float64]  # g_t after each sample, carried between batches; nan while warming up
    detections: NDArray[np.int64]  # index of the sample at which each alarm was raised
    change_points: NDArray[np.int64]  # index of the first sample of the new concept, as estimated at each alarm
    accuracies_after: NDArray[np.float64]  # accuracy after the change, as estimated at each alarm; nan if not estimated
    memory: Memory | None = None  # None if the learner does not say
    membership: Membership | None = None  # T over time, for the first run after `fit` of a kNN

    def __len__(self) -> int:
        return len(self.predictions)

    def thresholds(self) -> tuple[float, float]:
        """Return the range of CUSUM thresholds that give the same run: lowest (exclusive) and highest (inclusive).

        The test only compares the statistic with the threshold: if all comparisons have the same results, so has the
        run.

        >>> from tmlcd_core import HybridTinyKNN
        >>> X = np.arange(400)[:, None] % 2
        >>> y = np.where(np.arange(400) < 200, X[:, 0], 1 - X[:, 0])
        >>> trace = HybridTinyKNN(threshold=25.0, batch=20, warmup=40).fit(X[:10], y[:10]).run(X, y)
        >>> [round(h, 1) for h in trace.thresholds()]
        [0.0, 1216.5]
        """
        raised = np.zeros(len(self), bool)
        raised[self.detections] = True
        passed = self.statistic[~raised & ~np.isnan(self.statistic)]
        return (
            float(passed.max(initial=0.0)) if len(self.statistic) else 0.0,
            float(self.statistic[raised].min(initial=np.inf)),
        )


@dataclass(frozen=True)
class Alarm:
    """Alarm of a change detector; times count from 1, the first sample after `fit`."""

    time: int
    change_time: int
    accuracy_after: float
    forgotten: int  # number of samples removed from T
