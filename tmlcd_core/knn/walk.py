"""T on its way along a stream: the one place where blocks of distances meet the compiled loop."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.knn import kernels
from tmlcd_core.knn.distances import BLOCK, Distances, underflow
from tmlcd_core.knn.store import Store

UNBOUNDED = 2**62


class Rule(NamedTuple):
    """How T votes and what it takes in; the compiled loop's settings."""

    k: int = 0  # 0 = ceil(sqrt(|T|))
    by_distance: bool = False
    add: int = kernels.ADD_NOTHING
    add_probability: float = 1.0
    max_size: int = UNBOUNDED
    seed: int = 0


class Walk:
    """Predict, then learn, sample by sample, with T as ids into the distances.

    Parameters
    ----------
    X, truth
        The stream and the class code of each sample, -1 where the label is missing.
    distances
        Those of X.
    store
        T at the start; it is not touched.
    clock
        Time of the first sample.
    rates
        The error averages of the adaptive rule; updated in place.
    votes
        Keep the votes of each sample (`predict_proba` wants them).
    """

    def __init__(
        self,
        X: NDArray[np.float32],
        truth: NDArray[np.int32],
        distances: Distances,
        store: Store,
        rule: Rule,
        n_classes: int,
        clock: int = 0,
        rates: NDArray[np.float64] | None = None,
        votes: bool = False,
    ):
        n, room = len(X), len(store) + len(X)
        self.X, self.truth, self.distances, self.rule, self.clock = X, truth, distances, rule, clock
        self.rates = np.zeros(3) if rates is None else rates
        self.predictions = np.empty(n, np.int32)
        self.sizes = np.empty(n, np.int32)
        self.votes = np.empty((max(n, 2) if votes else 1, n_classes))
        self._ids = np.empty(room, np.int32)
        self._codes = np.empty(room, np.int32)
        self._times = np.empty(room, np.int64)
        self.head = self.tail = 0
        span = store.span
        self.become(distances.admit(store.x[span]), store.codes[span], store.times[span])

    def become(self, ids: NDArray[np.int32], codes: NDArray[np.int32], times: NDArray[np.int64]) -> None:
        """Put these samples in the place of T."""
        room = len(ids) + len(self.X)
        if room > len(self._ids):
            self._ids, self._codes = np.empty(room, np.int32), np.empty(room, np.int32)
            self._times = np.empty(room, np.int64)
        self._ids[: len(ids)], self._codes[: len(ids)], self._times[: len(ids)] = ids, codes, times
        self.head, self.tail = 0, len(ids)

    @property
    def ids(self) -> NDArray[np.int32]:
        return self._ids[self.head : self.tail]

    @property
    def codes(self) -> NDArray[np.int32]:
        return self._codes[self.head : self.tail]

    @property
    def times(self) -> NDArray[np.int64]:
        return self._times[self.head : self.tail]

    def advance(self, start: int, stop: int) -> None:
        """Go over X[start:stop], which lies within one block."""
        number = start // BLOCK
        ids = self.ids
        if self.rule.add != kernels.ADD_NOTHING:  # samples of the block itself may come into T
            ids = np.concatenate([ids, np.arange(start, stop, dtype=np.int32)])
        near = self.distances.block(number, ids)
        slack = self.distances.slack(number, ids)
        rule = self.rule
        self.head, self.tail = kernels.advance(
            self.X, self.distances.foreign, near, self.distances.column, slack, 0.0, number * BLOCK, start, stop,
            self.truth, self._ids, self._codes, self._times, self.head, self.tail, rule.k, rule.by_distance, rule.add,
            rule.add_probability, rule.max_size, rule.seed, self.clock, self.rates, self.predictions, self.sizes,
            self.votes,
        )  # fmt: skip

    def advance_all(self) -> None:
        """Go over the whole stream."""
        for start in range(0, len(self.X), BLOCK):
            self.advance(start, min(start + BLOCK, len(self.X)))

    def rows(self, ids: NDArray[np.int32]) -> NDArray[np.float32]:
        """The vectors behind ids."""
        own = ids < len(self.X)
        rows = np.empty((len(ids), self.X.shape[1]), np.float32)
        rows[own] = self.X[ids[own]]
        rows[~own] = self.distances.foreign[ids[~own] - len(self.X)]
        return rows

    def store(self) -> Store:
        """T as it is now."""
        return Store(self.rows(self.ids), self.codes.copy(), self.times.copy())


class OneStep:
    """The same for a single sample against a `Store`, without blocks: T learns in place."""

    def __init__(self) -> None:
        self._size = -1
        self._votes = np.empty((1, 0))

    def __call__(
        self,
        x: NDArray[np.float32],
        code: int,
        store: Store,
        rule: Rule,
        n_classes: int,
        clock: int,
        rates: NDArray[np.float64],
    ) -> int:
        """The class code predicted for x (shape (1, d)); afterwards `store` has learned (x, code)."""
        if rule.add != kernels.ADD_NOTHING:
            store.reserve()
        self._fit_arrays(len(store.x), x.shape[1], n_classes)
        kernels.quick_distances(x[0], store.x[store.span], self._near[0, store.head :])
        self._truth[0] = code
        tail = store.tail
        store.head, store.tail = kernels.advance(
            x, store.x, self._near, self._column, self._slack, (x.shape[1] + 3) * 2.0**-23, 0, 0, 1, self._truth,
            self._ids, store.codes, store.times, store.head, store.tail, rule.k, rule.by_distance, rule.add,
            rule.add_probability, rule.max_size, rule.seed, clock, rates, self._prediction, self._size_after,
            self._votes,
        )  # fmt: skip
        if store.tail > tail:
            store.x[tail] = x[0]
            self._ids[tail] = tail + 1
        return int(self._votes[0].argmax())

    def _fit_arrays(self, size: int, d: int, n_classes: int) -> None:
        if self._size == size and self._votes.shape[1] == n_classes:
            return
        self._size = size
        # the sample is id 0, position p of the store id p + 1
        self._ids = np.arange(1, size + 1, dtype=np.int32)
        self._column = np.arange(-1, size, dtype=np.int32)
        self._near = np.empty((1, size), np.float32)
        self._slack = np.full(1, underflow(d))
        self._truth = np.empty(1, np.int32)
        self._prediction, self._size_after = np.empty((2, 1), np.int32)
        self._votes = np.empty((1, n_classes))
