"""Twenty runs with mean and bands: a run at each tick of a fragment, so that cancelling works between any two."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import streamlit as st

from pages.shell.computation import Busy, InSteps
from pages.shell.url_widgets import as_text, show_fault
from pages.views.drift_lab.runs import LabRun
from tmlcd_core.datasets import FeatureCache
from tmlcd_core.errors import TmlcdError
from tmlcd_core.experiments import Experiment, Run, summarise
from tmlcd_core.progress import Progress
from tmlcd_core.viz.lab import bands_of, spreads
from tmlcd_core.viz.player import PlayerRun

RUNS = 20  # as in the paper
TICK = 0.1  # s between two steps
JOB, DONE, FAILED, TOGGLE = "lab job", "lab bands", "lab failed", "bands"


@dataclass(frozen=True)
class Bands:
    """What is left of the runs when they are done: curves and a table."""

    experiment: Experiment
    shown: PlayerRun
    table: dict[str, list[str]]


class Job:
    """Runs of an experiment with seeds one after the other; each step lets one learner run over one stream.

    `steps` claims to be this visitor's only long computation.
    """

    def __init__(self, experiment: Experiment, cache: FeatureCache | None) -> None:
        self.experiment = experiment
        self.cache = cache
        self.runs: list[Run] = []
        self.done = 0  # steps of this run
        self.steps = InSteps(f"the {RUNS} runs of the Drift lab")
        self._steps: Iterator[tuple[str, Run | None]] | None = None

    @property
    def share(self) -> float:
        """Of all steps, how many are done: 0 to 1."""
        return min(1.0, (len(self.runs) + self.done / len(self.experiment.learner_names)) / RUNS)

    def step(self, progress: Progress) -> None:
        if self._steps is None:
            one = replace(self.experiment, seed=self.experiment.seed + len(self.runs))
            self._steps = one.steps(one.stream(one.feature_pool(self.cache), progress))
        _, run = next(self._steps)
        self.done += 1
        if run is not None:
            self.runs.append(run)
            self.done, self._steps = 0, None


def bands(found: LabRun, title: str, threshold: float) -> Bands | None:
    """The bands of this experiment if they are done; if not, they are worked on where this is called."""
    done: Bands | None = st.session_state.get(DONE)
    if done is not None and done.experiment == found.experiment:
        return done
    failed = st.session_state.get(FAILED)
    if failed is not None and failed[0] == found.experiment:
        show_fault(failed[1])
        return None
    job: Job | None = st.session_state.get(JOB)
    if job is None or job.experiment != found.experiment:
        drop()
        st.session_state[JOB] = Job(found.experiment, found.features)
    st.fragment(work, run_every=TICK)(title, threshold)
    return None


def cancel() -> None:
    """Stop between two steps: the toggle goes off, and with it the job."""
    st.session_state[TOGGLE] = False
    drop()


def drop() -> None:
    """Forget the job, so that another long computation may begin."""
    if (job := st.session_state.pop(JOB, None)) is not None:
        job.steps.finish()


def work(title: str, threshold: float) -> None:
    """One step, its progress and the button that stops it."""
    job: Job | None = st.session_state.get(JOB)
    if job is None:  # cancelled, failed or done: the page has to be drawn without this
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center"):
        bar = st.progress(job.share, text=f"Run {min(len(job.runs) + 1, RUNS)} of {RUNS} …")
        st.button("Cancel", on_click=cancel, icon=":material/stop_circle:", key="cancel bands")
    try:
        with job.steps.step():
            job.step(lambda done, total, what: bar.progress(job.share, text=f"Run {len(job.runs) + 1}: {what} …"))
    except Busy as fault:  # the next tick asks again
        bar.progress(job.share, text=as_text(f"{fault}."))
    except TmlcdError as fault:
        st.session_state[FAILED] = job.experiment, str(fault)
        drop()
        st.rerun()
    if len(job.runs) == RUNS:
        shown = bands_of(f"{title}, average of {RUNS} runs", job.runs, threshold)
        summary = {
            name: summarise([run.learners[name].metrics for run in job.runs]) for name in job.experiment.learner_names
        }
        st.session_state[DONE] = Bands(job.experiment, shown, spreads(summary))
        drop()
        st.rerun()
