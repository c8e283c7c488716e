"""The paper's algorithms in plain Python and numpy: read this first.

Disabato and Roveri, "Tiny Machine Learning for Concept Drift". The names are the paper's: T is the training set of the
kNN classifier K, W the history window, t_r the estimated change time, g the statistic of the CUSUM test and h its
threshold. The learners of this package make the same decisions, only faster; the tests compare them with this file.

>>> rng = np.random.default_rng(0)
>>> y = rng.integers(0, 2, 1200)
>>> X = rng.normal(size=(1200, 8)) + 1.5 * np.where(np.arange(1200) < 700, y, 1 - y)[:, None]  # labels swap at 600
>>> trace = run(hybrid_tiny_knn, X[:100], y[:100], X[100:], y[100:])
>>> trace.detections.tolist(), trace.change_points.tolist()
([649], [600])
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FEWEST_SAMPLES = 5  # an alarm that would leave fewer samples does not change T (authors' experiments)
GRID, GAP, MARGIN = 0.01, 0.03, 1e-3  # of accuracies: spacing of v1, least distance of v1 from v0, of v0 from 0 and 1
UNBOUNDED = 2**62  # as a size of T


class Sample(NamedTuple):
    """A labelled sample: features x, label y, time t (0 for the initial samples)."""

    x: NDArray
    y: Any
    t: int


Samples = list[Sample]


class KNN:
    """The classifier K: the k nearest samples of T vote, by default k = ceil(sqrt(|T|)) with one vote each."""

    def __init__(self, T: Samples, k: int | None = None, by_distance: bool = False):
        self.x = np.array([sample.x for sample in T], np.float64)
        self.labels, self.codes = np.unique([sample.y for sample in T], return_inverse=True)
        self.k = min(k or math.ceil(math.sqrt(len(T))), len(T))
        self.by_distance = by_distance  # votes count 1/d; samples at distance 0 decide alone

    def __call__(self, x: NDArray) -> Any:
        """The label predicted for x. Of equally distant samples the older is nearer; ties go to the smallest label."""
        squared = ((self.x - x) ** 2).sum(axis=1)
        nearest = np.sort(squared.argsort(kind="stable")[: self.k])
        votes = np.ones(self.k)
        if self.by_distance:
            d = np.sqrt(squared[nearest])
            votes = 1 / d if d.all() else d == 0
        return self.labels[np.bincount(self.codes[nearest], votes).argmax()]


Classifier = Callable[[Samples], Callable[[NDArray], Any]]  # KNN, or anything that is built and called like it


def condense(T: Samples, knn: Classifier = KNN) -> Samples:
    """Algorithm 2, Hart's condensed nearest neighbour: return the samples of T that are needed, in their order."""
    H = [0]  # positions in T
    K = knn([T[0]])
    modified = True
    while modified:
        modified = False
        for i in range(1, len(T)):
            if i not in H and K(T[i].x) != T[i].y:
                H.append(i)
                K = knn([T[j] for j in H])
                modified = True
    return [T[i] for i in sorted(H)]


def cut_evenly(T: Samples, size: int) -> Samples:
    """Return at most `size` samples: the newest of each class, then the second newest, …; newer ones at last."""
    if size < len({sample.y for sample in T}):
        return T[-size:]
    newer = [sum(other.y == sample.y for other in T[i + 1 :]) for i, sample in enumerate(T)]
    kept = sorted(range(len(T)), key=lambda i: (newer[i], -i))[:size]
    return [T[i] for i in sorted(kept)]


class Cusum:
    """The generalized CUSUM test on the accuracy (Eqs. 1 to 5): the definition, which keeps all batches."""

    def __init__(self, h: float = 25, n: int = 50, xi: int = 100, only_drops: bool = False):
        self.h, self.n, self.only_drops = h, n, only_drops
        self.restart(xi)

    def restart(self, warmup: int) -> None:
        """Forget all batches; v0 is estimated on the next `warmup` samples."""
        self.warmup, self.alarm = warmup, False
        self.v0 = self.g = math.nan
        self.correct: list[bool] = []  # of the warm-up, then of the current batch
        self.s: list[NDArray] = []  # Eq. 1, one row per batch and one column per candidate v1

    def update(self, correct: bool, t: int) -> int | None:
        """Count the prediction of sample t; returns the estimated change time t_r if it raises the alarm."""
        if self.alarm:
            self.restart(self.n)
        self.correct.append(correct)
        if math.isnan(self.v0):
            if len(self.correct) == self.warmup:
                self.begin(float(np.mean(self.correct)))
            return None
        self.g = 0.0 if math.isnan(self.g) else self.g  # 0 until the first batch is full
        if len(self.correct) < self.n or not len(self.v1):
            return None
        self.s.append(self.log_likelihood_ratio(sum(self.correct)))
        self.correct = []
        S = np.cumsum(self.s[::-1], axis=0)[::-1]  # Eq. 3: S[j] = s_j + … + s_t
        self.g = float(S.max())  # Eq. 2
        self.alarm = self.g >= self.h
        j = int(S.max(axis=1).argmax())  # Eq. 5
        return t + 1 - self.n * (len(S) - j) if self.alarm else None

    def begin(self, accuracy: float) -> None:
        """End the warm-up: v0 is the accuracy, and v1 the set of candidate accuracies after a change."""
        self.v0 = min(max(accuracy, MARGIN), 1 - MARGIN)
        v1 = np.arange(GRID / 2, 1, GRID)
        far = np.abs(v1 - self.v0) >= GAP - 1e-12
        self.v1 = v1[far & (v1 < self.v0)] if self.only_drops else v1[far]
        self.correct = []

    def log_likelihood_ratio(self, zeta: int) -> NDArray:
        """Return s of a batch with zeta correct predictions (Eq. 4), for each candidate v1."""
        n, v0, v1 = self.n, self.v0, self.v1
        u0, u1 = 1 - v0, 1 - v1
        return (
            (v1 * u1 - v0 * u0) / (2 * n * v0 * u0 * v1 * u1) * zeta**2
            + (u0 - u1) / (u0 * u1) * zeta
            + n * (v0 * u1 - v1 * u0) / (2 * u0 * u1)
            + np.log(np.sqrt(v0 * u0 / (v1 * u1)))
        )


class Step(NamedTuple):
    """Result of one sample."""

    prediction: Any  # before learning
    size: int  # |T| after learning
    g: float = math.nan  # statistic of the test
    t_r: int | None = None  # estimated change time, where the alarm was raised


Steps = Iterator[Step]
Stream = Iterable[tuple[NDArray, Any]]  # (x_t, y_t) for t = 1, 2, …


def condensing_in_time(T: Samples, stream: Stream, p: int = UNBOUNDED, knn: Classifier = KNN) -> Steps:
    """Algorithm 3, Condensing-in-Time (CIT): yield a Step per sample; misclassified samples join T, at most p."""
    T = cut_evenly(condense(T, knn), p)
    K = knn(T)
    for t, (x, y) in enumerate(stream, start=1):
        prediction = K(x)
        if prediction != y:  # passive update
            T = [*T, Sample(x, y, t)][-p:]  # the oldest leave first
            K = knn(T)
        yield Step(prediction, len(T))


def active_tiny_knn(T: Samples, stream: Stream, window: int = 200, knn: Classifier = KNN, **test: Any) -> Steps:
    """Algorithm 4, Active Tiny kNN: yield a Step per sample; an alarm rebuilds T from W, the newest samples."""
    T = condense(T, knn)
    K = knn(T)
    W: Samples = []
    cusum = Cusum(**test)
    for t, (x, y) in enumerate(stream, start=1):
        prediction = K(x)
        W = [*W, Sample(x, y, t)][-window:]
        t_r = cusum.update(prediction == y, t)
        novel = [sample for sample in W if t_r is not None and sample.t >= t_r]  # empty without an alarm
        if len(novel) >= FEWEST_SAMPLES:  # change detected
            T = condense(novel, knn)
            K = knn(T)
        yield Step(prediction, len(T), cusum.g, t_r)


def hybrid_tiny_knn(T: Samples, stream: Stream, max_size: int = 200, knn: Classifier = KNN, **test: Any) -> Steps:
    """Algorithm 5, Hybrid Tiny kNN: yield a Step per sample; errors join T, an alarm drops those before the change."""
    T = cut_evenly(condense(T, knn), max_size)
    K = knn(T)
    cusum = Cusum(**test, only_drops=True)  # a rise of the accuracy comes from the passive update
    for t, (x, y) in enumerate(stream, start=1):
        prediction = K(x)
        if prediction != y:  # passive update
            T = [*T, Sample(x, y, t)][-max_size:]
            K = knn(T)
        t_r = cusum.update(prediction == y, t)
        novel = [sample for sample in T if t_r is not None and sample.t >= t_r]  # empty without an alarm
        if len(novel) >= FEWEST_SAMPLES:  # change detected
            T = novel
            K = knn(T)
        yield Step(prediction, len(T), cusum.g, t_r)


def run(
    algorithm: Callable[..., Steps], X0: NDArray, y0: NDArray, X: NDArray, y: NDArray, **parameters: Any
) -> SimpleNamespace:
    """Return the arrays of `tmlcd_core.Trace`: fit on X0 (m, d), y0 (m,), then run over X (n, d), y (n,)."""
    X0, X = np.asarray(X0, np.float32), np.asarray(X, np.float32)  # features are stored as on the device
    T = [Sample(x, label, 0) for x, label in zip(X0, y0, strict=True)]
    steps = list(algorithm(T, zip(X, y, strict=True), **parameters))
    return SimpleNamespace(
        predictions=np.array([step.prediction for step in steps]),
        sizes=np.array([step.size for step in steps]),
        statistic=np.array([step.g for step in steps]),
        detections=np.array([i for i, step in enumerate(steps) if step.t_r is not None], int),
        change_points=np.array([step.t_r - 1 for step in steps if step.t_r is not None], int),  # index of time 1 is 0
    )
