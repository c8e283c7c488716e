"""The training set T as a queue of samples, oldest first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BYTES_PER_NUMBER = 4  # numbers are 32-bit on the device (paper, Table 2)


class Store:
    """Queue of (features, class code, time), oldest first.

    The samples are in [head:tail] of the arrays `x` float32 (room, d), `codes` int32 (room,) and `times` int64 (room,).

    Parameters
    ----------
    rows, codes, times
        Features, class code and time of each sample; times must not decrease.
    """

    def __init__(self, rows: NDArray[np.float32], codes: NDArray[np.int32], times: NDArray[np.int64]):
        self.x = np.ascontiguousarray(rows, np.float32)
        self.codes = np.ascontiguousarray(codes, np.int32)
        self.times = np.ascontiguousarray(times, np.int64)
        self.head, self.tail = 0, len(rows)

    @classmethod
    def empty(cls, n_features: int) -> Store:
        """Return a store without samples for `n_features` features."""
        return cls(np.empty((0, n_features), np.float32), np.empty(0, np.int32), np.empty(0, np.int64))

    def __len__(self) -> int:
        return self.tail - self.head

    @property
    def span(self) -> slice:
        """The slice head:tail of the arrays."""
        return slice(self.head, self.tail)

    def copy(self) -> Store:
        """Return a copy without spare room."""
        return Store(self.x[self.span].copy(), self.codes[self.span].copy(), self.times[self.span].copy())

    def since(self, time: int) -> Store:
        """Return a copy of the samples that are not older than `time`."""
        first = self.head + int(np.searchsorted(self.times[self.span], time))
        part = slice(first, self.tail)
        return Store(self.x[part].copy(), self.codes[part].copy(), self.times[part].copy())

    def take(self, keep: NDArray[np.intp]) -> Store:
        """Return a copy of the samples at the positions `keep`, shape (m,), counted from the oldest."""
        return Store(self.x[self.span][keep], self.codes[self.span][keep], self.times[self.span][keep])

    def widened(self, n_features: int, value: float = 0.0) -> Store:
        """Return a copy whose samples have `n_features` features; the added features are stored as `value`."""
        added = (0, n_features - self.x.shape[1])
        rows = np.pad(self.x[self.span], ((0, 0), added), constant_values=value)
        return Store(rows, self.codes[self.span].copy(), self.times[self.span].copy())

    def reserve(self) -> None:
        """Make room for one more sample behind the tail."""
        if self.tail < len(self.x):
            return
        size = len(self)
        if self.head <= size:  # at most half of the array is free: allocate a larger one
            grow = max(16, size)
            self.x = np.concatenate([self.x[self.span], np.empty((grow, self.x.shape[1]), np.float32)])
            self.codes = np.concatenate([self.codes[self.span], np.zeros(grow, np.int32)])
            self.times = np.concatenate([self.times[self.span], np.zeros(grow, np.int64)])
        else:
            for array in (self.x, self.codes, self.times):
                array[:size] = array[self.span]
        self.head, self.tail = 0, size

    def append(self, row: NDArray[np.float32], code: int, time: int) -> None:
        """Add one sample, features (d,), as the newest."""
        self.reserve()
        self.x[self.tail], self.codes[self.tail], self.times[self.tail] = row, code, time
        self.tail += 1

    def limit(self, size: float) -> None:
        """Remove the oldest samples so that at most `size` remain."""
        self.head = max(self.head, self.tail - int(min(size, len(self))))
