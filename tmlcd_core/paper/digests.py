"""Digests of a reproduction by stage, to compare two machines: features, and the decisions of all runs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.experiments.experiment import Experiment
from tmlcd_core.experiments.results import Results

DIGITS = 16  # hexadecimal, of SHA-256


def stage_digests(results: Results) -> dict[str, dict[str, str]]:
    """Return a digest per stage and experiment, by "features" and "runs" and the experiment's expression.

    Features: those of the first run, initial samples and stream. Runs: whether each prediction was correct, |T|, alarms
    and estimated change points, of every run and learner. The key "all" is a digest of the stage.
    """
    features: dict[str, str] = {}
    found: dict[str, dict[str, str]] = {"features": {}, "runs": {}}
    for experiment in results.experiments:
        stream = experiment.stream_key()
        if stream not in features:
            features[stream] = _features(experiment)
        found["features"][repr(experiment)] = features[stream]
        found["runs"][repr(experiment)] = digest(
            array
            for run in results.runs(experiment)
            for one in run.learners.values()
            for array in (one.correct, one.sizes, one.detections, one.change_points)
        )
    for stage in found.values():
        stage["all"] = hashlib.sha256("".join(stage.values()).encode()).hexdigest()[:DIGITS]
    return found


def digest(arrays: Iterable[NDArray]) -> str:
    """Return the first DIGITS hexadecimal digits of the SHA-256 of the bytes of arrays, shape (…,) each."""
    total = hashlib.sha256()
    for array in arrays:
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()[:DIGITS]


def _features(experiment: Experiment) -> str:
    stream = experiment.stream()
    return digest((stream.X0, stream.X))
