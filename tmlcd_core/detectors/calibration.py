"""Calibration of the CUSUM threshold h by simulation: false-alarm rate and detection delay."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.detectors.cusum import V0_MARGIN, GeneralizedCusum
from tmlcd_core.errors import ConfigError
from tmlcd_core.validation import real_number, shown, whole_number

CONFIDENCE = 2.33  # standard errors: the simulation underestimates the rate in one case of a hundred
EXCEEDANCES = 200  # simulated false alarms behind a threshold
RUNS = 10_000, 1_000_000  # fewest and most simulated streams
LONGEST = 65_535  # samples of a batch or a warm-up, as on the device
MOST_BATCHES = 2**27  # simulated batches over all streams: 2 GB


def calibrate_threshold(
    accuracy: float,
    batch: int = 50,
    warmup: int = 100,
    horizon: int = 1000,
    false_alarm_rate: float = 0.01,
    direction: str = "both",
    likelihood: str = "normal",
    random_state: int = 0,
    margin: float = V0_MARGIN,
) -> float:
    """Find the threshold h at which a stationary stream raises an alarm with at most a given probability.

    Streams of constant accuracy are simulated, including the estimate of v0 on `warmup` samples: its error causes many
    of the false alarms. h is a quantile of the largest g_t of each stream, raised by the uncertainty of the simulation
    so that the rate also holds for other seeds.

    Parameters
    ----------
    accuracy
        Accuracy of the classifier while nothing changes, 0..1.
    batch, warmup, direction, likelihood, margin
        As in `GeneralizedCusum`.
    horizon
        Number of supervised samples after the warm-up over which false alarms are counted.
    false_alarm_rate
        Largest probability of one or more false alarms within the horizon.
    random_state
        Seed of the simulation.

    Returns
    -------
    The threshold h.

    Examples
    --------
    >>> round(calibrate_threshold(0.9, batch=50, warmup=100, horizon=1000, false_alarm_rate=0.01), 1)
    73.8
    """
    rate = real_number("false_alarm_rate", false_alarm_rate, 0.0, 1.0)
    fewest, most = RUNS
    if not EXCEEDANCES / most <= rate < 1:
        raise ConfigError(f"false_alarm_rate={false_alarm_rate!r} must lie between {EXCEEDANCES / most:g} and 1")
    runs = max(fewest, math.ceil(EXCEEDANCES / rate))
    test = batch, warmup, horizon, runs, direction, likelihood, random_state, margin
    g = simulate_statistic(accuracy, accuracy, *test)
    allowed = math.floor(runs * rate - CONFIDENCE * math.sqrt(runs * rate * (1 - rate)))
    largest = np.sort(g.max(axis=1))[::-1]
    return float(max(np.nextafter(largest[allowed], np.inf), 0.0))


@dataclass(frozen=True)
class ThresholdRow:
    """False-alarm rate and detection delay of one threshold."""

    threshold: float  # h
    false_alarm_rate: float  # share of stationary streams with an alarm within the horizon, 0..1
    mean_delay: float  # samples from the change to the alarm, mean over detected changes; nan if there are none
    missed: float  # share of changes without an alarm within the horizon, 0..1


def threshold_table(
    accuracy: float,
    accuracy_after: float | None = None,
    batch: int = 50,
    warmup: int = 100,
    horizon: int = 1000,
    thresholds: Sequence[float] = (5, 10, 15, 20, 25, 30, 40, 50, 75, 100),
    direction: str = "both",
    likelihood: str = "normal",
    runs: int = 10_000,
    random_state: int = 0,
) -> list[ThresholdRow]:
    """Simulate the false-alarm rate and the mean delay of each threshold; return one row per threshold.

    The delay is measured for a drop to `accuracy_after` (by default 0.2 below `accuracy`) at the end of the warm-up.
    The other parameters are those of `calibrate_threshold`.

    Examples
    --------
    >>> row = threshold_table(0.9, thresholds=[25.0], direction="down")[0]
    >>> round(row.false_alarm_rate, 2), round(row.mean_delay)
    (0.05, 161)
    """
    if accuracy_after is None:
        accuracy_after = max(real_number("accuracy", accuracy, 0.0, 1.0) - 0.2, 0.0)
    if np.ndim(thresholds) != 1:
        raise ConfigError(f"thresholds={shown(thresholds)} must be a list of numbers")
    levels = [real_number("threshold", h, 0.0) for h in thresholds]

    def simulate(after: float, seed: int) -> NDArray[np.float64]:
        return simulate_statistic(accuracy, after, batch, warmup, horizon, runs, direction, likelihood, seed)

    seed = whole_number("random_state", random_state, 0)
    quiet, changed = simulate(accuracy, seed), simulate(accuracy_after, seed + 1)
    rows = []
    for h in levels:
        crossed = changed >= h
        caught = crossed.any(axis=1)
        delay = (crossed.argmax(axis=1)[caught] + 1) * batch
        rows.append(
            ThresholdRow(
                h,
                float((quiet >= h).any(axis=1).mean()),
                float(delay.mean()) if len(delay) else math.nan,
                float(1 - caught.mean()),
            )
        )
    return rows


def simulate_statistic(
    accuracy: float,
    accuracy_after: float,
    batch: int,
    warmup: int,
    horizon: int,
    runs: int,
    direction: str = "both",
    likelihood: str = "normal",
    random_state: int = 0,
    margin: float = V0_MARGIN,
) -> NDArray[np.float64]:
    """Simulate the statistic g_t of `runs` streams: warm-up at `accuracy`, then batches at `accuracy_after`.

    Returns g_t after each batch, float64 (runs, horizon // batch).
    """
    accuracy = real_number("accuracy", accuracy, 0.0, 1.0)
    accuracy_after = real_number("accuracy_after", accuracy_after, 0.0, 1.0)
    batch, warmup = whole_number("batch", batch, 1, LONGEST), whole_number("warmup", warmup, 1, LONGEST)
    test = GeneralizedCusum(batch=batch, warmup=warmup, direction=direction, likelihood=likelihood, margin=margin)
    batches = whole_number("horizon", horizon, batch) // batch
    runs = whole_number("runs", runs, 1, RUNS[1])
    if runs * batches > MOST_BATCHES:
        raise ConfigError(
            f"horizon={shown(horizon)} is too long for {runs:,} streams: use at most {MOST_BATCHES // runs * batch}"
        )
    rng = np.random.default_rng(whole_number("random_state", random_state, 0))
    warm_hits = rng.binomial(warmup, accuracy, runs)
    hits = rng.binomial(batch, accuracy_after, (len(warm_hits), batches))
    g = np.zeros(hits.shape)
    for warm in np.unique(warm_hits):  # streams that share v0 share their candidates
        rows = np.flatnonzero(warm_hits == warm)
        test.begin(warm / warmup)
        candidates = len(test.candidates)
        if not candidates:
            continue
        ratios = test.ratios(np.arange(batch + 1))
        for part in np.array_split(rows, 1 + len(rows) * candidates // 2**22):
            G = np.zeros((len(part), candidates))
            for t in range(batches):
                G = np.maximum(G, 0) + ratios[hits[part, t]]
                g[part, t] = G.max(axis=1)
    return g
