"""Tandem against its plain numpy transcription, its budget of bytes, and streams that are hard for it."""

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import tandem_transcription, tune_tandem
from benchmarks.tandem_rules import CHOSEN, FIRST
from benchmarks.tandem_transcription import PLAIN, portable_exp, portable_log
from tests.conftest import gaussian_stream
from tmlcd_core import ConfigError, Experiment, Tandem
from tmlcd_core.experiments import Supervision
from tmlcd_core.experiments.inspection import inspect_sample
from tmlcd_core.experiments.labels import Teacher
from tmlcd_core.experiments.runs import Follower
from tmlcd_core.learners import IncrementalKNN, make_learner, tandem_kernels
from tmlcd_core.learners.tandem import FEWEST_ROWS, needed_bytes
from tmlcd_core.learners.vector_loops import squared_distances
from tmlcd_core.paper.equal_bytes import WORDS
from tmlcd_core.progress import reporting_steps
from tmlcd_core.reference import Cusum


def streams():
    rng = np.random.default_rng(3)
    yield "gaussian", gaussian_stream(n=400, d=37, classes=3, separation=0.4, change=200)
    yield "two features", gaussian_stream(n=400, d=2, classes=2, separation=1.0, change=150)
    yield "many features", gaussian_stream(n=60, d=715, classes=4, separation=0.2, change=30)
    X = rng.integers(0, 3, (300, 4)).astype(np.float32)  # equal distances everywhere
    y = (X[:, 0] > 1).astype(int) ^ (rng.random(300) < 0.2)
    yield "duplicates", (X[:40], y[:40], X[40:], y[40:])
    yield "constant", (np.ones((20, 3), np.float32), np.arange(20) % 2, np.ones((50, 3), np.float32), np.arange(50) % 2)
    X0, y0, X, y = gaussian_stream(n=400, d=16, classes=4, separation=0.8)
    late = np.where((y == 3) & (np.arange(400) < 150), 0, np.where(y == 1, 7, y))  # 3 late, 7 instead of 1
    yield "late classes", (X0[y0 != 3], y0[y0 != 3], X, late)


STREAMS = dict(streams())


ROOT = Path(__file__).resolve().parents[2]


def budget_of(X0, y, rows):
    return needed_bytes(X0.shape[1], len(np.unique(y)), rows) + 1


@pytest.mark.parametrize("rows", [FEWEST_ROWS, 50, 1000])
@pytest.mark.parametrize("name", STREAMS)
def test_equals_the_transcription_bit_for_bit(name, rows):
    X0, y0, X, y = STREAMS[name]
    budget = budget_of(X0, np.r_[y0, y], rows)
    model = Tandem(max_bytes=budget).fit(X0, y0)
    trace = model.run(X, y)
    slow = tandem_transcription.Tandem(X0, y0, budget)
    np.testing.assert_array_equal(trace.predictions, [slow.step(x, label) for x, label in zip(X, y, strict=True)])
    state = model._state
    for ours, theirs in zip(
        (*state.weights, *state.biases, state.confusion, state.evidence, state.mean, state.rows[model._order()],
         model.labels_),
        (slow.F, slow.A, slow.bF, slow.bA, slow.M, slow.L, slow.mean, slow.T,
         np.array(slow.slots)[slow.codes[slow.first : slow.last]]), strict=True,
    ):  # fmt: skip
        np.testing.assert_array_equal(ours, theirs)
    assert model.memory_bytes() - slow.nbytes == (len(state.rows) - len(model)) * (X0.shape[1] + 2)


def test_numpys_own_arithmetic_gives_nearly_the_same_predictions():
    """The rule does not depend on the order of sums and the approximations of exp and log."""
    X0, y0, X, y = STREAMS["gaussian"]
    plain = tandem_transcription.run(X0, y0, X, y, 5000, PLAIN)
    assert np.mean(Tandem(max_bytes=5000).fit(X0, y0).run(X, y).predictions == plain) > 0.99


def test_exp_and_log_are_accurate_and_equal_in_numba_and_numpy():
    x = np.r_[np.linspace(-90, 0, 5001), -1e30, -1e-20].astype(np.float32)
    ours = np.array([tandem_kernels.exp(v) for v in x])
    np.testing.assert_array_equal(ours, portable_exp(x))
    inside = x > -87
    np.testing.assert_allclose(ours[inside], np.exp(x[inside].astype(float)), rtol=2e-7)
    assert (ours[~inside] == 0).all() and (ours == ours.astype(np.float32)).all(), "computed in single precision"
    x = np.r_[np.linspace(1e-6, 1, 5001), 1e-30].astype(np.float32)
    ours = np.array([tandem_kernels.log(v) for v in x])
    np.testing.assert_array_equal(ours, portable_log(x))
    np.testing.assert_allclose(ours, np.log(x.astype(float)), rtol=3e-7, atol=1e-7)


@pytest.mark.parametrize("d", [1, 31, 32, 33, 63, 64, 715, tandem_kernels.MOST_FEATURES])
def test_distances_of_bytes_are_exact(d):
    rng = np.random.default_rng(d)
    ends = 255 * rng.integers(0, 2, (19, d))  # the largest differences
    for rows in (rng.integers(0, 256, (19, d)).astype(np.uint8), ends.astype(np.uint8)):
        for sample in (rng.integers(0, 256, d), np.zeros(d), np.full(d, 255)):
            for n in (0, 1, 8, 19):
                out = np.full(n, -1, np.int32)
                squared_distances(sample.astype(np.int16), rows[:n], out)
                np.testing.assert_array_equal(out, ((rows[:n].astype(np.int64) - sample.astype(np.int64)) ** 2).sum(1))


# ---------------------------------------------------------------- one sample, many samples, labels that come late


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6), strings=st.booleans(), unlabelled=st.sampled_from([0.0, 0.3]), cut=st.integers(1, 299)
)
def test_run_equals_observe(seed, strings, unlabelled, cut):
    X0, y0, X, y = gaussian_stream(n=300, d=9, separation=0.7, change=150, seed=seed)
    y = np.where(np.arange(300) > 200, y + 1, y)
    if strings:  # sorted, the new class comes first
        names = np.array(["yes", "no", "up", "left"])
        y0, y = names[y0], names[y]
    hide = np.random.default_rng(seed).random(300) < unlabelled
    y = [None if hidden else label for hidden, label in zip(hide, y, strict=True)]
    whole, parts, single = (Tandem(max_bytes=1500, threshold=4.0, batch=20).fit(X0, y0) for _ in range(3))
    trace = whole.run(X, y)
    first, second = parts.run(X[:cut], y[:cut]), parts.run(X[cut:], y[cut:])
    predictions, sizes, alarms = [], [], []
    for i, (x, label) in enumerate(zip(X, y, strict=True)):
        predictions.append(single.observe(x, label))
        sizes.append(len(single))
        alarms += [i] if single.alarm_ else []
    for name in ("predictions", "sizes", "statistic"):
        np.testing.assert_array_equal(getattr(trace, name), np.r_[getattr(first, name), getattr(second, name)])
    np.testing.assert_array_equal(trace.predictions, predictions)
    np.testing.assert_array_equal(trace.sizes, sizes)
    assert trace.detections.tolist() == alarms == [*first.detections, *(second.detections + cut)]
    for other in (parts, single):
        np.testing.assert_equal(other._state._asdict(), whole._state._asdict())
        np.testing.assert_array_equal(other.times_, whole.times_)
        np.testing.assert_array_equal(other.predict_proba(X), whole.predict_proba(X))


def test_a_sample_without_a_label_changes_nothing_and_its_label_may_follow():
    X0, y0, X, y = STREAMS["gaussian"]
    asked, told = Tandem(50).fit(X0, y0), Tandem(50).fit(X0, y0)
    before = copy.deepcopy(asked._state)
    said = [asked.observe(x) for x in X[:20]]
    np.testing.assert_equal(asked._state._asdict(), before._asdict())
    np.testing.assert_array_equal(asked.predict(X[:20]), said)
    for x, label in zip(X[:20], y[:20], strict=True):
        asked.partial_fit([x], [label])
    told.partial_fit(X[:20], y[:20])
    np.testing.assert_equal(asked._state._asdict(), told._state._asdict())


@pytest.mark.parametrize("share", [1.0, 0.6])
@pytest.mark.parametrize("delay", [1, 40])
def test_late_labels_are_learned_and_judged_when_they_come(delay, share):
    X0, y0, X, y = gaussian_stream(n0=100, n=900, d=12, classes=3, separation=1.5, change=450)
    supervision = Supervision(labels=share, label_delay=delay)
    labels = Teacher(supervision, y, 0).labels(y).tolist()
    slow, cusum = tandem_transcription.Tandem(X0, y0, 50 * 56), Cusum(only_drops=True)
    said, alarms, points, judged = [], [], [], []
    for i, x in enumerate(X):
        said.append(slow.step(x))
        if (late := i - delay) < 0 or labels[late] is None:
            continue
        slow.step(X[late], labels[late])
        judged.append(late)
        if (found := cusum.update(said[late] == labels[late], len(judged))) is not None:
            alarms.append(i)
            points.append(judged[found - 1])
    follower = Follower(Tandem(50), X0, y0, Teacher(supervision, y, 0))
    follower.follow(X, y)
    trace = follower.result(()).trace
    np.testing.assert_array_equal(trace.predictions, said)
    assert (trace.detections.tolist(), trace.change_points.tolist()) == (alarms, points)
    assert alarms or share < 1, "the test sees the change"
    stored = follower.model.times_
    np.testing.assert_array_equal(stored, np.array(judged)[-len(stored) :] + 1)
    assert follower.model.time_ == len(X)


def test_predictions_do_not_depend_on_the_detector():
    X0, y0, X, y = STREAMS["gaussian"]
    calm, nervous = Tandem(50, threshold=np.inf).fit(X0, y0), Tandem(50, threshold=1.0, batch=10).fit(X0, y0)
    first, second = calm.run(X, y), nervous.run(X, y)
    assert len(first.detections) == 0 and len(second.detections) > 0
    assert (second.change_points <= second.detections).all()
    np.testing.assert_array_equal(first.predictions, second.predictions)
    np.testing.assert_equal(calm._state._asdict(), nervous._state._asdict())


def test_the_detector_finds_a_swap():
    X0, y0, X, y = gaussian_stream(n0=100, n=1200, d=8, classes=3, separation=2.0, change=600)
    trace = Tandem().fit(X0, y0).run(X, y)
    assert 600 <= trace.detections[0] < 700
    assert abs(trace.change_points[0] - 600) <= 50


def test_a_detector_that_fails_leaves_the_model_as_it_was():
    class Broken:
        statistic, change_time = 0.0, 0

        def update(self, correct, time):
            if time == 30:
                raise ZeroDivisionError
            return False

    X0, y0, X, y = STREAMS["late classes"]
    model = Tandem(detector=Broken()).fit(X0, y0)
    before = copy.deepcopy(vars(model))
    with pytest.raises(ZeroDivisionError):
        model.run(X, y)
    np.testing.assert_equal(model._state._asdict(), before["_state"]._asdict())
    assert model.time_ == 0 and model.classes_.tolist() == before["classes_"].tolist()


def test_a_run_can_be_stopped_between_blocks_and_leaves_the_model_as_it_was():
    X0, y0, X, y = STREAMS["late classes"]
    model, steps = Tandem().fit(X0, y0), []

    def stop(done, total, what):
        steps.append(done)
        if done == 256:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), reporting_steps(stop):
        model.run(X, y)
    assert steps == [0, 128, 256] and model.time_ == 0
    again, whole = model.run(X, y), Tandem().fit(X0, y0).run(X, y)
    np.testing.assert_equal(vars(again), vars(whole))


# ---------------------------------------------------------------- bytes


@pytest.mark.parametrize("d", [1, 2, 64, 715, 5000])
def test_the_budget_is_kept_while_classes_appear(d):
    rng = np.random.default_rng(d)
    budget = 50 * (4 * d + 8) if d > 1 else 800
    y = np.minimum(np.arange(120) // 20, 5)
    X = (rng.normal(size=(120, d)) + y[:, None]).astype(np.float32)
    model = Tandem(max_bytes=budget).fit(X[:20], y[:20])
    rows = [len(model._state.rows)]
    for x, label in zip(X[20:], y[20:], strict=True):
        model.observe(x, label)
        assert budget - (d + 2) < model.memory_bytes() <= budget
        assert len(model) <= len(model._state.rows)
        rows.append(len(model._state.rows))
    assert len(set(rows)) == 6 and rows == sorted(rows, reverse=True)
    d, classes = model.n_features_in_, 6
    assert model.memory_bytes() == 4 * d + 8 * classes * (d + 1) + 4 * classes**2 + rows[-1] * (d + 2) + 44


def test_max_size_counts_samples_of_the_paper():
    X0, y0, _, _ = STREAMS["many features"]
    assert len(Tandem(max_size=50).fit(X0, y0)._state.rows) == len(Tandem(max_bytes=143_400).fit(X0, y0)._state.rows)
    assert Tandem(max_size=1, max_bytes=143_400).fit(X0, y0).memory_bytes() <= 143_400


def test_too_small_a_budget_names_the_smallest_that_works():
    X0, y0, X, y = STREAMS["many features"]
    least = needed_bytes(715, 4, FEWEST_ROWS)
    wrong = f"max_bytes={least - 1} is .* too small .* at least max_bytes={least} or max_size=14"
    with pytest.raises(ConfigError, match=wrong) as caught:
        Tandem(max_bytes=least - 1).fit(X0, y0)
    model = Tandem(**caught.value.remedy).fit(X0, y0)
    with pytest.raises(ConfigError, match=r"max_size=13 .* or max_size=14"):
        Tandem(max_size=13).fit(X0, y0)
    assert Tandem(max_size=14).fit(X0, y0).memory_bytes() <= 14 * (4 * 715 + 8)
    before = pickle.dumps(model)
    for learn in (lambda: model.observe(X[0], 4), lambda: model.run(X, y + 1), lambda: model.partial_fit(X[:1], [4])):
        with pytest.raises(ConfigError, match="too small for 5 classes"):
            learn()
        assert pickle.dumps(model) == before
    for wrong in ({"max_bytes": 0}, {"max_bytes": 1.5}, {"max_size": -1}, {"max_size": None}):
        with pytest.raises(ConfigError, match="max_"):
            Tandem(**wrong).fit(X0, y0)


# ---------------------------------------------------------------- what it can learn


def test_learns_a_class_that_appears_late_and_survives_one_that_goes():
    rng = np.random.default_rng(1)
    n = 1500
    y = rng.integers(0, 3, n)
    y = np.where((y == 2) & (np.arange(n) < 500), 0, np.where((y == 0) & (np.arange(n) > 1000), 1, y))
    X = (rng.normal(size=(n, 20)) + 1.2 * rng.normal(size=(3, 20))[y]).astype(np.float32)
    start = np.flatnonzero(y[:200] < 2)[:60]
    hits = Tandem(50).fit(X[start], y[start]).run(X[200:], y[200:]).predictions == y[200:]
    newcomer = np.flatnonzero(y[200:] == 2)
    assert not hits[newcomer[0]], "nobody can know its label before"
    assert hits[newcomer[5:]].mean() > 0.95
    assert hits[-400:].mean() > 0.95


def test_a_hundred_thousand_samples_with_noisy_labels_stay_finite_and_accurate():
    rng = np.random.default_rng(2)
    n = 100_000
    y = rng.integers(0, 3, n)
    X = (rng.normal(size=(n, 6)) + 1.5 * rng.normal(size=(3, 6))[(y + np.arange(n) // 10_000) % 3]).astype(np.float32)
    told = np.where(rng.random(n) < 0.2, rng.integers(0, 3, n), y)
    model = Tandem(max_bytes=2000).fit(X[:100], y[:100])
    hits = model.run(X[100:], told[100:]).predictions == y[100:]
    assert all(hits[end - 5_000 : end].mean() > 0.85 for end in range(9_000, n, 10_000))
    assert all(np.isfinite(part).all() for part in model._state)
    assert model.memory_bytes() <= 2000 and abs(model._state.weights).max() < 10


@pytest.mark.parametrize("factor", [1e-30, 1e-8, 1e8, 1e30, 3e37])
def test_any_scale_of_features_gives_finite_shares(factor):
    X0, y0, X, y = STREAMS["gaussian"]
    model = Tandem(50).fit(X0 * factor, y0)
    model.run(X * factor, y)
    model.run(X[:10], y[:10])
    model.run(np.full((3, 37), 3e38), y[:3])
    proba = model.predict_proba(np.r_[X[:20] * factor, np.full((1, 37), -3e38)])
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert all(np.isfinite(part).all() for part in model._state)


def test_beats_a_window_of_the_same_bytes_where_there_are_many_features():
    X0, y0, X, y = gaussian_stream(n0=200, n=2000, d=200, classes=4, separation=0.2, change=1000)
    ours = np.mean(Tandem(50).fit(X0, y0).run(X, y).predictions == y)
    window = np.mean(IncrementalKNN(max_size=50, k=5, weights="distance").fit(X0, y0).run(X, y).predictions == y)
    assert ours > window + 0.1


# ---------------------------------------------------------------- the rest of a learner


def test_pickles_and_goes_on():
    X0, y0, X, y = STREAMS["late classes"]
    model = Tandem(50).fit(X0, y0)
    model.run(X[:200], y[:200])
    other = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.run(X[200:], y[200:]).predictions, other.run(X[200:], y[200:]).predictions)


def test_shares_and_neighbours_are_those_of_the_transcription():
    X0, y0, X, y = STREAMS["gaussian"]
    model = Tandem(max_bytes=5000).fit(X0, y0)
    model.run(X, y)
    proba = model.predict_proba(X[:30])
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X[:30]))
    found = model.neighbours(X[:30])
    stored = model.samples_
    inside = np.r_[X0, X][-len(stored) :].clip(X0.min(), X0.max())
    assert np.abs(stored - inside).max() <= 0.51 / model._state.scale[1]
    np.testing.assert_array_equal(model.times_, np.r_[np.zeros(60, int), np.arange(1, 401)][-len(stored) :])
    for i, x in enumerate(np.round((X[:30] - X0.min()) * model._state.scale[1]).clip(0, 255)):
        squared = ((model._state.rows[model._order()] - x) ** 2).sum(axis=1)
        nearest = squared.argsort(kind="stable")[:5]
        np.testing.assert_allclose(found.distances[i], np.sqrt(squared[nearest]) / model._state.scale[1], rtol=1e-5)
        np.testing.assert_array_equal(found.labels[i], model.labels_[nearest])
    assert model.neighbours(X[:2], k=2).positions.shape == (2, 2)


def test_the_lab_inspects_a_sample():
    experiment = Experiment("points", classes=3, per_class=100, train=20, learners=["tandem"])
    stream = experiment.stream()
    for sample in (3, 200):
        found = inspect_sample(experiment.learner("tandem", stream.scenario), stream, sample)
        trace = experiment.run().learners["tandem"].trace
        assert found.said == str(trace.predictions[sample]) and len(found.neighbours) == 5
        assert found.plane.shape == (found.size, 2)
        for neighbour in found.neighbours:
            X, origin = (stream.X0, stream.origin0) if neighbour.age is None else (stream.X, stream.origin)
            index = stream.index0 if neighbour.age is None else stream.index
            same = [
                i
                for i in range(len(X))
                if stream.origins[origin[i]] == neighbour.origin and index[i] == neighbour.index
            ]
            near = np.sqrt(((X[same] - stream.X[sample]) ** 2).sum(axis=1)).min()
            assert abs(near - neighbour.distance) < 0.1, "the medium shown is the stored one"


def test_experiments_at_equal_memory_count_all_of_its_bytes():
    experiment = Experiment(
        "points", 3, drift="class-added", per_class=200, train=20, learners=["tandem"], max_bytes=500
    )
    found = experiment.run().learners["tandem"]
    assert found.metrics.peak_bytes <= 500 and found.metrics.peak_bytes > 500 - 4
    model = experiment.learner("tandem", experiment.stream().scenario)
    assert model.max_bytes == 500
    assert found.sizes[-1] < found.sizes.max(), "the new class took rows"


def test_the_registry_gives_it_the_bytes_of_the_initial_samples_but_at_least_fifty():
    assert make_learner("tandem", 300).max_size == 300
    assert make_learner("tandem", 10).max_size == 50
    assert make_learner("tandem", 300, changed={"gap": 0.1}).detector.direction == "down"


def test_a_swap_of_labels_is_followed_within_a_few_samples():
    """Layers and ring still tell the classes apart; the confusion matrix learns their new names."""
    X0, y0, X, y = gaussian_stream(n0=100, n=1000, d=100, classes=2, separation=0.5, change=500)
    model = Tandem(50).fit(X0, y0)
    hits = model.run(X, y).predictions == y
    window = IncrementalKNN(max_size=50, k=5).fit(X0, y0).run(X, y).predictions == y
    assert hits[:500].mean() > 0.95
    assert hits[506:530].mean() > 0.9 and window[506:530].mean() < 0.6
    np.testing.assert_allclose(model._state.confusion.sum(axis=1), 1, rtol=1e-5)


# ---------------------------------------------------------------- the search


@pytest.mark.parametrize("name", STREAMS)
def test_the_chosen_member_of_the_searched_rules_is_tandem(name):
    X0, y0, X, y = STREAMS[name]
    budget = budget_of(X0, np.r_[y0, y], 50)
    predicted = Tandem(max_bytes=budget).fit(X0, y0).run(X, y).predictions
    np.testing.assert_array_equal(CHOSEN.run(X0, y0, X, y, budget), predicted)
    if name == "gaussian":
        assert (FIRST.run(X0, y0, X, y, budget) != predicted).any()


def test_the_shipped_search_has_all_rules_and_no_reported_word():
    text = (ROOT / "docs/tandem-search.md").read_text(encoding="utf-8")
    assert text.startswith(tune_tandem.about()), "run python -m benchmarks.tune_tandem --out docs/tandem-search.md"
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    rows = [cells for cells in lines if cells not in (list(tune_tandem.HEAD), list(tune_tandem.FEW_HEAD))]
    rules = [name for stage in tune_tandem.STAGES for name in stage.rules]
    assert [cells[0] for cells in rows] == [*rules, *tune_tandem.FEW_RULES]
    assert all(0 < float(value) <= 1 for cells in rows for value in cells[1:])
    assert not set(tune_tandem.TUNING) & set(WORDS)
