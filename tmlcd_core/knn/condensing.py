"""Hart's condensed nearest neighbour (Algorithm 2 of the paper)."""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.errors import ConfigError
from tmlcd_core.knn import kernels
from tmlcd_core.knn.distances import Distances
from tmlcd_core.knn.store import Store
from tmlcd_core.knn.stream_pass import UNBOUNDED, StreamPass, UpdateRule
from tmlcd_core.validation import as_features, as_labels, one_of, whole_number

REMEMBERED = 64  # sets of indices
_memory = threading.Lock()
_remembered: dict[tuple[int | bool, ...], NDArray[np.intp]] = {}


def _restart() -> None:
    """Make a new lock in a forked child, where no thread is left to release the old one."""
    global _memory
    _memory = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_restart)


def voting_rule(k: Any, weights: Any) -> UpdateRule:
    """Check the parameters `k` and `weights` and return them as an `UpdateRule`."""
    if isinstance(k, str) and k != "sqrt":
        raise ConfigError(f"k={k!r} must be 'sqrt' or a whole number of at least 1")
    fixed = 0 if isinstance(k, str) else min(whole_number("k", k, 1), UNBOUNDED)
    return UpdateRule(fixed, one_of("weights", weights, ("uniform", "distance")) == "distance")


def condense(X: Any, y: Any, k: int | str = "sqrt", weights: str = "uniform") -> NDArray[np.intp]:
    """Condense a training set with Hart's algorithm.

    The kept set H starts with the first sample. Each other sample is added to H if the kNN over H misclassifies it.
    The passes over the remaining samples are repeated until a pass adds nothing.

    Parameters
    ----------
    X, y
        Features, shape (n, d), and labels, shape (n,), in the order in which the algorithm visits them.
    k
        Number of neighbours, or "sqrt" for ceil(sqrt(|H|)).
    weights
        "uniform" votes, or "distance" (1/d).

    Returns
    -------
    Indices of the kept samples in ascending order, shape (m,).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(200) % 2
    >>> X = rng.normal(size=(200, 4)) + 3 * y[:, None]
    >>> len(condense(X, y, k=1))
    7

    References
    ----------
    Hart, P. (1968). The condensed nearest neighbor rule. IEEE Transactions on Information Theory 14(3).
    """
    rule = voting_rule(k, weights)
    X = as_features(X)
    labels, _ = as_labels(y, len(X))
    classes, codes = np.unique(labels, return_inverse=True)
    return condense_codes(X, codes.astype(np.int32), rule, len(classes))


def condense_codes(
    X: NDArray[np.float32], codes: NDArray[np.int32], rule: UpdateRule, n_classes: int
) -> NDArray[np.intp]:
    """`condense` for checked arrays, float32 (n, d) and int32 (n,); returns ascending indices, shape (m,).

    The latest results are cached, because several learners condense the same initial samples.
    """
    words = np.concatenate([X.ravel().view(np.uint32), codes.view(np.uint32)])
    words.flags.writeable = False  # like a stream's features: numba compiles `fingerprint` for one type
    key = (*X.shape, n_classes, rule.k, rule.by_distance, int(kernels.fingerprint(words)))
    with _memory:
        kept = _remembered.pop(key, None)
    if kept is None:
        kept = _hart(X, codes, rule, n_classes)
    with _memory:
        _remembered[key] = kept  # newest last
        while len(_remembered) > REMEMBERED:
            del _remembered[next(iter(_remembered))]
    return kept.copy()


def _hart(X: NDArray[np.float32], codes: NDArray[np.int32], rule: UpdateRule, n_classes: int) -> NDArray[np.intp]:
    truth = codes.copy()
    stream_pass = StreamPass(
        X,
        truth,
        Distances(X),
        Store.empty(X.shape[1]),
        # H has no size limit: with one the passes could add samples for ever and overflow the arrays of the pass
        rule._replace(add=kernels.ADD_ERRORS, add_probability=1.0, max_size=UNBOUNDED),
        n_classes,
    )
    zero = np.zeros(1, np.int32)
    stream_pass.become(zero, codes[:1], zero.astype(np.int64))
    kept = 0
    while len(stream_pass.ids) > kept:
        kept = len(stream_pass.ids)
        truth[stream_pass.ids] = -1  # samples in H are not visited again
        stream_pass.advance_all()
    return np.sort(stream_pass.ids).astype(np.intp)
