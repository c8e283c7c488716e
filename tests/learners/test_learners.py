"""Traces of the three learners against `tmlcd_core.reference`; run against observe."""

import pickle
import subprocess
import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from tests.conftest import gaussian_stream
from tmlcd_core import ActiveTinyKNN, CondensingInTime, HybridTinyKNN, TinyKNN, reference
from tmlcd_core.knn import distance_cache, kernels
from tmlcd_core.learners import IncrementalKNN, StaticKNN
from tmlcd_core.progress import reporting_steps

TEST = {"threshold": 12.0, "batch": 20, "warmup": 60}
LEARNERS = {
    "cit": lambda **kw: CondensingInTime(**kw),
    "cit bounded": lambda **kw: CondensingInTime(max_size=40, **kw),
    "active": lambda **kw: ActiveTinyKNN(window=90, **TEST, **kw),
    "hybrid": lambda **kw: HybridTinyKNN(max_size=60, **TEST, **kw),
}
ALL = LEARNERS | {
    "adaptive": lambda: CondensingInTime(add_probability="adaptive", random_state=3),
    "hybrid, p = 0.5": lambda: HybridTinyKNN(max_size=50, add_probability=0.5, random_state=1, **TEST),
    "static": lambda: StaticKNN(),
    "incremental": lambda: IncrementalKNN(max_size=30),
}


def same_trace(a, b):
    for field in ("predictions", "sizes", "statistic", "detections", "change_points"):
        np.testing.assert_array_equal(getattr(a, field), getattr(b, field), err_msg=field)


def same_decisions(trace, oracle):
    """The fast learner sums in another order than the definition: only the statistic may differ, by rounding."""
    for field in ("predictions", "sizes", "detections", "change_points"):
        np.testing.assert_array_equal(getattr(trace, field), getattr(oracle, field), err_msg=field)
    np.testing.assert_allclose(trace.statistic, oracle.statistic, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("k, weights", [("sqrt", "uniform"), (3, "uniform"), (5, "distance")])
def test_trace_equals_the_reference(name, k, weights):
    test = {"h": 12.0, "n": 20, "xi": 60}
    algorithm, parameters = {
        "cit": (reference.condensing_in_time, {}),
        "cit bounded": (reference.condensing_in_time, {"p": 40}),
        "active": (reference.active_tiny_knn, {"window": 90, **test}),
        "hybrid": (reference.hybrid_tiny_knn, {"max_size": 60, **test}),
    }[name]
    knn = partial(reference.KNN, k=None if k == "sqrt" else k, by_distance=weights == "distance")
    for seed in (0, 1):
        stream = X0, y0, X, y = gaussian_stream(n=700, d=12, separation=0.9, change=350, seed=seed)
        trace = LEARNERS[name](k=k, weights=weights).fit(X0, y0).run(X, y)
        same_decisions(trace, reference.run(algorithm, *stream, **parameters, knn=knn))
        if name in ("active", "hybrid"):
            assert len(trace.detections), "a stream that raises no alarm tests little"


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    size=st.integers(30, 60),  # no smaller than the initial samples: the start is not cut
    h=st.sampled_from([2.0, 8.0, 25.0]),
    n=st.integers(4, 25),
    xi=st.integers(5, 60),
    separation=st.sampled_from([0.0, 1.0, 2.0, 9.0]),  # 0 guesses, 9 makes no error: v0 is clipped
    lattice=st.booleans(),
    strings=st.booleans(),
)
def test_random_streams_are_decided_as_by_the_reference(seed, size, h, n, xi, separation, lattice, strings):
    X0, y0, X, y = gaussian_stream(n0=30, n=300, d=3, separation=separation, change=150, seed=seed)
    if lattice:  # many equal distances and duplicates
        X0, X = X0.round(), X.round()
    if strings:
        names = np.array(["yes", "no", "up"])
        y0, y = names[y0], names[y]
    test = {"h": h, "n": n, "xi": xi}
    settings = {"threshold": h, "batch": n, "warmup": xi}
    for model, algorithm, parameters in (
        (CondensingInTime(size), reference.condensing_in_time, {"p": size}),
        (ActiveTinyKNN(size, **settings), reference.active_tiny_knn, {"window": size, **test}),
        (HybridTinyKNN(size, **settings), reference.hybrid_tiny_knn, {"max_size": size, **test}),
    ):
        same_decisions(model.fit(X0, y0).run(X, y), reference.run(algorithm, X0, y0, X, y, **parameters))


def test_the_reference_needs_nothing_but_numpy():
    code = "import sys, numpy; old = set(sys.modules); import tmlcd_core.reference; print(*(set(sys.modules) - old))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {name.split(".")[0] for name in loaded} <= {"tmlcd_core", "numpy", *sys.stdlib_module_names}
    assert {name for name in loaded if name.startswith("tmlcd_core.")} == {"tmlcd_core.reference"}


def test_the_reference_follows_the_authors_settings():
    """v0 is clipped, estimated again on n samples after an alarm; fewer than 5 samples do not replace T."""
    cusum = reference.Cusum(h=5.0, n=10, xi=30, only_drops=True)
    alarms = [t for t in range(1, 81) if cusum.update(t <= 40, t) is not None]
    assert alarms == [50]  # the batch 41..50 is all wrong; then 10 samples of warm-up, and nothing can drop
    assert cusum.v0 == 1e-3 and len(cusum.v1) == 0
    rng = np.random.default_rng(0)
    X0, y0 = rng.normal(size=(20, 2)) + np.repeat([[0], [9]], 10, axis=0), np.repeat([0, 1], 10)
    X, y = rng.normal(size=(34, 2)), np.repeat([0, 1], [30, 4])  # the last four samples have another label
    parameters = {"h": 5.0, "n": 4, "xi": 30}
    small = reference.run(reference.hybrid_tiny_knn, X0, y0, X, y, **parameters)
    assert small.detections.tolist() == [33] and small.change_points.tolist() == [30]
    passive = reference.run(reference.condensing_in_time, X0, y0, X, y)
    np.testing.assert_array_equal(small.sizes, passive.sizes)
    same_decisions(HybridTinyKNN(threshold=5.0, batch=4, warmup=30).fit(X0, y0).run(X, y), small)


@given(counts=st.lists(st.integers(1, 9), min_size=1, max_size=5), size=st.integers(1, 40), seed=st.integers(0, 99))
def test_an_even_cut_gives_every_class_its_share(counts, size, seed):
    """Max-min fairness: only a class that keeps all its samples has less than another, but for the one left over."""
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))
    T = [reference.Sample(np.zeros(1), label, i) for i, label in enumerate(labels)]
    kept = reference.cut_evenly(T, size)
    places = [sample.t for sample in kept]
    assert len(kept) == min(size, len(T)) and places == sorted(places)
    if size < len(counts):
        assert places == list(range(len(T) - size, len(T)))
        return
    shares = [sum(sample.y == label for sample in kept) for label in range(len(counts))]
    for label, share in enumerate(shares):
        own = np.flatnonzero(labels == label)
        assert [sample.t for sample in kept if sample.y == label] == own[len(own) - share :].tolist()
        if share < counts[label]:  # it gave samples up: nobody has more than one above it
            assert max(shares) <= share + 1


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13])
def test_fit_cuts_a_condensed_start_evenly_over_the_classes(size):
    X0, y0, X, y = gaussian_stream(n0=60, d=3, separation=0.3, classes=4)
    order = np.argsort(y0, kind="stable")  # the classes one after the other
    X0, y0 = X0[order], y0[order]
    T = reference.condense([reference.Sample(x, label, i) for i, (x, label) in enumerate(zip(X0, y0, strict=True))])
    kept = [sample.t for sample in reference.cut_evenly(T, size)]
    assert len(T) > 13
    np.testing.assert_array_equal(TinyKNN(condense=True, max_size=size).fit(X0, y0).samples_, X0[kept])
    for model, algorithm in (
        (CondensingInTime(size), partial(reference.condensing_in_time, p=size)),
        (HybridTinyKNN(size), partial(reference.hybrid_tiny_knn, max_size=size)),
    ):
        same_decisions(model.fit(X0, y0).run(X, y), reference.run(algorithm, X0, y0, X, y))


def by_observe(model, X, y):
    predictions, sizes, statistic, detections, change_points = [], [], [], [], []
    start = model.time_ + 1
    for x, label in zip(X, y, strict=True):
        predictions.append(model.observe(x, label))
        sizes.append(len(model))
        statistic.append(model.statistic_)
        if model.alarm_:
            detections.append(model.alarm_.time - start)
            change_points.append(model.alarm_.change_time - start)
    return predictions, sizes, statistic, detections, change_points


@settings(max_examples=40)
@given(
    name=st.sampled_from(sorted(ALL)),
    seed=st.integers(0, 10**6),
    d=st.integers(1, 30),
    unlabelled=st.sampled_from([0.0, 0.3]),
    strings=st.booleans(),
    cut=st.integers(0, 400),
)
def test_run_equals_observe(name, seed, d, unlabelled, strings, cut):
    """One sample at a time, all at once, or in two parts: the same trace, sample for sample, and the same model."""
    X0, y0, X, y = gaussian_stream(n=400, d=d, separation=2 / d**0.5, change=200, seed=seed)
    y = np.where(np.arange(400) > 300, y + 1, y)  # a class that was not there at the start
    if strings:
        names = np.array(["yes", "no", "up", "left"])
        y0, y = names[y0], names[y]
    y = [
        None if hide else label
        for hide, label in zip(np.random.default_rng(seed).random(400) < unlabelled, y, strict=True)
    ]
    whole, parts, single = (ALL[name]().fit(X0, y0) for _ in range(3))
    trace = whole.run(X, y)
    predictions, sizes, statistic, detections, change_points = by_observe(single, X, y)
    assert trace.predictions.tolist() == predictions
    assert trace.sizes.tolist() == sizes
    np.testing.assert_array_equal(trace.statistic, statistic)
    assert trace.detections.tolist() == detections
    assert trace.change_points.tolist() == change_points
    assert len(whole) == sizes[-1] == len(whole.samples_)
    if 0 < cut < 400:
        first, second = parts.run(X[:cut], y[:cut]), parts.run(X[cut:], y[cut:])
        np.testing.assert_array_equal(np.r_[first.predictions, second.predictions], trace.predictions)
        np.testing.assert_array_equal(np.r_[first.detections, second.detections + cut], trace.detections)
        np.testing.assert_array_equal(np.r_[first.change_points, second.change_points + cut], trace.change_points)
        np.testing.assert_array_equal(parts.times_, whole.times_)
    for other in (single, parts) if 0 < cut < 400 else (single,):
        np.testing.assert_array_equal(other.samples_, whole.samples_)
        np.testing.assert_array_equal(other.labels_, whole.labels_)
        np.testing.assert_array_equal(other.times_, whole.times_)
        assert other.memory_bytes() == whole.memory_bytes()


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("room", [0, 200_000, 2**30])
def test_trace_does_not_depend_on_the_distance_cache(name, room, monkeypatch):
    X0, y0, X, y = gaussian_stream(n=700, d=40, separation=0.4, change=300)
    distance_cache.clear()
    expected = ALL[name]().fit(X0, y0).run(X, y)
    monkeypatch.setattr(distance_cache, "max_bytes", room)
    distance_cache.clear()
    for _ in range(2):
        same_trace(ALL[name]().fit(X0, y0).run(X, y), expected)
        assert distance_cache.nbytes <= room
    X = X.copy()
    same_trace(ALL[name]().fit(X0, y0).run(X, y), expected)
    X[:300] = X[300:600]  # the same array with other content must not meet the old distances
    with pytest.raises(AssertionError):
        same_trace(ALL[name]().fit(X0, y0).run(X, y), expected)


def test_the_loops_are_compiled_for_one_set_of_types(make_stream):
    """An alarm, an array that may be written to or another learner does not make numba compile again."""
    X0, y0, X, y = make_stream(change=200)
    for build in ALL.values():
        for arrays in ((X0, y0, X, y), (X0.astype(float), y0.astype(np.int8), X.tolist(), y.tolist())):
            model = build().fit(*arrays[:2])
            model.run(*arrays[2:])
            pickle.loads(pickle.dumps(model)).observe(arrays[2][0], arrays[3][0])
            model.predict(X)
    assert len(ALL["active"]().fit(X0, y0).run(X, y).detections), "without an alarm T is not condensed again"
    for loop in (kernels.advance, kernels.step, kernels.fingerprint, kernels.squared_norms):
        assert len(loop.signatures) == 1, loop.signatures


def test_unlabelled_samples_only_predict(make_stream):
    X0, y0, X, _ = make_stream(change=200)
    model = HybridTinyKNN(max_size=60, **TEST).fit(X0, y0)
    before = model.samples_
    trace = model.run(X)
    np.testing.assert_array_equal(trace.predictions, model.predict(X))
    np.testing.assert_array_equal(model.samples_, before)
    assert np.isnan(trace.statistic).all()
    assert model.time_ == len(X), "the clock goes on"


@pytest.mark.parametrize("dtype", ["object", "str", "string", "category", "Int64", "float"])
def test_labels_of_a_table_are_those_of_a_list(dtype, make_stream):
    """A pandas column of any type, its gaps included."""
    X0, y0, X, y = make_stream(n=60)
    names = np.array(["a", "b", "c"]) if dtype in ("object", "str", "string", "category") else np.arange(3)
    column = pd.Series(names[y], dtype=dtype).mask(np.arange(60) % 3 == 0)
    listed = [None if i % 3 == 0 else label for i, label in enumerate(names[y].tolist())]
    models = [HybridTinyKNN().fit(X0, labels) for labels in (pd.Series(names[y0], dtype=dtype), names[y0])]
    traces = [model.run(X, labels) for model, labels in zip(models, (column, listed), strict=True)]
    np.testing.assert_array_equal(traces[0].predictions, traces[1].predictions)
    np.testing.assert_array_equal(traces[0].sizes, traces[1].sizes)
    assert models[0].observe(X[0], column[0]) == models[1].observe(X[0])


def test_times_of_sparse_labels_are_stream_positions(make_stream):
    """With every second label missing, change points and times still count all samples."""
    X0, y0, X, y = make_stream(n=1600, change=800, separation=2.5)
    y = [label if i % 2 else None for i, label in enumerate(y)]
    for model in (ActiveTinyKNN(window=90, **TEST), HybridTinyKNN(max_size=60, **TEST)):
        trace = model.fit(X0, y0).run(X, y)
        late = trace.detections >= 800
        assert late.any()
        assert abs(trace.change_points[late][0] - 800) <= 2 * 20
        assert set(model.times_ % 2) <= {0}  # sample i has time i + 1


def test_the_oldest_leave_first_and_an_alarm_forgets_what_is_older(make_stream):
    X0, y0, X, y = make_stream(n=900, change=450, separation=1.2)
    model = HybridTinyKNN(max_size=60, **TEST).fit(X0, y0)
    trace = model.run(X[:451], y[:451])
    for x, label in zip(X[451:], y[451:], strict=True):
        before = model.times_
        model.observe(x, label)
        if model.alarm_:
            kept = model.times_
            assert (kept >= model.alarm_.change_time).all() or np.isin(before, kept).all()
            assert model.alarm_.forgotten == min(len(before) + (model.time_ in kept), 60) - len(kept)
            break
    else:
        pytest.fail("no alarm")
    assert trace.sizes.max() <= 60


def test_an_alarm_that_leaves_too_little_is_recorded_but_touches_nothing(make_stream):
    class Nervous:
        statistic, change_time = 0.0, 0

        def update(self, correct, time):
            self.change_time = time - 3
            return time == 50

    X0, y0, X, y = make_stream(separation=3)
    for model in (ActiveTinyKNN(detector=Nervous()), HybridTinyKNN(detector=Nervous())):
        trace = model.fit(X0, y0).run(X[:60], y[:60])
        assert trace.detections.tolist() == [49]
        assert trace.change_points.tolist() == [46]
        assert 0 in model.times_


def test_the_boundary_of_older_than_the_change(make_stream):
    """time >= t_r stays (Algorithms 4 and 5), time < t_r goes."""

    class At:
        statistic, change_time = 0.0, 31

        def update(self, correct, time):
            return time == 60

    X0, y0, X, y = make_stream(n=100, separation=0.1)
    y = np.random.default_rng(0).integers(0, 3, 100)
    hybrid = HybridTinyKNN(max_size=None, detector=At()).fit(X0, y0)
    passive = CondensingInTime().fit(X0, y0)
    hybrid.run(X[:60], y[:60])
    trace = passive.run(X[:60], y[:60])
    wrong = np.flatnonzero(trace.predictions != y[:60]) + 1
    np.testing.assert_array_equal(hybrid.times_, wrong[wrong >= 31])
    active = ActiveTinyKNN(window=100, condense=False, detector=At()).fit(X0, y0)
    active.run(X[:60], y[:60])
    np.testing.assert_array_equal(active.times_, np.arange(31, 61))


def test_window_is_bounded_by_twice_its_size(make_stream):
    """Paper, Sec. 6.2: T and W together never take more than 2 windows."""
    X0, y0, X, y = make_stream(n0=60, n=900, change=450)
    model = ActiveTinyKNN(window=90, **TEST).fit(X0, y0)
    for x, label in zip(X, y, strict=True):
        model.observe(x, label)
        assert model.memory_bytes() <= 2 * 90 * (X.shape[1] + 2) * 4


@pytest.mark.parametrize("name", ALL)
def test_pickle_and_clone(name, make_stream):
    X0, y0, X, y = make_stream(change=200)
    model = ALL[name]().fit(X0, y0)
    model.run(X[:250], y[:250])
    twin = pickle.loads(pickle.dumps(model))
    same_trace(twin.run(X[250:], y[250:]), model.run(X[250:], y[250:]))
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    assert not hasattr(fresh, "classes_")
    same_trace(fresh.fit(X0, y0).run(X, y), ALL[name]().fit(X0, y0).run(X, y))


def test_repeatable_by_seed_across_processes():
    code = """
import hashlib, numpy as np
from tests.conftest import gaussian_stream
from tmlcd_core import HybridTinyKNN
X0, y0, X, y = gaussian_stream(n=600, d=30, separation=0.4, change=300)
model = HybridTinyKNN(max_size=80, add_probability=0.6, random_state={seed}, threshold=12.0, batch=20, warmup=60)
trace = model.fit(X0, y0).run(X, y)
print(hashlib.sha256(trace.predictions.tobytes() + trace.sizes.tobytes() + trace.statistic.tobytes()).hexdigest())
"""
    digests = [
        subprocess.run(
            [sys.executable, "-c", code.format(seed=seed)], capture_output=True, text=True, check=True
        ).stdout
        for seed in (1, 1, 2)
    ]
    assert digests[0] == digests[1] != digests[2]


def test_adaptive_probability_is_low_when_stationary_and_high_after_a_change(make_stream):
    grown = []
    for seed in range(5):
        X0, y0, X, y = make_stream(n0=100, n=3000, d=20, separation=0.7, change=2000, seed=seed)
        always = CondensingInTime().fit(X0, y0).run(X, y)
        sometimes = CondensingInTime(add_probability="adaptive").fit(X0, y0).run(X, y)
        never = CondensingInTime(add_probability=0.0).fit(X0, y0).run(X, y)
        wrong = sometimes.predictions != y
        added = np.diff(sometimes.sizes, prepend=sometimes.sizes[0]) > 0
        grown.append((added[500:2000].sum() / wrong[500:2000].sum(), added[2020:2120].sum() / wrong[2020:2120].sum()))
        after = slice(2200, 3000)
        assert (sometimes.predictions == y)[after].mean() > (never.predictions == y)[after].mean()
        assert sometimes.sizes[-1] < always.sizes[-1]
    stationary, changed = np.mean(grown, axis=0)
    assert stationary < 0.15
    assert changed > 0.6


@pytest.mark.parametrize("name", ALL)
def test_a_run_reports_every_block_and_can_be_stopped_there(name):
    class Stop(Exception):
        pass

    def stop(done, total, what):
        if done >= 256:
            raise Stop

    X0, y0, X, y = gaussian_stream(n=700, d=12, separation=0.9, change=350, seed=0)
    learner, steps = ALL[name]().fit(X0, y0), []
    with pytest.raises(Stop), reporting_steps(stop):
        learner.run(X, y)
    with reporting_steps(lambda done, total, what: steps.append((done, total))):
        trace = learner.run(X, y)  # as if nothing had been
    same_trace(trace, ALL[name]().fit(X0, y0).run(X, y))
    starts = [done for done, total in steps if total == 700]
    assert len(starts) == len(steps) and starts == sorted(starts) and starts[0] == 0
    assert max(np.diff([*starts, 700])) <= 128
