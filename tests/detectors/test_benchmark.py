"""Detectors at one false-alarm rate: calibration, delay, own objects and bad input."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import drift
from scipy.stats import binomtest, fisher_exact

from tmlcd_core import ConfigError, DataError, GeneralizedCusum, river
from tmlcd_core.detectors import benchmark
from tmlcd_core.detectors.benchmark import DETECTORS, Detector, ErrorStreams, Estimate, bernoulli

QUIET = bernoulli(0.8, streams=2000)
DROP = bernoulli(0.8, drop=0.4, streams=100, seed=1)


class InARow:
    """Alarm after a number of errors in a row, as a river detector; the change is the first of them."""

    def __init__(self, length):
        self.length, self.run, self.seen, self.drift_detected = length, 0, 0, False

    def update(self, x):
        self.seen += 1
        self.run = self.run + 1 if x else 0
        self.drift_detected = self.run >= self.length

    @property
    def change_time(self):
        return self.seen - self.run


IN_A_ROW = Detector("in a row", InARow, 100, 1, "length")


# ---------------------------------------------------------------- streams


def test_simulated_errors_have_the_stated_rates_and_a_linear_fall():
    errors = bernoulli(0.7, 0.4, 4000, 400, width=99, seed=3).errors.mean(axis=0)
    expected = 0.3 + 0.4 * np.clip((np.arange(400) - 199) / 100, 0, 1)
    assert np.abs(errors - expected).max() < 0.04
    assert errors[:200].mean() == pytest.approx(0.3, abs=0.005)


def test_simulated_errors_do_not_depend_on_how_many_streams_are_drawn():
    few, many = bernoulli(0.8, streams=3, samples=50), bernoulli(0.8, streams=1203, samples=50)
    assert (few.errors == many.errors[:3]).all()
    assert (bernoulli(0.8, streams=3, samples=50, seed=1).errors != few.errors).any()


def test_the_drop_of_measured_streams_is_that_of_the_error_rate():
    streams = ErrorStreams("mine", [[0, 1, 0, 0, 1, 1, 1, 0]] * 2, change=4, width=1)
    assert streams.drop == pytest.approx(2 / 3 - 1 / 4)


# ---------------------------------------------------------------- calibration


@pytest.mark.parametrize("name", DETECTORS)
def test_a_calibrated_detector_keeps_the_rate_and_the_next_step_would_not(name):
    level, share, note = benchmark.calibrate(name, QUIET.errors[:1000], rate=0.05)
    detector = DETECTORS[name]

    def alarms(value):
        return (benchmark.first_alarms(detector, value, QUIET.errors[:1000], benchmark.WARMUP)[:, 0] >= 0).mean()

    assert alarms(level) == share <= 0.05
    assert note or share == 0.05
    keener = level * (detector.keen / detector.quiet) ** 0.02
    assert alarms(keener) > share


@pytest.mark.parametrize("name", DETECTORS)
def test_the_rate_holds_on_other_streams(name):
    """Calibration and verification both have a sampling error: Fisher's exact test compares their counts."""
    (result,) = benchmark.compare([name], QUIET, [], rate=0.05)
    n = result.streams
    counts = [round(n * share) for share in (result.calibrated, result.false_alarms.value)]
    assert n == 1000 and fisher_exact([[count, n - count] for count in counts]).pvalue > 1e-3


@pytest.mark.parametrize("name", ["HDDM_A", "HDDM_W"])
def test_rates_on_other_streams_differ_by_chance_alone(name):
    """The mean over several calibrations has no bias: the shipped comparison finds 1.26 % and 1.25 % for 1 %."""
    rate, n, found = 0.05, 1500, []
    for seed in range(12):
        errors = bernoulli(0.8, streams=2 * n, samples=400, seed=seed).errors
        level, share, _ = benchmark.calibrate(name, errors[:n], rate)
        alarms = benchmark.first_alarms(DETECTORS[name], level, errors[n:], benchmark.WARMUP)[:, 0] != benchmark.NONE
        found.append(alarms.mean() - share)
    error = math.sqrt(2 * rate * (1 - rate) / n)
    assert abs(np.mean(found)) < 2 * error / math.sqrt(len(found))
    assert 0.5 * error < np.std(found) < 2 * error


def test_the_alarms_of_the_warm_up_do_not_count():
    errors = np.zeros((200, 400), np.uint8)
    errors[:, 10:20] = 1
    errors[:4, 200:205] = 1
    level, share, _ = benchmark.calibrate(IN_A_ROW, errors, rate=0.02, warmup=100)
    assert share == 0.02 and level <= 5
    level, share, _ = benchmark.calibrate(IN_A_ROW, errors, rate=0.02, warmup=0)
    assert share == 0 and level > 10


def test_a_detector_that_cannot_be_quiet_enough_says_so():
    """DDM alarms at the first error after 31 samples without one, whatever its threshold is."""
    quiet = bernoulli(0.97, streams=400)
    (result,) = benchmark.compare(["DDM"], quiet, [], rate=0.01)
    assert result.note.startswith("even drift_threshold = 100 gives") and result.false_alarms.low > 0.01


def test_a_detector_that_cannot_be_keen_enough_says_so():
    detector = Detector("deaf", InARow, 100, 50, "length")
    (result,) = benchmark.compare([detector], QUIET.errors[:400], [], rate=0.05)
    assert result.note == "even length = 50 gives 0.00% false alarms" and result.level == 50


def test_a_detector_whose_rate_jumps_says_so():
    (result,) = benchmark.compare([IN_A_ROW], QUIET.errors[:200], [], rate=0.05)
    assert result.note.startswith("its rate jumps from") and result.calibrated < 0.05


# ---------------------------------------------------------------- comparison


def test_delay_missed_and_place_of_a_case_made_by_hand():
    errors = np.zeros((4, 400), np.uint8)
    errors[0, 200:] = 1  # alarm with the fifth error: delay 5, the place is right
    errors[1, 210:] = 1  # delay 15, place wrong by 10
    errors[2, 150:160] = 1  # an alarm before the change only: missed, counts as 200
    changed = ErrorStreams("by hand", errors, change=200)
    fixed = Detector("five in a row", lambda level: InARow(5), 1, 1)
    (result,) = benchmark.compare([fixed], np.zeros((200, 400)), [changed], warmup=0)
    (found,) = result.detections
    assert found.delay.value == (5 + 15 + 200 + 200) / 4 and found.detected_delay == 10
    assert found.missed.value == 0.5 and found.location.value == 5
    assert result.note == "its parameters are fixed" and found.streams == 4


def test_a_larger_drop_is_found_sooner_and_a_gradual_one_later():
    drops = [bernoulli(0.8, d, 300, seed=1) for d in (0.1, 0.3, 0.6)] + [bernoulli(0.8, 0.6, 300, width=500, seed=1)]
    for result in benchmark.compare(DETECTORS, QUIET, drops, rate=0.05):
        small, middle, large, gradual = (one.delay.value for one in result.detections)
        assert small > middle > large < gradual, result.detector


def test_intervals_are_those_of_wilson():
    for count, n in ((0, 50), (3, 50), (50, 50), (100, 10_000)):
        found, expected = Estimate.share(count, n), binomtest(count, n).proportion_ci(method="wilson")
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-4)
    assert Estimate.mean(np.array([1.0, 3.0])).high == pytest.approx(2 + 1.96)
    assert math.isnan(Estimate.mean(np.array([])).value)


# ---------------------------------------------------------------- own detectors


@pytest.mark.parametrize("name", ["CUSUM", "ADWIN", "HDDM_A"])
def test_own_objects_give_the_numbers_of_the_compiled_ones(name):
    built_in = DETECTORS[name]
    own = Detector("own", built_in.make, built_in.quiet, built_in.keen)
    quiet = QUIET.errors[:60, :400]
    changed = ErrorStreams("drop", DROP.errors[:10, 800:1200], change=200)
    compiled, objects = benchmark.compare([name, own], quiet, [changed], rate=0.05)
    assert objects.own and not compiled.own
    assert objects.level == compiled.level and objects.false_alarms == compiled.false_alarms
    assert objects.detections == compiled.detections


def test_own_objects_run_on_fewer_streams_and_the_result_says_how_many():
    fast, slow = benchmark.compare(["DDM", IN_A_ROW], QUIET, [DROP], rate=0.05, own_streams=40)
    assert (fast.streams, slow.streams) == (1000, 40)
    assert (fast.detections[0].streams, slow.detections[0].streams) == (100, 40)


def test_a_river_object_runs_as_it_is():
    changed = ErrorStreams("drop", DROP.errors[:10], change=1000)
    objects = [drift.ADWIN(clock=1), river.GeneralizedCusum(), GeneralizedCusum(likelihood="binomial")]
    names = ["ADWIN", "one", "GeneralizedCusum"]
    results = benchmark.compare(
        [objects[0], Detector("one", lambda _: objects[1].clone(), 1, 1), objects[2]],
        QUIET.errors[:40], [changed], rate=0.05,
    )  # fmt: skip
    assert [one.detector for one in results] == names
    for one in results:
        assert one.note == "its parameters are fixed" and one.detections[0].missed.value == 0
        assert one.detections[0].location is not None
    assert objects[0].width == 0, "the object itself is not used"


def test_the_change_of_a_detector_that_was_restarted_counts_from_the_start():
    errors = np.zeros((1, 300), np.uint8)
    errors[0, 20:25] = errors[0, 200:210] = 1
    found = benchmark.first_alarms(IN_A_ROW, 5, errors, start=100)
    assert found.tolist() == [[204, 200]]


# ---------------------------------------------------------------- bad input


class Broken(InARow):
    def update(self, x):
        if self.seen == 7:
            raise ZeroDivisionError("seven")
        super().update(x)


@pytest.mark.parametrize(
    "arguments, said",
    [
        ({"rate": 0}, "rate=0 must lie between 0 and 1"),
        ({"rate": 1}, "rate=1 must lie between 0 and 1"),
        ({"rate": math.nan}, "rate=nan"),
        ({"rate": 1e-4}, "rate=0.0001 cannot be measured on 1000 streams: pass at least 20,000 stationary"),
        ({"stationary": QUIET.errors[:1]}, "cannot be measured on 0 streams"),
        ({"stationary": np.zeros((0, 100))}, "shape (0, 100): pass at least one stream"),
        ({"stationary": [[0, 1], [0]]}, "the streams differ in length"),
        ({"stationary": [[0, 0.5]]}, "stationary holds 0.5: pass 1 for a wrong prediction"),
        ({"stationary": [[0, math.nan]]}, "stationary holds nan"),
        ({"stationary": [["a"]]}, "stationary holds values of type <U1"),
        ({"stationary": np.ma.masked_equal([[0, 1]], 1)}, "masked array"),
        ({"detectors": []}, "give at least one"),
        ({"detectors": ["DDM", "ddm"]}, "different names"),
        ({"detectors": ["DDN"]}, "there is no detector 'DDN'; there are CUSUM"),
        ({"detectors": [drift.ADWIN]}, "is not a detector"),
        ({"detectors": [3]}, "3 is not a detector"),
        ({"detectors": [Detector("x", lambda level: object(), 1, 2)]}, "is not a detector"),
        (
            {"detectors": [Detector("bad", Broken, 10, 1)]},
            "the detector bad failed at sample 7 of stream 0 with ZeroDivisionError: seven",
        ),
        ({"changed": [QUIET]}, "have no change"),
        ({"warmup": 1500}, "within the warm-up"),
        ({"warmup": 2000}, "warmup=2000"),
        ({"own_streams": 0}, "own_streams=0"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(arguments, said):
    usual = {"detectors": ["DDM"], "stationary": QUIET, "changed": [DROP]}
    with pytest.raises((ConfigError, DataError)) as raised:
        benchmark.compare(**usual | arguments)
    assert said in str(raised.value)


@pytest.mark.parametrize(
    "arguments, said",
    [
        ({"accuracy": 1.2}, "accuracy=1.2"),
        ({"accuracy": 0.3, "drop": 0.4}, "drop=0.4 is larger than the accuracy 0.3 allows"),
        ({"accuracy": 0.8, "streams": 0}, "streams=0"),
        ({"accuracy": 0.8, "samples": 1}, "samples=1"),
        ({"accuracy": 0.8, "streams": 10**7}, "need too much memory: use at most 536,870"),
        ({"accuracy": 0.8, "drop": 0.1, "width": 1000}, "width=1000"),
        ({"accuracy": 0.8, "seed": -1}, "seed=-1"),
    ],
)
def test_impossible_streams_are_refused(arguments, said):
    with pytest.raises(ConfigError) as raised:
        bernoulli(**arguments)
    assert said in str(raised.value)


def test_a_limit_of_zero_is_refused():
    with pytest.raises(ConfigError, match="must be above 0"):
        Detector("x", InARow, 0, 1)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.booleans(), min_size=12, max_size=12), min_size=1, max_size=4), st.integers(0, 11))
def test_the_first_alarm_after_a_sample_is_one_of_all_alarms(rows, start):
    """Counted by hand: the first run of three errors that ends at `start` or later."""
    fixed = Detector("three", lambda level: InARow(3), 1, 1)
    found = benchmark.first_alarms(fixed, 1, np.array(rows, np.uint8), start)[:, 0].tolist()
    expected = []
    for row in rows:
        run, first = 0, -1
        for t, error in enumerate(row):
            run = run + 1 if error else 0
            if run == 3 and t < start:
                run = 0  # restarted
            elif run >= 3:
                first = t
                break
        expected.append(first)
    assert found == expected
