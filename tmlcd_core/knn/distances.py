"""Squared distances between a stream and stored vectors: computed in blocks, cached for the next run."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.knn import kernels

BLOCK = 128  # stream samples per matrix product
PIECE = 2**21  # float32 numbers: memory is taken in pieces of 8 MB, in huge pages with few page faults
# Blocks kept for the next run take at most this factor times the memory of the stream, or LEAST_KEPT bytes; later
# blocks reuse memory. Fresh memory costs page faults: for short vectors, more than computing the distances again.
KEPT, LEAST_KEPT = 2, 32 * 2**20
NO_MEMORY = np.empty(0, np.float32)


@dataclass
class _Block:
    ids: NDArray[np.int32]  # vector of each column
    near: NDArray[np.float32]  # (samples of the block, capacity >= len(ids))


class Distances:
    """Squared distances from the samples of one stream to any stored vector.

    Vectors have ids: 0, 1, … for the samples of the stream; `admit` returns the ids of other vectors. A block keeps
    the columns that were requested; missing columns are computed with one float32 matrix product on centred data.
    `slack` bounds the rounding error.

    Parameters
    ----------
    X
        The stream, float32 (n, d).
    max_bytes
        Memory limit in bytes. Above it, and above `KEPT`, the newest blocks are dropped first, because the next run
        starts with the oldest.
    """

    def __init__(self, X: NDArray[np.float32], max_bytes: float = np.inf):
        self.max_bytes = max_bytes
        self.lock = threading.Lock()
        self._centre = X[:512].mean(axis=0, dtype=np.float64).astype(np.float32)
        self._n = len(X)
        self._centred = self._centre_of(X)
        self._norms = kernels.squared_norms(self._centred)
        self.foreign = np.empty((0, X.shape[1]), np.float32)
        self._foreign_centred = self.foreign
        self._foreign_ids: dict[bytes, int] = {}
        self._blocks: OrderedDict[int, _Block] = OrderedDict()
        self._block_bytes = 0
        self._most_block_bytes = max(LEAST_KEPT, KEPT * X.nbytes)
        self._piece = NO_MEMORY  # for the next blocks
        self._spare = NO_MEMORY  # of a dropped block, for the next one
        self._shown: NDArray[np.int32] = np.empty(0, np.int32)  # ids with a column in self.column
        self.column = np.full(self._n, -1, np.int32)
        # |fl(x.y) - x.y| <= d u |x||y| for any order of summation; a few u more for centring, norms and sums
        self._relative_error = 1.1 * (X.shape[1] + 16) * kernels.HALF_ULP

    @property
    def nbytes(self) -> int:
        """Memory used, in bytes."""
        blocks = self._block_bytes + self._piece.nbytes + self._spare.nbytes
        return self._centred.nbytes + 2 * self.foreign.nbytes + self.column.nbytes + blocks

    def _centre_of(self, X: NDArray[np.float32]) -> NDArray[np.float32]:
        with np.errstate(over="ignore"):
            return X - self._centre

    def admit(self, rows: NDArray[np.float32]) -> NDArray[np.int32]:
        """Add vectors that are not in the stream, float32 (m, d); return their ids, int32 (m,).

        Equal vectors share one id.
        """
        known = self._foreign_ids
        new = []
        ids = np.empty(len(rows), np.int32)
        for i, row in enumerate(rows):
            key = row.tobytes()
            if key not in known:
                known[key] = self._n + len(known)
                new.append(i)
            ids[i] = known[key]
        if new:
            centred = self._centre_of(rows[new])
            self.foreign = np.concatenate([self.foreign, rows[new]])
            self._foreign_centred = np.concatenate([self._foreign_centred, centred])
            self._norms = np.concatenate([self._norms, kernels.squared_norms(centred)])
            self.column = np.concatenate([self.column, np.full(len(new), -1, np.int32)])
        return ids

    def block(self, number: int, ids: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return the squared distances of block `number` to at least `ids`, float32 (samples, columns).

        `self.column` then maps ids to columns.
        """
        rows = slice(number * BLOCK, min((number + 1) * BLOCK, self._n))
        if number not in self._blocks:
            self._blocks[number] = _Block(np.empty(0, np.int32), np.empty((rows.stop - rows.start, 0), np.float32))
        block = self._blocks[number]
        self.column[self._shown] = -1
        self.column[block.ids] = np.arange(len(block.ids), dtype=np.int32)
        missing = ids[self.column[ids] < 0]
        if len(missing):
            self._extend(block, rows, missing)
        self._shown = block.ids
        self._shrink(keep=number)
        return block.near

    def _extend(self, block: _Block, rows: slice, missing: NDArray[np.int32]) -> None:
        old, new = len(block.ids), len(block.ids) + len(missing)
        self._block_bytes -= block.near.nbytes
        own = missing < self._n
        others = np.empty((len(missing), self._centred.shape[1]), np.float32)
        others[own] = self._centred[missing[own]]
        others[~own] = self._foreign_centred[missing[~own] - self._n]
        room = self._room(rows.stop - rows.start, len(missing)) if old == 0 else None
        with np.errstate(over="ignore", invalid="ignore"):
            product = np.matmul(self._centred[rows], others.T, out=room)
            product *= np.float32(-2)
            product += self._norms[rows, None]
            product += self._norms[missing]
        if old == 0:
            block.near = product
        else:
            if new > block.near.shape[1]:
                wider = np.empty((block.near.shape[0], max(new, old + old // 4)), np.float32)
                wider[:, :old] = block.near[:, :old]
                block.near = wider
            block.near[:, old:new] = product
        block.ids = np.concatenate([block.ids, missing])
        self.column[missing] = np.arange(old, new, dtype=np.int32)
        self._block_bytes += block.near.nbytes

    def _room(self, samples: int, columns: int) -> NDArray[np.float32]:
        """Memory for a new block, (samples, columns)."""
        size = samples * columns
        if size <= len(self._spare):
            room, self._spare = self._spare[:size], NO_MEMORY
            return room.reshape(samples, columns)
        if size > len(self._piece):
            still = -(-self._n // BLOCK) - len(self._blocks) + 1  # blocks without memory
            self._piece = np.empty(max(size, min(PIECE, size * still)), np.float32)
        room, self._piece = self._piece[:size], self._piece[size:]
        return room.reshape(samples, columns)

    def _shrink(self, keep: int) -> None:
        """Drop the newest blocks except `keep` until the memory is within the limits."""
        while self._block_bytes > self._most_block_bytes or self.nbytes > self.max_bytes:
            newest = next((number for number in reversed(self._blocks) if number != keep), None)
            if newest is None:
                return
            dropped = self._blocks.pop(newest).near
            self._block_bytes -= dropped.nbytes
            self._spare = dropped.reshape(-1)

    def slack(self, number: int, ids: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return a bound on the error of the distances of each sample of the block to `ids`, float64 (samples,)."""
        own = self._norms[number * BLOCK : min((number + 1) * BLOCK, self._n)].astype(np.float64)
        return self._relative_error * (own + float(self._norms[ids].max())) + kernels.underflow(self._centred.shape[1])


class DistanceCache:
    """Cache of the distances of recent streams, keyed by the content of the stream.

    Parameters
    ----------
    max_bytes
        Memory limit of all streams together, in bytes; 0 keeps nothing. It may be changed at any time.
    """

    def __init__(self, max_bytes: int = 256 * 2**20):
        self.max_bytes = max_bytes
        self._lock = threading.Lock()
        self._streams: OrderedDict[tuple[int, int, int], Distances] = OrderedDict()

    @contextmanager
    def of(self, X: NDArray[np.float32]) -> Iterator[Distances]:
        """Context manager that yields the `Distances` of the stream X, float32 (n, d), locked in the `with` block."""
        key = (*X.shape, int(kernels.fingerprint(X.view(np.uint32).ravel())))
        with self._lock:
            distances = self._streams.get(key) or Distances(X)
            distances.max_bytes = self.max_bytes
            self._streams[key] = distances
            self._streams.move_to_end(key)
        try:
            with distances.lock:
                yield distances
        finally:
            with self._lock:
                while self._streams and self.nbytes > self.max_bytes:
                    self._streams.popitem(last=False)

    @property
    def nbytes(self) -> int:
        """Memory used by all streams, in bytes."""
        return sum(d.nbytes for d in self._streams.values())

    def clear(self) -> None:
        """Remove all streams."""
        with self._lock:
            self._streams.clear()

    def restart(self) -> None:
        """Reset to an empty cache with a new lock: in a forked child no thread is left to release the old one."""
        self._lock = threading.Lock()
        self._streams = OrderedDict()


distance_cache = DistanceCache()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=distance_cache.restart)
