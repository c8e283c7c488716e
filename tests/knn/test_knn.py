"""TinyKNN against scikit-learn's brute force and `tmlcd_core.reference`; ties and zero distances."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsClassifier

from tmlcd_core import TinyKNN, reference
from tmlcd_core.learners import StaticKNN


def reference_knn(X, y, k=None, by_distance=False):
    return reference.KNN([reference.Sample(x, label, 0) for x, label in zip(X, y, strict=True)], k, by_distance)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("k", [1, 4, 15, "sqrt"])
@pytest.mark.parametrize("d", [3, 64, 715])
def test_equals_scikit_learn(make_stream, k, weights, d):
    X0, y0, X, _ = make_stream(n0=300, n=500, d=d, classes=5, separation=1.5 / d**0.5)
    model = TinyKNN(k=k, weights=weights).fit(X0, y0)
    oracle = KNeighborsClassifier(18 if k == "sqrt" else k, weights=weights, algorithm="brute").fit(X0, y0)
    np.testing.assert_array_equal(model.predict(X), oracle.predict(X))
    by_reference = reference_knn(X0, y0, None if k == "sqrt" else k, weights == "distance")
    assert [by_reference(x) for x in X[:100]] == oracle.predict(X[:100]).tolist()
    np.testing.assert_allclose(model.predict_proba(X), oracle.predict_proba(X), atol=1e-6)
    distances, positions = oracle.kneighbors(X[:20])
    found = model.neighbours(X[:20])
    np.testing.assert_array_equal(found.positions, positions)
    np.testing.assert_allclose(found.distances, distances, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(found.labels, y0[positions])
    assert (found.times == 0).all()


@pytest.mark.parametrize("offset, scale", [(0, 1e-22), (0, 1e-20), (1e4, 1.0), (1e6, 3.0), (0, 1e18), (-1e30, 1e29)])
def test_is_exact_where_float32_products_are_not(offset, scale):
    """Far from the origin, near overflow or underflow, float32 is useless; the true distances still decide."""
    rng = np.random.default_rng(1)
    X = (offset + scale * rng.normal(size=(400, 10))).astype(np.float32)
    y = rng.integers(0, 3, 400)
    model = StaticKNN(k=7).fit(X[:200], y[:200])
    knn = reference_knn(X[:200], y[:200], k=7)
    expected = [knn(x) for x in X[200:]]
    np.testing.assert_array_equal(model.predict(X[200:]), expected)
    assert [model.observe(x) for x in X[200:]] == expected


def test_equally_distant_samples_go_by_age_and_tied_votes_to_the_smallest_label():
    X = np.array([[1.0], [1.0], [-1.0], [-1.0]])
    assert TinyKNN(k=1).fit(X, [2, 0, 1, 0]).predict([[0.0]]) == [2]
    assert TinyKNN(k=3).fit(X, [2, 1, 0, 0]).predict([[0.0]]) == [0]
    assert TinyKNN(k=2).fit(X, ["b", "a", "b", "b"]).predict([[0.0]]) == ["a"]


@settings(max_examples=60)
@given(st.data())
def test_integer_features_with_many_exact_ties(data):
    """On a small lattice nearly all distances tie: the stable order of exact distances is the definition."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    n, k = data.draw(st.integers(1, 40)), data.draw(st.integers(1, 50))
    X0, X = rng.integers(0, 3, (n, 2)), rng.integers(0, 3, (15, 2))
    y = rng.integers(0, 3, n)
    for weights in ("uniform", "distance"):
        knn = reference_knn(X0, y, k, weights == "distance")
        assert TinyKNN(k=k, weights=weights).fit(X0, y).predict(X).tolist() == [knn(x) for x in X]


def test_stored_sample_at_distance_zero_decides_alone():
    X = np.array([[0.0], [0.1], [0.2], [0.3]])
    model = TinyKNN(k=4, weights="distance").fit(X, ["a", "b", "b", "b"])
    assert model.predict([[0.0]]) == ["a"]
    assert model.predict_proba([[0.0]]).tolist() == [[1.0, 0.0]]
    assert model.predict([[0.05]]) == ["b"]


def test_duplicates_with_different_labels():
    X = np.ones((6, 3))
    assert TinyKNN(k=6, weights="distance").fit(X, [0, 0, 1, 1, 1, 0]).predict([[1.0, 1, 1]]) == [0]
    assert TinyKNN(k=3).fit(X, [0, 1, 1, 0, 0, 0]).predict([[1.0, 1, 1]]) == [1]


def test_max_size_keeps_the_newest():
    model = TinyKNN(max_size=2).fit([[0.0], [1.0], [2.0]], ["a", "b", "c"])
    assert model.labels_.tolist() == ["b", "c"]
    assert model.memory_bytes() == 2 * (1 + 2) * 4


def test_memory_is_the_papers_table():
    """Table 2: |T| = 50 samples of 715 features are 143,400 bytes, of 153 features 31,000."""
    rng = np.random.default_rng(0)
    for d, size in ((715, 143_400), (153, 31_000)):
        assert TinyKNN().fit(rng.normal(size=(50, d)), np.arange(50) % 2).memory_bytes() == size
