"""Layout of the Drift lab: settings, player, sample at the cursor, and exports."""

import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import streamlit as st

from pages.components.player import player
from pages.shell.computation import one_at_a_time
from pages.shell.streamlit_internals import DeltaGenerator, runs_fragment
from pages.shell.url_widgets import as_text
from pages.views.drift_lab.choose import DATA, Chosen, choose
from pages.views.drift_lab.repeat import RUNS, Bands, bands
from pages.views.drift_lab.runs import BREATH, GOOD, LabRun, pool_of, run
from pages.views.drift_lab.sample import look, sample_view, show_looked
from pages.views.drift_lab.toolbar import (
    EXTRA,
    add_asked,
    add_extra,
    added_in_words,
    cancel_run,
    drift_now,
    extra_added,
    forget_asked,
    is_asked,
    links_of,
    offered_drifts,
    remember,
    remove_added,
    tools,
    write_settings,
)
from pages.views.drift_lab.upload import Upload
from tmlcd_core.errors import TmlcdError
from tmlcd_core.experiments import Experiment
from tmlcd_core.streams import DRIFTS
from tmlcd_core.viz.lab import agreement_in_words, figures, picture_of, run_of, shortage_in_words, trace_csv
from tmlcd_core.viz.palette import learner_style
from tmlcd_core.viz.player import PlayerRun
from tmlcd_core.web.lab_page import lab_page

PATIENCE = 0.4  # s before progress is shown, to avoid flicker
FIXES = {
    "classes": ("lambda", "Use {} classes"),
    "max_bytes": ("max_bytes", "Use {:,} bytes"),
    "affected": ("affected", "Let {} classes change"),
    "added": ("", "Remove the drift added last"),
}  # setting named by an error's remedy -> key of its widget, label of the button


@st.fragment
def watch(found: LabRun, title: str, several: Bands | None) -> None:
    """Show the player and the sample at its cursor; moving the cursor reruns only this fragment."""
    shown = several.shown if several else charts_of(found, title)
    offered = {"keep": True, "link": True, "world": [] if several else offered_drifts(found)}
    if EXTRA not in found.experiment.learner_names:
        offered["learner"] = EXTRA, learner_style(EXTRA).short
    sample = player(
        shown, "lab", start="change", autoplay=True, reports=True, tools=offered,
        links={} if several else links_of(found),
        on_ask={"world": partial(drift_now, found), "learner": add_extra, "look": look},
    )  # fmt: skip
    if is_asked() or extra_added():
        st.rerun()
    if runs_fragment():
        forget_asked()  # the browser has sent an address that holds it
    show_looked(found)
    if sample is not None:
        sample_view(found, min(sample, len(found.stream) - 1))
    else:
        st.caption("Pause, step or drag the slider to see and hear the sample at the cursor.")


def charts_of(found: LabRun, title: str) -> PlayerRun:
    """Return the charts of a run, with its picture."""
    stream, traces = found.stream, found.traces
    picture = picture_of(stream, traces, found.settings, found.feature_pool.kind != "vector")
    in_bytes = found.experiment.max_bytes is not None
    return run_of(title, stream, traces, threshold_of(found), found.tested, picture, in_bytes)


def threshold_of(found: LabRun) -> float:
    """Return the alarm level h of a run."""
    return float(dict(found.experiment.settings).get("threshold", 25.0))


def run_with_words(experiment: Experiment, own: Upload | None, place: DeltaGenerator) -> LabRun:
    """Run an experiment and return it; after PATIENCE, show its progress and a Cancel button in `place`.

    Streamlit stops the script at the next progress report if the visitor presses the button or changes a setting.
    """
    started = shown = time.monotonic()
    bar: DeltaGenerator | None = None

    def tell(done: int, total: int, what: str) -> None:
        nonlocal shown, bar
        now = time.monotonic()
        if now - started < PATIENCE or now - shown < BREATH:
            return
        shown = now
        if bar is None:
            with place.container(horizontal=True, vertical_alignment="center"):
                bar = st.empty()
                st.button("Cancel", on_click=cancel_run, icon=":material/stop_circle:", key="cancel run")
        bar.progress(min(1.0, done / max(total, 1)), text=as_text(f"{what[:1].upper()}{what[1:]} …"))

    with one_at_a_time("a run of the Drift lab", tell) as told:
        found = run(experiment, own, told)
    place.empty()
    return found


def name_of(found: LabRun) -> str:
    """Return the name of a run: drift, data, classes and threshold."""
    data = DATA.get(found.experiment.data, Path(found.experiment.data).name)
    words = ", ".join(found.scenario.start.classes)
    drift, shown = DRIFTS[found.experiment.drift].title, found.upload.name if found.upload else data
    drift = ", then ".join([drift, *added_in_words(found.experiment.added)])
    if found.scenario.recorded:
        return f"{shown}, {found.scenario.start.size} classes, h = {threshold_of(found):g}"
    return f"{drift}, {shown} ({words}), h = {threshold_of(found):g}"


def tell_problem(problem: TmlcdError | str, chosen: Chosen, good: LabRun | None) -> None:
    """Show why the settings cannot run, which run the charts show, and a button that fixes the setting."""
    text = str(problem)
    if chosen.upload is not None:
        text = text.replace(chosen.upload.path, chosen.upload.name)
    if chosen.experiment is not None:
        for kind in DRIFTS.values():  # for a drift in several parts this names the part that fails
            text = text.replace(f"the drift '{kind.name}'", f"“{kind.title}”")
    text = as_text(text[:1].upper() + text[1:]) + "."
    if good is not None:
        text += f"  \nThe charts still show the previous run: {as_text(name_of(good))}."
    if isinstance(problem, str):
        st.info(text, icon=":material/arrow_back:")
        return
    st.error(text, icon=":material/error:")
    experiment = chosen.experiment
    if experiment is None or not problem.remedy:
        return
    feature_pool = pool_of(experiment, chosen.upload.cache if chosen.upload else None)
    if experiment.remedied(feature_pool, problem):
        for setting, value in problem.remedy.items():
            key, label = FIXES[setting]
            fix = partial(st.session_state.update, {key: value}) if key else partial(remove_added, value)
            st.button(label.format(value), key=f"fix {setting}", on_click=fix)


def tell_limits(found: LabRun) -> None:
    """Show which data are unusable or too few."""
    agreement = agreement_in_words(found.traces) if found.scenario.recorded else ""
    shortage = shortage_in_words(found.experiment, found.scenario, found.feature_pool)
    for remark in (found.remark, shortage, agreement):
        if remark:
            st.caption(as_text(remark))
    settings = dict(found.experiment.settings)
    needed = settings.get("warmup", 100) + settings.get("batch", 50)
    if found.scenario.length < needed:
        st.info(
            f"The stream has {found.scenario.length} samples; the test needs {needed} (ξ + n) for its first statistic. "
            "Choose a smaller warm-up (ξ) or batch (n), or use more data."
        )


def show() -> None:
    """Draw the page below its title."""
    add_asked()
    row = st.container(horizontal=True, vertical_alignment="bottom", key="choices")
    chosen = choose(row)
    messages = st.container()
    # Always drawn, with no height (shell.css): a new element above the player would restart it.
    place = st.container(key="working").empty()
    good: LabRun | None = st.session_state.get(GOOD)
    problem: TmlcdError | str | None = chosen.fault or chosen.waits
    if chosen.experiment is not None:
        try:
            good = st.session_state[GOOD] = run_with_words(chosen.experiment, chosen.upload, place)
        except TmlcdError as fault:
            problem = fault
    remember(None if problem or good is None else good.experiment)
    if problem:
        with messages:
            tell_problem(problem, chosen, good)
    if good is None:
        return

    if not problem:
        write_settings(good.experiment)
        with messages:
            tell_limits(good)
    with row:
        wanted = tools(good)
    title = f"Drift lab: {name_of(good)}"
    charts = st.container()
    several = bands(good, title, threshold_of(good)) if wanted else None
    with charts:
        watch(good, title, several)
    said = replace(good.experiment, runs=RUNS if wanted else 1)
    if good.upload:
        said = replace(said, data=good.upload.name if said.label else "the folder that you zipped")
    with st.container(horizontal=True):
        table = partial(as_csv, good)
        st.download_button("Trace as CSV", table, "trace.csv", "text/csv", icon=":material/table:", on_click="ignore")
        st.download_button(
            "Page in one file", partial(as_page, good, title), "drift-lab.html", "text/html", icon=":material/html:",
            on_click="ignore", help="This run with live sliders, for any browser, without a server.",
        )  # fmt: skip
    every = st.expander("Detailed results", key="figures", on_change="rerun", icon=":material/table_chart:")
    if every.open:  # computed only when open
        rows = several.table if several else figures(good.metrics)
        right = {name: st.column_config.TextColumn(alignment="right") for name in list(rows)[1:]}
        every.dataframe(rows, hide_index=True, height="content", column_config=right)
    with st.expander("Run as Python or as a command", icon=":material/code:"):
        st.code(said.program(), language="python", wrap_lines=True)
        st.code(said.command(), language="sh", wrap_lines=True)
        st.caption("Both give the same numbers as this page. The address of this page contains all settings.")


def as_page(found: LabRun, title: str) -> str:
    """Return the run as a page in one file."""
    return lab_page(found.experiment, found.feature_pool, found.stream, found.traces, found.tested, title)


def as_csv(found: LabRun) -> str:
    """Return the run as CSV text, one line per sample."""
    return trace_csv(found.stream, found.traces)
