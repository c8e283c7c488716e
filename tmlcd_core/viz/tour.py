"""Pictures and sentences of the tour on Home, from the stored run and the memory budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tmlcd_core.changes import judge
from tmlcd_core.mcu.budget import FULL_RATE_F401, PAPER_CONFIGURATIONS, budget, ram_bars
from tmlcd_core.viz.mcu import bars_in_words, ram_figure
from tmlcd_core.viz.palette import GREY, learner_style
from tmlcd_core.viz.player import PlayerRun
from tmlcd_core.viz.plotly_json import Part, plotly_figure, upright

STILL, LEARNS = "static", "hybrid"  # the learner that never learns, and the one that notices
SMALLEST = "STM32F401"


class Stop(NamedTuple):
    """One step of the tour: heading, text in Markdown, picture (None for none) and its text alternative."""

    heading: str
    text: str
    picture: Any = None
    alt: str = ""


def tour_stops(run: PlayerRun) -> list[Stop]:
    """Return the steps of the tour for a run with the learners `STILL` and `LEARNS` and one known change."""
    (change,) = run.changes or ()
    still, hits = (np.asarray(run.correct[name]) for name in (STILL, LEARNS))
    before, after = still[:change].mean(), still[change:].mean()
    alarms = [int(alarm) for alarm in run.alarms[LEARNS]]
    found = judge(hits, alarms, [change])
    sizes = run.panels[1].curves[LEARNS]
    alarm = next(alarm for alarm in alarms if alarm >= change)
    held, stored = int(sizes[alarm - 1]), int(not hits[alarm])  # a mistake at the alarm is stored before T is cut
    lost = held + stored - int(sizes[alarm])
    what = run.change_texts[0] if run.change_texts else "the world changes"
    small, large = budget(FULL_RATE_F401).needed, budget(PAPER_CONFIGURATIONS[0]).needed
    bars = ram_bars(FULL_RATE_F401)
    return [
        Stop(
            "What changes?",
            f"A small device has learned two spoken words. Then {what}: from sample {change:,} on, what it learned is "
            f"wrong. A learner that never learns again falls from **{before:.0%}** right answers to **{after:.0%}**, "
            "and stays there. This is concept drift.",
            tour_accuracy_figure(run, (STILL,), change),
            f"Accuracy of the static kNN: {before:.0%} before the change at sample {change:,}, {after:.0%} after it.",
        ),
        Stop(
            "Who notices?",
            f"*Hybrid* counts its right and wrong answers. After **{alarm - change}** samples it is sure that "
            f"something has changed, drops **{lost} of its {held}** stored samples, all older than the "
            f"change, and learns from its mistakes. After **{found.recovery:.0f}** samples it is nearly as good as "
            "before.",
            tour_accuracy_figure(run, (STILL, LEARNS), change, alarm),
            f"Accuracy of Hybrid and of the static kNN. Hybrid raises an alarm at sample {alarm:,} and recovers "
            f"{found.recovery:.0f} samples after the change.",
        ),
        Stop(
            "Does it fit the chip?",
            f"The paper's layout needs {large:,} bytes, more than the smallest board has. Here the sound is processed "
            f"as it comes and stored samples take one byte per number: **{small:,} bytes**, the sound included. That "
            f"fits the RAM of an **{SMALLEST}**. The C project comes with it.",
            ram_figure(bars),
            bars_in_words(bars),
        ),
        Stop(
            "Your turn",
            "Change the words, the drift or the alarm level, and watch what happens. Or let a lesson guide you: "
            "predict first, then look. Or teach the device your own voice.",
        ),
    ]


def tour_accuracy_figure(run: PlayerRun, learners: Sequence[str], change: int, alarm: int | None = None) -> Any:
    """Return a Plotly chart of the accuracy of some learners, with the change and an alarm marked."""
    accuracy = run.panels[0]
    data: list[Part] = []
    for name in learners:
        curve, look = np.asarray(accuracy.curves[name]), learner_style(name)
        line = {"color": look.colour, "width": 3, "dash": "solid" if name == LEARNS else "dash"}
        data.append({
            "type": "scatter", "x": np.arange(len(curve)), "y": curve, "mode": "lines", "name": look.name, "line": line,
            "hovertemplate": "sample %{x}: %{y:.0%}<extra>" + look.name + "</extra>",
        })  # fmt: skip
    place = {"y": 0.55, "yref": "y domain", "showarrow": False}
    notes = [place | {"x": change, "text": "the words swap", "xanchor": "right", "xshift": -6}]
    if alarm is not None:
        notes.append(place | {"x": alarm, "y": 0.8, "text": "alarm", "xanchor": "left", "xshift": 6})
    layout = {
        "height": 300,
        "margin": {"l": 10, "r": 10, "t": 10, "b": 10},
        "uirevision": "tour",
        "legend": {"orientation": "h", "y": -0.25},
        "showlegend": True,
        "xaxis": {"title": {"text": "samples seen"}},
        "yaxis": {"title": {"text": "accuracy"}, "range": [0, 1.05], "tickformat": ".0%"},
        "shapes": [upright(change, GREY)] + ([] if alarm is None else [upright(alarm, learner_style(LEARNS).colour)]),
        "annotations": notes,
    }
    return plotly_figure(data, layout)
