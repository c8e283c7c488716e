"""Average of 20 runs: some learners per tick of a fragment; the visitor can cancel at any time."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import streamlit as st

from pages.shell.computation import Busy, InSteps
from pages.shell.url_widgets import as_text, show_fault
from pages.views.drift_lab.runs import BREATH, LabRun
from tmlcd_core.datasets import FeatureCache
from tmlcd_core.errors import TmlcdError
from tmlcd_core.experiments import Experiment, Run, summarise
from tmlcd_core.progress import Progress, reporting_steps
from tmlcd_core.viz.lab import bands_of, spreads
from tmlcd_core.viz.player import PlayerRun

RUNS = 20  # as in the paper
TICK = 0.1  # s between two runs of the fragment
SPELL = 0.4  # s of steps in a run of the fragment, at least one; another fragment waits so long
JOB, DONE, FAILED, TOGGLE = "lab job", "lab bands", "lab failed", "bands"


@dataclass(frozen=True)
class Bands:
    """Result of the repeated runs: mean curves with bands, and a table."""

    experiment: Experiment
    shown: PlayerRun
    table: dict[str, list[str]]


class Job:
    """Runs of an experiment with consecutive seeds; each step runs one learner over one stream.

    `steps` claims the visitor's slot for a long computation.
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
        """Progress from 0 to 1."""
        return min(1.0, (len(self.runs) + self.done / len(self.experiment.learner_names)) / RUNS)

    def step(self, progress: Progress) -> None:
        """Run the next learner, on a new stream if the last run is complete.

        If `progress` raises an exception, the next call begins this run again.
        """
        steps, self._steps = self._steps, None
        with reporting_steps(lambda done, total, _: progress(done, total, "running the learners")):
            if steps is None:
                self.done = 0
                one = replace(self.experiment, seed=self.experiment.seed + len(self.runs))
                steps = one.steps(one.stream(one.feature_pool(self.cache), progress))
            _, run = next(steps)
        self.done += 1
        if run is None:
            self._steps = steps
        else:
            self.runs.append(run)
            self.done = 0


def bands(found: LabRun, title: str, threshold: float) -> Bands | None:
    """Return the bands of this experiment if they are ready; otherwise draw the job that computes them."""
    done: Bands | None = st.session_state.get(DONE)
    if done is not None and done.experiment == found.experiment:
        drop()
        return done
    failed = st.session_state.get(FAILED)
    if failed is not None and failed[0] == found.experiment:
        show_fault(failed[1])
        return None
    job: Job | None = st.session_state.get(JOB)
    if job is None or job.experiment != found.experiment:
        drop()
        st.session_state[JOB] = Job(found.experiment, found.features)
    with st.container(horizontal=True, vertical_alignment="center"):
        bar = st.container()
        # Outside the fragment: only a run of the whole page ends a step that is being computed.
        st.button("Cancel", on_click=cancel, icon=":material/stop_circle:", key="cancel bands")
    with bar:
        st.fragment(work, run_every=TICK)(title, threshold)
    return None


def cancel() -> None:
    """Cancel the job and go back to one run."""
    st.session_state[TOGGLE] = "false"
    drop()


def drop() -> None:
    """Free the visitor's slot for another long computation and remove the job, if there is one."""
    job: Job | None = st.session_state.get(JOB)
    if job is not None:
        job.steps.finish()  # first: Streamlit may end this run at the next line
        del st.session_state[JOB]


def work(title: str, threshold: float) -> None:
    """Run steps for SPELL seconds and show their progress."""
    job: Job | None = st.session_state.get(JOB)
    if job is None:  # cancelled, failed or done: redraw the page without this fragment
        st.rerun()
    bar = st.progress(job.share, text=f"Run {min(len(job.runs) + 1, RUNS)} of {RUNS} …")
    shown = time.monotonic()
    until = shown + SPELL

    def tell(done: int, total: int, what: str) -> None:
        nonlocal shown
        if time.monotonic() - shown >= BREATH:
            bar.progress(job.share, text=f"Run {len(job.runs) + 1} of {RUNS}: {what} …")
            shown = time.monotonic()

    try:
        with job.steps.step():
            job.step(tell)
            while time.monotonic() < until and len(job.runs) < RUNS:
                job.step(tell)
    except Busy as fault:  # the next tick tries again
        bar.progress(job.share, text=as_text(f"{fault}."))
    except TmlcdError as fault:
        st.session_state[FAILED] = job.experiment, str(fault)
        drop()
        st.rerun()
    if len(job.runs) == RUNS:
        in_bytes = job.experiment.max_bytes is not None
        shown = bands_of(f"{title}, average of {RUNS} runs", job.runs, threshold, in_bytes)
        summary = {
            name: summarise([run.learners[name].metrics for run in job.runs]) for name in job.experiment.learner_names
        }
        st.session_state[DONE] = Bands(job.experiment, shown, spreads(summary))
        drop()
        st.rerun()
