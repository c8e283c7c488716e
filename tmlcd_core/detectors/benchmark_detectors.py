"""Detectors of the benchmark, each with the one parameter that sets its sensitivity."""

from __future__ import annotations

import copy
import math
import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.detectors import compiled
from tmlcd_core.detectors.cusum import GeneralizedCusum
from tmlcd_core.detectors.detector import ChangeDetector
from tmlcd_core.errors import ConfigError
from tmlcd_core.optional_packages import require
from tmlcd_core.validation import real_number, shown

DROPS, BOTH = "drops", "drops and rises"  # changes of the accuracy that a detector reports
KSWIN_SEED = 0  # of KSWIN's random samples: its own default is another one every time
KSWIN_WINDOW, KSWIN_RECENT = 100, 30  # samples in KSWIN's window, and in each sample it compares: river's defaults

Kernel = tuple[Callable[..., None], tuple[Any, ...]]  # a function of `compiled` and its parameters


@dataclass(frozen=True)
class Detector:
    """A drift detector with one sensitivity parameter that the benchmark may choose.

    Parameters
    ----------
    name : str
        Name in tables and on the command line.
    make : callable
        Function of the parameter's value that returns a new detector: a river detector with `update(x)` and
        `drift_detected`, x = 1 for an error, or a `ChangeDetector`. If it has `change_time` (or `width`, as ADWIN),
        the error of its change point is measured too.
    quiet, keen : float
        Values with the fewest and with the most alarms, both above 0: the ends of the search. Equal ends fix the value.
    parameter : str
        Name of the parameter in tables.
    reports : str
        Which changes of the accuracy it reports: "drops" or "drops and rises".
    compiled : callable or None
        Function of the value and the number of samples that returns a `Kernel` with the alarms of `make`.

    Examples
    --------
    >>> from river import drift
    >>> Detector("PH, rising errors", lambda h: drift.PageHinkley(threshold=h, mode="up"), 1000, 1).own
    True
    """

    name: str
    make: Callable[[float], Any]
    quiet: float
    keen: float
    parameter: str = "level"
    reports: str = ""
    compiled: Callable[[float, int], Kernel] | None = None

    def __post_init__(self) -> None:
        for end in (self.quiet, self.keen):
            if real_number(f"a limit of {self.parameter}", end, 0.0) == 0:
                raise ConfigError(f"the detector {self.name}: quiet={self.quiet:g}, keen={self.keen:g} must be above 0")

    @property
    def own(self) -> bool:
        """True if it runs as a Python object, sample by sample."""
        return self.compiled is None


def as_detector(detector: Any) -> Detector:
    """Return a `Detector`: one itself, a name in `DETECTORS`, or an object with fixed parameters, which is cloned."""
    if isinstance(detector, Detector):
        return detector
    if isinstance(detector, str):
        known = {name.lower(): one for name, one in DETECTORS.items()}
        if detector.lower() not in known:
            raise ConfigError(f"there is no detector {detector!r}; there are {', '.join(DETECTORS)}")
        return known[detector.lower()]
    check_interface(detector)
    clone = getattr(detector, "clone", None) or (lambda: copy.deepcopy(detector))
    return Detector(type(detector).__name__, lambda level: clone(), 1.0, 1.0, "")


def check_interface(detector: Any) -> bool:
    """Return True for a river detector, False for a `ChangeDetector`, or raise a ConfigError."""
    if not isinstance(detector, type) and hasattr(detector, "update"):
        if hasattr(detector, "drift_detected"):
            return True
        if isinstance(detector, ChangeDetector):
            return False
    raise ConfigError(
        f"{shown(detector)} is not a detector: pass an object with update(x) and drift_detected as in river, "
        "a Detector, or a name"
    )


def river_drift() -> Any:
    """Return the module `river.drift`, or raise a `MissingPackageError`."""
    require("river")
    from river import drift

    return drift


@lru_cache(maxsize=8)
def cusum_tables(likelihood: str, batch: int, warmup: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ratios of `GeneralizedCusum` after its warm-up and after a restart, as `compiled.cusum` wants them."""
    tables = []
    for samples in (warmup, batch):
        test = GeneralizedCusum(batch=batch, warmup=warmup, likelihood=likelihood)
        rows = []
        for correct in range(samples + 1):
            test.begin(correct / samples)
            rows.append(test.ratios(np.arange(batch + 1)))
        table = np.full((samples + 1, batch + 1, max(row.shape[1] for row in rows)), np.nan)
        for place, row in zip(table, rows, strict=True):
            place[:, : row.shape[1]] = row
        tables.append(table)
    return tables[0], tables[1]


@lru_cache(maxsize=8)
def kswin_tables(samples: int) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """Return KSWIN's random positions of each test since a restart, and the p-value of each difference in errors."""
    from scipy.stats import ks_2samp  # type: ignore[import-untyped]

    n, older = KSWIN_RECENT, range(KSWIN_WINDOW - KSWIN_RECENT)
    generator = random.Random(KSWIN_SEED)  # Python's own, as in river: sample() draws the same positions
    draws = [generator.sample(older, n) for _ in range(max(samples - KSWIN_WINDOW, 0) + 1)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # two p-values below 1e-15 are not exact, as in river
        p_values = [ks_2samp([0] * n, [1] * errors + [0] * (n - errors)).pvalue for errors in range(n + 1)]
    return np.array(draws, np.uint8), np.array(p_values)


def _cusum(name: str, likelihood: str) -> Detector:
    batch, warmup = 50, 100  # the paper's n and ξ
    return Detector(
        name,
        lambda h: GeneralizedCusum(h, batch, warmup, likelihood=likelihood),
        1e5, 1.0, "threshold", BOTH,
        lambda h, samples: (compiled.cusum, (h, batch, *cusum_tables(likelihood, batch, warmup))),
    )  # fmt: skip


# River's defaults except for the parameter. EDDM: alpha, the level of a warning, must be at least beta; it does not
# change the alarms. HDDM: the warning's confidence does not change them either.
DETECTORS: dict[str, Detector] = {
    one.name: one
    for one in (
        _cusum("CUSUM", "normal"),
        _cusum("CUSUM-binomial", "binomial"),
        Detector(
            "ADWIN", lambda delta: river_drift().ADWIN(delta=delta), 1e-30, 0.999, "delta", BOTH,
            lambda delta, samples: (compiled.adwin, (delta, 32, 5, 5, 10)),
        ),
        Detector(
            "DDM", lambda h: river_drift().binary.DDM(drift_threshold=h), 100.0, 0.5, "drift_threshold", DROPS,
            lambda h, samples: (compiled.ddm, (h, 30)),
        ),
        Detector(
            "EDDM", lambda beta: river_drift().binary.EDDM(alpha=max(beta, 0.95), beta=beta), 0.01, 0.999, "beta",
            DROPS, lambda beta, samples: (compiled.eddm, (beta, 30)),
        ),
        Detector(
            "HDDM_A", lambda p: river_drift().binary.HDDMA(drift_confidence=p), 1e-30, 0.999, "drift_confidence", DROPS,
            lambda p, samples: (compiled.hddm_a, (p, math.log(1 / p), math.log(2 / p))),
        ),
        Detector(
            "HDDM_W", lambda p: river_drift().binary.HDDMW(drift_confidence=p), 1e-30, 0.999, "drift_confidence", DROPS,
            lambda p, samples: (compiled.hddm_w, (p, math.log(1 / p), 0.05)),
        ),
        Detector(
            "KSWIN", lambda p: river_drift().KSWIN(alpha=p, seed=KSWIN_SEED), 1e-20, 0.5, "alpha", BOTH,
            lambda p, samples: (compiled.kswin, (p, KSWIN_WINDOW, KSWIN_RECENT, *kswin_tables(samples))),
        ),
        Detector(
            "PageHinkley", lambda h: river_drift().PageHinkley(threshold=h), 1e5, 1.0, "threshold", BOTH,
            lambda h, samples: (compiled.page_hinkley, (h, 30, 0.005, 1 - 0.0001, True, True)),
        ),
    )
}  # fmt: skip


def register_detector(detector: Detector) -> Detector:
    """Register a detector by its name for `compare` and the command `tmlcd detectors`; return it.

    Examples
    --------
    >>> from river import drift
    >>> mine = Detector("ADWIN-1", lambda delta: drift.ADWIN(delta, clock=1), 1e-30, 0.999, "delta")
    >>> register_detector(mine).own
    True
    >>> del DETECTORS["ADWIN-1"]
    """
    DETECTORS[detector.name] = detector
    return detector
