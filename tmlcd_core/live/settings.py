"""Settings of the learners for dozens of samples, and what they promise."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tmlcd_core.detectors import GeneralizedCusum, calibrate_threshold
from tmlcd_core.detectors.calibration import simulate_statistic
from tmlcd_core.errors import ConfigError
from tmlcd_core.learners import ActiveTinyKNN, CondensingInTime, HybridTinyKNN, StreamLearner
from tmlcd_core.validation import one_of, real_number, whole_number

LEARNERS = ("cit", "active", "hybrid")
RANGES: dict[str, tuple[Any, Any]] = {  # of the page's widgets and of session files; ints are of whole numbers
    "batch": (1, 20),
    "warmup": (4, 60),
    "max_size": (5, 300),
    "window": (5, 300),
    "k": (1, 15),
    "threshold": (0.0, 30.0),
    "accuracy": (0.5, 1.0),
    "margin": (0.01, 0.2),
    "horizon": (20, 200),  # the calibration's time and memory grow with horizon / batch / false_alarms
    "false_alarms": (0.01, 0.2),
}
RUNS = 4_000  # simulated streams behind an expected delay
USUAL = (0.1, 0.9)  # quantiles of the delay between which the alarm is expected


@dataclass(frozen=True)
class LiveSettings:
    """What the learners of a live session are built with.

    The paper's n = 50 and ξ = 100 need hundreds of samples: here the test steps every 5 answers after 12. (An alarm
    that leaves fewer than 5 samples leaves the learner as it is, so a shorter batch could alarm in vain.) With so few,
    v0 is kept 0.08 from 1, the exact binomial likelihood takes the place of the normal approximation, and only
    drops are looked for, by Active too.

    Values outside RANGES are refused with a ConfigError, before anything is computed from them.

    Parameters
    ----------
    batch, warmup
        n and ξ of the test, in judged answers.
    threshold
        h; None for `calibrate_threshold` with the promise below.
    accuracy, horizon, false_alarms
        The promise: while the accuracy stays at this, a false alarm within so many answers after the warm-up has at
        most this probability.
    margin
        v0 is kept this far from 0 and 1.
    max_size, window
        Bounds of T (Hybrid) and of the history window W (Active).
    k, weights
        Of the kNN. With five takes a word the nearest alone decides best: 0.97 against 0.96 with three neighbours and
        0.95 with five, measured once on cepstra of the Free Spoken Digit Dataset, which is not shipped.

    Examples
    --------
    >>> settings = LiveSettings()
    >>> round(settings.h, 1), settings.delay(after=0.3).usual
    (5.6, (5, 15))
    """

    batch: int = 5
    warmup: int = 12
    threshold: float | None = None
    accuracy: float = 0.9
    horizon: int = 100
    false_alarms: float = 0.05
    margin: float = 0.08
    max_size: int = 200
    window: int = 200
    k: int | str = 1
    weights: str = "uniform"

    def __post_init__(self) -> None:
        one_of("weights", self.weights, ("uniform", "distance"))
        for name, limits in RANGES.items():
            value = getattr(self, name)
            if (name == "threshold" and value is None) or (name == "k" and isinstance(value, str) and value == "sqrt"):
                continue
            check = whole_number if isinstance(limits[0], int) else real_number
            object.__setattr__(self, name, check(name, value, *limits))

    @property
    def h(self) -> float:
        """The threshold: the one given, or the calibrated one."""
        return self.threshold if self.threshold is not None else _calibrated(self)

    def detector(self) -> GeneralizedCusum:
        """The test as the learners get it."""
        return GeneralizedCusum(
            self.h, self.batch, self.warmup, direction="down", likelihood="binomial", margin=self.margin
        )

    def learner(self, name: str, seed: int = 0) -> StreamLearner:
        """CIT, Active or Hybrid by name, ready to fit; nothing is condensed, for there is nothing to spare."""
        votes: dict[str, Any] = {"k": self.k, "weights": self.weights, "condense": False, "random_state": seed}
        if name == "cit":
            return CondensingInTime(**votes)
        if name == "active":
            return ActiveTinyKNN(window=self.window, detector=self.detector(), **votes)
        if name == "hybrid":
            return HybridTinyKNN(max_size=self.max_size, detector=self.detector(), **votes)
        raise ConfigError(f"there is no learner {name!r} for a live session; there are {', '.join(LEARNERS)}")

    def false_alarm_rate(self, accuracy: float | None = None) -> float:
        """Simulated probability of a false alarm within the horizon at this accuracy (by default the promised one)."""
        stable = self.accuracy if accuracy is None else accuracy
        return float((_simulated(self, stable, stable) >= self.h).any(axis=1).mean())

    def delay(self, after: float, before: float | None = None) -> Delay:
        """How many answers after a drop from `before` (by default the promised accuracy) to `after` the alarm comes."""
        crossed = _simulated(self, self.accuracy if before is None else before, after) >= self.h
        caught = crossed.any(axis=1)
        if not caught.any():
            return Delay(float("nan"), (self.horizon, self.horizon), 1.0)
        answers = (crossed.argmax(axis=1)[caught] + 1) * self.batch
        low, high = np.quantile(answers, USUAL, method="nearest")
        return Delay(float(answers.mean()), (int(low), int(high)), float(1 - caught.mean()))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Delay:
    """From the change to the alarm, in answers."""

    mean: float  # of the changes that are noticed within the horizon
    usual: tuple[int, int]  # in four of five cases it lies between these
    missed: float  # share of changes without an alarm within the horizon, 0..1


@lru_cache(maxsize=32)
def _calibrated(settings: LiveSettings) -> float:
    s = settings
    return calibrate_threshold(
        s.accuracy, s.batch, s.warmup, s.horizon, s.false_alarms, "down", "binomial", margin=s.margin
    )


@lru_cache(maxsize=32)
def _simulated(settings: LiveSettings, before: float, after: float) -> np.ndarray:
    s = settings
    return simulate_statistic(
        before, after, s.batch, s.warmup, s.horizon, RUNS, "down", "binomial", random_state=1, margin=s.margin
    )
