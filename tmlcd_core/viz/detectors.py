"""Drift detectors compared at one false-alarm rate: chart, table and sentence of `tmlcd detectors --json`."""

from __future__ import annotations

import math
from typing import Any

from tmlcd_core.detectors.benchmark import WIDTH
from tmlcd_core.viz.palette import BLUE, GREEN, GREY, OLIVE, PINK, PURPLE, SKY, SPARE, VERMILLION, Style
from tmlcd_core.viz.plotly_json import Part, axis, axis_key, heading, on_axes, plotly_figure

STYLES = {
    one.name: one
    for one in (
        Style("CUSUM", "CUSUM", BLUE),
        Style("CUSUM-binomial", "CUSUM-binomial", BLUE, (2, 3)),
        Style("ADWIN", "ADWIN", VERMILLION),
        Style("DDM", "DDM", GREY, (9, 3, 2, 3)),
        Style("EDDM", "EDDM", OLIVE, (5, 3)),
        Style("HDDM_A", "HDDM_A", GREEN),
        Style("HDDM_W", "HDDM_W", GREEN, (5, 3)),
        Style("KSWIN", "KSWIN", PURPLE, (11, 4)),
        Style("PageHinkley", "PageHinkley", PINK),
    )
}
OTHERS = (*SPARE, (SKY, ()))  # colour and dashes of detectors of one's own
PANELS = (("mean delay, samples", "delay", [0, 0.42]), ("missed changes", "missed", [0.58, 1]))

DetectorComparison = dict[str, Any]  # an entry of "errors": name, streams, samples, detectors


def changes(detector: dict[str, Any], gradual: bool) -> list[dict[str, Any]]:
    """Return the detections of abrupt or of gradual changes, by the size of the drop."""
    return sorted((one for one in detector["detections"] if bool(one["width"]) == gradual), key=lambda one: one["drop"])


def detector_figure(kind: DetectorComparison, gradual: bool = False) -> Any:
    """Return a Plotly chart of mean delay and missed changes over the size of the drop, one line per detector."""
    data: list[Part] = []
    spare = iter(OTHERS * len(kind["detectors"]))
    for detector in kind["detectors"]:
        name, found = detector["detector"], changes(detector, gradual)
        style = STYLES.get(name) or Style(name, name, *next(spare))
        for i, (_, what, _) in enumerate(PANELS):
            values = [one[what] for one in found]
            data.append(
                {
                    "type": "scatter",
                    "name": name,
                    "legendgroup": name,
                    "showlegend": i == 0,
                    "x": [one["drop"] for one in found],
                    "y": [value["value"] for value in values],
                    "error_y": {
                        "type": "data",
                        "array": [(value["high"] or value["value"]) - value["value"] for value in values],
                        "arrayminus": [value["value"] - (value["low"] or 0.0) for value in values],
                        "thickness": 1,
                        "width": 3,
                    },
                    "mode": "lines+markers",
                    "line": {"color": style.colour, "dash": style.plotly_dash, "width": 2},
                    "marker": {"size": 6},
                    "text": [one["name"] for one in found],
                    "hovertemplate": f"{name}<br>%{{text}}<br>%{{y}}<extra></extra>",
                    **on_axes(i),
                }
            )
    layout: Part = {
        "height": 440,
        "margin": {"l": 10, "r": 10, "t": 30, "b": 10},
        "legend": {"orientation": "h", "y": -0.2, "yanchor": "top"},
        "uirevision": "detectors",
        "annotations": [heading(title, sum(domain) / 2, 1.0) for title, _, domain in PANELS],
    }
    for i, (_, _, domain) in enumerate(PANELS):
        layout[axis_key("x", i)] = {"title": {"text": "drop of the accuracy"}, "domain": domain, "anchor": axis("y", i)}
        layout[axis_key("y", i)] = {"rangemode": "tozero", "anchor": axis("x", i)}
    layout["yaxis2"]["tickformat"] = ".0%"
    return plotly_figure(data, layout)


def table(kind: DetectorComparison, gradual: bool = False) -> list[dict[str, str]]:
    """Return rows for a table: detector, setting, false alarms, error of the change point, and delay by change."""
    rows = []
    for detector in kind["detectors"]:
        found = changes(detector, gradual)
        places = [one["location"]["value"] for one in found if one["location"]]
        row = {
            "Detector": detector["detector"],
            "Setting": f"{detector['parameter']} = {detector['level']:.3g}" if detector["parameter"] else "fixed",
            "False alarms": _share(detector["false_alarms"]),
            "Reports": detector["reports"] or "–",
            "Streams": f"{detector['streams']:,}",
        }
        row |= {_title(one): f"{one['delay']['value']:.0f} ({_percent(one['missed']['value'])})" for one in found}
        row["Change point off by"] = f"{min(places):.0f} to {max(places):.0f}" if places else "–"
        rows.append(row)
    return rows


def comparison_in_words(kind: DetectorComparison, gradual: bool, rate: float) -> str:
    """Return a sentence: which detector finds the middle change soonest, and how CUSUM does.

    Detectors that cannot be calibrated to the rate, because they have more false alarms, are left out.
    """
    fair = [one for one in kind["detectors"] if one["calibrated"] <= rate]
    if not fair:
        return f"No detector keeps the rate of {_percent(rate)} false alarms."
    middle = len(changes(fair[0], gradual)) // 2
    ranked = sorted(((changes(one, gradual)[middle], one["detector"]) for one in fair), key=_delay)
    best, name = ranked[0]
    text = (
        f"At {_percent(rate)} false alarms, {name} finds {_change(best)} soonest: after "
        f"{best['delay']['value']:.0f} samples on average{_interval(best['delay'])}, with "
        f"{_percent(best['missed']['value'])} missed."
    )
    others = [(found, other) for found, other in ranked[1:] if other == "CUSUM"] or ranked[1:2]
    for found, other in others:
        text += f" {other} needs {found['delay']['value']:.0f} and misses {_percent(found['missed']['value'])}."
    return text


def described(kind: DetectorComparison, gradual: bool = False) -> str:
    """Return the chart in words: each detector's delays from the smallest to the largest drop."""
    lines = []
    for detector in kind["detectors"]:
        delays = (f"{one['delay']['value']:.0f}" for one in changes(detector, gradual))
        lines.append(f"{detector['detector']}: {', '.join(delays)}")
    return f"Mean delay in samples by drop of the accuracy, {kind['name']}. {'; '.join(lines)}."


def notes(kind: DetectorComparison) -> list[str]:
    """Return how far rates differ by chance, why detectors miss the rate, and which ran on fewer streams."""
    said = by_chance(kind) + [f"{one['detector']}: {one['note']}." for one in kind["detectors"] if one["note"]]
    own = [f"{one['detector']} ({one['streams']:,})" for one in kind["detectors"] if one["own"]]
    return said + [f"Calibrated on fewer streams, as a Python object: {', '.join(own)}."] * bool(own)


def by_chance(kind: DetectorComparison) -> list[str]:
    """Return how far the verified rates lie from the calibrated ones, and how far chance alone takes them."""
    reached = [one for one in kind["detectors"] if not one["note"] and not one["own"]]
    if not reached:
        return []
    apart = max(reached, key=lambda one: abs(one["false_alarms"]["value"] - one["calibrated"]))
    p, n = apart["calibrated"], apart["streams"]
    limit = WIDTH * math.sqrt(2 * p * (1 - p) / n)  # both halves have the same standard error
    return [
        f"The false alarms are counted on other streams than those that calibrated. With {n:,} streams each the two "
        f"shares differ by chance, by up to {100 * limit:.2f} points in 95 % of all cases; the interval in brackets "
        f"holds only the chance of the second. {apart['detector']} differs most: calibrated to {100 * p:.2f} %, found "
        f"{100 * apart['false_alarms']['value']:.2f} %."
    ]


def _delay(found: tuple[dict[str, Any], str]) -> float:
    return found[0]["delay"]["value"]


def _title(found: dict[str, Any]) -> str:
    return f"{found['name'].partition(', ')[0].capitalize()}: delay (missed)"


def _change(found: dict[str, Any]) -> str:
    """Name of the change in a sentence.

    >>> _change({"name": "drop of 0.2, abrupt"}), _change({"name": "labels swap, gradual"})
    ('a drop of 0.2 (abrupt)', '“labels swap” (gradual)')
    """
    what, _, how = found["name"].partition(", ")
    return (f"a {what}" if what.startswith("drop") else f"“{what}”") + (f" ({how})" if how else "")


def _interval(estimate: dict[str, float | None]) -> str:
    if estimate["low"] is None or estimate["high"] is None:
        return ""
    return f" (95 % interval {estimate['low']:.0f} to {estimate['high']:.0f})"


def _share(estimate: dict[str, float]) -> str:
    return f"{_percent(estimate['value'])} ({100 * estimate['low']:.2g} to {100 * estimate['high']:.2g})"


def _percent(share: float) -> str:
    """Return a share as a percentage with two significant digits.

    >>> _percent(0.0123), _percent(0.5), _percent(1)
    ('1.2 %', '50 %', '100 %')
    """
    return f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:.0f} %"
