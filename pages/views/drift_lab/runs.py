"""From an experiment to its run, with everything kept that the next change of a setting can use again.

What is kept is shared by all visitors, never changed, and found by the experiment alone: an upload's names a folder
that nobody else can know.
"""

import math
from collections import deque
from dataclasses import dataclass
from threading import Lock

import streamlit as st

from pages.views.drift_lab.upload import Upload
from tmlcd_core.datasets import FeatureCache
from tmlcd_core.datasets.folder import left_out
from tmlcd_core.experiments import Experiment, LearnerRun, Metrics
from tmlcd_core.experiments.inspection import Inspection, inspect_sample
from tmlcd_core.learners import Trace
from tmlcd_core.progress import Progress
from tmlcd_core.streams import Scenario, Stream, compose
from tmlcd_core.streams.feature_pools import FeaturePool, SourcePool
from tmlcd_core.viz.palette import style

PREPARED = "lab prepared"
MOST_TRACES = 4  # of one learner over one stream, with thresholds that make a difference
UPLOAD_FEATURES_MB = 100  # of one upload: 35,000 samples
MOST_PREPARED = 32  # streams of one visit that are remembered to be ready


@dataclass(frozen=True)
class LabRun:
    """An experiment that has run. It holds names, not arrays: what a session keeps of it weighs nothing.

    `upload` keeps the folder of the visitor's own data alive; `remark` tells which files of a folder are of no use.
    """

    experiment: Experiment
    scenario: Scenario
    upload: Upload | None
    remark: str = ""

    @property
    def feature_pool(self) -> FeaturePool:
        return feature_pool_of(self.experiment.data, spoken(self.experiment), self.cache)

    @property
    def stream(self) -> Stream:
        return stream_of(self._stream_key(), self)

    @property
    def traces(self) -> dict[str, Trace]:
        return {name: self.trace(name) for name in self.experiment.learner_names}

    def trace(self, name: str) -> Trace:
        """A learner's run, or an earlier one that its threshold leaves as it is: few moves of h change a run."""
        settings = self.experiment.learner_settings(name, self.scenario)
        threshold = settings.pop("threshold", None)
        earlier = earlier_runs(repr((self._stream_key(), name, settings)))
        with earlier.lock:
            for trace in earlier.traces:
                low, high = trace.thresholds()
                if threshold is None or low < threshold <= high:
                    return trace
            stream = self.stream
            trace = self.experiment.learner(name, self.scenario).fit(stream.X0, stream.y0).run(stream.X, stream.y)
            earlier.traces.append(trace)
            return trace

    def inspection(self, name: str, sample: int) -> Inspection:
        settings = self.experiment.learner_settings(name, self.scenario)
        return inspection_of(f"{self._stream_key()} {name} {settings}", self, name, sample)

    @property
    def cache(self) -> str | None:
        """Folder of the features of an upload."""
        return self.upload.cache if self.upload else None

    @property
    def features(self) -> FeatureCache | None:
        return features_in(self.cache)

    def _stream_key(self) -> str:
        """All that decides about the stream: text is hashed in no time."""
        return repr((self.experiment.stream_key(), self.scenario, self.cache))

    @property
    def tested(self) -> list[str]:
        """Learners with a change-detection test."""
        settings = {
            name: self.experiment.learner_settings(name, self.scenario) for name in self.experiment.learner_names
        }
        return [name for name, found in settings.items() if "detector" in found]

    @property
    def metrics(self) -> dict[str, Metrics]:
        """Figures of each learner; the time per sample is left to the benchmarks."""
        found = {}
        for name, trace in self.traces.items():
            settings = self.experiment.learner_settings(name, self.scenario)
            window = int(settings.get("window", 0))
            found[name] = LearnerRun.of(trace, self.stream, window, math.nan, name in self.tested).metrics
        return found


def run(experiment: Experiment, own: Upload | None, progress: Progress) -> LabRun:
    """Run the learners of an experiment over its stream."""
    about = experiment.stream_key()
    ready: dict[str, tuple[Scenario, str]] = st.session_state.setdefault(PREPARED, {})
    if about not in ready:
        while len(ready) >= MOST_PREPARED:
            ready.pop(next(iter(ready)))
        feature_pool = feature_pool_of(experiment.data, spoken(experiment), own.cache if own else None)
        scenario = experiment.prepare(feature_pool, progress)
        is_folder = isinstance(feature_pool, SourcePool) and own is None  # an upload has told it already
        ready[about] = scenario, left_out(feature_pool.skipped) if is_folder else ""
    scenario, remark = ready[about]
    found = LabRun(experiment, scenario, own, remark)
    for done, name in enumerate(experiment.learner_names):
        progress(done, len(experiment.learner_names), f"running {style(name).name}")
        found.trace(name)
    return found


# A folder is looked at again after a while: files may have come.
@st.cache_resource(max_entries=16, ttl=60, show_spinner=False)
def feature_pool_of(data: str, words: tuple[str, ...], cache: str | None) -> FeaturePool:
    classes = max(2, len(words))
    return Experiment(data, classes, words).feature_pool(features_in(cache))


def features_in(cache: str | None) -> FeatureCache | None:
    """The features of an upload; None for the server's own."""
    return FeatureCache(cache, UPLOAD_FEATURES_MB) if cache else None


def spoken(experiment: Experiment) -> tuple[str, ...]:
    """The words that speech has to say besides its own."""
    return tuple(name for name in (*experiment.words, experiment.new) if name and experiment.data.startswith("speech"))


# The runs themselves are left out of the keys below, which say what of them matters.


@st.cache_resource(max_entries=6, show_spinner=False)
def stream_of(key: str, _found: LabRun) -> Stream:
    stream = compose(_found.scenario, _found.feature_pool, _found.experiment.seed)
    for array in (stream.X0, stream.y0, stream.X, stream.y):
        array.setflags(write=False)
    return stream


class EarlierRuns:
    """Runs of one learner over one stream that differ in the threshold; who needs a new one makes others wait."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.traces: deque[Trace] = deque(maxlen=MOST_TRACES)


@st.cache_resource(max_entries=24, show_spinner=False)
def earlier_runs(key: str) -> EarlierRuns:
    return EarlierRuns()


@st.cache_resource(max_entries=64, show_spinner=False)
def inspection_of(key: str, _found: LabRun, name: str, sample: int) -> Inspection:
    return inspect_sample(_found.experiment.learner(name, _found.scenario), _found.stream, sample)
