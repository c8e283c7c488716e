"""Active Tiny kNN, the active learner (Algorithm 4 of the paper)."""

from __future__ import annotations

from typing import Any

from tmlcd_core.detectors.cusum import GeneralizedCusum
from tmlcd_core.detectors.detector import ChangeDetector
from tmlcd_core.knn.stream_pass import UpdateRule
from tmlcd_core.learners.stream_learner import StreamLearner, checked_detector
from tmlcd_core.validation import whole_number


class ActiveTinyKNN(StreamLearner):
    """Active Tiny kNN: rebuilds T from a window of the newest samples when a change is detected.

    The window W holds the last supervised samples. A change-detection test monitors the accuracy. At an alarm, T is
    replaced by the samples of W since the estimated change, condensed. Between alarms T does not change.

    Parameters
    ----------
    window
        ϖ: samples kept in the history window W.
    threshold, batch, warmup
        h, n and ξ of the CUSUM test; see `GeneralizedCusum`.
    k, weights
        As in `TinyKNN`.
    condense
        Condense T with Hart's algorithm at the start and at each alarm.
    detector
        `ChangeDetector` to use instead of CUSUM; `threshold`, `batch` and `warmup` are then ignored.
    random_state
        Unused, because this learner draws no random numbers; present so that all learners have the same parameters.
    storage
        As in `TinyKNN`.
    max_bytes
        Memory of T and W together, in bytes, half of it for each; `window` is then ignored.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 1200)
    >>> X = rng.normal(size=(1200, 8)) + 1.5 * np.where(np.arange(1200) < 700, y, 1 - y)[:, None]  # labels swap at 600
    >>> model = ActiveTinyKNN(window=200).fit(X[:100], y[:100])
    >>> trace = model.run(X[100:], y[100:])
    >>> trace.detections.tolist(), trace.change_points.tolist()
    ([649], [600])
    """

    def __init__(
        self,
        window: int = 200,
        threshold: float = 25.0,
        batch: int = 50,
        warmup: int = 100,
        k: int | str = "sqrt",
        weights: str = "uniform",
        condense: bool = True,
        detector: Any = None,
        random_state: int = 0,
        storage: str = "float32",
        max_bytes: int | None = None,
    ):
        self.window = window
        self.threshold = threshold
        self.batch = batch
        self.warmup = warmup
        self.k = k
        self.weights = weights
        self.condense = condense
        self.detector = detector
        self.random_state = random_state
        self.storage = storage
        self.max_bytes = max_bytes

    max_size = None  # after an alarm T is part of W
    _queues = 2  # T and W share `max_bytes`

    def _window_size(self, rule: UpdateRule) -> int:
        return whole_number("window", self.window, 1) if self.max_bytes is None else rule.max_size

    @property
    def bound_(self) -> int:
        """Largest |T| after an alarm: the size of W."""
        self._require_fitted()
        return self._W_size

    def _new_detector(self) -> ChangeDetector:
        if self.detector is not None:
            return checked_detector(self.detector)
        return GeneralizedCusum(self.threshold, self.batch, self.warmup)
