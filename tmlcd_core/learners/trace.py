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


@dataclass(frozen=True)
class Alarm:
    """A change that was noticed: times count from 1, the first sample after `fit`."""

    time: int
    change_time: int
    accuracy_after: float
    forgotten: int  # samples of T dropped because of it
