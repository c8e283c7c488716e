"""The tab Inside the test: the state of the change-detection test at a chosen sample of a run."""

from typing import Any, NamedTuple

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.components.player import player
from pages.shell.url_widgets import checked, faults_as_messages
from tmlcd_core.detectors import ThresholdRow, calibrate_threshold, threshold_table
from tmlcd_core.viz import cusum, showcase
from tmlcd_core.viz.palette import LEARNER_STYLES

SIMULATED = "Simulated stream"
RUNS = (SIMULATED, LEARNER_STYLES["active"].name, LEARNER_STYLES["hybrid"].name)
LENGTH = 1500  # samples of a simulated run
CONFIG = {"displaylogo": False}
HORIZON = 1000  # samples within which a false alarm is counted
PANEL_HEIGHT = 80  # px: slider and player together fit a window of 1280x720
LEVELS = tuple(float(h) for h in range(1, 101))  # thresholds of the slider and of the simulation


@st.cache_resource(max_entries=64, show_spinner="Simulating 10,000 streams with and without a change …")
def trade_off(before: float, after: float, batch: int, warmup: int, direction: str) -> list[ThresholdRow]:
    """Return the simulated false alarms and delays of each threshold of LEVELS."""
    return threshold_table(before, after, batch, warmup, HORIZON, LEVELS, direction)


@st.cache_data(max_entries=64, show_spinner="Simulating 20,000 streams without a change …")
def calibrated(before: float, batch: int, warmup: int, direction: str) -> float:
    """Return the threshold for 1 % false alarms within HORIZON samples."""
    return calibrate_threshold(before, batch, warmup, HORIZON, 0.01, direction)


def simulated(before: float, after: float, change: int, seed: int) -> NDArray[np.bool_]:
    """Return random correct predictions, bool (LENGTH,), whose accuracy changes at the sample `change`."""
    return np.random.default_rng(seed).random(LENGTH) < np.where(np.arange(LENGTH) < change, before, after)


# `text` is the cache key of the next three functions: it contains the run and the settings of the test.
@st.cache_resource(max_entries=64, show_spinner=False)
def replayed(text: str, _correct: NDArray[np.bool_], _settings: dict[str, Any]) -> cusum.CusumReplay:
    """Return the replay of the CUSUM test on the correct predictions (n,)."""
    return cusum.replay(_correct, **_settings)


@st.cache_data(max_entries=64, show_spinner=False)
def look_inside(text: str, time: int, _correct: NDArray[np.bool_], _settings: dict[str, Any]) -> None:
    """Show every sum that the test compares after one sample of the correct predictions (n,)."""
    st.subheader(f"After sample {time}")
    state = cusum.state_at(_correct, time, **_settings)
    if state is None:
        st.info("There is no sum yet: the test is still estimating υ₀ or filling its first batch.")
        return
    j, column = state.best
    left, right = st.columns(2)
    batches = f"{len(state.hits)} batch{'es' * (len(state.hits) > 1)}"
    best = (
        f"S = {state.matrix.max():.1f} for a change at sample {state.starts[j]} "
        f"to υ₁ = {state.test.candidates[column]:.3f}."
    )
    with left:
        st.markdown(
            f"υ₀ = {state.test.accuracy_before:.3f}, {batches} since sample {state.start}, "
            f"{len(state.test.candidates)} candidates υ₁."
        )
        told = f"Heat map of S for every start j and candidate υ₁. Maximum: {best}"
        st.plotly_chart(cusum.matrix_figure(state), key="matrix", config=CONFIG, alt=told)
        st.caption(f"S for every start j and candidate υ₁. The diamond is the maximum: {best}")
    with right:
        st.markdown("Batches for the υ₁ of the maximum. The largest *S* equals the newest *G*.")
        table = cusum.batch_table(state)
        sums = {name: st.column_config.NumberColumn(format="%.2f") for name in table if table[name].dtype.kind == "f"}
        st.dataframe(table, hide_index=True, height=400, column_config=sums)
    cells = [*st.columns(2), *st.columns(2)]
    for cell, (name, formula) in zip(cells, cusum.formulas(state), strict=True):
        cell.caption(name)
        cell.latex(formula)


@st.cache_data(max_entries=64, show_spinner=False)
def show_price(text: str, threshold: float, before: float, after: float, _rows: list[ThresholdRow]) -> None:
    """Show false-alarm rate and detection delay against the threshold."""
    row = nearest(_rows, threshold)
    st.subheader("False alarms and delay for each threshold")
    told = (
        f"10,000 simulated streams with accuracy {before:g}: without a change (left), and with a change to {after:g} "
        f"after the warm-up (right). At h = {threshold:g}: {row.false_alarm_rate:.1%} false alarms and "
        f"{row.missed:.1%} missed changes within {HORIZON:,} samples."
    )
    st.plotly_chart(cusum.threshold_figure(_rows, threshold), key="price", config=CONFIG, alt=told)
    st.caption(told)


def nearest(rows: list[ThresholdRow], threshold: float) -> ThresholdRow:
    """Return the row whose threshold is nearest to `threshold`."""
    return rows[int(np.argmin(np.abs(np.array(LEVELS) - threshold)))]


class ChosenRun(NamedTuple):
    """Run to look into: its learner or `SIMULATED`, correct predictions (n,), accuracies and sample of the change."""

    learner: str
    correct: NDArray[np.bool_]
    before: float
    after: float
    change: int


def choose_run() -> ChosenRun:
    """Draw the choice of the run and of its settings; return the chosen run."""
    run = checked(st.selectbox, "Run", RUNS, key="run", help="The hits and misses that the test reads.")
    if run == SIMULATED:
        before = checked(
            st.slider, "Accuracy before", 0.5, 0.99, 0.9, 0.01, key="before", help="υ₀, before the change."
        )
        after = checked(st.slider, "Accuracy after", 0.05, 0.99, 0.7, 0.01, key="after", help="υ₁, after the change.")
        change = checked(st.slider, "Change at sample", 150, 1400, 700, 50, key="at", help="Sample of the true change.")
        seed = checked(st.number_input, "Seed", 0, 9999, 0, key="seed", help="The same seed gives the same run.")
        return ChosenRun(SIMULATED, simulated(before, after, change, int(seed)), before, after, change)
    learner = next(key for key, look in LEARNER_STYLES.items() if look.name == run)
    home = showcase.load_showcase()
    change = home.changes[0]
    correct = np.asarray(home.correct[learner])
    before, after = round(float(correct[:change].mean()), 2), round(float(correct[change:].mean()), 2)
    st.caption("The run on Home. A new threshold repeats the test on the recorded hits and misses of this learner.")
    return ChosenRun(learner, correct, before, after, change)


def show() -> None:
    """Draw the settings in the sidebar, the player, and the numbers at its sample."""
    st.markdown(
        "The test asks: could the accuracy have changed at some earlier point? *g* is the strength of the best "
        "evidence; when it reaches *h*, the alarm goes off. Pause, step or drag the slider to see the numbers at that "
        "sample."
    )
    with st.sidebar:
        learner, correct, before, after, change = choose_run()
        batch = checked(st.slider, "Batch (n)", 10, 100, 50, 10, key="n", help="Samples per batch.")
        warmup = checked(st.slider, "Warm-up (ξ)", 20, 300, 100, 20, key="xi", help="Samples used to estimate υ₀.")
        only_drops = checked(
            st.toggle, "Only drops", False, key="drops", help="Test only accuracies below υ₀ (Hybrid)."
        )
    direction = "down" if only_drops else "both"

    choose, prices = st.columns([2, 3], vertical_alignment="center")
    with choose:
        told = "The alarm goes off when g ≥ h."
        threshold = checked(st.slider, "Alarm level (h)", 1.0, 100.0, 25.0, 1.0, key="h", format="%g", help=told)

    with faults_as_messages():
        settings = {"threshold": threshold, "batch": batch, "warmup": warmup, "direction": direction}
        text = repr((correct.tobytes(), settings))
        said = replayed(text, correct, settings)
        shown = cusum.replay_run(learner, correct, said, threshold, change)
        start = said.alarms[0] if said.alarms else len(correct) - 1
        time = player(shown, "cusum", start=start, height=PANEL_HEIGHT, reports=True)
        with prices.container(horizontal=True, key="prices"):
            rows = trade_off(before, after, batch, warmup, direction)
            row = nearest(rows, threshold)
            level = calibrated(before, batch, warmup, direction)
            share = f"Share of streams without a change that raise an alarm within {HORIZON:,} samples."
            st.metric("False alarms", f"{row.false_alarm_rate:.1%}", help=share, width="content")
            delay = f"From a change ({before:g} to {after:g}) to its alarm, if it comes within {HORIZON:,} samples."
            mean = "none" if np.isnan(row.mean_delay) else f"{row.mean_delay:.0f}"
            st.metric("Mean delay (samples)", mean, help=delay, width="content")
            advice = f"Gives at most 1 % false alarms within {HORIZON:,} samples (`calibrate_threshold`)."
            st.metric("Threshold for 1 % false alarms", f"{level:.1f}", help=advice, width="content")
        look_inside(text, start if time is None else time, correct, settings)
        show_price(repr((batch, warmup, direction)), threshold, before, after, rows)
