"""Link (URL) of an experiment in the Drift lab, and its command line.

URL parameters have short names and stable values; default values are omitted. Links of earlier versions, which used the
labels of the page as values, still open the same settings.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit

from tmlcd_core.datasets import SOURCES
from tmlcd_core.errors import ConfigError

if TYPE_CHECKING:
    from tmlcd_core.experiments.experiment import Experiment

PAGE = "drift-lab"
LAB_DATA = "pack"  # default of the page
FOLDER, UPLOAD = "folder", "upload"  # data supplied by the user
BANDS = 20  # number of runs for bands=true

# URL parameter to field of Experiment, or to settings of learners.
WHOLE = {"lambda": "classes", "per_class": "per_class", "train": "train", "seed": "seed", "runs": "runs"}
SHARES = {"begins": "at", "over": "over", "strength": "strength"}  # in percent
TEXTS = {"drift": "drift", "effect": "effect"}
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
AUTOMATIC = {"k": "0", "window": "0", "p": "0"}  # values that mean the default
OTHER = "set"  # SETTING=VALUE, for settings without a widget
EXTRACTOR = "extractor."

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
    """Parse the text of a setting: a number, true, false, none, or else the text itself.

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
    named = experiment.data in SOURCES or experiment.data == LAB_DATA
    if experiment.data != LAB_DATA:
        found["data"] = [experiment.data if named else FOLDER]
    if not named:
        found["folder"] = [experiment.data]
    if experiment.runs == BANDS:
        found["bands"] = ["true"]
    for name, field in (WHOLE | TEXTS).items():
        if (value := getattr(experiment, field)) not in (usual[field], BANDS if name == "runs" else None):
            found[name] = [str(value)]
    for name, field in SHARES.items():
        if (value := getattr(experiment, field)) != usual[field]:
            found[name] = [text_of(round(100 * value, 4))]
    if experiment.words:
        found["words"] = [*experiment.words]
    if experiment.new is not None:
        if len(experiment.words) == experiment.classes:
            found["words"].append(experiment.new)
        else:
            found["new"] = [experiment.new]
    if experiment.learners != usual["learners"]:
        found["learners"] = list(experiment.learners)
    left = dict(experiment.settings)
    for name, keys in SETTINGS.items():
        mine = [key for key in keys if "." not in key or key.partition(".")[0] in experiment.learners]
        values = {left[key] for key in mine if key in left}
        if len(values) == 1 and all(key in left for key in mine):
            found[name] = [text_of(values.pop())]
            for key in mine:
                del left[key]
    other = [f"{key}={text_of(value)}" for key, value in left.items()]
    other += [f"{EXTRACTOR}{key}={json.dumps(value)}" for key, value in experiment.extractor]
    if other:
        found[OTHER] = other
    order = ("data", "folder", "lambda", "words", "new", "drift")  # first; the others follow as collected above
    return {name: found[name] for name in (*(n for n in order if n in found), *(n for n in found if n not in order))}


def link_of(experiment: Experiment, base: str = "") -> str:
    """Return the link (URL) that opens an experiment in the Drift lab of the server at `base`."""
    asked = urlencode(parameters_of(experiment), doseq=True)
    return f"{base.rstrip('/')}/{PAGE}" + (f"?{asked}" if asked else "")


def fields_of(url: str) -> dict[str, Any]:
    """Parse a link into keyword arguments of `Experiment`; a `ConfigError` names an invalid value."""
    return fields_of_parameters(parse_qs(urlsplit(url).query or url.partition("?")[2], keep_blank_values=True))


def fields_of_parameters(asked: Parameters) -> dict[str, Any]:
    """Convert parsed URL parameters to keyword arguments of `Experiment`; unknown parameters are ignored."""
    found: dict[str, Any] = {}
    data = _last(asked, "data") or LAB_DATA
    if data == UPLOAD:
        raise ConfigError("a link does not contain the uploaded zip: unpack it and give the folder")
    found["data"] = _last(asked, "folder") or "" if data == FOLDER else data
    if not found["data"]:
        raise ConfigError("the link has data=folder without folder=PATH: add the folder")
    for name, field in WHOLE.items():
        if text := _last(asked, name):
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
    if new := asked.get("new"):
        found["new"] = new[-1]
    if learners := [OLD_LABELS.get(name, name) for name in asked.get("learners", ()) if name]:
        found["learners"] = tuple(learners)
    settings: dict[str, Any] = {}
    for name, keys in SETTINGS.items():
        text = _last(asked, name)
        if text and text != AUTOMATIC.get(name):
            settings |= dict.fromkeys(keys, value_of(text))
    extractor: dict[str, Any] = {}
    for text in asked.get(OTHER, ()):
        key, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"{OTHER}={text!r} in the link: write SETTING=VALUE")
        if key.startswith(EXTRACTOR):
            extractor[key.removeprefix(EXTRACTOR)] = _json(value)
        else:
            settings[key] = value_of(value)
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
    if experiment.extractor or any("," in name or name.startswith("-") for name in names):
        return shlex.join(["tmlcd", "run", "--link", link_of(experiment), "--runs", str(experiment.runs)])
    usual = {one.name: one.default for one in fields(experiment)}
    given: dict[str, Any] = {"data": experiment.data, "classes": experiment.classes}
    if len(experiment.words) == experiment.classes:
        given["classes"] = ",".join(experiment.words)
    elif experiment.words:
        given["words"] = ",".join(experiment.words)
    for field in ("new", "drift", "at", "over", "effect", "strength", "per_class", "train", "seed"):
        if getattr(experiment, field) != usual[field]:
            given[field.replace("_", "-")] = getattr(experiment, field)
    if "learners" in asked:
        given["learners"] = ",".join(experiment.learners)
    words = ["tmlcd", "run"]
    for name, value in given.items():
        words += [f"--{name}", text_of(value)]
    for key, value in experiment.settings:
        words += ["--set", f"{key}={text_of(value)}"]
    return shlex.join([*words, "--runs", str(experiment.runs)])
