"""Streams of tables: columns encoded as features with what the initial rows tell, in blocks of rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.datasets.tables import LEFT_OUT, MOST_CATEGORIES, Column, open_table
from tmlcd_core.datasets.tables.table import CHUNK
from tmlcd_core.errors import DataError
from tmlcd_core.optional_packages import require
from tmlcd_core.progress import Progress, silent
from tmlcd_core.streams.recordings import INITIAL, Block, Recording
from tmlcd_core.validation import one_of

if TYPE_CHECKING:
    import pandas as pd

SCALES = ("z-score", "min-max", "none")
OTHER = "other"  # feature of all categories that the initial rows do not have


class LeftOutWarning(UserWarning):
    """Warning: a column or rows of a table are left out."""


@dataclass(frozen=True)
class Encoder:
    """Encoding of rows as feature vectors, fitted on the initial rows only.

    Numbers are scaled by mean and standard deviation (z-score) or by the smallest and largest value (min-max) of the
    initial rows; a column that is constant there is only centred. A missing number becomes the initial mean. A category
    becomes one feature (0 or 1) for each of the MOST_CATEGORIES most frequent initial values and one for all others. A
    missing category becomes the most frequent initial one.
    """

    numbers: tuple[str, ...]
    mean: NDArray[np.float64]  # (numbers,)
    centre: NDArray[np.float64]
    width: NDArray[np.float64]
    categories: tuple[tuple[str, tuple[str, ...]], ...]  # column and its values, the most frequent first

    @classmethod
    def fit(cls, rows: pd.DataFrame, columns: Sequence[Column], scale: str = SCALES[0]) -> Encoder:
        """Return the encoder of the initial rows, a DataFrame of `Table.chunks`."""
        one_of("scale", scale, SCALES)
        numbers = tuple(one.name for one in columns if one.kind == "number")
        values = rows[list(numbers)].to_numpy(np.float64)
        known = ~np.isnan(values)
        count = np.maximum(known.sum(axis=0), 1)
        with np.errstate(over="ignore"):
            mean = np.where(known, values, 0.0).sum(axis=0) / count
        centre, width = np.zeros(len(numbers)), np.ones(len(numbers))
        if scale == "z-score":
            centre = mean
            with np.errstate(over="ignore"):
                width = np.sqrt((np.where(known, values - mean, 0.0) ** 2).sum(axis=0) / count)
        elif scale == "min-max":
            filled = np.where(known, values, mean)
            centre = filled.min(axis=0, initial=np.inf)
            with np.errstate(over="ignore"):
                width = filled.max(axis=0, initial=-np.inf) - centre
        width = np.where(width > 0, width, 1.0)
        _refuse_too_large(numbers, values, np.asarray(np.isfinite(mean + width)))
        categories = []
        for one in columns:
            if one.kind == "category":
                counts = rows[one.name].dropna().value_counts()
                frequent = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MOST_CATEGORIES]
                categories.append((one.name, tuple(str(value) for value, _ in frequent)))
        return cls(numbers, mean, centre, width, tuple(categories))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        ones = [f"{name}={value}" for name, values in self.categories for value in (*values, OTHER)]
        return (*self.numbers, *ones)

    def transform(self, rows: pd.DataFrame) -> NDArray[np.float32]:
        """Return the features of rows, float32 (n, d)."""
        require("pandas")
        import pandas as pd

        X = np.zeros((len(rows), len(self.names)), np.float32)
        values = rows[list(self.numbers)].to_numpy(np.float64)
        with np.errstate(over="ignore"):
            X[:, : len(self.numbers)] = (np.where(np.isnan(values), self.mean, values) - self.centre) / self.width
        _refuse_too_large(self.numbers, values, np.asarray(np.isfinite(X[:, : len(self.numbers)]).all(axis=0)))
        start = len(self.numbers)
        for name, known in self.categories:
            codes = pd.Index(known).get_indexer(rows[name].fillna(known[0] if known else OTHER))
            codes = np.where(codes < 0, len(known), codes)
            X[np.arange(len(rows)), start + codes] = 1
            start += len(known) + 1
        return X


def _refuse_too_large(names: Sequence[str], values: NDArray[np.float64], fits: NDArray[np.bool_]) -> None:
    """Raise a `DataError` about the first column whose values (n, columns) do not fit features of 32 bits."""
    if not fits.all():
        place = int(np.argmin(fits))
        largest = values[np.nanargmax(np.abs(values[:, place])), place]
        raise DataError(
            f"the column {names[place]!r} has the number {largest:g}, too large for a feature: correct it, or leave it "
            "empty if it is missing"
        )


class TableRecording(Recording):
    """Recorded stream of a table, encoded by an `Encoder` of its initial rows.

    Parameters
    ----------
    source : path, frame or Table
        As in `open_table`.
    label : str
        Column of the labels; rows without a label are left out.
    initial, samples : int
        As in `Recording`.
    scale : str
        "z-score", "min-max" or "none".
    progress : Progress
        Called while the labels are counted.

    Examples
    --------
    >>> import pandas as pd
    >>> colours = ["red", "blue", None, "green"]
    >>> frame = pd.DataFrame({"size": [1.0, 3.0, None, 5.0], "colour": colours, "y": [0, 1, 1, 0]})
    >>> recording = TableRecording(frame, "y", initial=2)
    >>> _, (X, y) = recording.blocks()
    >>> recording.encoder.names
    ('size', 'colour=blue', 'colour=red', 'colour=other')
    >>> X.tolist(), y.tolist()
    ([[0.0, 1.0, 0.0, 0.0], [3.0, 0.0, 0.0, 1.0]], ['1', '0'])
    """

    def __init__(
        self,
        source: Any,
        label: str,
        initial: int = INITIAL,
        samples: int = 0,
        scale: str = SCALES[0],
        progress: Progress = silent,
    ) -> None:
        one_of("scale", scale, SCALES)
        self.table = open_table(source)
        self.label, self.scale = label, scale
        counts = self.table.count_labels(label, progress)
        self.unlabelled = counts.unlabelled
        name = str(source) if isinstance(source, str | Path) else self.table.name
        super().__init__(name, f"{self.table.key} {label} {scale}", counts.classes, initial, samples)
        self.encoder: Encoder | None = None  # after the first block
        for note in self.notes:
            warnings.warn(note, LeftOutWarning, stacklevel=2)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about what is left out."""
        left = [(one, LEFT_OUT[one.kind]) for one in self.table.columns if one.kind in LEFT_OUT]
        found = [f"The column “{one.name}” is left out: {reason}." for one, reason in left if one.name != self.label]
        if self.unlabelled:
            found.append(f"{self.unlabelled:,} rows without a label are left out.")
        return tuple(found)

    def blocks(self, progress: Progress = silent) -> Iterator[Block]:
        """Yield features and labels in the order of time: the initial rows, then blocks of at most CHUNK rows."""
        import pandas as pd

        columns = self.table.features(self.label)
        chunks = self.table.chunks([one.name for one in columns], self.label)
        first = next(chunks)
        while len(first) < self.initial:
            first = pd.concat([first, next(chunks)], ignore_index=True)
        encoder = self.encoder = Encoder.fit(first.iloc[: self.initial], columns, self.scale)

        def encoded(rows: pd.DataFrame) -> Block:
            return encoder.transform(rows), rows[self.label].to_numpy().astype(str)

        yield encoded(first.iloc[: self.initial])
        done, rows = self.initial, first.iloc[self.initial :]
        while True:
            rows = rows.iloc[: self.total - done]
            for start in range(0, len(rows), CHUNK):
                yield encoded(rows.iloc[start : start + CHUNK])
            done += len(rows)
            progress(done, self.total, "samples")
            if done >= self.total or (after := next(chunks, None)) is None:
                return
            rows = after
