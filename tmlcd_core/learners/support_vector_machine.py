"""Support vector machine of the paper's Table 1."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.knn.store import BYTES_PER_NUMBER
from tmlcd_core.learners.comparison_learner import ComparisonLearner
from tmlcd_core.portable_loops import rbf_kernel


class SupportVectorMachine(ComparisonLearner):
    """scikit-learn's SVC with default settings, trained once in `fit`.

    The paper's most accurate classifier in stationary conditions, "characterized by an unfeasible training procedure
    in MCUs". It has no parameters because the paper names none: RBF kernel, C = 1, gamma = "scale". Its size is the
    number of support vectors. A class without samples in `fit` is never predicted. The kernel is computed here, with
    the same bits on every processor; SVC's own depends on the BLAS.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 300)
    >>> X = rng.normal(size=(300, 8)) + 1.5 * y[:, None]
    >>> model = SupportVectorMachine().fit(X[:100], y[:100])
    >>> trace = model.run(X[100:], y[100:])
    >>> len(model), float(np.mean(trace.predictions == y[100:]))
    (40, 0.99)
    """

    def _start(self, X: NDArray[np.float32], codes: NDArray[np.int32]) -> None:
        from sklearn.svm import SVC

        self._fitted_classes = self.classes_
        self._svc = None
        if len(self.classes_) > 1:  # SVC needs two classes
            variance = float(X.astype(np.float64).var())
            self._gamma = 1 / (X.shape[1] * variance) if variance > 0 else 1.0  # scikit-learn's "scale"
            self._svc = SVC(kernel="precomputed").fit(rbf_kernel(X, X, self._gamma), codes)
            self._vectors = X[self._svc.support_]

    def _classify(self, X: NDArray[np.float32]) -> NDArray[np.integer]:
        codes = np.zeros(len(X), np.intp)
        if self._svc is not None:
            products = np.zeros((len(X), self._svc.shape_fit_[0]))
            products[:, self._svc.support_] = rbf_kernel(X, self._vectors, self._gamma)  # SVC reads no other columns
            codes = self._svc.predict(products)
        return np.searchsorted(self.classes_, self._fitted_classes)[codes]

    def _follow(self, X: NDArray[np.float32], truth: NDArray[np.int32]) -> tuple[NDArray, NDArray]:
        return self._classify(X), np.full(len(X), len(self))

    def __len__(self) -> int:
        self._require_fitted()
        return 0 if self._svc is None else len(self._svc.support_)

    def memory_bytes(self) -> int:
        """Return the size of support vectors, coefficients (classes - 1 each) and biases in bytes, 32 bits each."""
        self._require_fitted()
        if self._svc is None:
            return 0
        return (
            len(self) * self.n_features_in_ + self._svc.dual_coef_.size + self._svc.intercept_.size
        ) * BYTES_PER_NUMBER
