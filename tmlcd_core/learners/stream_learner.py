"""Base class of the kNN learners: test-then-train over a stream, with an optional change detector."""

from __future__ import annotations

import copy
import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.detectors.cusum import GeneralizedCusum
from tmlcd_core.detectors.detector import ChangeDetector
from tmlcd_core.errors import ConfigError
from tmlcd_core.knn.condensing import condense_codes
from tmlcd_core.knn.distances import BLOCK, distance_cache
from tmlcd_core.knn.storage import FEWEST_SAMPLES, quantise
from tmlcd_core.knn.store import Store
from tmlcd_core.knn.stream_pass import Queue, StreamPass, UpdateRule, learn, observe
from tmlcd_core.knn.tiny_knn import TinyKNN
from tmlcd_core.learners.membership import membership
from tmlcd_core.learners.trace import Alarm, Memory, Trace
from tmlcd_core.progress import report_step
from tmlcd_core.validation import shown, whole_number


class StreamLearner(TinyKNN):
    """TinyKNN that learns from a stream and, with a detector, forgets old samples after a change.

    A subclass defines in `_rule` which samples are added to T, in `_new_detector` the change detector, and in
    `_window_size` the size of the history window W. With W, an alarm rebuilds T from it; without W, an alarm removes
    from T the samples older than the change.
    """

    def _new_detector(self) -> ChangeDetector | None:
        return None

    def _window_size(self, rule: UpdateRule) -> int:
        return 0

    def _start(self, store: Store, classes: NDArray, rule: UpdateRule) -> None:
        window = self._window_size(rule)
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
        """Test-then-train over a stream, features (n, d) and labels (n,), continuing after the last `run` or `observe`.

        Samples whose label is None or NaN are only predicted. If an exception is raised, the model is not changed.
        Returns a `Trace` with one entry per sample.
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
            fresh = self.time_ == 0 and len(self.kept_) == len(T) and not len(W)  # T is that of `fit`
            queues: list[Queue] = []
            statistic, alarms = self._follow(stream_pass, detector, W, len(classes), queues)
            T, W = stream_pass.store(), _last(stream_pass, W, len(X), self._W_size)
        if classes is not self.classes_:
            self._know(classes)
        self._T, self._W, self._rates, self.detector_ = T, W, rates, detector
        self.time_ += len(X)
        self.alarm_ = alarms[-1] if alarms and alarms[-1].time == self.time_ else None
        times = [a.time - clock for a in alarms]
        return Trace(
            classes[stream_pass.predictions],
            stream_pass.sizes,
            statistic,
            np.array(times, np.int64),
            np.array([a.change_time - clock for a in alarms], np.int64),
            np.array([a.accuracy_after for a in alarms], np.float64),
            self.memory(),
            membership(queues, times, self._settings.max_size, self.kept_, classes, len(X)) if fresh else None,
        )

    def _follow(
        self,
        stream_pass: StreamPass,
        detector: ChangeDetector | None,
        W: Store,
        n_classes: int,
        queues: list[Queue],
    ) -> tuple[NDArray[np.float64], list[Alarm]]:
        """Process the stream block by block, then update the detector; at an alarm, redo the block up to the alarm.

        Appends T up to each alarm, and up to the end, to `queues`.
        """
        n = len(stream_pass.X)
        statistic = np.full(n, math.nan)
        alarms: list[Alarm] = []
        start = 0
        while start < n:
            report_step(start, n, "samples")
            stop = min(start - start % BLOCK + BLOCK, n)
            before = stream_pass.head, stream_pass.tail, stream_pass.rates.copy()
            stream_pass.advance(start, stop)
            if detector is None:
                start = stop
                continue
            said, truth = stream_pass.predictions[start:stop], stream_pass.truth[start:stop]
            values, alarm = watch(detector, said == truth, truth >= 0, stream_pass.clock + start)
            end = start + len(values)
            statistic[start:end] = values
            if alarm and end < stop:
                stream_pass.head, stream_pass.tail, stream_pass.rates[:] = before
                stream_pass.advance(start, end)
            start = end
            if not alarm:
                continue
            queues.append(stream_pass.queue())
            alarms.append(self._adapt(stream_pass, detector, W, start, n_classes))
        queues.append(stream_pass.queue())
        return statistic, alarms

    def _adapt(self, stream_pass: StreamPass, detector: ChangeDetector, W: Store, seen: int, n_classes: int) -> Alarm:
        """Replace T in the stream pass after an alarm raised by sample seen - 1."""
        before = stream_pass.store()
        T = self._after_alarm(before, _last(stream_pass, W, seen, self._W_size), detector.change_time, n_classes)
        stream_pass.become(_ids_of(stream_pass, T), T.codes, T.times)
        stream_pass.sizes[seen - 1] = len(T)
        return alarm_of(detector, stream_pass.clock + seen - 1, len(before) - len(T))

    def _after_alarm(self, T: Store, W: Store, change_time: int, n_classes: int) -> Store:
        """The new T: the samples of W since the change, condensed; without a window, the samples of T since then."""
        recent = (W if self._W_size else T).since(change_time)
        if len(recent) < FEWEST_SAMPLES:
            return T
        if not (self._W_size and self.condense):
            return recent
        return recent.take(condense_codes(recent.x, recent.codes, self._settings, n_classes))

    # -- one sample --------------------------------------------------------------------------------------------------

    def observe(self, x: Any, y: Any = None) -> Any:
        """Return the label predicted for x, shape (d,) or (1, d); then learn (x, y) unless y is None.

        An invalid sample changes nothing. Unlike `run`, this method copies no state: if your own detector raises an
        exception, T has already learned the sample.
        """
        X = self._row(x)
        code = self._code(y)
        self.time_ += 1
        self.alarm_ = None
        predicted = observe(X, code, self.time_, self._T, self._settings, self._rates, len(self.classes_))
        if code >= 0:
            self._watch_one(X, code, predicted, self.time_)
        return self.classes_[predicted]

    def learn_late(self, x: Any, y: Any, predicted: Any, delay: int) -> None:
        """Learn a sample whose label comes `delay` samples late: x, shape (d,), label y, and the label predicted then.

        The passive update and the detector judge the earlier prediction. The sample keeps its own time, so that an
        alarm, which is raised now, estimates the change point on the time axis of the samples.
        """
        X, code, said = self._row(x), self._code(y), self._code(predicted)
        time = self.time_ - whole_number("delay", delay, 0)
        self.alarm_ = None
        learn(X, code, said, time, self._T, self._settings, self._rates)
        self._watch_one(X, code, said, time)

    def _watch_one(self, X: NDArray[np.float32], code: int, predicted: int, time: int) -> None:
        """Add a labelled sample to W and to the detector; after an alarm, replace T."""
        if self._W_size:
            self._W.append(X[0], code, time)
            self._W.limit(self._W_size)
        detector = self.detector_
        if detector is not None and detector.update(predicted == code, time):
            size = len(self._T)
            self._T = self._after_alarm(self._T, self._W, detector.change_time, len(self.classes_))
            self.alarm_ = alarm_of(detector, self.time_, size - len(self._T))

    def take_in(self, X: Any, y: Any) -> Self:
        """Add labelled samples, features (n, d) and labels (n,), to T and W at the current time, without testing them.

        Returns the learner.
        """
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
        self.kept_ = self.kept_[:0]
        return self

    def widen(self, n_features: int) -> Self:
        """Increase the number of features to `n_features`, 0 in all stored samples; return the learner."""
        self._require_fitted()
        n_features = whole_number("n_features", n_features, self.n_features_in_)
        rule = self._within_bytes(self._settings, n_features)
        zero = float(quantise(np.zeros(1, np.float32), self._storage, *self.grid_)[0])
        self._T, self._W = self._T.widened(n_features, zero), self._W.widened(n_features, zero)
        self.n_features_in_, self._settings = n_features, rule
        self._W_size = self._W_size and self._window_size(rule)
        self._T.limit(rule.max_size)
        self._W.limit(self._W_size)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Call `fit` the first time, then `run`; return self. `classes` of the first call may have no samples yet."""
        if not self.__sklearn_is_fitted__():
            return self.fit(X, y)._expect(classes)
        self._encode(y, len(self._rows(X)))  # unlike in `run`, every sample needs a label
        self.run(X, y)
        return self

    # -- state -------------------------------------------------------------------------------------------------------

    @property
    def statistic_(self) -> float:
        """Current statistic g_t; nan during the warm-up or without a detector."""
        self._require_fitted()
        return math.nan if self.detector_ is None else self.detector_.statistic

    def memory(self) -> Memory:
        """Return the bytes of a sample and the largest |W|, from which the memory over time follows."""
        return Memory(self.sample_bytes_, self._W_size)

    def window_bytes(self) -> int:
        """Return the current size of the history window W on the device in bytes; 0 without a window."""
        self._require_fitted()
        return len(self._W) * self.sample_bytes_

    def memory_bytes(self) -> int:
        """Return the size of T and W on the device in bytes: `sample_bytes_` for each sample."""
        return super().memory_bytes() + self.window_bytes()


def checked_detector(detector: Any) -> ChangeDetector:
    """Return a copy of the user's detector; a ConfigError if it is not a `ChangeDetector`."""
    if not isinstance(detector, ChangeDetector):
        raise ConfigError(
            f"detector={shown(detector)} needs update(correct, time), statistic and change_time: "
            "wrap a river detector in RiverDetector"
        )
    return copy.deepcopy(detector)


def watch(
    detector: ChangeDetector, correct: NDArray[np.bool_], labelled: NDArray[np.bool_], clock: int
) -> tuple[NDArray[np.float64], bool]:
    """Update a detector with consecutive predictions up to its first alarm.

    Parameters
    ----------
    correct, labelled
        Whether each prediction was right, and whether its label is known, shape (n,).
    clock
        Time of the first sample.

    Returns
    -------
    The statistic after each sample, float64 (m,) with m <= n, and whether the last of them raised an alarm.
    """
    if type(detector).update is GeneralizedCusum.update:
        known, before = np.flatnonzero(labelled), detector.statistic
        values, alarm = detector.update_until_alarm(correct[known], known + clock)  # type: ignore[attr-defined]
        if len(known) == len(labelled):
            return values, alarm
        stop = known[len(values) - 1] + 1 if alarm else len(labelled)
        return np.r_[before, values][np.cumsum(labelled[:stop])], alarm
    statistic, alarm = [], False
    for time, (hit, is_known) in enumerate(zip(correct.tolist(), labelled.tolist(), strict=True), clock):
        alarm = is_known and detector.update(hit, time)
        statistic.append(detector.statistic)
        if alarm:
            break
    return np.array(statistic, np.float64), alarm


def alarm_of(detector: ChangeDetector, time: int, forgotten: int) -> Alarm:
    """Return the alarm that the detector has raised at `time`, with the number of samples removed from T."""
    return Alarm(time, int(detector.change_time), float(getattr(detector, "accuracy_after", math.nan)), forgotten)


def _last(stream_pass: StreamPass, W: Store, seen: int, size: int) -> Store:
    """The history window after `seen` samples of the pass: the newest supervised samples, preceded by those of W."""
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
    """Ids of stored samples: by time for samples of this stream, by `admit` for older ones."""
    own = samples.times >= stream_pass.clock
    ids = np.empty(len(samples), np.int32)
    ids[own] = samples.times[own] - stream_pass.clock
    ids[~own] = stream_pass.distances.admit(samples.x[~own])
    return ids
