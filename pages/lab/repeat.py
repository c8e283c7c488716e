"""Twenty runs with mean and bands: a run at each tick of a fragment, so that cancelling works between any two."""

from dataclasses import dataclass

import streamlit as st

from pages.lab.runs import LabRun
from pages.shell.computation import Busy, InSteps
from pages.widgets import as_text, show_fault
from tmlcd_core.errors import TmlcdError
from tmlcd_core.experiments.repetition import Repetition
from tmlcd_core.experiments.trial import Trial
from tmlcd_core.viz.lab import bands_of, spreads
from tmlcd_core.viz.player import PlayerRun

RUNS = 20  # as in the paper
TICK = 0.1  # s between two steps
JOB, DONE, FAILED, TOGGLE = "lab job", "lab bands", "lab failed", "bands"


@dataclass(frozen=True)
class Job:
    """Runs under way, and their claim to be this visitor's only long computation."""

    runs: Repetition
    steps: InSteps


@dataclass(frozen=True)
class Bands:
    """What is left of the runs when they are done: curves and a table."""

    trial: Trial
    shown: PlayerRun
    table: dict[str, list[str]]


def bands(found: LabRun, title: str, threshold: float) -> Bands | None:
    """The bands of this trial if they are done; if not, they are worked on where this is called."""
    done: Bands | None = st.session_state.get(DONE)
    if done is not None and done.trial == found.trial:
        return done
    failed = st.session_state.get(FAILED)
    if failed is not None and failed[0] == found.trial:
        show_fault(failed[1])
        return None
    job: Job | None = st.session_state.get(JOB)
    if job is None or job.runs.trial != found.trial:
        drop()
        runs = Repetition(found.trial, RUNS, found.features)
        st.session_state[JOB] = Job(runs, InSteps(f"the {RUNS} runs of the Drift lab"))
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
    runs = job.runs
    with st.container(horizontal=True, vertical_alignment="center"):
        bar = st.progress(runs.share, text=f"Run {min(runs.finished_runs + 1, runs.runs)} of {runs.runs} …")
        st.button("Cancel", on_click=cancel, icon=":material/stop_circle:", key="cancel bands")
    try:
        with job.steps.step():
            runs.step(
                lambda done, total, what: bar.progress(runs.share, text=f"Run {runs.finished_runs + 1}: {what} …")
            )
    except Busy as fault:  # the next tick asks again
        bar.progress(runs.share, text=as_text(f"{fault}."))
    except TmlcdError as fault:
        st.session_state[FAILED] = runs.trial, str(fault)
        drop()
        st.rerun()
    if runs.finished:
        shown = bands_of(f"{title}, mean of {runs.runs} runs", runs, threshold)
        st.session_state[DONE] = Bands(runs.trial, shown, spreads(runs.summary()))
        drop()
        st.rerun()
