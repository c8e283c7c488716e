"""The tab Inside the test: the state of the change-detection test at a chosen sample of a run."""

from typing import Any, NamedTuple

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.components.player import player
from pages.shell.url_widgets import checked, faults_as_messages
from tmlcd_core.detectors import GeneralizedCusum, ThresholdRow, calibrate_threshold, threshold_table
from tmlcd_core.errors import ConfigError
from tmlcd_core.experiments.labels import Teacher, judge_predictions
from tmlcd_core.viz import cusum, showcase
from tmlcd_core.viz.palette import LEARNER_STYLES

SIMULATED = "Simulated stream"
RUNS = (SIMULATED, LEARNER_STYLES["active"].name, LEARNER_STYLES["hybrid"].name)
LAB = "Run of the Drift lab"  # named by the address: parameters of the lab, `learner`, and `sample` to open at
MINE = ("run", "part", "presenter", "drops", "before", "after", "at", "h", "n", "xi", "sim_seed")  # of this page
OPENED = "inside-cusum link"
SEED = "sim_seed"  # not the seed of the Drift lab
EXAMPLE = 54  # seed whose g stays near 0 before the change and climbs batch by batch after it (tested)
MOST_SEEDS = 9999
SOON = 50  # samples after a change, before a learner has recovered
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
    """Show what the test believes after one sample of the correct predictions (n,): words, charts, then formulas."""
    st.subheader(f"After sample {time}")
    state = cusum.state_at(_correct, time, **_settings)
    if state is None:
        st.info(
            "The test cannot say anything yet. It first counts how often the predictions are right (warm-up), and then "
            "fills its first batch."
        )
        return
    j, column = state.best
    st.markdown("\n".join(f"1. {sentence}" for sentence in cusum.state_in_words(state)))
    best = (
        f"S = {state.matrix.max():.1f} for a change at sample {state.starts[j]} "
        f"to υ₁ = {state.test.candidates[column]:.3f}."
    )
    left, right = st.columns(2)
    with left:
        st.markdown(
            "**All explanations that the test compares.** Each cell is one: from which sample on, and how often the "
            "predictions are right since then. The brighter, the more evidence *S*. The diamond is the best."
        )
        told = f"Heat map of S for every start j and candidate υ₁. Maximum: {best}"
        st.plotly_chart(cusum.matrix_figure(state), key="matrix", config=CONFIG, alt=told)
        st.caption(f"Maximum: {best}")
    with right:
        batches = f"{len(state.hits)} batch{'es' * (len(state.hits) > 1)}"
        st.markdown(
            f"**The {batches} since the test started** at sample {state.start}: right predictions *ζ*, evidence *s* of "
            "the batch for the best explanation, and the sum of it in two ways."
        )
        table = cusum.batch_table(state)
        sums = {name: st.column_config.NumberColumn(format="%.2f") for name in table if table[name].dtype.kind == "f"}
        st.dataframe(table, hide_index=True, height=360, column_config=sums)
    with st.expander("Formulas with these numbers", icon=":material/function:"):
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
    """Run to look into.

    `learner` is its name in the chart, `correct` (n,) are the judged predictions, `before` and `after` its accuracies
    at the first change, `changes` and `ends` the positions of the true changes (None if unknown) and of their ends,
    `texts` what changed, `start` where the player opens (None: first alarm), and `test` the settings of the learner's
    own test besides threshold, batch and warm-up (None: the page's).
    """

    learner: str
    correct: NDArray[np.bool_]
    before: float
    after: float
    changes: tuple[int, ...] | None
    texts: tuple[str, ...]
    ends: tuple[int, ...] | None = None
    start: int | None = None
    test: dict[str, Any] | None = None


def linked() -> dict[str, list[str]]:
    """Return the parameters of the address that name a run of the Drift lab; empty without `learner`."""
    found = {key: st.query_params.get_all(key) for key in st.query_params if key not in MINE}
    return found if "learner" in found else {}


def choose_run() -> str:
    """Draw the choice of the run; return it. A link with `learner` brings a run of the Drift lab."""
    link = linked()
    if link and st.session_state.get(OPENED) != link:
        st.session_state["run"] = LAB  # a link wins over the earlier choice of this session
    st.session_state[OPENED] = link
    runs = (*RUNS, LAB) if link else RUNS
    return str(checked(st.selectbox, "Run", runs, key="run", help="The hits and misses that the test reads."))


def simulated_run() -> ChosenRun:
    """Draw the settings of a simulated stream; return its run."""
    if "seed" in st.query_params and not linked():  # links of earlier versions
        old = st.query_params.pop("seed")
        if old.isdecimal():
            st.session_state[SEED] = min(int(old[:9]), MOST_SEEDS)
    before = checked(st.slider, "Accuracy before", 0.5, 0.99, 0.9, 0.01, key="before", help="υ₀, before the change.")
    after = checked(st.slider, "Accuracy after", 0.05, 0.99, 0.7, 0.01, key="after", help="υ₁, after the change.")
    change = checked(st.slider, "Change at sample", 150, 1400, 700, 50, key="at", help="Sample of the true change.")
    seed = checked(st.number_input, "Seed", 0, MOST_SEEDS, EXAMPLE, key=SEED, help="The same seed gives the same run.")
    text = f"the accuracy changed from {before:g} to {after:g}"
    return ChosenRun(SIMULATED, simulated(before, after, change, int(seed)), before, after, (change,), (text,))


def home_run(run: str) -> ChosenRun:
    """Return the run on Home of the learner with this name."""
    learner = next(key for key, look in LEARNER_STYLES.items() if look.name == run)
    home = showcase.load_showcase()
    correct = np.asarray(home.correct[learner])
    st.caption("The run on Home. A new threshold repeats the test on the recorded hits and misses of this learner.")
    changes = tuple(home.changes or ())
    return ChosenRun(learner, correct, *accuracies(correct, changes[0]), changes, home.change_texts)


def lab_run(threshold: float, batch: int, warmup: int) -> ChosenRun:
    """Return the run of the Drift lab that the address names, with the learner's own test, and the link back to it."""
    from pages.views.drift_lab.linked import linked_run  # loads the learners
    from tmlcd_core.viz.lab import changes_in_words

    asked = {key: values for key, values in linked().items() if key not in ("learner", "sample")}
    learner = st.query_params["learner"]
    tested = asked | {"h": [f"{threshold:g}"], "n": [str(batch)], "xi": [str(warmup)]}
    found = linked_run(tested, learner)
    test = cusum_of(found, learner)
    judged = judge_predictions(found.trace(learner).predictions, found.stream.y, teacher_of(found))
    scenario = found.scenario
    begun, ended = (np.searchsorted(judged.samples, samples).tolist() for samples in (scenario.changes, scenario.ends))
    told = zip(begun, ended, changes_in_words(scenario), strict=False)  # a recorded stream has no changes
    seen = {begin: (end, text) for begin, end, text in told if 0 < begin < len(judged.samples)}
    changes = None if scenario.recorded else tuple(seen)
    asked_sample = st.query_params.get("sample", "")
    at = min(int(asked_sample[:9]), len(found.stream) - 1) if asked_sample.isdecimal() else None
    st.page_link(
        "pages/drift_lab.py", label="Back to this run in the Drift lab", icon=":material/arrow_back:",
        query_params=[(key, value) for key, values in asked.items() for value in values],
    )  # fmt: skip
    if len(judged.samples) < len(found.stream):
        st.caption("The charts count the samples whose label has come: the test reads no others.")
    return ChosenRun(
        learner,
        judged.correct,
        *accuracies(judged.correct, changes[0] if changes else None),
        changes,
        tuple(text for _, text in seen.values()),
        None if changes is None else tuple(end for end, _ in seen.values()),
        None if at is None else judged.known_at(at),
        {key: getattr(test, key) for key in ("direction", "likelihood", "spacing", "gap")},
    )


def teacher_of(found: Any) -> Teacher:
    """Return a new teacher that gives the labels of a `LabRun`."""
    stream, experiment = found.stream, found.experiment
    return Teacher(experiment.supervision, stream.classes, experiment.seed)


def cusum_of(found: Any, learner: str) -> GeneralizedCusum:
    """Return the CUSUM test of a learner of a `LabRun`; a `ConfigError` if it has none."""
    stream = found.stream
    model = found.experiment.learner(learner, found.scenario)
    test = getattr(model.fit(stream.X0, stream.y0), "detector_", None)
    if not isinstance(test, GeneralizedCusum):
        raise ConfigError(f"the learner {learner!r} has no CUSUM test: choose Active or Hybrid in the Drift lab")
    return test


def accuracies(correct: NDArray[np.bool_], change: int | None) -> tuple[float, float]:
    """Return the accuracy of correct predictions (n,) before and just after a change; if unknown, a drop by 0.2."""
    if change is None or not 0 < change < len(correct):
        before = float(correct.mean())
        parts = before, before - 0.2
    else:
        parts = float(correct[:change].mean()), float(correct[change : change + SOON].mean())
    before, after = (round(min(max(part, 0.05), 0.99), 2) for part in parts)
    return before, after


def show() -> None:
    """Draw the settings in the sidebar, the player, and the numbers at its sample."""
    st.markdown(
        "The test reads only whether each prediction was right. After every batch it asks: would a change at some "
        "earlier sample explain the results better? *g* is the strength of the best such evidence. When it reaches "
        "*h*, the alarm goes off. Move the slider to see what the test believes at that sample."
    )
    with faults_as_messages():
        show_run()


def show_run() -> None:
    """Draw the settings, the player, and the state of the test at its sample."""
    choose, prices = st.columns([2, 3], vertical_alignment="center")
    with choose:
        told = "The alarm goes off when g ≥ h."
        threshold = checked(st.slider, "Alarm level (h)", 1.0, 100.0, 25.0, 1.0, key="h", format="%g", help=told)
    with st.sidebar:
        run = choose_run()
        place = st.container()
        batch = checked(st.slider, "Batch (n)", 10, 100, 50, 10, key="n", help="Samples per batch.")
        warmup = checked(st.slider, "Warm-up (ξ)", 20, 300, 100, 20, key="xi", help="Samples used to estimate υ₀.")
        with place:
            if run == LAB:
                found = lab_run(threshold, batch, warmup)
            else:
                found = simulated_run() if run == SIMULATED else home_run(run)
        if found.test is None:
            told = "Test only accuracies below υ₀ (Hybrid)."
            only_drops = checked(st.toggle, "Only drops", False, key="drops", help=told)
    test = found.test or {"direction": "down" if only_drops else "both"}
    direction = test["direction"]
    correct, before, after = found.correct, found.before, found.after

    settings = {"threshold": threshold, "batch": batch, "warmup": warmup, **test}
    text = repr((correct.tobytes(), settings))
    said = replayed(text, correct, settings)
    shown = cusum.replay_run(found.learner, correct, said, threshold, found.changes, found.ends, found.texts)
    start = found.start
    if start is None:
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
