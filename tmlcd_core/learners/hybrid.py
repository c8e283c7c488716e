"""Hybrid Tiny kNN, the hybrid learner (Algorithm 5 of the paper)."""

from __future__ import annotations

from typing import Any

from tmlcd_core.detectors.cusum import GeneralizedCusum
from tmlcd_core.detectors.detector import ChangeDetector
from tmlcd_core.knn.stream_pass import UpdateRule
from tmlcd_core.learners.condensing_in_time import passive_rule
from tmlcd_core.learners.stream_learner import StreamLearner, checked_detector


class HybridTinyKNN(StreamLearner):
    """Hybrid Tiny kNN: adds misclassified samples to T and removes the samples older than a detected change.

    T is also the history window. The test looks only for drops of the accuracy, because the passive part raises the
    accuracy without a change.

    Parameters
    ----------
    max_size
        ϖ: largest |T|, as in `TinyKNN`; None for no limit.
    threshold, batch, warmup
        h, n and ξ of the CUSUM test; see `GeneralizedCusum`.
    k, weights
        As in `TinyKNN`.
    condense
        Condense the initial T with Hart's algorithm.
    add_probability, random_state
        As in `CondensingInTime`.
    detector
        `ChangeDetector` to use instead of CUSUM; `threshold`, `batch` and `warmup` are then ignored.
    storage, max_bytes
        As in `TinyKNN`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 1200)
    >>> X = rng.normal(size=(1200, 8)) + 1.5 * np.where(np.arange(1200) < 700, y, 1 - y)[:, None]  # labels swap at 600
    >>> model = HybridTinyKNN().fit(X[:100], y[:100])
    >>> trace = model.run(X[100:], y[100:])
    >>> trace.detections.tolist(), trace.change_points.tolist()
    ([649], [600])
    """

    def __init__(
        self,
        max_size: int | None = 200,
        threshold: float = 25.0,
        batch: int = 50,
        warmup: int = 100,
        k: int | str = "sqrt",
        weights: str = "uniform",
        condense: bool = True,
        add_probability: float | str = 1.0,
        detector: Any = None,
        random_state: int = 0,
        storage: str = "float32",
        max_bytes: int | None = None,
    ):
        self.max_size = max_size
        self.threshold = threshold
        self.batch = batch
        self.warmup = warmup
        self.k = k
        self.weights = weights
        self.condense = condense
        self.add_probability = add_probability
        self.detector = detector
        self.random_state = random_state
        self.storage = storage
        self.max_bytes = max_bytes

    def _rule(self) -> UpdateRule:
        return passive_rule(super()._rule(), self.add_probability, self.random_state)

    def _new_detector(self) -> ChangeDetector:
        if self.detector is not None:
            return checked_detector(self.detector)
        return GeneralizedCusum(self.threshold, self.batch, self.warmup, direction="down")
