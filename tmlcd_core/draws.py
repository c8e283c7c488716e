"""SplitMix64 random numbers, used to draw streams and simulated errors.

All random draws of an experiment come from here. SplitMix64 is a few lines in any language, so that a seed gives the
same stream in Python, C and JavaScript:

- number i of a sequence is `mix(start + (i + 1) * GAMMA)`, all in unsigned 64-bit arithmetic;
- the start of a sequence is `mix(seed) + purpose`: sequences for different purposes are independent;
- a uniform number is the upper 53 bits divided by 2**53;
- a permutation sorts 0..n-1 by n such numbers; equal numbers, which are very unlikely, keep their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.validation import whole_number

GAMMA = np.uint64(0x9E3779B97F4A7C15)  # 2**64 divided by the golden ratio, odd
# Purposes: classes, order of labels, media within a class, simulated errors, samples without a label, with a wrong
# label, and which wrong label.
CLASSES, ORDER, MEDIA, ERRORS, MISSING, WRONG, INSTEAD = 1, 2, 3, 4, 5, 6, 7
LARGEST_SEED = 2**32 - 1

Item = TypeVar("Item")


def mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the SplitMix64 output function (a bijective hash) of each 64-bit number, in the shape of `values`."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


class Draws:
    """SplitMix64 random number generator for one seed and one purpose.

    Parameters
    ----------
    seed : int
        0 to 2**32 - 1.
    purpose : int
        `CLASSES`, `ORDER`, `MEDIA`, `ERRORS`, `MISSING`, `WRONG` or `INSTEAD`.

    Examples
    --------
    >>> Draws(0, CLASSES).permutation(5).tolist()
    [4, 3, 0, 1, 2]
    >>> Draws(1, ORDER).uniform(2).round(4).tolist()
    [0.8137, 0.7987]

    References
    ----------
    G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
    """

    def __init__(self, seed: int, purpose: int) -> None:
        seed = whole_number("seed", seed, 0, LARGEST_SEED)
        self._state = mix(np.array([seed], np.uint64)) + np.uint64(purpose)

    def integers(self, n: int) -> NDArray[np.uint64]:
        """Return the next n random 64-bit integers, shape (n,)."""
        states = self._state + GAMMA * np.arange(1, n + 1, dtype=np.uint64)
        self._state = self._state + GAMMA * np.array([n], np.uint64)
        return mix(states)

    def uniform(self, n: int) -> NDArray[np.float64]:
        """Return n uniform random numbers in [0, 1), shape (n,)."""
        return (self.integers(n) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def permutation(self, n: int) -> NDArray[np.int64]:
        """Return a random permutation of 0..n-1, shape (n,)."""
        return np.argsort(self.integers(n), kind="stable")

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        """Return the items in random order."""
        return [items[i] for i in self.permutation(len(items)).tolist()]
