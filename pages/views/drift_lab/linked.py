"""Run of the Drift lab named by a link, for other pages: checked like the widgets of the lab, same caches."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import streamlit as st

from pages.shell.computation import one_at_a_time
from pages.views.drift_lab.choose import DATA, MOST_BYTES, MOST_DELAY, MOST_SAMPLES, MOST_WORDS
from pages.views.drift_lab.runs import GOOD, LabRun, run
from pages.views.drift_lab.tables import counts_of
from pages.views.drift_lab.upload import local_folder, local_table
from tmlcd_core.errors import ConfigError
from tmlcd_core.experiments import Experiment
from tmlcd_core.experiments.experiment import PACK
from tmlcd_core.experiments.link import FOLDER, OLD_LABELS, TABLE, TABLE_UPLOAD, UPLOAD, fields_of_parameters
from tmlcd_core.progress import Progress, silent
from tmlcd_core.streams.foreign import is_foreign, named_length

# Largest values that the widgets of the lab accept; anyone can write a link.
LIMITS = {
    "lambda": 10, "per_class": 1500, "train": 100, "initial": MOST_SAMPLES, "samples": MOST_SAMPLES,
    "label_delay": MOST_DELAY, "window": 5000, "p": 5000, "k": 99, "max_bytes": MOST_BYTES, "seed": 9999,
}  # fmt: skip

Parameters = Mapping[str, Sequence[str]]


def linked_experiment(asked: Parameters) -> Experiment:
    """Return the experiment of a Drift lab link; a `ConfigError` names a value that the lab would not accept."""
    if len(asked.get("words", ())) > MOST_WORDS:
        raise ConfigError(f"the link has more than {MOST_WORDS} words: remove some")
    for name, most in LIMITS.items():
        for text in asked.get(name, ())[-1:]:
            if _number(text) > most:
                raise ConfigError(f"{name}={text[:20]} in the link is too large: choose at most {most:,}")
    data = _last(asked, "data")
    data = OLD_LABELS.get(data, data) or PACK
    if data not in DATA and not is_foreign(data):
        raise ConfigError(f"data={data[:40]!r} in the link is unknown: open the Drift lab and choose data there")
    if data in (FOLDER, TABLE) and (path := _last(asked, data)):
        asked = {**asked, data: [local_folder(path) if data == FOLDER else local_table(path)]}
    found = Experiment(**fields_of_parameters(asked))
    if found.is_recorded and not found.samples and not found.order:
        rows = counts_of(found.data, found.label).rows if found.label else named_length(found.data)
        return replace(found, samples=MOST_SAMPLES if rows > MOST_SAMPLES else 0)
    return found


def linked_run(asked: Parameters, learner: str = "", progress: Progress = silent) -> LabRun:
    """Return the run of a Drift lab link, with one learner only if `learner` is given.

    A link to uploaded data means the upload of this session.
    """
    good: LabRun | None = st.session_state.get(GOOD)
    own = None
    if _last(asked, "data") in (UPLOAD, TABLE_UPLOAD) and good is not None and good.upload is not None:
        own = good.upload
        changed = {key: value for key, value in asked.items() if key in ("h", "n", "xi")}
        settings = dict(good.experiment.settings) | fields_of_parameters(changed)["settings"]
        experiment = replace(good.experiment, settings=settings)
    else:
        experiment = linked_experiment(asked)
    if learner:
        experiment = replace(experiment, learners=(learner,), runs=1)
    with one_at_a_time("a run of the Drift lab", progress) as tell:
        return run(experiment, own, tell)


def _last(asked: Parameters, name: str) -> str:
    return ([*asked.get(name, ())] or [""])[-1]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0  # reported by `fields_of_parameters`
