"""Metrics of one test-then-train (prequential) run, and their mean and standard deviation over runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tmlcd_core.changes import judge, mean
from tmlcd_core.errors import DataError
from tmlcd_core.knn.storage import sample_bytes
from tmlcd_core.learners.trace import Memory


def _metric(formula: str, span: str) -> Any:
    return field(metadata={"formula": formula, "range": span})


@dataclass(frozen=True)
class Metrics:
    """Metrics of one learner in one run; nan where a metric is undefined. `describe` returns the formula of each.

    If nobody knows the changes of a stream, as in a recorded one, the metrics that need them are nan.
    """

    accuracy: float = _metric("fraction of samples predicted correctly", "0..1")
    accuracy_before: float = _metric("accuracy before the first change; of the whole stream if there is none", "0..1")
    accuracy_after: float = _metric("accuracy from the first change on", "0..1")
    accuracy_100: float = _metric("accuracy in the 100 samples after each change, mean over changes", "0..1")
    accuracy_200: float = _metric("accuracy in the 200 samples after each change, mean over changes", "0..1")
    accuracy_500: float = _metric("accuracy in the 500 samples after each change, mean over changes", "0..1")
    recovery: float = _metric(
        "samples from a change until the accuracy over the last 100 samples after the end of the change reaches 95 % "
        "of the accuracy before it, or before the earlier change from which it has not recovered; 0 if it never fell "
        "below that; counted from the fall if it fell later; mean over changes with recovery",
        "0..length",
    )
    unrecovered: float = _metric(
        "changes without recovery before the next change or the end of the stream", "0..changes"
    )
    final_size: int = _metric("|T| after the last sample", ">= 0")
    largest_size: int = _metric("maximum of |T| over time", ">= final_size")
    mean_size: float = _metric("mean of |T| over time", ">= 0")
    largest_bytes: int = _metric("b max |T|; b bytes a sample: 4 (d + 2), d + 5 with storage='uint8'", ">= 0")
    window_bytes: int = _metric("b |W|: history window, which the paper counts separately", ">= 0")
    mean_bytes: float = _metric("mean over time of the device memory: b (|T| + |W|) + fixed parts", ">= 0")
    peak_bytes: int = _metric("maximum over time of the device memory: b (|T| + |W|) + fixed parts", ">= mean_bytes")
    delay: float = _metric("first alarm after a change - change, mean over detected changes", ">= 0 samples")
    change_point_error: float = _metric(
        "|estimated change point - change| at the first alarm after each change, mean", ">= 0 samples"
    )
    alarms: float = _metric("number of alarms; nan without a test", ">= 0")
    missed: float = _metric(
        "changes without an alarm before the next change or the end; nan without a test", "0..changes"
    )
    false_alarms: float = _metric(
        "alarms except the first after a change and those during a gradual change; nan without a test", ">= 0"
    )
    microseconds: float = _metric(
        "run time / samples; learners share the distances, which the first learner of the run computes", "> 0 µs"
    )


def describe() -> dict[str, dict[str, str]]:
    """Return the formula and range of every field of `Metrics`, as dicts by field name.

    >>> describe()["accuracy"]["range"]
    '0..1'
    """
    return {f.name: dict(f.metadata) for f in fields(Metrics)}


def evaluate(
    correct: ArrayLike,
    sizes: ArrayLike,
    detections: Sequence[int] | NDArray[np.integer] = (),
    change_points: Sequence[int] | NDArray[np.integer] = (),
    changes: Sequence[int] | None = (),
    ends: Sequence[int] | None = None,
    n_features: int = 0,
    window: int = 0,
    seconds: float = math.nan,
    has_test: bool = True,
    memory: Memory | None = None,
) -> Metrics:
    """Compute the `Metrics` of one run.

    Parameters
    ----------
    correct, sizes : array-like, shape (n,)
        Whether each prediction was correct, and |T| after each sample.
    detections, change_points : sequence of int
        Samples with an alarm, and the change point estimated at each.
    changes, ends : sequence of int
        First sample of each new concept, and the sample from which on it is complete; `changes` if None.
        `changes` None: unknown.
    n_features, window : int
        Number of features d, and length of the history window W.
    seconds : float
        Run time.
    has_test : bool
        True if the learner has a change-detection test.
    memory : Memory or None
        Bytes of a sample, |W| and fixed bytes as the learner counts them; 4 (d + 2) a sample and `window` if None.

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
        raise DataError(f"{n} predictions and {len(sizes)} sizes: give one of each per sample, for at least 1 sample")
    known = changes is not None
    changes = changes or ()
    if any(not 0 < change < n for change in changes):
        raise DataError(f"changes={list(changes)}: every change must be in 1..{n - 1}")
    found = judge(correct, detections, changes, ends)
    pairs = [(o.change, int(change_points[o.detection])) for o in found.outcomes if o.detection is not None]
    first = changes[0] if changes else n
    memory = memory or Memory(sample_bytes(n_features), window)
    total = memory.over_time(sizes)

    def soon(span: int) -> float:
        return mean([mean(correct[o.change : min(o.change + span, o.stop)]) for o in found.outcomes])

    return Metrics(
        accuracy=mean(correct),
        accuracy_before=mean(correct[:first]) if known else math.nan,
        accuracy_after=mean(correct[first:]),
        accuracy_100=soon(100),
        accuracy_200=soon(200),
        accuracy_500=soon(500),
        recovery=found.recovery,
        unrecovered=found.unrecovered if known else math.nan,
        final_size=int(sizes[-1]),
        largest_size=int(sizes.max()),
        mean_size=float(sizes.mean()),
        largest_bytes=int(sizes.max()) * memory.sample_bytes,
        window_bytes=memory.window * memory.sample_bytes,
        mean_bytes=float(total.mean()),
        peak_bytes=int(total.max()),
        delay=found.delay,
        change_point_error=mean([abs(point - change) for change, point in pairs]),
        alarms=len(found.alarms) if has_test else math.nan,
        missed=found.missed if has_test and known else math.nan,
        false_alarms=len(found.false) if has_test and known else math.nan,
        microseconds=1e6 * seconds / n,
    )


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation (divisor n, as in the paper's tables) over the `n` runs with a value."""

    mean: float
    std: float
    n: int


def spread(values: ArrayLike) -> Spread:
    """Return the mean and standard deviation of values (n,), ignoring nan.

    >>> spread([1.0, 3.0, math.nan])
    Spread(mean=2.0, std=1.0, n=2)
    """
    array = np.asarray(values, np.float64)
    array = array[~np.isnan(array)]
    if not len(array):
        return Spread(math.nan, math.nan, 0)
    return Spread(float(array.mean()), float(array.std()), len(array))


def summarise(runs: Sequence[Metrics]) -> dict[str, Spread]:
    """Return the `Spread` of every metric over runs, by field name."""
    return {f.name: spread([getattr(m, f.name) for m in runs]) for f in fields(Metrics)}


def summary_json(summary: Mapping[str, Spread]) -> dict[str, dict[str, float | int]]:
    """Return a summary as JSON values: mean, std and number of runs by metric."""
    return {name: {"mean": s.mean, "std": s.std, "runs": s.n} for name, s in summary.items()}
