"""Reference algorithms with scikit-learn's kNN: the baseline of the speed ratios."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from tmlcd_core import reference


class ScikitLearnKNN:
    """`KNeighborsClassifier` refitted whenever T changes; predicts one sample at a time."""

    def __init__(self, T: list[reference.Sample]):
        self.model = KNeighborsClassifier(math.ceil(math.sqrt(len(T))), algorithm="brute")
        self.model.fit(np.array([sample.x for sample in T]), np.array([sample.y for sample in T]))

    def __call__(self, x: np.ndarray) -> Any:
        return self.model.predict(x[None])[0]


condense = partial(reference.condense, knn=ScikitLearnKNN)
run = partial(reference.run, knn=ScikitLearnKNN)
ALGORITHMS = {
    "cit": reference.condensing_in_time,
    "active": reference.active_tiny_knn,
    "hybrid": reference.hybrid_tiny_knn,
}
