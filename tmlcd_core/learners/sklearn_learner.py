"""Adapter for scikit-learn classifiers, with the interface of the learners."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from tmlcd_core.errors import ConfigError
from tmlcd_core.learners.comparison_learner import ComparisonLearner


class SklearnLearner(ComparisonLearner):
    """Adapter for a scikit-learn classifier: learns the initial samples, then predicts a stream.

    A classifier with `partial_fit` learns each sample after predicting it; others do not learn on the stream. The
    classifier is cloned at each `fit` and not changed.

    Parameters
    ----------
    model : classifier
        Any object with `fit`, `predict` and scikit-learn's `get_params`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.naive_bayes import GaussianNB
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 300)
    >>> X = rng.normal(size=(300, 4)) + y[:, None]
    >>> trace = SklearnLearner(GaussianNB()).fit(X[:50], y[:50]).run(X[50:], y[50:])
    >>> float(np.mean(trace.predictions == y[50:]))
    0.832
    """

    def __init__(self, model: Any):
        self.model = model

    def _check(self) -> None:
        if isinstance(self.model, type) or not all(hasattr(self.model, name) for name in ("fit", "predict")):
            raise ConfigError(f"model={self.model!r} is not a classifier: pass an object with fit and predict")

    def _start(self, X: NDArray[np.float32], codes: NDArray[np.int32]) -> None:
        self.model_ = clone(self.model)
        self._learns = hasattr(self.model_, "partial_fit")
        if self._learns:
            self.model_.partial_fit(X, self.classes_[codes], classes=self.classes_)
        else:
            self.model_.fit(X, self.classes_[codes])

    def _widen(self, classes: NDArray) -> None:
        if self._learns:
            late = sorted(set(classes.tolist()) - set(self.classes_.tolist()))
            raise ConfigError(
                f"{type(self.model).__name__} cannot learn {late[0]!r}: scikit-learn's partial_fit takes no class that "
                "appears later; choose another learner or drift"
            )

    def _follow(self, X: NDArray[np.float32], truth: NDArray[np.int32]) -> tuple[NDArray, NDArray]:
        sizes = np.zeros(len(X), np.int64)  # scikit-learn has no common way to count stored samples
        if not self._learns:
            return self._classify(X), sizes
        predicted = np.empty(len(X), np.int64)
        for i, code in enumerate(truth.tolist()):
            predicted[i] = self._classify(X[i : i + 1])[0]
            if code >= 0:
                self.model_.partial_fit(X[i : i + 1], self.classes_[[code]])
        return predicted, sizes

    def _classify(self, X: NDArray[np.float32]) -> NDArray[np.integer]:
        return np.array([self._code_of[label] for label in self.model_.predict(X).tolist()], np.int64)

    def __len__(self) -> int:
        self._require_fitted()
        return 0

    def memory_bytes(self) -> int:
        """Return the size of the pickled classifier in bytes; scikit-learn has no other common measure."""
        import pickle

        self._require_fitted()
        return len(pickle.dumps(self.model_))
