"""Chart of the study at equal bytes: accuracy of every learner over whole streams and soon after a change."""

from __future__ import annotations

from typing import Any

import numpy as np

from tmlcd_core.paper.equal_bytes import MEASURES, RIVER, TANDEM, EqualBytes
from tmlcd_core.viz.palette import BLUE, VERMILLION
from tmlcd_core.viz.plotly_json import Part, plotly_figure

MARKERS = {"accuracy": (BLUE, "circle"), "soon": (VERMILLION, "diamond")}
ROW, AROUND = 26, 90  # px: of a learner, and for axis and legend


def learners(study: EqualBytes, data: str, budget: str) -> list[str]:
    """Return the learners of a table, the most accurate first."""
    names = [TANDEM, *(one.learner for one in study.comparisons(data, budget))]
    return sorted(names, key=lambda name: -_mean(study, data, budget, name, "accuracy"))


def _mean(study: EqualBytes, data: str, budget: str, learner: str, measure: str) -> float:
    own = "" if learner in RIVER.values() else budget
    return float(np.mean(list(study.draws(data, own, learner, measure).values())))


def figure(study: EqualBytes, data: str, budget: str) -> Any:
    """Return the Plotly chart of one data and budget: a row for each learner, a marker for each measure."""
    names = learners(study, data, budget)
    titles = [f"<b>{name}</b>" if name == TANDEM else name for name in names]
    traces: list[Part] = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": MEASURES[measure],
            "x": [_mean(study, data, budget, name, measure) for name in names],
            "y": titles,
            "marker": {"color": colour, "symbol": symbol, "size": 10},
            "hovertemplate": "%{y}: %{x:.3f}<extra>" + MEASURES[measure] + "</extra>",
        }
        for measure, (colour, symbol) in MARKERS.items()
    ]
    layout: Part = {
        "height": ROW * len(names) + AROUND,
        "margin": {"l": 6, "r": 6, "t": 10, "b": 6},
        "legend": {"orientation": "h", "y": 1.0, "yanchor": "bottom"},
        "xaxis": {"title": {"text": "accuracy"}, "tickformat": ".2f"},
        "yaxis": {"autorange": "reversed", "automargin": True, "showgrid": True},
    }
    return plotly_figure(traces, layout)


def in_words(study: EqualBytes, data: str, budget: str) -> str:
    """Return a text alternative of the chart."""
    told = (
        f"{name} {' and '.join(f'{_mean(study, data, budget, name, measure):.3f}' for measure in MEASURES)}"
        for name in learners(study, data, budget)
    )
    return f"Accuracy over {' and in the '.join(MEASURES.values())}: {'; '.join(told)}."
