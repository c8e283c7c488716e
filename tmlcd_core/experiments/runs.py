"""Test-then-train (prequential) evaluation: every sample is predicted before it is learned."""

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

INITIAL = 100  # default number of samples that a learner is fitted on


@dataclass(frozen=True)
class LearnerRun:
    """Result of one learner in one run.

    `correct` and `sizes` have shape (n,), one entry per sample; `detections` and `change_points` have one entry per
    alarm. `trace` is the full trace of the learner, None for a run read from a file.
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
        """Return the `LearnerRun` of a trace and its stream."""
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
        """Return the `LearnerRun` of recorded arrays, with its metrics.

        `arrays` are correct, sizes, detections and change points; `kept` are window, n_features, seconds and has_test.
        """
        window, n_features, seconds, has_test = kept
        metrics = evaluate(*arrays, changes, ends, n_features, window, seconds, has_test)
        return cls(*arrays, metrics, *kept, trace)


def trace_arrays(trace: Trace, y: NDArray) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Return correct (n,), sizes (n,), detections and change points of a trace, given the labels y (n,)."""
    correct = np.asarray(trace.predictions == y)
    return correct, np.asarray(trace.sizes, np.int32), trace.detections, trace.change_points


@dataclass(frozen=True)
class Run:
    """Result of one run of an experiment: seed, scenario with its drawn classes, and the result of each learner."""

    seed: int
    scenario: Scenario
    learners: dict[str, LearnerRun]

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


def prequential(learner: Any, stream: Stream | tuple[Any, Any], initial: int = INITIAL) -> LearnerRun:
    """Test-then-train evaluation: fit a learner on the start of a stream, then test and train it sample by sample.

    Parameters
    ----------
    learner : object
        Object with `fit(X, y)` and `run(X, y)`, or a classifier of river or scikit-learn.
    stream : Stream, or (X, y)
        Samples in the order of time; X has shape (n, d), y (n,).
    initial : int
        Number of samples to fit on; ignored for a `Stream`, which has its own initial training set.

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
