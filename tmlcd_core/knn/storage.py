"""Storage of features in T: float32, or 16- or 8-bit integers with the arithmetic of the exported C code."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.errors import ConfigError
from tmlcd_core.validation import whole_number

STORAGE_BYTES = {"float32": 4, "int16": 2, "uint8": 1}  # bytes of one stored feature
VALUE_RANGE = {"int16": (-32_767, 32_767), "uint8": (0, 255)}
# Later samples may lie outside the range of the first: the representable range is this factor times larger.
HEADROOM = {"int16": 2.0, "uint8": 1.25}
LABEL_BYTES = {"float32": 4, "int16": 1, "uint8": 1}  # 32 bits in the paper (Table 2), 8 bits in the C code
TIME_BYTES = 4
FEWEST_SAMPLES = 5  # an alarm that would leave fewer is recorded but does not change T (authors' experiments)


def sample_bytes(n_features: int, storage: str = "float32") -> int:
    """Return the bytes of one stored sample on the device: features, label and time.

    They are 4d + 4 + 4 for "float32" (the paper's Table 2), 2d + 1 + 4 for "int16" and d + 1 + 4 for "uint8".

    >>> sample_bytes(153), sample_bytes(153, "uint8")
    (620, 158)
    """
    return n_features * STORAGE_BYTES[storage] + LABEL_BYTES[storage] + TIME_BYTES


def samples_in(max_bytes: int, each: int, queues: int = 1, fewest: int = FEWEST_SAMPLES) -> int:
    """Return the number of samples of `each` bytes that fit in `max_bytes`, shared equally by `queues` queues.

    A ConfigError names the bytes that `fewest` samples per queue need if fewer fit.

    >>> samples_in(31_000, sample_bytes(153)), samples_in(31_000, sample_bytes(153), queues=2)
    (50, 25)
    """
    fitting = whole_number("max_bytes", max_bytes, 1) // (each * queues)
    if fitting < fewest:
        needed = fewest * each * queues
        where = " in T and as many in W" if queues > 1 else ""
        raise ConfigError(
            f"max_bytes={max_bytes} holds {fitting} samples of {each:,} bytes{where}, "
            f"fewer than {fewest}: give at least {needed:,} bytes, or use fewer features",
            remedy={"max_bytes": needed},
        )
    return fitting


def grid_of(rows: NDArray[np.float32], storage: str, nonnegative: bool = False) -> tuple[float, float]:
    """Return offset and scale of the stored integers, both exact in float32, from the range of `rows` (n, d).

    One range holds for all features. `nonnegative` starts it at 0, for features after a ReLU. Float32 is (0, 1).
    """
    if storage == "float32":
        return 0.0, 1.0
    lowest, highest = VALUE_RANGE[storage]
    low, high = float(rows.min()), float(rows.max())
    room = (HEADROOM[storage] - 1) * (high - low or 1.0)
    low, high = (0.0, high + room) if nonnegative else (low - room / 2, high + room / 2)
    scale = (highest - lowest) / (high - low or 1.0)
    with np.errstate(over="ignore"):
        grid = float(np.float32(low - lowest / scale)), float(np.float32(scale))
    if not np.isfinite(grid).all():
        raise ConfigError(
            f"features from {rows.min():g} to {rows.max():g} cannot be scaled to {storage}: use storage='float32'"
        )
    return grid


def quantise(X: NDArray[np.float32], storage: str, offset: float, scale: float) -> NDArray[np.float32]:
    """Return round((X - offset) * scale) of X (n, d), within the range of the type, with the C code's arithmetic."""
    X = np.asarray(X, np.float32)
    if storage == "float32":
        return X
    lowest, highest = VALUE_RANGE[storage]
    with np.errstate(over="ignore"):  # infinity is clipped too
        values = np.clip((X - np.float32(offset)) * np.float32(scale), np.float32(lowest), np.float32(highest))
    return np.trunc(values + np.where(values < 0, np.float32(-0.5), np.float32(0.5)))
