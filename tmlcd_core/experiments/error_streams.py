"""Error streams of learners: which predictions are wrong, in many runs of one experiment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.experiments.experiment import Experiment
from tmlcd_core.experiments.plugins import pack, unpack
from tmlcd_core.experiments.sweep import parallel
from tmlcd_core.progress import Progress, silent

RUNS_PER_TASK = 20  # of a worker process: bounds the time until Ctrl-C acts


def error_streams(
    experiment: Experiment, seeds: Sequence[int], jobs: int = -1, progress: Progress = silent
) -> dict[str, NDArray[np.uint8]]:
    """Run an experiment once per seed and return the errors of each learner, uint8 (seeds, samples), 1 for wrong.

    `jobs` is the number of worker processes, -1 for one per core.

    Examples
    --------
    >>> swap = Experiment("points", drift="labels-swapped", per_class=200, train=20, learners=["static", "cit"])
    >>> errors = error_streams(swap, range(5), jobs=1)
    >>> errors["cit"].shape, errors["static"][:, 200:].mean().round(2), errors["cit"][:, 300:].mean().round(2)
    ((5, 400), np.float64(0.95), np.float64(0.07))
    """
    tasks = [list(seeds[i : i + RUNS_PER_TASK]) for i in range(0, len(seeds), RUNS_PER_TASK)]
    what = f"{experiment.data}, {experiment.drift}"
    found: dict[int, dict[str, NDArray[np.uint8]]] = {}
    packed = [(number, pack((experiment, task))) for number, task in enumerate(tasks)]
    done = (_packed_errors(*one) for one in packed) if jobs == 1 else parallel(_packed_errors, packed, jobs)
    try:
        for number, errors in done:
            found[number] = errors
            progress(len(found), len(tasks), what)
    finally:
        done.close()
    return {name: np.concatenate([found[i][name] for i in range(len(tasks))]) for name in experiment.learner_names}


def _packed_errors(number: int, packed: bytes) -> tuple[int, dict[str, NDArray[np.uint8]]]:
    experiment, seeds = unpack(packed)
    feature_pool = experiment.feature_pool()
    runs = [replace(experiment, seed=seed).run(feature_pool) for seed in seeds]
    names = experiment.learner_names
    return number, {name: np.array([~run.learners[name].correct for run in runs], np.uint8) for name in names}
