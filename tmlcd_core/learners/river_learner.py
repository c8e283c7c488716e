"""Adapter for river classifiers, with the interface of the learners."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.errors import ConfigError
from tmlcd_core.learners.comparison_learner import ComparisonLearner
from tmlcd_core.learners.trace import Memory
from tmlcd_core.validation import shown


class RiverLearner(ComparisonLearner):
    """Adapter for a river classifier: learns the initial samples, then test-then-train over a stream.

    Features are named by their numbers 0, 1, …; labels are passed unchanged. If the classifier has no prediction, for
    example after a reset, the most frequent label so far is predicted. The classifier is cloned at each `fit` and not
    changed.

    Parameters
    ----------
    model
        Any river classifier, including pipelines. Binary classifiers such as `LogisticRegression` accept only the
        labels True and False (or 1 and 0); wrap them in river's `OneVsRestClassifier` for other labels.
    stored
        Function that returns the number of samples stored by the fitted `model`, for `len` and the sizes of a trace.
        Without it they are 0, because river has no common way to read this number, and the trace's memory is river's
        estimate of the size of its Python objects at the end of the run.

    Examples
    --------
    kNN+ADWIN: ADWIN watches the errors of a kNN, which starts again when they change.

    >>> import numpy as np
    >>> from river import drift, neighbors
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 600)
    >>> X = rng.normal(size=(600, 8)) + 1.5 * np.where(np.arange(600) < 350, y, 1 - y)[:, None]  # labels swap at 300
    >>> knn = neighbors.KNNClassifier(n_neighbors=5, engine=neighbors.LazySearch(window_size=200))
    >>> knn_adwin = drift.DriftRetrainingClassifier(knn, drift.ADWIN(), train_in_background=False)
    >>> model = RiverLearner(knn_adwin, stored=lambda fitted: len(fitted.model._nn.window)).fit(X[:50], y[:50])
    >>> trace = model.run(X[50:], y[50:])
    >>> float(np.mean(trace.predictions[-100:] == y[-100:])), trace.sizes[[299, 549]].tolist()
    (0.98, [200, 200])

    References
    ----------
    J. Montiel et al., "River: machine learning for streaming data in Python", JMLR 22, 2021.
    """

    def __init__(self, model: Any, stored: Callable[[Any], int] | None = None):
        self.model = model
        self.stored = stored

    def _check(self) -> None:
        missing = [name for name in ("predict_one", "learn_one", "clone") if not hasattr(self.model, name)]
        if missing or isinstance(self.model, type):
            raise ConfigError(
                f"model={self.model!r} is not a river classifier: it lacks {' and '.join(missing) or 'an instance'}; "
                "pass one such as river.neighbors.KNNClassifier()"
            )
        if self.stored is not None and not callable(self.stored):
            raise ConfigError(f"stored={shown(self.stored)} must be a function of the fitted model, or None")

    def _accept(self, classes: NDArray, n_features: int) -> None:
        # river itself does not raise an error: it converts any label to True or False
        if not getattr(self.model, "_multiclass", True) and not set(classes.tolist()) <= {False, True}:
            raise ConfigError(
                f"{self.model!r} accepts only the labels True and False, not {classes[:4].tolist()}: wrap it in "
                "river.multiclass.OneVsRestClassifier, or set _multiclass to True in your own multi-class classifier"
            )

    def _start(self, X: NDArray[np.float32], codes: NDArray[np.int32]) -> None:
        self.model_ = self.model.clone()
        self._seen = np.zeros(len(self.classes_), np.int64)
        labels = self.classes_.tolist()
        for x, code in zip(X.tolist(), codes.tolist(), strict=True):
            self.model_.learn_one(dict(enumerate(x)), labels[code])
            self._seen[code] += 1

    def _widen(self, classes: NDArray) -> None:
        seen = np.zeros(len(classes), np.int64)
        seen[np.searchsorted(classes, self.classes_)] = self._seen
        self._seen = seen

    def _predicted(self, x: dict[int, float]) -> int:
        label = self.model_.predict_one(x)
        return int(self._seen.argmax()) if label is None else self._code_of[label]

    def _follow(self, X: NDArray[np.float32], truth: NDArray[np.int32]) -> tuple[NDArray, NDArray]:
        predicted, sizes = np.empty(len(X), np.int64), np.empty(len(X), np.int64)
        labels = self.classes_.tolist()
        for i, (row, code) in enumerate(zip(X.tolist(), truth.tolist(), strict=True)):
            x = dict(enumerate(row))
            predicted[i] = self._predicted(x)
            if code >= 0:
                self.model_.learn_one(x, labels[code])
                self._seen[code] += 1
            sizes[i] = len(self)
        return predicted, sizes

    def _classify(self, X: NDArray[np.float32]) -> NDArray[np.integer]:
        return np.array([self._predicted(dict(enumerate(row))) for row in X.tolist()], np.int64)

    def __len__(self) -> int:
        self._require_fitted()
        return 0 if self.stored is None else int(self.stored(self.model_))

    def memory(self) -> Memory | None:
        """Return the bytes of the model; None if it stores samples."""
        return Memory(0, 0, self.memory_bytes()) if self.stored is None else None

    def memory_bytes(self) -> int:
        """Return river's estimate of the size of its Python objects in bytes, which is larger than on a device."""
        self._require_fitted()
        return int(self.model_._raw_memory_usage)
