"""Error streams for the detector benchmark: validation, and simulated errors with and without a change."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tmlcd_core.draws import ERRORS, Draws
from tmlcd_core.errors import ConfigError, DataError
from tmlcd_core.validation import real_number, refuse_masked, shown, whole_number

SAMPLES = 2000  # of a simulated stream
BLOCK = 500  # streams drawn at a time: bounds the memory of the random numbers
MOST_ERRORS = 2**30  # streams times samples: 1 GB


@dataclass(frozen=True, eq=False)
class ErrorStreams:
    """Errors of a classifier in many streams of equal length.

    Parameters
    ----------
    name : str
        Name in tables.
    errors : array-like (streams, samples)
        1 for a wrong prediction, 0 for a correct one; stored as uint8.
    change : int or None
        Index of the first sample of the new concept; None if nothing changes.
    width : int
        Samples from the first to the last effect of the change; 0 if it is abrupt.
    drop : float or None
        Fall of the accuracy; None to measure it: error rate after the change minus that before.

    Examples
    --------
    >>> streams = ErrorStreams("mine", [[0, 0, 0, 1, 1, 0], [0, 1, 0, 1, 1, 1]], change=3)
    >>> len(streams), streams.samples, round(streams.drop, 2)
    (2, 6, 0.67)
    """

    name: str
    errors: Any = field(repr=False)
    change: int | None = None
    width: int = 0
    drop: float | None = None

    def __post_init__(self) -> None:
        errors = as_errors(self.errors, self.name)
        object.__setattr__(self, "errors", errors)
        if self.change is None:
            return
        change = whole_number("change", self.change, 1, errors.shape[1] - 1)
        width = whole_number("width", self.width, 0, errors.shape[1] - 1 - change)
        if self.drop is None:
            drop = float(errors[:, change + width :].mean() - errors[:, :change].mean())
            object.__setattr__(self, "drop", drop)

    def __len__(self) -> int:
        return len(self.errors)

    @property
    def samples(self) -> int:
        """Number of samples of each stream."""
        return self.errors.shape[1]


def as_errors(errors: ArrayLike, name: str = "errors") -> NDArray[np.uint8]:
    """Check errors (streams, samples) and return them as a uint8 array of 0 and 1; one stream may have shape (n,)."""
    refuse_masked(name, errors)
    try:
        array = np.asarray(errors)
    except ValueError as error:
        raise DataError(f"{name}: the streams differ in length; cut them to the same number of samples") from error
    array = array[None] if array.ndim == 1 else array
    if array.ndim != 2 or not array.size:
        raise DataError(f"{name} has the shape {array.shape}: pass at least one stream of errors, (streams, samples)")
    try:
        binary = (array == 0) | (array == 1)
        kind_fits = array.dtype.kind in "biuf" or bool(np.all(binary))
    except (TypeError, ValueError):
        kind_fits = False
    if not kind_fits:
        raise DataError(
            f"{name} holds values of type {array.dtype}: pass 1 for a wrong prediction, 0 for a correct one"
        )
    if not binary.all():
        bad = array[~binary][0]
        raise DataError(f"{name} holds {shown(bad.item())}: pass 1 for a wrong prediction, 0 for a correct one")
    return np.ascontiguousarray(array, np.uint8)


def bernoulli(
    accuracy: float,
    drop: float = 0.0,
    streams: int = 1000,
    samples: int = SAMPLES,
    width: int = 0,
    seed: int = 0,
) -> ErrorStreams:
    """Simulate independent errors of a classifier whose accuracy drops half-way.

    Parameters
    ----------
    accuracy : float
        Accuracy before the change, 0..1.
    drop : float
        Fall of the accuracy at sample `samples // 2`; 0 for stationary streams. Negative for a rise.
    streams, samples : int
        Number of streams, and length of each.
    width : int
        Samples over which the accuracy falls linearly; 0 for an abrupt change.
    seed : int
        Seed of the SplitMix64 generator: the same errors on every machine.

    Returns
    -------
    ErrorStreams

    Examples
    --------
    >>> bernoulli(0.8, drop=0.3, streams=200).errors[:, 1000:].mean().round(2)
    np.float64(0.5)
    """
    accuracy = real_number("accuracy", accuracy, 0.0, 1.0)
    drop = real_number("drop", drop, -1.0, 1.0)
    if not 0 <= round(accuracy - drop, 12) <= 1:
        raise ConfigError(f"drop={drop:g} is larger than the accuracy {accuracy:g} allows: use at most {accuracy:g}")
    streams, samples = whole_number("streams", streams, 1), whole_number("samples", samples, 2)
    if streams * samples > MOST_ERRORS:
        raise ConfigError(
            f"{streams:,} streams of {samples:,} samples need too much memory: use at most {MOST_ERRORS // samples:,}"
        )
    width = whole_number("width", width, 0, samples - samples // 2 - 1)
    fallen = np.clip((np.arange(samples) - samples // 2 + 1) / (width + 1), 0, 1)
    rate = 1 - accuracy + drop * fallen
    draws = Draws(seed, ERRORS)
    errors = np.empty((streams, samples), np.uint8)
    for begin in range(0, streams, BLOCK):
        block = errors[begin : begin + BLOCK]
        block[:] = draws.uniform(block.size).reshape(block.shape) < rate
    if not drop:
        return ErrorStreams(f"accuracy {accuracy:g}", errors)
    kind = f"over {width} samples" if width else "abrupt"
    return ErrorStreams(f"drop of {drop:g}, {kind}", errors, samples // 2, width, drop)
