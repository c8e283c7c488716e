"""What the learners that the paper's are compared with share: the gate, the labels, test-then-train."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from tmlcd_core.knn.coded_labels import CodedLabels
from tmlcd_core.learners.trace import Trace
from tmlcd_core.validation import as_features, as_labels


class ComparisonLearner(CodedLabels, ClassifierMixin, BaseEstimator):
    """A learner with the interface of `StreamLearner` and no detector.

    A subclass checks its parameters in `_check` and the classes in `_accept`, takes the initial samples in `_start`,
    predicts and learns a stream in `_follow`, and predicts alone in `_classify`; all see classes as codes. `_widen`
    tells it that the codes change because there are new classes. `len` is what it stores, counted in samples.
    """

    def _check(self) -> None:
        """Raise a ConfigError if a parameter cannot be used."""

    def _accept(self, classes: NDArray) -> None:
        """Raise a ConfigError if these are not classes that can be told apart."""

    def _start(self, X: NDArray[np.float32], codes: NDArray[np.int32]) -> None:
        raise NotImplementedError

    def _follow(self, X: NDArray[np.float32], truth: NDArray[np.int32]) -> tuple[NDArray, NDArray]:
        """Code predicted for each sample before learning it (where truth is not -1), and size after learning it."""
        raise NotImplementedError

    def _classify(self, X: NDArray[np.float32]) -> NDArray[np.integer]:
        raise NotImplementedError

    def _widen(self, classes: NDArray) -> None:
        """Adapt what depends on codes: `classes_` are about to become `classes`, a superset."""

    def _adopt(self, classes: NDArray) -> None:
        self._accept(classes)
        self._widen(classes)
        super()._adopt(classes)

    def __len__(self) -> int:
        raise NotImplementedError

    def __bool__(self) -> bool:
        return True  # not the emptiness of the store

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the initial samples; the clock starts at 0."""
        self._check()
        X = as_features(X)
        labels, _ = as_labels(y, len(X))
        classes, codes = np.unique(labels, return_inverse=True)
        self._accept(classes)
        self._know(classes)
        self.n_features_in_ = X.shape[1]
        self.time_ = 0  # samples seen since `fit`
        self._start(X, codes.astype(np.int32))
        return self

    def run(self, X: Any, y: Any = None) -> Trace:
        """Predict each sample, then learn from it; goes on where the last `run` or `observe` stopped.

        Labels that are None (or NaN) are missing: such samples are only predicted.
        """
        _, predicted, sizes = self._pass_through(X, y)
        return self._trace(predicted, sizes)

    def _trace(self, predicted: NDArray, sizes: NDArray) -> Trace:
        none = np.empty(0, np.int64)
        nan = np.full(len(sizes), np.nan)
        return Trace(self.classes_[predicted], sizes.astype(np.int32), nan, none, none, np.empty(0))

    def _pass_through(self, X: Any, y: Any) -> tuple[NDArray[np.int32], NDArray, NDArray]:
        """The codes of y, and what `_follow` gives."""
        X = self._rows(X)
        truth, classes = self._encode(y, len(X), missing=True)
        if classes is not self.classes_:
            self._adopt(classes)
        predicted, sizes = self._follow(X, truth)
        self.time_ += len(X)
        return truth, predicted, sizes

    def observe(self, x: Any, y: Any = None) -> Any:
        """The label predicted for x; then learn (x, y), unless y is None."""
        X = self._row(x)
        predicted, _ = self._follow(X, np.array([self._code(y)], np.int32))
        self.time_ += 1
        return self.classes_[predicted[0]]

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """`fit` the first time, then `run`; `classes` that are given the first time are known even while unseen."""
        if not self.__sklearn_is_fitted__():
            return self.fit(X, y)._expect(classes)
        self._encode(y, len(self._rows(X)))  # here every sample needs a label
        self.run(X, y)
        return self

    def predict(self, X: Any) -> NDArray:
        """The label of each sample; nothing is learned."""
        codes = self._classify(self._rows(X))
        return self.classes_[codes]
