"""River-native classes against river's own checks and against the core's learners and test."""

import copy
import pickle

import numpy as np
import pytest
from river import base, checks, drift, evaluate, metrics, naive_bayes, neighbors, preprocessing, utils
from river.checks import common
from sklearn.base import clone

import tmlcd_core
from tests.conftest import gaussian_stream
from tmlcd_core import river as native
from tmlcd_core.detectors import RiverDetector
from tmlcd_core.errors import ConfigError, DataError

CLASSIFIERS = ("CondensingInTime", "ActiveTinyKNN", "HybridTinyKNN", "Tandem")
NAMES = np.array(["yes", "no", "up", "left"])


def samples(X):
    return [{f"f{i}": float(v) for i, v in enumerate(row)} for row in X]


def stream(n0=100, n=500, change=250, **kwargs):
    """A stream as river has it, and the same as arrays: features, labels."""
    X0, y0, X, y = gaussian_stream(n0=n0, n=n, change=change, **kwargs)
    X, y = np.r_[X0, X], NAMES[np.r_[y0, y]]
    return list(zip(samples(X), y.tolist(), strict=True)), X, y


# ---------------------------------------------------------------- classifiers


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_pass_every_check_of_river(name):
    model = getattr(native, name)()
    assert isinstance(model, base.Classifier) and not model._unit_test_skips()
    assert len(list(checks.yield_checks(model))) > 40
    checks.check_estimator(model)


@pytest.mark.parametrize("strings", [False, True])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifier_decides_as_the_core_fitted_to_its_first_samples(name, strings):
    pairs, X, y = stream()
    if not strings:
        y = np.searchsorted(np.sort(NAMES), y)
        pairs = [(x, int(label)) for (x, _), label in zip(pairs, y, strict=True)]
    core = getattr(tmlcd_core, name)(threshold=8.0) if name != "CondensingInTime" else tmlcd_core.CondensingInTime()
    trace = core.fit(X[:100], y[:100]).run(X[100:], y[100:])
    model = getattr(native, name)(**({} if name == "CondensingInTime" else {"threshold": 8.0}))
    predicted = []
    for x, label in pairs:
        predicted.append(model.predict_one(x))
        shares = model.predict_proba_one(x)
        if predicted[-1] is not None:
            assert shares[predicted[-1]] == max(shares.values())
        model.learn_one(x, label)
    assert predicted[0] is None and predicted[1] == pairs[0][1]
    assert predicted[100:] == trace.predictions.tolist()
    assert len(model.learner) == trace.sizes[-1] and model.memory_bytes() == core.memory_bytes()
    if name != "CondensingInTime":
        assert len(trace.detections) > 0


def test_progressive_val_score_is_the_accuracy_of_the_same_predictions():
    pairs, X, y = stream()
    scored = evaluate.progressive_val_score(pairs, native.HybridTinyKNN(), metrics.Accuracy()).get()
    start = [np.nan]
    model = native.HybridTinyKNN()
    for x, label in pairs[:100]:
        start.append(model.predict_one(x) == label)
        model.learn_one(x, label)
    trace = tmlcd_core.HybridTinyKNN().fit(X[:100], y[:100]).run(X[100:], y[100:])
    right = np.sum(start[2:]) + np.sum(trace.predictions == y[100:])
    assert scored == pytest.approx(right / (len(y) - 1)), "river leaves out the first sample: it has no prediction"
    assert scored > 0.7


def test_classifier_joins_a_pipeline_and_river_tools():
    pairs, _, _ = stream()
    model = preprocessing.StandardScaler() | native.HybridTinyKNN(max_size=50)
    copied = model.clone({"HybridTinyKNN": {"max_size": 10}})
    assert evaluate.progressive_val_score(pairs, model, metrics.Accuracy()).get() > 0.7
    assert len(model["HybridTinyKNN"].learner) <= 50
    evaluate.progressive_val_score(pairs, copied, metrics.Accuracy())
    assert len(copied["HybridTinyKNN"].learner) <= 10
    assert model["HybridTinyKNN"].clone().learner is None, "a clone has learned nothing"
    grid = utils.expand_param_grid(native.HybridTinyKNN(), {"batch": [25, 50]})
    assert [one.batch for one in grid] == [25, 50]


def test_features_may_come_and_go_and_count_as_zero_where_they_lack():
    pairs, _, _ = stream(n0=20, n=200, d=4)
    full, lacking = (native.ActiveTinyKNN(initial=20, threshold=8.0, weights="distance") for _ in range(2))
    for i, (x, label) in enumerate(pairs):
        gone = {"f3"} if i < 60 else {"f1"} if i % 3 == 0 else set()
        zeros = {name: 0.0 if name in gone else value for name, value in x.items()}
        some = {name: value for name, value in reversed(x.items()) if name not in gone}
        assert lacking.predict_one(some) == full.predict_one(zeros)
        assert lacking.predict_one(some | {"new": 5.0}) == full.predict_one(zeros), "unknown so far"
        full.learn_one(zeros, label)
        lacking.learn_one(some, label)
    assert lacking.learner.n_features_in_ == 4
    np.testing.assert_array_equal(np.sort(lacking.learner.samples_.sum(1)), np.sort(full.learner.samples_.sum(1)))


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_learner_widened_in_the_middle_of_a_stream_equals_one_that_knew_the_zeros(name):
    X0, y0, X, y = gaussian_stream(n0=60, n=600, d=5, change=350)
    X0[:, 3:], X[:300, 3:] = 0, 0
    wide = getattr(tmlcd_core, name)().fit(X0, y0)
    expected = wide.run(X, y)
    narrow = getattr(tmlcd_core, name)().fit(X0[:, :3], y0)
    first = narrow.run(X[:250, :3], y[:250]).predictions.tolist()
    first += [narrow.observe(x, label) for x, label in zip(X[250:300, :3], y[250:300], strict=True)]
    narrow.widen(5)
    first += [narrow.observe(x, label) for x, label in zip(X[300:400], y[300:400], strict=True)]
    assert first + narrow.run(X[400:], y[400:]).predictions.tolist() == expected.predictions.tolist()
    np.testing.assert_array_equal(narrow.samples_, wide.samples_)
    assert narrow.memory_bytes() == wide.memory_bytes()
    with pytest.raises(ConfigError, match="n_features=4"):
        narrow.widen(4)


def test_a_refused_sample_changes_nothing():
    pairs, _, _ = stream(n0=10, n=20, change=None)
    model = native.CondensingInTime(initial=15)
    for i, (x, label) in enumerate(pairs):
        if i in (0, 5, 20):
            before = pickle.dumps(model)
            with pytest.raises(DataError, match="'red', not a number"):
                model.learn_one(x | {"colour": "red"}, label)
            assert pickle.dumps(model) == before
        if i in (5, 20):
            with pytest.raises(DataError, match="strings"):
                model.learn_one(x, 3)
        model.learn_one(x, label)
    assert set(model.learner.classes_) == {"yes", "no", "up"}


def test_wrong_parameters_are_refused():
    with pytest.raises(ConfigError, match="initial=0"):
        native.CondensingInTime(initial=0)
    with pytest.raises(ConfigError, match="threshold=-1"):
        native.GeneralizedCusum(threshold=-1)
    with pytest.raises(ConfigError, match="k='many'"):
        native.CondensingInTime(k="many").learn_one({"a": 1.0}, 0)


@pytest.mark.parametrize(("name", "direction"), [("ActiveTinyKNN", "both"), ("HybridTinyKNN", "down")])
def test_a_detector_of_river_takes_the_place_of_cusum(name, direction):
    pairs, X, y = stream(n=800, change=400)
    model = getattr(native, name)(detector=drift.ADWIN()).clone()
    predicted = []
    for x, label in pairs:
        predicted.append(model.predict_one(x))
        model.learn_one(x, label)
    core = getattr(tmlcd_core, name)(detector=RiverDetector(drift.ADWIN(), direction)).fit(X[:100], y[:100])
    trace = core.run(X[100:], y[100:])
    assert predicted[100:] == trace.predictions.tolist() and len(trace.detections) > 0
    own = getattr(native, name)(detector=tmlcd_core.GeneralizedCusum(threshold=8.0))
    own.learn_one(*pairs[0])
    assert own.learner.detector_.threshold == 8.0


# ---------------------------------------------------------------- the test


def errors(seed=0):
    rng = np.random.default_rng(seed)
    return np.r_[rng.random(600) < 0.1, rng.random(600) < 0.5, rng.random(600) < 0.1]


def test_cusum_takes_errors_where_the_core_takes_hits():
    test, core = native.GeneralizedCusum(batch=20), tmlcd_core.GeneralizedCusum(batch=20)
    alarms = 0
    for error in errors():
        test.update(int(error))
        alarm = core.update(not error)
        assert test.drift_detected == alarm
        assert test.warning_detected == (not alarm and core.statistic >= 12.5)
        np.testing.assert_equal(test.statistic, core.statistic)
        assert test.change_time == core.change_time
        alarms += alarm
    assert alarms >= 2


def test_cusum_passes_the_checks_that_river_has_for_all_objects():
    test = native.GeneralizedCusum(batch=20)
    assert isinstance(test, base.BinaryDriftDetector)
    names = ["repr", "str", "clone_same_class", "clone_is_idempotent", "init_has_default_params_for_tests",
             "init_default_params_are_not_mutable", "doc", "clone_changes_memory_addresses", "mutate_can_be_idempotent",
             "pickling_supports_roundtrip", "repr_roundtrips_clone", "clone_with_new_params_applies",
             "get_params_matches_signature"]  # fmt: skip
    for name in names:
        getattr(common, f"check_{name}")(test.clone())


@pytest.mark.parametrize("in_background", [False, True])
@pytest.mark.parametrize(
    "inner",
    [
        lambda: neighbors.KNNClassifier(n_neighbors=5, engine=neighbors.LazySearch(window_size=1000)),
        naive_bayes.GaussianNB,
        native.CondensingInTime,
    ],
    ids=["kNN", "Bayes", "CIT"],
)
def test_cusum_drives_drift_retraining(inner, in_background):
    """Where a classifier is replaced is where the core's test, on the same errors, raises an alarm."""
    pairs, _, _ = stream(n=900, change=500, separation=2.0)
    model = drift.DriftRetrainingClassifier(inner(), native.GeneralizedCusum(batch=20), in_background)
    assert model.clone().drift_detector.batch == 20
    core = tmlcd_core.GeneralizedCusum(batch=20)
    expected, replaced = [], []
    for i, (x, label) in enumerate(pairs):
        prediction = model.model.predict_one(x)
        if prediction is not None and core.update(prediction == label):
            expected.append(i)
        before = model.model
        model.learn_one(x, label)
        if model.model is not before:
            replaced.append(i)
    assert replaced == expected and any(600 <= i < 700 for i in replaced)
    tail = [model.predict_one(x) == label for x, label in pairs[-200:]]
    assert np.mean(tail) > 0.7


# ---------------------------------------------------------------- the core's detectors can be cloned

DETECTORS = {
    "CUSUM": lambda: tmlcd_core.GeneralizedCusum(12.0, 20, 40, "down", "binomial", 0.02, 0.05, 0.01),
    "river": lambda: RiverDetector(drift.ADWIN(delta=0.05), "down", 300),
}


def alarms(detector, values):
    return [i for i, error in enumerate(values) if detector.update(not error, i)]


@pytest.mark.parametrize("name", DETECTORS)
@pytest.mark.parametrize("cloned", [lambda d: d.clone(), clone], ids=["river", "sklearn"])
def test_a_cloned_detector_has_the_parameters_and_no_past(name, cloned):
    used, fresh = DETECTORS[name](), DETECTORS[name]()
    found = alarms(used, errors())
    assert found
    copied = cloned(used)
    assert type(copied) is type(used) and repr(copied) == repr(fresh)
    assert alarms(copied, errors()) == found == alarms(fresh, errors())


@pytest.mark.parametrize("name", DETECTORS)
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))], ids=["deepcopy", "pickle"])
def test_a_copied_detector_goes_on(name, copied):
    used = DETECTORS[name]()
    alarms(used, errors()[:610])
    twin = copied(used)
    rest = errors()[610:]
    assert alarms(twin, rest) == alarms(used, rest) != alarms(DETECTORS[name](), rest)


def test_a_learner_cloned_with_a_used_detector_starts_afresh():
    used = tmlcd_core.GeneralizedCusum(batch=20)
    alarms(used, errors())
    model = clone(tmlcd_core.ActiveTinyKNN(detector=used))
    assert model.detector.seen == 0 and model.detector.batch == 20
