"""From a trial to its run, with everything kept that the next change of a setting can use again.

What is kept is shared by all visitors, never changed, and found by the trial alone: an upload's trial names a folder
that nobody else can know.
"""

import math
from dataclasses import dataclass
from typing import Any

import streamlit as st

from pages.lab.upload import Upload
from tmlcd_core.datasets import FeatureCache
from tmlcd_core.experiments import Metrics, Scenario, Stream, compose
from tmlcd_core.experiments.closeup import Closeup, closeup
from tmlcd_core.experiments.experiment import LearnerRun
from tmlcd_core.experiments.material import Material
from tmlcd_core.experiments.trial import Trial
from tmlcd_core.learners import Trace
from tmlcd_core.progress import Progress
from tmlcd_core.viz.palette import LEARNERS

PREPARED = "lab prepared"
MOST_PREPARED = 32  # streams of one visit that are remembered to be ready


@dataclass(frozen=True)
class LabRun:
    """A trial that has run. It holds names, not arrays: what a session keeps of it weighs nothing.

    `upload` keeps the folder of the visitor's own data alive.
    """

    trial: Trial
    scenario: Scenario
    upload: Upload | None

    @property
    def material(self) -> Material:
        return material_of(self.trial.data, self.trial.words, self._cache)

    @property
    def stream(self) -> Stream:
        return stream_of(self.trial.about_stream, self.scenario, self._cache)

    @property
    def traces(self) -> dict[str, Trace]:
        return {name: self.trace(name) for name in self.trial.learners}

    def trace(self, name: str) -> Trace:
        return trace_of(self.trial.about_stream, self.scenario, self._cache, name, self._settings(name), self.trial)

    def closeup(self, name: str, sample: int) -> Closeup:
        settings = self._settings(name)
        return closeup_of(self.trial.about_stream, self.scenario, self._cache, name, settings, sample, self.trial)

    @property
    def metrics(self) -> dict[str, Metrics]:
        """Figures of each learner; the time per sample is left to the benchmarks."""
        windows = {name: int(self.trial.learner_settings(name).get("window", 0)) for name in self.trial.learners}
        return {
            name: LearnerRun.of(trace, self.stream, windows[name], math.nan).metrics
            for name, trace in self.traces.items()
        }

    @property
    def _cache(self) -> str | None:
        return self.upload.cache if self.upload else None

    def _settings(self, name: str) -> tuple[tuple[str, Any], ...]:
        return tuple(self.trial.learner_settings(name).items())


def run(trial: Trial, own: Upload | None, progress: Progress) -> LabRun:
    """Run the learners of a trial over its stream."""
    about = trial.about_stream
    ready: dict[Trial, Scenario] = st.session_state.setdefault(PREPARED, {})
    if about not in ready:
        while len(ready) >= MOST_PREPARED:
            ready.pop(next(iter(ready)))
        material = material_of(trial.data, trial.words, own.cache if own else None)
        ready[about] = trial.prepare(material, progress)
    found = LabRun(trial, ready[about], own)
    for done, name in enumerate(trial.learners):
        progress(done, len(trial.learners), f"running {LEARNERS[name].name}")
        found.trace(name)
    return found


# A folder is looked at again after a while: files may have come.
@st.cache_resource(max_entries=16, ttl=60, show_spinner=False)
def material_of(data: str, words: tuple[str, ...], cache: str | None) -> Material:
    return Trial(data, words=words).material(FeatureCache(cache) if cache else None)


@st.cache_resource(max_entries=6, show_spinner=False)
def stream_of(about: Trial, scenario: Scenario, cache: str | None) -> Stream:
    stream = compose(scenario, material_of(about.data, about.words, cache), about.seed)
    for array in (stream.X0, stream.y0, stream.X, stream.y):
        array.setflags(write=False)
    return stream


# The trial is left out of the key: a learner's own settings decide about its run, and no other's.
@st.cache_resource(max_entries=64, show_spinner=False)
def trace_of(about: Trial, scenario: Scenario, cache: str | None, name: str, settings: tuple, _trial: Trial) -> Trace:
    stream = stream_of(about, scenario, cache)
    return _trial.learner(name).fit(stream.X0, stream.y0).run(stream.X, stream.y)


@st.cache_resource(max_entries=64, show_spinner=False)
def closeup_of(
    about: Trial, scenario: Scenario, cache: str | None, name: str, settings: tuple, sample: int, _trial: Trial
) -> Closeup:
    return closeup(_trial.learner(name), stream_of(about, scenario, cache), sample)
