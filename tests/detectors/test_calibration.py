"""False-alarm rate of calibrate_threshold, checked with other seeds and the CUSUM test itself."""

import numpy as np
import pytest

from tmlcd_core import ConfigError, GeneralizedCusum, calibrate_threshold
from tmlcd_core.detectors.calibration import simulate_statistic, threshold_table


@pytest.mark.parametrize(
    "accuracy, batch, warmup, horizon, rate, direction, likelihood",
    [
        (0.9, 50, 100, 1000, 0.02, "both", "normal"),
        (0.75, 25, 100, 500, 0.05, "down", "binomial"),
        (0.99, 10, 30, 200, 0.1, "down", "normal"),
        (0.5, 20, 200, 400, 0.2, "both", "binomial"),
    ],
)
def test_false_alarms_stay_below_the_promise(accuracy, batch, warmup, horizon, rate, direction, likelihood):
    h = calibrate_threshold(accuracy, batch, warmup, horizon, rate, direction, likelihood, random_state=1)
    fresh = simulate_statistic(accuracy, accuracy, batch, warmup, horizon, 20_000, direction, likelihood, 987)
    measured = (fresh.max(axis=1) >= h).mean()
    assert measured <= rate
    assert measured >= rate / 3, "a threshold of infinity would keep any promise"


def test_simulation_is_the_test_itself():
    """The statistic simulated for many streams at once is that of GeneralizedCusum on one stream."""
    accuracy, batch, warmup, horizon = 0.85, 20, 40, 200
    alarms, runs = 0, 400
    h = calibrate_threshold(accuracy, batch, warmup, horizon, 0.2, "down", random_state=3)
    for seed in range(runs):
        test = GeneralizedCusum(h, batch, warmup, "down")
        alarms += any(
            test.update(hit) for hit in np.random.default_rng(10_000 + seed).random(warmup + horizon) < accuracy
        )
    assert 0.2 / 3 <= alarms / runs <= 0.2 + 3 * np.sqrt(0.2 * 0.8 / runs)


def test_table_trades_false_alarms_for_delay():
    rows = threshold_table(0.9, 0.7, thresholds=(5, 20, 80))
    rates, delays, missed = zip(*((r.false_alarm_rate, r.mean_delay, r.missed) for r in rows), strict=True)
    assert rates[0] > rates[1] > rates[2]
    assert delays[0] < delays[1] < delays[2]
    assert missed[0] <= missed[2] < 0.05
    assert min(delays) >= 50, "no alarm before the first batch is full"


def test_same_seed_same_threshold():
    assert calibrate_threshold(0.8, random_state=5) == calibrate_threshold(0.8, random_state=5)


@pytest.mark.parametrize(
    "bad",
    [
        {"accuracy": 1.2},
        {"accuracy": float("nan")},
        {"accuracy": 0.9, "batch": 0},
        {"accuracy": 0.9, "horizon": 10},
        {"accuracy": 0.9, "false_alarm_rate": 0.0},
        {"accuracy": 0.9, "false_alarm_rate": 1.0},
        {"accuracy": 0.9, "direction": "up"},
        {"accuracy": 0.9, "likelihood": "poisson"},
        {"accuracy": "high"},
        {"accuracy": 0.9, "random_state": -1},
        {"accuracy": 0.9, "horizon": 10**9},
        {"accuracy": 0.9, "batch": 10**8, "horizon": 10**8},
        {"accuracy": 0.9, "warmup": 2**70},
        {"accuracy": 0.9, "margin": 2.0},
        {"accuracy": 0.9, "margin": "wide"},
    ],
)
def test_bad_settings(bad):
    with pytest.raises(ConfigError):
        calibrate_threshold(**bad)


@pytest.mark.parametrize("accuracy", [0.0, 1.0])
def test_extreme_accuracies_have_a_threshold(accuracy):
    h = calibrate_threshold(accuracy)
    assert 0 <= h < np.inf
