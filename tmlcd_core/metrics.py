"""Accuracy curve of the paper, for metrics and charts."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tmlcd_core.validation import whole_number

TAPS = 100  # samples that the accuracy is averaged over (paper, Sec. 7.5)


def accuracy_curve(correct: ArrayLike, taps: int = TAPS) -> NDArray[np.float64]:
    """Moving average of `correct`, shape (n,), over the last `taps` samples; return float64 (n,).

    The first `taps - 1` values are nan because their window is not full.

    >>> accuracy_curve([1, 1, 0, 1], taps=2).tolist()
    [nan, 1.0, 0.5, 0.5]
    """
    whole_number("taps", taps, 1)
    hits = np.concatenate([[0.0], np.cumsum(np.asarray(correct, dtype=float))])
    curve = np.full(len(hits) - 1, np.nan)
    curve[taps - 1 :] = (hits[taps:] - hits[:-taps]) / taps
    return curve
