# ruff: noqa: B023  (each lambda is called at once)
"""Benchmark of the learners against scikit-learn, river and CapyMOA: speed ratios within one run, one thread.

The scikit-learn transcription is `tmlcd_core.reference` with scikit-learn's kNN; its predictions must be equal.
`python -m benchmarks.bench_core --quick` uses a fifth of the stream.
"""

from __future__ import annotations

import shutil
import sys
import time
import tracemalloc
from collections.abc import Callable

import numpy as np

from benchmarks import sklearn_transcription
from tmlcd_core import ActiveTinyKNN, CondensingInTime, HybridTinyKNN, condense, reference
from tmlcd_core.knn import distance_cache
from tmlcd_core.learners import IncrementalKNN, StreamLearner

CLASSES, FEATURES, INITIAL, STREAM = 5, 715, 500, 7500
SIZE = 100 * CLASSES  # the paper's bound of |T| and window size


def class_change(n: int, d: int = FEATURES, separation: float = 0.14, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Return X0, y0, X, y of Gaussian classes about as hard as the paper's speech; half-way one class is replaced."""
    rng = np.random.default_rng(seed)
    centres = separation * rng.normal(size=(CLASSES + 1, d))
    y0, y = np.arange(INITIAL) % CLASSES, rng.integers(0, CLASSES, n)
    place = np.where((np.arange(n) >= n // 2) & (y == 0), CLASSES, y)
    X0 = rng.normal(size=(INITIAL, d)) + centres[y0]
    X = rng.normal(size=(n, d)) + centres[place]
    return X0.astype(np.float32), y0, X.astype(np.float32), y


def seconds(work: Callable[[], object], repeat: int = 1) -> tuple[float, object]:
    """Return the thread's processor time (fastest of `repeat`) and the last result."""
    best = np.inf
    for _ in range(repeat):
        start = time.thread_time()
        result = work()
        best = min(best, time.thread_time() - start)
    return best, result


LEARNERS: dict[str, tuple[Callable[..., StreamLearner], dict, dict]] = {
    # class, settings, settings of the second run on the same stream
    "cit": (CondensingInTime, {}, {"max_size": 1500}),
    "active": (ActiveTinyKNN, {"window": SIZE}, {"threshold": 40.0}),
    "hybrid": (HybridTinyKNN, {"max_size": SIZE}, {"threshold": 40.0}),
}


def against_scikit_learn(n: int) -> None:
    """Print how many times faster `condense`, `run` and `observe` are than the transcription, over n samples."""
    X0, y0, X, y = class_change(n)
    for build, settings, _ in LEARNERS.values():  # compile
        build(**settings).fit(X0[:60], y0[:60]).run(X[:300], y[:300])
        build(**settings).fit(X0[:60], y0[:60]).observe(X[0], y[0])
    ratios = []
    for seed in range(5):  # new samples each time, because condensing is cached
        A, b = class_change(1, seed=seed)[:2]
        T = [reference.Sample(x, label, i) for i, (x, label) in enumerate(zip(A, b, strict=True))]
        ours, kept = seconds(lambda: condense(A, b))
        theirs, expected = seconds(lambda: sklearn_transcription.condense(T))
        assert kept.tolist() == [sample.t for sample in expected]
        ratios.append(theirs / ours)
    spread = f"{np.median(ratios):.0f} times, {min(ratios):.0f} to {max(ratios):.0f}"
    print(f"condense {INITIAL} x {FEATURES}: {spread} (target 50)")
    print(f"{'learner':8}{'run':>8}{'again':>8}{'observe':>9}   times faster over {n} samples (targets 25, 150, 10)")
    for name, (build, settings, change) in LEARNERS.items():
        algorithm = sklearn_transcription.ALGORITHMS[name]
        theirs, oracle = seconds(lambda: sklearn_transcription.run(algorithm, X0, y0, X, y, **settings))
        distance_cache.clear()
        model = build(**settings).fit(X0, y0)
        first, trace = seconds(lambda: model.run(X, y))
        model = build(**settings | change).fit(X0, y0)
        again, _ = seconds(lambda: model.run(X, y))
        model = build(**settings).fit(X0, y0)
        single, one_by_one = seconds(lambda: [model.observe(x, label) for x, label in zip(X, y, strict=True)])
        for field in ("predictions", "sizes", "detections", "change_points"):
            assert np.array_equal(getattr(trace, field), getattr(oracle, field)), field
        assert np.array_equal(one_by_one, oracle.predictions)
        accuracy = np.mean(trace.predictions == y)
        print(
            f"{name:8}{theirs / first:8.0f}{theirs / again:8.0f}{theirs / single:9.1f}   "
            f"accuracy {accuracy:.2f}, largest |T| {trace.sizes.max()}, alarms at {trace.detections.tolist()}"
        )


def time_and_memory_do_not_grow() -> None:
    """Print the ratio of the time per sample in long and short streams, and the memory growth of `observe`."""
    print("time per sample, 100,000 against 1,000 samples (target at most 1.3), and memory of 20,000 single steps")
    X0, y0, X, y = class_change(100_000, d=64, separation=0.5)
    for name, (build, settings, _) in LEARNERS.items():
        settings = {**settings, "max_size": SIZE} if name != "active" else settings
        short, long = [], []
        for start in range(0, 50_000, 5_000):  # short runs from the whole stream, so that T has the same size in both
            model = build(**settings).fit(X0, y0)
            model.run(X[start : start + 5_000], y[start : start + 5_000])
            part = slice(start + 5_000, start + 6_000)
            distance_cache.clear()
            short.append(seconds(lambda: model.run(X[part], y[part]))[0] / 1_000)
        for _ in range(2):
            distance_cache.clear()
            model = build(**settings).fit(X0, y0)
            long.append(seconds(lambda: model.run(X, y))[0] / len(X))
        model = build(**settings | ({"window": 100} if name == "active" else {"max_size": 100})).fit(X0, y0)
        tracemalloc.start()  # T and W are full before the first reading
        for i in range(5_000):
            model.observe(X[i], y[i])
        grown = -tracemalloc.get_traced_memory()[0]
        for i in range(5_000, 25_000):
            model.observe(X[i], y[i])
        grown += tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        print(f"{name:8}{min(long) / np.median(short):6.2f}   {grown / 1024:6.0f} KB more after 20,000 steps")
    print(f"distance cache: {distance_cache.nbytes / 2**20:.0f} MB of at most {distance_cache.max_bytes / 2**20:.0f}")


def against_other_knns(n: int = 1500, stored: int = 1000, k: int = 5) -> None:
    """Print samples per second of a sliding-window kNN (predict, then learn): ours, river's and CapyMOA's."""
    print(f"sliding window of {stored}, k = {k}, predict + learn per second")
    for d in (64, 256):
        rng = np.random.default_rng(0)
        y = rng.integers(0, 3, stored + n)
        X = (rng.normal(size=(stored + n, d)) + 4 / d**0.5 * rng.normal(size=(3, d))[y]).astype(np.float32)
        model = IncrementalKNN(max_size=stored, k=k).fit(X[:stored], y[:stored])
        model.observe(X[stored], y[stored])
        model = IncrementalKNN(max_size=stored, k=k).fit(X[:stored], y[:stored])
        ours, predictions = seconds(lambda: [model.observe(X[i], y[i]) for i in range(stored, stored + n)])
        row = [f"d = {d}: tmlcd_core {n / ours:,.0f}"]
        theirs, predicted = river_knn(X, y, stored, k)
        agree = np.mean(np.array(predictions) == predicted)
        row.append(f"river {n / theirs:,.0f} (ours {theirs / ours:.0f} times as fast, same predictions {agree:.1%})")
        capymoa = capymoa_knn(X, y, stored, k)
        if isinstance(capymoa, str):
            row.append(capymoa)
        else:
            agree = np.mean(np.array(predictions) == capymoa[1])
            row.append(f"CapyMOA {n / capymoa[0]:,.0f} (ours {capymoa[0] / ours:.0f} times as fast, same {agree:.1%})")
        print("; ".join(row))


def river_knn(X: np.ndarray, y: np.ndarray, stored: int, k: int) -> tuple[float, np.ndarray]:
    """Return seconds and predictions of river's kNN."""
    from river import neighbors

    model = neighbors.KNNClassifier(n_neighbors=k, engine=neighbors.LazySearch(window_size=stored), weighted=False)
    samples = [dict(enumerate(x.tolist())) for x in X]
    for i in range(stored):
        model.learn_one(samples[i], int(y[i]))
    predictions = []
    start = time.thread_time()
    for i in range(stored, len(X)):
        predictions.append(model.predict_one(samples[i]))
        model.learn_one(samples[i], int(y[i]))
    return time.thread_time() - start, np.array(predictions)


def capymoa_knn(X: np.ndarray, y: np.ndarray, stored: int, k: int) -> tuple[float, np.ndarray] | str:
    """Return seconds and predictions of CapyMOA's kNN, or why it was not measured."""
    if shutil.which("java") is None:
        return "CapyMOA not measured: Java is not installed"
    try:
        from capymoa.classifier import KNN
        from capymoa.stream import NumpyStream
    except ImportError:
        return "CapyMOA not measured: pip install capymoa"
    stream = NumpyStream(X, y)
    model = KNN(schema=stream.get_schema(), k=k, window_size=stored)
    predictions = []
    start = 0.0
    for i in range(len(X)):
        if i == stored:
            start = time.thread_time()
        instance = stream.next_instance()
        if i >= stored:
            predictions.append(model.predict(instance))
        model.train(instance)
    return time.thread_time() - start, np.array(predictions)


def what_the_adaptive_probability_saves() -> None:
    """Print |T| and accuracy of CIT for several values of `add_probability`."""
    print("CIT with add_probability, 5 Gaussian class changes: |T| and accuracy")
    print(f"{'rule':>10}{'|T| before':>12}{'|T| at end':>12}{'before':>8}{'500 after':>11}{'end':>7}")
    for rule in (1.0, 0.3, "adaptive"):
        rows = []
        for seed in range(5):
            X0, y0, X, y = class_change(6000, d=64, separation=0.5, seed=seed)
            trace = CondensingInTime(add_probability=rule).fit(X0, y0).run(X, y)
            hit = trace.predictions == y
            rows.append(
                [
                    trace.sizes[2999],
                    trace.sizes[-1],
                    hit[2000:3000].mean(),
                    hit[3000:3500].mean(),
                    hit[5000:].mean(),
                ]
            )
        before, end, *accuracies = np.mean(rows, axis=0)
        print(f"{rule!s:>10}{before:12.0f}{end:12.0f}{accuracies[0]:8.3f}{accuracies[1]:11.3f}{accuracies[2]:7.3f}")


def main() -> None:
    """Print all measurements."""
    against_scikit_learn(STREAM // 5 if "--quick" in sys.argv else STREAM)
    time_and_memory_do_not_grow()
    against_other_knns()
    what_the_adaptive_probability_saves()


if __name__ == "__main__":
    main()
