"""Settings of the Drift lab: widgets in, an Experiment out."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from pages.shell.streamlit_internals import DeltaGenerator
from pages.shell.url_widgets import ARRIVED, as_text, checked, chosen
from pages.shell.visitor import offers_server_devices
from pages.views.drift_lab.runs import feature_pool_of
from pages.views.drift_lab.tables import classes_in_words, counts_of, preview, table_of
from pages.views.drift_lab.toolbar import added_in_words, follow_link, memory_choice, remove_added, reset
from pages.views.drift_lab.upload import Upload, local_folder, local_table, upload, upload_table
from tmlcd_core.datasets import SOURCES, pack
from tmlcd_core.datasets.speech import WORDS, SpeechSource
from tmlcd_core.errors import TmlcdError
from tmlcd_core.experiments import VARIANTS, Experiment
from tmlcd_core.experiments.experiment import PACK
from tmlcd_core.experiments.link import (
    ADDED,
    EXTRACTOR_FIELD,
    FOLDER,
    OLD_LABELS,
    OTHER,
    TABLE,
    TABLE_UPLOAD,
    UPLOAD,
    fields_of_parameters,
    has_settings,
)
from tmlcd_core.experiments.variants import CODE
from tmlcd_core.features import EFFECTS, EXTRACTORS
from tmlcd_core.learners import LEARNERS, PAPER
from tmlcd_core.streams import DRIFTS
from tmlcd_core.streams.foreign import is_foreign, named_length
from tmlcd_core.streams.scenario import VERY_NOISY
from tmlcd_core.viz.palette import styles

SPEECH, POINTS = "speech", "points"
DATA = {
    PACK: "Ready-made words",
    POINTS: "Points in the plane",
    SPEECH: "Spoken words",
    "digits": "Handwritten digits",
    FOLDER: "Folder on this computer",
    UPLOAD: "Upload a zip",
    TABLE: "Table on this computer",
    TABLE_UPLOAD: "Upload a table",
}
# Sources from plugins and downloads have the same name here and on the command line.
DATA |= {name: name for name in SOURCES if name not in DATA and not name.startswith(SPEECH)}
MOST_CLASSES = {PACK: 3, POINTS: 9}
MOST_WORDS = 11  # ten classes and one new class
MOST_SAMPLES = 20_000  # of a recorded stream on this page
MOST_DELAY = 5000  # samples
BEGUN = "lab begun"
AUTOMATIC = 0  # in the address: selects the paper's value, or no limit
# Settings shown to experts only.
EXPERT = (
    "labels", "wrong_labels", "label_delay", "paper", "k", "votes", "condense", "window", "p", "max_bytes", "n", "xi",
    "grid", "gap",
)  # fmt: skip
HIDE_EXPERT = "<style>[class*='st-key-expert-'] { display: none; }</style>"
MOST_BYTES = 10**8

Asked = dict[str, list[str]]  # widget values as query parameters of the address


@dataclass(frozen=True)
class Chosen:
    """Values of the widgets: an experiment and its upload, or the reason why there is none.

    `waits` names the setting that is still missing, `fault` is the error of an invalid one.
    """

    experiment: Experiment | None
    upload: Upload | None = None
    waits: str = ""
    fault: TmlcdError | None = None


def choose(row: DeltaGenerator) -> Chosen:
    """Draw the widgets, four in `row` above the charts and the rest in the sidebar, and return their values.

    The settings for experts are always drawn, so that they keep their values, and hidden from others by style.
    """
    _begin()
    offered = {code: title for code, title in DATA.items() if _offered(code)}
    if is_foreign(named := st.query_params.get("data", "")):  # only a link can choose one
        offered[named] = named
    with row:
        data = chosen(
            st.selectbox, "Data", offered, key="data", old=OLD_LABELS, width=180,
            help="Source of the samples.", on_change=remove_added,
        )  # fmt: skip
        asked: Asked = {"data": [data]}
        recorded = data in (TABLE, TABLE_UPLOAD) or is_foreign(data)
        if not recorded:
            _classes_and_drift(data, asked)
        threshold = checked(
            st.slider, "Alarm level (h)", 1.0, 100.0, 25.0, 1.0, key="h", width=120, format="%g",
            help="The alarm goes off when the CUSUM statistic g reaches h.",
        )  # fmt: skip
    asked["h"] = [str(threshold)]
    try:
        own = _recorded(data, asked) if recorded else _data(data, asked)
        if not recorded:
            _when(data, asked)
            _features(data, asked)
        with st.sidebar.container(key="expert-labels"):
            _supervision(asked)
        _who(asked)
        _expert(asked)
        ordered = ("order", "initial", "samples") if data in (FOLDER, UPLOAD) else ()
        for name in (OTHER, "new", *ordered):  # only a link can set these
            asked[name] = st.query_params.get_all(name)
        return Chosen(Experiment(**fields_of_parameters(asked)), own)
    except TmlcdError as fault:
        return Chosen(None, fault=fault)
    except _Waits as what:
        return Chosen(None, waits=str(what))


def _begin() -> None:
    """Start a visit without settings in the address with those of `START`; they then stand in the address.

    A link from another page of the same visit sets all settings: those that it does not name have their defaults.
    """
    if st.session_state.get(BEGUN):
        if st.session_state.get(ARRIVED) and has_settings(st.query_params):
            follow_link()
        return
    st.session_state[BEGUN] = True
    if not has_settings(st.query_params):
        reset()
    if any(name in st.query_params for name in EXPERT):
        st.session_state.setdefault("expert", True)


def _classes_and_drift(data: str, asked: Asked) -> None:
    """Draw the widgets of a composed stream above the charts."""
    most = MOST_CLASSES.get(data, 10)
    classes = checked(
        st.slider, "Classes (λ)", 2, most, 2, key="lambda", width=120, help="Number of classes at the start."
    )
    kinds = {name: kind.title for name, kind in DRIFTS.items() if _medium(data) != "vector" or not kind.disturbs}
    told = "  \n".join(f"**{kind.title}**: {kind.about}." for kind in DRIFTS.values())
    drift = chosen(
        st.selectbox, "Drift", kinds, key="drift", old=OLD_LABELS, width=195, help=told, on_change=remove_added
    )
    asked["lambda"], asked["drift"] = [str(classes)], [drift]


class _Waits(Exception):
    """A setting is missing; the message names it and its place on the page."""


def _offered(code: str) -> bool:
    if code == PACK:
        return (pack.PLACE / pack.FILE).exists()
    if code in SOURCES:
        return SOURCES[code].missing() is None
    return code not in (FOLDER, TABLE) or offers_server_devices()


def _medium(data: str) -> str:
    """Return the kind of data: "audio", "image", "vector", or "any" for a folder that is not read yet."""
    if data == PACK:
        return "vector"  # it contains features, not clips
    return SOURCES[data].kind if data in SOURCES else "any"


def _data(data: str, asked: Asked) -> Upload | None:
    with st.sidebar.expander("Data", expanded=data not in (PACK, POINTS), icon=":material/database:"):
        own = None
        if data == FOLDER:
            typed = checked(
                st.text_input, "Folder", key="folder", help="Path on this computer; it contains one folder per class."
            )
            if not typed.strip():
                raise _Waits(
                    "Type the path of a folder with one subfolder of clips or images per class: “Data” in the sidebar"
                )
            _use_folder(asked, local_folder(typed), None)
        elif data == UPLOAD:
            own = upload()
            if own is None:
                raise _Waits("Upload a zip with one folder of clips or images per class: “Data” in the sidebar")
            _use_folder(asked, own.path, own.cache)
        elif data == SPEECH:
            asked["words"] = _words()
        asked["per_class"] = [
            str(checked(
                st.slider, "Samples per class", 20, 1500, 1500, 10, key="per_class",
                help="Samples of each class in the stream (paper: 1,500 sounds or 1,000 images).",
            ))
        ]  # fmt: skip
        asked["train"] = [
            str(checked(
                st.slider, "Initial samples per class", 1, 100, 100, 1, key="train",
                help="Training samples of each class before the stream starts (paper: 100).",
            ))
        ]  # fmt: skip
        seed = checked(st.number_input, "Seed", 0, 9999, 0, key="seed", help="The same seed gives the same run.")
        asked["seed"] = [str(int(seed))]
    return own


def _recorded(data: str, asked: Asked) -> Upload | None:
    """Draw the settings of a recorded stream, with a preview of a table before it runs."""
    own = None
    with st.sidebar.expander("Data", expanded=True, icon=":material/database:"):
        if data == TABLE:
            hint = "CSV, TSV, ARFF, Parquet or NPZ file on this computer, with its rows in the order of time."
            typed = checked(st.text_input, "Table", key="table", help=hint)
            if not typed.strip():
                raise _Waits("Type the path of a table: “Data” in the sidebar")
            asked["table"] = [local_table(typed)]
        elif data == TABLE_UPLOAD:
            own = upload_table()
            if own is None:
                raise _Waits("Upload a table with its rows in the order of time: “Data” in the sidebar")
            asked["data"], asked["table"] = [TABLE], [own.path]
        if "table" in asked:
            asked["label"], rows = _label(asked["table"][0], own.name if own else Path(asked["table"][0]).name)
        else:
            rows = named_length(data)
        asked["initial"] = [str(int(checked(
            st.number_input, "Initial samples", 1, MOST_SAMPLES - 1, 100, key="initial",
            help="First samples, on which the learners and the scaling of the columns are fitted.",
        )))]  # fmt: skip
        samples = int(checked(
            st.number_input, "Samples", 1, MOST_SAMPLES, None, key="samples", placeholder="All",
            help=f"Samples to use, the initial ones included; on this page at most {MOST_SAMPLES:,}.",
        ) or AUTOMATIC)  # fmt: skip
        asked["samples"] = [str(samples or (MOST_SAMPLES if rows > MOST_SAMPLES else 0))]
        if "table" in asked:
            scales = ["z-score", "min-max", "none"]
            hint = (
                "Scaling of numbers by the initial samples: mean and standard deviation, or smallest and largest value."
            )
            asked["scale"] = [checked(st.selectbox, "Scaling", scales, key="scale", help=hint)]
    return own


def _label(path: str, name: str) -> tuple[list[str], int]:
    """Show the preview of a table and the choice of its label column; return the label and the number of rows."""
    table = table_of(path)
    likely = table.likely_label()
    options = {"": "Choose a column"} | {column.name: column.name for column in table.columns}
    label = chosen(
        st.selectbox, "Label", options, key="label",
        help=f"Column with the class of each row. It is probably “{likely}”.",
    )  # fmt: skip
    with st.expander(f"Columns of {as_text(name)}", expanded=not label):
        st.dataframe(preview(table, label), hide_index=True, height=min(400, 36 * (len(table.columns) + 1)))
    if not label:
        raise _Waits(f"Choose the column with the labels, probably “{likely}”: “Label” in the sidebar")
    counts = counts_of(path, label)
    st.caption(as_text(classes_in_words(counts)))
    return [label], counts.rows


def _expert(asked: Asked) -> None:
    """Draw the switch of the settings for experts."""
    with st.sidebar:
        hint = "Labels, memory limits, neighbours and the change-detection test."
        if not checked(st.toggle, "Expert settings", False, key="expert", help=hint):
            st.html(HIDE_EXPERT)
            if used := [name for name in EXPERT if name != "max_bytes" and st.query_params.get_all(name)]:
                st.caption(f"This run uses expert settings: {', '.join(used)}.")


def _supervision(asked: Asked) -> None:
    with st.expander("Labels", icon=":material/label:"):
        shares = {
            "labels": ("Samples with a label (%)", 100, "The other samples are predicted; their label never comes."),
            "wrong_labels": ("Wrong labels (%)", 0, "Labels that are replaced by another class."),
        }  # fmt: skip
        for key, (title, usual, hint) in shares.items():
            asked[key] = [str(checked(st.slider, title, 0, 100, usual, 1, key=key, help=hint))]
        delay = checked(
            st.number_input, "Label delay (samples)", 0, MOST_DELAY, 0, key="label_delay",
            help="The label of a sample comes after so many more predictions. The accuracy counts the true labels.",
        )  # fmt: skip
        asked["label_delay"] = [str(int(delay))]


def _use_folder(asked: Asked, path: str, cache: str | None) -> None:
    """Use a folder as data; opening it here reports its error before any other."""
    feature_pool_of(path, (), (), cache)
    asked["data"], asked["folder"] = [FOLDER], [path]


def _words() -> list[str]:
    words = checked(
        st.multiselect,
        "Words",
        list(WORDS),
        key="words",
        accept_new_options=True,
        max_selections=MOST_WORDS,
        placeholder="Choose or type words",
        help="The first λ words are the initial classes; the drift changes the first of them, and the next word is the "
        "new class. The seed draws missing words. You can type any word.",
    )
    SpeechSource((*words, *(word for word in WORDS if word not in words)))
    return list(words)


def _when(data: str, asked: Asked) -> None:
    with st.sidebar.expander("Drift", icon=":material/trending_down:"):
        fewest, classes = DRIFTS[asked["drift"][0]].affects, int(asked["lambda"][0])
        if 0 < fewest < classes:
            affected = checked(
                st.slider, "Classes affected (m)", fewest, classes, fewest, key="affected",
                help="Number of classes that change, or of labels that rotate.",
            )  # fmt: skip
            asked["affected"] = [str(affected)]
        begins = checked(
            st.slider, "Drift starts at (% of stream)", 1.0, 99.0, 50.0, 1.0, key="begins", format="%g",
            help="Part of the stream before the drift.", on_change=remove_added,
        )  # fmt: skip
        lasts = checked(
            st.slider, "Drift lasts (% of the rest)", 0, 100, 0, 5, key="over",
            help="Part of the remaining stream in which old and new samples are mixed. 0 = abrupt change.",
        )  # fmt: skip
        asked["begins"], asked["over"] = [str(begins)], [str(lasts)]
        asked[ADDED] = st.query_params.get_all(ADDED)
        if told := added_in_words(asked[ADDED]):
            st.caption(as_text(f"Added at the cursor: {', '.join(told)}."))
            st.button("Remove what was added", on_click=remove_added, icon=":material/close:")
        if not DRIFTS[asked["drift"][0]].disturbs:
            return
        kind = _kind(data, asked)
        fitting = [name for name, effect in EFFECTS.items() if effect.kind == kind]
        effects = [VERY_NOISY, *fitting] if data == SPEECH else fitting
        effect = checked(st.selectbox, "Noise", effects, key="effect", help=_explained(effects))
        if effect != effects[0]:  # the default is not part of the address
            asked["effect"] = [effect]
        if effect != VERY_NOISY:
            strength = checked(st.slider, "Strength (%)", 0, 100, 100, 5, key="strength", help="100 = full effect.")
            asked["strength"] = [str(strength)]


def _kind(data: str, asked: Asked) -> str:
    """Return the kind of data, of a folder too: "audio", "image" or "vector"."""
    return feature_pool_of(asked["folder"][0], (), (), None).kind if "folder" in asked else _medium(data)


def _features(data: str, asked: Asked) -> None:
    """Choose the feature extractor; only sound has a choice."""
    kind = _kind(data, asked)
    if kind == "audio":
        with st.sidebar.expander("Features", icon=":material/graphic_eq:"):
            name = chosen(
                st.selectbox, "Extractor", EXTRACTORS, key=EXTRACTOR_FIELD,
                help="What turns a recording into numbers: one filter of a network for photographs (715 numbers), or a "
                "network that was trained on speech (96 numbers). The first run computes them, about 20 ms each.",
            )  # fmt: skip
        asked[EXTRACTOR_FIELD] = [name]


def _explained(effects: list[str]) -> str:
    noisy = f"**{VERY_NOISY}**: the paper's noisy variant of the speech commands."
    return "  \n".join(noisy if e == VERY_NOISY else f"**{e}**: {EFFECTS[e].explanation}" for e in effects)


def _paper_settings(asked: Asked) -> bool:
    """Choose the variant of the paper's settings; return True for the settings as printed."""
    variant = chosen(
        st.selectbox, "Settings of the paper", {name: one.title for name, one in VARIANTS.items()}, key="paper",
        help="The authors' code differs from the paper's text:  \n" + "  \n".join(
            f"**{one.topic}**: {one.value}." for one in VARIANTS[CODE].choices if one.repeated
        ),
    )  # fmt: skip
    asked["paper"] = [variant]
    if variant == CODE and not VARIANTS[CODE].extractor(asked["data"][0]):
        st.caption("These data keep their features: choose “Spoken words” for the code's batch normalisation.")
    return variant != CODE


def _who(asked: Asked) -> None:
    named = {*st.query_params.get_all("learners"), *st.session_state.get("learners", ())}  # a link can name any
    looks = styles(name for name, entry in LEARNERS.items() if entry.in_lab or name in named)
    with st.sidebar.expander("Learners", icon=":material/school:"):
        asked["learners"] = chosen(
            st.multiselect, "Learners", {name: look.name for name, look in looks.items()}, default=PAPER,
            key="learners", old=OLD_LABELS,
            help="The paper's three learners, and two for comparison: one never learns, one stores every sample.",
        )  # fmt: skip
        if not asked["learners"]:
            raise _Waits("Choose at least one learner: “Learners” in the sidebar")
        memory_choice()
        with st.container(key="expert-learners"):
            as_printed = _paper_settings(asked)
            numbers: dict[str, Any] = {
                "k": checked(
                    st.number_input, "Neighbours (k)", 1, 99, None, key="k", placeholder="Auto",
                    help="Number of neighbours. Auto = √(samples stored), as in the paper.",
                ),
                "votes": checked(
                    st.selectbox, "Votes", ["uniform", "distance"], key="votes", disabled=not as_printed,
                    help="Uniform: one vote each. Distance: each vote weighs 1/distance, as in the authors' code.",
                ),
                "condense": checked(
                    st.toggle, "Condense", True, key="condense",
                    help="Condense the training set T with Hart's algorithm, as in the paper.",
                ),
                "window": checked(
                    st.number_input, "Window (ϖ)", 1, 5000, None, key="window", placeholder="Auto",
                    help="History window of Active, largest |T| of Hybrid. Auto = as many as initial samples.",
                ),
                "p": checked(
                    st.number_input, "Bound (p)", 1, 5000, None, key="p", placeholder="No limit",
                    help="Largest |T| of Condensing-in-Time; the oldest samples are removed first.",
                ),
                "max_bytes": checked(
                    st.number_input, "Same memory for all learners (bytes)", 1, MOST_BYTES, None, key="max_bytes",
                    placeholder="No limit",
                    help="Every learner stores as many samples as fit; Active shares the bytes between T and window. "
                    "Window and bound are then ignored.",
                ),
            }  # fmt: skip
    place = st.sidebar.container(key="expert-test")
    with place.expander("Change detection", icon=":material/query_stats:"):
        numbers |= {
            "n": checked(
                st.slider, "Batch (n)", 10, 100, 50, 10, key="n", help="Samples per batch of the test."
            ),
            "xi": checked(
                st.slider, "Warm-up (ξ)", 20, 300, 100, 20, key="xi", help="Samples used to estimate the accuracy υ₀."
            ),
            "grid": checked(
                st.select_slider, "Grid", [0.005, 0.01, 0.02, 0.05], value=0.01, key="grid",
                help="Step between the candidate accuracies υ₁.",
            ),
            "gap": checked(
                st.slider, "Gap to υ₀", 0.0, 0.2, 0.03, 0.01, key="gap",
                help="Candidates υ₁ closer to υ₀ are not tested.",
            ),
        }  # fmt: skip
    for name, value in numbers.items():
        automatic = AUTOMATIC if value is None else value
        whole = isinstance(automatic, float) and name in ("k", "window", "p", "max_bytes")
        asked[name] = [str(int(automatic) if whole else automatic).lower()]
