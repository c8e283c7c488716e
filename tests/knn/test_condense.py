"""Hart's condensing against `tmlcd_core.reference`, and the property that defines it."""

from functools import partial

import numpy as np
import pytest

from tmlcd_core import TinyKNN, condense, reference


def kept_by_reference(X, y, k="sqrt", weights="uniform"):
    knn = partial(reference.KNN, k=None if k == "sqrt" else k, by_distance=weights == "distance")
    samples = [reference.Sample(x, label, i) for i, (x, label) in enumerate(zip(X, y, strict=True))]
    return [sample.t for sample in reference.condense(samples, knn)]


@pytest.mark.parametrize("k, weights", [(1, "uniform"), (3, "uniform"), ("sqrt", "uniform"), (5, "distance")])
@pytest.mark.parametrize("classes", [2, 5])
def test_equals_the_reference(make_stream, k, weights, classes):
    X, y, _, _ = make_stream(n0=250, classes=classes, d=20, separation=0.5, seed=classes)
    kept = condense(X, y, k=k, weights=weights)
    np.testing.assert_array_equal(kept, kept_by_reference(X, y, k, weights))
    assert 0 < len(kept) < len(X)


@pytest.mark.parametrize("seed", range(5))
def test_one_neighbour_classifies_the_whole_training_set(make_stream, seed):
    X, y, _, _ = make_stream(n0=400, classes=6, d=4, separation=0.8, seed=seed)
    kept = condense(X, y, k=1)
    assert TinyKNN(k=1).fit(X[kept], y[kept]).score(X, y) == 1.0


def test_what_is_left_out_is_classified_correctly_with_any_k(make_stream):
    """The loop ends when a pass adds nothing: the samples outside H are all right."""
    X, y, _, _ = make_stream(n0=300, classes=3, d=4, separation=0.8)
    kept = condense(X, y)
    rest = np.setdiff1d(np.arange(len(X)), kept)
    np.testing.assert_array_equal(TinyKNN().fit(X[kept], y[kept]).predict(X[rest]), y[rest])


def test_order_of_presentation_is_the_order_given(make_stream):
    X, y, _, _ = make_stream(n0=200)
    assert condense(X, y)[0] == 0
    order = np.random.default_rng(0).permutation(200)
    assert set(order[condense(X[order], y[order])]) != set(condense(X, y))


def test_small_sets():
    assert condense([[1.0, 2.0]], [3]).tolist() == [0]
    assert condense([[1.0], [2.0], [3.0]], ["a", "a", "a"]).tolist() == [0]
    assert condense([[1.0], [1.0]], [0, 1]).tolist() == [0, 1]


@pytest.mark.parametrize("max_size", [5, 10, 50])
def test_the_bound_on_T_applies_after_condensing(max_size):
    """Labels at random: nearly every sample is wrong in every pass, far more often than there is room for."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 5)), rng.integers(0, 6, 200)
    model = TinyKNN(condense=True, max_size=max_size).fit(X, y)
    kept = condense(X, y)
    T = [reference.Sample(X[i], y[i], i) for i in kept]
    expected = [sample.t for sample in reference.cut_evenly(T, max_size)]
    np.testing.assert_array_equal(model.samples_, X[expected].astype(np.float32))


def test_remembers_by_content_and_settings(make_stream):
    X, y, _, _ = make_stream(n0=200, separation=0.6)
    first = condense(X, y)
    first[:] = -1  # what a caller does to the answer is the caller's business
    assert condense(X, y)[0] == 0
    assert not np.array_equal(condense(X, y), condense(X, y, k=1))
    X[:100] += 1  # the same array with other content
    np.testing.assert_array_equal(condense(X, y), kept_by_reference(X, y))
