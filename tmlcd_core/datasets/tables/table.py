"""Base class of tables in the order of time, read in chunks of rows.

The kind of each column comes from its first rows; a later value of another kind is an error that names row and column.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tmlcd_core.datasets.folder import some
from tmlcd_core.datasets.tables.column_kinds import MOST_CATEGORIES, Column, ColumnKind, as_texts, is_text, kind_of
from tmlcd_core.errors import DataError
from tmlcd_core.optional_packages import require
from tmlcd_core.progress import Progress, silent
from tmlcd_core.validation import shown

if TYPE_CHECKING:
    import pandas as pd

CHUNK = 4096  # rows read at a time
TYPE_ROWS = 5000  # first rows, from which the kinds of the columns are found
MOST_CLASSES = 1000  # different labels
MOST_COLUMNS = 10_000
LABEL_NAMES = ("label", "class", "target", "y")


@dataclass(frozen=True)
class LabelCounts:
    """Number of rows of each class, in the order of the sorted classes, and number of rows without a label."""

    classes: dict[str, int]
    unlabelled: int = 0

    @property
    def rows(self) -> int:
        """Number of rows with a label."""
        return sum(self.classes.values())


class Table:
    """Table in the order of time: base class of all formats.

    A subclass implements `_names` (column names), `_raw` (chunks of rows as pandas frames) and `key`.

    Attributes
    ----------
    name : str
        Name for messages.
    """

    name: str = "the table"

    def _names(self) -> Sequence[str]:
        raise NotImplementedError

    def _raw(self, names: Sequence[str], kinds: Mapping[str, ColumnKind], size: int) -> Iterator[pd.DataFrame]:
        """Yield at most `size` rows at a time with these columns; `kinds` of known columns may be used as types."""
        raise NotImplementedError

    @property
    def key(self) -> str:
        """Digest that changes with the content; "" for data in memory."""
        return ""

    @cached_property
    def head(self) -> pd.DataFrame:
        """First rows, at most TYPE_ROWS, with all columns."""
        names = self._names()
        repeated = [name for name, n in Counter(names).items() if n > 1]
        if repeated:
            raise DataError(f"{self.name} has the column {repeated[0]!r} twice: give every column a name of its own")
        if len(names) > MOST_COLUMNS:
            raise DataError(f"{self.name} has {len(names)} columns: use at most {MOST_COLUMNS}")
        found = next(self._raw(names, {}, TYPE_ROWS), None)
        if found is None or not len(found):
            raise DataError(f"{self.name} has no rows: add rows below the column names")
        return found

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Columns with their kinds."""
        return tuple(Column(name, kind_of(self.head[name], name, self.name)) for name in self.head.columns)

    def chunks(self, names: Sequence[str], label: str, size: int = CHUNK) -> Iterator[pd.DataFrame]:
        """Yield frames of at most `size` labelled rows: numbers as float64, categories and the label as text.

        Missing values are NaN; rows without a label are left out.
        """
        require("pandas")
        import pandas as pd

        kinds = {one.name: one.kind for one in self.columns if one.name in names}
        kinds[label] = "category"
        done = 0
        for frame in self._raw([*(name for name in names if name != label), label], kinds, size):
            found = {name: self._typed(frame[name], kinds[name], done) for name in kinds}
            done += len(frame)
            typed = pd.DataFrame(found)
            if len(typed := typed[typed[label].notna()]):
                yield typed

    def _typed(self, column: pd.Series, kind: ColumnKind, done: int) -> Any:
        """The column as float64 numbers or as texts; an error names the row of a value that does not fit."""
        import pandas as pd

        if kind != "number":
            return as_texts(column)
        numbers = pd.to_numeric(as_texts(column), errors="coerce") if is_text(column) else column
        values = np.asarray(numbers.to_numpy(dtype=np.float64, na_value=np.nan))
        wrong = np.isinf(values)
        if is_text(column):
            wrong |= np.isnan(values) & as_texts(column).notna().to_numpy()
        if wrong.any():
            place = int(wrong.argmax())
            value = column.iloc[place]
            raise self._misfit(str(column.name), getattr(value, "tolist", lambda: value)(), done + place + 1)
        return values

    def _misfit(self, name: str, value: Any, row: int) -> DataError:
        return DataError(
            f"{self.name} has {shown(value)} in the column {name!r}, row {row}, which holds numbers: "
            "correct it, or leave it empty if it is missing"
        )

    def count_labels(self, label: str, progress: Progress = silent) -> LabelCounts:
        """Return the number of rows of each class; check that `label` is a column of classes.

        Raises a `DataError` if the column does not exist, has one value only or more than MOST_CLASSES values.
        """
        self.check_label(label)
        counts: Counter[str] = Counter()
        unlabelled = 0
        for texts in self._labels(label, progress):
            counts.update(texts)
            unlabelled += counts.pop("", 0)
            if len(counts) > MOST_CLASSES:
                raise DataError(
                    f"the label column {label!r} of {self.name} has more than {MOST_CLASSES:,} different values, such "
                    f"as {some(list(counts)[:3])}: choose a column of classes"
                )
        found = LabelCounts(dict(sorted(counts.items())), unlabelled)
        if len(counts) < 2:
            raise DataError(
                f"the label column {label!r} of {self.name} has {len(counts)} class{'es' * (not counts)}: "
                "choose a column with at least 2 different values"
            )
        if len(counts) == found.rows > 2:
            raise DataError(
                f"the label column {label!r} of {self.name} has another value in each of its {found.rows} rows: "
                "choose a column of classes"
            )
        return found

    def check_label(self, label: str) -> None:
        """Raise a `DataError` if there is no column `label`, or no other column that can be a feature."""
        names = [one.name for one in self.columns]
        if label not in names:
            raise DataError(f"{self.name} has no column {label!r} for the labels: choose one of {some(names)}")
        if not self.features(label):
            raise DataError(f"{self.name} has no column of numbers or categories besides {label!r}: add one")

    def features(self, label: str) -> tuple[Column, ...]:
        """Return the columns of numbers and categories without the label."""
        return tuple(one for one in self.columns if one.kind in ("number", "category") and one.name != label)

    def likely_label(self) -> str:
        """Return the column that is probably the label: by its name, else the last column with few values."""
        names = [one.name for one in self.columns]
        for name in names:
            if name.strip().lower() in LABEL_NAMES:
                return name
        few = [name for name in names if 2 <= self.head[name].nunique() <= MOST_CATEGORIES]
        return few[-1] if few else names[-1]

    def _labels(self, label: str, progress: Progress) -> Iterator[list[str]]:
        """Yield the labels of the rows as lists of text, "" where one is missing."""
        for frame in self._raw([label], {label: "category"}, CHUNK):
            yield as_texts(frame[label]).fillna("").tolist()


def file_key(path: Path) -> str:
    """Return a digest of a file's path, size and date."""
    status = path.stat()
    text = f"{path.resolve()}\0{status.st_size}\0{status.st_mtime_ns}"
    return blake2b(os.fsencode(text), digest_size=12).hexdigest()
