"""Class balance of a bounded T: an even cut, and an order in which classes take turns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def cut_evenly(labels: Any, size: int) -> NDArray[np.intp]:
    """Positions of at most `size` samples, in their order: the newest of every class, then the second newest, …

    Classes with few samples keep them all; the last round goes to the newest of its samples. If `size` is smaller than
    the number of classes, the newest samples stay.

    Parameters
    ----------
    labels
        Labels or codes, shape (n,), oldest first.
    size
        Largest number of samples to keep, at least 1.

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
    """An order in which the classes take turns: where the oldest leave first, all classes shrink alike.

    Turns are counted from the end, so that a class of few samples comes late and outlasts the evictions; each class
    keeps its own order. The last `size` samples of this order are what `cut_evenly` keeps of it.

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
    """How many samples of the same class follow each sample, and the number of classes."""
    classes, codes = np.unique(np.asarray(labels), return_inverse=True)
    by_class = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes))
    later = np.empty(len(codes), np.intp)
    later[by_class] = ends[codes[by_class]] - 1 - np.arange(len(codes))
    return later, len(classes)
