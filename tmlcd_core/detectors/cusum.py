"""Generalized CUSUM test on the accuracy of a classifier (paper, Sec. 6.2, Eqs. 1-5)."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tmlcd_core.detectors.compiled import cusum_batches
from tmlcd_core.detectors.detector import Cloneable
from tmlcd_core.errors import DataError
from tmlcd_core.portable_math import log
from tmlcd_core.validation import one_of, real_number, whole_number

DIRECTIONS = ("both", "down")
LOGARITHM = {
    "normal": 0.5,
    "authors": 1.0,
}  # factor of ln(v0 w0 / v1 w1), w = 1 - v: Eq. 4; the authors' published code
LIKELIHOODS = (*LOGARITHM, "binomial")
LONGEST = 2**31 - 1  # samples of a batch or a warm-up
LARGEST_TABLE = 200  # samples of a batch: up to here, s of every possible number of hits is computed once
V0_MARGIN = 1e-3  # v0 is kept this far from 0 and 1 (authors' experiments)


def log_likelihood_ratio(
    correct: ArrayLike, v0: ArrayLike, v1: ArrayLike, n: int, likelihood: str = "normal"
) -> NDArray:
    """Log-likelihood ratio s = ln p_v1(zeta) / p_v0(zeta) of a batch (Eq. 1).

    Parameters
    ----------
    correct, v0, v1
        Number of correct predictions zeta, accuracy before and after the change; arrays are broadcast.
    n
        Samples per batch.
    likelihood
        "normal": the approximation of the paper's Eq. (4). "authors": as the authors' published code computes it, with
        the whole logarithm in the last term of Eq. (4) instead of half of it. "binomial": the exact ratio, in which the
        binomial coefficients cancel.

    Returns
    -------
    s, float64 of the broadcast shape.

    Examples
    --------
    >>> round(float(log_likelihood_ratio(30, 0.9, 0.6, 50)), 3)
    24.51
    """
    one_of("likelihood", likelihood, LIKELIHOODS)
    zeta, v0, v1 = (np.asarray(a, dtype=np.float64) for a in (correct, v0, v1))
    w0, w1 = 1 - v0, 1 - v1
    if likelihood == "binomial":
        return zeta * log(v1 / v0) + (n - zeta) * log(w1 / w0)
    return (
        (v1 * w1 - v0 * w0) / (2 * n * v0 * w0 * v1 * w1) * zeta**2
        + (w0 - w1) / (w0 * w1) * zeta
        + n * (v0 * w1 - v1 * w0) / (2 * w0 * w1)
        + LOGARITHM[likelihood] * log(v0 * w0 / (v1 * w1))
    )


class GeneralizedCusum(Cloneable):
    """Generalized CUSUM on batches of correct and incorrect predictions.

    The accuracy v0 before a change is estimated on the first `warmup` samples. Then each batch of n samples adds its
    log-likelihood ratio s for every candidate accuracy v1. The statistic is g_t = max_j max_v1 S_j^t(v1) with
    S_j^t = s_j + … + s_t. For each v1 the maximum over j is computed by the recursion G = max(G, 0) + s, together with
    the batch at which G last restarted. So the memory per candidate is constant and does not grow with t.

    After an alarm the test restarts at the next sample and estimates v0 on `batch` samples.

    Parameters
    ----------
    threshold
        h: the alarm is raised when g_t >= h. `calibrate_threshold` finds one for a false-alarm rate.
    batch
        n: samples per batch.
    warmup
        ξ: samples on which v0 is estimated.
    direction
        "both" (the paper's Active) or "down": only candidates below v0 (its Hybrid).
    likelihood
        "normal" approximation (the paper's Eq. 4), "authors" (the authors' published code: the whole logarithm in Eq. 4
        instead of half of it) or exact "binomial".
    spacing, gap
        Candidates v1 are spacing/2, 3 spacing/2, … below 1, without those closer than `gap` to v0.
    margin
        v0 is kept at least this far from 0 and 1. Use a larger margin after a short warm-up: if all of a dozen samples
        were correct, the authors' 0.001 would give a single later error far too much weight.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> correct = np.r_[rng.random(1000) < 0.9, rng.random(1000) < 0.6]
    >>> test = GeneralizedCusum()
    >>> alarms = [i for i, c in enumerate(correct) if test.update(c)]
    >>> alarms[0]
    1149

    References
    ----------
    Lorden, G. (1971). Procedures for reacting to a change in distribution. Annals of Mathematical Statistics 42(6).
    """

    def __init__(
        self,
        threshold: float = 25.0,
        batch: int = 50,
        warmup: int = 100,
        direction: str = "both",
        likelihood: str = "normal",
        spacing: float = 0.01,
        gap: float = 0.03,
        margin: float = V0_MARGIN,
    ):
        self.threshold = real_number("threshold", threshold, 0.0)
        self.batch = whole_number("batch", batch, 1, LONGEST)
        self.warmup = whole_number("warmup", warmup, 1, LONGEST)
        self.direction = one_of("direction", direction, DIRECTIONS)
        self.likelihood = one_of("likelihood", likelihood, LIKELIHOODS)
        self.spacing = real_number("spacing", spacing, 1e-4, 0.5)
        self.gap = real_number("gap", gap, 0.0, 1.0)
        self.margin = real_number("margin", margin, 1e-6, 0.5)
        self.seen = 0  # supervised samples
        self._start(self.warmup)

    def __repr__(self) -> str:
        return (
            f"GeneralizedCusum(threshold={self.threshold:g}, batch={self.batch}, warmup={self.warmup}, "
            f"direction={self.direction!r}, likelihood={self.likelihood!r})"
        )

    def _start(self, warmup: int) -> None:
        self.statistic = math.nan  # g_t; nan while warming up
        self.accuracy_before = math.nan  # v0
        self.accuracy_after = math.nan  # the v1 of the maximum
        self.change_time = -1  # time of the first sample of the batch at which the maximum starts
        self.candidates = np.empty(0)
        self._left = warmup  # samples until the warm-up or the batch is full
        self._size = warmup
        self._correct = 0
        self._alarm = False

    def update(self, correct: bool, time: int | None = None) -> bool:
        """Add one supervised sample; return True if g_t reaches the threshold.

        `correct` says whether the prediction was right; `time` is the time of the sample, by default a count from 0.
        """
        if self._alarm:
            self._start(self.batch)
        if time is None:
            time = self.seen
        self.seen += 1
        warming_up = math.isnan(self.accuracy_before)
        if not warming_up and math.isnan(self.statistic):
            self.statistic = 0.0  # the first batch has begun
        if self._left == self._size:
            self._batch_time = time
        self._left -= 1
        self._correct += bool(correct)
        if not self._left:
            self._end_batch()
        return self._alarm

    def update_until_alarm(
        self, correct: NDArray[np.bool_], times: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], bool]:
        """Add supervised samples as `update` does, but only up to the first alarm.

        Parameters
        ----------
        correct, times
            Whether each prediction was right, and the times of the samples, shape (n,).

        Returns
        -------
        The statistic after each sample added, float64 (m,) with m <= n, and whether the last of them raised an alarm.
        """
        statistic = np.empty(len(correct))
        i = 0
        while i < len(correct):
            if self._alarm:
                self._start(self.batch)
            warming_up = math.isnan(self.accuracy_before)
            if not warming_up and math.isnan(self.statistic):
                self.statistic = 0.0
            batches = (len(correct) - i) // self.batch
            if batches and self._left == self._size and not warming_up:
                end = i + batches * self.batch
                hits = correct[i:end].reshape(batches, -1).sum(axis=1)
                before = self.statistic
                values = self._add_batches(hits, times[i : end : self.batch])
                end = i + len(values) * self.batch
                in_batches = statistic[i:end].reshape(len(values), -1)
                in_batches[:, -1] = values
                in_batches[0, :-1] = before
                in_batches[1:, :-1] = values[:-1, None]
                self._batch_time = int(times[end - self.batch])
            else:
                end = min(i + self._left, len(correct))
                if self._left == self._size:
                    self._batch_time = int(times[i])
                self._left -= end - i
                self._correct += int(np.count_nonzero(correct[i:end]))
                statistic[i:end] = self.statistic
                if not self._left:
                    self._end_batch()
                    statistic[end - 1] = self.statistic
            self.seen += end - i
            i = end
            if self._alarm:
                break
        return statistic[:i], i > 0 and self._alarm

    def _end_batch(self) -> None:
        """End the warm-up or the current batch."""
        if math.isnan(self.accuracy_before):
            self.begin(self._correct / self._size)
        else:
            self._add_batches(np.array([self._correct]), np.array([self._batch_time]))
        self._left = self._size = self.batch
        self._correct = 0

    def begin(self, accuracy: float) -> None:
        """Start the test with v0 = `accuracy`, limited by `margin`, and no batches seen."""
        self.accuracy_before = min(max(accuracy, self.margin), 1 - self.margin)
        self.candidates = candidate_accuracies(self.accuracy_before, self.direction, self.spacing, self.gap)
        self._G = np.full(len(self.candidates), -np.inf)
        self._since = np.zeros(len(self.candidates), np.int64)

    def _add_batches(self, hits: NDArray[np.int64], times: NDArray[np.int64]) -> NDArray[np.float64]:
        """Add batches, with hits and time of the first sample (n,), up to the first alarm; return g_t of each, (m,)."""
        if not len(self.candidates):  # no candidate lies far enough below v0: a drop cannot be detected
            return np.full(len(hits), self.statistic)
        if self.batch <= LARGEST_TABLE:
            v1 = self.direction, self.spacing, self.gap
            table, rows = _ratio_table(self.accuracy_before, v1, self.batch, self.likelihood), hits
        else:
            counts, rows = np.unique(hits, return_inverse=True)
            table = self.ratios(counts)
        statistic = np.empty(len(hits))
        added, best = cusum_batches(self._G, self._since, table, rows, times, self.threshold, statistic)
        self.statistic = float(self._G[best])
        self.accuracy_after = float(self.candidates[best])
        self.change_time = int(self._since[best])
        self._alarm = self.statistic >= self.threshold
        return statistic[:added]

    def ratios(self, correct: ArrayLike) -> NDArray[np.float64]:
        """Return s(v1) of batches with `correct` hits, shape (batches,): float64 (batches, candidates)."""
        zeta = np.asarray(correct, dtype=np.float64)[..., None]
        return log_likelihood_ratio(zeta, self.accuracy_before, self.candidates, self.batch, self.likelihood)

    def matrix(self, correct: ArrayLike) -> NDArray[np.float64]:
        """Return S_j^t(v1) of batches 1..t with `correct` hits, shape (t,): float64 (t, candidates), row j - 1.

        For charts only: the test itself does not store this matrix.
        """
        if math.isnan(self.accuracy_before):
            raise DataError("v0 is not known before the warm-up ends: add more samples with update, or call begin")
        hits = np.atleast_1d(np.asarray(correct))
        if hits.ndim != 1 or (hits < 0).any() or (hits > self.batch).any():
            raise DataError(f"hits per batch must be a list of numbers in 0..{self.batch}, got {correct!r}")
        return self.ratios(hits)[::-1].cumsum(axis=0)[::-1]


@lru_cache(maxsize=32)
def _ratio_table(v0: float, v1: tuple[str, float, float], n: int, likelihood: str) -> NDArray[np.float64]:
    """s of batches with 0 to n hits, float64 (n + 1, candidates); `v1` are the settings of the candidates."""
    return log_likelihood_ratio(np.arange(n + 1)[:, None], v0, candidate_accuracies(v0, *v1), n, likelihood)


def candidate_accuracies(
    v0: float, direction: str = "both", spacing: float = 0.01, gap: float = 0.03
) -> NDArray[np.float64]:
    """Candidate accuracies v1 after a change, ascending, float64 (candidates,).

    Examples
    --------
    >>> candidate_accuracies(0.1, "down").round(3).tolist()
    [0.005, 0.015, 0.025, 0.035, 0.045, 0.055, 0.065]
    """
    one_of("direction", direction, DIRECTIONS)
    grid = np.arange(spacing / 2, 1 - 1e-12, spacing)  # rounding can make arange include 1
    far = np.abs(grid - v0) >= gap - 1e-12
    return grid[far & (grid < v0)] if direction == "down" else grid[far]
