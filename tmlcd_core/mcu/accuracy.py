"""Accuracy of firmware configurations, measured by `benchmarks/bench_mcu.py` on class changes of speech."""

from __future__ import annotations

import csv
from dataclasses import astuple, dataclass, fields
from functools import lru_cache
from importlib import resources

from tmlcd_core.mcu.budget import FirmwareConfiguration

RECORDED = "accuracy.csv"
WINDOWS = {22_050: 512, 4_410: 128}  # n_fft = hop of the measured rates, as in the paper


@dataclass(frozen=True)
class Accuracy:
    """Prequential accuracy of the Hybrid learner, before, during and after a class change, mean over streams.

    `lost` is the difference to |T| = 200 in float32 at 22,050 Hz on the same streams; `error` is its standard error.
    """

    sample_rate: int
    store: str
    samples: int
    streams: int
    accuracy: float
    lost: float
    error: float


@lru_cache(maxsize=1)
def recorded() -> tuple[Accuracy, ...]:
    """Return all measured configurations."""
    with resources.files(__package__).joinpath(RECORDED).open(encoding="utf-8") as file:
        return tuple(_row(line) for line in csv.DictReader(file))


def _row(line: dict[str, str]) -> Accuracy:
    read = {"int": int, "str": str, "float": float}
    return Accuracy(*(read[str(f.type)](line[f.name]) for f in fields(Accuracy)))


def accuracy_of(configuration: FirmwareConfiguration) -> Accuracy | None:
    """Return the measurement with the nearest |T|; None if no similar configuration was measured.

    The layout is ignored: 16-bit audio and spectrogram (layouts `compact` and `streamed`) change the accuracy by less
    than the error of these measurements.

    Examples
    --------
    >>> accuracy_of(FirmwareConfiguration(layout="streamed", store="uint8")).samples
    50
    >>> accuracy_of(FirmwareConfiguration(n_fft=256)) is None
    True
    """
    c = configuration
    window = WINDOWS.get(c.sample_rate)
    if c.vector is not None or c.filters != 1 or c.learner != "hybrid" or (c.n_fft, c.hop) != (window, window):
        return None
    alike = [a for a in recorded() if (a.sample_rate, a.store) == (c.sample_rate, c.store)]
    return min(alike, key=lambda a: abs(a.samples - c.samples), default=None)


def as_csv(rows: list[Accuracy]) -> str:
    """Return the text of the CSV file that `recorded` reads."""
    lines = [",".join(f.name for f in fields(Accuracy))]
    for row in rows:
        lines.append(",".join(f"{v:.5f}" if isinstance(v, float) else str(v) for v in astuple(row)))
    return "\n".join(lines) + "\n"
