"""The adapter compared with river called directly, and labels that river has not seen yet."""

import copy

import numpy as np
import pytest
from river import base, drift, forest, linear_model, multiclass, naive_bayes, neighbors, preprocessing, tree
from sklearn.base import clone

from tests.conftest import gaussian_stream
from tests.learners.test_bad_input import BAD_DATA, FIT_TAKES
from tmlcd_core.errors import ConfigError, TmlcdError
from tmlcd_core.learners import RiverLearner


def knn(window=60):
    return neighbors.KNNClassifier(n_neighbors=5, engine=neighbors.LazySearch(window_size=window))


MODELS = {
    "kNN": knn,
    "kNN + ADWIN": lambda: drift.DriftRetrainingClassifier(knn(), drift.ADWIN(), train_in_background=False),
    "kNN + DDM": lambda: drift.DriftRetrainingClassifier(knn()),
    "Bayes": naive_bayes.GaussianNB,
    "tree": lambda: tree.HoeffdingTreeClassifier(grace_period=30),
    "forest": lambda: forest.ARFClassifier(n_models=3, seed=1),
    "pipeline": lambda: preprocessing.StandardScaler() | linear_model.SoftmaxRegression(),
}
NAMES = np.array(["yes", "no", "up", "left"])


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("strings", [False, True])
def test_equals_river_by_hand(name, strings):
    X0, y0, X, y = gaussian_stream(n0=30, n=250, d=4, change=120)
    y = np.where(np.arange(250) > 180, y + 1, y)
    if strings:
        y0, y = NAMES[y0], NAMES[y]
    given = MODELS[name]()
    trace = RiverLearner(given).fit(X0, y0).run(X, y)
    by_hand = MODELS[name]()
    for x, label in zip(X0, y0, strict=True):
        by_hand.learn_one({i: float(v) for i, v in enumerate(x)}, label.item())
    for i, (x, label) in enumerate(zip(X, y, strict=True)):
        sample = {j: float(v) for j, v in enumerate(x)}
        predicted = by_hand.predict_one(sample)
        if predicted is None:
            seen, times = np.unique(np.r_[y0, y[:i]], return_counts=True)
            predicted = seen[times.argmax()]
        assert trace.predictions[i] == predicted
        by_hand.learn_one(sample, label.item())
    assert len(trace.detections) == 0 and np.isnan(trace.statistic).all()
    assert given.predict_one({0: 0.0, 1: 0.0, 2: 0.0, 3: 0.0}) in (None, False, 0), "the model given has learned"


@pytest.mark.parametrize("name", MODELS)
def test_run_equals_observe(name):
    X0, y0, X, y = gaussian_stream(n0=30, n=150, d=4, change=70)
    y = [None if i % 6 == 0 else label for i, label in enumerate(NAMES[np.where(np.arange(150) > 100, y + 1, y)])]
    whole, parts, single = (RiverLearner(MODELS[name]()).fit(X0, NAMES[y0]) for _ in range(3))
    trace = whole.run(X, y)
    first, second = parts.run(X[:90], y[:90]), parts.run(X[90:], y[90:])
    assert trace.predictions.tolist() == [single.observe(x, label) for x, label in zip(X, y, strict=True)]
    assert trace.predictions.tolist() == [*first.predictions, *second.predictions]
    np.testing.assert_array_equal(whole.predict(X[:20]), single.predict(X[:20]))


def test_sizes_and_memory():
    X0, y0, X, y = gaussian_stream(n=120, d=4)
    model = RiverLearner(knn(60), stored=lambda fitted: len(fitted._nn.window)).fit(X0[:30], y0[:30])
    assert model.run(X, y).sizes.tolist() == [*range(31, 61), *[60] * 90]
    assert len(model) == 60
    assert model.memory_bytes() > 60 * 4 * 8
    assert set(RiverLearner(knn()).fit(X0, y0).run(X, y).sizes) == {0}


class Mute(base.Classifier):
    """Classifier that never predicts."""

    _multiclass = True

    def learn_one(self, x, y):
        pass

    def predict_one(self, x):
        return None


def test_without_a_prediction_the_most_frequent_label_stands_in():
    X = np.zeros((6, 2))
    model = RiverLearner(Mute()).fit(X[:3], ["b", "a", "b"])
    assert model.run(X, ["a", "a", "a", "c", "c", "c"]).predictions.tolist() == ["b", "a", "a", "a", "a", "a"]
    assert model.predict(X[:1]).tolist() == ["a"]  # four a, three c, two b


def test_unlabelled_samples_only_predict(make_stream):
    X0, y0, X, _ = make_stream(d=4)
    model = RiverLearner(knn()).fit(X0, y0)
    np.testing.assert_array_equal(model.run(X).predictions, model.predict(X))


@pytest.mark.parametrize("case", BAD_DATA)
def test_a_refused_stream_leaves_the_model_as_it_was(case):
    bad_X, bad_y, words = BAD_DATA[case]
    X, y = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [5.0, 5.0]]), np.array([0, 0, 0, 1])
    model = RiverLearner(knn()).fit(X, y)
    classes, samples = model.classes_, copy.deepcopy(list(model.model_._nn.window))
    for call in (model.run, model.partial_fit, model.fit):
        if call == model.fit and case in FIT_TAKES:
            continue
        with pytest.raises(TmlcdError, match=words):
            call(bad_X, bad_y)
    assert model.classes_ is classes and list(model.model_._nn.window) == samples


@pytest.mark.parametrize("bad", [None, "kNN", neighbors.KNNClassifier, drift.ADWIN(), preprocessing.StandardScaler()])
def test_not_a_classifier(bad):
    with pytest.raises(ConfigError, match="not a river classifier"):
        RiverLearner(bad).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("labels", [["no", "yes"], [1, 2], [0, 2]])
def test_a_model_of_two_classes_takes_true_and_false(labels):
    X0, y0, X, y = gaussian_stream(n0=40, n=100, d=4, classes=2, separation=2.0)
    logistic = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    labels = np.array(labels)
    fresh = RiverLearner(logistic)
    with pytest.raises(ConfigError, match="OneVsRest"):
        fresh.fit(X0, labels[y0])
    with pytest.raises(ConfigError, match="not fitted"):
        fresh.predict(X)
    wrapped = RiverLearner(multiclass.OneVsRestClassifier(logistic)).fit(X0, labels[y0])
    assert np.mean(wrapped.run(X, labels[y]).predictions == labels[y]) > 0.85
    for good in (np.array([False, True]), np.array([0, 1])):
        model = RiverLearner(logistic).fit(X0, good[y0])
        assert np.mean(model.run(X, good[y]).predictions == good[y]) > 0.85
    with pytest.raises(ConfigError, match="OneVsRest"):
        model.run(X, y + 1)
    assert model.classes_.tolist() == [0, 1]


def test_conventions():
    with pytest.raises(ConfigError, match="stored=3"):
        RiverLearner(knn(), stored=3).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ConfigError, match="not fitted"):
        RiverLearner(knn()).run([[0.0]], [0])
    model = RiverLearner(knn()).fit([[0.0], [1.0]], [0, 1])
    assert not clone(model).__sklearn_is_fitted__()
    assert model.score([[0.0], [1.0]], [0, 1]) == 1.0
