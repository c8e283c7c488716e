"""Adapter for river's drift detectors, for the Active and Hybrid learners."""

from __future__ import annotations

import math
import sys
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tmlcd_core.detectors.cusum import DIRECTIONS
from tmlcd_core.detectors.detector import Cloneable
from tmlcd_core.errors import ConfigError
from tmlcd_core.knn.storage import FEWEST_SAMPLES
from tmlcd_core.portable_math import log
from tmlcd_core.validation import one_of, whole_number


class RiverDetector(Cloneable):
    """Adapter for a river drift detector, which receives 1 for an error and 0 for a correct prediction.

    CUSUM estimates when a change began; river's detectors do not. At an alarm, the change time is estimated by
    maximum likelihood from the predictions since the last alarm (`change_point`, described in `change_time_source`).

    Parameters
    ----------
    detector
        A river detector such as `river.drift.ADWIN()`; it is cloned and not changed.
    direction
        "both", or "down" to ignore alarms at which the accuracy has risen (for Hybrid).
    history
        Largest number of past samples considered for the change time.

    Examples
    --------
    >>> import numpy as np
    >>> from river import drift
    >>> rng = np.random.default_rng(0)
    >>> correct = np.r_[rng.random(1000) < 0.9, rng.random(1000) < 0.5]
    >>> adwin = RiverDetector(drift.ADWIN())
    >>> next(t for t, c in enumerate(correct) if adwin.update(c, t)), adwin.change_time
    (1055, 1001)

    References
    ----------
    Hinkley, D. V. and Hinkley, E. A. (1970). Inference about the change-point in a sequence of binomial variables.
    Biometrika 57(3).
    """

    change_time_source = (
        "maximum-likelihood split of the predictions since the last alarm into two parts of constant accuracy, "
        f"the newer with at least {FEWEST_SAMPLES} samples"
    )

    def __init__(self, detector: Any, direction: str = "both", history: int = 2000):
        needed = ("update", "drift_detected", "clone")
        if isinstance(detector, type) or not all(hasattr(detector, name) for name in needed):
            raise ConfigError(
                f"{detector!r} is not a river drift detector with {', '.join(needed)}: pass one such as ADWIN()"
            )
        self.detector = detector.clone()
        self.direction = one_of("direction", direction, DIRECTIONS)
        self.history = whole_number("history", history, FEWEST_SAMPLES)
        self.statistic = math.nan  # river's detectors have no common statistic
        self.change_time = -1
        self._seen: deque[tuple[int, bool]] = deque(maxlen=min(self.history, sys.maxsize))

    def __repr__(self) -> str:
        return f"RiverDetector({self.detector!r}, direction={self.direction!r})"

    @property
    def name(self) -> str:
        """Class name of the river detector."""
        return type(self.detector).__name__

    def update(self, correct: bool, time: int) -> bool:
        """Add one supervised sample, `correct` if it was predicted right; return True at an alarm."""
        if self.detector.drift_detected:
            self.detector = self.detector.clone()
            self._seen.clear()
        self._seen.append((time, bool(correct)))
        self.detector.update(int(not correct))
        if not self.detector.drift_detected:
            return False
        times, hits = np.array(self._seen).T
        cut = change_point(hits)
        self.change_time = int(times[cut])
        return self.direction == "both" or cut == 0 or bool(hits[cut:].mean() < hits[:cut].mean())


def change_point(hits: ArrayLike, fewest: int = FEWEST_SAMPLES) -> int:
    """Maximum-likelihood change point of correct (1) and incorrect (0) predictions, shape (n,).

    The sequence is split into two parts of constant accuracy; the second has at least `fewest` samples. Returns the
    index of the first sample of the second part, or 0 if the sequence is too short.

    Examples
    --------
    >>> change_point([1, 1, 0, 1, 1, 1, 0, 0, 0, 1, 0, 0])
    6
    """
    total = np.cumsum(hits)
    n = len(total)
    cuts = np.arange(1, n - fewest + 1)
    if not len(cuts):
        return 0
    likelihood = np.zeros(len(cuts))
    before = total[cuts - 1]
    for correct, size in ((before, cuts), (total[-1] - before, n - cuts)):
        for count in (correct, size - correct):
            likelihood += count * log(np.maximum(count, 1) / size)  # 0 ln 0 = 0
    return int(cuts[likelihood.argmax()])
