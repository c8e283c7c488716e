"""Results of a sweep, and their folder: one file per run, and an index of the requested runs."""

from __future__ import annotations

import json
import os
import secrets
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.datasets.arrayfile import TEMPORARY, read_arrays, write_arrays
from tmlcd_core.errors import DataError
from tmlcd_core.experiments.evaluation import Metrics, Spread, summarise
from tmlcd_core.experiments.experiment import Experiment
from tmlcd_core.experiments.runs import LearnerRun, Run
from tmlcd_core.learners.trace import Memory
from tmlcd_core.metrics import accuracy_curve
from tmlcd_core.streams.scenario import Scenario

FORMAT = 2  # version of the folder; increased by incompatible changes
INDEX = "sweep.json"
RUNS = "runs"
SUFFIX = ".run"
KEPT = ("window", "n_features", "seconds", "has_test", "memory")  # fields of a LearnerRun stored besides its arrays


class NoResults(DataError):
    """Error: a folder without results."""


class OtherVersion(DataError):
    """Error: results written by an incompatible version of this package."""


class DamagedRun(UserWarning):
    """Warning: the file of a run is damaged, so the run is repeated."""


@dataclass(frozen=True)
class Asked:
    """Requested runs: an experiment without its seed, the seeds of its runs, and the key of its data."""

    experiment: Experiment
    seeds: tuple[int, ...]
    data_key: str = ""

    def tasks(self) -> list[tuple[str, Experiment]]:
        """Return the key and the experiment of each run."""
        runs = [replace(self.experiment, seed=seed) for seed in self.seeds]
        return [(run.key(self.data_key), run) for run in runs]

    def run_keys(self) -> list[str]:
        """Return the key of each run."""
        return [key for key, _ in self.tasks()]


@dataclass(frozen=True)
class Curve:
    """Mean and standard deviation over runs, one entry per sample, shape (n,)."""

    mean: NDArray[np.float64]
    std: NDArray[np.float64]


class Results:
    """Runs of one or more experiments.

    Parameters
    ----------
    asked : sequence of Asked
        Requested runs of each experiment.
    runs : mapping
        Finished runs by `Experiment.key`.

    Examples
    --------
    >>> import tempfile
    >>> from tmlcd_core.experiments import Experiment, sweep
    >>> learners = ["condensed", "cit"]
    >>> experiment = Experiment("digits", drift="none", per_class=80, train=20, learners=learners, runs=3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = sweep([experiment], folder=folder, jobs=1)
    ...     results = Results.load(folder)
    >>> round(results.summary(experiment)["cit"]["accuracy"].mean, 2)
    0.98
    """

    def __init__(self, asked: Sequence[Asked], runs: Mapping[str, Run]) -> None:
        self.asked = list(asked)
        self._asked = {one.experiment: one for one in reversed(self.asked)}
        self._runs = dict(runs)

    @property
    def experiments(self) -> list[Experiment]:
        """Experiments, with seed 0."""
        return [one.experiment for one in self.asked]

    def runs(self, experiment: Experiment) -> list[Run]:
        """Return the finished runs of an experiment, in the order of their seeds."""
        asked = self._asked.get(experiment.base)
        return [self._runs[key] for key in asked.run_keys() if key in self._runs] if asked else []

    @property
    def missing(self) -> int:
        """Number of requested runs that are not finished."""
        return sum(key not in self._runs for one in self.asked for key in one.run_keys())

    def metrics(self, experiment: Experiment, learner: str) -> list[Metrics]:
        """Return the metrics of a learner, one per run."""
        return [run.learners[learner].metrics for run in self.runs(experiment)]

    def summary(self, experiment: Experiment) -> dict[str, dict[str, Spread]]:
        """Return mean and standard deviation of every metric, by learner and metric."""
        return {name: summarise(self.metrics(experiment, name)) for name in experiment.learner_names}

    def accuracy(self, experiment: Experiment, learner: str) -> Curve:
        """Return the paper's accuracy curve of a learner, averaged over runs."""
        return _curve([accuracy_curve(run.learners[learner].correct) for run in self.runs(experiment)])

    def sizes(self, experiment: Experiment, learner: str) -> Curve:
        """Return |T| of a learner over time, averaged over runs."""
        return _curve([run.learners[learner].sizes for run in self.runs(experiment)])

    def rows(self) -> list[dict[str, Any]]:
        """Return one dict per run and learner, the rows of a table."""
        return [
            {
                "experiment": number,
                "data": experiment.data,
                "learner": name,
                "seed": run.seed,
                "classes": " ".join(run.names),
                **asdict(one.metrics),
            }
            for number, experiment in enumerate(self.experiments)
            for run in self.runs(experiment)
            for name, one in run.learners.items()
        ]

    @classmethod
    def load(cls, folder: str | Path) -> Results:
        """Return the results of a folder; damaged files or another version raise a `DataError`."""
        folder = Path(folder)
        asked = read_index(folder)
        paths = {key: run_path(folder, key) for one in asked for key in one.run_keys()}
        return cls(asked, {key: read_run(path) for key, path in paths.items() if path.exists()})


def _curve(lines: Iterable[NDArray]) -> Curve:
    found = list(lines)
    if not found:
        raise DataError("these results have no run of this experiment: see `experiments` for the list")
    return mean_curve(found)


def mean_curve(lines: Sequence[NDArray]) -> Curve:
    """Return the `Curve` of 1-D arrays, ignoring nan; it is as long as the shortest array."""
    shortest = min(map(len, lines))  # runs differ in length if a small folder has unusable files
    array = np.array([line[:shortest] for line in lines], np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return Curve(np.nanmean(array, axis=0), np.nanstd(array, axis=0))


# -- files -----------------------------------------------------------------------------------------------------------


def run_path(folder: Path, key: str) -> Path:
    """Return the path of a run's file."""
    return folder / RUNS / f"{key}{SUFFIX}"


def write_run(path: Path, run: Run) -> None:
    """Write a run to a file, without its traces."""
    arrays: dict[str, NDArray] = {}
    learners: dict[str, Any] = {}
    for number, (name, one) in enumerate(run.learners.items()):
        arrays[f"correct{number}"] = np.packbits(one.correct)
        arrays[f"sizes{number}"] = np.asarray(one.sizes, np.int32)
        arrays[f"detections{number}"] = np.asarray(one.detections, np.int64)
        arrays[f"change_points{number}"] = np.asarray(one.change_points, np.int64)
        learners[name] = {key: getattr(one, key) for key in KEPT}
    meta = {"format": FORMAT, "seed": run.seed, "scenario": run.scenario.to_json()}
    write_arrays(path, arrays, {**meta, "learners": learners})


def read_run(path: Path) -> Run:
    """Return a run read from its file; a damaged file or another version raises a `DataError`."""
    arrays, meta = read_arrays(path)
    if meta.get("format") != FORMAT:
        raise _other_version(path, meta.get("format"))
    scenario = Scenario.from_json(meta["scenario"])
    learners = {}
    for number, (name, one) in enumerate(meta["learners"].items()):
        sizes = arrays[f"sizes{number}"]
        correct = np.unpackbits(arrays[f"correct{number}"], count=len(sizes)).astype(bool)
        found = correct, sizes, arrays[f"detections{number}"], arrays[f"change_points{number}"]
        memory = Memory(*one["memory"]) if one.get("memory") else None
        kept = one["window"], one["n_features"], one["seconds"], one["has_test"]
        learners[name] = LearnerRun.measured(found, scenario.known_changes, scenario.ends, kept, memory=memory)
    return Run(meta["seed"], scenario, learners)


def finished_run(folder: Path, key: str) -> Run | None:
    """Return a finished run, or None if it is missing or damaged; damage raises a `DamagedRun` warning."""
    path = run_path(folder, key)
    try:
        return read_run(path)
    except FileNotFoundError:
        return None
    except OtherVersion:
        raise
    except DataError as error:
        warnings.warn(f"{error}; the run is repeated", DamagedRun, stacklevel=2)
        return None


def write_index(folder: Path, asked: Sequence[Asked]) -> None:
    """Write the index of requested runs; the file is replaced atomically."""
    import tmlcd_core

    content = [
        {"experiment": one.experiment.to_json(), "seeds": list(one.seeds), "data_key": one.data_key} for one in asked
    ]
    whole = {"format": FORMAT, "version": tmlcd_core.__version__, "digest": _digest(content), "asked": content}
    write_text(folder / INDEX, json.dumps(whole, indent=1))


def read_index(folder: Path) -> list[Asked]:
    """Return the index of requested runs; `NoResults` if there is none, `DataError` if it is damaged."""
    path = folder / INDEX
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
        if whole["format"] != FORMAT:
            raise _other_version(path, whole["format"])
        if whole["digest"] != _digest(whole["asked"]):
            raise DataError(f"{path} is damaged: its digest does not match; run the sweep again in another folder")
        return [
            Asked(Experiment.from_json(one["experiment"]), tuple(one["seeds"]), one["data_key"])
            for one in whole["asked"]
        ]
    except FileNotFoundError:
        raise NoResults(f"{folder} has no results: the file {INDEX} is missing") from None
    except DataError:
        raise
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path} is damaged ({error}); run the sweep again in another folder") from error


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{TEMPORARY}{secrets.token_hex(8)}")
    try:
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _digest(content: Any) -> str:
    return blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=16).hexdigest()


def _other_version(path: Path, found: Any) -> OtherVersion:
    return OtherVersion(f"{path} has format {found!r}, but this version reads format {FORMAT}: use another folder")
