"""Points source: Gaussian clouds in the plane, available immediately."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.datasets.dataset import Kind
from tmlcd_core.errors import DataError
from tmlcd_core.portable_math import cos_of_turns, sin_of_turns

NAMES = tuple("ABCDEFGHIJ")
APART = 2.2  # standard deviations between neighbouring clouds: near enough for a kNN to make mistakes
COUNT = 10_000  # points per class: more than any experiment uses


class PointsSource:
    """Source of ten Gaussian clouds in the plane: nine on a ring, one inside it.

    Examples
    --------
    >>> source = PointsSource()
    >>> source.media("A", [0, 7]).shape, round(float(source.media("A", range(5000)).std()), 1)
    ((2, 2), 1.9)
    """

    name = "points"
    key = "points-1"
    kind: Kind = "vector"
    sample_rate: int | None = None
    classes = NAMES

    def count(self, label: str) -> int:
        """Return the number of points of a class."""
        self._number(label)
        return COUNT

    def centre(self, label: str) -> NDArray[np.float64]:
        """Return the centre of a cloud, float64 (2,)."""
        ring = len(NAMES) - 1
        number = self._number(label)
        if number == ring:
            return np.zeros(2)
        # Every fourth position on the ring, so that the first few classes are not all neighbours.
        place = 4 * number
        radius = APART / (2 * sin_of_turns(1, 2 * ring))
        return radius * np.array([cos_of_turns(place, ring), sin_of_turns(place, ring)])

    def media(self, label: str, indices: Sequence[int]) -> NDArray[np.float32]:
        """Return points of a class, float32 (n, 2)."""
        noise = np.random.default_rng(self._number(label)).standard_normal((COUNT, 2))
        return (self.centre(label) + noise[np.asarray(indices, np.int64)]).astype(np.float32)

    def _number(self, label: str) -> int:
        if label not in NAMES:
            raise DataError(f"no class {label!r} in points; it has {', '.join(NAMES)}")
        return NAMES.index(label)
