"""Runs a kNN over a stream in blocks: precomputed distances and a numba loop."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.knn import kernels
from tmlcd_core.knn.distances import BLOCK, Distances
from tmlcd_core.knn.kernels import UNBOUNDED, UpdateRule
from tmlcd_core.knn.store import Store

__all__ = ["UNBOUNDED", "Queue", "StreamPass", "UpdateRule", "learn", "observe"]


class Queue(NamedTuple):
    """Samples of T in the order in which they joined, also those that have left: ids and class codes, shape (m,).

    The first `start` samples were there at the beginning; the others joined at the sample of their id.
    """

    ids: NDArray[np.int32]
    codes: NDArray[np.int32]
    start: int


class StreamPass:
    """Test-then-train over a stream, with T as ids into the precomputed distances.

    Parameters
    ----------
    X, truth
        The stream, float32 (n, d), and the class code of each sample, int32 (n,), -1 where the label is missing.
    distances
        The `Distances` of X.
    store
        T at the start; it is not changed.
    clock
        Time of the first sample.
    rates
        Short and long error average of the adaptive probability and number of labels seen, float64 (3,); updated in
        place.
    votes
        Keep the votes of each sample (for `predict_proba`).
    """

    def __init__(
        self,
        X: NDArray[np.float32],
        truth: NDArray[np.int32],
        distances: Distances,
        store: Store,
        rule: UpdateRule,
        n_classes: int,
        clock: int = 0,
        rates: NDArray[np.float64] | None = None,
        votes: bool = False,
    ):
        X = X.view()
        X.flags.writeable = False  # read-only arrays are a type of their own in numba: always use one
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
        """Replace T by the samples with these ids, class codes and times, shape (m,) each, oldest first."""
        room = len(ids) + len(self.X)
        if room > len(self._ids):
            self._ids, self._codes = np.empty(room, np.int32), np.empty(room, np.int32)
            self._times = np.empty(room, np.int64)
        self._ids[: len(ids)], self._codes[: len(ids)], self._times[: len(ids)] = ids, codes, times
        self.head, self.tail, self._joined = 0, len(ids), len(ids)

    @property
    def ids(self) -> NDArray[np.int32]:
        """Ids of T, oldest first, shape (|T|,)."""
        return self._ids[self.head : self.tail]

    @property
    def codes(self) -> NDArray[np.int32]:
        """Class codes of T, shape (|T|,)."""
        return self._codes[self.head : self.tail]

    @property
    def times(self) -> NDArray[np.int64]:
        """Times of T, shape (|T|,)."""
        return self._times[self.head : self.tail]

    def queue(self) -> Queue:
        """Return all samples that T has held since `become`, also those that have left, as a `Queue`."""
        return Queue(self._ids[: self.tail].copy(), self._codes[: self.tail].copy(), self._joined)

    def advance(self, start: int, stop: int) -> None:
        """Test-then-train on X[start:stop], which must lie within one block."""
        number = start // BLOCK
        ids = self.ids
        if self.rule.add != kernels.ADD_NOTHING:  # samples of the block itself may join T
            ids = np.concatenate([ids, np.arange(start, stop, dtype=np.int32)])
        distances = self.distances
        near = distances.block(number, ids)
        self.head, self.tail = kernels.advance(
            kernels.Vectors(self.X, distances.foreign),
            kernels.Labels(self.truth, self.clock),
            kernels.Block(number * BLOCK, near, distances.column, distances.slack(number, ids)),
            kernels.Members(self._ids, self._codes, self._times, self.head, self.tail),
            self.rule,
            self.rates,
            kernels.Results(self.predictions, self.sizes, self.votes),
            start,
            stop,
        )

    def advance_all(self) -> None:
        """Test-then-train on the whole stream."""
        for start in range(0, len(self.X), BLOCK):
            self.advance(start, min(start + BLOCK, len(self.X)))

    def rows(self, ids: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return the feature vectors of `ids` (n,), float32 (n, d)."""
        own = ids < len(self.X)
        rows = np.empty((len(ids), self.X.shape[1]), np.float32)
        rows[own] = self.X[ids[own]]
        rows[~own] = self.distances.foreign[ids[~own] - len(self.X)]
        return rows

    def store(self) -> Store:
        """Return a copy of the current T."""
        return Store(self.rows(self.ids), self.codes.copy(), self.times.copy())


def observe(
    x: NDArray[np.float32],
    code: int,
    time: int,
    store: Store,
    rule: UpdateRule,
    rates: NDArray[np.float64],
    n_classes: int,
) -> int:
    """Test-then-train on one sample without blocks; updates `store` and `rates` in place.

    Parameters
    ----------
    x, code, time
        Features, shape (1, d); class code, -1 without a label; time of the sample.
    rates
        As in `StreamPass`.

    Returns
    -------
    The predicted class code.
    """
    if rule.add != kernels.ADD_NOTHING:
        store.reserve()
    queue = kernels.Queue(store.x, store.codes, store.times, store.head, store.tail)
    predicted, store.head, store.tail = kernels.step(x, code, time, queue, rule, rates, n_classes)
    return predicted


def learn(
    x: NDArray[np.float32],
    code: int,
    predicted: int,
    time: int,
    store: Store,
    rule: UpdateRule,
    rates: NDArray[np.float64],
) -> None:
    """Learn one sample x (1, d) that was predicted before; updates `store` and `rates` (3,) as `observe`."""
    if rule.add == kernels.ADD_NOTHING:
        return
    store.reserve()
    queue = kernels.Queue(store.x, store.codes, store.times, store.head, store.tail)
    store.head, store.tail = kernels.learn(x, code, predicted, time, queue, rule, rates)
