"""Runs of the Drift lab with caches for feature pools, streams, traces and inspections.

All visitors share the caches, whose entries never change. The experiment is the key: that of an upload contains the
random name of its folder, so no other visitor can find it.
"""

import math
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any

import streamlit as st

from pages.views.drift_lab.upload import Upload
from tmlcd_core.datasets import FeatureCache
from tmlcd_core.datasets.folder import left_out
from tmlcd_core.experiments import Experiment, LearnerRun, Metrics
from tmlcd_core.experiments.inspection import Inspection, inspect_sample
from tmlcd_core.learners import Trace
from tmlcd_core.progress import Progress, report_step, reporting_steps
from tmlcd_core.streams import Scenario, Stream, compose
from tmlcd_core.streams.feature_pools import FeaturePool, SourcePool
from tmlcd_core.streams.tables import TableRecording
from tmlcd_core.viz.palette import learner_style

PREPARED = "lab prepared"
GOOD = "lab good"  # the last run of the lab in this session
MOST_TRACES = 4  # per learner and stream, each for another range of thresholds
UPLOAD_FEATURES_MB = 100  # per upload: 35,000 samples
BREATH = 0.1  # s between two reports of a computation, at which the visitor can cancel it
MOST_PREPARED = 32  # prepared streams remembered per session


@dataclass(frozen=True)
class LabRun:
    """Experiment that has run. It holds keys instead of arrays, so a session can keep it at no cost.

    `upload` keeps the folder of the visitor's data alive; `remark` names the unusable files of a folder.
    """

    experiment: Experiment
    scenario: Scenario
    upload: Upload | None
    remark: str = ""

    @property
    def feature_pool(self) -> FeaturePool:
        """Feature pool of the experiment's data."""
        return pool_of(self.experiment, self.cache)

    @property
    def stream(self) -> Stream:
        """Stream of the run; its arrays are read-only."""
        return stream_of(self._stream_key(), self)

    @property
    def traces(self) -> dict[str, Trace]:
        """Trace of each learner by its name."""
        return {name: self.trace(name) for name in self.experiment.learner_names}

    def trace(self, name: str) -> Trace:
        """Return a learner's trace; a cached one if the threshold h is within the range that gives the same trace."""
        settings = self.experiment.learner_settings(name, self.scenario)
        threshold = settings.pop("threshold", None)
        earlier = earlier_runs(repr((self._stream_key(), name, settings, self.experiment.supervision)))
        with earlier.held():
            for trace in earlier.traces:
                low, high = trace.thresholds()
                if threshold is None or low < threshold <= high:
                    return trace
            trace = self.experiment.learner_run(name, self.stream).trace
            assert trace is not None
            earlier.traces.append(trace)
            return trace

    def inspection(self, name: str, sample: int) -> Inspection:
        """Return a learner's training set, prediction and neighbours at a sample."""
        settings = self.experiment.learner_settings(name, self.scenario)
        key = f"{self._stream_key()} {name} {settings} {self.experiment.supervision}"
        return inspection_of(key, self, name, sample)

    @property
    def cache(self) -> str | None:
        """Folder with the features of an upload; None for other data."""
        return self.upload.cache if self.upload else None

    @property
    def features(self) -> FeatureCache | None:
        """Feature cache of an upload; None for other data."""
        return features_in(self.cache)

    def _stream_key(self) -> str:
        """Return the cache key of the stream as text, which is hashed fast."""
        return repr((self.experiment.stream_key(), self.scenario, self.cache))

    @property
    def tested(self) -> list[str]:
        """Learners with a change-detection test."""
        return [name for name, found in self.settings.items() if "detector" in found]

    @property
    def settings(self) -> dict[str, dict[str, Any]]:
        """Settings of each learner by its name."""
        return {name: self.experiment.learner_settings(name, self.scenario) for name in self.experiment.learner_names}

    @property
    def metrics(self) -> dict[str, Metrics]:
        """Metrics of each learner, without the time per sample (benchmarks measure it)."""
        found = {}
        for name, trace in self.traces.items():
            settings = self.experiment.learner_settings(name, self.scenario)
            window = int(settings.get("window", 0))
            found[name] = LearnerRun.of(trace, self.stream, window, math.nan, name in self.tested).metrics
        return found


def run(experiment: Experiment, own: Upload | None, progress: Progress) -> LabRun:
    """Prepare the stream of an experiment, run its learners and return the run."""
    about = experiment.stream_key()
    ready: dict[str, tuple[Scenario, str]] = st.session_state.setdefault(PREPARED, {})
    if about not in ready:
        while len(ready) >= MOST_PREPARED:
            ready.pop(next(iter(ready)))
        feature_pool = pool_of(experiment, own.cache if own else None)
        scenario = experiment.prepare(feature_pool, progress)
        is_folder = isinstance(feature_pool, SourcePool) and own is None  # an upload has reported them already
        ready[about] = scenario, left_out(feature_pool.skipped) if is_folder else ""
        if isinstance(feature_pool, TableRecording):
            ready[about] = scenario, " ".join(feature_pool.notes)
    scenario, remark = ready[about]
    found = LabRun(experiment, scenario, own, remark)
    names = experiment.learner_names
    for number, name in enumerate(names):
        tell = partial(_tell_learner, progress, number, len(names), f"running {learner_style(name).name}")
        tell(0, 1)
        with reporting_steps(tell):
            found.trace(name)
    return found


def _tell_learner(
    progress: Progress, number: int, learners: int, what: str, done: int, total: int, _: str = ""
) -> None:
    """Report `done` of `total` samples of a learner as a part of the whole run."""
    progress(number * total + done, learners * total, what)


def pool_of(experiment: Experiment, cache: str | None) -> FeaturePool:
    """Return the feature pool of an experiment; `cache` is an upload's folder."""
    if experiment.is_recorded:
        return recording_of(experiment.stream_key(), experiment, cache)
    return feature_pool_of(experiment.data, spoken(experiment), experiment.extractor, cache)


@st.cache_resource(max_entries=16, ttl=60, show_spinner=False)
def recording_of(key: str, _experiment: Experiment, cache: str | None) -> FeaturePool:
    """Return the recorded stream of an experiment with this `stream_key`."""
    return _experiment.feature_pool(features_in(cache))


# ttl: a folder may get new files.
@st.cache_resource(max_entries=16, ttl=60, show_spinner=False)
def feature_pool_of(
    data: str, words: tuple[str, ...], extractor: tuple[tuple[str, Any], ...], cache: str | None
) -> FeaturePool:
    """Return the feature pool of a source or folder with an experiment's extractor.

    `words` are extra words of speech, `cache` is the folder of an upload.
    """
    return Experiment(data, max(2, len(words)), words, extractor=dict(extractor)).feature_pool(features_in(cache))


def features_in(cache: str | None) -> FeatureCache | None:
    """Return the feature cache of an upload; None for the server's own."""
    return FeatureCache(cache, UPLOAD_FEATURES_MB) if cache else None


def spoken(experiment: Experiment) -> tuple[str, ...]:
    """Return the words that a speech experiment adds to the default ones."""
    return tuple(name for name in (*experiment.words, experiment.new) if name and experiment.data.startswith("speech"))


# `_found` is not part of the cache keys below: `key` contains all that matters.


@st.cache_resource(max_entries=6, show_spinner=False)
def stream_of(key: str, _found: LabRun) -> Stream:
    """Return the stream of a run with read-only arrays."""
    with reporting_steps(_let_stop):
        stream = compose(_found.scenario, _found.feature_pool, _found.experiment.seed)
    for array in (stream.X0, stream.y0, stream.X, stream.y):
        array.setflags(write=False)
    return stream


def _let_stop(done: int, total: int, what: str) -> None:
    """Let Streamlit end this run if another one is asked for, without an element: a cached function draws none."""
    st.session_state.get(GOOD)


class EarlierRuns:
    """Traces of one learner over one stream with different thresholds; the lock prevents computing one twice."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.traces: deque[Trace] = deque(maxlen=MOST_TRACES)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock; the visitor can cancel while another one computes the same trace."""
        while not self._lock.acquire(timeout=BREATH):
            report_step(0, 1, "waiting")
        try:
            yield
        finally:
            self._lock.release()


@st.cache_resource(max_entries=24, show_spinner=False)
def earlier_runs(key: str) -> EarlierRuns:
    """Return the cached traces of a learner and stream."""
    return EarlierRuns()


@st.cache_resource(max_entries=64, show_spinner=False)
def inspection_of(key: str, _found: LabRun, name: str, sample: int) -> Inspection:
    """Return the cached inspection of one sample."""
    experiment = _found.experiment
    learner = experiment.learner(name, _found.scenario)
    return inspect_sample(learner, _found.stream, sample, experiment.supervision, experiment.seed)
