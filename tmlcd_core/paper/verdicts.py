"""Verdicts on the claims by a bootstrap over runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.experiments.evaluation import Spread, spread

HOLDS, OPEN, FAILS = "holds", "too close to call", "does not hold"
SURE = 0.95  # share of the resamples in which a rule must be true to hold, or false to fail
RESAMPLES = 2000
SEED = 0  # of the resampling
INTERVAL = (2.5, 97.5)  # percentiles of the range of the number of true rules

Values = Mapping[str, NDArray[np.float64]]  # by case: value per run, or mean per resample
Rule = Callable[[Values], NDArray[np.bool_]]  # from the mean of each case to true or false, per resample


@dataclass(frozen=True)
class Finding:
    """Measured values of a claim by case, whether its rule is true of their means, and the share of true resamples."""

    values: dict[str, Spread]
    true: bool
    share: float

    @property
    def verdict(self) -> str:
        """ "holds", "does not hold" or "too close to call"."""
        return HOLDS if self.share >= SURE else FAILS if self.share <= 1 - SURE else OPEN


@dataclass(frozen=True)
class Count:
    """Number of claims by verdict; number of rules true of the measured means, and its bootstrap interval of 95 %."""

    holds: int
    too_close: int
    does_not_hold: int
    true: int
    low: int
    high: int


def resamples(runs: int) -> NDArray[np.int64]:
    """Return the runs of each resample, drawn with replacement, shape (RESAMPLES, runs).

    All claims share them, so learners and configurations of a run stay together.
    """
    return np.random.default_rng(SEED).integers(0, runs, (RESAMPLES, runs))


def check(values: Values, rule: Rule, drawn: NDArray[np.int64]) -> tuple[Finding, NDArray[np.bool_]]:
    """Return the finding of a rule on values (runs,) by case, and whether it is true in each resample, shape (n,)."""
    whole = np.arange(drawn.shape[1])[None]
    true = bool(rule(_means(values, whole))[0]) if values else False
    each = rule(_means(values, drawn)) if values else np.zeros(len(drawn), bool)
    return Finding({case: spread(found) for case, found in values.items()}, true, float(each.mean())), each


def count(findings: Sequence[tuple[Finding, NDArray[np.bool_]]]) -> Count:
    """Return the number of claims by verdict, and the range of the number of true rules over the resamples.

    `findings` are pairs from `check`: the finding, and whether the rule is true in each resample, shape (RESAMPLES,).
    """
    verdicts = [finding.verdict for finding, _ in findings]
    totals = np.sum([each for _, each in findings], axis=0)
    low, high = np.percentile(totals, INTERVAL, method="nearest").astype(int).tolist()
    true = sum(finding.true for finding, _ in findings)
    return Count(verdicts.count(HOLDS), verdicts.count(OPEN), verdicts.count(FAILS), true, low, high)


def _means(values: Values, drawn: NDArray[np.int64]) -> dict[str, NDArray[np.float64]]:
    """Mean of each case over the runs of each resample, without runs that have no value; nan if none has one."""
    found = {}
    for case, each in values.items():
        some = ~np.isnan(each)
        with np.errstate(invalid="ignore"):
            found[case] = np.where(some, each, 0)[drawn].sum(axis=1) / some[drawn].sum(axis=1)
    return found


def within(low: float, high: float, digits: int = 2) -> Rule:
    """Return the rule: all means, rounded as in the paper, lie in low..high."""
    return lambda means: _all([(low <= np.round(m, digits)) & (np.round(m, digits) <= high) for m in means.values()])


def above(bound: float) -> Rule:
    """Return the rule: all means are greater than the bound."""
    return lambda means: _all([m > bound for m in means.values()])


def below(bound: float) -> Rule:
    """Return the rule: all means are less than the bound."""
    return lambda means: _all([m < bound for m in means.values()])


def above_in_most(bound: float, share: float) -> Rule:
    """Return the rule: in at least this share of the configurations, all means are greater than the bound.

    The configuration of a case is its name up to the comma.
    """

    def rule(means: Values) -> NDArray[np.bool_]:
        groups: dict[str, list[NDArray[np.bool_]]] = {}
        for case, mean in means.items():
            groups.setdefault(case.split(",")[0], []).append(mean > bound)
        return np.mean([_all(one) for one in groups.values()], axis=0) >= share

    return rule


def _all(parts: list[NDArray[np.bool_]]) -> NDArray[np.bool_]:
    return np.logical_and.reduce(parts)
