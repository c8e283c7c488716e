"""Tandem: two linear layers and a ring of byte samples within a fixed number of bytes, mixed by their likelihoods."""

from __future__ import annotations

import copy
import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.detectors.cusum import GeneralizedCusum
from tmlcd_core.detectors.detector import ChangeDetector
from tmlcd_core.errors import ConfigError
from tmlcd_core.knn.storage import sample_bytes
from tmlcd_core.knn.tiny_knn import Neighbours
from tmlcd_core.learners import tandem_kernels as kernels
from tmlcd_core.learners.comparison_learner import ComparisonLearner
from tmlcd_core.learners.stream_learner import alarm_of, checked_detector, watch
from tmlcd_core.learners.trace import Alarm, Memory, Trace
from tmlcd_core.validation import whole_number

FEWEST_ROWS = 16  # so that the smallest window, a sixteenth of the rows, is not empty
LABEL_BYTES = 2  # of a row
LARGEST_BUDGET = 1 << 40  # bytes
MOST_CLASSES = 1 << (8 * LABEL_BYTES)
LAYERS = 2  # F and A, float32
WATCHED = 4096  # samples that the detector takes at once; after an alarm, the rest of them again
SCALAR_BYTES = 4 * (kernels.EXPERTS + 5)  # evidence of the experts, scale (2) and counts (3)


class Tandem(ComparisonLearner):
    """Tandem: two linear layers and a ring of the newest samples share a fixed number of bytes.

    A linear layer F learns by normalised gradient steps; a second layer A is the running average of F. The ring
    stores the newest samples with one byte per feature; the 5 nearest rows among all, in the newest quarter and in
    the newest sixteenth of the ring vote, 1/distance each. A, the vote of all rows and their product are experts;
    so is the product renamed by a confusion matrix of the last samples, which follows a swap of labels within a few
    samples, alone and multiplied by the vote of each smaller window. Each expert is weighted by its likelihood on
    recent labels, discounted by 0.98 per sample: after a drift, the weight moves to the experts that forget faster,
    without a detector. A CUSUM test reports alarms and change points in the trace, but never changes the learner.

    With d features, C classes seen and R rows it needs 4 d + 8 C (d + 1) + 4 C² + R (d + 2) + 44 bytes: mean of the
    initial samples, two layers with biases, confusion matrix, rows with labels, and scalars. R is as large as the
    budget allows. A class that appears later gets its rows of F and A in place of the oldest rows of the ring. Features
    are coded from the lowest (0) to the highest (255) feature of the initial samples; values outside this range are
    clipped in the ring.

    Parameters
    ----------
    max_size
        Budget in samples as the paper counts them, 4 d + 8 bytes each.
    max_bytes
        Budget in bytes; replaces `max_size` unless None.
    threshold, batch, warmup
        h, n and ξ of the CUSUM test, which looks for drops of the accuracy; see `GeneralizedCusum`.
    detector
        `ChangeDetector` to use instead of CUSUM; `threshold`, `batch` and `warmup` are then ignored.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> y = rng.integers(0, 2, 1200)
    >>> X = rng.normal(size=(1200, 8)) + 1.5 * np.where(np.arange(1200) < 700, y, 1 - y)[:, None]  # labels swap at 600
    >>> model = Tandem(max_bytes=2000).fit(X[:100], y[:100])
    >>> trace = model.run(X[100:], y[100:])
    >>> trace.detections.tolist(), trace.change_points.tolist()
    ([649], [600])
    >>> len(model), model.memory_bytes(), round(float(np.mean(trace.predictions[-400:] == y[-400:])), 2)
    (176, 1996, 0.98)
    """

    def __init__(
        self,
        max_size: int | None = 200,
        max_bytes: int | None = None,
        threshold: float = 25.0,
        batch: int = 50,
        warmup: int = 100,
        detector: Any = None,
    ):
        self.max_size = max_size
        self.max_bytes = max_bytes
        self.threshold = threshold
        self.batch = batch
        self.warmup = warmup
        self.detector = detector

    # -- the budget --------------------------------------------------------------------------------------------------

    def _budget(self, n_features: int) -> int:
        if self.max_bytes is not None:
            return whole_number("max_bytes", self.max_bytes, 1, LARGEST_BUDGET)
        if self.max_size is None:
            raise ConfigError("max_size=None and max_bytes=None: Tandem needs a budget; give one of them")
        each = sample_bytes(n_features)
        return each * whole_number("max_size", self.max_size, 1, LARGEST_BUDGET // each)

    def _capacity(self, n_features: int, n_classes: int) -> int:
        """Rows that the budget leaves for the ring; a ConfigError if they are too few."""
        budget = self._budget(n_features)
        rows = (budget - needed_bytes(n_features, n_classes, 0)) // row_bytes(n_features)
        if rows < FEWEST_ROWS:
            least = needed_bytes(n_features, n_classes, FEWEST_ROWS)
            size = -(-least // sample_bytes(n_features))
            given = f"max_size={self.max_size}" if self.max_bytes is None else f"max_bytes={self.max_bytes}"
            raise ConfigError(
                f"{given} is {budget:,} bytes, too small for {n_classes} classes of {n_features} features: "
                f"use at least max_bytes={least} or max_size={size}",
                remedy=None if self.max_bytes is None else {"max_bytes": least},
            )
        return rows

    def _accept(self, classes: NDArray, n_features: int) -> None:
        if len(classes) > MOST_CLASSES:
            raise ConfigError(f"{len(classes)} classes are too many for Tandem: use at most {MOST_CLASSES}")
        if n_features > kernels.MOST_FEATURES:
            raise ConfigError(f"{n_features} features are too many for Tandem: use at most {kernels.MOST_FEATURES}")
        self._capacity(n_features, len(classes))

    def memory_bytes(self) -> int:
        """Return the bytes of all that is stored on the device: layers, mean, ring with labels, and scalars."""
        self._require_fitted()
        return sum(part.nbytes for part in self._state)

    # -- state -------------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        self._new_detector()

    def _new_detector(self) -> ChangeDetector:
        if self.detector is not None:
            return checked_detector(self.detector)
        return GeneralizedCusum(self.threshold, self.batch, self.warmup, direction="down")

    def _start(self, X: NDArray[np.float32], codes: NDArray[np.int32]) -> None:
        d, n = X.shape[1], len(self.classes_)
        capacity = self._capacity(d, n)
        self._state = kernels.State(
            mean=np.empty(d, np.float32),
            weights=np.zeros((LAYERS, n, d), np.float32),
            biases=np.zeros((LAYERS, n), np.float32),
            confusion=np.eye(n, dtype=np.float32),
            rows=np.zeros((capacity, d), np.uint8),
            labels=np.zeros(capacity, np.uint16),
            evidence=np.zeros(kernels.EXPERTS, np.float32),
            scale=np.empty(2, np.float32),
            counts=np.zeros(3, np.int32),
        )
        self._times = np.zeros(capacity, np.int64)
        self._codes = np.arange(n, dtype=np.int32)  # class code of each slot, in the order of appearance
        self.detector_ = self._new_detector()
        self.alarm_: Alarm | None = None  # raised by the last sample
        kernels.start(X, self._state.mean, self._state.scale)
        self._follow(X, codes)
        self._times[:] = 0

    def _widen(self, classes: NDArray) -> None:
        self._codes = self._recode(self._codes, classes)

    def _answers(self, room: int) -> kernels.Answers:
        d = self.n_features_in_
        return kernels.Answers(
            centred=np.empty(d, np.float32),
            coded=np.empty(d, np.int16),
            layer=np.empty(room, np.float32),
            votes=np.empty(room, np.float32),
            experts=np.empty((kernels.EXPERTS, room), np.float32),
            mix=np.empty(room, np.float32),
            distances=np.empty(len(self._state.rows), np.int32),
            near=np.empty((3, kernels.K), np.int32),
            voters=np.empty((3, kernels.K), np.int64),
        )

    def _slots(self, truth: NDArray[np.int32]) -> NDArray[np.int32]:
        """Class slots of the codes `truth` (-1: no label); adds the codes of new classes to `_codes`, oldest first."""
        found, first = np.unique(truth[truth >= 0], return_index=True)
        new = [code for _, code in sorted(zip(first, found, strict=True)) if code not in self._codes]
        self._codes = np.concatenate([self._codes, np.array(new, np.int32)])
        slot_of = np.full(len(self.classes_) + 1, -1, np.int32)  # the last entry is for "no label"
        slot_of[self._codes] = np.arange(len(self._codes))
        return slot_of[truth]

    def _follow(self, X: NDArray[np.float32], truth: NDArray[np.int32]) -> tuple[NDArray, NDArray]:
        return self._follow_from(self.time_ + 1, X, truth)

    def _follow_from(
        self, clock: int, X: NDArray[np.float32], truth: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Predict and learn samples of which the first has the time `clock`; return codes and sizes, (n,) each."""
        slots = self._slots(truth)
        answers = self._answers(len(self._codes))
        predictions, sizes = np.empty(len(X), np.int32), np.empty(len(X), np.int32)
        i, pending = 0, -kernels.ONE
        while True:
            record = kernels.Record(slots, self._codes, predictions, sizes, self._times, clock)
            i, why, pending = kernels.advance(X, i, np.float32(pending), self._state, answers, record)
            if why == kernels.DONE:
                return self._codes[predictions], sizes
            self._resize(self.n_features_in_, self._state.biases.shape[1] + 1)

    def _resize(self, n_features: int, n_classes: int) -> None:
        """Make room for more features or classes: new weights are 0, and the oldest rows of the ring leave."""
        state, capacity = self._state, self._capacity(n_features, n_classes)
        size = min(len(self), capacity)
        newest = self._order()[len(self) - size :]
        more_d, more_n = n_features - self.n_features_in_, n_classes - state.biases.shape[1]
        confusion = np.eye(n_classes, dtype=np.float32)
        confusion[: len(state.confusion), : len(state.confusion)] = state.confusion
        rows = np.zeros((capacity, n_features), np.uint8)
        if more_d:
            zero = np.empty(1, np.int16)
            kernels.encode(np.zeros(1, np.float32), state.scale, zero)
            rows[:size] = zero
        rows[:size, : self.n_features_in_] = state.rows[newest]
        self._state = state._replace(
            mean=np.pad(state.mean, (0, more_d)),
            weights=np.pad(state.weights, ((0, 0), (0, more_n), (0, more_d))),
            biases=np.pad(state.biases, ((0, 0), (0, more_n))),
            confusion=confusion,
            rows=rows,
            labels=np.pad(state.labels[newest], (0, capacity - size)),
            counts=np.array([state.counts[kernels.N_LEARNED], 0, size], np.int32),
        )
        self._times = np.pad(self._times[newest], (0, capacity - size))

    def widen(self, n_features: int) -> Self:
        """Increase the number of features to `n_features`, 0 in all stored samples; return the learner."""
        self._require_fitted()
        n_features = whole_number("n_features", n_features, self.n_features_in_)
        if n_features > self.n_features_in_:
            self._resize(n_features, self._state.biases.shape[1])
            self.n_features_in_ = n_features
        return self

    def take_in(self, X: Any, y: Any) -> Self:
        """Learn labelled samples, features (n, d) and labels (n,), at the current time, without testing them.

        Returns the learner.
        """
        X = self._rows(X)
        codes, classes = self._encode(y, len(X))
        if classes is not self.classes_:
            self._adopt(classes)
        self._follow(X, codes)
        self._times = np.minimum(self._times, self.time_)
        return self

    # -- streams -----------------------------------------------------------------------------------------------------

    def run(self, X: Any, y: Any = None) -> Trace:
        """Test-then-train over a stream, features (n, d) and labels (n,), continuing after the last `run` or `observe`.

        Samples whose label is None or NaN are only predicted. If an exception is raised, the model is not changed.
        Returns a `Trace` with one entry per sample.
        """
        self._require_fitted()
        before = copy.deepcopy(vars(self))
        try:
            clock, memory = self.time_ + 1, self.memory()
            truth, predicted, sizes = self._pass_through(X, y)
            statistic, alarms = self._watch(predicted == truth, truth >= 0, clock)
        except BaseException:
            self.__dict__.update(before)
            raise
        return Trace(
            self.classes_[predicted],
            sizes,
            statistic,
            np.array([alarm.time - clock for alarm in alarms], np.int64),
            np.array([alarm.change_time - clock for alarm in alarms], np.int64),
            np.array([alarm.accuracy_after for alarm in alarms], np.float64),
            memory,
        )

    def memory(self) -> Memory:
        """Return the bytes of a row of the ring, and of all other parts."""
        return Memory(
            row_bytes(self.n_features_in_), 0, self.memory_bytes() - self._state.rows.nbytes - self._state.labels.nbytes
        )

    def _watch(
        self, correct: NDArray[np.bool_], labelled: NDArray[np.bool_], clock: int
    ) -> tuple[NDArray[np.float64], list[Alarm]]:
        """Update the detector with the labelled samples of a run; return its statistic (n,) and the alarms."""
        parts, alarms, start = [np.empty(0)], [], 0
        while start < len(correct):
            block = slice(start, start + WATCHED)
            statistic, alarm = watch(self.detector_, correct[block], labelled[block], clock + start)
            parts.append(statistic)
            start += len(statistic)
            if alarm:
                alarms.append(alarm_of(self.detector_, clock + start - 1, 0))
        self.alarm_ = alarms[-1] if alarms and alarms[-1].time == self.time_ else None
        return np.concatenate(parts), alarms

    def observe(self, x: Any, y: Any = None) -> Any:
        """Return the label predicted for x, shape (d,) or (1, d); then learn (x, y) unless y is None.

        An invalid sample changes nothing.
        """
        X = self._row(x)
        code = self._code(y)
        predicted, _ = self._follow(X, np.array([code], np.int32))
        self.time_ += 1
        alarm = code >= 0 and self.detector_.update(predicted[0] == code, self.time_)
        self.alarm_ = alarm_of(self.detector_, self.time_, 0) if alarm else None
        return self.classes_[predicted[0]]

    def learn_late(self, x: Any, y: Any, predicted: Any, delay: int) -> None:
        """Learn a sample whose label comes `delay` samples late: x, shape (d,), label y, and the label predicted then.

        The detector judges the earlier prediction. The sample keeps its own time, so that an alarm, which is raised
        now, estimates the change point on the time axis of the samples.
        """
        X, code, said = self._row(x), self._code(y), self._code(predicted)
        time = self.time_ - whole_number("delay", delay, 0)
        self._follow_from(time, X, np.array([code], np.int32))
        alarm = self.detector_.update(said == code, time)
        self.alarm_ = alarm_of(self.detector_, self.time_, 0) if alarm else None

    @property
    def statistic_(self) -> float:
        """Current statistic g_t of the test; nan during the warm-up."""
        self._require_fitted()
        return math.nan if self.detector_ is None else self.detector_.statistic

    # -- prediction --------------------------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the share of each class of `classes_` in the mix of the experts, shape (n, classes)."""
        X = self._rows(X)
        n = self._state.biases.shape[1]
        shares = np.empty((len(X), n), np.float32)
        kernels.classify(X, self._state, self._answers(n), shares)
        proba = np.zeros((len(X), len(self.classes_)))
        proba[:, self._codes] = shares
        return proba / proba.sum(axis=1, keepdims=True)

    def _classify(self, X: NDArray[np.float32]) -> NDArray[np.integer]:
        return self.predict_proba(X).argmax(axis=1)

    def neighbours(self, X: Any, k: int | None = None) -> Neighbours:
        """Return the nearest rows of the ring of each sample of X (n, d): 5, the voters among all rows, or fewer."""
        X = self._rows(X)
        k = min(len(self), kernels.K if k is None else whole_number("k", k, 1, kernels.K))
        squared, places = np.empty((2, len(X), kernels.K), np.int64)
        kernels.neighbours(X, self._state, self._answers(1), squared, places)
        positions, levels = places[:, :k], float(self._state.scale[kernels.LEVELS])
        distances = np.sqrt(squared[:, :k]) / (levels or np.inf)
        return Neighbours(positions, distances, self.labels_[positions], self.times_[positions])

    # -- contents of the ring ----------------------------------------------------------------------------------------

    def __len__(self) -> int:
        self._require_fitted()
        return int(self._state.counts[kernels.SIZE])

    def _order(self) -> NDArray[np.intp]:
        """Positions of the rows in the ring, oldest first."""
        return (self._state.counts[kernels.HEAD] + np.arange(len(self))) % len(self._state.rows)

    @property
    def stored_(self) -> NDArray[np.uint8]:
        """Rows of the ring, oldest first, shape (rows, d)."""
        return self._state.rows[self._order()]

    def as_stored(self, X: Any) -> NDArray[np.uint8]:
        """Return samples X (n, d) as rows of the ring, shape (n, d)."""
        X = self._rows(X)
        levels = np.empty(X.shape, np.int16)
        for x, out in zip(X, levels, strict=True):
            kernels.encode(x, self._state.scale, out)
        return levels.astype(np.uint8)

    @property
    def samples_(self) -> NDArray[np.float32]:
        """Features of the ring's rows, oldest first, as decoded from their bytes, shape (rows, d)."""
        low, levels = self._state.scale[kernels.LOW], self._state.scale[kernels.LEVELS] or np.float32(np.inf)
        return low + self.stored_.astype(np.float32) / levels

    @property
    def labels_(self) -> NDArray:
        """Labels of the ring's rows, shape (rows,)."""
        return self.classes_[self._codes[self._state.labels[self._order()]]]

    @property
    def times_(self) -> NDArray[np.int64]:
        """Times of the ring's rows, shape (rows,): 0 for initial samples, i + 1 for sample i of the stream."""
        return self._times[self._order()]


def row_bytes(n_features: int) -> int:
    """Return the bytes of one row of the ring: one per feature, and the label."""
    return n_features + LABEL_BYTES


def needed_bytes(n_features: int, n_classes: int, rows: int) -> int:
    """Return the bytes of a Tandem with so many features, classes and rows.

    >>> needed_bytes(715, 5, 156)
    143496
    """
    layers = LAYERS * n_classes * (n_features + 1) * 4
    return 4 * n_features + layers + 4 * n_classes**2 + rows * row_bytes(n_features) + SCALAR_BYTES
