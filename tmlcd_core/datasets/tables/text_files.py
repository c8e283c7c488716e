"""Tables of text files: CSV, TSV and ARFF."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from tmlcd_core.datasets.folder import printable
from tmlcd_core.datasets.tables.column_kinds import MISSING, Column, ColumnKind, identifies_rows
from tmlcd_core.datasets.tables.table import CHUNK, TYPE_ROWS, Table, file_key
from tmlcd_core.errors import DataError
from tmlcd_core.optional_packages import require
from tmlcd_core.progress import Progress
from tmlcd_core.validation import shown

if TYPE_CHECKING:
    import pandas as pd

DELIMITERS = ",;\t|"
DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+([eE][-+]?\d+)?")
DECIMAL_POINT = re.compile(r"[-+]?\d*\.\d+([eE][-+]?\d+)?")
THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}")  # 1,500 may be 1.5 or 1500
LONGEST_LINE = 16 * 2**20  # characters; a file with a longer line is not a table


class DelimitedTable(Table):
    """CSV or TSV file in UTF-8 with column names in its first line, from which the delimiter is found.

    Numbers may have a decimal comma if the delimiter is not a comma.
    """

    quote = '"'

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = printable(path.name)
        with self._opened() as file:
            self._read_header(file)

    def _read_header(self, file: TextIO) -> None:
        """Read the column names: set `_fields` and `_delimiter`."""
        lines = self._lines(file)
        first = next(lines, "")
        self._delimiter = "\t" if self.path.suffix.lower() == ".tsv" else max(DELIMITERS, key=first.count)
        self._fields = [field.strip() for field in next(self._split(chain([first], lines)), [])]
        if len(self._fields) < 2:
            raise DataError(f"{self.name} has fewer than 2 columns: separate the columns by commas, the names first")

    @property
    def key(self) -> str:
        """Digest of the file's path, size and date."""
        return file_key(self.path)

    def _names(self) -> Sequence[str]:
        return self._fields

    @contextmanager
    def _opened(self) -> Iterator[TextIO]:
        try:
            with open(self.path, encoding="utf-8-sig", newline="") as file:
                yield file
        except UnicodeDecodeError as error:
            raise DataError(
                f"{self.name} is not UTF-8 text (byte 0x{error.object[error.start]:02x}): save it as UTF-8"
            ) from error
        except OSError as error:
            raise DataError(f"{self.name} cannot be read: {error.strerror or error}") from error

    def _lines(self, file: TextIO) -> Iterator[str]:
        """Lines from the position of the file on; one that is too long or holds a zero byte is an error."""
        while line := file.readline(LONGEST_LINE):
            if len(line) >= LONGEST_LINE and not line.endswith("\n"):
                raise DataError(
                    f"{self.name} has a line of more than {LONGEST_LINE:,} characters: it is not a text table"
                )
            if "\0" in line:
                raise DataError(f"{self.name} has zero bytes: it is not text, or it is UTF-16; save it as UTF-8")
            yield line

    def _split(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """Fields of each line that is not empty; a quoted field may span lines."""
        try:
            found = csv.reader(lines, delimiter=self._delimiter, quotechar=self.quote, skipinitialspace=True)
            yield from (row for row in found if row)
        except csv.Error as error:
            raise DataError(f"{self.name} cannot be read as a table ({error}): check its quotes") from error

    def _skip_header(self, file: TextIO) -> None:
        next(self._split(self._lines(file)), None)

    def _rows(self, file: TextIO) -> Iterator[list[str]]:
        """Fields of each row below the header; a row with too few or too many is an error."""
        self._skip_header(file)
        for number, row in enumerate(self._split(self._lines(file)), 1):
            if len(row) != len(self._fields):
                raise DataError(
                    f"{self.name} has {len(row)} fields in row {number}, but {len(self._fields)} columns: "
                    "correct the row"
                )
            yield row

    def _raw(self, names: Sequence[str], kinds: Mapping[str, ColumnKind], size: int) -> Iterator[pd.DataFrame]:
        require("pandas")
        import pandas as pd

        if not kinds:  # the first rows, as text
            with self._opened() as file:
                yield _text_frame([self._with_points(row) for row in islice(self._rows(file), size)], self._fields)
            return
        types = {name: np.float64 if kinds.get(name) == "number" else str for name in names}
        with self._opened() as file:
            self._skip_header(file)
            try:
                reader = pd.read_csv(
                    file, sep=self._delimiter, header=None, names=self._fields, usecols=list(names), dtype=types,
                    na_values=list(MISSING), keep_default_na=True, chunksize=size, index_col=False,
                    quotechar=self.quote, skipinitialspace=True, on_bad_lines="error", decimal=self._decimal,
                )  # fmt: skip
                yield from (frame[list(names)] for frame in reader)
            except ValueError as error:  # pandas does not name row and column
                self._find_misfit([name for name in names if kinds.get(name) == "number"])
                raise DataError(f"{self.name} cannot be read as a table ({error})") from error

    @cached_property
    def _decimal(self) -> str:
        """Decimal mark: a comma if the first rows have numbers like 12,5, none like 12.5, and another delimiter."""
        if self._delimiter == ",":
            return "."
        with self._opened() as file:
            texts = {text.strip() for row in islice(self._rows(file), TYPE_ROWS) for text in row}
        commas = [text for text in texts if DECIMAL_COMMA.fullmatch(text)]
        if all(THOUSANDS.fullmatch(text) for text in commas) or any(DECIMAL_POINT.fullmatch(text) for text in texts):
            return "."
        return ","

    def _with_points(self, row: list[str]) -> list[str]:
        """The row with decimal points in its numbers."""
        if self._decimal == ".":
            return row
        return [text.replace(",", ".") if DECIMAL_COMMA.fullmatch(text.strip()) else text for text in row]

    def _find_misfit(self, numbers: Sequence[str]) -> None:
        """Raise the error of the first value in these columns that is not a number."""
        places = [(self._fields.index(name), name) for name in numbers]
        with self._opened() as file:
            for row, fields in enumerate(self._rows(file), 1):
                for place, name in places:
                    text = fields[place].strip()
                    try:
                        fits = text in MISSING or np.isfinite(float(text.replace(self._decimal, ".")))
                    except ValueError:
                        fits = False
                    if not fits:
                        raise self._misfit(name, text, row)

    def _labels(self, label: str, progress: Progress) -> Iterator[list[str]]:
        """Labels by the csv module, which also counts the fields of each row (pandas fills short rows)."""
        place = self._fields.index(label)
        size = self.path.stat().st_size
        with self._opened() as file:
            rows = self._rows(file)
            while part := [row[place].strip() for row in islice(rows, CHUNK)]:
                progress(min(file.buffer.tell(), size), size, f"bytes of {self.name} checked")
                yield ["" if text in MISSING else text for text in part]


class ArffTable(DelimitedTable):
    """ARFF file (Weka, MOA): nominal, numeric, string and date attributes; `?` is a missing value."""

    quote = "'"
    _attribute = re.compile(r"@attribute\s+('[^']*'|\"[^\"]*\"|\S+)\s+(.+)", re.IGNORECASE)
    _delimiter = ","

    def _read_header(self, file: TextIO) -> None:
        """Read the attributes: set `_fields` and `_kinds`."""
        self._fields, self._kinds = [], {}
        for line in super()._lines(file):
            text = line.strip()
            if _begins_data(text):
                break
            if not text.lower().startswith("@attribute"):
                continue
            if not (match := self._attribute.match(text)):
                raise DataError(f"{self.name} has the line {shown(text)}: write @attribute NAME TYPE")
            name, kind = match[1].strip("'\""), match[2].strip().lower()
            if kind.startswith("relational"):
                raise DataError(f"{self.name} has the relational attribute {name!r}: use one row per sample")
            self._fields.append(name)
            self._kinds[name] = _arff_kind(kind)
        if len(self._fields) < 2:
            raise DataError(f"{self.name} has fewer than 2 attributes: it needs lines @attribute NAME TYPE")

    def _skip_header(self, file: TextIO) -> None:
        any(_begins_data(line) for line in super()._lines(file))  # reads up to that line

    def _lines(self, file: TextIO) -> Iterator[str]:
        """Lines of the data: without comments, and with one kind of quotes."""
        for line in super()._lines(file):
            text = line.strip()
            if text.startswith("{"):
                raise DataError(f"{self.name} is a sparse ARFF file: save it with the values of all attributes")
            if text and not text.startswith("%"):
                yield line.replace('"', "'")

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Columns with the kinds that the header declares; categories that identify a row are identifiers."""
        head = self.head
        return tuple(
            Column(name, kind if not (kind == "category" and identifies_rows(head[name])) else "identifier")
            for name, kind in self._kinds.items()
        )

    def _raw(self, names: Sequence[str], kinds: Mapping[str, ColumnKind], size: int) -> Iterator[pd.DataFrame]:
        with self._opened() as file:
            rows = self._rows(file)
            while part := list(islice(rows, size)):
                yield _text_frame(part, self._fields)[list(names)]


def _begins_data(line: str) -> bool:
    return line.strip().lower().startswith("@data")


def _arff_kind(kind: str) -> ColumnKind:
    if kind.startswith(("numeric", "real", "integer")):
        return "number"
    return "date" if kind.startswith("date") else "category"


def _text_frame(rows: list[list[str]], names: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    columns: Any = list(zip(*rows, strict=True)) or [()] * len(names)
    return pd.DataFrame(
        {
            name: pd.Series([None if text.strip() in MISSING else text.strip() for text in column], dtype=object)
            for name, column in zip(names, columns, strict=True)
        }
    )
