"""What a learner did along a stream."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Trace:
    """One entry per sample; indices count from the first sample of the `run` that made it."""

    predictions: NDArray  # label predicted before learning
    sizes: NDArray[np.int32]  # |T| after learning
    statistic: NDArray[np.float64]  # g_t after each sample, carried between batches; nan while warming up
    detections: NDArray[np.int64]  # index of the sample at which each alarm was raised
    change_points: NDArray[np.int64]  # index of the first sample of the new concept, as estimated at each alarm
    accuracies_after: NDArray[np.float64]  # accuracy after the change, as estimated at each alarm; nan if not estimated

    def __len__(self) -> int:
        return len(self.predictions)

    def thresholds(self) -> tuple[float, float]:
        """The lowest and highest threshold of the CUSUM test that give this very run; the lowest is left out.

        The test does nothing with its threshold but compare: where every comparison comes out the same, so does all
        that follows from it.

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
    """A change that was noticed: times count from 1, the first sample after `fit`."""

    time: int
    change_time: int
    accuracy_after: float
    forgotten: int  # samples of T dropped because of it
