"""Test-then-train (prequential) evaluation: every sample is predicted before it is learned."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.datasets.tables import Table, is_frame, no_table
from tmlcd_core.displays import Playable, html_table
from tmlcd_core.errors import ConfigError
from tmlcd_core.experiments.evaluation import Metrics, evaluate
from tmlcd_core.experiments.labels import FULL, Supervision, Teacher
from tmlcd_core.knn.distances import distance_cache
from tmlcd_core.learners.trace import Memory, Trace
from tmlcd_core.progress import Progress, report_step, silent
from tmlcd_core.streams.foreign import foreign_recording, is_foreign
from tmlcd_core.streams.recordings import INITIAL, Recording
from tmlcd_core.streams.scenario import Scenario
from tmlcd_core.streams.stream import Stream
from tmlcd_core.streams.tables import TableRecording
from tmlcd_core.validation import as_features, whole_number


@dataclass(frozen=True)
class LearnerRun(Playable):
    """Result of one learner in one run.

    `correct` and `sizes` have shape (n,), one entry per sample; `detections` and `change_points` have one entry per
    alarm. `memory` is the learner's count of its memory, None for 4 (d + 2) bytes a sample. `trace` is the full trace
    of the learner, None for a run read from a file.
    """

    correct: NDArray[np.bool_]
    sizes: NDArray[np.int32]
    detections: NDArray[np.int64]
    change_points: NDArray[np.int64]
    metrics: Metrics
    window: int
    n_features: int
    seconds: float
    has_test: bool
    memory: Memory | None = None
    trace: Trace | None = None

    def _repr_html_(self) -> str:
        """Metrics as an HTML table, for notebooks."""
        return html_table(("metric", "value"), [(name, cells[0]) for name, *cells in _shown({"": self})])

    @classmethod
    def of(cls, trace: Trace, stream: Stream, window: int, seconds: float, has_test: bool) -> LearnerRun:
        """Return the `LearnerRun` of a trace and its stream."""
        kept = (window, stream.X.shape[1], seconds, has_test)
        return cls.measured(trace_arrays(trace, stream.y), stream.scenario.known_changes, stream.ends, kept, trace)

    @classmethod
    def measured(
        cls,
        arrays: tuple[NDArray[np.bool_], NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]],
        changes: Sequence[int] | None,
        ends: Sequence[int] | None,
        kept: tuple[int, int, float, bool],
        trace: Trace | None = None,
        memory: Memory | None = None,
    ) -> LearnerRun:
        """Return the `LearnerRun` of recorded `arrays`, each (n,) or (alarms,), with its metrics.

        `arrays` are correct, sizes, detections and change points; `kept` are window, n_features, seconds, has_test.
        `memory` is that of the trace if None.
        """
        window, n_features, seconds, has_test = kept
        memory = memory or getattr(trace, "memory", None)
        metrics = evaluate(*arrays, changes, ends, n_features, window, seconds, has_test, memory)
        return cls(*arrays, metrics, *kept, memory, trace)


def trace_arrays(trace: Trace, y: NDArray) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Return correct (n,), sizes (n,), detections and change points of a trace, given the labels y (n,)."""
    correct = np.asarray(trace.predictions == y)
    return correct, np.asarray(trace.sizes, np.int32), trace.detections, trace.change_points


@dataclass(frozen=True)
class Run(Playable):
    """Result of one run of an experiment: seed, scenario with its drawn classes, and the result of each learner."""

    seed: int
    scenario: Scenario
    learners: dict[str, LearnerRun]

    def _repr_html_(self) -> str:
        """Metrics of all learners as an HTML table, for notebooks."""
        return html_table(("metric", *self.learners), _shown(self.learners))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all classes in the run."""
        return self.scenario.names

    @property
    def changes(self) -> tuple[int, ...]:
        """First sample of each new concept."""
        return self.scenario.changes

    @property
    def ends(self) -> tuple[int, ...]:
        """Sample from which on each new concept is complete."""
        return self.scenario.ends


def _shown(learners: Mapping[str, LearnerRun]) -> list[list[str]]:
    """Rows of the metrics that are known."""
    every = {name: asdict(one.metrics) for name, one in learners.items()}
    keys = [key for key in next(iter(every.values())) if any(found[key] == found[key] for found in every.values())]
    return [[key.replace("_", " "), *(f"{found[key]:.4g}" for found in every.values())] for key in keys]


def as_learner(model: Any) -> Any:
    """Return a learner with `fit` and `run`: the object itself, or an adapter of a river or scikit-learn classifier."""
    if isinstance(model, type):
        raise ConfigError(f"{model.__name__} is a class: give an instance, such as {model.__name__}()")
    if hasattr(model, "fit") and hasattr(model, "run"):
        return model
    if hasattr(model, "learn_one"):
        from tmlcd_core.learners import RiverLearner

        return RiverLearner(model)
    if hasattr(model, "fit") and hasattr(model, "predict"):
        from tmlcd_core.learners import SklearnLearner

        return SklearnLearner(model)
    raise ConfigError(
        f"{model!r} is not a learner: give an object with fit and run, or a classifier of river or scikit-learn"
    )


class Follower:
    """A fitted learner on its way over a stream: takes block after block, and returns the `LearnerRun` at the end.

    Parameters
    ----------
    learner : object
        As in `prequential`.
    X0, y0 : arrays, shape (n0, d) and (n0,)
        Initial samples, on which the learner is fitted.
    teacher : Teacher or None
        Labels that the learner gets; all of them, at once, if None.
    keep_trace : bool
        Keep predictions and statistic of all samples in `LearnerRun.trace`; without them a run needs 5 bytes a sample.
    """

    def __init__(
        self, learner: Any, X0: NDArray, y0: NDArray, teacher: Teacher | None = None, keep_trace: bool = True
    ) -> None:
        self.model = as_learner(learner)
        self.model.fit(X0, y0)
        self.teacher = teacher or Teacher(FULL, np.unique(y0))
        self.seconds = 0.0
        self.memory: Memory | None = None
        self._keep = keep_trace
        self._traces: list[Trace] = []
        self._arrays: list[tuple[NDArray, NDArray, NDArray, NDArray]] = []
        self._samples = 0
        self._n_features = X0.shape[1]
        self._late = self._late_learner() if self.teacher.supervision.label_delay else None
        self._waiting: deque[tuple[NDArray, Any, Any]] = deque()  # samples whose label has not come yet

    def follow(self, X: NDArray, y: NDArray) -> Trace:
        """Test and train on the next samples, features (n, d) and true labels (n,); return their `Trace`."""
        given = self.teacher.labels(y)
        started = time.perf_counter()
        trace = self.model.run(X, given) if self._late is None else self._run_late(X, given)
        self.seconds += time.perf_counter() - started
        if self._late is None:
            self._count_memory(trace.memory)
        correct, sizes, detections, points = trace_arrays(trace, y)
        self._arrays.append((correct, sizes, detections + self._samples, points + self._samples))
        if self._keep:
            self._traces.append(trace)
        self._samples += len(y)
        return trace

    def result(self, changes: Sequence[int] | None, ends: Sequence[int] | None = None) -> LearnerRun:
        """Return the `LearnerRun` of all samples so far; `changes` and `ends` as in `evaluate`."""
        correct, sizes, detections, points = (np.concatenate(part) for part in zip(*self._arrays, strict=True))
        has_test = getattr(self.model, "detector_", None) is not None
        kept = (int(getattr(self.model, "window", 0)), self._n_features, self.seconds, has_test)
        trace = self._trace(detections, points) if self._keep else None
        return LearnerRun.measured((correct, sizes, detections, points), changes, ends, kept, trace, self.memory)

    def _count_memory(self, found: Memory | None) -> Memory | None:
        """Keep the first count of a learner that stores samples, the newest of any other; return it."""
        if self.memory is None or not self.memory.sample_bytes:
            self.memory = found
        return self.memory

    def _trace(self, detections: NDArray, points: NDArray) -> Trace:
        if len(self._traces) == 1:
            return self._traces[0]
        predictions, sizes, statistic, accuracies = (
            np.concatenate([getattr(trace, name) for trace in self._traces])
            for name in ("predictions", "sizes", "statistic", "accuracies_after")
        )
        return Trace(predictions, sizes, statistic, detections, points, accuracies, self.memory)

    def _late_learner(self) -> Callable[[NDArray, Any, Any], Any]:
        """Function of (x, label, earlier prediction) that teaches the model a late label."""
        model, delay = self.model, self.teacher.supervision.label_delay
        if hasattr(model, "observe") and hasattr(model, "learn_late"):
            return lambda x, label, said: model.learn_late(x, label, said, delay)
        if hasattr(model, "observe") and hasattr(model, "partial_fit"):
            return lambda x, label, said: model.partial_fit(x[None], [label])
        raise ConfigError(
            f"{type(model).__name__} cannot take late labels, because it has no observe and partial_fit: "
            "use label_delay=0 or another learner"
        )

    def _run_late(self, X: NDArray, given: NDArray) -> Trace:
        """Predict each sample, then learn the one whose label comes now."""
        model, delay, learn = self.model, self.teacher.supervision.label_delay, self._late
        assert learn is not None
        said: list[Any] = []
        sizes, statistic = np.zeros(len(X), np.int32), np.full(len(X), math.nan)
        alarms: list[tuple[int, int, float]] = []
        self._count_memory(_memory_of(model))
        for i, (x, label) in enumerate(zip(X, given.tolist(), strict=True)):
            report_step(i, len(X), "samples")
            said.append(model.observe(x))
            self._waiting.append((x, label, said[-1]))
            if len(self._waiting) > delay:
                earlier, known, prediction = self._waiting.popleft()
                if known is not None:
                    learn(earlier, known, prediction)
                    if (alarm := getattr(model, "alarm_", None)) is not None:
                        alarms.append((i, alarm.change_time - model.time_ + i, alarm.accuracy_after))
            sizes[i] = len(model) if hasattr(model, "__len__") else 0
            statistic[i] = getattr(model, "statistic_", math.nan)
        return Trace(
            np.array(said),
            sizes,
            statistic,
            np.array([place for place, _, _ in alarms], np.int64),
            np.array([point for _, point, _ in alarms], np.int64),
            np.array([accuracy for _, _, accuracy in alarms], np.float64),
            self._count_memory(_memory_of(model)),
        )


def _memory_of(model: Any) -> Memory | None:
    """The learner's own count of its memory; None if it has none."""
    found = model.memory() if callable(getattr(model, "memory", None)) else None
    return found if isinstance(found, Memory) else None


def as_recording(stream: Any, label: str = "", initial: int = INITIAL, progress: Progress = silent) -> Recording:
    """Return the `Recording` of a table (path or frame, with its `label` column), a river or a CapyMOA stream."""
    if isinstance(stream, Recording):
        return stream
    if is_foreign(stream):
        return foreign_recording(stream, initial, progress=progress)
    if isinstance(stream, str | Path | Table) or is_frame(stream):
        if not label:
            raise ConfigError("the stream is a table: name its label column, such as label='class'")
        return TableRecording(stream, label, initial, progress=progress)
    raise ConfigError(f"{no_table(stream)}; other streams are (X, y) and those of river and CapyMOA")


def prequential(
    learner: Any,
    stream: Any,
    initial: int = INITIAL,
    label: str = "",
    supervision: Supervision = FULL,
    seed: int = 0,
    progress: Progress = silent,
) -> LearnerRun:
    """Test-then-train evaluation: fit a learner on the start of a stream, then test and train it sample by sample.

    Parameters
    ----------
    learner : object
        Object with `fit(X, y)` and `run(X, y)`, or a classifier of river or scikit-learn.
    stream : Stream, (X, y), path, frame or object
        Samples in the order of time: X has shape (n, d), y (n,); or a table (CSV, TSV, ARFF, Parquet or NPZ file,
        pandas or polars frame, pyarrow Table or Dataset) with its column `label`; or a river dataset, a
        CapyMOA stream, or the name of one ("river:Phishing", "capymoa:SEA").
    initial : int
        Number of samples to fit on; ignored for a `Stream`, which has its own initial training set.
    label : str
        Label column of a table.
    supervision : Supervision
        Which labels the learner gets, and when; the accuracy is always that against the true labels.
    seed : int
        Seed of the labels that are missing or wrong.
    progress : Progress
        Called after each block of a table.

    Returns
    -------
    LearnerRun
        With `metrics` and `trace`; `seconds` excludes the initial fit.

    Examples
    --------
    >>> from tmlcd_core import CondensingInTime
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 600)
    >>> X = rng.normal(size=(600, 4)) + y[:, None]
    >>> round(prequential(CondensingInTime(), (X, y)).metrics.accuracy, 3)
    0.74
    """
    if isinstance(stream, Stream):
        blocks: Iterable[tuple[NDArray, NDArray]] = ((stream.X0, stream.y0), (stream.X, stream.y))
        changes, ends, classes = stream.scenario.known_changes, stream.ends, stream.classes
    elif isinstance(stream, tuple | list) and len(stream) == 2:
        whole, labels = as_features(stream[0]), np.asarray(stream[1])
        whole_number("initial", initial, 1, max(1, len(whole) - 1))
        blocks = ((whole[:initial], labels[:initial]), (whole[initial:], labels[initial:]))
        changes, ends, classes = (), (), np.unique(labels)
    else:
        recording = as_recording(stream, label, initial, progress)
        blocks = recording.blocks(progress)
        changes, ends, classes = None, None, np.array(recording.classes)
    return follow_blocks({"": learner}, blocks, partial(Teacher, supervision, classes, seed))[""].result(changes, ends)


def follow_blocks(
    learners: Mapping[str, Any],
    blocks: Iterable[tuple[NDArray, NDArray]],
    teachers: Callable[[], Teacher],
    keep_trace: bool = True,
) -> dict[str, Follower]:
    """Lead learners over a stream together, block by block, so that it need not fit into memory.

    Parameters
    ----------
    learners : mapping
        Learners by name.
    blocks : iterable of (X, y)
        X (n, d) and y (n,): first the initial samples, then the stream. They are joined if a learner has the attribute
        `needs_whole_stream`.
    teachers : callable
        Function that returns a new `Teacher` for each learner.
    keep_trace : bool
        As in `Follower`.

    Returns
    -------
    dict
        The `Follower` of each learner.
    """
    if any(getattr(one, "needs_whole_stream", False) for one in learners.values()):
        blocks = _joined(blocks)
    found: dict[str, Follower] = {}
    for number, (X, y) in enumerate(blocks):
        if not found:
            found = {name: Follower(one, X, y, teachers(), keep_trace) for name, one in learners.items()}
            continue
        for follower in found.values():
            follower.follow(X, y)
        if number > 1:  # no later block has the same samples
            distance_cache.clear()
    return found


def _joined(blocks: Iterable[tuple[NDArray, NDArray]]) -> Iterator[tuple[NDArray, NDArray]]:
    """The initial samples, then all others in one block."""
    first, *others = blocks
    yield first
    yield np.concatenate([X for X, _ in others]), np.concatenate([y for _, y in others])
