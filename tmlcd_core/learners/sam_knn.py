"""SAM-kNN: kNN with a short-term memory for the current concept and a long-term memory for earlier concepts."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.errors import ConfigError
from tmlcd_core.knn.storage import samples_in
from tmlcd_core.knn.store import BYTES_PER_NUMBER
from tmlcd_core.learners import sam_kernels as kernels
from tmlcd_core.learners.comparison_learner import ComparisonLearner
from tmlcd_core.learners.trace import Memory
from tmlcd_core.validation import as_features, one_of, real_number, shown, whole_number

LARGEST = 2**31 - 1  # samples: limit of the compiled code's integers
SMALLEST = 128  # samples: initial capacity
MAX_WINDOWS = 48  # more than the number of times any memory can be halved
ITERATIONS = 20  # of Lloyd's algorithm: clusters of two samples converge in a few


class SAMKNN(ComparisonLearner):
    """SAM-kNN, a kNN with self-adjusting memory.

    Every sample is added to the short-term memory (STM). Of the windows of its n, n/2, n/4, … newest samples, the STM
    shrinks to the one with the smallest interleaved test-train error (each sample is predicted from those before it in
    the window). Samples removed from the STM move to the long-term memory (LTM) unless they contradict the STM, and
    each new sample removes contradicting samples from the LTM. When both are full, each class in the LTM is clustered
    to half its size. The prediction comes from the STM, the LTM or both together: whichever was correct most often on
    the samples of the STM.

    As in the authors' implementation, a window that loses its oldest sample keeps its other test results and is tested
    again before the STM shrinks to it; `exact` tests it again each time. Distances within the STM are cached.

    Parameters
    ----------
    k, weights
        Number of neighbours, and their votes: "distance" (1/d; if any are at distance 0, only these vote) or "uniform".
    max_size
        Largest number of samples in both memories together.
    min_stm
        Smallest window that the STM may shrink to, in samples.
    ltm_share
        Share of `max_size`: if the LTM is smaller, the oldest samples of the STM move to it before it is compressed.
    exact
        Repeat the test of a window whenever it loses a sample: slower, with nearly the same result.
    random_state
        Seed of the clustering (k-means++).
    max_bytes
        Memory of features and labels of both memories, in bytes; `max_size` is then ignored, and `min_stm` is at most
        half of the samples that fit.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 1200)
    >>> X = rng.normal(size=(1200, 8)) + 1.5 * np.where(np.arange(1200) < 700, y, 1 - y)[:, None]  # labels swap at 600
    >>> model = SAMKNN().fit(X[:100], y[:100])
    >>> trace = model.run(X[100:], y[100:])
    >>> float(np.mean(trace.predictions[500:600] == y[600:700])), float(np.mean(trace.predictions[-100:] == y[-100:]))
    (1.0, 0.99)

    References
    ----------
    V. Losing, B. Hammer, H. Wersing, "KNN classifier with self adjusting memory for heterogeneous concept drift",
    ICDM 2016.
    """

    def __init__(
        self,
        k: int = 5,
        weights: str = "distance",
        max_size: int = 5000,
        min_stm: int = 50,
        ltm_share: float = 0.4,
        exact: bool = False,
        random_state: int = 0,
        max_bytes: int | None = None,
    ):
        self.k = k
        self.weights = weights
        self.max_size = max_size
        self.min_stm = min_stm
        self.ltm_share = ltm_share
        self.exact = exact
        self.random_state = random_state
        self.max_bytes = max_bytes

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the initial samples, features (n, d) and labels (n,); the clock starts at 0. Returns the learner."""
        self._check()
        X = as_features(X)
        self._sizes(X.shape[1])
        return super().fit(X, y)

    def _sizes(self, n_features: int) -> tuple[int, int]:
        """Smallest STM and largest number of samples in both memories."""
        if self.max_bytes is None:
            return int(self.min_stm), int(self.max_size)
        each = (n_features + 1) * BYTES_PER_NUMBER
        most = min(samples_in(self.max_bytes, each, fewest=2 * (self.k + 1)), LARGEST)
        return min(int(self.min_stm), most // 2), most

    def _check(self) -> None:
        k = whole_number("k", self.k, 1, LARGEST)
        one_of("weights", self.weights, ("distance", "uniform"))
        smallest = whole_number("min_stm", self.min_stm, k + 1, LARGEST)
        if self.max_bytes is None:
            whole_number("max_size", self.max_size, 2 * smallest, LARGEST)
        real_number("ltm_share", self.ltm_share, 0.0, 0.9)
        whole_number("random_state", self.random_state, 0, 2**63 - 1)
        if not isinstance(self.exact, bool | np.bool_):
            raise ConfigError(f"exact={shown(self.exact)} must be True or False")

    def _start(self, X: NDArray[np.float32], codes: NDArray[np.int32]) -> None:
        d = X.shape[1]
        self._memories = kernels.Memories(
            counts=np.zeros(3, np.int64),
            stm_x=np.empty((0, d), np.float32),
            stm_y=np.empty(0, np.int32),
            ltm_x=np.empty((0, d), np.float32),
            ltm_y=np.empty(0, np.int32),
            distances=np.empty((0, 0), np.float32),
            hits=np.empty((3, 0), np.uint8),
            windows=np.zeros((MAX_WINDOWS, 3), np.int64),
            tested=np.empty((MAX_WINDOWS, 0), np.uint8),
        )
        min_stm, max_size = self._sizes(d)
        self._settings = kernels.Settings(
            int(self.k),
            self.weights == "distance",
            min_stm,
            max_size,
            bool(self.exact),
            len(self.classes_),
        )
        self._compressions = 0
        self._follow(X, codes)

    def _widen(self, classes: NDArray) -> None:
        memories = self._memories
        for codes, n in ((memories.stm_y, self.stm_size_), (memories.ltm_y, self.ltm_size_)):
            codes[:n] = self._recode(codes[:n], classes)
        self._settings = self._settings._replace(n_classes=len(classes))

    def _follow(self, X: NDArray[np.float32], truth: NDArray[np.int32]) -> tuple[NDArray, NDArray]:
        results = np.empty((2, len(X)), np.int64)
        i, resume = 0, False
        while True:
            i, why = kernels.advance(X, truth, i, resume, self._memories, self._settings, results)
            if why == kernels.DONE:
                return results[0], results[1]
            resume = why == kernels.MAKE_ROOM
            if resume:
                self._make_room()
            else:
                self._grow()

    def _classify(self, X: NDArray[np.float32]) -> NDArray[np.integer]:
        return kernels.classify(X, self._memories, self._settings)

    def _grow(self) -> None:
        """Double the capacity of the memories: at least one more sample, at most max_size + 1."""
        memories, n, m = self._memories, self.stm_size_, self.ltm_size_
        most = self._settings.max_size + 1
        room = min(max(SMALLEST, 2 * (n + m)), most)
        memories = memories._replace(ltm_x=_wider(memories.ltm_x, room), ltm_y=_wider(memories.ltm_y, room))
        if n == len(memories.stm_x):
            room = min(max(SMALLEST, 2 * n), most)
            memories = memories._replace(
                stm_x=_wider(memories.stm_x, room),
                stm_y=_wider(memories.stm_y, room),
                distances=_wider(_wider(memories.distances, room).T, room).T.copy(),
                hits=_wider(memories.hits.T, room).T.copy(),
                tested=_wider(memories.tested.T, room).T.copy(),
            )
        self._memories = memories

    def _make_room(self) -> None:
        """Compress the LTM; if it is small, move the oldest samples of the STM to it first."""
        memories, n, m = self._memories, self.stm_size_, self.ltm_size_
        most = int(self.ltm_share * self._settings.max_size)
        if m <= most:
            move = most - m + 1
            memories.ltm_x[m : m + move], memories.ltm_y[m : m + move] = memories.stm_x[:move], memories.stm_y[:move]
            kernels.drop_oldest(move, memories)
            memories.counts[kernels.N_WINDOWS] = 0
            n, m = n - move, m + move
        rng = np.random.default_rng((self.random_state, self._compressions))
        self._compressions += 1
        x, y = halved(memories.ltm_x[:m], memories.ltm_y[:m], rng)
        keep = min(
            len(x), self._settings.max_size - n
        )  # fewer than len(x) only if nearly every sample has its own class
        memories.ltm_x[:keep], memories.ltm_y[:keep] = x[len(x) - keep :], y[len(y) - keep :]
        memories.counts[kernels.N_LTM] = keep

    @property
    def stm_size_(self) -> int:
        """Number of samples in the short-term memory."""
        self._require_fitted()
        return int(self._memories.counts[kernels.N_STM])

    @property
    def ltm_size_(self) -> int:
        """Number of samples in the long-term memory."""
        self._require_fitted()
        return int(self._memories.counts[kernels.N_LTM])

    def __len__(self) -> int:
        return self.stm_size_ + self.ltm_size_

    def memory_bytes(self) -> int:
        """Return the size of features and labels of both memories in bytes, 32 bits each; without cached distances."""
        return len(self) * self.memory().sample_bytes

    def memory(self) -> Memory:
        """Return the bytes of a sample of either memory."""
        return Memory((self.n_features_in_ + 1) * BYTES_PER_NUMBER)


def _wider(array: NDArray, rows: int) -> NDArray:
    if rows <= len(array):
        return array
    return np.concatenate([array, np.empty((rows - len(array), *array.shape[1:]), array.dtype)])


def halved(
    x: NDArray[np.float32], y: NDArray[np.int32], rng: np.random.Generator
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Compress samples x (n, d) with class codes y (n,) by k-means to half of each class, at least one per class.

    Returns the cluster centres, float32 (m, d), and their class codes, shape (m,).
    """
    centres = [cluster(x[y == code], max(int(np.sum(y == code)) // 2, 1), rng) for code in np.unique(y)]
    return np.concatenate(centres), np.repeat(np.unique(y), [len(part) for part in centres])


def cluster(rows: NDArray[np.float32], clusters: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """k-means with k-means++ initialization of rows (n, d); return the centres, float32 (clusters, d)."""
    points = rows.astype(np.float64)
    centres = np.empty((clusters, points.shape[1]))
    centres[0] = points[rng.integers(len(points))]
    squared = ((points - centres[0]) ** 2).sum(axis=1)
    for c in range(1, clusters):
        total = squared.cumsum()
        at = int(np.searchsorted(total, rng.random() * total[-1], side="right")) if total[-1] > 0 else c
        centres[c] = points[min(at, len(points) - 1)]
        np.minimum(squared, ((points - centres[c]) ** 2).sum(axis=1), out=squared)
    nearest = np.full(len(points), -1)
    for _ in range(ITERATIONS):
        before, nearest = nearest, ((centres**2).sum(axis=1) - 2 * points @ centres.T).argmin(axis=1)
        if np.array_equal(nearest, before):
            break
        members = np.bincount(nearest, minlength=clusters)
        sums = np.zeros_like(centres)
        np.add.at(sums, nearest, points)
        held = members > 0  # an empty cluster stays where it is
        centres[held] = sums[held] / members[held, None]
    return centres.astype(np.float32)
