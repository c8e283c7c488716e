"""The SVM is scikit-learn's; and what all comparison learners do with labels, sizes and bad input."""

import copy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.svm import SVC

from tests.conftest import gaussian_stream
from tests.learners.test_bad_input import BAD_DATA, FIT_TAKES
from tmlcd_core.errors import ConfigError, DataError, TmlcdError
from tmlcd_core.learners import NNFC1, SupportVectorMachine

LEARNERS = {"svm": SupportVectorMachine, "nn": NNFC1}
X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [5.0, 5.0]])
Y = np.array([0, 0, 0, 1])


@pytest.mark.parametrize("names", [np.arange(3), np.array([7, -2, 40]), np.array(["yes", "no", "up"])])
def test_equals_scikit_learn(names):
    X0, y0, stream, y = gaussian_stream(change=200)
    oracle = SVC().fit(X0, names[y0])
    model = SupportVectorMachine().fit(X0, names[y0])
    trace = model.run(stream, names[y])
    np.testing.assert_array_equal(trace.predictions, oracle.predict(stream))
    np.testing.assert_array_equal(model.predict(stream), oracle.predict(stream))
    assert set(trace.sizes) == {len(oracle.support_)} == {len(model)}
    numbers = oracle.support_vectors_.size + oracle.dual_coef_.size + oracle.intercept_.size
    assert model.memory_bytes() == 4 * numbers


def test_it_stays_as_it_was():
    """Also where classes come that sort before the known ones."""
    X0, y0, stream, y = gaussian_stream()
    model = SupportVectorMachine().fit(X0, y0)
    before = model.predict(stream)
    trace = model.run(stream, y - 5)
    np.testing.assert_array_equal(trace.predictions, before)
    np.testing.assert_array_equal(model.predict(stream), before)
    assert [model.observe(x, 99) for x in stream[:20]] == before[:20].tolist()


def test_one_class():
    model = SupportVectorMachine().fit(X, ["a"] * 4)
    assert model.run(X, ["a", "b", None, "a"]).predictions.tolist() == ["a"] * 4
    assert len(model) == model.memory_bytes() == 0


@pytest.mark.parametrize("Learner", LEARNERS.values(), ids=LEARNERS)
@pytest.mark.parametrize("case", BAD_DATA)
def test_a_refused_stream_leaves_the_model_as_it_was(Learner, case):
    bad_X, bad_y, words = BAD_DATA[case]
    model = Learner().fit(X, Y)
    model.run(X + 0.5, Y)
    before = copy.deepcopy(vars(model))
    for call in (model.run, model.partial_fit, model.fit):
        if call == model.fit and case in FIT_TAKES:
            continue
        with pytest.raises(TmlcdError, match=words):
            call(bad_X, bad_y)
    if np.shape(bad_y) == (1,):
        with pytest.raises(TmlcdError, match=words):
            model.observe(bad_X[0], bad_y[0])
    after = vars(model)
    assert after.keys() == before.keys()
    for name in set(before) - {"_svc"}:
        np.testing.assert_equal(after[name], before[name], err_msg=name)


@pytest.mark.parametrize("Learner", LEARNERS.values(), ids=LEARNERS)
def test_before_fit_and_the_conventions(Learner):
    calls = (lambda m: m.run(X, Y), lambda m: m.observe(X[0]), lambda m: m.predict(X), len, lambda m: m.memory_bytes())
    for call in calls:
        with pytest.raises(ConfigError, match="not fitted"):
            call(Learner())
    model = Learner().fit(X, Y)
    assert bool(model) and clone(model).get_params() == model.get_params()
    assert 0 <= model.score(X, Y) <= 1
    with pytest.raises(DataError, match="one sample"):
        model.observe(X, Y)
    assert model.observe([5.0, 5.0]) == model.observe([[5.0, 5.0]], 1) == model.predict([[5.0, 5.0]])[0]
    for missing in ([0, None, 1, 1], None):
        with pytest.raises(DataError, match="y"):
            model.partial_fit(X, missing)
        assert len(model.run(X, missing)) == 4
    assert len(Learner().partial_fit(X, Y).predict(X)) == 4
