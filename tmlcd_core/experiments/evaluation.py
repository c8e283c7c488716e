"""Honest figures of one run: every sample is predicted before it is learned."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tmlcd_core.changes import judge, mean
from tmlcd_core.errors import DataError
from tmlcd_core.knn.store import sample_bytes


def _metric(formula: str, span: str) -> Any:
    return field(metadata={"formula": formula, "range": span})


@dataclass(frozen=True)
class Metrics:
    """What one learner did in one run; nan where a figure means nothing. `describe` tells what each field is."""

    accuracy: float = _metric("share of samples predicted right", "0..1")
    accuracy_before: float = _metric("the same before the first change; the whole stream if there is none", "0..1")
    accuracy_after: float = _metric("the same from the first change on", "0..1")
    accuracy_100: float = _metric("the same in the 100 samples after each change, mean over changes", "0..1")
    accuracy_200: float = _metric("the same in the 200 samples after each change", "0..1")
    accuracy_500: float = _metric("the same in the 500 samples after each change", "0..1")
    recovery: float = _metric(
        "samples from a change until the last 100, all after it is over, are predicted with 95 % of the accuracy of "
        "the concept before; 0 if it did not fall below that; from the fall if it fell only later; "
        "mean over changes from which the learner recovered",
        "0..length",
    )
    unrecovered: int = _metric(
        "changes after which the accuracy fell and was not back before the next one or the end", "0..changes"
    )
    final_size: int = _metric("|T| after the last sample", ">= 0")
    largest_size: int = _metric("max over time of |T|", ">= final_size")
    mean_size: float = _metric("mean over time of |T|", ">= 0")
    largest_bytes: int = _metric("4 (d + 2) max |T|: features, label, time of 32 bits each", ">= 0")
    window_bytes: int = _metric("4 (d + 2) |W|: the history window, which the paper counts apart", ">= 0")
    delay: float = _metric("first alarm after a change - change, mean over detected changes", ">= 0 samples")
    change_point_error: float = _metric("|estimated change point - change| at those alarms, mean", ">= 0 samples")
    missed: float = _metric("changes without an alarm before the next one or the end; nan without a test", "0..changes")
    false_alarms: float = _metric(
        "alarms other than the first after a change, those while a change goes on excepted; nan without a test", ">= 0"
    )
    microseconds: float = _metric(
        "time of the run / samples; the learners of a run share its distances, and take turns to pay for them", "> 0 µs"
    )


def describe() -> dict[str, dict[str, str]]:
    """Formula and range of every field of `Metrics`, for tables and tooltips.

    >>> describe()["accuracy"]["range"]
    '0..1'
    """
    return {f.name: dict(f.metadata) for f in fields(Metrics)}


def evaluate(
    correct: ArrayLike,
    sizes: ArrayLike,
    detections: Sequence[int] | NDArray[np.integer] = (),
    change_points: Sequence[int] | NDArray[np.integer] = (),
    changes: Sequence[int] = (),
    ends: Sequence[int] | None = None,
    n_features: int = 0,
    window: int = 0,
    seconds: float = math.nan,
    has_test: bool = True,
) -> Metrics:
    """The metrics of one run.

    Parameters
    ----------
    correct, sizes, detections, change_points
        Of the learner's trace.
    changes, ends
        First sample of each new concept, and from where on it is alone; the same unless given.
    n_features, window
        d, and the length of the history window W.
    seconds
        That the run took.
    has_test
        Whether the learner has a change-detection test at all.

    Examples
    --------
    >>> correct = np.arange(600) % 300 >= 60  # 60 errors after 0 and after 300
    >>> m = evaluate(correct, np.full(600, 20), detections=[349], change_points=[310], changes=[300])
    >>> m.accuracy_100, m.delay, m.change_point_error, m.false_alarms
    (0.4, 49.0, 10.0, 0)
    """
    correct, sizes = np.asarray(correct, bool), np.asarray(sizes)
    n = len(correct)
    if not n or len(sizes) != n:
        raise DataError(f"{n} predictions and {len(sizes)} sizes: give one of each for every sample, and at least one")
    if any(not 0 < change < n for change in changes):
        raise DataError(f"changes={list(changes)}: a change lies within the {n} samples, after the first")
    found = judge(correct, detections, changes, ends)
    pairs = [(o.change, int(change_points[o.detection])) for o in found.outcomes if o.detection is not None]
    first = changes[0] if changes else n
    each = sample_bytes(n_features)

    def soon(span: int) -> float:
        return mean([mean(correct[o.change : min(o.change + span, o.stop)]) for o in found.outcomes])

    return Metrics(
        accuracy=mean(correct),
        accuracy_before=mean(correct[:first]),
        accuracy_after=mean(correct[first:]),
        accuracy_100=soon(100),
        accuracy_200=soon(200),
        accuracy_500=soon(500),
        recovery=found.recovery,
        unrecovered=found.unrecovered,
        final_size=int(sizes[-1]),
        largest_size=int(sizes.max()),
        mean_size=float(sizes.mean()),
        largest_bytes=int(sizes.max()) * each,
        window_bytes=window * each,
        delay=found.delay,
        change_point_error=mean([abs(point - change) for change, point in pairs]),
        missed=found.missed if has_test else math.nan,
        false_alarms=len(found.false) if has_test else math.nan,
        microseconds=1e6 * seconds / n,
    )


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation (divisor n, as in the paper's tables) over the `n` runs that have a value."""

    mean: float
    std: float
    n: int


def spread(values: ArrayLike) -> Spread:
    """
    >>> spread([1.0, 3.0, math.nan])
    Spread(mean=2.0, std=1.0, n=2)
    """
    array = np.asarray(values, np.float64)
    array = array[~np.isnan(array)]
    if not len(array):
        return Spread(math.nan, math.nan, 0)
    return Spread(float(array.mean()), float(array.std()), len(array))


def summarise(runs: Sequence[Metrics]) -> dict[str, Spread]:
    """Every metric's mean and spread over runs."""
    return {f.name: spread([getattr(m, f.name) for m in runs]) for f in fields(Metrics)}


def summary_json(summary: Mapping[str, Spread]) -> dict[str, dict[str, float | int]]:
    return {name: {"mean": s.mean, "std": s.std, "runs": s.n} for name, s in summary.items()}
