"""Odd takes: taught takes that sound like another word, probably taught under the wrong one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.live.state import CLOSEST
from tmlcd_core.live.unknown import distances_between


def find_odd(X: NDArray[np.float32], words: Sequence[str]) -> dict[int, str]:
    """Return the odd takes: their index, and the word of the nearest take of another word.

    A take is odd if it is nearer to a take of another word than to every other take of its own. The oddest take is
    removed before the others are looked at again: it must not make takes odd that are next to it. A word with one take
    cannot be judged.

    Parameters
    ----------
    X, words : array (n, d), sequence of n str
        Features and words of the taught takes.

    Examples
    --------
    >>> X = np.array([[0], [0.1], [0.3], [5.3], [5], [5.1]], np.float32)
    >>> find_odd(X, ["yes", "yes", "yes", "yes", "no", "no"])
    {3: 'no'}
    """
    labels = np.array(words)
    between = distances_between(X)
    same = labels[:, None] == labels[None]
    found: dict[int, str] = {}
    while len(found) < len(labels):
        own = np.where(same, between, np.inf).min(axis=1)
        other = np.where(same, np.inf, between).min(axis=1)
        ratio = np.where(np.isfinite(own), own, 0) / np.maximum(other, CLOSEST)  # 0 if a distance is infinite
        oddest = int(ratio.argmax())
        if ratio[oddest] <= 1:
            break
        found[oddest] = str(labels[np.where(same[oddest], np.inf, between[oddest]).argmin()])
        between[oddest] = between[:, oddest] = np.inf
    return found
