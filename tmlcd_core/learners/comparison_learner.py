"""Base class of the learners for comparison: input checks, label encoding and test-then-train."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from tmlcd_core.knn.coded_labels import CodedLabels
from tmlcd_core.learners.trace import Memory, Trace
from tmlcd_core.progress import report_step
from tmlcd_core.validation import as_features, as_labels

BLOCK = 128  # samples between two reports of progress, at which a run can be stopped


class ComparisonLearner(CodedLabels, ClassifierMixin, BaseEstimator):
    """Base class of learners with the interface of `StreamLearner` but without a detector.

    A subclass checks its parameters in `_check` and the classes in `_accept`, learns the initial samples in `_start`,
    predicts and learns a stream in `_follow`, and only predicts in `_classify`; all methods get class codes. `_widen`
    is called before the codes change because of new classes. `len` is the number of stored samples.
    """

    def _check(self) -> None:
        """Raise a ConfigError if a parameter cannot be used."""

    def _accept(self, classes: NDArray, n_features: int) -> None:
        """Raise a ConfigError if the learner does not support these classes with so many features."""

    def _start(self, X: NDArray[np.float32], codes: NDArray[np.int32]) -> None:
        raise NotImplementedError

    def _follow(self, X: NDArray[np.float32], truth: NDArray[np.int32]) -> tuple[NDArray, NDArray]:
        """Predict each sample, then learn it unless its truth is -1; return codes and sizes, shape (n,) each."""
        raise NotImplementedError

    def _classify(self, X: NDArray[np.float32]) -> NDArray[np.integer]:
        raise NotImplementedError

    def _widen(self, classes: NDArray) -> None:
        """Adapt the state to new codes before `classes_` is replaced by its superset `classes`."""

    def _adopt(self, classes: NDArray) -> None:
        self._accept(classes, self.n_features_in_)
        self._widen(classes)
        super()._adopt(classes)

    def __len__(self) -> int:
        raise NotImplementedError

    def __bool__(self) -> bool:
        return True  # otherwise `__len__` would make a learner that stores nothing false

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the initial samples, features (n, d) and labels (n,); the clock starts at 0. Returns the learner."""
        self._check()
        X = as_features(X)
        labels, _ = as_labels(y, len(X))
        classes, codes = np.unique(labels, return_inverse=True)
        self._accept(classes, X.shape[1])
        self._know(classes)
        self.n_features_in_ = X.shape[1]
        self.time_ = 0  # samples seen since `fit`
        self._start(X, codes.astype(np.int32))
        return self

    def run(self, X: Any, y: Any = None) -> Trace:
        """Test-then-train over a stream, features (n, d) and labels (n,), continuing after the last `run` or `observe`.

        Samples whose label is None or NaN are only predicted. Returns a `Trace` with one entry per sample.
        """
        _, predicted, sizes = self._pass_through(X, y)
        return self._trace(predicted, sizes)

    def _trace(self, predicted: NDArray, sizes: NDArray) -> Trace:
        none = np.empty(0, np.int64)
        nan = np.full(len(sizes), np.nan)
        return Trace(self.classes_[predicted], sizes.astype(np.int32), nan, none, none, np.empty(0), self.memory())

    def memory(self) -> Memory | None:
        """Return the memory on the device; None if it is that of float32 samples."""
        return None

    def _pass_through(self, X: Any, y: Any) -> tuple[NDArray[np.int32], NDArray, NDArray]:
        """Codes of y, shape (n,), and the results of `_follow`."""
        X = self._rows(X)
        truth, classes = self._encode(y, len(X), missing=True)
        if classes is not self.classes_:
            self._adopt(classes)
        parts = []
        for start in range(0, max(len(X), 1), BLOCK):  # also for no sample, which gives empty arrays
            report_step(start, len(X), "samples")
            block = slice(start, start + BLOCK)
            parts.append(self._follow(X[block], truth[block]))
            self.time_ += len(truth[block])
        predicted, sizes = (np.concatenate(part) for part in zip(*parts, strict=True))
        return truth, predicted, sizes

    def observe(self, x: Any, y: Any = None) -> Any:
        """Return the label predicted for x, shape (d,) or (1, d); then learn (x, y) unless y is None."""
        X = self._row(x)
        predicted, _ = self._follow(X, np.array([self._code(y)], np.int32))
        self.time_ += 1
        return self.classes_[predicted[0]]

    def learn_late(self, x: Any, y: Any, predicted: Any, delay: int) -> None:
        """Learn a sample, x (d,) and label y, that was predicted `delay` samples ago; the clock stands still."""
        self._follow(self._row(x), np.array([self._code(y)], np.int32))

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Call `fit` the first time, then `run`; return self. `classes` of the first call may have no samples yet."""
        if not self.__sklearn_is_fitted__():
            return self.fit(X, y)._expect(classes)
        self._encode(y, len(self._rows(X)))  # unlike in `run`, every sample needs a label
        self.run(X, y)
        return self

    def predict(self, X: Any) -> NDArray:
        """Return the predicted label of each sample of X (n, d), shape (n,), without learning."""
        codes = self._classify(self._rows(X))
        return self.classes_[codes]
