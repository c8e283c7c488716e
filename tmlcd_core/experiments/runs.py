"""Test-then-train evaluation: every sample is predicted before it is learned."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.errors import ConfigError
from tmlcd_core.experiments.evaluation import Metrics, evaluate
from tmlcd_core.streams.scenario import Scenario
from tmlcd_core.streams.stream import Stream
from tmlcd_core.validation import as_features, whole_number

if TYPE_CHECKING:
    from tmlcd_core.learners import Trace

INITIAL = 100  # samples that a learner is fitted on, where a stream does not say


@dataclass(frozen=True)
class LearnerRun:
    """What one learner did in one run.

    `correct` and `sizes` have one entry per sample; `trace` has everything, and is None for a run that was read from a
    file.
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
    trace: Trace | None = None

    @classmethod
    def of(cls, trace: Trace, stream: Stream, window: int, seconds: float, has_test: bool) -> LearnerRun:
        """Measure a trace over the stream that made it."""
        kept = (window, stream.X.shape[1], seconds, has_test)
        return cls.measured(trace_arrays(trace, stream.y), stream.changes, stream.ends, kept, trace)

    @classmethod
    def measured(
        cls,
        arrays: tuple[NDArray[np.bool_], NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]],
        changes: Sequence[int],
        ends: Sequence[int],
        kept: tuple[int, int, float, bool],
        trace: Trace | None = None,
    ) -> LearnerRun:
        """Measure `arrays` (correct, sizes, detections, change points); `kept` are the last fields but the trace."""
        window, n_features, seconds, has_test = kept
        metrics = evaluate(*arrays, changes, ends, n_features, window, seconds, has_test)
        return cls(*arrays, metrics, *kept, trace)


def trace_arrays(trace: Trace, y: NDArray) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Correct, sizes, detections and change points of a trace."""
    correct = np.asarray(trace.predictions == y)
    return correct, np.asarray(trace.sizes, np.int32), trace.detections, trace.change_points


@dataclass(frozen=True)
class Run:
    """One run of an experiment: its seed, its scenario with the classes that were drawn, and what each learner did."""

    seed: int
    scenario: Scenario
    learners: dict[str, LearnerRun]

    @property
    def names(self) -> tuple[str, ...]:
        """Every class that takes part."""
        return self.scenario.names

    @property
    def changes(self) -> tuple[int, ...]:
        return self.scenario.changes

    @property
    def ends(self) -> tuple[int, ...]:
        return self.scenario.ends


def as_learner(model: Any) -> Any:
    """A learner with `fit` and `run`: the object itself, or an adapter for a river or scikit-learn classifier."""
    if isinstance(model, type):
        raise ConfigError(f"{model.__name__} is a class: give an object, such as {model.__name__}()")
    if hasattr(model, "fit") and hasattr(model, "run"):
        return model
    if hasattr(model, "learn_one"):
        from tmlcd_core.learners import RiverLearner

        return RiverLearner(model)
    if hasattr(model, "fit") and hasattr(model, "predict"):
        from tmlcd_core.learners import SklearnLearner

        return SklearnLearner(model)
    raise ConfigError(
        f"{model!r} is no learner: give an object with fit and run, or a classifier of river or scikit-learn"
    )


def prequential(learner: Any, stream: Stream | tuple[Any, Any], initial: int = INITIAL) -> LearnerRun:
    """Fit a learner on the beginning of a stream, then test and train it on the rest, sample by sample.

    Parameters
    ----------
    learner : object
        Anything with `fit(X, y)` and `run(X, y)`, or a classifier of river or scikit-learn.
    stream : Stream, or (X, y)
        Samples in the order of time; X has shape (n, d), y (n,).
    initial : int
        Samples that the learner is fitted on; a `Stream` has its own.

    Returns
    -------
    LearnerRun
        With `metrics` and `trace`; its seconds are those of the run alone.

    Examples
    --------
    >>> from tmlcd_core import CondensingInTime
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 600)
    >>> X = rng.normal(size=(600, 4)) + y[:, None]
    >>> round(prequential(CondensingInTime(), (X, y)).metrics.accuracy, 3)
    0.74
    """
    model = as_learner(learner)
    if isinstance(stream, Stream):
        X0, y0, X, y, changes, ends = stream.X0, stream.y0, stream.X, stream.y, stream.changes, stream.ends
    else:
        whole, labels = as_features(stream[0]), np.asarray(stream[1])
        whole_number("initial", initial, 1, max(1, len(whole) - 1))
        X0, y0, X, y = whole[:initial], labels[:initial], whole[initial:], labels[initial:]
        changes = ends = ()
    model.fit(X0, y0)
    started = time.perf_counter()
    trace = model.run(X, y)
    seconds = time.perf_counter() - started
    has_test = getattr(model, "detector_", None) is not None
    kept = (int(getattr(model, "window", 0)), X.shape[1], seconds, has_test)
    return LearnerRun.measured(trace_arrays(trace, y), changes, ends, kept, trace)
