"""Bad features, labels and settings: a clear TmlcdError, and an unchanged model."""

import copy

import numpy as np
import pytest
import scipy.sparse

from tmlcd_core import (
    ActiveTinyKNN,
    CondensingInTime,
    ConfigError,
    DataError,
    GeneralizedCusum,
    HybridTinyKNN,
    Tandem,
    TinyKNN,
    TmlcdError,
    calibrate_threshold,
    condense,
)
from tmlcd_core.learners import NNFC1, SAMKNN, IncrementalKNN, StaticKNN

MODELS = [TinyKNN, CondensingInTime, ActiveTinyKNN, HybridTinyKNN, IncrementalKNN, Tandem]
LEARNERS = MODELS[1:]
X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [5.0, 5.0]])
Y = np.array([0, 0, 0, 1])

BAD_DATA = {
    "NaN": ([[0.0, np.nan]], [0], "NaN"),
    "infinite": ([[0.0, np.inf]], [0], "inf"),
    "too large for float32": ([[0.0, 1e39]], [0], "float32"),
    "wrong dimension": ([[0.0, 0.0, 0.0]], [0], "3 features.*expecting 2"),
    "ragged": ([[0.0, 0.0], [1.0]], [0, 1], "rectangular"),
    "empty": (np.empty((0, 2)), [], "0 sample"),
    "no features": (np.empty((2, 0)), [0, 1], "0 feature"),
    "flat": ([0.0, 0.0, 1.0], [0, 1, 1], "2D"),
    "three axes": (np.zeros((2, 2, 2)), [0, 1], "2D"),
    "words": ([["a", "b"]], [0], "numbers"),
    "objects": ([[{}, {}]], [0], "numbers"),
    "complex": ([[1j, 0.0]], [0], "Complex"),
    "sparse": (scipy.sparse.eye(2).tocsr(), [0, 1], "dense"),
    "lengths differ": ([[0.0, 0.0]], [0, 1], "inconsistent"),
    "labels in a table": ([[0.0, 0.0]], [[0, 1]], "1d"),
    "fractions as labels": ([[0.0, 0.0]], [0.5], "continuous"),
    "infinite label": ([[0.0, 0.0]], [np.inf], "continuous"),
    "fractions among whole numbers": ([[0.0, 0.0], [1.0, 1.0]], [1.0, 2.5], r"continuous.* 2\.5"),
    "a label of 65 bits": ([[0.0, 0.0], [1.0, 1.0]], [2**63, -1], "64 bits"),
    "a label of 71 bits": ([[0.0, 0.0], [1.0, 1.0]], [2**70, 1], "64 bits"),
    "an unsigned label of 64 bits": ([[0.0, 0.0]], np.array([2**63], np.uint64), "64 bits"),
    "mixed labels": ([[0.0, 0.0], [1.0, 1.0]], ["a", 1], "label|mixes"),
    "labels of another kind": ([[0.0, 0.0]], ["yes"], "'yes'.*only strings or only ints"),
    "dates as labels": ([[0.0, 0.0]], np.array(["2020-01-01"], "datetime64[D]"), "not supported"),
}
FIT_TAKES = {"wrong dimension", "labels of another kind"}  # wrong only after a fit


def state(model):
    return copy.deepcopy({name: value for name, value in vars(model).items() if name != "_step"})


def assert_same(a, b):
    assert a.keys() == b.keys()
    for name in a:
        if hasattr(a[name], "__dict__"):
            assert_same(vars(a[name]), vars(b[name]))
        else:
            np.testing.assert_equal(a[name], b[name], err_msg=name)


@pytest.mark.parametrize("Model", LEARNERS)
@pytest.mark.parametrize("case", BAD_DATA)
def test_a_refused_stream_leaves_the_model_as_it_was(Model, case):
    bad_X, bad_y, words = BAD_DATA[case]
    model = Model().fit(X, Y)
    model.run(X + 0.5, Y)
    before = state(model)
    for call in (model.run, model.partial_fit, model.fit):
        if call == model.fit and case in FIT_TAKES:
            continue
        with pytest.raises(TmlcdError, match=words):
            call(bad_X, bad_y)
        assert_same(state(model), before)
    if np.shape(bad_y) == (1,):
        with pytest.raises(TmlcdError, match=words):
            model.observe(bad_X[0], bad_y[0])
        assert_same(state(model), before)


@pytest.mark.parametrize("Model", MODELS)
@pytest.mark.parametrize("case", [c for c in BAD_DATA if c not in FIT_TAKES])
def test_fit_refuses(Model, case):
    bad_X, bad_y, words = BAD_DATA[case]
    with pytest.raises(DataError, match=words):
        Model().fit(bad_X, bad_y)


@pytest.mark.parametrize("case", ["NaN", "infinite", "wrong dimension", "ragged", "empty", "flat", "words"])
def test_asking_refuses(case):
    model = HybridTinyKNN().fit(X, Y)
    for ask in (model.predict, model.predict_proba, model.neighbours):
        with pytest.raises(DataError, match=BAD_DATA[case][2]):
            ask(BAD_DATA[case][0])


@pytest.mark.parametrize("missing", [[0, None, 1, 1], [0.0, np.nan, 1.0, 1.0], None])
def test_missing_labels_are_for_streams_only(missing):
    for call in (
        CondensingInTime().fit,
        lambda X, y: condense(X, y),
        CondensingInTime().fit(X, Y).partial_fit,
    ):
        with pytest.raises(DataError, match=r"y"):
            call(X, missing)
    assert len(CondensingInTime().fit(X, Y).run(X, missing)) == 4


def test_masked_arrays_are_refused():
    """Numpy would read the values under the mask."""
    masked = np.ma.array(X, mask=np.eye(4, 2, dtype=bool))
    labels = np.ma.array(Y, mask=[0, 1, 0, 0])
    model = CondensingInTime().fit(X, Y)
    calls = [
        lambda: CondensingInTime().fit(masked, Y),
        lambda: CondensingInTime().fit(masked.astype(np.float32), Y),
        lambda: CondensingInTime().fit(list(masked), Y),
        lambda: CondensingInTime().fit(X, labels),
        lambda: condense(masked, Y),
        lambda: condense(X, labels),
        lambda: model.run(masked, Y),
        lambda: model.run(X, labels),
        lambda: model.partial_fit(X, labels),
        lambda: model.predict(masked),
        lambda: model.predict_proba(masked),
        lambda: model.neighbours(masked),
        lambda: model.observe(masked[0], 0),
        lambda: model.observe(X[0], np.ma.masked),
        lambda: model.take_in(masked, Y),
        lambda: NNFC1().fit(masked, Y),
    ]
    before = state(model)
    for call in calls:
        with pytest.raises(DataError, match="masked array"):
            call()
    assert_same(state(model), before)


@pytest.mark.parametrize("Model", MODELS)
def test_labels_that_numpy_would_take_for_one_are_refused(Model):
    """An array of numpy strings drops trailing NULs: "a\\0" would become the class "a"."""
    with pytest.raises(DataError, match="NUL"):
        Model().fit(X, ["a", "a\0", "b", "b"])
    model = Model().fit(X, ["a", "a\0b", "b", "b"])
    assert model.classes_.tolist() == ["a", "a\0b", "b"]
    if Model is not TinyKNN:
        before = state(model)
        for call in (
            lambda: model.observe(X[0], "a\0"),
            lambda: model.run(X, ["a\0", None, "a", "b"]),
            lambda: model.run(X, np.array(["a\0", "a", "a", "b"], object)),
        ):
            with pytest.raises(DataError, match="NUL"):
                call()
        assert_same(state(model), before)


STRANGE = [
    10**400, -(10**400), 10**5000, 2**70, np.inf, -np.inf, np.nan, np.int64(5), np.uint8(3), np.float32(0.5),
    np.float64(np.inf), True, np.bool_(True), np.array([1, 2]), np.array(3), "\ud800", None, 1j, b"3",
]  # fmt: skip
NUMERIC = [
    (Model, name)
    for Model in (*MODELS, StaticKNN, SAMKNN, NNFC1)
    for name in Model().get_params()
    if name not in ("weights", "condense", "detector", "exact")
]


@pytest.mark.parametrize("Model, name", NUMERIC, ids=lambda part: getattr(part, "__name__", part))
def test_any_value_of_a_number_works_or_is_named(Model, name):
    y = np.arange(40) % 2
    features = np.random.default_rng(0).normal(size=(40, 2)) + y[:, None]
    outcomes = set()
    for value in STRANGE:
        try:
            model = Model(**{name: value}).fit(features[:20], y[:20])
            assert len(model.predict(features)) == 40
            if Model is not TinyKNN:
                assert len(model.run(features[20:], y[20:])) == 20
            outcomes.add("works")
        except ConfigError as error:
            assert name in str(error) and len(str(error)) < 300 and str(error).encode()
            outcomes.add("named")
    assert "named" in outcomes or name == "random_state"


@pytest.mark.parametrize("Model", [ActiveTinyKNN, HybridTinyKNN, GeneralizedCusum])
def test_a_threshold_beyond_all_floats_is_named(Model):
    with pytest.raises(ConfigError, match=r"threshold=1000.* is too large"):
        model = Model(threshold=10**400)
        model.fit(X, Y)


@pytest.mark.parametrize("name", ["threshold", "batch", "warmup", "spacing", "gap", "margin"])
def test_any_number_of_the_test_works_or_is_named(name):
    for value in STRANGE:
        try:
            GeneralizedCusum(**{name: value}).update(True)
        except ConfigError as error:
            assert name in str(error) and str(error).encode()


@pytest.mark.parametrize("name", ["batch", "warmup", "horizon", "false_alarm_rate", "margin", "accuracy"])
def test_any_number_of_a_calibration_works_or_is_named(name):
    for value in STRANGE:
        try:
            assert calibrate_threshold(**{"accuracy": 0.9, "horizon": 100, name: value}) >= 0
        except ConfigError as error:
            assert name in str(error) and str(error).encode()


BAD_SETTINGS = [
    (TinyKNN, {"k": 0}, "k=0"),
    (TinyKNN, {"k": -3}, "k=-3"),
    (TinyKNN, {"k": 2.5}, "k=2.5"),
    (TinyKNN, {"k": True}, "k=True"),
    (TinyKNN, {"k": "log"}, "k='log' must be 'sqrt' or"),
    (TinyKNN, {"weights": "gauss"}, "weights='gauss'"),
    (TinyKNN, {"max_size": 0}, "max_size=0"),
    (CondensingInTime, {"max_size": -1}, "max_size=-1"),
    (CondensingInTime, {"max_size": 10.0}, "max_size"),
    (CondensingInTime, {"add_probability": 1.5}, "add_probability=1.5"),
    (CondensingInTime, {"add_probability": float("nan")}, "add_probability=nan"),
    (CondensingInTime, {"add_probability": "often"}, "adaptive"),
    (CondensingInTime, {"random_state": -1}, "random_state=-1"),
    (CondensingInTime, {"random_state": None}, "random_state=None"),
    (HybridTinyKNN, {"max_size": 0}, "max_size=0"),
    (HybridTinyKNN, {"threshold": -1.0}, "threshold=-1"),
    (HybridTinyKNN, {"threshold": float("nan")}, "threshold=nan"),
    (HybridTinyKNN, {"threshold": "high"}, "threshold='high'"),
    (HybridTinyKNN, {"batch": 0}, "batch=0"),
    (HybridTinyKNN, {"warmup": 0}, "warmup=0"),
    (ActiveTinyKNN, {"window": 0}, "window=0"),
    (ActiveTinyKNN, {"threshold": float("nan")}, "threshold=nan"),
    (ActiveTinyKNN, {"detector": "cusum"}, "detector='cusum'"),
]


@pytest.mark.parametrize("Model, settings, words", BAD_SETTINGS)
def test_bad_settings_are_named(Model, settings, words):
    model = Model().fit(X, Y)
    before = state(model)
    with pytest.raises(ConfigError, match=words):
        model.set_params(**settings).fit(X, Y)
    after = state(model)
    for name in settings:
        after[name] = before[name]
    assert_same(after, before)


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"threshold": -0.1}, "threshold"),
        ({"threshold": float("nan")}, "threshold"),
        ({"batch": 0}, "batch"),
        ({"warmup": -5}, "warmup"),
        ({"direction": "up"}, "direction"),
        ({"likelihood": "beta"}, "likelihood"),
        ({"spacing": 0.0}, "spacing"),
        ({"gap": -1.0}, "gap"),
    ],
)
def test_bad_cusum_settings(settings, words):
    with pytest.raises(ConfigError, match=words):
        GeneralizedCusum(**settings)


@pytest.mark.parametrize("Model", MODELS)
def test_one_sample_and_one_class(Model):
    assert Model().fit([[1.0, 2.0]], ["a"]).predict([[0.0, 0.0]]).tolist() == ["a"]
    assert Model().fit(X, [7, 7, 7, 7]).predict(X).tolist() == [7] * 4


@pytest.mark.parametrize("Model", [one for one in MODELS if "k" in one().get_params()])
def test_k_beyond_T(Model):
    assert Model(k=50).fit(X, [7, 7, 7, 7]).predict(X).tolist() == [7] * 4
    assert len(Model(k=50).fit(X, Y).predict_proba(X)) == 4
    assert len(Model(k=2**70).fit(X, Y).predict_proba(X)) == 4


@pytest.mark.parametrize("Learner", LEARNERS)
def test_before_fit(Learner):
    for call in (
        lambda m: m.run(X, Y),
        lambda m: m.observe(X[0]),
        lambda m: m.predict(X),
        len,
        lambda m: m.memory_bytes(),
        lambda m: m.statistic_,
    ):
        with pytest.raises(ConfigError, match="not fitted"):
            call(Learner())


def test_size_one():
    rng = np.random.default_rng(0)
    stream = rng.normal(size=(300, 2))
    labels = rng.integers(0, 2, 300)
    for model in (
        CondensingInTime(max_size=1),
        HybridTinyKNN(max_size=1),
        ActiveTinyKNN(window=1),
        IncrementalKNN(max_size=1),
    ):
        trace = model.fit(X, Y).run(stream, labels)
        assert trace.sizes.min() >= 1 and trace.sizes.max() <= 4
        assert len(trace.predictions) == 300


def test_a_bound_beyond_64_bits_is_none():
    for model in (CondensingInTime(max_size=2**70), HybridTinyKNN(max_size=2**70), ActiveTinyKNN(window=2**70)):
        assert len(model.fit(X, Y).run(X, Y)) == 4


def test_unsigned_labels_do_not_make_fractions_of_ints():
    model = CondensingInTime().fit(X, Y)
    model.run(X, np.array([0, 0, 2, 3], np.uint64))
    assert model.classes_.tolist() == [0, 1, 2, 3] and model.classes_.dtype.kind == "i"


def test_observe_takes_exactly_one():
    model = CondensingInTime().fit(X, Y)
    assert model.observe([0.0, 0.0], 0) == model.observe([[0.0, 0.0]], 0) == 0
    with pytest.raises(DataError, match="one sample"):
        model.observe(X, Y)


def test_callers_arrays_are_not_changed_or_kept():
    mine, labels = X.astype(np.float32), Y.copy()
    model = IncrementalKNN().fit(mine, labels)
    model.run(mine, labels)
    kept = model.samples_
    mine[:] = 99.0
    np.testing.assert_array_equal(model.samples_, kept)
    assert mine.flags.writeable
