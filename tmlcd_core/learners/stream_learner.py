"""Test-then-train over a stream: what all learners share."""

from __future__ import annotations

import copy
import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.detectors.detector import FEWEST_SAMPLES, ChangeDetector
from tmlcd_core.errors import ConfigError
from tmlcd_core.knn.condensing import condense_codes
from tmlcd_core.knn.distances import BLOCK, distance_cache
from tmlcd_core.knn.store import Store
from tmlcd_core.knn.stream_pass import StreamPass, UpdateRule, observe
from tmlcd_core.knn.tiny_knn import TinyKNN
from tmlcd_core.learners.trace import Alarm, Trace
from tmlcd_core.validation import shown, whole_number


class StreamLearner(TinyKNN):
    """A TinyKNN that learns from a stream and, with a detector, forgets when the stream changes.

    A subclass says by its `_rule` which samples T takes in, by `_new_detector` what watches the accuracy, and by
    `_window_size` whether a history window W is kept, from which an alarm rebuilds T; without W an alarm drops from T
    what is older than the change.
    """

    def _new_detector(self) -> ChangeDetector | None:
        return None

    def _window_size(self) -> int:
        return 0

    def _start(self, store: Store, classes: NDArray, rule: UpdateRule) -> None:
        window = self._window_size()
        detector = self._new_detector()
        super()._start(store, classes, rule)
        self._W = Store.empty(self.n_features_in_)
        self._W_size = window
        self._rates = np.zeros(3)
        self.detector_ = detector
        self.alarm_: Alarm | None = None  # raised by the last sample

    def _adopt(self, classes: NDArray) -> None:
        self._W.codes = self._recode(self._W.codes, classes)
        super()._adopt(classes)

    # -- a whole stream ----------------------------------------------------------------------------------------------

    def run(self, X: Any, y: Any = None) -> Trace:
        """Predict each sample, then learn from it; goes on where the last `run` or `observe` stopped.

        Labels that are None (or NaN) are missing: such samples are only predicted. If anything goes wrong, the
        model is as it was before.
        """
        X = self._rows(X)
        truth, classes = self._encode(y, len(X), missing=True)
        detector = copy.deepcopy(self.detector_)
        rates = self._rates.copy()
        with distance_cache.of(X) as distances:
            T, W = self._T.copy(), self._W.copy()
            T.codes, W.codes = self._recode(T.codes, classes), self._recode(W.codes, classes)
            clock = self.time_ + 1
            stream_pass = StreamPass(X, truth, distances, T, self._settings, len(classes), clock, rates)
            statistic, alarms = self._follow(stream_pass, detector, W, len(classes))
            T, W = stream_pass.store(), _last(stream_pass, W, len(X), self._W_size)
        if classes is not self.classes_:
            self._know(classes)
        self._T, self._W, self._rates, self.detector_ = T, W, rates, detector
        self.time_ += len(X)
        self.alarm_ = alarms[-1] if alarms and alarms[-1].time == self.time_ else None
        return Trace(
            classes[stream_pass.predictions],
            stream_pass.sizes,
            statistic,
            np.array([a.time - clock for a in alarms], np.int64),
            np.array([a.change_time - clock for a in alarms], np.int64),
            np.array([a.accuracy_after for a in alarms], np.float64),
        )

    def _follow(
        self, stream_pass: StreamPass, detector: ChangeDetector | None, W: Store, n_classes: int
    ) -> tuple[NDArray[np.float64], list[Alarm]]:
        """Let T run ahead block by block and the detector look at what it did; on an alarm T is taken back to it."""
        n = len(stream_pass.X)
        statistic = np.full(n, math.nan)
        alarms: list[Alarm] = []
        start = 0
        while start < n:
            stop = min(start - start % BLOCK + BLOCK, n)
            before = stream_pass.head, stream_pass.tail, stream_pass.rates.copy()
            stream_pass.advance(start, stop)
            alarm = -1 if detector is None else _watch(detector, stream_pass, start, stop, statistic)
            if detector is None or alarm < 0:
                start = stop
                continue
            if alarm + 1 < stop:
                stream_pass.head, stream_pass.tail, stream_pass.rates[:] = before
                stream_pass.advance(start, alarm + 1)
            start = alarm + 1
            alarms.append(self._adapt(stream_pass, detector, W, start, n_classes))
        return statistic, alarms

    def _adapt(self, stream_pass: StreamPass, detector: ChangeDetector, W: Store, seen: int, n_classes: int) -> Alarm:
        """What an alarm raised by sample seen - 1 does to the stream pass."""
        before = stream_pass.store()
        T = self._after_alarm(before, _last(stream_pass, W, seen, self._W_size), detector.change_time, n_classes)
        stream_pass.become(_ids_of(stream_pass, T), T.codes, T.times)
        stream_pass.sizes[seen - 1] = len(T)
        return _alarm(detector, stream_pass.clock + seen - 1, len(before) - len(T))

    def _after_alarm(self, T: Store, W: Store, change_time: int, n_classes: int) -> Store:
        """What replaces T: the window since the change, condensed, or without a window T since the change."""
        recent = (W if self._W_size else T).since(change_time)
        if len(recent) < FEWEST_SAMPLES:
            return T
        if not (self._W_size and self.condense):
            return recent
        return recent.take(condense_codes(recent.x, recent.codes, self._settings, n_classes))

    # -- one sample --------------------------------------------------------------------------------------------------

    def observe(self, x: Any, y: Any = None) -> Any:
        """The label predicted for x; then learn (x, y), unless y is None.

        What is refused changes nothing. But nothing is copied for each sample, as `run` copies for each stream: if a
        detector of one's own fails, T has learned the sample already.
        """
        X = self._row(x)
        code = self._code(y)
        self.time_ += 1
        self.alarm_ = None
        predicted = observe(X, code, self.time_, self._T, self._settings, self._rates, len(self.classes_))
        if code >= 0:
            if self._W_size:
                self._W.append(X[0], code, self.time_)
                self._W.limit(self._W_size)
            detector = self.detector_
            if detector is not None and detector.update(predicted == code, self.time_):
                size = len(self._T)
                self._T = self._after_alarm(self._T, self._W, detector.change_time, len(self.classes_))
                self.alarm_ = _alarm(detector, self.time_, size - len(self._T))
        return self.classes_[predicted]

    def take_in(self, X: Any, y: Any) -> Self:
        """Store labelled samples in T (and W) as of now, untested: a lesson in the middle of the stream."""
        X = self._rows(X)
        codes, classes = self._encode(y, len(X))
        if classes is not self.classes_:
            self._adopt(classes)
        for row, code in zip(X, codes.tolist(), strict=True):
            self._T.append(row, code, self.time_)
            if self._W_size:
                self._W.append(row, code, self.time_)
        self._T.limit(self._settings.max_size)
        self._W.limit(self._W_size)
        return self

    def widen(self, n_features: int) -> Self:
        """Take samples of `n_features` features from now on; the new features are 0 in all stored samples."""
        self._require_fitted()
        n_features = whole_number("n_features", n_features, self.n_features_in_)
        self._T, self._W = self._T.widened(n_features), self._W.widened(n_features)
        self.n_features_in_ = n_features
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """`fit` the first time, then `run`; `classes` that are given the first time are known even while unseen."""
        if not self.__sklearn_is_fitted__():
            return self.fit(X, y)._expect(classes)
        self._encode(y, len(self._rows(X)))  # here every sample needs a label
        self.run(X, y)
        return self

    # -- to look at --------------------------------------------------------------------------------------------------

    @property
    def statistic_(self) -> float:
        """g_t now; nan while warming up or without a detector."""
        self._require_fitted()
        return math.nan if self.detector_ is None else self.detector_.statistic

    def window_bytes(self) -> int:
        """Bytes on the device of the history window W as filled so far; 0 for a learner without one."""
        self._require_fitted()
        return self._W.nbytes

    def memory_bytes(self) -> int:
        """Bytes on the device of T and W: features, label and timestamp of each sample, 32 bits each."""
        return super().memory_bytes() + self.window_bytes()


def checked_detector(detector: Any) -> ChangeDetector:
    """A copy of the detector that a user gave."""
    if not isinstance(detector, ChangeDetector):
        raise ConfigError(
            f"detector={shown(detector)} needs update(correct, time), statistic and change_time: "
            "wrap one of river's in RiverDetector"
        )
    return copy.deepcopy(detector)


def _watch(
    detector: ChangeDetector, stream_pass: StreamPass, start: int, stop: int, statistic: NDArray[np.float64]
) -> int:
    """Show the detector the labelled samples of [start, stop); the index of the first alarm, or -1."""
    correct = (stream_pass.predictions[start:stop] == stream_pass.truth[start:stop]).tolist()
    labelled = (stream_pass.truth[start:stop] >= 0).tolist()
    update, clock = detector.update, stream_pass.clock
    values = []
    for i, (hit, known) in enumerate(zip(correct, labelled, strict=True), start):
        alarm = known and update(hit, clock + i)
        values.append(detector.statistic)
        if alarm:
            break
    statistic[start : start + len(values)] = values
    return i if alarm else -1


def _alarm(detector: ChangeDetector, time: int, forgotten: int) -> Alarm:
    return Alarm(time, int(detector.change_time), float(getattr(detector, "accuracy_after", math.nan)), forgotten)


def _last(stream_pass: StreamPass, W: Store, seen: int, size: int) -> Store:
    """The history window after `seen` samples of the stream pass: the newest supervised ones, W's before them."""
    if not size:
        return W
    newest = np.flatnonzero(stream_pass.truth[:seen] >= 0)[-size:]
    older = W.head + max(0, len(W) - (size - len(newest)))
    part = slice(older, W.tail)
    return Store(
        np.concatenate([W.x[part], stream_pass.X[newest]]),
        np.concatenate([W.codes[part], stream_pass.truth[newest]]),
        np.concatenate([W.times[part], newest + stream_pass.clock]),
    )


def _ids_of(stream_pass: StreamPass, samples: Store) -> NDArray[np.int32]:
    """Ids of stored samples: the stream pass's own by their time, older ones as foreign vectors."""
    own = samples.times >= stream_pass.clock
    ids = np.empty(len(samples), np.int32)
    ids[own] = samples.times[own] - stream_pass.clock
    ids[~own] = stream_pass.distances.admit(samples.x[~own])
    return ids
