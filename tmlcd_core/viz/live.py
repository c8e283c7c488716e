"""Charts of a live session: curves of the learners over the answers, and spectrograms of takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.features.stem import load_stem
from tmlcd_core.features.voice import VOICE_RATE, Take
from tmlcd_core.features.voice.cepstra import mel_power
from tmlcd_core.live import LiveCurve
from tmlcd_core.live.state import TAPS
from tmlcd_core.viz.palette import GREY, styles
from tmlcd_core.viz.plotly_json import require_plotly

HEIGHT = 520  # px of the three panels together
FEWEST_SHOWN = 20  # minimum length of the axis in answers, so that it does not change with each answer
HIGHEST = 2.5  # maximum of the statistic's axis, in units of the threshold
THUMB_BANDS, THUMB_HOP = 48, 80  # of a thumbnail: mel bands, and samples between columns (5 ms)
THUMB_SCALE = 2  # pixels of a thumbnail's cell
RANGE_DB = 60.0


def live_figure(curves: Mapping[str, LiveCurve], height: int = HEIGHT) -> Any:
    """Return a Plotly figure of accuracy, |T| and g over the judged answers, with drifts, alarms and change points.

    `height` is that of the whole figure in px.
    """
    require_plotly()
    from plotly.subplots import make_subplots

    figure = make_subplots(rows=3, cols=1, shared_xaxes=True, vertical_spacing=0.08)
    looks = styles(curves)
    shown = max([FEWEST_SHOWN, *(len(curve.answers) for curve in curves.values())])
    for name, curve in curves.items():
        look = looks[name]
        answers = np.arange(1, len(curve.answers) + 1)
        common: dict[str, Any] = {"line": {"color": look.colour, "dash": look.plotly_dash, "width": 2}}
        common |= {"name": look.short, "legendgroup": name, "mode": "lines+markers" if len(answers) < 3 else "lines"}
        figure.add_scatter(x=answers, y=curve.accuracy, **common, row=1, col=1)
        figure.add_scatter(x=answers, y=curve.size, **common, showlegend=False, row=2, col=1)
        if np.isfinite(curve.threshold):
            figure.add_scatter(x=answers, y=curve.statistic, **common, showlegend=False, row=3, col=1)
        for alarm, change in zip(curve.alarms, curve.change_points, strict=True):
            _mark(figure, alarm + 1, f"alarm of {look.short}", look.colour, "triangle-down", curve, alarm)
            _mark(figure, change + 1, f"change point of {look.short}", look.colour, "x-thin-open", curve, change)
    for drift in sorted({d for curve in curves.values() for d in curve.drifts}):
        figure.add_vline(x=drift + 0.5, line={"color": GREY, "dash": "dot", "width": 1.5})
        figure.add_annotation(
            x=drift + 0.5,
            y=0,  # below the panel: the legend is above it
            yref="y domain",
            yanchor="top",
            text="drift",
            showarrow=False,
            font={"color": GREY, "size": 11},
        )
    thresholds = [curve.threshold for curve in curves.values() if np.isfinite(curve.threshold)]
    if thresholds:
        figure.add_hline(
            y=thresholds[0],
            line={"color": GREY, "dash": "dash", "width": 1},
            annotation={"text": f"threshold h = {thresholds[0]:.3g}", "font": {"color": GREY, "size": 11}},
            row=3,
            col=1,
        )
        highest = [np.nanmax(c.statistic) for c in curves.values() if np.isfinite(c.statistic).any()]
        top = min(max([thresholds[0] * 1.2, *highest]), HIGHEST * thresholds[0])
        figure.update_yaxes(range=[-0.1 * top, 1.05 * top], row=3, col=1)
    figure.update_yaxes(title=f"last {TAPS} right", range=[-0.05, 1.05], tickformat=".0%", row=1, col=1)
    figure.update_yaxes(title="takes", rangemode="tozero", row=2, col=1)
    figure.update_yaxes(title="g", row=3, col=1)
    figure.update_xaxes(range=[0.5, shown + 0.5])
    figure.update_xaxes(title="judged answers", row=3, col=1)
    figure.update_layout(
        height=height,
        margin={"l": 10, "r": 10, "t": 30, "b": 10},
        legend={"orientation": "h", "y": 1.03, "yanchor": "bottom", "x": 0},
        hovermode="x unified",
        uirevision="live",
    )
    return figure


def _mark(figure: Any, x: int, text: str, colour: str, symbol: str, curve: LiveCurve, index: int) -> None:
    figure.add_scatter(
        x=[x],
        y=[curve.accuracy[index]],
        mode="markers",
        marker={"color": colour, "symbol": symbol, "size": 12, "line": {"width": 2, "color": colour}},
        name=text,
        hovertemplate=f"{text}<extra></extra>",
        showlegend=False,
        row=1,
        col=1,
    )


def curves_in_words(curves: Mapping[str, LiveCurve]) -> str:
    """Return a text alternative of the figure."""
    looks = styles(curves)
    parts = []
    for name, curve in curves.items():
        if not len(curve.answers):
            continue
        alarms = ", ".join(str(alarm + 1) for alarm in curve.alarms)
        parts.append(
            f"{looks[name].name}: {curve.accuracy[-1]:.0%} of the last answers right, {curve.size[-1]} takes stored, "
            + (f"alarm at answer {alarms}." if alarms else "no alarm.")
        )
    return " ".join(parts) or "No answer has been judged yet."


def thumbnail(take: Take) -> NDArray[np.uint8]:
    """Return the spectrogram of a take as an RGB image (height, width, 3) of uint8; parts outside the word are dimmed.

    Low frequencies are at the bottom.

    >>> from tmlcd_core.features.voice import open_take
    >>> thumbnail(open_take((np.random.default_rng(0).normal(0, 0.1, 8_000), 16_000))).shape
    (96, 202, 3)
    """
    decibels = 10 * np.log10(mel_power(take.samples, THUMB_BANDS, THUMB_HOP)).T[::-1]
    plane = np.clip(1 + (decibels - decibels.max()) / RANGE_DB, 0, 1)
    colours = load_stem().viridis[(plane * 255).astype(np.uint8)]
    time = np.arange(plane.shape[1]) * THUMB_HOP / VOICE_RATE
    colours = np.where(((time >= take.start) & (time <= take.stop))[None, :, None], colours, 0.45 * colours + 0.1)
    picture = (colours * 255).astype(np.uint8)
    return np.repeat(np.repeat(picture, THUMB_SCALE, axis=0), THUMB_SCALE, axis=1)
