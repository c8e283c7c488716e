"""State of the generalized CUSUM test at one sample: heat map, tables and equations with numbers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tmlcd_core.detectors import GeneralizedCusum, ThresholdRow
from tmlcd_core.detectors.cusum import LOGARITHM
from tmlcd_core.errors import DataError
from tmlcd_core.metrics import accuracy_curve
from tmlcd_core.viz.palette import BLUE, GREY, SEQUENTIAL, VERMILLION
from tmlcd_core.viz.player import Panel, PlayerRun, readable
from tmlcd_core.viz.plotly_json import Part, axis, axis_key, heading, on_axes, plotly_figure, upright


@dataclass(frozen=True)
class CusumReplay:
    """Results of the CUSUM test over a sequence of correct and wrong predictions.

    Parameters
    ----------
    statistic
        g after each sample, shape (n,); nan while warming up.
    batch_accuracy
        Accuracy of the newest full batch after each sample, shape (n,); nan before there is one.
    alarms
        Samples at which an alarm was raised.
    change_points
        For each alarm the estimated first sample of the new concept.

    Examples
    --------
    >>> replay([True] * 100 + [False] * 100).alarms
    [149]
    """

    statistic: NDArray[np.float64]
    batch_accuracy: NDArray[np.float64]
    alarms: list[int]
    change_points: list[int]


def replay(correct: ArrayLike, **settings: Any) -> CusumReplay:
    """Run a `GeneralizedCusum` with these settings over correct predictions, bool (n,); return a `CusumReplay`."""
    hits = np.asarray(correct, dtype=bool)
    test = GeneralizedCusum(**settings)
    alarms, change_points = [], []
    batch, update = test.batch, test.update
    total = 0  # correct predictions in the current batch
    newest = math.nan
    begins = test.warmup  # first sample of that batch
    values, accuracies = [], []
    for t, hit in enumerate(hits.tolist()):
        alarm = update(hit)
        values.append(test.statistic)
        if t >= begins:
            total += hit
            if t + 1 == begins + batch:
                newest, total, begins = total / batch, 0, t + 1
        accuracies.append(newest)
        if alarm:
            alarms.append(t)
            change_points.append(test.change_time)
            newest, total, begins = math.nan, 0, t + 1 + batch
    return CusumReplay(np.array(values, np.float64), np.array(accuracies), alarms, change_points)


@dataclass(frozen=True)
class CusumState:
    """State of the CUSUM test after one sample: its batches since the last start, and all sums it compares.

    Parameters
    ----------
    test
        The `GeneralizedCusum` in this state.
    start
        Sample at which it last started.
    starts
        First sample of each full batch, shape (batches,).
    hits
        Number of correct predictions ζ of each full batch, shape (batches,).
    matrix
        Sums S_j^t(v1), shape (batches, candidates): row j is the batch in which the change may have begun, column v1
        the accuracy after it.
    recursion
        G(v1) after each batch, shape (batches, candidates): the same maximum over j, computed in constant memory.

    Examples
    --------
    >>> state = state_at([True] * 150 + [False] * 50, 199)
    >>> state.hits.tolist(), bool(np.allclose(state.matrix.max(axis=0), state.recursion[-1]))
    ([50, 0], True)
    """

    test: GeneralizedCusum
    start: int
    starts: NDArray[np.int64]
    hits: NDArray[np.int64]
    matrix: NDArray[np.float64]
    recursion: NDArray[np.float64]

    @property
    def best(self) -> tuple[int, int]:
        """Row and column of the largest sum: the estimated change point, and the accuracy after it."""
        row, column = np.unravel_index(int(self.matrix.argmax()), self.matrix.shape)
        return int(row), int(column)


def state_at(correct: ArrayLike, time: int, **settings: Any) -> CusumState | None:
    """Return the state of the test after sample `time` of correct predictions, bool (n,); None before a full batch."""
    hits = np.asarray(correct, dtype=bool)
    if not 0 <= time < len(hits):
        raise DataError(f"time={time} is not one of the {len(hits)} samples: choose 0..{len(hits) - 1}")
    test = GeneralizedCusum(**settings)
    start, first = 0, test.warmup
    for t, hit in enumerate(hits[: time + 1].tolist()):
        if test.update(hit) and t < time:
            start, first = t + 1, t + 1 + test.batch
    count = (time + 1 - first) // test.batch
    if count < 1 or not len(test.candidates):
        return None
    zeta = hits[first : first + count * test.batch].reshape(count, test.batch).sum(axis=1)
    recursion = np.empty((count, len(test.candidates)))
    carried = np.zeros(len(test.candidates))
    for j, ratios in enumerate(test.ratios(zeta)):
        carried = np.maximum(carried, 0) + ratios
        recursion[j] = carried
    starts = first + test.batch * np.arange(count)
    return CusumState(test, start, starts, zeta, test.matrix(zeta), recursion)


def state_in_words(state: CusumState) -> list[str]:
    """Return sentences about what the test believes in a state, without symbols or formulas.

    >>> print(*state_in_words(state_at([True] * 90 + [False] * 10 + [True] * 60 + [False] * 40, 199)), sep=chr(10))
    The test expects 90 of 100 predictions to be right: so many were right in its warm-up.
    Newest batch: 10 of 50 were right. That is 35 fewer than expected.
    Best explanation: since sample 150, only 19 of 100 are right.
    The evidence for it is 135.8, above the alarm level of 25: alarm.
    """
    test, newest = state.test, int(state.hits[-1])
    row, column = state.best
    v0, v1, g = test.accuracy_before, float(test.candidates[column]), float(state.matrix[row, column])
    missing = round(test.batch * v0) - newest
    compared = f"{abs(missing)} {'fewer' if missing > 0 else 'more'} than" if missing else "as many as"
    first = (
        f"The test expects {100 * v0:.0f} of 100 predictions to be right: so many were right in its warm-up.",
        f"Newest batch: {newest} of {test.batch} were right. That is {compared} expected.",
    )
    if g <= 0:
        return [*first, "No change explains the batches better than no change: there is no evidence, and no alarm."]
    only = "only " if v1 < v0 else ""
    verdict = "above" if g >= test.threshold else "below"
    return [
        *first,
        f"Best explanation: since sample {state.starts[row]:,}, {only}{100 * v1:.0f} of 100 are right.",
        f"The evidence for it is {g:.1f}, {verdict} the alarm level of {test.threshold:g}: "
        + ("alarm." if g >= test.threshold else "no alarm."),
    ]


def replay_run(
    name: str,
    correct: ArrayLike,
    results: CusumReplay,
    threshold: float,
    changes: Sequence[int] | None,
    ends: Sequence[int] | None = None,
    texts: Sequence[str] = (),
) -> PlayerRun:
    """Return the charts of the player: accuracy of the batches and statistic, for correct predictions, bool (n,).

    `changes` are the first samples of each new concept, None if nobody knows them; `ends` the samples from which only
    the new concept occurs, by default the same; `texts` say what changed.
    """
    known = "unknown" if changes is None else f"at sample {', '.join(map(str, changes))}" if changes else "none"
    panels = (
        Panel(
            "Accuracy of the last 100 samples",
            "accuracy",
            {name: accuracy_curve(correct)},
            low=None,
            high=1.0,
        ),
        Panel("Accuracy of the newest batch, ζ / n", "ζ / n", {name: results.batch_accuracy}, low=None, high=1.0),
        readable(
            Panel(
                "CUSUM statistic g",
                "g",
                {name: results.statistic},
                threshold=threshold,
                threshold_label=f"threshold h = {threshold:g}",
                digits=1,
            )
        ),
    )
    return PlayerRun(
        "Inside CUSUM",
        panels,
        (name,),
        changes=None if changes is None else tuple(changes),
        alarms={name: results.alarms},
        change_points={name: results.change_points},
        correct={name: np.asarray(correct)},
        x_label="supervised samples",
        alt=f"True change: {known}; alarms at {results.alarms}.",
        ends=None if ends is None else tuple(ends),
        change_texts=tuple(texts),
    )


def matrix_figure(state: CusumState) -> Any:
    """Return a Plotly heat map of S_j^t(v1) with its maximum marked."""
    row, column = state.best
    limit = max(abs(float(state.matrix.max())), state.test.threshold)
    edges = np.append(state.starts, state.starts[-1] + state.test.batch) - state.test.batch / 2
    heat = {
        "type": "heatmap",
        "x": state.test.candidates,
        "y": edges,  # edges, since from the centre of a single batch Plotly would draw a cell of one sample
        "z": np.clip(state.matrix, -limit, limit),
        "customdata": state.matrix,
        "zmin": -limit,
        "zmax": limit,
        "colorscale": SEQUENTIAL,
        "colorbar": {"title": {"text": "S"}, "thickness": 14},
        "hovertemplate": "change at sample %{y}<br>υ₁ = %{x:.3f}<br>S = %{customdata:.1f}<extra></extra>",
    }
    mark = {
        "type": "scatter",
        "x": state.test.candidates[[column]],
        "y": state.starts[[row]],
        "mode": "markers",
        "marker": {"symbol": "diamond-open", "size": 16, "color": VERMILLION, "line": {"width": 3}},
        "hoverinfo": "skip",
    }
    v0 = state.test.accuracy_before
    layout = {
        "height": 360,
        "margin": {"l": 10, "r": 10, "t": 24, "b": 10},
        "showlegend": False,
        "uirevision": "matrix",
        "xaxis": {"title": {"text": "accuracy after the change, υ₁"}, "range": [0, 1]},
        "yaxis": {"title": {"text": "first sample after the change, j"}},
        "shapes": [upright(v0, VERMILLION)],
        "annotations": [
            {"x": v0, "y": 1, "yref": "y domain", "text": "υ₀", "showarrow": False, "xanchor": "left", "yanchor": "top"}
        ],
    }
    return plotly_figure([heat, mark], layout)


def threshold_figure(rows: list[ThresholdRow], threshold: float) -> Any:
    """Return a Plotly chart of false-alarm rate and mean delay over the threshold, with the chosen one marked."""
    levels = np.array([row.threshold for row in rows])
    halves = (
        ("false-alarm rate", [row.false_alarm_rate for row in rows], BLUE, [0, 0.45]),
        ("mean delay, samples", [row.mean_delay for row in rows], VERMILLION, [0.55, 1]),
    )
    data = []
    layout: Part = {
        "height": 280,
        "margin": {"l": 10, "r": 10, "t": 30, "b": 10},
        "showlegend": False,
        "uirevision": "threshold",
        "shapes": [],
        "annotations": [],
    }
    for i, (title, values, colour, domain) in enumerate(halves):
        line = {"color": colour, "width": 3}
        data.append(
            {"type": "scatter", "x": levels, "y": np.array(values), "mode": "lines", "line": line, **on_axes(i)}
        )
        layout[axis_key("x", i)] = {"title": {"text": "threshold h"}, "domain": domain, "anchor": axis("y", i)}
        layout[axis_key("y", i)] = {"rangemode": "tozero", "anchor": axis("x", i)}
        layout["shapes"].append(upright(threshold, GREY, i))
        layout["annotations"].append(heading(title, sum(domain) / 2, 1.0))
    layout["yaxis"]["tickformat"] = ".0%"
    return plotly_figure(data, layout)


def batch_table(state: CusumState) -> dict[str, NDArray[Any]]:
    """Return a table of the definition and the recursion of the statistic by batch, for the v1 of the maximum."""
    _, column = state.best
    return {
        "j": state.starts,
        "ζ": state.hits,
        "s": state.test.ratios(state.hits)[:, column].round(2),
        "definition S": state.matrix[:, column].round(2),
        "recursion G": state.recursion[:, column].round(2),
    }


def formulas(state: CusumState) -> list[tuple[str, str]]:
    """Return the paper's equations for the newest batch: a description and LaTeX with numbers."""
    row, column = state.best
    test, n, zeta = state.test, state.test.batch, int(state.hits[-1])
    v0, v1 = test.accuracy_before, float(test.candidates[column])
    w0, w1 = 1 - v0, 1 - v1
    s = float(test.ratios(zeta)[column])
    square = (v1 * w1 - v0 * w0) / (2 * n * v0 * w0 * v1 * w1)
    linear = (w0 - w1) / (w0 * w1)
    constant = n * (v0 * w1 - v1 * w0) / (2 * w0 * w1)
    root = LOGARITHM.get(test.likelihood, math.nan) * np.log(v0 * w0 / (v1 * w1))
    before = float(state.recursion[-2, column]) if len(state.recursion) > 1 else 0.0
    g = float(state.matrix[row, column])
    verdict = r"\ge" if g >= test.threshold else "<"
    return [
        (
            "Log-likelihood ratio of the newest batch "
            + ("(Eqs. 1 and 4)" if test.likelihood == "normal" else "(Eqs. 1 and 4, authors' published code)"),
            rf"\begin{{aligned}} \upsilon_0 &= {v0:.3f},\ \upsilon_1 = {v1:.3f},\ n = {n},\ "
            rf"\zeta_t = {zeta} \\"
            rf"s_t &= {square:.4f}\,\zeta_t^2 {linear:+.3f}\,\zeta_t \\ &\quad {constant:+.2f} {root:+.3f}"
            rf" = {s:.2f} \end{{aligned}}",
        )
        if test.likelihood in LOGARITHM
        else (
            "Log-likelihood ratio of the newest batch (Eq. 1, exact binomial)",
            rf"s_t = {zeta}\ln\frac{{{v1:.3f}}}{{{v0:.3f}}} + {n - zeta}\ln\frac{{{w1:.3f}}}{{{w0:.3f}}}"
            rf" = {s:.2f}",
        ),
        (
            "Definition (Eqs. 2 and 3): the largest sum over all starts j and all candidates",
            r"\begin{aligned} g_t &= \max_{j}\ \sup_{\upsilon_1}\ \sum_{i=j}^{t} s_i(\upsilon_1) \\"
            rf"&= S_{{{state.starts[row]}}}^{{t}}({v1:.3f}) = {g:.2f} \end{{aligned}}",
        ),
        (
            "Recursion: the same value, computed from the previous one only",
            r"\begin{aligned} G_t(\upsilon_1) &= \max\{G_{t-1}(\upsilon_1), 0\} + s_t \\"
            rf"&= \max\{{{before:.2f}, 0\}} {s:+.2f} = {max(before, 0) + s:.2f} \end{{aligned}}",
        ),
        (
            "Decision and estimate of the change (Eq. 5)",
            rf"\begin{{aligned}} g_t = {g:.2f} &{verdict} h = {test.threshold:g} \\"
            rf"(\tilde\jmath, \tilde\upsilon_1) &= ({state.starts[row]},\ {v1:.3f}) \end{{aligned}}",
        ),
    ]
