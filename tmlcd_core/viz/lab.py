"""Run of the Drift lab as charts of the player, tables and a CSV file."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.changes import agreements
from tmlcd_core.datasets import Kind
from tmlcd_core.experiments.evaluation import Metrics, Spread
from tmlcd_core.experiments.experiment import Experiment
from tmlcd_core.experiments.results import mean_curve
from tmlcd_core.experiments.runs import LearnerRun, Run
from tmlcd_core.learners import Trace
from tmlcd_core.metrics import TAPS, accuracy_curve
from tmlcd_core.streams.feature_pools import FeaturePool
from tmlcd_core.streams.scenario import Origin, Scenario
from tmlcd_core.streams.stream import Stream
from tmlcd_core.viz.palette import GREY, styles
from tmlcd_core.viz.picture import Picture, fit_projection, look
from tmlcd_core.viz.player import UNKNOWN, Panel, PlayerRun, number_text, readable, recovery_text
from tmlcd_core.viz.plotly_json import Part, plotly_figure

# Noun for a sample of a class, by the name of the data or the kind of data.
CONTENTS = {
    "pack": "the word", "speech": "the word", "digits": "the digit", "points": "a point of",
    "audio": "a clip of", "image": "an image of", "vector": "a sample of",
}  # fmt: skip
MOST_PLACES = 8  # places of agreement in a sentence
MOST_CLASSES = 25  # in a picture: no two of them look alike

# Rows of the metrics table: field, name, decimals.
FIGURES = (
    ("accuracy", "accuracy", 3),
    ("accuracy_before", "accuracy before the change", 3),
    ("accuracy_after", "accuracy after the change", 3),
    ("accuracy_100", "accuracy in the 100 samples after it", 3),
    ("recovery", "samples until recovered", 0),
    ("alarms", "alarms", 1),
    ("delay", "samples until the alarm", 0),
    ("change_point_error", "error of the change point", 0),
    ("missed", "missed changes", 1),
    ("false_alarms", "false alarms", 1),
    ("final_size", "|T| at the end", 0),
    ("largest_size", "largest |T|", 0),
    ("largest_bytes", "bytes of the largest T", 0),
    ("window_bytes", "bytes of the window W", 0),
    ("mean_bytes", "bytes of T and W, mean over time", 0),
    ("peak_bytes", "bytes of T and W, largest", 0),
    ("microseconds", "µs per sample here", 1),
)


def run_of(
    title: str,
    stream: Stream,
    traces: Mapping[str, Trace],
    threshold: float,
    tested: Collection[str] = (),
    picture: Picture | None = None,
    in_bytes: bool = False,
) -> PlayerRun:
    """Return the charts of one run for the player; `tested` as in `PlayerRun.from_traces`.

    With `in_bytes` the chart of the memory shows bytes first, and samples when the visitor switches.
    """
    shown = PlayerRun.from_traces(
        title,
        traces,
        stream.y,
        threshold=threshold,
        tested=tested,
        changes=stream.scenario.known_changes,
        ends=stream.ends,
        x_label="samples seen",
        alt=run_in_words(stream, traces),
        change_texts=changes_in_words(stream.scenario),
        picture=picture,
    )
    accuracy, memory, statistic = shown.panels
    taps = taps_for(len(stream))
    curves = {name: accuracy_curve(hits, taps) for name, hits in shown.correct.items()}
    accuracy = replace(accuracy, title=_accuracy_title(taps), curves=curves)
    used = {name: trace.memory.over_time(trace.sizes) for name, trace in traces.items() if trace.memory is not None}
    if used:
        memory = _with_bytes(memory, Panel(*BYTES_PANEL, used, digits=0, strip=True, unit="bytes"), in_bytes)
    return replace(shown, panels=(accuracy, memory, statistic))


BYTES_PANEL = ("Memory in bytes: T and window W", "bytes")  # title and name of the value


def _with_bytes(samples: Panel, in_bytes: Panel, bytes_first: bool) -> Panel:
    """The memory in samples with that in bytes as its alternative, or the other way round."""
    return replace(in_bytes, alternative=samples) if bytes_first else replace(samples, alternative=in_bytes)


def picture_of(
    stream: Stream, traces: Mapping[str, Trace], settings: Mapping[str, Mapping[str, Any]], can_play: bool = False
) -> Picture | None:
    """Return the picture of a run: the plane itself, or a projection fitted on the initial training set.

    Parameters
    ----------
    stream, traces
        The run.
    settings
        Settings of each learner (`Experiment.learner_settings`).
    can_play
        True if the samples have a sound or picture.

    Returns
    -------
    Picture or None
        None if there are too many classes to tell them apart.
    """
    labels = np.concatenate([stream.y0, stream.y])
    if len(np.unique(labels)) > MOST_CLASSES:
        return None
    in_plane = stream.X.shape[1] == 2
    samples = np.concatenate([stream.X0, stream.X])
    held = {name: trace.membership for name, trace in traces.items() if trace.membership is not None}
    votes = {}
    for name in held:
        k = settings[name].get("k", "sqrt")
        votes[name] = (k if isinstance(k, int) else 0, settings[name].get("weights") == "distance")
    return Picture(
        samples if in_plane else fit_projection(stream.X0, stream.y0)(samples),
        labels,
        len(stream.y0),
        "The plane" if in_plane else "Projection to two dimensions",
        in_plane and all(one.get("storage", "float32") == "float32" for one in settings.values()),
        {name: trace.predictions for name, trace in traces.items()},
        held,
        votes,
        can_play,
    )


def picture_of_experiment(experiment: Experiment, stream: Stream, traces: Mapping[str, Trace]) -> Picture | None:
    """Return the picture of a run of an experiment, whose learners may be objects; see `picture_of`."""
    learners = {name: experiment.learner(name, stream.scenario) for name in traces}
    return picture_of(stream, traces, {name: getattr(one, "get_params", dict)() for name, one in learners.items()})


def changes_in_words(scenario: Scenario) -> tuple[str, ...]:
    """Return what happened at each change of a scenario, in the past tense.

    >>> from tmlcd_core.streams import make_scenario
    >>> changes_in_words(make_scenario("labels-swapped", ("yes", "up")).complete(("yes", "up"), seed=0))
    ('“yes” and “up” swapped',)
    """
    if scenario.recorded:
        return ()
    concepts, found = scenario.concepts(), []
    for change in scenario.changes:
        numbers = [number for number, drift in enumerate(scenario.drifts) if drift.at == change]
        found.append(_change_in_words(concepts[numbers[0]], concepts[numbers[-1] + 1]))
    return tuple(found)


def _change_in_words(before: Mapping[str, Origin], after: Mapping[str, Origin]) -> str:
    def named(labels: Collection[str]) -> str:
        return _listed([f"“{label}”" for label in labels])

    other = [label for label in after if label in before and after[label].word != before[label].word]
    parts = []
    if other and {after[label].word for label in other} == {before[label].word for label in other}:
        parts.append(f"{named(other)} {'swapped' if len(other) == 2 else 'rotated'}")
    else:
        parts += [f"“{after[label].word}” replaced “{before[label].word}”" for label in other]
    if new := [label for label in after if label not in before]:
        parts.append(f"{named(new)} appeared")
    if gone := [label for label in before if label not in after]:
        parts.append(f"{named(gone)} disappeared")
    effects = {origin.effect for origin in after.values()} - {origin.effect for origin in before.values()}
    for effect in sorted(effects):
        parts.append(f"{effect or 'the noise'} {'started' if effect else 'stopped'}")
    return _listed(parts)


def _listed(parts: Sequence[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def taps_for(length: int) -> int:
    """Return the window of the accuracy curve in samples: 100 as in the paper, fewer for a short stream.

    >>> taps_for(3000), taps_for(80)
    (100, 10)
    """
    return min(TAPS, max(10, length // 100 * 10))


def _accuracy_title(taps: int) -> str:
    return f"Accuracy over the last {taps} samples"


def run_in_words(stream: Stream, traces: Mapping[str, Trace]) -> str:
    """Return a description of a run in words."""
    changes = ", ".join(map(str, stream.changes)) or ("unknown" if stream.scenario.recorded else "none")
    looks = styles(traces)
    parts = [f"True changes at sample: {changes}."]
    for name, trace in traces.items():
        hits = trace.predictions == stream.y
        alarms = f", alarms at {', '.join(map(str, trace.detections))}" if len(trace.detections) else ""
        parts.append(f"{looks[name].name}: accuracy {hits.mean():.2f}, {trace.sizes[-1]} samples at the end{alarms}.")
    return " ".join(parts)


def bands_of(title: str, runs: Sequence[Run], threshold: float, in_bytes: bool = False) -> PlayerRun:
    """Return the charts of the mean of several runs for the player, with bands of one standard deviation.

    `in_bytes` as in `run_of`.
    """
    names = tuple(runs[0].learners)
    length = min(run.scenario.length for run in runs)
    known = runs[0].scenario.known_changes
    taps = taps_for(length)

    def panel(heading: str, short: str, line: Callable[[LearnerRun], NDArray], **options: Any) -> Panel:
        curves = {name: mean_curve([line(run.learners[name]) for run in runs]) for name in names}
        shown = {name: curve for name, curve in curves.items() if not np.isnan(curve.mean).all()}
        mean = {name: curve.mean for name, curve in shown.items()}
        return Panel(heading, short, mean, {name: curve.std for name, curve in shown.items()}, **options)

    statistic = panel(
        "CUSUM statistic g",
        "g",
        lambda run: run.trace.statistic,  # type: ignore[union-attr]
        threshold=threshold,
        threshold_label=f"threshold h = {threshold:g}",
        digits=1,
        strip=True,
    )
    memory = panel("Memory: samples in T", "|T|", lambda run: run.sizes, digits=0, strip=True, unit="samples")
    if all(run.learners[name].memory is not None for run in runs for name in names):
        used = panel(
            *BYTES_PANEL,
            lambda run: run.memory.over_time(run.sizes),  # type: ignore[union-attr]
            digits=0,
            strip=True,
            unit="bytes",
        )
        memory = _with_bytes(memory, used, in_bytes)
    panels = (
        panel(_accuracy_title(taps), "accuracy", lambda run: accuracy_curve(run.correct, taps), low=None, high=1.0),
        memory,
        readable(statistic),
    )
    return PlayerRun(
        title,
        panels,
        names,
        changes=None if known is None else tuple(change for change in known if change < length),
        x_label="samples seen",
        alt=f"Mean and standard deviation of {len(runs)} runs.",
        ends=runs[0].scenario.ends if known else None,
        change_texts=changes_in_words(runs[0].scenario),
        band=f"Average of {len(runs)} runs, band: ± 1 standard deviation",
    )


def figures(metrics: Mapping[str, Metrics]) -> dict[str, list[str]]:
    """Return the metrics of one run as columns of a table."""
    rows = {name: asdict(found) for name, found in metrics.items()}
    cells = {name: {f: number_text(row[f], digits) for f, _, digits in FIGURES} for name, row in rows.items()}
    for name, found in metrics.items():
        if not math.isnan(found.unrecovered):
            cells[name]["recovery"] = recovery_text(found.recovery, int(found.unrecovered))
    return _columns(cells)


def spreads(summary: Mapping[str, Mapping[str, Spread]]) -> dict[str, list[str]]:
    """Return the metrics of several runs as columns of a table: mean ± standard deviation."""
    cells = {name: {f: _spread(found[f], digits) for f, _, digits in FIGURES} for name, found in summary.items()}
    for name, found in summary.items():
        never = round(found["unrecovered"].mean * found["unrecovered"].n) if found["unrecovered"].n else 0
        if never:
            back = cells[name]["recovery"]
            cells[name]["recovery"] = "never" if back == UNKNOWN else f"{back}, {never} never"
    return _columns(cells)


def _columns(cells: Mapping[str, Mapping[str, str]]) -> dict[str, list[str]]:
    looks = styles(cells)
    known = [(f, words) for f, words, _ in FIGURES if any(found[f] != UNKNOWN for found in cells.values())]
    columns = {"": [words for _, words in known]}
    return columns | {looks[name].short: [found[f] for f, _ in known] for name, found in cells.items()}


def _spread(value: Spread, digits: int) -> str:
    return UNKNOWN if math.isnan(value.mean) else f"{value.mean:,.{digits}f} ± {value.std:,.{digits}f}"


def sample_in_words(label: str, origin: Origin, data: str, kind: Kind) -> str:
    """Return a description of a sample: its content, its label if that differs, and its disturbance.

    `data` and `kind` are those of the feature pool and select the noun (word, digit, image, …).

    >>> sample_in_words("up", Origin("stop"), "speech", "audio")
    'the word “stop”, now labelled “up”'
    >>> sample_in_words("cat", Origin("cat", "image noise", 0.5), "my/folder", "image")
    'an image of “cat”, image noise 50%'
    """
    noun = CONTENTS.get(data.partition("-")[0], CONTENTS[kind])
    labelled = f", now labelled “{label}”" if origin.word != label else ""
    disturbed = (
        f", {origin.effect}" + (f" {origin.strength:.0%}" if origin.strength < 1 else "") if origin.effect else ""
    )
    return f"{noun} “{origin.word}”{labelled}{disturbed}"


def shortage_in_words(experiment: Experiment, scenario: Scenario, feature_pool: FeaturePool) -> str:
    """Return a note on why the stream is shorter than requested; empty if it is not."""
    if scenario.recorded:
        return ""
    asked = experiment.per_class * experiment.classes
    parts = []
    if scenario.length < asked:
        found = experiment.fit(feature_pool, {word: feature_pool.usable(word, asked) for word in scenario.names})
        reason = f"the data have only {found.samples:,} of “{found.fewest}”, and no sample is used twice"
        parts.append(f"The stream has {scenario.length:,} samples instead of {asked:,}: {reason}.")
    if scenario.train < experiment.train:
        parts.append(f"Each class begins with {scenario.train:,} samples instead of {experiment.train:,}.")
    return " ".join(parts)


def agreement_in_words(traces: Mapping[str, Trace]) -> str:
    """Return a sentence about alarms of several learners near each other; empty if there are none."""
    looks = styles(traces)
    found = agreements({name: trace.detections for name, trace in traces.items()})
    places = [f"{sample:,} ({', '.join(looks[name].short for name in names)})" for sample, names in found[:MOST_PLACES]]
    more = f" and {len(found) - MOST_PLACES} more places" if len(found) > MOST_PLACES else ""
    return f"Several learners raise an alarm near sample {', '.join(places)}{more}." if found else ""


def trace_csv(stream: Stream, traces: Mapping[str, Trace]) -> str:
    """Return a run as CSV text, one line per sample."""
    head = ["sample", "label", "class", "effect", "strength", "medium", "true_change"]
    for name in traces:
        head += [f"{name}_{what}" for what in ("predicted", "correct", "size", "statistic", "alarm", "change_point")]
    points = {
        name: dict(zip(t.detections.tolist(), t.change_points.tolist(), strict=True)) for name, t in traces.items()
    }
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(head)
    for i in range(len(stream)):
        origin = stream.origins[stream.origin[i]]
        row: list[Any] = [i, stream.y[i], origin.word, origin.effect, origin.strength, stream.index[i]]
        row.append(int(i in stream.changes))
        for name, trace in traces.items():
            g = trace.statistic[i]
            row += [trace.predictions[i], int(trace.predictions[i] == stream.y[i]), trace.sizes[i]]
            row += ["" if math.isnan(g) else repr(float(g)), int(i in points[name]), points[name].get(i, "")]
        writer.writerow(row)
    return out.getvalue()


def plane_figure(samples: Any, labels: Any, classes: Any, here: Any, near: Any, name: str) -> Any:
    """Return a Plotly figure of T of one learner in the plane, with the current sample and its neighbours.

    `classes` are all classes that T may contain; each has the same colour and shape for every learner.
    """
    data: list[Part] = []
    for number, label in enumerate(classes):
        part = samples[labels == label]
        if not len(part):
            continue
        drawn = look(number, str(label))
        marker = {"size": 7, "opacity": 0.7, "color": drawn["colour"], "symbol": drawn["shape"]}
        data.append({
            "type": "scatter", "x": part[:, 0], "y": part[:, 1], "mode": "markers", "name": str(label),
            "marker": marker,
        })  # fmt: skip
    lines = np.array([p for point in near for p in (here, point, (np.nan, np.nan))], float).reshape(-1, 2)
    data.append({
        "type": "scatter", "x": lines[:, 0], "y": lines[:, 1], "mode": "lines", "line": {"color": GREY, "width": 1},
        "showlegend": False, "hoverinfo": "skip",
    })  # fmt: skip
    mark = {"symbol": "x", "size": 13, "color": GREY, "line": {"width": 1}}
    data.append({
        "type": "scatter", "x": here[:1], "y": here[1:], "mode": "markers", "name": "sample", "marker": mark,
    })  # fmt: skip
    layout = {
        "height": 260,
        "margin": {"l": 4, "r": 4, "t": 28, "b": 4},
        "title": {"text": f"T of {name}", "font": {"size": 13}},
        "uirevision": "plane",
        "yaxis": {"scaleanchor": "x"},
    }
    return plotly_figure(data, layout)
