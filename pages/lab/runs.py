"""From a trial to its run, with everything kept that the next change of a setting can use again.

What is kept is shared by all visitors, never changed, and found by the trial alone: an upload's trial names a folder
that nobody else can know.
"""

import math
from collections import deque
from dataclasses import dataclass
from threading import Lock

import streamlit as st

from pages.lab.upload import Upload
from tmlcd_core.datasets import FeatureCache
from tmlcd_core.datasets.folder import left_out
from tmlcd_core.experiments import Metrics, Scenario, Stream, compose
from tmlcd_core.experiments.closeup import Closeup, closeup
from tmlcd_core.experiments.experiment import LearnerRun
from tmlcd_core.experiments.material import Material, SourceMaterial
from tmlcd_core.experiments.trial import Trial
from tmlcd_core.learners import Trace
from tmlcd_core.progress import Progress
from tmlcd_core.viz.palette import style

PREPARED = "lab prepared"
MOST_TRACES = 4  # of one learner over one stream, with thresholds that make a difference
UPLOAD_FEATURES_MB = 100  # of one upload: 35,000 samples
MOST_PREPARED = 32  # streams of one visit that are remembered to be ready


@dataclass(frozen=True)
class LabRun:
    """A trial that has run. It holds names, not arrays: what a session keeps of it weighs nothing.

    `upload` keeps the folder of the visitor's own data alive; `remark` tells which files of a folder are of no use.
    """

    trial: Trial
    scenario: Scenario
    upload: Upload | None
    remark: str = ""

    @property
    def material(self) -> Material:
        return material_of(self.trial.data, self.trial.words, self.cache)

    @property
    def stream(self) -> Stream:
        return stream_of(self._stream_key(), self)

    @property
    def traces(self) -> dict[str, Trace]:
        return {name: self.trace(name) for name in self.trial.learners}

    def trace(self, name: str) -> Trace:
        """A learner's run, or an earlier one that its threshold leaves as it is: few moves of h change a run."""
        settings = self.trial.learner_settings(name)
        threshold = settings.pop("threshold", None)
        earlier = earlier_runs(repr((self._stream_key(), name, settings)))
        with earlier.lock:
            for trace in earlier.traces:
                low, high = trace.thresholds()
                if threshold is None or low < threshold <= high:
                    return trace
            stream = self.stream
            trace = self.trial.learner(name).fit(stream.X0, stream.y0).run(stream.X, stream.y)
            earlier.traces.append(trace)
            return trace

    def closeup(self, name: str, sample: int) -> Closeup:
        return closeup_of(f"{self._stream_key()} {self.trial.learner_settings(name)}", self, name, sample)

    @property
    def cache(self) -> str | None:
        """Folder of the features of an upload."""
        return self.upload.cache if self.upload else None

    @property
    def features(self) -> FeatureCache | None:
        return features_in(self.cache)

    def _stream_key(self) -> str:
        """All that decides about the stream: text is hashed in no time."""
        return repr((self.trial.about_stream, self.scenario, self.cache))

    @property
    def tested(self) -> list[str]:
        """Learners with a change-detection test."""
        return [name for name in self.trial.learners if "detector" in self.trial.learner_settings(name)]

    @property
    def metrics(self) -> dict[str, Metrics]:
        """Figures of each learner; the time per sample is left to the benchmarks."""
        found = {}
        for name, trace in self.traces.items():
            window = int(self.trial.learner_settings(name).get("window", 0))
            found[name] = LearnerRun.of(trace, self.stream, window, math.nan, name in self.tested).metrics
        return found


def run(trial: Trial, own: Upload | None, progress: Progress) -> LabRun:
    """Run the learners of a trial over its stream."""
    about = trial.about_stream
    ready: dict[Trial, tuple[Scenario, str]] = st.session_state.setdefault(PREPARED, {})
    if about not in ready:
        while len(ready) >= MOST_PREPARED:
            ready.pop(next(iter(ready)))
        material = material_of(trial.data, trial.words, own.cache if own else None)
        scenario = trial.prepare(material, progress)
        is_folder = isinstance(material, SourceMaterial) and own is None  # an upload has told it already
        ready[about] = scenario, left_out(material.skipped) if is_folder else ""
    scenario, remark = ready[about]
    found = LabRun(trial, scenario, own, remark)
    for done, name in enumerate(trial.learners):
        progress(done, len(trial.learners), f"running {style(name).name}")
        found.trace(name)
    return found


# A folder is looked at again after a while: files may have come.
@st.cache_resource(max_entries=16, ttl=60, show_spinner=False)
def material_of(data: str, words: tuple[str, ...], cache: str | None) -> Material:
    return Trial(data, words=words).material(features_in(cache))


def features_in(cache: str | None) -> FeatureCache | None:
    """The features of an upload; None for the server's own."""
    return FeatureCache(cache, UPLOAD_FEATURES_MB) if cache else None


# The runs themselves are left out of the keys below, which say what of them matters.


@st.cache_resource(max_entries=6, show_spinner=False)
def stream_of(key: str, _found: LabRun) -> Stream:
    stream = compose(_found.scenario, _found.material, _found.trial.seed)
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
def closeup_of(key: str, _found: LabRun, name: str, sample: int) -> Closeup:
    return closeup(_found.trial.learner(name), _found.stream, sample)
