"""Sweep: run many experiments in parallel, on all cores or a Dask cluster, with resumable results."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tmlcd_core.errors import ConfigError, DataError
from tmlcd_core.experiments.experiment import Experiment
from tmlcd_core.experiments.plugins import pack, unpack
from tmlcd_core.experiments.results import (
    Asked,
    NoResults,
    Results,
    finished_run,
    read_index,
    run_path,
    write_index,
    write_run,
)
from tmlcd_core.experiments.runs import Run
from tmlcd_core.interrupts import interrupts_ignored
from tmlcd_core.optional_packages import require
from tmlcd_core.progress import Progress, silent
from tmlcd_core.streams.feature_pools import FeaturePool, SourcePool
from tmlcd_core.streams.scenario import Origin
from tmlcd_core.streams.stream import order_labels
from tmlcd_core.validation import whole_number

RETRIES = 5  # retries of a failed Dask task
DASK_TIMEOUT = 5  # s, connection to the scheduler

Task = Experiment  # one run, with its seed


def sweep(
    experiments: Sequence[Experiment],
    seeds: Iterable[int] | None = None,
    folder: str | Path | None = None,
    jobs: int = -1,
    dask: str | None = None,
    progress: Progress = silent,
) -> Results:
    """Run every experiment with each of its seeds; finished runs in `folder` are not repeated.

    The result of a run depends only on its experiment and seed. Every finished run is written at once and atomically,
    so that the same call resumes an interrupted sweep.

    Parameters
    ----------
    experiments : sequence of Experiment
        Experiments to run. The learners of a run share one process and its distances.
    seeds : iterable of int or None
        Seeds of the runs; those of each experiment (`seed` and `runs`) if None.
    folder : path or None
        Folder for the runs; they are not saved if None.
    jobs : int
        Number of processes; -1 for one per core.
    dask : str or None
        Address of a Dask scheduler to run on instead, such as tcp://192.168.0.2:8786.
    progress : Progress
        Called after each run.

    Returns
    -------
    Results

    Examples
    --------
    >>> experiment = Experiment("digits", drift="none", per_class=80, train=20, learners=["condensed"], runs=2)
    >>> len(sweep([experiment], jobs=1).runs(experiment))
    2
    """
    wanted = None if seeds is None else list(dict.fromkeys(seeds))  # without repeated seeds
    if not experiments or wanted == []:
        raise ConfigError("nothing to run: give at least one experiment and one seed")
    if jobs != -1:
        whole_number("jobs", jobs, 1)
    place = None if folder is None else Path(folder)
    asked = [Asked(one.base, tuple(wanted or one.seeds), one.data_key()) for one in experiments]
    if place is not None:
        try:
            write_index(place, _with_earlier(place, asked))
        except OSError as error:
            raise DataError(f"{place} cannot be written ({error.strerror}): choose another folder") from error
    runs: dict[str, Run] = {}
    todo: dict[str, Task] = {}
    for key, task in ((k, task) for a in asked for k, task in a.tasks()):
        done = finished_run(place, key) if place is not None else None
        if done is not None:
            runs[key] = done
        else:
            todo[key] = task
    if todo:
        n_jobs = min(len(todo), (os.cpu_count() or 1) if jobs == -1 else jobs)
        tasks, keys = list(todo.values()), list(todo)
        make_features(tasks, n_jobs, progress)
        total = len(runs) + len(todo)
        progress(len(runs), total, "runs")
        with _finished(tasks, n_jobs, dask, progress if len(tasks) == 1 else silent) as finished:
            for number, run in finished:
                key = keys[number]
                if place is not None:
                    write_run(run_path(place, key), run)
                runs[key] = run
                progress(len(runs), total, "runs")
    return Results(asked, runs)


def _with_earlier(folder: Path, asked: list[Asked]) -> list[Asked]:
    """Merge the folder's index with the new request; earlier seeds on different data are dropped."""
    try:
        found = read_index(folder)
    except NoResults:
        return asked
    for one in asked:
        for place, earlier in enumerate(found):
            if earlier.experiment == one.experiment:
                seeds = {*one.seeds, *(earlier.seeds if earlier.data_key == one.data_key else ())}
                found[place] = replace(one, seeds=tuple(sorted(seeds)))
                break
        else:
            found.append(one)
    return found


def run_task(task: Task, progress: Progress = silent) -> Run:
    """Return the `Run` of one task, without its traces; clear the distance cache, since no other run can use it."""
    from tmlcd_core.knn.distances import distance_cache

    try:
        run = task.run(progress=progress, keep_traces=False)
    finally:
        distance_cache.clear()
    return replace(run, learners={name: replace(one, trace=None) for name, one in run.learners.items()})


def run_packed(number: int, packed: bytes) -> tuple[int, Run]:
    """Run a task packed by `plugins.pack` in a worker process; return its number and its `Run`."""
    return number, run_task(unpack(packed))


@contextmanager
def _finished(todo: list[Task], jobs: int, dask: str | None, progress: Progress) -> Iterator[Iterator[tuple[int, Run]]]:
    """Context of an iterator over (index in `todo`, finished run); leaving it cancels the other runs.

    `progress` is that of a single run in this process.
    """
    if dask is not None:
        with _dask_runs(todo, dask) as found:
            yield found
    elif jobs == 1:
        yield ((number, run_task(task, progress)) for number, task in enumerate(todo))
    else:
        found = parallel(run_packed, [(number, pack(task)) for number, task in enumerate(todo)], jobs)
        try:
            yield found
        finally:
            found.close()


def parallel(function: Callable[..., Any], arguments: list[tuple], jobs: int) -> Any:
    """Return a generator of results in the order of completion, from single-threaded worker processes."""
    from joblib import Parallel, delayed, parallel_config

    # Loky restarts a worker that has grown by 300 MB, such as one that caches the clips of 32 words: harmless.
    warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
    with parallel_config("loky", inner_max_num_threads=1), interrupts_ignored():
        work = Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch="3 * n_jobs")
        return work(delayed(function)(*one) for one in arguments)


@contextmanager
def _dask_runs(todo: list[Task], address: str) -> Iterator[Iterator[tuple[int, Run]]]:
    require("distributed")
    from distributed import Client, as_completed

    try:
        client = Client(address, timeout=DASK_TIMEOUT, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise ConfigError(
            f"cannot connect to a Dask scheduler at {address!r} ({error}); start one with `dask scheduler`"
        ) from error
    with client:
        options = {"retries": RETRIES, "pure": False}
        futures = [client.submit(run_packed, number, pack(task), **options) for number, task in enumerate(todo)]
        try:
            yield (future.result() for future in as_completed(futures, loop=client.loop))
        finally:
            client.cancel([one for one in futures if not one.done()])


def make_features(tasks: Sequence[Task], jobs: int, progress: Progress = silent) -> None:
    """Compute and cache all features that the runs need, so that no two processes compute the same ones."""
    feature_pools: dict[str, FeaturePool] = {}
    needs: dict[tuple[str, str], dict[tuple[str, Origin], tuple[Task, int]]] = {}
    for task in tasks:
        if task.is_recorded:
            continue
        names = task.scenario.names if task.scenario else (task.words, task.new)
        way = repr((task.data, names, task.extractor))
        if way not in feature_pools:
            feature_pools[way] = task.feature_pool()
        feature_pool = feature_pools[way]
        if not isinstance(feature_pool, SourcePool):
            continue
        for part in task.drawn(feature_pool).history:
            order = order_labels(part, task.seed)
            for origin in order.origins:
                # One task per word, so that its clips are synthesised only once.
                counts = needs.setdefault((task.data, origin.word), {})
                n = max(order.needed[origin.word], counts.get((way, origin), (task, 0))[1])
                counts[way, origin] = (task, n)
    work = [([(one, origin, n) for (_, origin), (one, n) in counts.items()],) for counts in needs.values()]
    found: Any = (
        (_make(*one) for one in work) if jobs == 1 else parallel(_make_packed, [(pack(one),) for one in work], jobs)
    )
    try:
        for done, word in enumerate(found, 1):
            progress(done, len(work), f"features of {word}")
    finally:
        found.close()


def _make_packed(packed: bytes) -> str:
    return _make(*unpack(packed))


def _make(pieces: Sequence[tuple[Task, Origin, int]]) -> str:
    for task, origin, n in pieces:
        task.feature_pool().pool(origin, n)
    return pieces[0][1].word
