"""Class balance of a bounded training set T: an even cut, and an order that alternates between classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def cut_evenly(labels: Any, size: int) -> NDArray[np.intp]:
    """Select at most `size` samples with balanced classes: the newest of each class, then the second newest, …

    Classes with few samples keep all of them. If the last round does not fit, the newest samples of that round are
    kept. If `size` is smaller than the number of classes, the newest samples are kept whatever their class.

    Parameters
    ----------
    labels
        Labels or codes, shape (n,), oldest first.
    size
        Largest number of samples to keep, at least 1.

    Returns
    -------
    Indices into `labels` in ascending order, shape (min(n, size),).

    Examples
    --------
    >>> cut_evenly(["yes", "yes", "yes", "up", "no", "no"], 4).tolist()
    [2, 3, 4, 5]
    """
    later, classes = _later(labels)
    n = len(later)
    if size < classes:
        return np.arange(n - size, n)
    newest_first = np.lexsort((-np.arange(n), later))
    return np.sort(newest_first[:size])


def in_turns(labels: Any) -> NDArray[np.intp]:
    """Order samples so that the classes alternate: if the oldest are removed first, all classes shrink evenly.

    Rounds are counted from the end, so the samples of a small class come late and are removed last. Each class keeps
    its own order. `cut_evenly` keeps the last `size` samples of this order.

    Parameters
    ----------
    labels
        Labels or codes, shape (n,).

    Returns
    -------
    Indices into `labels`, shape (n,).

    Examples
    --------
    >>> y = np.array(["yes", "yes", "yes", "no", "no"])
    >>> y[in_turns(y)].tolist()
    ['yes', 'yes', 'no', 'yes', 'no']
    """
    later, _ = _later(labels)
    return np.argsort(-later, kind="stable")


def _later(labels: Any) -> tuple[NDArray[np.intp], int]:
    """Number of later samples of the same class for each sample, shape (n,), and the number of classes."""
    classes, codes = np.unique(np.asarray(labels), return_inverse=True)
    by_class = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes))
    later = np.empty(len(codes), np.intp)
    later[by_class] = ends[codes[by_class]] - 1 - np.arange(len(codes))
    return later, len(classes)
