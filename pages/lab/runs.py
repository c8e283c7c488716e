"""From a trial to its run, with everything kept that the next change of a setting can use again.

What is kept is shared by all visitors, never changed, and found by the trial alone: an upload's trial names a folder
that nobody else can know.
"""

from dataclasses import dataclass

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

PREPARED = "lab prepared"
MOST_PREPARED = 32  # streams of one visit that are remembered to be ready


@dataclass(frozen=True)
class LabRun:
    """A trial that has run; `upload` keeps its folder alive."""

    trial: Trial
    scenario: Scenario
    stream: Stream
    traces: dict[str, Trace]
    upload: Upload | None

    @property
    def metrics(self) -> dict[str, Metrics]:
        """Figures of each learner; the time per sample is left to the benchmarks."""
        windows = {name: int(self.trial.learner_settings(name).get("window", 0)) for name in self.traces}
        return {
            name: LearnerRun.of(trace, self.stream, windows[name], float("nan")).metrics
            for name, trace in self.traces.items()
        }


def run(trial: Trial, own: Upload | None, progress: Progress) -> LabRun:
    """Run the learners of a trial over its stream."""
    about, cache = trial.about_stream, own.cache if own else None
    ready: dict[Trial, Scenario] = st.session_state.setdefault(PREPARED, {})
    if about not in ready:
        while len(ready) >= MOST_PREPARED:
            ready.pop(next(iter(ready)))
        ready[about] = trial.prepare(material_of(about, cache), progress)
    scenario = ready[about]
    stream = stream_of(about, scenario, cache)
    traces = {}
    for done, name in enumerate(trial.learners):
        progress(done, len(trial.learners), f"running {name}")
        settings = tuple(trial.learner_settings(name).items())
        traces[name] = trace_of(about, scenario, cache, name, settings, trial)
    return LabRun(trial, scenario, stream, traces, own)


@st.cache_resource(max_entries=16, show_spinner=False)
def material_of(about: Trial, cache: str | None) -> Material:
    return about.material(FeatureCache(cache) if cache else None)


@st.cache_resource(max_entries=6, show_spinner=False)
def stream_of(about: Trial, scenario: Scenario, cache: str | None) -> Stream:
    stream = compose(scenario, material_of(about, cache), about.seed)
    for array in (stream.X0, stream.y0, stream.X, stream.y):
        array.setflags(write=False)
    return stream


# The trial is left out of the key: a learner's settings, not the others', decide about its run.
@st.cache_resource(max_entries=64, show_spinner=False)
def trace_of(about: Trial, scenario: Scenario, cache: str | None, name: str, settings: tuple, _trial: Trial) -> Trace:
    stream = stream_of(about, scenario, cache)
    return _trial.learner(name).fit(stream.X0, stream.y0).run(stream.X, stream.y)


@st.cache_resource(max_entries=64, show_spinner=False)
def closeup_of(
    about: Trial, scenario: Scenario, cache: str | None, name: str, settings: tuple, sample: int, _trial: Trial
) -> Closeup:
    return closeup(_trial.learner(name), stream_of(about, scenario, cache), sample)


def closeups(found: LabRun, sample: int) -> dict[str, Closeup]:
    """What every learner knew and said at one sample."""
    trial, cache = found.trial, found.upload.cache if found.upload else None
    return {
        name: closeup_of(
            trial.about_stream,
            found.scenario,
            cache,
            name,
            tuple(trial.learner_settings(name).items()),
            sample,
            trial,
        )
        for name in trial.learners
    }


def material(found: LabRun) -> Material:
    """What the run's stream was made of."""
    return material_of(found.trial.about_stream, found.upload.cache if found.upload else None)
