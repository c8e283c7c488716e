"""k-nearest-neighbour classifier over a small training set T."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from tmlcd_core.knn import kernels
from tmlcd_core.knn.class_balance import cut_evenly
from tmlcd_core.knn.coded_labels import CodedLabels
from tmlcd_core.knn.condensing import condense_codes, voting_rule
from tmlcd_core.knn.distances import Distances
from tmlcd_core.knn.storage import STORAGE_BYTES, grid_of, quantise, sample_bytes, samples_in
from tmlcd_core.knn.store import Store
from tmlcd_core.knn.stream_pass import UNBOUNDED, StreamPass, UpdateRule
from tmlcd_core.validation import as_features, as_labels, one_of, whole_number


class Neighbours(NamedTuple):
    """The k nearest stored samples of each query, nearest first; arrays of shape (queries, k)."""

    positions: NDArray[np.intp]  # in T, oldest first
    distances: NDArray[np.float64]
    labels: NDArray
    times: NDArray[np.int64]


class TinyKNN(CodedLabels, ClassifierMixin, BaseEstimator):
    """k-nearest-neighbour classifier over a small training set T.

    Distances are Euclidean. Among equally distant samples the older counts as nearer; a tied vote goes to the smallest
    label. Features are stored as on the device.

    Parameters
    ----------
    k
        Number of neighbours; "sqrt" is ceil(sqrt(|T|)), recomputed as T changes. Never more than |T|.
    weights
        "uniform": one vote each, as in the paper. "distance": 1/d each; stored samples at distance 0 decide alone.
    condense
        Condense the samples given to `fit` with Hart's algorithm.
    max_size
        Largest |T|; None for no limit. `fit` cuts T evenly over the classes; later the oldest samples are removed.
    storage
        Type of the stored features: "float32", "int16" or "uint8". Integers are round((x - offset) * scale), with one
        range for all features from the samples given to `fit`, a quarter ("int16": a whole) wider; values outside are
        clipped. Samples and queries are rounded alike, so that all distances are those of the exported C code.
    max_bytes
        Memory of the stored samples on the device, in bytes (`sample_bytes` each); `max_size` is then ignored.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(300) % 3
    >>> X = rng.normal(size=(300, 5)) + 2 * y[:, None]
    >>> model = TinyKNN(condense=True).fit(X[:150], y[:150])
    >>> len(model), round(model.score(X[150:], y[150:]), 2)
    (22, 0.97)
    """

    def __init__(
        self,
        k: int | str = "sqrt",
        weights: str = "uniform",
        condense: bool = False,
        max_size: int | None = None,
        storage: str = "float32",
        max_bytes: int | None = None,
    ):
        self.k = k
        self.weights = weights
        self.condense = condense
        self.max_size = max_size
        self.storage = storage
        self.max_bytes = max_bytes

    _queues = 1  # sample queues that share `max_bytes`: T

    # -- the configuration stage -------------------------------------------------------------------------------------

    def _rule(self) -> UpdateRule:
        """The checked parameters as the `UpdateRule` of the compiled loop."""
        one_of("storage", self.storage, STORAGE_BYTES)
        bound = UNBOUNDED if self.max_size is None else min(whole_number("max_size", self.max_size, 1), UNBOUNDED)
        return voting_rule(self.k, self.weights)._replace(max_size=bound)

    def fit(self, X: Any, y: Any) -> Self:
        """Store the initial samples, features (n, d) and labels (n,), as T, condensed if `condense` is set.

        They get the time 0. If they are more than `max_size`, T is cut evenly over the classes and the newest samples
        of each class are kept. Returns the classifier itself.
        """
        rule = self._rule()
        X = as_features(X)
        rule = self._within_bytes(rule, X.shape[1])
        grid = grid_of(X, self.storage)
        X = _stored(X, self.storage, grid)
        labels, _ = as_labels(y, len(X))
        classes, inverse = np.unique(labels, return_inverse=True)
        codes = inverse.astype(np.int32)
        keep = condense_codes(X, codes, rule, len(classes)) if self.condense else np.arange(len(X))
        if len(keep) > rule.max_size:
            window = rule.add == kernels.ADD_ALL  # a sliding window keeps the newest samples of any class
            keep = keep[-rule.max_size :] if window else keep[cut_evenly(codes[keep], rule.max_size)]
        self._start(Store(X[keep], codes[keep], np.zeros(len(keep), np.int64)), classes, rule)
        self.kept_ = keep
        self.grid_ = grid  # offset and scale of the stored features
        self._storage = self.storage
        return self

    def _within_bytes(self, rule: UpdateRule, n_features: int) -> UpdateRule:
        """`rule` with the size of T that fits in `max_bytes`."""
        if self.max_bytes is None:
            return rule
        each = sample_bytes(n_features, self.storage)
        return rule._replace(max_size=min(samples_in(self.max_bytes, each, self._queues), UNBOUNDED))

    def _start(self, store: Store, classes: NDArray, rule: UpdateRule) -> None:
        self._settings = rule
        self._know(classes)
        self.n_features_in_ = store.x.shape[1]
        self.time_ = 0  # samples seen since `fit`; the next has time time_ + 1
        self._T = store
        self.kept_ = np.empty(0, np.intp)  # positions of T in X of `fit`, as long as T is that of `fit`

    def __len__(self) -> int:
        self._require_fitted()
        return len(self._T)

    def __bool__(self) -> bool:
        return True  # otherwise `__len__` would make a classifier with an empty T false

    def _adopt(self, classes: NDArray) -> None:
        """Replace the known classes by their superset `classes`."""
        self._T.codes = self._recode(self._T.codes, classes)
        self._know(classes)

    def _rows(self, X: Any) -> NDArray[np.float32]:
        """Checked samples as T stores them, float32 (n, n_features_in_)."""
        return _stored(super()._rows(X), self._storage, self.grid_)

    # -- prediction --------------------------------------------------------------------------------------------------

    def _ask(self, X: Any) -> NDArray[np.float64]:
        """Votes for each class, shape (n, classes); T is not changed."""
        X = self._rows(X)
        unlabelled = np.full(len(X), -1, np.int32)
        rule = self._settings._replace(add=kernels.ADD_NOTHING)
        stream_pass = StreamPass(
            X, unlabelled, Distances(X, max_bytes=0), self._T, rule, len(self.classes_), votes=True
        )
        stream_pass.advance_all()
        return stream_pass.votes[: len(X)]

    def predict(self, X: Any) -> NDArray:
        """Return the label with the most votes for each sample of X (n, d), shape (n,)."""
        winners = self._ask(X).argmax(axis=1)
        return self.classes_[winners]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the share of the votes for each class of `classes_`, shape (n, classes)."""
        votes = self._ask(X)
        return votes / votes.sum(axis=1, keepdims=True)

    def neighbours(self, X: Any, k: int | None = None) -> Neighbours:
        """Return the nearest stored samples of each sample of X (n, d): as many as vote, or `k`."""
        X = self._rows(X)
        size = len(self._T)
        votes = self._settings.k or int(np.ceil(np.sqrt(size)))
        k = min(size, votes if k is None else whole_number("k", k, 1))
        stored = self._T.x[self._T.span]
        squared = np.array([[kernels.exact_distance(x, row) for row in stored] for x in X])
        nearest = squared.argsort(axis=1, kind="stable")[:, :k]
        return Neighbours(
            nearest,
            np.sqrt(np.take_along_axis(squared, nearest, axis=1)) / self.grid_[1],
            self.classes_[self._T.codes[self._T.span][nearest]],
            self._T.times[self._T.span][nearest],
        )

    # -- contents of T -----------------------------------------------------------------------------------------------

    @property
    def samples_(self) -> NDArray[np.float32]:
        """Features of T in the units of X, oldest first, shape (|T|, d)."""
        stored, (offset, scale) = self.stored_, self.grid_
        return stored if self._storage == "float32" else (stored / np.float64(scale) + offset).astype(np.float32)

    @property
    def stored_(self) -> NDArray[np.float32]:
        """Features of T as stored, oldest first, shape (|T|, d): whole numbers unless `storage` is "float32"."""
        self._require_fitted()
        return self._T.x[self._T.span].copy()

    def as_stored(self, X: Any) -> NDArray[np.float32]:
        """Return samples X (n, d) as T stores them, shape (n, d)."""
        return self._rows(X)

    @property
    def labels_(self) -> NDArray:
        """Labels of T, shape (|T|,)."""
        self._require_fitted()
        return self.classes_[self._T.codes[self._T.span]]

    @property
    def times_(self) -> NDArray[np.int64]:
        """Times of T, shape (|T|,): 0 for initial samples, i + 1 for sample i of the stream."""
        self._require_fitted()
        return self._T.times[self._T.span].copy()

    @property
    def bound_(self) -> int | None:
        """Largest |T|; None without a limit."""
        self._require_fitted()
        return None if self._settings.max_size == UNBOUNDED else self._settings.max_size

    @property
    def sample_bytes_(self) -> int:
        """Bytes of one stored sample on the device: features in the type `storage`, label and time."""
        self._require_fitted()
        return sample_bytes(self.n_features_in_, self._storage)

    def memory_bytes(self) -> int:
        """Return the size of T on the device in bytes: `sample_bytes_` for each sample."""
        return len(self) * self.sample_bytes_


def _stored(X: NDArray[np.float32], storage: str, grid: tuple[float, float]) -> NDArray[np.float32]:
    """X as stored, read-only like X: the compiled code gets one array type only."""
    if storage == "float32":
        return X
    found = quantise(X, storage, *grid)
    found.flags.writeable = False
    return found
