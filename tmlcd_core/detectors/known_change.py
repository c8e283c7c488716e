"""Detector that is told when a change happens: the perfect alarm, an upper bound for real tests."""

from __future__ import annotations

import math

from tmlcd_core.detectors.detector import Cloneable
from tmlcd_core.validation import whole_number


class KnownChange(Cloneable):
    """Perfect alarm: reports one known change, with its true time, a fixed number of samples after it.

    Compare a learner with this detector and the same learner with a test, to see what a better test could gain.

    Parameters
    ----------
    at
        Time of the first sample of the new concept; times count from 1.
    delay
        Samples of the new concept until the alarm. The CUSUM test cannot be faster than one batch, 50 samples.

    Examples
    --------
    >>> detector = KnownChange(at=601)
    >>> [t for t in range(1, 1000) if detector.update(True, t)], detector.change_time
    ([650], 601)
    """

    def __init__(self, at: int, delay: int = 50):
        self.at = whole_number("at", at, 1)
        self.delay = whole_number("delay", delay, 1)
        self.statistic = math.nan  # nothing is measured
        self.change_time = self.at
        self._told = False

    def __repr__(self) -> str:
        return f"KnownChange(at={self.at}, delay={self.delay})"

    def update(self, correct: bool, time: int) -> bool:
        """Add one supervised sample; return True at the first one from `at` + `delay` - 1 on."""
        if self._told or time < self.at + self.delay - 1:
            return False
        self._told = True
        return True
