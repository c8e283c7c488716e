"""Link (URL) of an experiment in the Drift lab, and its command line.

URL parameters have short names and stable values; default values of `Experiment` are omitted. Links of earlier
versions, which used the labels of the page as values, still open the same settings. Only a link without any setting has
no meaning of its own: it opens the experiment `START`.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit

from tmlcd_core.datasets import SOURCES
from tmlcd_core.errors import ConfigError
from tmlcd_core.experiments.variants import CODE, VARIANTS, variant_of
from tmlcd_core.features.speech_extractor import PAPER_NAME
from tmlcd_core.start import START
from tmlcd_core.streams.foreign import is_foreign

if TYPE_CHECKING:
    from tmlcd_core.experiments.experiment import Experiment

PAGE = "drift-lab"
LAB_DATA = "pack"  # default of the page
FOLDER, UPLOAD = "folder", "upload"  # data supplied by the user
TABLE, TABLE_UPLOAD = "table", "table-upload"
BANDS = 20  # number of runs for bands=true

# URL parameter to field of Experiment, or to settings of learners.
WHOLE = {
    "lambda": "classes", "affected": "affected", "per_class": "per_class", "train": "train", "seed": "seed",
    "runs": "runs", "initial": "initial", "samples": "samples", "label_delay": "label_delay", "max_bytes": "max_bytes",
}  # fmt: skip
SHARES = {  # in percent
    "begins": "at", "over": "over", "strength": "strength", "labels": "labels", "wrong_labels": "wrong_labels",
}  # fmt: skip
TEXTS = {"drift": "drift", "effect": "effect", "label": "label", "scale": "scale", "order": "order"}
SETTINGS: dict[str, tuple[str, ...]] = {
    "h": ("threshold",),
    "n": ("batch",),
    "xi": ("warmup",),
    "k": ("k",),
    "votes": ("weights",),
    "condense": ("cit.condense", "active.condense", "hybrid.condense"),
    "window": ("active.window", "hybrid.max_size"),
    "p": ("cit.max_size",),
    "grid": ("spacing",),
    "gap": ("gap",),
}
ANY_STREAM = ("label", "scale", "order", "initial", "samples", "labels", "label_delay", "wrong_labels")
AUTOMATIC = {"k": "0", "window": "0", "p": "0", "max_bytes": "0"}  # values that mean the default
ADDED = "added"  # NAME@SAMPLE, once for each drift that was added while the stream ran
OTHER = "set"  # SETTING=VALUE, for settings without a widget
EXTRACTOR = "extractor."
EXTRACTOR_FIELD = "extractor"  # a name of EXTRACTORS
PAPER_FIELD = "paper"  # a name of VARIANTS, whose settings come before the others of the link
NAMES = frozenset((
    "data", FOLDER, TABLE, "bands", "words", "new", "learners", ADDED, OTHER, PAPER_FIELD, EXTRACTOR_FIELD, *WHOLE,
    *SHARES, *TEXTS, *SETTINGS,
))  # all parameters of an experiment  # fmt: skip

# Values in links of earlier versions: labels of the page.
OLD_LABELS = {
    "Ready-made words": "pack",
    "Points in the plane": "points",
    "Spoken words": "speech",
    "Handwritten digits": "digits",
    "Folder on this computer": FOLDER,
    "Upload a zip": UPLOAD,
    "A class changes": "class-change",
    "Noise sets in": "noise",
    "A class comes in": "class-added",
    "A class goes": "class-removed",
    "Two labels swap": "labels-swapped",
    "Changes and returns": "recurring",
    "One after the other": "several",
    "Nothing changes": "none",
    "Condensing-in-Time": "cit",
    "Active Tiny kNN": "active",
    "Hybrid Tiny kNN": "hybrid",
    "Static kNN": "static",
    "Incremental kNN": "incremental",
}

Parameters = Mapping[str, Sequence[str]]


def value_of(text: str) -> Any:
    """Return the value of a setting's text: a number, true, false, none, or else the text itself.

    >>> [value_of(text) for text in ("3", "0.5", "true", "none", "sqrt")]
    [3, 0.5, True, None, 'sqrt']
    """
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def text_of(value: Any) -> str:
    """Return the text of a setting's value, the inverse of `value_of`."""
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def parameters_of(experiment: Experiment) -> dict[str, list[str]]:
    """Return the URL parameters of an experiment, as lists of text by name, without default values."""
    if experiment.scenario is not None:
        raise ConfigError("a custom scenario has no link: save it with to_json and use `run --scenario FILE`")
    if any(not isinstance(one, str) for one in experiment.learners):
        raise ConfigError("a learner object has no link: register it by name with register_learner")
    usual = {one.name: one.default for one in fields(experiment) if one.default is not MISSING}
    found: dict[str, list[str]] = {}
    named = experiment.data in SOURCES or experiment.data == LAB_DATA or is_foreign(experiment.data)
    path = TABLE if experiment.label else FOLDER
    if experiment.data != LAB_DATA:
        found["data"] = [experiment.data if named else path]
    if not named:
        found[path] = [experiment.data]
    if experiment.runs == BANDS:
        found["bands"] = ["true"]
    for name, field in (WHOLE | TEXTS).items():
        if (value := getattr(experiment, field)) not in (usual[field], BANDS if name == "runs" else None):
            found[name] = [str(value)]
    for name, field in SHARES.items():
        if (value := getattr(experiment, field)) != usual[field]:
            found[name] = [text_of(round(100 * value, 4))]
    if experiment.added:
        found[ADDED] = [*experiment.added]
    if experiment.words:
        found["words"] = [*experiment.words]
    if experiment.new is not None:
        if len(experiment.words) == experiment.classes:
            found["words"].append(experiment.new)
        else:
            found["new"] = [experiment.new]
    if experiment.learners != usual["learners"]:
        found["learners"] = list(experiment.learners)
    variant, left, extractor = _by_variant(experiment)
    if variant:
        found[PAPER_FIELD] = [variant]
    for name, keys in SETTINGS.items():
        mine = [key for key in keys if "." not in key or key.partition(".")[0] in experiment.learners]
        values = {left[key] for key in mine if key in left}
        if len(values) == 1 and all(key in left for key in mine):
            found[name] = [text_of(values.pop())]
            for key in mine:
                del left[key]
    if "name" in extractor:
        found[EXTRACTOR_FIELD] = [str(extractor.pop("name"))]
    other = [f"{key}={text_of(value)}" for key, value in left.items()]
    other += [f"{EXTRACTOR}{key}={json.dumps(value)}" for key, value in extractor.items()]
    if other:
        found[OTHER] = other
    order = (  # first; the others follow as collected above
        "data", "folder", "table", "label", "lambda", "words", "new", "drift", "affected",
    )  # fmt: skip
    return {name: found[name] for name in (*(n for n in order if n in found), *(n for n in found if n not in order))}


def _by_variant(experiment: Experiment) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Return the variant ("" if as printed), and the settings of learners and extractor that it does not contain."""
    left, extractor = dict(experiment.settings), dict(experiment.extractor)
    code = VARIANTS[CODE]
    if not code.within(experiment):
        return "", left, extractor
    return CODE, _without(left, code.settings), _without(extractor, code.extractor(experiment.data))


def _without(values: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key not in known or known[key] != value}


def link_of(experiment: Experiment, base: str = "") -> str:
    """Return the link (URL) that opens an experiment in the Drift lab of the server at `base`."""
    asked = parameters_of(experiment) or {"data": [experiment.data]}  # a link without settings opens START
    return f"{base.rstrip('/')}/{PAGE}?{urlencode(asked, doseq=True)}"


def has_settings(names: Iterable[str]) -> bool:
    """Return True if at least one of these URL parameters is a setting of an experiment.

    >>> has_settings(["presenter"]), has_settings(["presenter", "h"])
    (False, True)
    """
    return any(name in NAMES for name in names)


def fields_of(url: str) -> dict[str, Any]:
    """Return the keyword arguments of `Experiment` in a link; a `ConfigError` names an invalid value."""
    return fields_of_parameters(parse_qs(urlsplit(url).query or url.partition("?")[2], keep_blank_values=True))


def fields_of_parameters(asked: Parameters) -> dict[str, Any]:
    """Return the keyword arguments of `Experiment` in parsed URL parameters; unknown parameters are ignored.

    Without any parameter of an experiment, they are those of `START`.
    """
    found: dict[str, Any] = {}
    if not has_settings(asked):
        asked = START
    data = _last(asked, "data") or LAB_DATA
    if data == UPLOAD:
        raise ConfigError("a link does not contain the uploaded zip: unpack it and give the folder")
    if data == TABLE_UPLOAD:
        raise ConfigError("a link does not contain the uploaded table: save it and give its path")
    found["data"] = _last(asked, data) if data in (FOLDER, TABLE) else data
    if not found["data"]:
        raise ConfigError(f"the link has data={data} without {data}=PATH: add the path")
    if data == TABLE and not _last(asked, "label"):
        raise ConfigError("the link has data=table without label=COLUMN: add the label column")
    for name, field in WHOLE.items():
        if (text := _last(asked, name)) and text != AUTOMATIC.get(name):
            found[field] = _number(name, text, int)
    for name, field in SHARES.items():
        if text := _last(asked, name):
            found[field] = _number(name, text, float) / 100
    for name, field in TEXTS.items():
        if text := _last(asked, name):
            found[field] = text
    if _last(asked, "bands") == "true":
        found.setdefault("runs", BANDS)
    if words := [word for word in asked.get("words", ()) if word]:
        found["words"] = tuple(words)
    if added := [text for text in asked.get(ADDED, ()) if text]:
        found[ADDED] = tuple(added)
    if new := asked.get("new"):
        found["new"] = new[-1]
    if learners := [OLD_LABELS.get(name, name) for name in asked.get("learners", ()) if name]:
        found["learners"] = tuple(learners)
    variant = variant_of(_last(asked, PAPER_FIELD)) if _last(asked, PAPER_FIELD) else None
    settings: dict[str, Any] = variant.settings if variant else {}
    for name, keys in SETTINGS.items():
        text = _last(asked, name)
        if text and text != AUTOMATIC.get(name):
            settings |= dict.fromkeys(keys, value_of(text))
    name = _last(asked, EXTRACTOR_FIELD)
    extractor: dict[str, Any] = {"name": name} if name not in ("", PAPER_NAME) else {}
    for text in asked.get(OTHER, ()):
        key, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"{OTHER}={text!r} in the link: write SETTING=VALUE")
        if key.startswith(EXTRACTOR):
            extractor[key.removeprefix(EXTRACTOR)] = _json(value)
        else:
            settings[key] = value_of(value)
    if variant:
        extractor = variant.with_extractor(found["data"], extractor)
    return found | {"settings": settings, "extractor": extractor}


def _last(asked: Parameters, name: str) -> str:
    """Last value of a URL parameter, with old labels translated; "" if it is absent."""
    values = asked.get(name) or [""]
    return OLD_LABELS.get(values[-1], values[-1])


def _number(name: str, text: str, kind: type) -> Any:
    try:
        return kind(float(text)) if kind is int and float(text).is_integer() else kind(text)
    except (ValueError, OverflowError):
        raise ConfigError(f"{name}={text[:40]!r} in the link is not a number: correct the value") from None


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return value_of(text)


def command_of(experiment: Experiment) -> str:
    """Return the `tmlcd run` command line of an experiment."""
    asked = parameters_of(experiment)  # raises an error for custom scenarios and learner objects
    names = [*experiment.words, *([experiment.new] if experiment.new else [])]
    variant, settings, extractor = _by_variant(experiment)
    named = extractor.pop("name", None)
    if extractor or any("," in name or name.startswith("-") for name in names):
        return shlex.join(["tmlcd", "run", "--link", link_of(experiment), "--runs", str(experiment.runs)])
    usual = {one.name: one.default for one in fields(experiment)}
    given: dict[str, Any] = {"table" if experiment.label else "data": experiment.data}
    if not experiment.is_recorded:
        given["classes"] = experiment.classes
    if len(experiment.words) == experiment.classes:
        given["classes"] = ",".join(experiment.words)
    elif experiment.words:
        given["words"] = ",".join(experiment.words)
    for field in (
        "new", "drift", "affected", "at", "over", "effect", "strength", "per_class", "train", "seed", *ANY_STREAM,
        "max_bytes",
    ):  # fmt: skip
        if getattr(experiment, field) != usual[field]:
            given[field.replace("_", "-")] = getattr(experiment, field)
    if experiment.added:
        given[ADDED] = ",".join(experiment.added)
    if "learners" in asked:
        given["learners"] = ",".join(experiment.learners)
    if variant:
        given["paper"] = variant
    if named:
        given["extractor"] = named
    words = ["tmlcd", "run"]
    for name, value in given.items():
        words += [f"--{name}", text_of(value)]
    for key, value in settings.items():
        words += ["--set", f"{key}={text_of(value)}"]
    return shlex.join([*words, "--runs", str(experiment.runs)])
