"""River's detectors and custom detectors in Active and Hybrid."""

import numpy as np
import pytest
from river import drift
from scipy.stats import bernoulli

from tmlcd_core import ActiveTinyKNN, ConfigError, HybridTinyKNN
from tmlcd_core.detectors import ChangeDetector, GeneralizedCusum, RiverDetector
from tmlcd_core.detectors.river_detector import change_point
from tmlcd_core.knn.storage import FEWEST_SAMPLES
from tmlcd_core.learners import StaticKNN

RIVER = {
    "ADWIN": drift.ADWIN,
    "DDM": drift.binary.DDM,
    "EDDM": drift.binary.EDDM,
    "HDDM_A": drift.binary.HDDMA,
    "HDDM_W": drift.binary.HDDMW,
    "PageHinkley": lambda: drift.PageHinkley(threshold=15, delta=0.05),
    "KSWIN": lambda: drift.KSWIN(alpha=1e-4, window_size=200, stat_size=60, seed=1),
}


def test_the_change_point_is_the_likeliest_cut():
    """Every cut with a second part of five or more, each part's probability by scipy; the first of equals."""
    rng = np.random.default_rng(2)
    for n in (6, 7, 20, 60):
        hits = rng.random(n) < np.where(np.arange(n) < rng.integers(n), 0.9, 0.3)
        found = {}
        for cut in range(1, n - 4):
            parts = hits[:cut], hits[cut:]
            found[cut] = sum(bernoulli.logpmf(part, part.mean()).sum() for part in parts)
        assert found[change_point(hits)] == pytest.approx(max(found.values()), abs=1e-9)
    assert change_point([True] * 5) == change_point([]) == 0


@pytest.mark.parametrize("name", RIVER)
def test_the_change_is_placed_where_it_was(name):
    """Within 10 samples in most of 20 streams; and never so late that Active would not rebuild T."""
    errors = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        detector = RiverDetector(RIVER[name]())
        for time, hit in enumerate(np.r_[rng.random(600) < 0.9, rng.random(300) < 0.3]):
            if detector.update(hit, time):
                assert detector.change_time <= time - FEWEST_SAMPLES + 1
                if time >= 600:
                    errors.append(abs(detector.change_time - 600))
                    break
    assert len(errors) >= 18
    assert np.median(errors) <= 10


@pytest.mark.parametrize("name", RIVER)
def test_alarms_are_rivers_own(name):
    """The wrapper raises its alarms exactly where river's detector does, and places the change before them."""
    rng = np.random.default_rng(4)
    correct = np.r_[rng.random(1500) < 0.9, rng.random(1500) < 0.5]
    bare, wrapped = RIVER[name](), RiverDetector(RIVER[name]())
    found = []
    for time, hit in enumerate(correct):
        bare.update(int(not hit))
        assert wrapped.update(hit, time) == bare.drift_detected
        if bare.drift_detected:
            bare = bare.clone()
            found.append((time, wrapped.change_time))
            assert 0 <= wrapped.change_time <= time
    assert any(1500 <= time < 1800 for time, _ in found)


@pytest.mark.parametrize("name", RIVER)
@pytest.mark.parametrize("Learner", [ActiveTinyKNN, HybridTinyKNN])
def test_drives_the_learners(name, Learner, make_stream):
    X0, y0, X, y = make_stream(n0=90, n=1600, separation=2.0, seed=5)
    y = np.where(np.arange(1600) < 800, y, (y + 1) % 3)
    direction = "down" if Learner is HybridTinyKNN else "both"
    model = Learner(detector=RiverDetector(RIVER[name](), direction)).fit(X0, y0)
    trace = model.run(X, y)
    assert isinstance(model.detector_, ChangeDetector)
    assert (trace.detections >= 800).any()
    assert (trace.change_points <= trace.detections).all()
    static = StaticKNN(condense=True).fit(X0, y0).run(X, y)
    recovered, not_at_all = ((t.predictions == y)[1000:].mean() for t in (trace, static))
    assert recovered > 0.6 > 0.2 > not_at_all  # the quickest alarms leave Active no more than a handful of samples


def test_down_ignores_improvements():
    rng = np.random.default_rng(0)
    correct = np.r_[rng.random(1500) < 0.5, rng.random(1500) < 0.95]
    for direction, expected in (("both", True), ("down", False)):
        adwin = RiverDetector(drift.ADWIN(), direction)
        assert any([adwin.update(hit, t) for t, hit in enumerate(correct)][1500:]) == expected


def test_cusum_as_an_object_is_the_default_test(make_stream):
    X0, y0, X, y = make_stream(n=900, change=450)
    explicit = ActiveTinyKNN(window=90, detector=GeneralizedCusum(12.0, 20, 60)).fit(X0, y0).run(X, y)
    implicit = ActiveTinyKNN(window=90, threshold=12.0, batch=20, warmup=60).fit(X0, y0).run(X, y)
    np.testing.assert_array_equal(explicit.predictions, implicit.predictions)
    np.testing.assert_array_equal(explicit.statistic, implicit.statistic)


def test_a_detector_is_copied_not_shared(make_stream):
    X0, y0, X, y = make_stream(n=300)
    detector = GeneralizedCusum(12.0, 20, 60)
    ActiveTinyKNN(detector=detector).fit(X0, y0).run(X, y)
    assert detector.seen == 0


def test_what_is_not_a_detector_is_refused(make_stream):
    X0, y0, _, _ = make_stream()
    with pytest.raises(ConfigError, match="RiverDetector"):
        ActiveTinyKNN(detector=drift.ADWIN()).fit(X0, y0)
    with pytest.raises(ConfigError, match="not a river"):
        RiverDetector(object())
    with pytest.raises(ConfigError, match=r"ADWIN\(\)"):
        RiverDetector(drift.ADWIN)
    with pytest.raises(ConfigError, match="history"):
        RiverDetector(drift.ADWIN(), history=0)
    with pytest.raises(ConfigError, match="direction"):
        RiverDetector(drift.ADWIN(), "up")


def test_a_detector_that_fails_leaves_the_model_as_it_was(make_stream):
    class Broken:
        statistic, change_time = 0.0, 0

        def update(self, correct, time):
            if time == 200:
                raise RuntimeError("broken")
            return False

    X0, y0, X, y = make_stream()
    model = HybridTinyKNN(detector=Broken()).fit(X0, y0)
    model.run(X[:150], y[:150])
    samples, times, clock = model.samples_, model.times_, model.time_
    with pytest.raises(RuntimeError):
        model.run(X[150:], y[150:] + 7)
    np.testing.assert_array_equal(model.samples_, samples)
    np.testing.assert_array_equal(model.times_, times)
    assert model.time_ == clock
    assert model.classes_.tolist() == [0, 1, 2]
