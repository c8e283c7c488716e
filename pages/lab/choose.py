"""The settings of the Drift lab: widgets in, a Trial out."""

from dataclasses import dataclass
from typing import Any, NoReturn

import streamlit as st

from pages.lab.runs import material_of
from pages.lab.upload import Upload, local_folder, upload
from pages.shell.visitor import offers_server_devices
from pages.widgets import checked, show_fault
from tmlcd_core.datasets import SOURCES, pack
from tmlcd_core.datasets.speech import WORDS, SpeechSource
from tmlcd_core.errors import TmlcdError
from tmlcd_core.experiments import DRIFTS
from tmlcd_core.experiments.contestants import CONTESTANTS, PAPER
from tmlcd_core.experiments.scenario import VERY_NOISY
from tmlcd_core.experiments.trial import KINDS, NOISY, PACK, Trial
from tmlcd_core.features import EFFECTS
from tmlcd_core.viz.palette import styles

SPEECH, DIGITS, POINTS, FOLDER, UPLOAD = "speech", "digits", "points", "folder", "upload"
DATA = {
    "Ready-made words": PACK,
    "Points in the plane": POINTS,
    "Spoken words": SPEECH,
    "Handwritten digits": DIGITS,
    "Folder on this computer": FOLDER,
    "Upload a zip": UPLOAD,
}
# A source that has been added, and one that has been downloaded, goes by the name that the command line knows.
DATA |= {name: name for name in SOURCES if name not in DATA.values() and not name.startswith(SPEECH)}
MOST_CLASSES = {PACK: 3, POINTS: 9}
DRIFT_NAMES = {
    "class-change": "A class changes",
    "noise": "Noise sets in",
    "class-added": "A class comes in",
    "class-removed": "A class goes",
    "labels-swapped": "Two labels swap",
    "recurring": "Changes and returns",
    "several": "One after the other",
    "none": "Nothing changes",
}
MOST_WORDS = 11  # ten classes and one that comes in
AUTOMATIC = 0  # a number that means "as in the paper"


@dataclass(frozen=True)
class Chosen:
    """What the widgets say: a trial and the upload it is about, or where in the sidebar it says why there is none."""

    trial: Trial | None
    upload: Upload | None = None
    fault_in: str = ""


def choose() -> Chosen:
    """Draw the widgets, a few above the charts and the rest in the sidebar."""
    offered = [name for name, code in DATA.items() if _offered(code)]
    with st.container(horizontal=True, vertical_alignment="top"):
        data = DATA[
            checked(
                st.selectbox, "Data", offered, key="data", width=200, help="Where the samples of the stream come from."
            )
        ]
        most = MOST_CLASSES.get(data, 10)
        classes = checked(st.slider, "Classes λ", 2, most, 2, key="lambda", width=135, help="λ: classes to begin with.")
        kinds = [DRIFT_NAMES[kind] for kind in KINDS if _medium(data) != "vector" or kind not in NOISY]
        told = "  \n".join(f"**{DRIFT_NAMES[kind]}**: {DRIFTS[kind]}." for kind in KINDS)
        name = checked(st.selectbox, "Drift", kinds, key="drift", width=200, help=told)
        drift = next(kind for kind in KINDS if DRIFT_NAMES[kind] == name)
        threshold = checked(
            st.slider, "Threshold h", 1.0, 100.0, 25.0, 1.0, key="h", width=135, format="%g",
            help="h: the alarm is raised when the CUSUM statistic g reaches it.",
        )  # fmt: skip
    try:
        values, own = _data(data)
        values |= _when(data, drift) | _who(threshold)
        return Chosen(Trial(classes=classes, drift=drift, **values), own)
    except TmlcdError as fault:
        show_fault(fault, st.sidebar)
    except _Shown as fault:
        return Chosen(None, fault_in=str(fault))
    return Chosen(None)


class _Shown(Exception):
    """A fault that already stands beside its widget, in this part of the sidebar."""


def _complain(fault: TmlcdError) -> NoReturn:
    show_fault(fault)
    raise _Shown("Data") from fault


def _offered(code: str) -> bool:
    if code == PACK:
        return (pack.PLACE / pack.FILE).exists()
    if code in SOURCES:
        return SOURCES[code].missing() is None
    return code != FOLDER or offers_server_devices()


def _medium(data: str) -> str:
    """What can be disturbed: sound, images, both (nobody knows before a folder is read), or nothing."""
    if data == PACK:
        return "vector"  # its clips are not in it
    return SOURCES[data].kind if data in SOURCES else "any"


def _data(data: str) -> tuple[dict[str, Any], Upload | None]:
    with st.sidebar.expander("Data", expanded=data not in (PACK, POINTS), icon=":material/database:"):
        found: dict[str, Any] = {"data": data}
        own = None
        if data == FOLDER:
            folder = checked(
                st.text_input, "Folder", key="folder", help="One folder per class, on the machine of this server."
            )
            if not folder.strip():
                st.info("Type the path of a folder with one folder of clips or images per class.")
                raise _Shown("Data")
            try:
                found["data"] = local_folder(folder)
                material_of(found["data"], (), None)
            except TmlcdError as fault:
                _complain(fault)
        elif data == UPLOAD:
            own = upload()
            if own is None:
                raise _Shown("Data")
            found["data"] = own.path
        elif data == SPEECH:
            found["words"] = _words()
        found["per_class"] = checked(
            st.slider, "Samples per class", 100, 1500, 1500, 50, key="per_class",
            help="Samples of each class in the stream (paper: 1,500 of sounds, 1,000 of images).",
        )  # fmt: skip
        found["train"] = checked(
            st.slider, "Initial samples per class", 5, 100, 100, 5, key="train",
            help="Samples of each class to begin with (paper: 100).",
        )  # fmt: skip
        found["seed"] = int(
            checked(st.number_input, "Seed", 0, 9999, 0, key="seed", help="Equal seeds give equal runs.")
        )
    return found, own


def _words() -> tuple[str, ...]:
    words = checked(
        st.multiselect,
        "Words",
        list(WORDS),
        key="words",
        accept_new_options=True,
        max_selections=MOST_WORDS,
        placeholder="Choose or type words",
        help="The first λ are there from the beginning and the first changes; the next one comes in. "
        "What is left open is drawn by the seed. Any word can be typed.",
    )
    try:
        SpeechSource((*words, *(word for word in WORDS if word not in words)))
    except TmlcdError as fault:
        _complain(fault)
    return tuple(words)


def _when(data: str, drift: str) -> dict[str, Any]:
    with st.sidebar.expander("Drift", icon=":material/trending_down:"):
        found: dict[str, Any] = {
            "at": checked(
                st.slider, "Begins at, %", 10, 90, 50, 5, key="begins", help="Share of the stream before the drift."
            ) / 100,
            "over": checked(
                st.slider, "Takes, %", 0, 100, 0, 10, key="over",
                help="Share of what follows during which old and new come mixed; 0 is abrupt.",
            ) / 100,
        }  # fmt: skip
        if drift in NOISY:
            fitting = [name for name, effect in EFFECTS.items() if _medium(data) in ("any", effect.kind)]
            effects = [VERY_NOISY, *fitting] if data == SPEECH else fitting
            found["effect"] = checked(st.selectbox, "Noise", effects, key="effect", help=_explained(effects))
            if found["effect"] != VERY_NOISY:
                found["strength"] = checked(
                    st.slider, "Strength, %", 0, 100, 100, 5, key="strength", help="From none to full."
                ) / 100  # fmt: skip
    return found


def _explained(effects: list[str]) -> str:
    noisy = f"**{VERY_NOISY}**: the paper's noisy variant of the speech commands."
    return "  \n".join(noisy if e == VERY_NOISY else f"**{e}**: {EFFECTS[e].explanation}" for e in effects)


def _who(threshold: float) -> dict[str, Any]:
    names = {look.name: key for key, look in styles(c.name for c in CONTESTANTS.values() if c.in_lab).items()}
    usual = [name for name, key in names.items() if key in PAPER]
    with st.sidebar.expander("Learners", icon=":material/school:"):
        shown = checked(
            st.multiselect, "Learners", list(names), default=usual, key="learners",
            help="The paper's three, and two that do not adapt: one never learns, one stores everything.",
        )  # fmt: skip
        if not shown:
            st.error("Choose at least one learner.", icon=":material/error:")
            raise _Shown("Learners")
        k = int(
            checked(st.number_input, "Neighbours k", AUTOMATIC, 99, AUTOMATIC, key="k", help="k; 0 is ⌈√|T|⌉ (paper).")
        )  # fmt: skip
        votes = checked(st.selectbox, "Votes", ["uniform", "distance"], key="votes", help="One each, or 1/distance.")
        condense = checked(st.toggle, "Condense", True, key="condense", help="Hart's algorithm on T, as in the paper.")
        window = int(
            checked(
                st.number_input, "Window ϖ", AUTOMATIC, 5000, AUTOMATIC, key="window",
                help="ϖ: history window of the Active, largest |T| of the Hybrid; 0 is λ times the initial samples.",
            )
        )  # fmt: skip
        bound = int(
            checked(
                st.number_input, "Bound p", AUTOMATIC, 5000, AUTOMATIC, key="p",
                help="p: largest |T| of Condensing-in-Time, the oldest go first; 0 is no bound.",
            )
        )  # fmt: skip
    with st.sidebar.expander("Change detection", icon=":material/query_stats:"):
        batch = checked(st.slider, "Batch n", 10, 100, 50, 10, key="n", help="n: samples the test takes in at a time.")
        warmup = checked(st.slider, "Warm-up ξ", 20, 300, 100, 20, key="xi", help="ξ: samples that estimate υ₀.")
        spacing = checked(
            st.select_slider, "Grid", [0.005, 0.01, 0.02, 0.05], value=0.01, key="grid",
            help="Distance between two accuracies υ₁ that could follow a change.",
        )  # fmt: skip
        gap = checked(
            st.slider, "Gap to υ₀", 0.0, 0.2, 0.03, 0.01, key="gap", help="Candidates υ₁ nearer to υ₀ are left out."
        )
    settings: dict[str, Any] = {"threshold": threshold, "batch": batch, "warmup": warmup, "weights": votes}
    if k != AUTOMATIC:
        settings["k"] = k
    settings |= {f"{key}.condense": condense for key in ("cit", "active", "hybrid")}
    if window != AUTOMATIC:
        settings |= {"active.window": window, "hybrid.max_size": window}
    if bound != AUTOMATIC:
        settings["cit.max_size"] = bound
    if (spacing, gap) != (0.01, 0.03):
        settings |= {"spacing": spacing, "gap": gap}
    return {"learners": tuple(names[name] for name in shown), "settings": tuple(settings.items())}
