"""Benchmark of the paper's five figure configurations, from cached features, against the scikit-learn transcription.

Ours: OURS runs of each configuration, composing the streams included. The transcription takes minutes, so only the
first PART samples of one stream are measured. Both are scaled to 20 runs x 3 learners; processor time of one thread.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from benchmarks import sklearn_transcription
from tmlcd_core.knn import distance_cache
from tmlcd_core.learners import PAPER
from tmlcd_core.paper import figure_configurations

RUNS, OURS, PART = 20, 3, 600  # runs to scale to, runs measured, samples of the transcription measured


def main() -> None:
    """Print the seconds of both and their ratio, for each configuration."""
    print(f"{'configuration':26}{'ours':>8}{'theirs':>9}   seconds of {RUNS} runs x 3 learners")
    total = np.zeros(2)
    for one in figure_configurations():
        if one.experiment.data not in ("speech", "digits"):
            continue
        experiment, feature_pool = one.experiment, one.experiment.feature_pool()
        for seed in range(OURS):  # computes missing features: every seed draws other words
            replace(experiment, seed=seed).stream(feature_pool)
        for name in PAPER:  # compiles
            stream = experiment.stream(feature_pool)
            experiment.learner(name, stream.scenario).fit(stream.X0, stream.y0).run(stream.X[:60], stream.y[:60])
        ours = 0.0
        for seed in range(OURS):
            distance_cache.clear()
            start = time.thread_time()
            one_run = replace(experiment, seed=seed)
            stream = one_run.stream(feature_pool)
            for name in PAPER:
                one_run.learner(name, stream.scenario).fit(stream.X0, stream.y0).run(stream.X, stream.y)
            ours += time.thread_time() - start
        stream = experiment.stream(feature_pool)
        size = len(stream.X0)
        n = min(PART, len(stream))
        theirs = 0.0
        for name in PAPER:
            bound = {"cit": {}, "active": {"window": size}, "hybrid": {"max_size": size}}[name]
            model = experiment.learner(name, stream.scenario).fit(stream.X0, stream.y0)
            start = time.thread_time()
            # Condensing happens once per run, so it is not scaled with the length of the stream.
            algorithm = sklearn_transcription.ALGORITHMS[name]
            sklearn_transcription.run(algorithm, stream.X0, stream.y0, stream.X[:0], stream.y[:0], **bound)
            once = time.thread_time() - start
            start = time.thread_time()
            found = sklearn_transcription.run(algorithm, stream.X0, stream.y0, stream.X[:n], stream.y[:n], **bound)
            whole = time.thread_time() - start
            assert np.array_equal(found.predictions, model.run(stream.X[:n], stream.y[:n]).predictions)
            theirs += once + (whole - once) * len(stream) / n
        scaled = np.array([ours * RUNS / OURS, theirs * RUNS])
        total += scaled
        print(f"{one.name:26}{scaled[0]:8.1f}{scaled[1]:9.0f}   {scaled[1] / scaled[0]:.0f} times", flush=True)
    print(f"{'all five':26}{total[0]:8.1f}{total[1]:9.0f}   {total[1] / total[0]:.0f} times (target 25)")


if __name__ == "__main__":
    main()
