"""The perfect alarm, alone and in a Hybrid, against the algorithm in plain lines."""

import numpy as np
import pytest

from tests.conftest import gaussian_stream
from tmlcd_core import ConfigError, Experiment, HybridTinyKNN
from tmlcd_core.detectors import ChangeDetector, KnownChange
from tmlcd_core.learners import make_learner
from tmlcd_core.reference import KNN, Sample, condense


def test_it_reports_the_change_once_after_its_delay():
    detector = KnownChange(at=40, delay=10)
    assert isinstance(detector, ChangeDetector)
    assert [t for t in range(1, 200) if detector.update(t % 2 == 0, t)] == [49]
    assert detector.change_time == 40
    fresh = detector.clone()
    assert not fresh.update(True, 48) and fresh.update(True, 60), "an unlabelled sample 49 postpones the alarm"
    assert repr(detector) == "KnownChange(at=40, delay=10)"


@pytest.mark.parametrize(("values", "message"), [({"at": 0}, "at=0"), ({"at": 3, "delay": 0}, "delay=0")])
def test_a_time_before_the_stream_is_refused(values, message):
    with pytest.raises(ConfigError, match=message):
        KnownChange(**values)


def test_hybrid_forgets_all_that_is_older_than_the_change():
    """Against a loop: errors join T, and at the alarm the samples before the change leave it."""
    X0, y0, X, y = gaussian_stream(change=200)
    trace = HybridTinyKNN(max_size=None, detector=KnownChange(201, 50)).fit(X0, y0).run(X, y)
    T = condense([Sample(x, label, 0) for x, label in zip(X0, y0, strict=True)])
    predictions, sizes = [], []
    for t, (x, label) in enumerate(zip(X, y, strict=True), 1):
        predictions.append(KNN(T)(x))
        if predictions[-1] != label:
            T.append(Sample(x, label, t))
        if t == 250:
            T = [sample for sample in T if sample.t > 200]
        sizes.append(len(T))
    assert trace.predictions.tolist() == predictions and trace.sizes.tolist() == sizes
    assert trace.detections.tolist() == [249] and trace.change_points.tolist() == [200]


def test_an_experiment_tells_the_learner_its_change():
    experiment = Experiment("points", 3, drift="labels-swapped", per_class=100, train=20, learners=["known-change"])
    run = experiment.run()
    assert run.learners["known-change"].detections.tolist() == [run.changes[0] + 49]
    later = Experiment(**{**vars(experiment), "settings": {"known-change.change": 201}}).run()
    assert later.learners["known-change"].detections.tolist() == [249], "a given time comes first"


def test_without_a_change_it_is_cit_with_the_bound():
    kinds = ["cit-bounded", "known-change"]
    found = Experiment("points", 3, drift="none", per_class=100, train=10, learners=kinds).run().learners
    np.testing.assert_array_equal(found["cit-bounded"].correct, found["known-change"].correct)
    assert max(found["cit-bounded"].sizes) <= 30


def test_only_the_bound_differs_between_the_two_hybrids():
    bounded, free = make_learner("hybrid", 150), make_learner("hybrid-unbounded", 150)
    assert (bounded.max_size, free.max_size) == (150, None)
    assert {**bounded.get_params(), "max_size": None} == free.get_params()
    spaced = make_learner("hybrid-unbounded", 150, changed={"spacing": 0.02})
    assert spaced.detector.direction == "down", "a hybrid looks for drops only"
