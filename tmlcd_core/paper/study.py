"""Shared parts of the studies: a result of cases as JSON, and paired differences with their bootstrap interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.errors import ConfigError, DataError

RESAMPLES, LEVEL, SEED = 4000, 0.95, 0  # of the bootstrap
CaseT = TypeVar("CaseT")


@dataclass(frozen=True)
class Study(Generic[CaseT]):
    """Result of a study: number of runs (draws) behind each case, and the cases.

    A subclass names the dataclass of a case in `CASE` and the command that makes the result in `COMMAND`.
    """

    CASE: ClassVar[type]
    COMMAND: ClassVar[str]

    runs: int
    cases: tuple[CaseT, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON values; `from_json` reads them."""
        return {"runs": self.runs, "cases": [asdict(case) for case in self.cases]}  # type: ignore[call-overload]

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Self:
        """Return the result of values made by `to_json`; a `DataError` for other values."""
        try:
            return cls(int(found["runs"]), tuple(cls.CASE(**case) for case in found["cases"]))
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(
                f"this is not a result of `tmlcd {cls.COMMAND}` ({error}): run the command again"
            ) from error


def require_pairs(runs: int) -> None:
    """Raise a ConfigError if there are too few runs for an interval."""
    if runs < 2:
        raise ConfigError(f"runs={runs}: the intervals need at least 2 runs")


@dataclass(frozen=True)
class Gain:
    """Mean of paired differences over runs, with its 95 % bootstrap interval; `str` gives "mean [low, high]"."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"

    @property
    def sign(self) -> int:
        """1 or -1 if the interval lies above or below 0, else 0."""
        return int(self.low > 0) - int(self.high < 0)


def gain_of(differences: Sequence[float] | NDArray[np.float64]) -> Gain:
    """Return the mean of differences, shape (runs,), and the percentile bootstrap interval of the mean.

    >>> gain_of([0.02, 0.04, 0.03, 0.03]).sign
    1
    """
    values = np.asarray(differences, np.float64)
    drawn = np.random.default_rng(SEED).integers(0, len(values), (RESAMPLES, len(values)))
    low, high = np.quantile(values[drawn].mean(axis=1), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Gain(float(values.mean()), float(low), float(high))
