"""Data of the canvas player: curves over time, marks, a picture of T and a story, packed into bytes.

The contract with the browser (`player_data.js` reads it; version 2):

- `PlayerRun.pack()` returns the length of the header (uint32, little endian), the header (JSON, UTF-8, padded to 4
  bytes) and the arrays. An array is referred to as `{"type": "f4" | "i4" | "u1", "offset": bytes, "size": entries}`.
- Samples count from 0. Curves have one value per sample; nan is a gap.
- `panels`: charts from top to bottom; `strip` ones are low, and `alternative` is a second chart for the same place.
- `learners`: key, names, colour, dashes, alarms, change points, dropped (lost and held samples at each alarm), correct.
- `changes`, `ends`, `change_texts`: the true changes, where each is complete, and what changed.
- `so_far`, `story`, `moments`: texts computed here by `tmlcd_core.changes`; each is valid from a sample on.
- `picture`: positions of all samples in two dimensions, and who was in T from when to when (`viz.picture`), or null.
- Options (`start`, `autoplay`, `speed`, `height`, `reports`, `links`, `tools`) do not change the digest of a run.

`player_script()` and `player_style()` are the player itself; it needs no server: call the module's default export with
`data`, `parentElement` and `setStateValue(name, value)`.
"""

import hashlib
import json
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib import resources
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tmlcd_core.changes import Judgement, judge
from tmlcd_core.errors import ConfigError
from tmlcd_core.metrics import TAPS, accuracy_curve
from tmlcd_core.viz.palette import styles
from tmlcd_core.viz.picture import Picture
from tmlcd_core.viz.story import Dropped, moments, story

HIGHEST = 4  # maximum of a chart's axis, in units of its threshold
MAX_LEARNERS = 8  # number of distinct colours of the palette
UNKNOWN = "–"
VERSION = 2  # of the header
SCRIPTS = ("player_data.js", "player_pens.js", "player_charts.js", "player_picture.js", "player.js")  # one module
# Help texts of the rows of the table.
FALSE_ALARM = "Alarms that are neither the first after a true change nor raised while a drift lasts."
DELAY = "Samples from a true change to the first alarm after it; mean over changes."
RECOVERY = (
    "Samples from a true change until the accuracy over the last 100 samples, all after the end of the drift, is back "
    "at 95 % of its value before this change, or before an earlier one without recovery; mean over changes. "
    "0: no fall. never: not back before the next change or the end."
)

Curves = Mapping[str, NDArray[Any]]


def player_script() -> str:
    """Return the player as a JavaScript module; its default export is called with data and an element."""
    return "\n".join(_resource(name) for name in SCRIPTS)


def player_style() -> str:
    """Return the style sheet of the player."""
    return _resource("player.css")


def _resource(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


class TraceLike(Protocol):
    """Interface of a learner's trace (`tmlcd_core.learners`) as used by the player."""

    @property
    def predictions(self) -> NDArray[Any]:
        """Predicted labels, shape (n,)."""

    @property
    def sizes(self) -> NDArray[Any]:
        """Size of T after each sample, shape (n,)."""

    @property
    def statistic(self) -> NDArray[Any]:
        """Statistic g after each sample, shape (n,); nan without one."""

    @property
    def detections(self) -> Sequence[int] | NDArray[Any]:
        """Samples with an alarm, shape (alarms,)."""

    @property
    def change_points(self) -> Sequence[int] | NDArray[Any]:
        """Estimated change point of each alarm, shape (alarms,)."""


@dataclass(frozen=True)
class Panel:
    """Chart of the player: a curve for each learner over the same samples.

    Parameters
    ----------
    title
        Title of the chart, with the unit.
    short
        Name of the value in the table.
    curves
        Learner -> values, shape (n,), one per sample; nan is a gap in the line. A learner may be missing.
    deviation
        Learner -> half width of a band around its curve, shape (n,).
    low, high
        Limits of the vertical axis; None for those of the curves.
    threshold
        Height of a dotted line across the chart.
    threshold_label
        Text at that line.
    digits
        Decimals of a value in the table.
    strip
        Draw the chart low, below a high one.
    unit
        Unit of a value, written after it.
    alternative
        Chart for the same place; a button switches.

    Examples
    --------
    >>> Panel("Samples in T", "|T|", {"hybrid": np.array([3.0, 4.0])}, digits=0).digits
    0
    """

    title: str
    short: str
    curves: Curves
    deviation: Curves = field(default_factory=dict)
    low: float | None = 0.0
    high: float | None = None
    threshold: float | None = None
    threshold_label: str = ""
    digits: int = 2
    strip: bool = False
    unit: str = ""
    alternative: "Panel | None" = None


def readable(panel: Panel) -> Panel:
    """Return a chart with a threshold, whose axis is limited so that a single peak does not hide the rest.

    >>> peak = Panel("g", "g", {"hybrid": np.array([1.0, 900.0])}, threshold=25.0)
    >>> readable(peak).high
    100.0
    """
    limit = HIGHEST * (panel.threshold or np.inf)
    highest = max((float(np.nanmax(curve, initial=-np.inf)) for curve in panel.curves.values()), default=0.0)
    return replace(panel, high=limit) if highest > limit else panel


def number_text(value: float, digits: int) -> str:
    """Return a number of one run as text for a table; integers have no decimals.

    >>> number_text(1234.0, 1), number_text(0.5, 3), number_text(math.nan, 1)
    ('1,234', '0.500', '–')
    """
    if math.isnan(value):
        return UNKNOWN
    return f"{value:,.{0 if float(value).is_integer() and digits < 3 else digits}f}"


def recovery_text(recovery: float, unrecovered: int, pending: int = 0) -> str:
    """Return the table text of the recovery: mean samples, and the number of changes without recovery (so far).

    >>> recovery_text(155.0, 0), recovery_text(math.nan, 1), recovery_text(155.0, 1)
    ('155', 'never', '155, 1 never')
    """
    parts = [] if math.isnan(recovery) else [number_text(recovery, 0)]
    if unrecovered:
        parts.append(f"{unrecovered} never" if parts or pending or unrecovered > 1 else "never")
    return ", ".join(parts + ["not yet"] * bool(pending)) or UNKNOWN


def _steps(judged: Judgement, text: Callable[[Judgement, int], str]) -> list[list[int | str]]:
    """A text that changes over time: pairs of the first sample at which it is valid, and the text.

    `text` takes the judgement up to a sample, and the number of changes (0 or 1) with a recovery still possible.
    """
    steps: list[list[int | str]] = []
    for sample in judged.events():
        known = judged.until(sample)
        last = len(known.outcomes) - 1
        open_ = last >= 0 and known.outcomes[last].unrecovered and judged.outcomes[last].stop > sample + 1
        shown = text(known, int(open_))
        if not steps or steps[-1][1] != shown:
            steps.append([sample, shown])
    return steps


@dataclass(frozen=True)
class PlayerRun:
    """Data of the player for one run: panels over one time axis, marks, and the data of the table.

    Parameters
    ----------
    title
        Name of the run: title of exports, label for screen readers.
    panels
        The charts, top to bottom.
    learners
        Keys of `palette.LEARNER_STYLES` or custom names; at most 8.
    changes
        First sample of each new concept: the true changes; None if they are unknown.
    alarms
        Learner -> samples at which an alarm was raised. Learners without a detector are missing.
    change_points
        Learner -> for each alarm the estimated first sample of the new concept.
    correct
        Learner -> 0 or 1 for each sample, shape (n,), for the accuracies in the table.
    x_label
        Text under the time axis.
    alt
        Text alternative of the charts.
    ends
        First sample after each drift, where only the new concept is left; None for `changes`.
    change_texts
        What changed at each change, in the past tense; empty if unknown.
    dropped
        Learner -> sample of an alarm -> samples that T lost there, and samples that it held before.
    band
        What the bands around the curves are; empty without bands.
    picture
        Samples and T in two dimensions; None without a picture.

    Examples
    --------
    >>> panel = Panel("Accuracy", "accuracy", {"hybrid": np.array([1.0, 0.5])}, high=1.0)
    >>> header, body = PlayerRun("Two samples", (panel,), ("hybrid",)).payload()
    >>> len(body)
    8

    References
    ----------
    Disabato, S. and Roveri, M. Tiny Machine Learning for Concept Drift, Sec. 7.
    """

    title: str
    panels: tuple[Panel, ...]
    learners: tuple[str, ...]
    changes: tuple[int, ...] | None = ()
    alarms: Mapping[str, Sequence[int]] = field(default_factory=dict)
    change_points: Mapping[str, Sequence[int]] = field(default_factory=dict)
    correct: Curves = field(default_factory=dict)
    x_label: str = "sample"
    alt: str = ""
    ends: tuple[int, ...] | None = None
    change_texts: tuple[str, ...] = ()
    dropped: Mapping[str, Dropped] = field(default_factory=dict)
    band: str = ""
    picture: Picture | None = None

    @classmethod
    def from_traces(
        cls,
        title: str,
        traces: "Mapping[str, TraceLike]",
        labels: ArrayLike,
        *,
        threshold: float | None = None,
        tested: Collection[str] = (),
        **more: Any,
    ) -> "PlayerRun":
        """Return the paper's three charts of learners over the same stream: accuracy, memory, statistic.

        `labels` are the true labels, shape (n,). `tested` are learners known to have a detector; others are taken to
        have one if their trace has a statistic or an alarm.
        """
        correct = {key: np.asarray(trace.predictions) == np.asarray(labels) for key, trace in traces.items()}
        measured = {key: trace for key, trace in traces.items() if not np.isnan(trace.statistic).all()}
        panels = (
            Panel(
                f"Accuracy over the last {TAPS} samples",
                "accuracy",
                {key: accuracy_curve(hits) for key, hits in correct.items()},
                low=None,
                high=1.0,
            ),
            Panel(
                "Memory: samples in T",
                "|T|",
                {key: trace.sizes for key, trace in traces.items()},
                digits=0,
                strip=True,
                unit="samples",
            ),
            Panel(
                "CUSUM statistic g",
                "g",
                {key: trace.statistic for key, trace in measured.items()},
                threshold=threshold,
                threshold_label=f"threshold h = {threshold:g}" if threshold is not None else "",
                digits=1,
                strip=True,
            ),
        )
        panels = (*panels[:2], readable(panels[2]))
        # River's detectors raise alarms without a statistic; in a short stream no test has one.
        watched = {
            key: trace for key, trace in traces.items() if key in tested or key in measured or len(trace.detections)
        }
        alarms = {key: tuple(trace.detections) for key, trace in watched.items()}
        points = {key: tuple(trace.change_points) for key, trace in watched.items()}
        held = {key: getattr(trace, "membership", None) for key, trace in watched.items()}
        dropped = {
            key: {int(alarm): one.dropped(int(alarm)) for alarm in traces[key].detections}
            for key, one in held.items()
            if one is not None
        }
        more = {"dropped": dropped} | more
        return cls(title, panels, tuple(traces), alarms=alarms, change_points=points, correct=correct, **more)

    @property
    def length(self) -> int:
        """Number of samples."""
        return max((len(curve) for panel in self.panels for curve in panel.curves.values()), default=0)

    def payload(self) -> tuple[dict[str, Any], bytes]:
        """Return a JSON header and the arrays that it refers to; deterministic."""
        self._check()
        body = bytearray()

        def put(array: ArrayLike | None, kind: str) -> dict[str, Any] | None:
            if array is None:
                return None
            body.extend(b"\0" * (-len(body) % 4))
            offset = len(body)
            values = np.asarray(array)
            body.extend(values.astype(f"<{kind}").tobytes())
            return {"type": kind, "offset": offset, "size": values.size}

        def shown(panel: Panel | None) -> dict[str, Any] | None:
            if panel is None:
                return None
            return {
                "title": panel.title,
                "short": panel.short,
                "alt": f"{self.title}: {panel.title}. {self.alt}".strip(),
                "low": panel.low,
                "high": panel.high,
                "threshold": panel.threshold,
                "threshold_label": panel.threshold_label,
                "digits": panel.digits,
                "strip": panel.strip,
                "unit": panel.unit,
                "curves": [put(panel.curves.get(learner), "f4") for learner in self.learners],
                "deviation": [put(panel.deviation.get(learner), "f4") for learner in self.learners],
                "alternative": shown(panel.alternative),
            }

        panels = [shown(panel) for panel in self.panels]
        learners = [
            {
                "key": learner,
                "name": look.name,
                "short": look.short,
                "colour": look.colour,
                "dash": list(look.dash),
                "alarms": [int(a) for a in self.alarms[learner]] if learner in self.alarms else None,
                "change_points": [int(c) for c in self.change_points.get(learner, ())],
                "dropped": [list(self.dropped.get(learner, {}).get(int(a), ())) for a in self.alarms.get(learner, ())],
                "correct": put(self.correct.get(learner), "u1"),
            }
            for learner, look in styles(self.learners).items()
        ]
        judged = self.judged()
        header = {
            "version": VERSION,
            "title": self.title,
            "file": re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")[:60] or "run",
            "length": self.length,
            "x_label": self.x_label,
            "alt": self.alt,
            "changes": [int(c) for c in self.changes or ()],
            "known": self.changes is not None,
            "ends": [int(e) for e in (self.changes if self.ends is None else self.ends) or ()],
            "change_texts": list(self.change_texts),
            "panels": panels,
            "learners": learners,
            "so_far": self.so_far(),
            "story": [asdict(step) for step in story(judged, list(self.alarms), self.change_texts, self.dropped)]
            if self.correct
            else [],
            "moments": [asdict(moment) for moment in moments(judged, self.change_texts)] if self.correct else [],
            "band": self.band,
            "picture": None if self.picture is None else self.picture.header(self.learners, put),
        }
        return header, bytes(body)

    def judged(self) -> dict[str, Judgement]:
        """Return the judgement of each learner's alarms and accuracy; without `correct`, of its alarms alone."""
        unknown = np.ones(self.length, bool)
        return {
            name: judge(self.correct.get(name, unknown), self.alarms.get(name, ()), self.changes or (), self.ends)
            for name in self.learners
        }

    def so_far(self) -> list[dict[str, Any]]:
        """Return the table rows about alarms and changes: for each learner, pairs of first valid sample and text.

        At the last sample the texts equal the metrics of `evaluate`. Learners without a detector have None for alarms.
        """
        judged = self.judged()

        def add(name: str, hint: str, text: Callable[[Judgement, int], str], known: Collection[str]) -> None:
            cells = [_steps(one, text) if key in known else None for key, one in judged.items()]
            rows.append({"name": name, "hint": hint, "cells": cells})

        rows: list[dict[str, Any]] = []
        if self.alarms:
            add("alarms", "Alarms up to the cursor.", lambda known, _: f"{len(known.alarms):,}", self.alarms)
        if self.alarms and self.changes is not None:
            add("false alarms", FALSE_ALARM, lambda known, _: f"{len(known.false):,}", self.alarms)
        if self.alarms and self.changes:
            add("delay", DELAY, lambda known, _: number_text(known.delay, 0), self.alarms)
        if self.correct and self.changes:
            add(
                "recovery",
                RECOVERY,
                lambda known, open_: recovery_text(known.recovery, known.unrecovered - open_, open_),
                self.correct,
            )
        return rows

    def pack(self, **options: Any) -> bytes:
        """Return the payload as bytes: the header's length (uint32), the header, the arrays.

        `options` (such as start and speed) are added to the header but not to the digest, by which the player
        recognises a run that it already shows.
        """
        header, body = self.payload()
        text = json.dumps(header, allow_nan=False)
        digest = hashlib.sha256(text.encode() + body).hexdigest()[:16]
        packed = json.dumps(header | options | {"digest": digest}, allow_nan=False).encode()
        packed += b" " * (-len(packed) % 4)
        return len(packed).to_bytes(4, "little") + packed + body

    def _check(self) -> None:
        if not 1 <= len(self.learners) <= MAX_LEARNERS or len(set(self.learners)) < len(self.learners):
            raise ConfigError(f"the player shows 1 to {MAX_LEARNERS} different learners, got {self.learners}")
        panels = [one for panel in self.panels for one in (panel, panel.alternative) if one is not None]
        named = [(panel.title, arrays) for panel in panels for arrays in (panel.curves, panel.deviation)]
        named.append(("correct", self.correct))
        for title, learner, array in ((title, *item) for title, arrays in named for item in arrays.items()):
            if learner not in self.learners:
                raise ConfigError(f"{title!r} has a curve of {learner!r}, which is not among {self.learners}")
            if np.shape(array) != (self.length,):
                message = f"{title!r} of {learner!r} has shape {np.shape(array)}, the run {self.length} samples"
                raise ConfigError(f"{message}: give every curve one value per sample")
        if self.length == 0:
            raise ConfigError("a run without samples cannot be played: give each panel at least one curve")
