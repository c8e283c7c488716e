"""Condensing-in-Time, the passive learner (Algorithm 3 of the paper)."""

from __future__ import annotations

from typing import Any

from tmlcd_core.errors import ConfigError
from tmlcd_core.knn import kernels
from tmlcd_core.knn.stream_pass import UpdateRule
from tmlcd_core.learners.stream_learner import StreamLearner
from tmlcd_core.validation import real_number, whole_number


class CondensingInTime(StreamLearner):
    """Condensing-in-Time (CIT): adds every misclassified sample to T.

    T grows most after a change, and samples are removed only if `max_size` is set. The paper names a probabilistic
    rule as future work; `add_probability` is such a rule.

    Parameters
    ----------
    max_size
        p: largest |T|, as in `TinyKNN`; None for no limit.
    add_probability
        Probability of adding a misclassified sample to T. "adaptive" compares the error rate over about the last 50
        samples with that over about the last 500: the probability is 0 if the first is less than one standard
        deviation above the second, 1 from two standard deviations on, and linear in between. So it is near 0 in
        stationary conditions and near 1 after a change.
    k, weights
        As in `TinyKNN`.
    condense
        Condense the initial T with Hart's algorithm.
    random_state
        Seed of the draws for `add_probability`; the draw for a sample depends only on the seed and its time.
    storage, max_bytes
        As in `TinyKNN`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 1200)
    >>> X = rng.normal(size=(1200, 8)) + 1.5 * np.where(np.arange(1200) < 700, y, 1 - y)[:, None]  # labels swap at 600
    >>> model = CondensingInTime().fit(X[:100], y[:100])
    >>> trace = model.run(X[100:], y[100:])
    >>> trace.sizes[[0, 599, 1099]].tolist()
    [18, 47, 136]
    """

    def __init__(
        self,
        max_size: int | None = None,
        add_probability: float | str = 1.0,
        k: int | str = "sqrt",
        weights: str = "uniform",
        condense: bool = True,
        random_state: int = 0,
        storage: str = "float32",
        max_bytes: int | None = None,
    ):
        self.max_size = max_size
        self.add_probability = add_probability
        self.k = k
        self.weights = weights
        self.condense = condense
        self.random_state = random_state
        self.storage = storage
        self.max_bytes = max_bytes

    def _rule(self) -> UpdateRule:
        return passive_rule(super()._rule(), self.add_probability, self.random_state)


def passive_rule(rule: UpdateRule, add_probability: Any, random_state: Any) -> UpdateRule:
    """Check both parameters and return `rule` extended to add misclassified samples with this probability."""
    if isinstance(add_probability, str):
        if add_probability != "adaptive":
            raise ConfigError(f"add_probability={add_probability!r} must be 'adaptive' or a number in 0..1")
        probability = kernels.ADAPTIVE
    else:
        probability = real_number("add_probability", add_probability, 0.0, 1.0)
    seed = whole_number("random_state", random_state, 0, 2**63 - 1)
    return rule._replace(add=kernels.ADD_ERRORS, add_probability=probability, seed=seed)
