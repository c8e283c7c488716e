"""Benchmark of drift detectors at one false-alarm rate: delay, missed changes and error of the change point.

Every detector gets the value of its sensitivity parameter at which a given share of stationary streams raises an
alarm; then all are compared on streams with a change. Detectors with the same rate differ by what they detect, not by
how careful their default is. Usable with river alone: pass your own error sequences and river's or your detectors.

>>> from tmlcd_core.detectors import benchmark
>>> quiet = benchmark.bernoulli(0.8, streams=2000)
>>> drops = [benchmark.bernoulli(0.8, drop=0.3, streams=200, seed=1)]
>>> for result in benchmark.compare(["ADWIN", "DDM"], quiet, drops, rate=0.05):
...     print(result.detector, f"{result.level:.3g}", round(result.detections[0].delay.value))
ADWIN 0.149 55
DDM 3.78 251
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tmlcd_core.detectors.benchmark_detectors import (
    DETECTORS,
    Detector,
    as_detector,
    check_interface,
    register_detector,
)
from tmlcd_core.detectors.benchmark_streams import ErrorStreams, as_errors, bernoulli
from tmlcd_core.detectors.compiled import NONE
from tmlcd_core.errors import ConfigError, TmlcdError
from tmlcd_core.progress import Progress, silent
from tmlcd_core.validation import one_line, real_number, shown, whole_number

__all__ = [
    "DETECTORS",
    "Detection",
    "Detector",
    "ErrorStreams",
    "Estimate",
    "Result",
    "as_detector",
    "as_errors",
    "bernoulli",
    "calibrate",
    "compare",
    "fewest_streams",
    "first_alarms",
    "register_detector",
]

WARMUP = 100  # samples at the start of a stream whose alarms do not count
OWN_STREAMS = 500  # most streams of each kind for a detector that runs as a Python object
PRECISION = 1e-4  # relative error at which the search for a parameter ends
NEAR = 0.9  # share of the rate that a calibrated detector reaches, unless its rate jumps
CHUNK = 250  # streams per call of a compiled detector, so that Ctrl-C acts soon
WIDTH = 1.96  # standard errors of a 95 % confidence interval


@dataclass(frozen=True)
class Estimate:
    """A measured value with the ends of its 95 % confidence interval; nan if nothing was measured."""

    value: float
    low: float
    high: float

    @classmethod
    def share(cls, count: int, n: int) -> Estimate:
        """Return the estimate of a probability from `count` of n cases, with Wilson's interval.

        >>> round(Estimate.share(0, 100).high, 3)
        0.037
        """
        p, z = count / n, WIDTH**2 / n
        centre = (p + z / 2) / (1 + z)
        half = WIDTH * math.sqrt(p * (1 - p) / n + z / (4 * n)) / (1 + z)
        return cls(p, max(centre - half, 0.0), min(centre + half, 1.0))

    @classmethod
    def mean(cls, values: NDArray) -> Estimate:
        """Return the estimate of the mean of values (n,), with the interval of the normal distribution."""
        if not len(values):
            return cls(math.nan, math.nan, math.nan)
        mean = float(values.mean())
        half = WIDTH * float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan
        return cls(mean, mean - half, mean + half)


@dataclass(frozen=True)
class Detection:
    """Detections of a calibrated detector on streams with a change.

    `delay` is the mean number of samples from the change to the first alarm after it; a missed change counts with all
    samples after it. `detected_delay` is the mean over the detected changes alone. `missed` is the share of changes
    without an alarm; `location` the mean absolute error of the estimated change point in samples, over the detected
    changes, None if the detector gives no estimate. `drop` and `width` are those of the `ErrorStreams`.
    """

    name: str
    drop: float
    width: int
    streams: int
    delay: Estimate
    missed: Estimate
    detected_delay: float
    location: Estimate | None


@dataclass(frozen=True)
class Result:
    """A detector, its calibration and its detections.

    `level` is the chosen value of `parameter`; `calibrated` the share of the `streams` used to choose it that raised an
    alarm; `false_alarms` the share of as many other streams. The two differ by chance, with a standard error of
    sqrt(2 p (1 - p) / streams), while the interval of `false_alarms` holds only the chance of the second. `note` says
    why the rate was not reached, "" if it was.
    """

    detector: str
    parameter: str
    level: float
    reports: str
    own: bool
    streams: int
    calibrated: float
    false_alarms: Estimate
    note: str
    detections: tuple[Detection, ...]


def compare(
    detectors: Iterable[Detector | str | Any],
    stationary: ErrorStreams | ArrayLike,
    changed: Sequence[ErrorStreams],
    rate: float = 0.01,
    warmup: int = WARMUP,
    own_streams: int = OWN_STREAMS,
    progress: Progress = silent,
) -> list[Result]:
    """Calibrate detectors to one false-alarm rate and compare them on streams with a change.

    Parameters
    ----------
    detectors
        `Detector` objects, names in `DETECTORS`, or river detectors with fixed parameters, which are not calibrated.
    stationary : ErrorStreams or array-like (streams, samples)
        Errors without a change. The first half calibrates, the second verifies.
    changed : sequence of ErrorStreams
        Errors with a change.
    rate : float
        Share of stationary streams with one or more alarms after the warm-up, between 0 and 1.
    warmup : int
        Samples at the start whose alarms do not count; they only restart the detector.
    own_streams : int
        Most streams of each kind for a detector that is not compiled; `Result.streams` says how many were used.
    progress
        Called with (done, total, name of the detector).

    Returns
    -------
    list of Result
        One per detector, in their order.
    """
    needed = fewest_streams(rate)
    chosen = [as_detector(one) for one in detectors]
    if not chosen or len({one.name for one in chosen}) != len(chosen):
        raise ConfigError(f"detectors={[one.name for one in chosen]}; give at least one, all with different names")
    own_streams = whole_number("own_streams", own_streams, 1)
    quiet = stationary.errors if isinstance(stationary, ErrorStreams) else as_errors(stationary, "stationary")
    warmup = whole_number("warmup", warmup, 0, quiet.shape[1] - 1)
    for streams in changed:
        if streams.change is None:
            raise ConfigError(f"the streams {streams.name!r} have no change: say where it begins, change=…")
        if streams.change < warmup:
            raise ConfigError(f"{streams.name!r}: the change at {streams.change} is within the warm-up of {warmup}")
    half = len(quiet) // 2
    for detector in chosen:
        n = min(half, own_streams) if detector.own else half
        if n < needed:
            raise ConfigError(
                f"rate={rate:g} cannot be measured on {n} streams: pass at least {2 * needed:,} stationary "
                "streams (half of them verify)" + f" and own_streams={needed}" * detector.own
            )
    steps = 2 + len(changed)
    results = []
    for i, detector in enumerate(chosen):

        def report(step: int, number: int = i, name: str = detector.name) -> None:
            progress(number * steps + step, len(chosen) * steps, name)

        report(0)
        n = min(half, own_streams) if detector.own else half
        level, share, note = calibrate(detector, quiet[:n], rate, warmup)
        report(1)
        alarms = first_alarms(detector, level, quiet[half : half + n], warmup)[:, 0] != NONE
        detections = []
        for step, streams in enumerate(changed, start=2):
            report(step)
            detections.append(_detection(detector, level, streams, own_streams))
        verified = Estimate.share(int(alarms.sum()), n)
        about = detector.name, detector.parameter, level, detector.reports, detector.own
        results.append(Result(*about, n, share, verified, note, tuple(detections)))
        report(steps)
    return results


def fewest_streams(rate: float) -> int:
    """Return the number of streams of which a share `rate`, between 0 and 1, is one stream."""
    if not 0 < real_number("rate", rate, 0.0, 1.0) < 1:
        raise ConfigError(f"rate={rate:g} must lie between 0 and 1, such as 0.01 for 1 % of the streams")
    return math.ceil(1 / rate - 1e-9)


def calibrate(
    detector: Detector | str, errors: ArrayLike, rate: float = 0.01, warmup: int = WARMUP
) -> tuple[float, float, str]:
    """Find the most sensitive value of a detector's parameter with at most a given share of alarms.

    The search halves the interval from `quiet` to `keen` on a logarithmic scale; fewer alarms towards `quiet` are
    assumed. It ends early when no value can be nearer to the rate.

    Parameters
    ----------
    detector : Detector or str
        The detector, or its name in `DETECTORS`.
    errors : array-like (streams, samples)
        Errors without a change.
    rate, warmup
        As in `compare`.

    Returns
    -------
    level, share, note
        The value, the share of these streams with an alarm, and why the rate is not reached ("" if it is).

    Examples
    --------
    >>> level, share, note = calibrate("PageHinkley", bernoulli(0.9, streams=1000).errors, rate=0.05)
    >>> round(level, 1), share, note
    (25.1, 0.05, '')
    """
    detector, errors = as_detector(detector), as_errors(errors)
    n = len(errors)
    allowed = math.floor(rate * n + 1e-9)

    def count(level: float) -> int:
        return int((first_alarms(detector, level, errors, warmup)[:, 0] != NONE).sum())

    low, high = detector.quiet, detector.keen
    if low == high:
        return low, count(low) / n, "its parameters are fixed"
    if not allowed:
        raise ConfigError(f"rate={rate:g} cannot be measured on {n} streams: use at least {fewest_streams(rate):,}")
    fewest, most = count(low), count(high)
    if fewest > allowed:
        return low, fewest / n, f"even {detector.parameter} = {low:g} gives {fewest / n:.2%} false alarms"
    if most <= allowed:
        note = "" if most == allowed else f"even {detector.parameter} = {high:g} gives {most / n:.2%} false alarms"
        return high, most / n, note
    while abs(math.log(high / low)) > PRECISION:
        middle = math.sqrt(low * high)
        found = count(middle)
        if found <= allowed:
            low, fewest = middle, found
        else:
            high, most = middle, found
        if found == allowed:
            break
    note = f"its rate jumps from {fewest / n:.2%} to {most / n:.2%}" if fewest < NEAR * allowed else ""
    return low, fewest / n, note


def first_alarms(detector: Detector, level: float, errors: NDArray[np.uint8], start: int = 0) -> NDArray[np.int32]:
    """Find the first alarm at sample `start` or later of each stream; earlier alarms restart the detector.

    Returns int32 (streams, 2): index of the alarm and estimated first sample of the new concept, -1 for none.
    """
    found = np.empty((len(errors), 2), np.int32)
    if detector.compiled is None:
        for i, stream in enumerate(errors.tolist()):
            found[i] = _alarm_of_object(detector, level, stream, start, i)
        return found
    kernel, parameters = detector.compiled(level, errors.shape[1])
    begins = range(0, len(errors), CHUNK)
    with ThreadPoolExecutor(min(os.cpu_count() or 1, len(begins) or 1)) as pool:
        for _ in pool.map(lambda i: kernel(errors[i : i + CHUNK], start, found[i : i + CHUNK], *parameters), begins):
            pass
    return found


def _alarm_of_object(detector: Detector, level: float, stream: list[int], start: int, number: int) -> tuple[int, int]:
    """First alarm of a Python object at `start` or later, with the change that it estimates."""
    t = 0
    try:
        begin = 0
        one = detector.make(level)
        as_river = check_interface(one)
        for t, error in enumerate(stream):
            alarm = (one.update(error), one.drift_detected)[1] if as_river else one.update(not error, t)
            if alarm and t >= start:
                return t, _change_of(one, t, begin if as_river else 0)
            if alarm:
                one, begin = detector.make(level), t + 1
    except TmlcdError:
        raise
    except Exception as error:
        raise ConfigError(
            f"the detector {detector.name} failed at sample {t} of stream {number} with {type(error).__name__}: "
            f"{one_line(str(error)) or shown(error)}"
        ) from error
    return NONE, NONE


def _change_of(detector: Any, t: int, begin: int) -> int:
    """Estimated first sample of the new concept: `change_time` counts from `begin`, `width` ends at t."""
    if (change := getattr(detector, "change_time", None)) is not None:
        return begin + int(change)
    if (width := getattr(detector, "width", None)) is not None:
        return t + 1 - int(width)
    return NONE


def _detection(detector: Detector, level: float, streams: ErrorStreams, own_streams: int) -> Detection:
    assert streams.change is not None and streams.drop is not None
    errors = streams.errors[:own_streams] if detector.own else streams.errors
    alarms, changes = first_alarms(detector, level, errors, streams.change).T
    caught = alarms != NONE
    rest = streams.samples - streams.change
    delays = np.where(caught, alarms - streams.change + 1, rest)
    given = caught & (changes != NONE)
    return Detection(
        streams.name,
        streams.drop,
        streams.width,
        len(errors),
        Estimate.mean(delays),
        Estimate.share(int((~caught).sum()), len(errors)),
        float(delays[caught].mean()) if caught.any() else math.nan,
        Estimate.mean(np.abs(changes[given] - streams.change)) if given.any() else None,
    )
