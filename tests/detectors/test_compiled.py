"""The compiled detectors raise the alarms of river's own objects, and of GeneralizedCusum, one for one."""

import numpy as np
import pytest

from tmlcd_core.detectors.benchmark import DETECTORS
from tmlcd_core.detectors.compiled import NONE, all_alarms

# detector: values of its parameter from careful to hasty, streams, samples
CASES = {
    "CUSUM": ((25.0, 2.0), 40, 2000),
    "CUSUM-binomial": ((25.0, 2.0), 40, 2000),
    "ADWIN": ((0.002, 0.3), 100, 2000),
    "DDM": ((3.0, 1.5), 150, 2000),
    "EDDM": ((0.9, 0.99), 150, 2000),
    "HDDM_A": ((0.001, 0.2), 16, 2000),
    "HDDM_W": ((0.001, 0.2), 16, 2000),
    "KSWIN": ((0.005, 0.2), 3, 600),
    "PageHinkley": ((50.0, 5.0), 150, 2000),
}
SHAPES = [  # error rates before and after the change
    (0.1, 0.9), (0.5, 0.1), (0.02, 0.3), (0.3, 0.3), (0.0, 1.0), (0.0, 0.0), (1.0, 1.0), (1.0, 0.5),
]  # fmt: skip


def streams(n, samples, seed=0):
    """Errors of n streams (n, samples), each with a change at a random sample."""
    rng = np.random.default_rng(seed)
    rates = np.array([*SHAPES, *rng.random((n, 2))])[:n]
    late = np.arange(samples) >= rng.integers(samples // 8, samples, (n, 1))
    return (rng.random((n, samples)) < np.where(late, rates[:, 1:], rates[:, :1])).astype(np.uint8)


def alarms_of_object(detector, level, stream):
    """Every alarm of the original object that restarts itself, and its estimate of the change."""
    one, found = detector.make(level), []
    for t, error in enumerate(stream.tolist()):
        if hasattr(one, "drift_detected"):
            one.update(error)
            if one.drift_detected:
                found.append((t, t + 1 - int(one.width) if hasattr(one, "width") else NONE))
        elif one.update(not error):
            found.append((t, one.change_time))
    return found


@pytest.mark.parametrize("name", CASES)
def test_every_alarm_is_that_of_the_original_object(name):
    levels, n, samples = CASES[name]
    detector = DETECTORS[name]
    errors = streams(n, samples)
    for level in levels:
        kernel, parameters = detector.compiled(level, samples)
        original = [alarms_of_object(detector, level, stream) for stream in errors]
        assert all_alarms(kernel, errors, *parameters) == original
        assert sum(map(len, original)) > n / 10, "the streams have alarms"


def test_every_built_in_detector_is_compared():
    assert list(CASES) == list(DETECTORS) and not any(one.own for one in DETECTORS.values())


def test_streams_shorter_than_a_warm_up_have_no_alarm():
    errors = np.ones((3, 20), np.uint8)
    for detector in DETECTORS.values():
        kernel, parameters = detector.compiled(detector.keen, 20)
        assert all_alarms(kernel, errors, *parameters) == [[], [], []]
