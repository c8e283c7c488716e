"""Labels as in life: missing, late and wrong ones, against the reference implementation and the definition."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from river import naive_bayes
from sklearn.naive_bayes import GaussianNB

from tests.conftest import gaussian_stream
from tmlcd_core import ActiveTinyKNN, CondensingInTime, ConfigError, Experiment, HybridTinyKNN, Tandem, prequential
from tmlcd_core.draws import GAMMA
from tmlcd_core.experiments import Supervision
from tmlcd_core.experiments.labels import FULL, Teacher
from tmlcd_core.experiments.runs import Follower
from tmlcd_core.learners import SAMKNN, StaticKNN
from tmlcd_core.learners.registry import LEARNERS, make_learner
from tmlcd_core.reference import FEWEST_SAMPLES, KNN, Cusum, Sample, condense, cut_evenly

CHANGE = 300
X0, Y0, X, Y = gaussian_stream(n0=60, n=700, classes=3, separation=1.5, change=CHANGE, seed=3)
SMALL = Experiment("points", classes=3, per_class=150, train=20)


def late_reference(algorithm, labels, delay, bound=60):
    """The paper's algorithms with late labels: plain loops over plain lists."""
    T = condense([Sample(x, y, 0) for x, y in zip(X0, Y0, strict=True)])
    T = T if algorithm == "active" else cut_evenly(T, bound)
    W, K, known = [], KNN(T), []
    cusum = Cusum(only_drops=algorithm == "hybrid")
    said, sizes, alarms, points = [], [], [], []
    for i in range(len(X)):
        said.append(K(X[i]))
        s = i - delay
        if s >= 0 and labels[s] is not None:
            sample, right = Sample(X[s], labels[s], s + 1), said[s] == labels[s]
            W = [*W, sample][-bound:]
            if algorithm != "active" and not right:
                T = [*T, sample][-bound:]
            known.append(s + 1)  # the test counts the labelled samples
            found = None if algorithm == "cit" else cusum.update(right, len(known))
            if found is not None:
                t_r = known[found - 1]
                novel = [one for one in (W if algorithm == "active" else T) if one.t >= t_r]
                if len(novel) >= FEWEST_SAMPLES:
                    T = condense(novel) if algorithm == "active" else novel
                alarms.append(i)
                points.append(t_r - 1)
            K = KNN(T)
        sizes.append(len(T))
    return said, sizes, alarms, points


BOUNDED = {
    "active": partial(ActiveTinyKNN, max_bytes=5000),
    "hybrid": partial(HybridTinyKNN, max_bytes=5000, storage="uint8"),
    "tandem": partial(Tandem, max_bytes=5000),
    "sam-knn": partial(SAMKNN, max_bytes=5000),
    "static": StaticKNN,
}


@pytest.mark.parametrize("delay", [0, 7])
@pytest.mark.parametrize("name", BOUNDED)
def test_bytes_are_those_of_the_learner_in_blocks_and_with_late_labels(name, delay):
    """What the device holds does not depend on how the stream is read, nor on when the labels come."""
    found = []
    for cuts, keep in (([], True), ([100, 450], True), ([256, 512], False)):
        teacher = Teacher(Supervision(label_delay=delay), [0, 1, 2])
        follower = Follower(BOUNDED[name](), X0, Y0, teacher, keep)
        for block, labels in zip(np.split(X, cuts), np.split(Y, cuts), strict=True):
            follower.follow(block, labels)
        metrics = follower.result([CHANGE]).metrics
        found.append([metrics.largest_bytes, metrics.window_bytes, metrics.mean_bytes, metrics.peak_bytes])
    assert found[0] == found[1] == found[2]
    own = follower.model.memory_bytes()
    assert own <= metrics.peak_bytes <= (own if name == "static" else 5000)


MODELS = {
    "cit": CondensingInTime(max_size=60),
    "active": ActiveTinyKNN(window=60),
    "hybrid": HybridTinyKNN(max_size=60),
}


@pytest.mark.parametrize("share", [1.0, 0.6])
@pytest.mark.parametrize("delay", [0, 1, 40])
@pytest.mark.parametrize("algorithm", MODELS)
def test_late_and_missing_labels_give_the_trace_of_the_reference(algorithm, delay, share):
    supervision = Supervision(labels=share, label_delay=delay)
    given = Teacher(supervision, Y, 5).labels(Y).tolist()
    said, sizes, alarms, points = late_reference(algorithm, given, delay)
    follower = Follower(MODELS[algorithm], X0, Y0, Teacher(supervision, Y, 5))
    for start, stop in pairwise((0, 250, 430, 700)):  # blocks of any length
        follower.follow(X[start:stop], Y[start:stop])
    trace = follower.result(()).trace
    assert trace.predictions.tolist() == said
    assert trace.sizes.tolist() == sizes
    assert (trace.detections.tolist(), trace.change_points.tolist()) == (alarms, points)
    assert algorithm == "cit" or share < 1 or alarms, "the test sees the change"


def splitmix(seed, purpose, n):
    """Uniform numbers by the recipe in tmlcd_core/draws.py, with Python's integers."""
    mask = 2**64 - 1

    def mix(z):
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return z ^ (z >> 31)

    start = (mix(seed) + purpose) & mask
    return [(mix((start + (i + 1) * int(GAMMA)) & mask) >> 11) / 2**53 for i in range(n)]


def test_labels_are_drawn_with_the_documented_generator():
    true = ["a", "b", "c", "a"] * 50
    missing, wrong, instead = (splitmix(7, purpose, 200) for purpose in (5, 6, 7))
    expected = []
    for label, no, bad, which in zip(true, missing, wrong, instead, strict=True):
        others = [one for one in "abc" if one != label]
        expected.append(None if no >= 0.7 else others[int(which * 2)] if bad < 0.3 else label)
    supervision = Supervision(labels=0.7, wrong_labels=0.3)
    assert Teacher(supervision, ["a", "b", "c"], 7).labels(true).tolist() == expected
    teacher = Teacher(supervision, ["a", "b", "c"], 7)
    assert [*teacher.labels(true[:33]).tolist(), *teacher.labels(true[33:]).tolist()] == expected


def test_shares_hold_and_a_wrong_label_is_another_class():
    true = np.array(["a", "b", "c"])[np.arange(30_000) % 3]
    given = Teacher(Supervision(labels=0.4, wrong_labels=0.25), true, 1).labels(true)
    known = given != None  # noqa: E711
    assert known.mean() == pytest.approx(0.4, abs=0.01)
    assert (given[known] != true[known]).mean() == pytest.approx(0.25, abs=0.01)
    counts = np.unique(given[known & (given != true) & (true == "a")], return_counts=True)
    assert counts[0].tolist() == ["b", "c"] and abs(counts[1][0] / counts[1].sum() - 0.5) < 0.03


def test_all_labels_wrong_are_never_right_and_the_accuracy_counts_the_true_ones():
    outcome = prequential(CondensingInTime(), (X, Y), 60, supervision=Supervision(wrong_labels=1.0))
    true = prequential(CondensingInTime(), (X, Y), 60)
    assert outcome.metrics.accuracy < 0.5 < true.metrics.accuracy
    assert outcome.metrics.accuracy == np.mean(outcome.trace.predictions == Y[60:])


def test_without_labels_nothing_is_learned():
    for supervision in (Supervision(labels=0.0), Supervision(label_delay=len(X))):
        trace = prequential(HybridTinyKNN(), (X, Y), 60, supervision=supervision).trace
        assert len(set(trace.sizes.tolist())) == 1 and not len(trace.detections)


def test_the_defaults_change_no_number():
    stream = SMALL.stream()
    for name in SMALL.learner_names:
        plain = SMALL.learner(name, stream.scenario).fit(stream.X0, stream.y0).run(stream.X, stream.y)
        found = SMALL.learner_run(name, stream).trace
        np.testing.assert_array_equal(found.predictions, plain.predictions)
        np.testing.assert_array_equal(found.statistic, plain.statistic)
    assert (SMALL.labels, SMALL.label_delay, SMALL.wrong_labels) == (1.0, 0, 0.0) and SMALL.supervision == FULL
    assert "label" not in SMALL.link() + SMALL.command()


def test_settings_of_labels_survive_link_command_and_json():
    experiment = Experiment("points", labels=0.25, label_delay=30, wrong_labels=0.1)
    assert "labels=25&" in experiment.link() and "label_delay=30" in experiment.link()
    assert "--labels 0.25 --label-delay 30 --wrong-labels 0.1" in experiment.command()
    assert Experiment.from_link(experiment.link()) == experiment
    assert Experiment.from_json(experiment.to_json()) == experiment
    assert experiment.key() != Experiment("points").key()
    assert experiment.stream_key() == Experiment("points").stream_key()


@pytest.mark.parametrize("change", [{"labels": 1.1}, {"wrong_labels": -0.1}, {"label_delay": 1.5}, {"label_delay": -1}])
def test_impossible_settings_are_refused(change):
    for make in (lambda: Experiment("points", **change), lambda: Supervision(**change)):
        with pytest.raises(ConfigError, match=next(iter(change))):
            make()


def test_every_learner_takes_late_labels_or_says_that_it_cannot():
    told = {}
    for name in LEARNERS:
        try:
            run = prequential(make_learner(name, 60), (X, Y), 60, supervision=Supervision(label_delay=5))
            assert len(run.trace) == len(X) - 60
        except ConfigError as error:
            told[name] = str(error)
    assert set(told) == {"nn-fc1", "nn-fc1-static"}
    assert "BestNNFC1 cannot take late labels" in told["nn-fc1"] and "label_delay=0" in told["nn-fc1"]


def test_a_late_learner_of_river_or_scikit_learn_is_a_loop_of_predict_and_learn():
    delay = 12
    model, said = naive_bayes.GaussianNB(), []
    for x, y in zip(X[:60].tolist(), Y[:60].tolist(), strict=True):
        model.learn_one(dict(enumerate(x)), y)
    for i in range(60, len(X)):
        said.append(model.predict_one(dict(enumerate(X[i].tolist()))))
        if i - delay >= 60:
            model.learn_one(dict(enumerate(X[i - delay].tolist())), int(Y[i - delay]))
    found = prequential(naive_bayes.GaussianNB(), (X, Y), 60, supervision=Supervision(label_delay=delay))
    assert found.trace.predictions.tolist() == said
    other = prequential(GaussianNB(), (X, Y), 60, supervision=Supervision(label_delay=delay))
    assert np.mean(other.trace.predictions == found.trace.predictions) > 0.95


def test_an_object_with_observe_and_partial_fit_learns_late():
    class Parrot:
        """Says what it heard last."""

        def fit(self, X, y):
            self.heard = y[-1]
            return self

        def run(self, X, y):
            raise AssertionError("late labels come one by one")

        def observe(self, x, y=None):
            return self.heard

        def partial_fit(self, X, y):
            self.heard = y[0]
            return self

    labels = np.arange(50)
    run = prequential(Parrot(), (np.ones((50, 1)), labels), 10, supervision=Supervision(label_delay=3))
    assert run.trace.predictions.tolist() == [9, 9, 9, 9, *range(10, 46)]
