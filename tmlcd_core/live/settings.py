"""Settings of the learners for short live sessions, with their false-alarm rate."""

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

LIVE_LEARNERS = ("cit", "active", "hybrid")
RANGES: dict[str, tuple[Any, Any]] = {  # limits of the page's widgets and of session files; int for integers
    "batch": (1, 20),
    "warmup": (4, 60),
    "max_size": (5, 300),
    "window": (5, 300),
    "k": (1, 15),
    "threshold": (0.0, 30.0),
    "accuracy": (0.5, 1.0),
    "margin": (0.01, 0.2),
    "horizon": (20, 200),  # calibration time and memory grow with horizon / batch / false_alarms
    "false_alarms": (0.01, 0.2),
}
RUNS = 4_000  # simulated streams


@dataclass(frozen=True)
class LiveSettings:
    """Settings of the learners of a live session.

    The paper's n = 50 and ξ = 100 need hundreds of samples: here the test makes a step every 5 answers after a warm-up
    of 12. (An alarm that would leave fewer than 5 samples does not change the learner, so a shorter batch could raise
    alarms without effect.) For so few samples v0 is kept at least 0.08 from 0 and 1, the exact binomial likelihood
    replaces the normal approximation, and Active, too, detects only drops.

    Values outside RANGES raise a `ConfigError`.

    Parameters
    ----------
    batch, warmup : int
        Batch size n and warm-up length ξ of the test, in judged answers.
    threshold : float or None
        Threshold h; None to calibrate it with `calibrate_threshold` for the next three parameters.
    accuracy, horizon, false_alarms : float, int, float
        While the accuracy is constant at `accuracy`, the probability of a false alarm within `horizon` answers after
        the warm-up is at most `false_alarms`.
    margin : float
        Minimum distance of v0 from 0 and 1.
    max_size, window : int
        Bound of |T| (Hybrid) and size of the history window W (Active).
    k, weights : int or "sqrt", str
        Number of neighbours and weights of the kNN. With five takes per word k = 1 is best: accuracy 0.97, against
        0.96 with k = 3 and 0.95 with k = 5, measured on cepstra of the Free Spoken Digit Dataset (not included).

    Examples
    --------
    >>> settings = LiveSettings()
    >>> round(settings.h, 1), settings.false_alarm_rate() <= 0.05
    (5.6, True)
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
        """Threshold of the test: as given, or calibrated."""
        return self.threshold if self.threshold is not None else _calibrated(self)

    def detector(self) -> GeneralizedCusum:
        """Return a new CUSUM test with these settings."""
        return GeneralizedCusum(
            self.h, self.batch, self.warmup, direction="down", likelihood="binomial", margin=self.margin
        )

    def learner(self, name: str, seed: int = 0) -> StreamLearner:
        """Return an unfitted CIT, Active or Hybrid learner by name, without condensing, since takes are few."""
        votes: dict[str, Any] = {"k": self.k, "weights": self.weights, "condense": False, "random_state": seed}
        if name == "cit":
            return CondensingInTime(**votes)
        if name == "active":
            return ActiveTinyKNN(window=self.window, detector=self.detector(), **votes)
        if name == "hybrid":
            return HybridTinyKNN(max_size=self.max_size, detector=self.detector(), **votes)
        raise ConfigError(f"there is no learner {name!r} for a live session; there are {', '.join(LIVE_LEARNERS)}")

    def false_alarm_rate(self, accuracy: float | None = None) -> float:
        """Return the simulated false-alarm probability within the horizon at an accuracy (None: `self.accuracy`)."""
        stable = self.accuracy if accuracy is None else accuracy
        return float((_simulated(self, stable, stable) >= self.h).any(axis=1).mean())

    def to_json(self) -> dict[str, Any]:
        """Return the settings as a dict of JSON values."""
        return asdict(self)


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
