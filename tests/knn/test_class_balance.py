"""A bounded start keeps every class, and classes in turns keep it for longer."""

from collections import Counter

import numpy as np
import pytest

from tmlcd_core import ActiveTinyKNN, CondensingInTime, HybridTinyKNN, TinyKNN
from tmlcd_core.knn.class_balance import cut_evenly, in_turns
from tmlcd_core.learners.baselines import IncrementalKNN


def random_labels(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.choice(rng.integers(1, 6), rng.integers(1, 40))


def cut_one_by_one(labels: list, size: int) -> list[int]:
    """The even cut by another algorithm: the largest class loses its oldest sample; if tied, the older one."""
    if size < len(set(labels)):
        return list(range(len(labels)))[-size:]
    left = list(range(len(labels)))
    while len(left) > size:
        counts = Counter(labels[i] for i in left)
        left.remove(next(i for i in left if counts[labels[i]] == max(counts.values())))
    return left


@pytest.mark.parametrize("seed", range(30))
def test_the_largest_class_gives_its_oldest_sample(seed):
    labels = random_labels(seed).tolist()
    for size in range(1, len(labels) + 3):
        assert cut_evenly(labels, size).tolist() == cut_one_by_one(labels, size)


@pytest.mark.parametrize("seed", range(30))
def test_classes_in_turns_are_cut_evenly_by_dropping_the_oldest(seed):
    labels = random_labels(seed)
    order = in_turns(labels)
    assert sorted(order.tolist()) == list(range(len(labels)))
    for label in np.unique(labels):
        own = order[labels[order] == label]
        assert own.tolist() == sorted(own.tolist()), "a class keeps its order"
    turned = labels[order]
    for size in range(1, len(labels) + 1):
        assert cut_evenly(turned, size).tolist() == list(range(len(labels) - size, len(labels)))


def test_classes_of_equal_size_come_one_after_the_other():
    labels = np.repeat(["yes", "no", "up"], 3)
    assert labels[in_turns(labels)].tolist() == ["yes", "no", "up"] * 3


# -- the learners ----------------------------------------------------------------------------------------------------


def class_by_class(n: int = 100, classes: int = 4, d: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Overlapping classes, one after the other, as a folder of clips is read."""
    y = np.repeat(np.arange(classes), n)
    X = np.random.default_rng(0).normal(size=(len(y), d)) + 0.4 * y[:, None]
    return X.astype(np.float32), y


BOUNDED = {
    "tiny": lambda size: TinyKNN(condense=True, max_size=size),
    "tiny, not condensed": lambda size: TinyKNN(max_size=size),
    "cit": lambda size: CondensingInTime(max_size=size),
    "hybrid": lambda size: HybridTinyKNN(max_size=size),
    "hybrid, not condensed": lambda size: HybridTinyKNN(max_size=size, condense=False),
}


@pytest.mark.parametrize("name", BOUNDED)
def test_a_start_beyond_the_bound_keeps_every_class(name):
    X, y = class_by_class()
    unbounded = BOUNDED[name](None).fit(X, y)
    assert len(unbounded) > 50
    for size in (4, 10, 50):
        model = BOUNDED[name](size).fit(X, y)
        keep = cut_one_by_one(unbounded.labels_.tolist(), size)
        np.testing.assert_array_equal(model.samples_, unbounded.samples_[keep])
        np.testing.assert_array_equal(model.labels_, unbounded.labels_[keep])
        assert max(Counter(model.labels_).values()) - min(Counter(model.labels_).values()) <= 1
        assert set(model.labels_) == set(y)
        assert not model.times_.any()


@pytest.mark.parametrize("name", BOUNDED)
def test_a_bound_below_the_number_of_classes_keeps_the_newest(name):
    X, y = class_by_class()
    unbounded = BOUNDED[name](None).fit(X, y)
    np.testing.assert_array_equal(BOUNDED[name](3).fit(X, y).samples_, unbounded.samples_[-3:])


@pytest.mark.parametrize("name", BOUNDED)
def test_a_start_within_the_bound_is_as_without_one(name):
    X, y = class_by_class()
    free = BOUNDED[name](None).fit(X, y)
    exact = BOUNDED[name](len(free)).fit(X, y)
    np.testing.assert_array_equal(exact.samples_, free.samples_)
    np.testing.assert_array_equal(exact.labels_, free.labels_)


def test_a_sliding_window_stays_a_window():
    X, y = class_by_class()
    model = IncrementalKNN(max_size=50).fit(X, y)
    np.testing.assert_array_equal(model.samples_, X[-50:])
    assert set(model.labels_) == {3}


def test_actives_start_is_not_bounded_by_its_window():
    """T changes at alarms only: nothing is evicted, so no class is."""
    X, y = class_by_class()
    model = ActiveTinyKNN(window=10).fit(X, y)
    assert len(model) > 10
    assert set(model.labels_) == set(y)


def test_in_turns_every_class_survives_thirty_errors():
    X, y = class_by_class()
    rows = in_turns(y)
    for wrong in range(4):  # all errors of one class: the worst case for the others
        model = HybridTinyKNN(max_size=50, warmup=1000).fit(X[rows], y[rows])
        errors = 0
        for x in np.random.default_rng(1).normal(size=(500, 5)) * 3:
            errors += model.observe(x, wrong) != wrong
            if errors == 30:
                break
        assert errors == 30
        assert set(model.labels_) == set(y)
