"""Learning rates of NN-FC1 as in the authors' code: one pair for all runs of a configuration."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from tmlcd_core.experiments.experiment import Experiment
from tmlcd_core.experiments.plugins import pack, unpack
from tmlcd_core.experiments.results import write_text
from tmlcd_core.experiments.sweep import make_features, parallel
from tmlcd_core.experiments.variants import NETWORKS
from tmlcd_core.learners.nn_fc1 import RATES, STREAM_RATES
from tmlcd_core.paper.configurations import PaperConfiguration
from tmlcd_core.progress import Progress, silent

FILE = "rates.json"  # in the folder of the results: accuracies of all pairs, by key of the run

Accuracies = list[list[float]]  # (rates, stream rates)


def with_common_rates(
    configurations: Sequence[PaperConfiguration],
    seeds: Sequence[int],
    folder: Path,
    jobs: int = -1,
    progress: Progress = silent,
) -> list[PaperConfiguration]:
    """Return the configurations with the pair of learning rates of NN-FC1 that is best on average over the runs.

    Configurations without NN-FC1 stay as they are. Accuracies found in `folder` are not computed again.
    """
    path = folder / FILE
    known: dict[str, Accuracies] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    tasks: dict[str, Experiment] = {}
    wanted: list[tuple[PaperConfiguration, str, list[str]]] = []
    for one in configurations:
        for network in (name for name in NETWORKS if name in one.experiment.learners):
            alone = replace(one.experiment, learners=(network,))
            runs = {(run := replace(alone, seed=seed)).key(alone.data_key()): run for seed in seeds}
            wanted.append((one, network, list(runs)))
            tasks |= {key: run for key, run in runs.items() if key not in known}
    if tasks:
        n_jobs = min(len(tasks), (os.cpu_count() or 1) if jobs == -1 else jobs)
        make_features(list(tasks.values()), n_jobs, progress)
        todo = [(key, pack(task)) for key, task in tasks.items()]
        found = parallel(_search, todo, n_jobs) if n_jobs > 1 else (_search(*one) for one in todo)
        for done, (key, accuracies) in enumerate(found, 1):
            known[key] = accuracies
            progress(done, len(todo), "learning rates")
        write_text(path, json.dumps(known))
    best = {one.name: _best(network, [known[key] for key in keys]) for one, network, keys in wanted}
    return [_with(one, best[one.name]) if one.name in best else one for one in configurations]


def _search(key: str, packed: bytes) -> tuple[str, Accuracies]:
    """Accuracies of one run of NN-FC1 with all pairs of learning rates, with the key of the run."""
    task: Experiment = unpack(packed)
    stream = task.stream()
    learner = task.learner(task.learner_names[0], stream.scenario).fit(stream.X0, stream.y0)
    return key, learner.search(stream.X, stream.y).accuracies.tolist()


def _best(network: str, accuracies: list[Accuracies]) -> dict[str, float]:
    mean = np.mean(accuracies, axis=0)
    rate, stream_rate = divmod(int(mean.argmax()), mean.shape[1])
    found = {f"{network}.rate": RATES[rate]}
    return found | ({f"{network}.stream_rate": STREAM_RATES[stream_rate]} if mean.shape[1] > 1 else {})


def _with(one: PaperConfiguration, settings: dict[str, float]) -> PaperConfiguration:
    changed = replace(one.experiment, settings={**dict(one.experiment.settings), **settings})
    return replace(one, experiment=changed)
