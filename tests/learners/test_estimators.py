"""scikit-learn's own checks, and the learners inside river's wrapper."""

import numpy as np
import pytest
from river import checks, compat, metrics
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from tmlcd_core import ActiveTinyKNN, CondensingInTime, HybridTinyKNN, Tandem, TinyKNN
from tmlcd_core.learners import NNFC1, SAMKNN, IncrementalKNN, StaticKNN, SupportVectorMachine

ESTIMATORS = [TinyKNN(), CondensingInTime(), ActiveTinyKNN(), HybridTinyKNN(), StaticKNN(), IncrementalKNN()]
ESTIMATORS += [TinyKNN(storage="uint8"), HybridTinyKNN(storage="uint8"), ActiveTinyKNN(storage="int16"), Tandem()]


@parametrize_with_checks(ESTIMATORS)  # all of them pass; none is listed as an exception
def test_scikit_learn_check(estimator, check):
    check(estimator)  # asserts inside


def test_cross_validation(make_stream):
    X, y, _, _ = make_stream(n0=150, separation=2)
    assert cross_val_score(CondensingInTime(), X, y, cv=3, error_score="raise").mean() > 0.7


@pytest.mark.parametrize("Learner", [CondensingInTime, HybridTinyKNN, Tandem])
def test_rivers_wrapper_takes_them_as_they_are(Learner, make_stream):
    _, _, X, y = make_stream(n=300, separation=2)
    model = compat.convert_sklearn_to_river(Learner(), classes=[0, 1, 2])
    accuracy = metrics.Accuracy()
    for x, label in zip(X, y, strict=True):
        sample = dict(enumerate(x.tolist()))
        predicted = model.predict_one(sample)
        if predicted is not None:
            accuracy.update(int(label), predicted)
        model.learn_one(sample, int(label))
    assert accuracy.get() > 0.7
    direct = Learner().fit(X[:1], y[:1])
    direct.run(X[1:], y[1:])
    np.testing.assert_array_equal(model.estimator.times_, direct.times_)


@pytest.mark.parametrize("Learner", [CondensingInTime, HybridTinyKNN, ActiveTinyKNN])
def test_rivers_wrapper_gives_probabilities_to_the_right_classes(Learner):
    """It expects one column for each class announced to it, seen or not."""
    model = compat.convert_sklearn_to_river(Learner(), classes=[False, True])
    model.learn_one({"x": 1.0}, True)
    assert model.predict_proba_one({"x": 2.0}) == {False: 0.0, True: 1.0}


def test_rivers_own_checks():
    """All but those of features that come and go, which its wrapper itself cannot take."""
    for check in checks.yield_checks(compat.convert_sklearn_to_river(HybridTinyKNN(), classes=[False, True])):
        if "emerging" not in check.__name__ and "disappearing" not in check.__name__:
            check(compat.convert_sklearn_to_river(HybridTinyKNN(), classes=[False, True]))


@pytest.mark.parametrize("Learner", [CondensingInTime, NNFC1, SAMKNN, SupportVectorMachine, Tandem])
def test_classes_may_be_told_before_their_samples_come(Learner):
    model = Learner().partial_fit([[0.0], [1.0]], ["b", "d"], classes=["a", "b", "c", "d"])
    assert model.classes_.tolist() == ["a", "b", "c", "d"]
    assert set(model.predict([[0.0], [1.0]])) <= {"b", "d"}
    assert model.partial_fit([[0.5]], ["c"]).classes_.tolist() == ["a", "b", "c", "d"]
