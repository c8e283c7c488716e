"""T over time as a run records it, compared with a learner that observes sample by sample."""

import numpy as np
import pytest

from tmlcd_core.experiments import Experiment

CASES = [
    Experiment("points", 4, drift="recurring", per_class=150, train=20, seed=2, learners=("cit", "active", "hybrid")),
    Experiment(
        "points", 3, drift="labels-swapped", per_class=200, train=20, seed=2, settings={"threshold": 5.0},
        learners=("static", "incremental", "window"),
    ),
    Experiment(
        "points", 3, drift="labels-swapped", per_class=200, train=20, seed=3,
        settings={"cit.max_size": 12, "hybrid.max_size": 15, "threshold": 5.0},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("experiment", "name"), [(one, name) for one in CASES for name in one.learners])
def test_the_recorded_members_are_what_an_observing_learner_stores(experiment, name):
    stream = experiment.stream()
    trace = experiment.learner_run(name, stream).trace
    held = trace.membership
    assert [int(held.at(i).sum()) for i in range(len(trace))] == trace.sizes.tolist()
    model = experiment.learner(name, stream.scenario).fit(stream.X0, stream.y0)
    looks = {0, *range(0, len(trace), 53), *trace.detections.tolist()}
    looks |= {alarm + 1 for alarm in looks if alarm + 1 < len(trace)}
    for i, (x, y) in enumerate(zip(stream.X, stream.y, strict=True)):
        if i in looks:
            there = held.at(i - 1)
            rows = [stream.X[s] if s >= 0 else stream.X0[-1 - s] for s in held.sample[there]]
            recorded = sorted((row.tobytes(), label) for row, label in zip(rows, held.label[there], strict=True))
            stored = zip(model.samples_, model.labels_, strict=True)
            assert recorded == sorted((row.tobytes(), label) for row, label in stored), i
        model.observe(x, y)
    for alarm in trace.detections.tolist():
        lost, before = held.dropped(alarm)
        assert before == trace.sizes[alarm - 1] and 0 <= lost <= before


def test_a_run_that_goes_on_records_no_members():
    experiment = CASES[0]
    stream = experiment.stream()
    model = experiment.learner("active", stream.scenario).fit(stream.X0, stream.y0)
    assert model.run(stream.X[:300], stream.y[:300]).membership is not None
    assert model.run(stream.X[300:], stream.y[300:]).membership is None
    fresh = experiment.learner("cit", stream.scenario).fit(stream.X0, stream.y0)
    fresh.take_in(stream.X[:2], stream.y[:2])
    assert fresh.run(stream.X[2:9], stream.y[2:9]).membership is None
    assert np.array_equal(fresh.kept_, [])
