"""The page itself: settings, player, the sample under the cursor, and what can be taken away."""

import time
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.lab.choose import DRIFT_NAMES, choose
from pages.lab.repeat import TOGGLE, Bands, bands
from pages.lab.runs import LabRun, run
from pages.lab.sample import sample_view
from pages.lab.upload import Upload
from pages.player import player
from pages.shell.computation import one_at_a_time
from pages.widgets import as_text, checked, show_fault
from tmlcd_core.errors import TmlcdError
from tmlcd_core.experiments.trial import Trial, program
from tmlcd_core.viz.lab import figures, run_of, trace_csv

PATIENCE = 0.4  # s before progress is shown: for less it would only flicker
GOOD, MOVED = "lab good", "lab moved"
FALLBACK = Trial("points")


def moved() -> None:
    st.session_state[MOVED] = True


@st.fragment
def watch(found: LabRun, title: str, several: Bands | None) -> None:
    """The player and the sample under its cursor: moving it runs this part of the page alone."""
    shown = several.shown if several else run_of(title, found.stream, found.traces, threshold_of(found), found.tested)
    sample = player(shown, "lab", start="begin", autoplay=True, on_move=moved)
    if st.session_state.get(MOVED):
        sample_view(found, min(sample, len(found.stream) - 1))
    else:
        st.caption("Pause, step or scrub: the sample under the cursor appears here, to see and to hear.")


def threshold_of(found: LabRun) -> float:
    return float(dict(found.trial.settings).get("threshold", 25.0))


def run_with_words(trial: Trial, own: Upload | None, place: DeltaGenerator) -> LabRun:
    """Run a trial, telling in `place` what is being done if it takes a while."""
    started = time.monotonic()

    def tell(done: int, total: int, what: str) -> None:
        if time.monotonic() - started > PATIENCE:
            place.progress(min(1.0, done / max(total, 1)), text=as_text(f"{what[:1].upper()}{what[1:]} …"))

    with one_at_a_time("a run of the Drift lab", tell) as told:
        found = run(trial, own, told)
    place.empty()
    return found


def show() -> None:
    """Everything below the title."""
    chosen = choose()
    faults = st.container()
    # Always there: an element more or less above the player would make it start again. It takes no room (shell.css).
    place = st.container(key="working").empty()
    good: LabRun | None = st.session_state.get(GOOD)
    if chosen.trial is not None:
        try:
            good = st.session_state[GOOD] = run_with_words(chosen.trial, chosen.upload, place)
        except TmlcdError as fault:
            text = str(fault).replace(chosen.upload.path, chosen.upload.name) if chosen.upload else str(fault)
            text = text.replace(f"'{chosen.trial.drift}'", f"“{DRIFT_NAMES[chosen.trial.drift]}”")
            show_fault(text, faults)
            chosen = None
    if chosen is None or chosen.trial is None:
        where = f": see “{chosen.fault_in}” in the sidebar" if chosen and chosen.fault_in else ""
        instead = "The last good one is shown" if good else "Points in the plane stand in"
        faults.caption(f"These settings give no run{where}. {instead}.")
    if good is None:
        good = st.session_state[GOOD] = run_with_words(FALLBACK, None, place)

    settings = dict(good.trial.settings)
    needed = settings.get("warmup", 100) + settings.get("batch", 50)
    if good.scenario.length < needed:
        faults.info(
            f"The data give a stream of {good.scenario.length} samples; the test needs {needed} (ξ + n) for its first "
            "statistic. Choose a smaller warm-up ξ and batch n, or give more data."
        )
    if good.remark:
        faults.caption(as_text(good.remark))
    words = ", ".join(good.scenario.start.classes)
    title = f"Drift lab: {good.trial.drift}, {words}"
    charts = st.container()
    row = st.container(horizontal=True, vertical_alignment="center")
    with row:
        wanted = checked(st.toggle, "Mean of 20 runs, with bands", False, key=TOGGLE, help="Seeds one after the other.")
    several = bands(good, title, threshold_of(good)) if wanted else None
    with charts:
        watch(good, title, several)
    code = program(good.trial, good.scenario, good.upload and "the folder that you zipped")
    with row:
        table = partial(as_csv, good)
        st.download_button("Trace as CSV", table, "trace.csv", "text/csv", icon=":material/table:", on_click="ignore")
        st.download_button("Run as Python", code, "run.py", "text/x-python", icon=":material/code:", on_click="ignore")
    every = st.expander("All figures", key="figures", on_change="rerun", icon=":material/table_chart:")
    if every.open:  # while it is closed, nobody waits for it
        rows = several.table if several else figures(good.metrics)
        right = {name: st.column_config.TextColumn(alignment="right") for name in list(rows)[1:]}
        every.dataframe(rows, hide_index=True, height="content", column_config=right)
    with st.expander("This run as a Python program", icon=":material/code:"):
        st.code(code, language="python")
    st.caption("The address of this page holds all settings: copy it, and it shows the same run.")


def as_csv(found: LabRun) -> str:
    return trace_csv(found.stream, found.traces)
