"""Benchmark of SAM-kNN against MOA's (needs CapyMOA and Java): samples per second and error rates."""

from __future__ import annotations

import shutil
import time

import numpy as np

from tmlcd_core.learners import SAMKNN, RiverLearner

LIMITS = (1000, 5000)
FEATURES = (64, 256)
SAMPLES = 6000


def stream(d: int, n: int = SAMPLES, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return X, shape (n, d), and y of three overlapping Gaussian classes; two swap twice."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    centres = 3.5 / d**0.5 * rng.normal(size=(3, d))
    swapped = np.arange(n) * 3 // n == 1
    place = np.where(swapped, np.array([1, 0, 2])[y], y)
    return (rng.normal(size=(n, d)) + centres[place]).astype(np.float32), y


def ours(X: np.ndarray, y: np.ndarray, limit: int, one_by_one: bool = False) -> tuple[float, float]:
    """Return the seconds of this thread and the error rate."""
    model = SAMKNN(max_size=limit).fit(X[:10], y[:10])
    start = time.thread_time()
    if one_by_one:
        predictions = np.array([model.observe(x, label) for x, label in zip(X[10:], y[10:], strict=True)])
    else:
        predictions = model.run(X[10:], y[10:]).predictions
    return time.thread_time() - start, float(np.mean(predictions != y[10:]))


def moa(X: np.ndarray, y: np.ndarray, limit: int) -> tuple[float, float] | str:
    """Return seconds and error rate of MOA's SAM-kNN, or why it was not measured."""
    if shutil.which("java") is None:
        return "not measured: Java is not installed"
    try:
        from capymoa.classifier import SAMkNN
        from capymoa.stream import NumpyStream
    except ImportError:
        return "not measured: pip install capymoa (in an environment of its own)"
    samples = NumpyStream(X.astype(np.float64), y)
    model = SAMkNN(schema=samples.get_schema(), limit=limit)
    wrong, start = 0, 0.0
    for i in range(len(X)):
        if i == 10:
            start = time.thread_time()
        instance = samples.next_instance()
        if i >= 10:
            wrong += model.predict(instance) != y[i]
        model.train(instance)
    return time.thread_time() - start, wrong / (len(X) - 10)


def river_knn(X: np.ndarray, y: np.ndarray, limit: int) -> tuple[float, float]:
    """Return seconds and error rate of river's kNN with ADWIN (river has no SAM-kNN)."""
    from river import drift, neighbors

    knn = neighbors.KNNClassifier(n_neighbors=5, engine=neighbors.LazySearch(window_size=limit))
    model = RiverLearner(drift.DriftRetrainingClassifier(knn, drift.ADWIN(), train_in_background=False))
    model.fit(X[:10], y[:10])
    start = time.thread_time()
    predictions = model.run(X[10:], y[10:]).predictions
    return time.thread_time() - start, float(np.mean(predictions != y[10:]))


def main() -> None:
    """Print samples per second and error rates."""
    ours(*(part[:400] for part in stream(4)), 200)  # compile
    print(f"{SAMPLES} samples, k = 5, predict + learn; one thread")
    for d in FEATURES:
        X, y = stream(d)
        for limit in LIMITS:
            whole, error = ours(X, y, limit)
            single, _ = ours(X, y, limit, one_by_one=True)
            n = len(X) - 10
            line = f"d = {d}, at most {limit}: run {n / whole:,.0f}/s, observe {n / single:,.0f}/s, error {error:.3f}"
            theirs = moa(X, y, limit)
            if isinstance(theirs, str):
                line += f"; MOA {theirs}"
            else:
                line += f"; MOA {n / theirs[0]:,.0f}/s, error {theirs[1]:.3f}: ours {theirs[0] / whole:.1f} x as fast"
            print(line, flush=True)
    X, y = (part[::4] for part in stream(64))
    seconds, error = river_knn(X, y, 1000)
    sam, sam_error = ours(X, y, 1000)
    print(
        f"river's kNN + ADWIN, d = 64, {len(X)} samples: {len(X) / seconds:,.0f}/s, error {error:.3f}; "
        f"SAM-kNN {len(X) / sam:,.0f}/s, error {sam_error:.3f}"
    )


if __name__ == "__main__":
    main()
