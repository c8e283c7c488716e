"""Tools of the Drift lab: reset, undo, the memory to compare at, a drift at the cursor, and links to other pages."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import numpy as np
import streamlit as st

from pages.shell.streamlit_internals import write_address
from pages.shell.url_widgets import NEVER_DRAWN, chosen, follow_address, usual_value
from pages.views.drift_lab.repeat import RUNS, TOGGLE
from pages.views.drift_lab.runs import GOOD, LabRun
from tmlcd_core.experiments import Experiment
from tmlcd_core.experiments.experiment import MOST_ADDED, PACK
from tmlcd_core.experiments.link import ADDED, FOLDER, NAMES, TABLE, parameters_of, value_of
from tmlcd_core.features import Extractor
from tmlcd_core.features.speech_extractor import PAPER_NAME
from tmlcd_core.knn.storage import sample_bytes
from tmlcd_core.mcu.budget import BUDGET_LEARNERS
from tmlcd_core.start import START
from tmlcd_core.streams import DRIFTS, SourcePool

PAST = "lab past"  # settings of the runs before this one, newest last
MOST_PAST = 30
REFUSED = "lab refused"  # True if the settings of the page cannot run
MEMORY = "lab memory"
OWN, SAMPLES, BYTES = "Each learner its own", "Equal samples", "Equal bytes"
WRITTEN = "lab written"  # False: code has set widgets that the address does not show yet
BY_NAME = {"data", "drift", "learners", "paper", "label", "bands", "extractor", FOLDER, TABLE}  # these write themselves
EXTRA = "tandem"  # learner that the player adds with one click
EXTRA_ADDED = "lab extra added"  # True until the whole page has run with it
ASKED = "lab asked"  # added drifts that the player has asked for, until the browser's address holds them

Past = list[tuple[Experiment, dict[str, Any]]]


def set_settings(values: Mapping[str, Any]) -> None:
    """Set widgets of the page by code; `write_settings` then brings them into the address."""
    st.session_state.update(values)
    st.session_state[WRITTEN] = False


def write_settings(experiment: Experiment) -> None:
    """Write the settings of an experiment into the address, if code has set them."""
    if st.session_state.get(WRITTEN, True):
        return
    st.session_state[WRITTEN] = True
    _seed(parameters_of(experiment))


def _seed(asked: Mapping[str, Sequence[str]]) -> None:
    """Write settings into the address: a widget with other limits than before reads its value from there."""
    write_address({name: asked.get(name, []) for name in NAMES - BY_NAME})


def reset() -> None:
    """Set all settings of the page to those of `START`."""
    forget_asked()
    usual = {name: value for name in NAMES - {"affected"} if (value := usual_value(name)) is not NEVER_DRAWN}
    st.session_state.pop("affected", None)  # its default depends on the drift
    start = {name: list(values) if name == "learners" else value_of(values[0]) for name, values in START.items()}
    set_settings(usual | start)
    _seed(START)


def follow_link() -> None:
    """Forget the settings of this visit: the widgets read those of the link from the address."""
    forget_asked()
    asked = {name: st.query_params.get_all(name) for name in st.query_params}
    st.session_state.pop("affected", None)  # its default depends on the drift
    for name in NAMES - {"affected"}:
        follow_address(name)
    _seed(asked)


def remember(experiment: Experiment | None) -> None:
    """Record the settings of a run, for `undo`; None for settings that cannot run."""
    st.session_state[REFUSED] = experiment is None
    if experiment is None:
        return
    past: Past = st.session_state.setdefault(PAST, [])
    if past and past[-1][0] == experiment:
        return
    past.append((experiment, {name: st.session_state[name] for name in NAMES if name in st.session_state}))
    del past[:-MOST_PAST]


def undo() -> None:
    """Set the settings to those before the last change: of the shown run, if the last change cannot run."""
    past: Past = st.session_state.get(PAST, [])
    if len(past) > 1 and not st.session_state.get(REFUSED):
        past.pop()
    if past:
        _restore(past[-1])


def cancel_run() -> None:
    """Stop the run that is being computed: set the settings to those of the last run, or of the start."""
    past: Past = st.session_state.get(PAST, [])
    if past:
        _restore(past[-1])
    else:
        reset()


def _restore(settings: tuple[Experiment, dict[str, Any]]) -> None:
    """Set widgets and address to the settings of an earlier run."""
    forget_asked()
    experiment, widgets = settings
    set_settings(widgets)
    _seed(parameters_of(experiment))


def tools(good: LabRun | None) -> bool:
    """Draw the tools beside the settings; return True if the average of several runs is wanted."""
    several = False
    if good is not None and good.experiment.is_random:
        options = {"false": "One run", "true": f"{RUNS} runs"}
        hint = f"{RUNS} runs: average and standard deviation over consecutive seeds."
        several = chosen(st.segmented_control, "Runs", options, key=TOGGLE, help=hint, required=True) == "true"
    nothing = len(st.session_state.get(PAST, [])) < (1 if st.session_state.get(REFUSED) else 2)
    told = "Take back the last change of a setting."
    st.button("Undo", key="undo", on_click=undo, icon=":material/undo:", disabled=nothing, help=told, type="tertiary")
    told = "Back to the settings at the start."
    st.button("Reset", key="reset", on_click=reset, icon=":material/restart_alt:", help=told, type="tertiary")
    return several


def memory_choice() -> None:
    """Choose the memory at which the learners are compared; it sets the limits among the expert settings."""
    state = st.session_state
    bounded = state.get("window") and state.get("window") == state.get("p")
    state[MEMORY] = BYTES if state.get("max_bytes") else SAMPLES if bounded else OWN
    st.selectbox(
        "Memory", [OWN, SAMPLES, BYTES], key=MEMORY, on_change=_set_memory,
        help="Compare the learners at the same number of stored samples, or at the same bytes.",
    )  # fmt: skip


def _set_memory() -> None:
    good: LabRun | None = st.session_state.get(GOOD)
    if good is None:  # the first run is not finished
        st.toast("Choose the memory again as soon as the charts are shown.")
        return
    samples, wanted = good.scenario.initial, st.session_state[MEMORY]
    limit = samples if wanted == SAMPLES else None
    whole = samples * sample_bytes(good.stream.X.shape[1]) if wanted == BYTES else None
    set_settings({"window": limit, "p": limit, "max_bytes": whole})


def drift_now(good: LabRun) -> None:
    """Callback of the player: add a drift after the cursor; the samples up to it stay as they are."""
    asked = st.session_state.lab.get("world") or {}
    drift, at = asked.get("drift"), asked.get("at")
    if drift not in DRIFTS or not isinstance(at, int | float):  # a client can send anything
        return
    at = int(min(max(1, at), good.scenario.length - 1))
    earlier = [text for text in good.experiment.added if int(text.partition("@")[2]) < at]
    if len(earlier) == MOST_ADDED:
        st.toast(f"This stream already has {MOST_ADDED} added drifts. Press Reset to start again.")
        return
    st.session_state[ASKED] = [*earlier, f"{drift}@{at}"]


def add_asked() -> None:
    """Write the added drifts that the player has asked for into the address; call it when the whole page runs.

    They are kept until the browser sends an address with them: a run that it asks for before, with the address that it
    knows, loses what was written.
    """
    if is_asked():
        write_address({ADDED: st.session_state[ASKED]})
    else:
        forget_asked()


def is_asked() -> bool:
    """True if the player has asked for added drifts that the address of this run does not hold."""
    return st.session_state.get(ASKED, st.query_params.get_all(ADDED)) != st.query_params.get_all(ADDED)


def forget_asked() -> None:
    """Forget which added drifts the player has asked for."""
    st.session_state.pop(ASKED, None)


def add_extra() -> None:
    """Callback of the player: add the learner `EXTRA`."""
    names = st.session_state["learners"]
    if EXTRA not in names:
        st.session_state["learners"] = [*names, EXTRA]
        st.session_state[EXTRA_ADDED] = True


def extra_added() -> bool:
    """True once after `add_extra`: the whole page must run."""
    return bool(st.session_state.pop(EXTRA_ADDED, False))


def added_in_words(added: Sequence[str]) -> list[str]:
    """Return each added drift in words.

    >>> added_in_words(["labels-swapped@1032"])
    ['“Two labels swap” at 1,032']
    """
    parts = (text.partition("@") for text in added)
    return [f"“{DRIFTS[name].title}” at {int(at):,}" for name, _, at in parts if name in DRIFTS and at.isdecimal()]


def remove_added(but: Sequence[str] = ()) -> None:
    """Remove the drifts that were added at the cursor, except those in `but`."""
    forget_asked()
    write_address({ADDED: list(but)})


def offered_drifts(good: LabRun) -> list[tuple[str, str]]:
    """Return name and label of the drifts that the player offers for a run."""
    if good.scenario.recorded:
        return []
    media = good.experiment.data != PACK and good.feature_pool.kind != "vector"
    return [(kind.name, kind.title) for kind in DRIFTS.values() if kind.name != "none" and (media or not kind.disturbs)]


def links_of(good: LabRun) -> dict[str, dict[str, str]]:
    """Return the player's links: from an alarm to Inside CUSUM, from |T| to STM32; none for an upload."""
    if good.upload is not None:
        return {}
    asked = parameters_of(good.experiment) or {"data": [good.experiment.data]}
    tested = [name for name in good.tested if name in ("active", "hybrid")]
    alarm = {
        name: f"inside-cusum?{urlencode(asked | {'learner': [name]}, doseq=True)}&sample={{sample}}" for name in tested
    }
    on_chip = [name for name in good.experiment.learner_names if name in BUDGET_LEARNERS]
    memory = {name: f"stm32?{urlencode(chip_settings(good, name))}&size={{size}}" for name in on_chip}
    return {"alarm": alarm, "memory": memory}


def chip_settings(good: LabRun, learner: str) -> dict[str, Any]:
    """Return the settings of the STM32 page for a learner of a run, as URL parameters, without |T|."""
    store = good.settings[learner].get("storage", "float32")
    found: dict[str, Any] = {"on_chip": learner, "store": store}
    if good.experiment.extractor_name != PAPER_NAME:
        return found | {"input": good.experiment.extractor_name}
    if good.experiment.data != PACK and good.feature_pool.kind != "audio":
        return found | {"input": "vectors", "vector": good.stream.X.shape[1]}
    sound = good.feature_pool.extractor if isinstance(good.feature_pool, SourcePool) else Extractor()
    assert isinstance(sound, Extractor)
    return found | {
        "hz": sound.sample_rate,
        "n_fft": sound.n_fft,
        "hop": sound.hop,
        "filters": len(np.atleast_1d(sound.filters)),
    }
