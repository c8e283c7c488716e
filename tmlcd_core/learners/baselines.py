"""Baseline kNNs: static, incremental and sliding window."""

from __future__ import annotations

from tmlcd_core.knn import kernels
from tmlcd_core.knn.stream_pass import UpdateRule
from tmlcd_core.learners.stream_learner import StreamLearner


class StaticKNN(StreamLearner):
    """kNN that does not learn after `fit`: the baseline without adaptation.

    Parameters
    ----------
    k, weights, condense, storage, max_bytes
        As in `TinyKNN`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 300)
    >>> X = rng.normal(size=(300, 8)) + 1.5 * y[:, None]
    >>> trace = StaticKNN().fit(X[:100], y[:100]).run(X[100:], 1 - y[100:])
    >>> float(np.mean(trace.predictions == 1 - y[100:]))
    0.02
    """

    def __init__(
        self,
        k: int | str = "sqrt",
        weights: str = "uniform",
        condense: bool = False,
        storage: str = "float32",
        max_bytes: int | None = None,
    ):
        self.k = k
        self.weights = weights
        self.condense = condense
        self.storage = storage
        self.max_bytes = max_bytes

    max_size = None


class IncrementalKNN(StreamLearner):
    """kNN that stores every labelled sample; with `max_size`, a sliding window.

    Parameters
    ----------
    max_size
        Largest |T|; the oldest samples are removed first, also in `fit`. None for no limit.
    k, weights, condense, storage, max_bytes
        As in `TinyKNN`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 300)
    >>> X = rng.normal(size=(300, 8)) + 1.5 * y[:, None]
    >>> model = IncrementalKNN(max_size=50).fit(X[:100], y[:100])
    >>> trace = model.run(X[100:], 1 - y[100:])
    >>> float(np.mean(trace.predictions[100:] == 1 - y[200:]))
    0.96
    """

    def __init__(
        self,
        max_size: int | None = None,
        k: int | str = "sqrt",
        weights: str = "uniform",
        condense: bool = False,
        storage: str = "float32",
        max_bytes: int | None = None,
    ):
        self.max_size = max_size
        self.k = k
        self.weights = weights
        self.condense = condense
        self.storage = storage
        self.max_bytes = max_bytes

    def _rule(self) -> UpdateRule:
        return super()._rule()._replace(add=kernels.ADD_ALL)
