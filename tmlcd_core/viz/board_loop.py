"""Board in the loop on the player: a board and its Python twin, sample by sample, while they run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.metrics import accuracy_curve
from tmlcd_core.viz.lab import taps_for
from tmlcd_core.viz.player import Panel, PlayerRun

BOARD, TWIN = "Board", "Python twin"
FEWEST = 10  # samples with a label, for a chart


@dataclass(frozen=True)
class BoardSteps:
    """Output of `tmlcd board --live` so far: the first line, and a step for each sample heard."""

    head: Mapping[str, Any]
    steps: Sequence[Mapping[str, Any]]

    @property
    def different(self) -> int:
        """Number of decisions that differ from the twin's."""
        return sum(not step["equal"] for step in self.steps)

    @property
    def alarms(self) -> int:
        """Number of the board's alarms."""
        return sum(bool(step["board"]["alarm"]) for step in self.steps)

    @property
    def unit(self) -> str:
        """Unit of the cost of a sample."""
        return "Instructions per sample (emulated)" if self.head["emulated"] else "Cycles per sample (measured)"

    @property
    def mean_cost(self) -> float | None:
        """Mean cost of a sample; None if the board does not count."""
        costs = [step["cost"] for step in self.steps if step["cost"]]
        return sum(costs) / len(costs) if costs else None

    @property
    def stack(self) -> int:
        """Deepest use of the stack in bytes."""
        return max((step["board"]["stack"] for step in self.steps), default=0)


def read_steps(path: Path) -> BoardSteps | None:
    """Return the steps of a file that may still be written; None before its first line."""
    if not path.exists():
        return None
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]  # the last one is not complete
    if not lines:
        return None
    head, *steps = (json.loads(line) for line in lines)
    return BoardSteps(head, steps)


@dataclass(frozen=True)
class _Trace:
    predictions: NDArray
    sizes: NDArray
    statistic: NDArray
    detections: list[int]
    change_points: list[int]


def board_run(found: BoardSteps) -> PlayerRun | None:
    """Return accuracy, |T|, g and differing decisions of board and twin for the player, over the samples with a label.

    None if there are fewer than `FEWEST` of them.
    """
    steps = [step for step in found.steps if step["label"] >= 0]
    if len(steps) < FEWEST:
        return None
    head, labels = found.head, np.array([step["label"] for step in steps])
    board, twin = [step["board"] for step in steps], steps
    times = [step["time"] for step in board]
    alarms = [i for i, step in enumerate(board) if step["change"]]
    twins = [i for i, step in enumerate(twin) if step["change"]]
    traces = {BOARD: _trace(board, alarms, times), TWIN: _trace(twin, twins, times)}
    samples = [step["sample"] for step in steps]
    change = head["change"]
    known = change is not None and change <= samples[-1]
    run = PlayerRun.from_traces(
        f"{head['board']}{' (emulated)' if head['emulated'] else ''} beside its Python twin",
        traces,
        labels,
        threshold=head["threshold"],
        tested=(BOARD, TWIN),
        changes=(int(np.searchsorted(samples, change)),) if known else None,  # what is to come is not told
        change_texts=("the first two words swapped their meaning",) if known else (),
        x_label="samples heard",
        alt=f"{found.different} of {len(found.steps)} decisions differ.",
    )
    accuracy, memory, statistic = run.panels
    taps = min(taps_for(head["samples"] or len(steps)), len(steps))
    curves = {name: accuracy_curve(hits, taps) for name, hits in run.correct.items()}
    apart = np.cumsum([not step["equal"] for step in steps]).astype(float)
    differing = Panel(
        "Decisions that differ from Python, so far", "different", {BOARD: apart}, high=max(1.0, apart[-1]), digits=0,
        strip=True,
    )  # fmt: skip
    accuracy = replace(accuracy, title=f"Accuracy over the last {taps} samples", curves=curves, low=0.0)
    return replace(run, panels=(accuracy, memory, statistic, differing))


def _trace(steps: Sequence[Mapping[str, Any]], alarms: list[int], times: list[int]) -> _Trace:
    """Curves of one side; a change point, which the learner counts in its own time, becomes a place among `times`."""
    places = [min(int(np.searchsorted(times[: alarm + 1], steps[alarm]["change"])), alarm) for alarm in alarms]
    statistic = np.array([np.nan if step["statistic"] is None else step["statistic"] for step in steps], float)
    return _Trace(
        np.array([step["prediction"] for step in steps]),
        np.array([step["size"] for step in steps]),
        statistic,
        alarms,
        places,
    )


def step_table(found: BoardSteps, most: int) -> dict[str, list[str]]:
    """Return the last `most` decisions of board and twin side by side, newest first, for a table."""
    names = found.head["classes"]

    def name(code: int) -> str:
        return names[code] if 0 <= code < len(names) else "–"

    def answer(prediction: int, unknown: Any) -> str:
        return "unknown" if unknown else name(prediction)

    def alarm(change: int) -> str:
        return f"change at {change}" if change else ""

    last = list(reversed(found.steps[-most:]))
    return {
        "Sample": [f"{step['board']['time']:,}" for step in last],
        "Label": [name(step["label"]) for step in last],
        "Board": [answer(step["board"]["prediction"], step["board"]["unknown"]) for step in last],
        "Python": [answer(step["prediction"], step["unknown"]) for step in last],
        "|T|, board and Python": [f"{step['board']['size']}, {step['size']}" for step in last],
        "Alarm, board": [alarm(step["board"]["change"]) for step in last],
        "Alarm, Python": [alarm(step["change"]) for step in last],
        "Equal": ["yes" if step["equal"] else "NO" for step in last],
    }
