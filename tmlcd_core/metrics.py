"""The paper's accuracy curve, for metrics and for charts."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tmlcd_core.validation import whole_number

TAPS = 100  # samples that the accuracy is averaged over (paper, Sec. 7.5)


def accuracy_curve(correct: ArrayLike, taps: int = TAPS) -> NDArray[np.float64]:
    """The accuracy over the last `taps` samples: the hits convolved with `taps` values of `1 / taps`.

    The first `taps - 1` samples have no full window behind them and are nan.

    >>> accuracy_curve([1, 1, 0, 1], taps=2).tolist()
    [nan, 1.0, 0.5, 0.5]
    """
    whole_number("taps", taps, 1)
    hits = np.concatenate([[0.0], np.cumsum(np.asarray(correct, dtype=float))])
    curve = np.full(len(hits) - 1, np.nan)
    curve[taps - 1 :] = (hits[taps:] - hits[:-taps]) / taps
    return curve
