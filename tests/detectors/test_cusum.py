"""The generalized CUSUM against densities, against the definition in `tmlcd_core.reference`, and at the edges."""

import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, norm

from tmlcd_core import ConfigError, DataError, GeneralizedCusum, reference
from tmlcd_core.detectors import candidate_accuracies, log_likelihood_ratio


@pytest.mark.parametrize("v1", [0.005, 0.35, 0.995])
@pytest.mark.parametrize("v0", [0.1, 0.5, 0.93])
def test_ratio_is_that_of_the_densities(v0, v1):
    n, zeta = 50, np.arange(51)
    normal = norm.logpdf(zeta, n * v1, np.sqrt(n * v1 * (1 - v1))) - norm.logpdf(
        zeta, n * v0, np.sqrt(n * v0 * (1 - v0))
    )
    np.testing.assert_allclose(log_likelihood_ratio(zeta, v0, v1, n), normal, rtol=1e-9, atol=1e-9)
    exact = binom.logpmf(zeta, n, v1) - binom.logpmf(zeta, n, v0)
    np.testing.assert_allclose(log_likelihood_ratio(zeta, v0, v1, n, "binomial"), exact, rtol=1e-9, atol=1e-9)


def test_another_direction_or_likelihood_is_refused():
    with pytest.raises(ConfigError, match="likelihood='beta'"):
        log_likelihood_ratio(30, 0.9, 0.6, 50, "beta")
    with pytest.raises(ConfigError, match="direction='up'"):
        candidate_accuracies(0.9, "up")


def test_the_authors_statistic_is_the_direct_formula_over_all_starts():
    """g = max over j and v1 of the sum of Eq. 4 with ln p0q0/p1q1 whole, summed anew for each batch: O(t^2)."""
    rng = np.random.default_rng(4)
    correct = np.r_[rng.random(400) < 0.9, rng.random(300) < 0.75]
    n, test = 20, GeneralizedCusum(1e9, 20, 100, likelihood="authors")
    half = GeneralizedCusum(1e9, 20, 100)
    for t, hit in enumerate(correct, start=1):
        test.update(hit)
        half.update(hit)
        if t < 120 or t % n:
            continue
        p0, g = correct[:100].mean(), -np.inf
        hits = correct[100:t].reshape(-1, n).sum(axis=1)
        for p1 in test.candidates:
            q0, q1 = 1 - p0, 1 - p1
            s = [
                z * z * (p1 * q1 - p0 * q0) / (2 * n * p0 * q0 * p1 * q1)
                + z * (q0 - q1) / (q0 * q1)
                + n * (p0 * q1 - p1 * q0) / (2 * q0 * q1)
                + np.log(p0 * q0 / (p1 * q1))
                for z in hits
            ]
            g = max(g, *(sum(s[j:]) for j in range(len(s))))
        assert test.statistic == pytest.approx(g)
    assert abs(half.statistic - g) > 1, "Eq. 4 itself gives another number"


class BinomialCusum(reference.Cusum):
    """The test with the exact distribution in the place of Eq. 4."""

    def log_likelihood_ratio(self, zeta):
        return binom.logpmf(zeta, self.n, self.v1) - binom.logpmf(zeta, self.n, self.v0)


class AuthorsCusum(reference.Cusum):
    """Eq. 4 without the square root in its logarithm: the densities' ratio and the other half of the logarithm."""

    def log_likelihood_ratio(self, zeta):
        (m0, s0), (m1, s1) = ((self.n * v, np.sqrt(self.n * v * (1 - v))) for v in (self.v0, self.v1))
        return norm.logpdf(zeta, m1, s1) - norm.logpdf(zeta, m0, s0) + np.log(s0 / s1)


DEFINITIONS = {"normal": reference.Cusum, "authors": AuthorsCusum, "binomial": BinomialCusum}


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    accuracies=st.tuples(*[st.sampled_from([0.0, 0.2, 0.5, 0.8, 0.95, 1.0])] * 2),
    n=st.integers(5, 20),
    xi=st.integers(5, 40),
    h=st.sampled_from([0.0, 3.0, 10.0, 40.0]),
    direction=st.sampled_from(["both", "down"]),
    likelihood=st.sampled_from(sorted(DEFINITIONS)),
)
def test_recursion_equals_the_definition(seed, accuracies, n, xi, h, direction, likelihood):
    rng = np.random.default_rng(seed)
    correct = np.r_[rng.random(80) < accuracies[0], rng.random(80) < accuracies[1]]
    test = GeneralizedCusum(h, n, xi, direction, likelihood)
    definition = DEFINITIONS[likelihood](h, n, xi, only_drops=direction == "down")
    for t, hit in enumerate(correct):
        alarm, change_time = test.update(hit, t), definition.update(hit, t)
        assert alarm == (change_time is not None)
        assert test.statistic == pytest.approx(definition.g, rel=1e-9, abs=1e-9, nan_ok=True)
        if alarm:  # of equal maxima, either may be taken
            S = np.cumsum(definition.s[::-1], axis=0)[::-1]
            j = len(S) - (t + 1 - test.change_time) // n
            v = np.abs(definition.v1 - test.accuracy_after).argmin()
            assert S[j, v] == pytest.approx(definition.g, rel=1e-9, abs=1e-9)
            assert test.change_time == t + 1 - n * (len(S) - j)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    batch=st.integers(1, 30),
    warmup=st.integers(1, 40),
    threshold=st.sampled_from([0.0, 2.0, 10.0, 1e9]),
    direction=st.sampled_from(["both", "down"]),
)
def test_samples_added_together_equal_samples_added_one_by_one(seed, batch, warmup, threshold, direction):
    rng = np.random.default_rng(seed)
    correct = rng.random(400) < np.repeat(rng.choice([0.0, 0.05, 0.5, 0.9, 1.0], 4), 100)
    times = 7 + np.cumsum(rng.integers(1, 4, 400))
    single, together = (GeneralizedCusum(threshold, batch, warmup, direction) for _ in range(2))
    i = 0
    while i < 400:
        stop = i + int(rng.integers(0, 200))
        statistic, alarm = together.update_until_alarm(correct[i:stop], times[i:stop])
        for value in statistic[:-1]:
            assert not single.update(correct[i], times[i])
            np.testing.assert_equal(single.statistic, value)
            i += 1
        if len(statistic):
            assert single.update(correct[i], times[i]) == alarm
            i += 1
        assert alarm or i >= min(stop, 400)
        np.testing.assert_equal(vars(together), vars(single))


def test_matrix_holds_the_statistic_at_its_maximum():
    rng = np.random.default_rng(0)
    correct = np.r_[rng.random(500) < 0.9, rng.random(200) < 0.7]
    test = GeneralizedCusum(threshold=1e9)
    for hit in correct:
        test.update(hit)
    batches = correct[100:].reshape(-1, 50).sum(axis=1)
    S = test.matrix(batches)
    j, v = np.unravel_index(S.argmax(), S.shape)
    assert S.shape == (12, len(test.candidates))
    assert S[j, v] == pytest.approx(test.statistic)
    assert 100 + 50 * j == test.change_time
    assert test.candidates[v] == test.accuracy_after
    with pytest.raises(DataError, match=r"0\.\.50"):
        test.matrix([51])
    with pytest.raises(DataError, match="warm-up"):
        GeneralizedCusum().matrix([10])


def test_candidates():
    both, down = candidate_accuracies(0.5), candidate_accuracies(0.5, "down")
    assert len(both) == 94  # 100 without 0.475, …, 0.525
    assert (down < 0.5).all()
    assert len(down) == 47
    assert np.abs(both - 0.5).min() == pytest.approx(0.035)


@pytest.mark.parametrize("accuracy", [0.0, 1.0])
def test_perfect_and_hopeless_warm_up(accuracy):
    test = GeneralizedCusum(threshold=20)
    for _ in range(100):
        test.update(bool(accuracy))
    assert test.accuracy_before == pytest.approx(abs(accuracy - 1e-3))
    for _ in range(500):
        assert not test.update(bool(accuracy))
    changed = [test.update(not accuracy) for _ in range(100)]
    assert any(changed)


@pytest.mark.parametrize("odd", [5, 7, 19, 27, 63])
def test_candidates_stay_below_one(odd):
    """Where the grid would end at 1 but for rounding: no accuracy of 1, at which the ratio is infinite."""
    grid = candidate_accuracies(0.5, spacing=2 / odd, gap=0.0)
    np.testing.assert_allclose(grid, [(2 * i + 1) / odd for i in range((odd - 1) // 2)])


def test_no_candidate_below_v0_means_no_alarm():
    test = GeneralizedCusum(threshold=0.5, direction="down")
    assert not any(test.update(False) for _ in range(1000))
    assert test.statistic == 0.0


def test_finds_when_and_how_far():
    """Over many streams the estimates centre on the truth."""
    errors, after = [], []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        test = GeneralizedCusum(threshold=40, direction="down")
        correct = np.r_[rng.random(1000) < 0.9, rng.random(600) < 0.6]
        alarm = next((i for i, hit in enumerate(correct) if test.update(hit)), None)
        if alarm is not None and alarm >= 1000:
            errors.append(test.change_time - 1000)
            after.append(test.accuracy_after)
    assert len(errors) >= 90
    assert abs(np.median(errors)) <= 50
    assert np.median(after) == pytest.approx(0.6, abs=0.06)


def test_memory_does_not_grow():
    rng = np.random.default_rng(0)
    correct = rng.random(20_000) < 0.8
    test = GeneralizedCusum(threshold=1e9)
    for hit in correct[:500]:
        test.update(hit)
    tracemalloc.start()
    for hit in correct:
        test.update(hit)
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < 5_000
    assert len(pickle.dumps(test)) < 5_000
