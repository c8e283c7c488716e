"""Twenty runs with mean and bands: a run at each tick of a fragment, so that cancelling works between any two."""

from dataclasses import dataclass

import streamlit as st

from pages.lab.runs import LabRun
from pages.widgets import show_fault
from tmlcd_core.datasets import FeatureCache
from tmlcd_core.errors import TmlcdError
from tmlcd_core.experiments.repetition import Repetition
from tmlcd_core.experiments.trial import Trial
from tmlcd_core.viz.lab import bands_of, spreads
from tmlcd_core.viz.player import PlayerRun

RUNS = 20  # as in the paper
TICK = 0.1  # s between two steps
JOB, DONE, FAILED, TOGGLE = "lab job", "lab bands", "lab failed", "bands"


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
    job: Repetition | None = st.session_state.get(JOB)
    if job is None or job.trial != found.trial:
        cache = FeatureCache(found.upload.cache) if found.upload else None
        st.session_state[JOB] = Repetition(found.trial, RUNS, cache)
    st.fragment(work, run_every=TICK)(title, threshold)
    return None


def cancel() -> None:
    """Stop between two steps: the toggle goes off, and with it the job."""
    st.session_state[TOGGLE] = False
    st.session_state.pop(JOB, None)


def work(title: str, threshold: float) -> None:
    """One step, its progress and the button that stops it."""
    job: Repetition | None = st.session_state.get(JOB)
    if job is None:  # cancelled, failed or done: the page has to be drawn without this
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center"):
        bar = st.progress(job.share, text=f"Run {min(job.finished_runs + 1, job.runs)} of {job.runs} …")
        st.button("Cancel", on_click=cancel, icon=":material/stop_circle:", key="cancel bands")
    try:
        job.step(lambda done, total, what: bar.progress(job.share, text=f"Run {job.finished_runs + 1}: {what} …"))
    except TmlcdError as fault:
        st.session_state[FAILED] = job.trial, str(fault)
        st.session_state.pop(JOB, None)
        st.rerun()
    if job.finished:
        shown = bands_of(f"{title}, mean of {job.runs} runs", job, threshold)
        st.session_state[DONE] = Bands(job.trial, shown, spreads(job.summary()))
        st.session_state.pop(JOB, None)
        st.rerun()
