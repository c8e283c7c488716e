"""The three algorithms as a researcher would write them with scikit-learn: yardstick for speed, oracle for traces.

`KNeighborsClassifier` is fitted again whenever T changes and asked for one sample at a time; the CUSUM statistic is the
definition, a maximum over all starting batches j and all candidates v1 (Eqs. 2-4 of the paper).
"""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
from sklearn.neighbors import KNeighborsClassifier


def knn(X, y, k="sqrt", weights="uniform"):
    neighbours = math.ceil(math.sqrt(len(X))) if k == "sqrt" else min(k, len(X))
    return KNeighborsClassifier(neighbours, weights=weights, algorithm="brute").fit(X, y)


def condense(X, y, k="sqrt", weights="uniform"):
    """Algorithm 2."""
    kept, rest = [0], list(range(1, len(X)))
    model = knn(X[kept], y[kept], k, weights)
    changed = True
    while changed:
        changed = False
        for i in list(rest):
            if model.predict(X[i : i + 1])[0] != y[i]:
                rest.remove(i)
                kept.append(i)
                model = knn(X[kept], y[kept], k, weights)
                changed = True
    return np.sort(kept)


class Cusum:
    """Eqs. 1-6 with every batch kept."""

    def __init__(self, h, n, xi, only_drops):
        self.h, self.n, self.only_drops = h, n, only_drops
        self.restart(xi)

    def restart(self, warmup):
        self.warmup, self.hits, self.times, self.v0, self.batches, self.g = warmup, [], [], None, [], math.nan

    def s(self, zeta, v1):
        n, v0 = self.n, self.v0
        u0, u1 = 1 - v0, 1 - v1
        return (
            (v1 * u1 - v0 * u0) / (2 * n * v0 * u0 * v1 * u1) * zeta**2
            + (u0 - u1) / (u0 * u1) * zeta
            + n * (v0 * u1 - v1 * u0) / (2 * u0 * u1)
            + np.log(np.sqrt(v0 * u0 / (v1 * u1)))
        )

    def update(self, hit, time):
        """The estimated change time when the alarm is raised, else None."""
        self.hits.append(hit)
        self.times.append(time)
        if self.v0 is None:
            if len(self.hits) == self.warmup:
                self.v0 = min(max(np.mean(self.hits), 1e-3), 1 - 1e-3)
                grid = np.arange(0.005, 1, 0.01)
                grid = grid[np.abs(grid - self.v0) >= 0.03 - 1e-12]
                self.candidates = grid[grid < self.v0] if self.only_drops else grid
                self.hits, self.times = [], []
            return None
        if math.isnan(self.g):
            self.g = 0.0
        if len(self.hits) < self.n:
            return None
        self.batches.append((self.times[0], self.s(sum(self.hits), self.candidates)))
        self.hits, self.times = [], []
        best = (-math.inf, None)
        total = np.zeros(len(self.candidates))
        for start, s in reversed(self.batches):
            total = total + s
            if len(total) and total.max() > best[0]:
                best = (total.max(), start)
        if best[1] is None:
            return None
        self.g = best[0]
        if self.g >= self.h:
            return best[1]
        return None


def run(learner, X0, y0, X, y, max_size=None, window=200, h=25.0, n=50, xi=100, k="sqrt", weights="uniform"):
    """Algorithm 3, 4 or 5: learner is "cit", "active" or "hybrid"."""
    keep = condense(X0, y0, k, weights)
    T = [(X0[i], y0[i], 0) for i in keep]
    if learner != "active" and max_size is not None:
        T = T[-max_size:]
    W = []
    test = None if learner == "cit" else Cusum(h, n, xi, only_drops=learner == "hybrid")

    def fitted():
        return knn(np.array([x for x, _, _ in T]), np.array([label for _, label, _ in T]), k, weights)

    model = fitted()
    predictions, sizes, statistic, detections, change_points = [], [], [], [], []
    for t, (x, label) in enumerate(zip(X, y, strict=True), start=1):
        predicted = model.predict(x[None])[0]
        predictions.append(predicted)
        if learner in ("cit", "hybrid") and predicted != label:
            T.append((x, label, t))
            if max_size is not None and len(T) > max_size:
                T.pop(0)
            model = fitted()
        if learner == "active":
            W.append((x, label, t))
            if len(W) > window:
                W.pop(0)
        if test is not None:
            changed = test.update(predicted == label, t)
            statistic.append(test.g)
            if changed is not None:
                detections.append(t - 1)
                change_points.append(changed - 1)
                novel = [sample for sample in (W if learner == "active" else T) if sample[2] >= changed]
                if len(novel) >= 5:
                    T = novel
                    if learner == "active":
                        kept = condense(np.array([s[0] for s in T]), np.array([s[1] for s in T]), k, weights)
                        T = [T[i] for i in kept]
                    model = fitted()
                test.restart(n)
        sizes.append(len(T))
    return SimpleNamespace(
        predictions=np.array(predictions),
        sizes=np.array(sizes),
        statistic=np.array(statistic) if statistic else np.full(len(X), math.nan),
        detections=np.array(detections, int),
        change_points=np.array(change_points, int),
    )
