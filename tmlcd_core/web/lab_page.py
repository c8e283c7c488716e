"""The Drift lab in one HTML file: a run in its player, and sliders that compute another run in the reader's browser."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tmlcd_core.datasets.pack import load_levels
from tmlcd_core.experiments.experiment import PACK, Experiment
from tmlcd_core.experiments.labels import FULL
from tmlcd_core.learners.trace import Trace
from tmlcd_core.mcu.wasm import module
from tmlcd_core.progress import Progress, silent
from tmlcd_core.streams.drifts import DRIFTS
from tmlcd_core.streams.feature_pools import STEP, DatasetPool, FeaturePool
from tmlcd_core.streams.recordings import Recording
from tmlcd_core.streams.scenario import NO_EFFECT, Origin, Scenario
from tmlcd_core.streams.stream import Stream
from tmlcd_core.viz import player
from tmlcd_core.viz.lab import MOST_CLASSES, picture_of_experiment, run_of
from tmlcd_core.viz.palette import styles
from tmlcd_core.viz.picture import look
from tmlcd_core.web.one_file import LOADING, bundle, modules_of, one_file, style_sheet

LIVE = (
    "cit", "active", "hybrid", "static", "incremental", "window", "condensed", "cit-bounded", "hybrid-unbounded",
    "tandem",
)  # fmt: skip
OFFERED = ("cit", "active", "hybrid", "static", "incremental", "tandem")  # besides those of the run
SETTINGS = ("threshold", "batch", "warmup", "k", "weights", "condense", "max_size", "window")
PLAIN = ("class-change", "class-added", "class-removed", "labels-swapped", "recurring", "none")  # need no effect
NOISY = ("noise", "several")
MODULES = ("page", "draws", "stream", "judgement", "story", "membership", "data", "learners", "player_run", "lab")
MOST_MB = 12  # of features in a page
THRESHOLD = 25.0
HINTS = {
    "alarms": "Alarms up to the cursor.",
    "false alarms": player.FALSE_ALARM,
    "delay": player.DELAY,
    "recovery": player.RECOVERY,
}


@dataclass(frozen=True)
class PoolData:
    """Features inside a page: their description, and the bytes that it describes."""

    about: dict[str, Any]
    body: bytes


def lab_page(
    experiment: Experiment, feature_pool: FeaturePool, stream: Stream, traces: Mapping[str, Trace],
    tested: Collection[str], title: str,
) -> str:  # fmt: skip
    """Return the HTML page of a run.

    The page computes other runs for its sliders with the firmware's C code as WebAssembly, if the learners, the drift
    and the settings of the experiment exist there and the features are not too large; otherwise it says why it cannot
    and only plays the run.

    Parameters
    ----------
    experiment, feature_pool, stream
        The experiment, its features and its samples.
    traces : mapping
        Trace of each learner.
    tested : collection of str
        Learners that have a change-detection test.
    title : str
        Name of the run.
    """
    threshold = float(dict(experiment.settings).get("threshold", THRESHOLD))
    reason, data = why_not_live(experiment), PoolData({"features": stream.X.shape[1]}, b"")
    if not reason:
        found = pool_data(experiment, feature_pool, stream)
        reason, data = ("", found) if len(found.body) <= MOST_MB * 2**20 else (_too_large(len(found.body)), data)
    live = [name for name in experiment.learner_names if name in LIVE]
    offered = list(dict.fromkeys([*live, *OFFERED]))
    page = {
        "title": title,
        "data": experiment.data,
        "live": not reason,
        "reason": reason,
        "experiment": _fields(experiment, stream.scenario, live, threshold),
        "pool": data.about,
        "looks": {name: {"key": name} | vars(look) for name, look in styles(offered).items()},
        "drifts": {name: kind.title for name, kind in DRIFTS.items()},
        "hints": HINTS,
        "class_looks": [look(number, "") for number in range(MOST_CLASSES)],
    }
    picture = picture_of_experiment(experiment, stream, traces) if stream.X.shape[1] == 2 else None
    shown = run_of(title, stream, traces, threshold, tested, picture)
    page["template"] = shown.payload()[0] | {"story": [], "moments": [], "so_far": [], "learners": [], "picture": None}
    blobs = {
        "run": shown.pack(start=shown.length - 1),
        "learners": module("learners"),
        "tandem": module("tandem"),
        "features": data.body,
    }
    code = bundle(modules_of(MODULES, {"player": player.player_script()}), "lab")
    return one_file(
        title, _body(page, data), style_sheet("page.css") + player.player_style(), code, {"page": page}, blobs
    )


def page_of_experiment(experiment: Experiment, progress: Progress = silent) -> str:
    """Run an experiment once, with its seed, and return its page (`lab_page`)."""
    feature_pool = experiment.feature_pool(progress=progress)
    stream = experiment.stream(feature_pool, progress)
    run = experiment.run_stream(stream)
    kind = "" if stream.scenario.recorded else f"{DRIFTS[experiment.drift].title}: "
    traces = {name: one.trace for name, one in run.learners.items() if one.trace is not None}
    tested = [name for name, one in run.learners.items() if one.has_test]
    title = f"{kind}{', '.join(_names(stream.scenario))}"
    return lab_page(experiment, feature_pool, stream, traces, tested, title)


def why_not_live(experiment: Experiment) -> str:
    """Return why a page cannot compute runs of this experiment, as a sentence; empty if it can."""
    unknown = [name for name, _ in experiment.settings if name.rpartition(".")[2] not in SETTINGS]
    if not any(name in LIVE for name in experiment.learner_names):
        return "The sliders are off: none of these learners is part of the C code."
    if unknown:
        return f"The sliders are off: the C code in this page has no setting {unknown[0]}."
    if experiment.supervision != FULL:
        return "The sliders are off: this page cannot compute runs with missing, late or wrong labels."
    if experiment.added:
        return "The sliders are off: a drift was added while this stream ran, which this page cannot compute."
    if experiment.scenario is not None or experiment.drift not in (*PLAIN, *NOISY):
        return "The sliders are off: the drift of this run is not part of this page."
    return ""


def pool_data(experiment: Experiment, feature_pool: FeaturePool, stream: Stream) -> PoolData:
    """Return the features of a page; those of every class that its sliders can reach."""
    width = stream.X.shape[1]
    about: dict[str, Any] = {"name": feature_pool.name, "features": width, "levels": None, "preset": None}
    if isinstance(feature_pool, Recording):
        X = np.concatenate([stream.X0, stream.X])
        labels = [*stream.y0.tolist(), *stream.y.tolist()]
        about |= {"recorded": {"labels": labels, "initial": len(stream.y0)}, "classes": [], "counts": {}, "step": 0}
        return PoolData(about | {"origins": [_origin(Origin(""), len(X))]}, X.astype("<f4").tobytes())
    if experiment.data == PACK:
        return _pack(about, feature_pool)
    everything = experiment.data == "points"
    names = feature_pool.classes if everything else stream.scenario.names
    effects = dict.fromkeys([(NO_EFFECT, 0.0), *((one.effect, one.strength) for one in stream.origins)])
    most = most_samples(stream.scenario)
    parts, origins, counts = [], [], {}
    for name in names:
        for effect, strength in effects:
            wanted = min(feature_pool.count(name), math.ceil(most / STEP) * STEP)
            rows = feature_pool.pool(Origin(name, effect, strength), wanted)[0][:wanted]
            counts[name] = feature_pool.count(name) if len(rows) == wanted else len(rows)
            origins.append(_origin(Origin(name, effect, strength), len(rows)))
            parts.append(rows)
    step = 0 if isinstance(feature_pool, DatasetPool) else STEP
    about |= {"classes": list(names), "counts": counts, "step": step, "origins": origins}
    return PoolData(about, np.concatenate(parts).astype("<f4").tobytes())


def most_samples(scenario: Scenario) -> int:
    """Return the most samples of a class that the sliders of a page can ask for.

    With c classes of n samples each, a drift leaves at least two labels: at most n c / 2 samples of a class follow it.
    """
    size = scenario.start.size
    per_class = scenario.length // size
    return scenario.train + max(math.ceil(1.5 * per_class), per_class + len(scenario.drifts) + 2) + size


def _too_large(size: int) -> str:
    return (
        f"The sliders are off: the features of this run have {size / 2**20:.0f} MB, a page holds {MOST_MB} MB. Use "
        "fewer samples (--per-class, --train), fewer classes, or --data pack."
    )


def _pack(about: dict[str, Any], feature_pool: FeaturePool) -> PoolData:
    packed = load_levels()
    words = list(packed.rows)
    about |= {
        "levels": {"shape": packed.shape, "low": packed.low.tolist(), "step": packed.step.tolist()},
        "classes": list(feature_pool.classes),
        "counts": packed.rows,
        "step": 0,
        "origins": [_origin(Origin(word), packed.rows[word]) for word in words],
        "preset": {"words": list(feature_pool.classes[:-1]), "new": feature_pool.classes[-1]},
    }
    return PoolData(about, packed.differences)


def _names(scenario: Scenario) -> list[str]:
    return list(scenario.start.classes) if isinstance(scenario.start.classes, tuple) else []


def _origin(origin: Origin, count: int) -> dict[str, Any]:
    return {"word": origin.word, "effect": origin.effect, "strength": origin.strength, "count": count}


def _fields(experiment: Experiment, scenario: Scenario, learners: list[str], threshold: float) -> dict[str, Any]:
    """The experiment as the page changes it; classes that Python has drawn from other data are named."""
    drawn = experiment.data not in (PACK, "points")
    new = next((name for drift in scenario.drifts for name in drift.named(["new"])), None)
    effects = [(getattr(drift, "effect", NO_EFFECT), getattr(drift, "strength", 1.0)) for drift in scenario.drifts]
    effect, strength = next((one for one in effects if one[0]), (NO_EFFECT, 1.0))
    return {
        "classes": scenario.start.size,
        "words": _names(scenario) if drawn and not scenario.recorded else list(experiment.words),
        "new": new if drawn else experiment.new,
        "drift": experiment.drift,
        "affected": experiment.affected,
        "at": experiment.at,
        "over": experiment.over,
        "effect": effect,
        "strength": strength,
        "per_class": scenario.length // scenario.start.size if drawn else experiment.per_class,
        "train": scenario.train if drawn else experiment.train,
        "seed": experiment.seed,
        "learners": learners,
        "settings": json.loads(json.dumps(dict(experiment.settings) | {"threshold": threshold})),
        "max_bytes": experiment.max_bytes,
    }


# ---------------------------------------------------------------- HTML


def _body(page: Mapping[str, Any], data: PoolData) -> str:
    given, pool = page["experiment"], data.about
    controls = _controls(page, given, pool) if page["live"] else ""
    return f"""\
<main>
<h1 id="title">{html.escape(page["title"])}</h1>
{controls}
<p id="state" role="status">{LOADING}</p>
<div id="player"></div>
<details {"" if page["live"] else "hidden"}><summary>The same run as a command</summary>
<code id="command"></code></details>
<footer><p>Made with TML-CD Lab. This file needs no server and no network: the learners are the C code that also runs on
the microcontroller, compiled to WebAssembly.</p></footer>
<noscript><p>This page needs JavaScript.</p></noscript>
</main>"""


def _controls(page: Mapping[str, Any], given: Mapping[str, Any], pool: Mapping[str, Any]) -> str:
    learners = "".join(
        f'<label class="tick"><input type="checkbox" name="learner" value="{name}"'
        f"{' checked' if name in given['learners'] else ''}>{html.escape(look['name'])}</label>"
        for name, look in page["looks"].items()
    )
    each = 4 * pool["features"] + 8
    low, high = (math.ceil(4 * math.log2(n * each)) for n in (10, 1000))
    here = given["max_bytes"]
    place = max(low, min(high, round(4 * math.log2(here or 100 * each))))
    composed = "" if "recorded" in pool else _composed(page, given, pool)
    level = given["settings"]["threshold"]
    return f"""\
<fieldset disabled>
<div class="row">
{composed}
{_slider("threshold", "Alarm level (h)", 1, 100, level, f"{level:g}")}
<button id="again" type="button">Another draw</button>
</div>
<details id="more" open><summary>Learners, memory and seed</summary>
<div class="row">{learners}</div>
<div class="row">
<label class="tick"><input id="limited" type="checkbox"{" checked" if here else ""}>Same memory for all learners</label>
{_slider("bytes", "Memory", low, high, place, f"{here:,} bytes" if here else "off")}
<label>Seed <input id="seed" type="number" min="0" max="4294967295" value="{given["seed"]}"></label>
</div>
</details>
</fieldset>"""


def _composed(page: Mapping[str, Any], given: Mapping[str, Any], pool: Mapping[str, Any]) -> str:
    noisy = any(one["effect"] for one in pool["origins"])
    offered = [name for name in DRIFTS if name in PLAIN or (noisy and name in NOISY)]
    options = "".join(
        f'<option value="{name}"{" selected" if name == given["drift"] else ""}>{html.escape(page["drifts"][name])}'
        for name in offered
    )
    most = max(2, given["classes"], min(9, len(pool["classes"]) - 1))
    return f"""\
{_slider("classes", "Classes (λ)", 2, most, given["classes"], given["classes"])}
<label>Drift <select id="drift">{options}</select></label>
{_slider("at", "Drift starts at", 1, 99, round(100 * given["at"]), f"{100 * given['at']:.0f} %")}"""


def _slider(name: str, label: str, low: float, high: float, value: float, shown: Any) -> str:
    return (
        f'<label><span>{label}: <b id="{name}-value">{shown}</b></span>'
        f'<input id="{name}" type="range" min="{low:g}" max="{high:g}" value="{value:g}"></label>'
    )
