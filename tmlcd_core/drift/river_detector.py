"""river's drift detectors as drivers of Active and Hybrid."""

from __future__ import annotations

import math
from collections import deque
from typing import Any

from tmlcd_core.errors import ConfigError

FALLBACK = 30  # samples: the new concept, where a detector tells nothing about when it began
CHANGE_TIME_SOURCE = {
    "ADWIN": "the oldest sample of the window that ADWIN keeps after its cut",
    "KSWIN": "the first of the stat_size newest samples, which KSWIN compares with the older ones",
    "PageHinkley": "the sample after the last minimum of the cumulative sum (maximum, in mode 'down')",
}
WARNING_SOURCE = f"the first sample of the warning zone that led to the alarm; without one, {FALLBACK} samples back"
FALLBACK_SOURCE = f"no estimate of its own: the newest {FALLBACK} supervised samples are taken for the new concept"


class RiverDetector:
    """Any of river's detectors, fed with 1 for an error and 0 for a hit.

    CUSUM estimates when a change began; most detectors do not. `change_time_source` says what is used instead: the
    window that ADWIN or KSWIN keeps, the minimum of Page-Hinkley's sum, the start of the warning zone of DDM, EDDM and
    HDDM_A; where there was no warning, or the detector is another one, the newest 30 samples.

    Parameters
    ----------
    detector
        A river detector such as `river.drift.ADWIN()`; it is cloned, so its own state is not touched.
    direction
        "both", or "down" to ignore alarms at which the accuracy has risen (for Hybrid).
    history
        How many samples back a change may be placed.

    Examples
    --------
    >>> import numpy as np
    >>> from river import drift
    >>> rng = np.random.default_rng(0)
    >>> correct = np.r_[rng.random(1000) < 0.9, rng.random(1000) < 0.5]
    >>> adwin = RiverDetector(drift.ADWIN())
    >>> next(t for t, c in enumerate(correct) if adwin.update(c, t)), adwin.change_time
    (1055, 704)
    """

    def __init__(self, detector: Any, direction: str = "both", history: int = 2000):
        if not (hasattr(detector, "update") and hasattr(detector, "drift_detected") and hasattr(detector, "clone")):
            raise ConfigError(f"{detector!r} is not a river drift detector: it lacks update, drift_detected or clone.")
        if direction not in ("both", "down"):
            raise ConfigError(f"direction={direction!r} must be 'both' or 'down'.")
        self.detector = detector.clone()
        self.direction = direction
        self.history = history
        self.statistic = math.nan  # river's detectors have no common one
        self.change_time = -1
        self._seen: deque[tuple[int, bool]] = deque(maxlen=history)
        self._zone: int | None = None

    def __repr__(self) -> str:
        return f"RiverDetector({self.detector!r}, direction={self.direction!r})"

    @property
    def name(self) -> str:
        return type(self.detector).__name__

    @property
    def change_time_source(self) -> str:
        """What `change_time` is, in a sentence."""
        warns = hasattr(self.detector, "warning_detected")
        return CHANGE_TIME_SOURCE.get(self.name, WARNING_SOURCE if warns else FALLBACK_SOURCE)

    def update(self, correct: bool, time: int) -> bool:
        """Take in one supervised sample; True raises the alarm."""
        if self.detector.drift_detected:
            self.detector = self.detector.clone()
            self._seen.clear()
            self._zone = None
        self._seen.append((time, bool(correct)))
        self.detector.update(int(not correct))
        if not self.detector.drift_detected:
            self._track_zone(time)
            return False
        self.change_time = self._estimate()
        return self.direction == "both" or self._got_worse()

    def _track_zone(self, time: int) -> None:
        """Remember where a run-up to an alarm may have begun."""
        if self.name == "PageHinkley":
            test = self.detector
            at_extreme = (test.mode != "down" and test._sum_increase <= test._min_increase) or (
                test.mode == "down" and test._sum_decrease >= test._max_decrease
            )
            if at_extreme:
                self._zone = None
            elif self._zone is None:
                self._zone = time
        elif not getattr(self.detector, "warning_detected", False):
            self._zone = None
        elif self._zone is None:
            self._zone = time

    def _estimate(self) -> int:
        if self.name == "ADWIN":
            return self._back(self.detector.width)
        if self.name == "KSWIN":
            return self._back(self.detector.stat_size)
        return self._back(FALLBACK) if self._zone is None else self._zone

    def _back(self, samples: float) -> int:
        return self._seen[-min(max(int(samples), 1), len(self._seen))][0]

    def _got_worse(self) -> bool:
        after = [correct for time, correct in self._seen if time >= self.change_time]
        before = [correct for time, correct in self._seen if time < self.change_time]
        return not before or sum(after) / len(after) < sum(before) / len(before)
