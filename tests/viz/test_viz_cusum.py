"""State of the CUSUM test compared with the paper's definition, computed by plain sums."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from tmlcd_core.detectors import GeneralizedCusum, threshold_table
from tmlcd_core.errors import DataError
from tmlcd_core.viz import cusum

DROP = np.random.default_rng(3).random(800) < np.where(np.arange(800) < 400, 0.9, 0.6)


def sums_by_definition(hits: np.ndarray, v0: float, v1: np.ndarray, n: int) -> np.ndarray:
    """S_j^t(v1) of Eqs. 1 and 3 from normal densities, one sum at a time."""
    density = lambda v: norm.logpdf(hits[:, None], n * v, np.sqrt(n * v * (1 - v)))  # noqa: E731
    s = density(v1) - density(v0)
    return np.array([s[j:].sum(axis=0) for j in range(len(hits))])


@pytest.mark.parametrize("time", [149, 420, 550, 799])
@pytest.mark.parametrize("direction", ["both", "down"])
def test_every_sum_is_that_of_the_definition(time, direction):
    state = cusum.state_at(DROP, time, threshold=1e9, direction=direction)
    hits = DROP[100 : 100 + 50 * ((time - 99) // 50)].reshape(-1, 50).sum(axis=1)
    np.testing.assert_array_equal(state.hits, hits)
    np.testing.assert_array_equal(state.starts, 100 + 50 * np.arange(len(hits)))
    v0 = DROP[:100].mean()
    expected = sums_by_definition(hits, v0, state.test.candidates, 50)
    np.testing.assert_allclose(state.matrix, expected, atol=1e-8)
    row, column = state.best
    assert state.matrix[row, column] == pytest.approx(state.test.statistic)
    assert state.starts[row] == state.test.change_time


@given(st.integers(0, 2**32), st.integers(10, 60), st.integers(20, 150), st.floats(1, 60))
def test_recursion_and_definition_have_the_same_maximum(seed, batch, warmup, threshold):
    rng = np.random.default_rng(seed)
    correct = rng.random(500) < np.where(np.arange(500) < 250, 0.85, 0.5)
    settings = {"threshold": threshold, "batch": batch, "warmup": warmup}
    said = cusum.replay(correct, **settings)
    time = int(rng.integers(0, 500))
    state = cusum.state_at(correct, time, **settings)
    if state is not None:
        np.testing.assert_allclose(state.matrix.max(axis=0), state.recursion[-1], atol=1e-9)
        assert state.matrix.max() == pytest.approx(said.statistic[time])
        assert said.batch_accuracy[time] == pytest.approx(state.hits[-1] / batch)


def test_replay_is_the_test_sample_by_sample():
    test = GeneralizedCusum()
    said = cusum.replay(DROP)
    alarms = []
    for t, hit in enumerate(DROP):
        if test.update(hit):
            alarms.append((t, test.change_time))
        np.testing.assert_equal(said.statistic[t], test.statistic)
    assert list(zip(said.alarms, said.change_points, strict=True)) == alarms
    assert alarms


def test_after_an_alarm_only_newer_batches_count():
    first = cusum.replay(DROP).alarms[0]
    assert cusum.state_at(DROP, first).start == 0, "the alarm itself is shown with what led to it"
    assert cusum.state_at(DROP, first + 1) is None
    later = cusum.state_at(DROP, first + 100)
    assert later.start == first + 1
    assert later.starts.tolist() == [first + 51]
    assert later.test.accuracy_before == pytest.approx(DROP[first + 1 : first + 51].mean())


@pytest.mark.parametrize("time", [-1, 800])
def test_a_time_outside_the_run_is_named(time):
    with pytest.raises(DataError, match=str(time)):
        cusum.state_at(DROP, time)


@pytest.mark.parametrize("likelihood", ["normal", "authors", "binomial"])
def test_the_printed_formulas_add_up(likelihood):
    state = cusum.state_at(DROP, 599, threshold=30.0, likelihood=likelihood)
    row, column = state.best
    texts = [latex for _, latex in cusum.formulas(state)]
    s = state.test.ratios(state.hits[-1])[column]
    assert f"= {s:.2f}" in texts[0]
    if likelihood != "binomial":
        terms = re.search(r"([+-]\d+\.\d\d) ([+-]\d+\.\d{3}) = ", texts[0])
        v0, v1 = state.test.accuracy_before, state.test.candidates[column]
        spreads = v0 * (1 - v0) / (v1 * (1 - v1))
        assert float(terms[2]) == pytest.approx(np.log(spreads) * (1 if likelihood == "authors" else 0.5), abs=6e-4)
    assert f"= {state.matrix[row, column]:.2f}" in texts[1]
    assert f"= {state.recursion[-1, column]:.2f}" in texts[2]


def test_figures_hold_the_numbers():
    state = cusum.state_at(DROP, 599, threshold=1e9)
    figure = cusum.matrix_figure(state)
    np.testing.assert_allclose(figure.data[0].customdata, state.matrix)
    edges = cusum.matrix_figure(cusum.state_at(DROP, 149)).data[0].y
    assert list(edges) == [75, 125], "a single batch is as high as a batch, and has ticks at whole samples"
    rows = threshold_table(0.9, thresholds=(5.0, 25.0), runs=200)
    lines = cusum.threshold_figure(rows, 25.0).data
    assert [list(line.x) for line in lines] == [[5.0, 25.0]] * 2
    assert list(lines[0].y) == [row.false_alarm_rate for row in rows]
    table = cusum.batch_table(state)
    assert max(table["definition S"]) == pytest.approx(table["recursion G"][-1], abs=0.011)
