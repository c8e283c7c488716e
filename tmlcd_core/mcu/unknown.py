"""Answer "unknown" of the C code: a sample that is further than a limit from every sample of T."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.learners import Tandem

MOST = {"uint8": 2**32 - 1, "int16": 2**53}  # squared distances that 32 bits, and a double, hold exactly


def farthest_squared(limit: float, store: str, scale: float) -> float | None:
    """Return the squared distance beyond which a sample is unknown, in steps of T; None without a limit.

    Parameters
    ----------
    limit : float
        Largest Euclidean distance between features to the nearest sample of T; infinite for no limit.
    store : str
        Data type of T. Distances between integers are compared exactly: the square is rounded down.
    scale : float
        Steps of T per unit of a feature, as `Firmware.scale`.

    Examples
    --------
    >>> farthest_squared(0.9, "uint8", 100.0), farthest_squared(0.5, "float32", 1.0)
    (8100.0, 0.25)
    """
    if math.isinf(limit):
        return None
    if store == "float32":
        return limit**2
    return float(min(math.floor((limit * scale) ** 2), MOST[store]))


def is_unknown(
    model: Any, x: NDArray[np.float32], farthest: float | None, named: NDArray[np.float32] | None = None
) -> bool:
    """Return True if x (d,) is further from every sample of T, and of `named`, than the limit: the C code's arithmetic.

    Parameters
    ----------
    model : estimator
        Python twin of the board: its T holds the stored values.
    x : array (d,)
        Sample as the board stores it; of Tandem, its features.
    farthest : float or None
        Result of `farthest_squared`.
    named : array (n, d) or None
        Other samples of known class, as the board stores them.
    """
    if farthest is None:
        return False
    if isinstance(model, Tandem):
        T, query = model.stored_.astype(np.float64), model.as_stored(x[None])[0].astype(np.float64)
    else:
        rows = model.samples_ if named is None else np.concatenate([model.samples_, named])
        T, query = rows.astype(np.float64), np.asarray(x, np.float64)
    squared = np.cumsum(np.square(T - query), axis=1)[:, -1]  # in the order of the C code, not pairwise
    return bool(squared.min(initial=np.inf) > farthest)
