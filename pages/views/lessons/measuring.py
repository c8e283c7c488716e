"""Numbers of a lesson from its run in the Drift lab: the metrics of the page, and the accuracy in any part."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pages.views.lessons.lesson import Settings

if TYPE_CHECKING:
    from tmlcd_core.learners import Trace  # takes seconds to import

NAMES = {
    "cit": "Condensing-in-Time", "active": "Active", "hybrid": "Hybrid", "tandem": "Tandem",
    "incremental": "The kNN that stores everything",
}  # fmt: skip


@dataclass(frozen=True)
class LessonRun:
    """Run of the Drift lab with the settings of a lesson: its metrics are those that the page shows."""

    metrics: dict[str, Any]
    traces: "dict[str, Trace]"
    y: Any
    change: int
    features: int
    experiment: Any
    scenario: Any

    def right(self, name: str, start: int | None = None, stop: int | None = None) -> float:
        """Return the share of right predictions of a learner from sample `start` (the change) to `stop`."""
        part = slice(self.change if start is None else start, stop)
        return float((self.traces[name].predictions == self.y)[part].mean())

    def settings(self, name: str) -> dict[str, Any]:
        """Return all settings of a learner, by name."""
        return self.experiment.learner_settings(name, self.scenario)


def run_of(settings: Settings) -> LessonRun:
    """Return the run of the Drift lab with these settings, from the caches of that page."""
    from pages.views.drift_lab.linked import linked_run  # loads the learners

    found = linked_run({key: [value] if isinstance(value, str) else value for key, value in settings.items()})
    stream = found.stream
    change = stream.changes[0] if stream.changes else len(stream)
    about = found.experiment, found.scenario
    return LessonRun(found.metrics, found.traces, stream.y, change, stream.X.shape[1], *about)


def dropped(trace: "Trace") -> tuple[int, int]:
    """Return how many samples T lost at the first alarm, and how many it held before: as the Drift lab counts them."""
    assert trace.membership is not None
    return trace.membership.dropped(int(trace.detections[0]))


def percent(share: float, digits: int = 0) -> str:
    """Return a share as text.

    >>> percent(0.526)
    '53 %'
    """
    return f"{100 * share:.{digits}f} %"


def number(value: float) -> str:
    """Return a number without decimals as text; "never" for nan."""
    return "never" if math.isnan(value) else f"{value:,.0f}"


def most(values: dict[str, float]) -> str:
    """Return the name with the largest value; nan counts as the largest of all (never recovered)."""
    return max(values, key=lambda name: math.inf if math.isnan(values[name]) else values[name])


def band(value: float, *bounds: float) -> str:
    """Return the number of the first bound that is larger than a value, as text.

    >>> band(2.5, 1, 5), band(7, 1, 5)
    ('1', '2')
    """
    return str(next((i for i, bound in enumerate(bounds) if value < bound), len(bounds)))
