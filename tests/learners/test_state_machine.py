"""Invariants of learners after fit, learn, predict and alarms in any order."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tmlcd_core import ActiveTinyKNN, CondensingInTime, HybridTinyKNN


class OnDemand:
    """Detector whose alarms and change points are set by the test."""

    def __init__(self):
        self.statistic, self.change_time, self.pending = 0.0, 0, None

    def update(self, correct, time):
        if self.pending is None:
            return False
        self.change_time, self.pending = max(time - self.pending, 0), None
        return True


class AnyOrder(RuleBasedStateMachine):
    D = 3

    @initialize(
        kind=st.sampled_from(["cit", "active", "hybrid"]),
        size=st.one_of(st.none(), st.integers(1, 30)),
        condense=st.booleans(),
        n=st.integers(1, 25),
        seed=st.integers(0, 1000),
        probability=st.sampled_from([1.0, 0.4, "adaptive"]),
    )
    def begin(self, kind, size, condense, n, seed, probability):
        self.rng = np.random.default_rng(seed)
        self.kind, self.size = kind, size
        if kind == "cit":
            self.model = CondensingInTime(size, probability, condense=condense)
        elif kind == "active":
            self.model = ActiveTinyKNN(window=size or 20, condense=condense, detector=OnDemand())
        else:
            self.model = HybridTinyKNN(size, condense=condense, add_probability=probability, detector=OnDemand())
        self.first = n
        self.clock = 0
        self.fit(n)

    def draw(self, n):
        y = self.rng.integers(0, 3, n)
        return self.rng.normal(size=(n, self.D)) + y[:, None], y

    @rule(n=st.integers(1, 25))
    def fit(self, n):
        self.model.fit(*self.draw(n))
        self.first, self.clock = n, 0

    @rule(n=st.integers(1, 40), unlabelled=st.booleans())
    def run(self, n, unlabelled):
        X, y = self.draw(n)
        trace = self.model.run(X, None if unlabelled else y)
        self.clock += n
        assert (trace.change_points <= trace.detections).all()
        assert trace.sizes[-1] == len(self.model)

    @rule(labelled=st.booleans())
    def observe(self, labelled):
        X, y = self.draw(1)
        expected = self.model.predict(X)[0]
        assert self.model.observe(X[0], y[0] if labelled else None) == expected
        self.clock += 1

    @precondition(lambda self: self.kind != "cit")
    @rule(back=st.integers(0, 60), at_once=st.booleans())
    def alarm(self, back, at_once):
        self.model.detector_.pending = back
        X, y = self.draw(1)
        before = len(self.model)
        if at_once:
            trace = self.model.run(X, y)
            assert trace.detections.tolist() == [0]
        else:
            self.model.observe(X[0], y[0])
        self.clock += 1
        alarm = self.model.alarm_
        assert alarm.time == self.clock
        assert alarm.change_time <= alarm.time
        assert (self.model.times_ >= alarm.change_time).all() or len(self.model) >= min(before, self.size or before)

    @rule()
    def predict(self):
        X, _ = self.draw(4)
        proba = self.model.predict_proba(X)
        np.testing.assert_allclose(proba.sum(axis=1), 1)
        np.testing.assert_array_equal(self.model.classes_[proba.argmax(axis=1)], self.model.predict(X))

    @invariant()
    def bounds_bytes_and_times(self):
        model = self.model
        assert len(model) >= 1
        if self.kind == "active":
            assert len(model) <= max(self.first, self.size or 20)
        elif self.size is not None:
            assert len(model) <= self.size
        window = model.window_bytes()
        assert model.memory_bytes() == len(model) * (self.D + 2) * 4 + window
        assert window <= (self.size or 20) * (self.D + 2) * 4
        assert model.time_ == self.clock
        times = model.times_
        assert (np.diff(times) >= 0).all()
        assert times.max() <= self.clock
        assert len(model.labels_) == len(model.samples_) == len(times)
        assert set(model.labels_) <= set(model.classes_)


AnyOrder.TestCase.settings = settings(max_examples=60, stateful_step_count=25)
TestAnyOrder = AnyOrder.TestCase
