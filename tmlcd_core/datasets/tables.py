"""Tables in the order of time: CSV, TSV, ARFF, Parquet and NPZ files, pandas and polars frames, Arrow tables.

A table is read in chunks of rows, so that its size is limited by the disk only. The kind of each column (number,
category, …) comes from its first rows; a later value of another kind is an error that names row and column.
"""

from __future__ import annotations

import csv
import datetime
import os
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TextIO

import numpy as np

from tmlcd_core.datasets.folder import printable, some
from tmlcd_core.errors import DataError
from tmlcd_core.optional_packages import require
from tmlcd_core.progress import Progress, silent
from tmlcd_core.validation import shown

if TYPE_CHECKING:
    import pandas as pd

CHUNK = 4096  # rows read at a time
TYPE_ROWS = 5000  # first rows, from which the kinds of the columns are found
MOST_CLASSES = 1000  # different labels
MOST_CATEGORIES = 50  # of one column that have a feature each; the others share one
MOST_COLUMNS = 10_000
IDENTIFIER_ROWS = 20  # a text column with at least so many values, all different, is an identifier
LONGEST_LINE = 16 * 2**20  # characters; a file with a longer line is no table
MISSING = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "-nan", "null", "NULL", "None", "<NA>")  # texts of missing values
DELIMITERS = ",;\t|"
DATE = re.compile(r"\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})([ T]\d{1,2}:\d{2}.*)?\s*")
LABEL_NAMES = ("label", "class", "target", "y")
# Library and class of objects that are not tables yet -> what makes a table of them.
TO_FRAME = {
    ("polars", "LazyFrame"): "call .collect()",
    ("polars", "Series"): "call .to_frame() and add the other columns",
    ("pandas", "Series"): "call .to_frame() and add the other columns",
    ("dask", "DataFrame"): "call .compute()",
    ("pyspark", "DataFrame"): "call .toPandas()",
    ("duckdb", "DuckDBPyRelation"): "call .df()",
    ("pyarrow", "RecordBatch"): "give pyarrow.Table.from_batches([…])",
    ("pyarrow", "RecordBatchReader"): "call .read_all()",
    ("pyarrow", "Scanner"): "call .to_table()",
    ("pyarrow", "ParquetFile"): "give the path of the file",
    ("numpy", "ndarray"): "give a pandas frame, or (X, y) to prequential",
    ("builtins", "dict"): "give pandas.DataFrame(…) of it",
    ("builtins", "list"): "give pandas.DataFrame(…) of it",
}

ColumnKind = Literal["number", "category", "date", "identifier", "empty", "unsupported"]
LEFT_OUT: dict[ColumnKind, str] = {
    "date": "a date; the order of the rows is the time",
    "identifier": "a text that differs in every row",
    "empty": "empty in the first rows",
    "unsupported": "neither a number nor a text",
}


class Column(NamedTuple):
    """Column of a table. Numbers and categories become features; other kinds are left out (`LEFT_OUT`)."""

    name: str
    kind: ColumnKind


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
        return tuple(Column(name, _kind(self.head[name], name, self.name)) for name in self.head.columns)

    def chunks(self, names: Sequence[str], label: str, size: int = CHUNK) -> Iterator[pd.DataFrame]:
        """Yield frames of at most `size` labelled rows: numbers as float64, categories and the label as text.

        Missing values are NaN; rows without a label are left out.
        """
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
            return _texts(column)
        numbers = pd.to_numeric(_texts(column), errors="coerce") if _is_text(column) else column
        values = np.asarray(numbers.to_numpy(dtype=np.float64, na_value=np.nan))
        wrong = np.isinf(values)
        if _is_text(column):
            wrong |= np.isnan(values) & _texts(column).notna().to_numpy()
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
            yield _texts(frame[label]).fillna("").tolist()


def open_table(source: Any) -> Table:
    """Return the `Table` of a file (CSV, TSV, ARFF, Parquet or NPZ, by its path) or of an object.

    Objects are pandas and polars frames and pyarrow Tables and Datasets. A Dataset, such as a folder of Parquet files,
    is read in pieces.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"size": [1.5, 2.5, None], "colour": ["red", "blue", "red"], "y": [0, 1, 1]})
    >>> table = open_table(frame)
    >>> [tuple(column) for column in table.columns], table.count_labels("y").classes
    ([('size', 'number'), ('colour', 'category'), ('y', 'number')], {'0': 1, '1': 2})
    """
    if isinstance(source, Table):
        return source
    require("pandas")
    if is_frame(source):
        return ArrowTable(source) if _is_of(source, "pyarrow", "Table", "Dataset") else FrameTable(source)
    if not isinstance(source, str | os.PathLike):
        raise DataError(no_table(source))
    path = Path(os.path.expanduser(source))
    kind = TABLES.get(path.suffix.lower())
    if kind is None:
        raise DataError(f"{printable(str(source))!r} is no table: give a file that ends in {some(list(TABLES))}")
    try:
        if not path.is_file():
            raise DataError(f"there is no file {printable(str(source))!r}: check the path")
        if not path.stat().st_size:
            raise DataError(f"{printable(path.name)} is empty: give a file with column names and rows")
        return kind(path)
    except OSError as error:
        raise DataError(f"{printable(str(source))!r} cannot be read: {error.strerror or error}") from error


def is_table(path: str | Path) -> bool:
    """Return True if the path ends like a table file."""
    return Path(str(path)).suffix.lower() in TABLES


def is_frame(source: Any) -> bool:
    """Return True for a pandas or polars data frame, a pyarrow Table or a pyarrow Dataset."""
    return (
        _is_of(source, "pandas", "DataFrame")
        or _is_of(source, "polars", "DataFrame")
        or _is_of(source, "pyarrow", "Table", "Dataset")
    )


def no_table(source: Any) -> str:
    """Return the sentence that says why an object is no table, and what to call."""
    remedies = (remedy for (library, name), remedy in TO_FRAME.items() if _is_of(source, library, name))
    remedy = next(remedies, "give a file, a pandas or polars frame, or a pyarrow Table or Dataset")
    return f"{type(source).__name__} is no table: {remedy}"


def _is_of(source: Any, library: str, *names: str) -> bool:
    """True if one of the classes of an object has one of these names and comes from this library."""
    return any(kind.__name__ in names and kind.__module__.split(".")[0] == library for kind in type(source).__mro__)


# -- kinds of columns --------------------------------------------------------------------------------------------------


def _is_text(column: pd.Series) -> bool:
    import pandas as pd

    return not (pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column))


def _texts(column: pd.Series) -> pd.Series:
    """The values as text, NaN where missing: whole floats without a point, so that 1.0 and 1 are one class."""
    import pandas as pd

    if pd.api.types.is_float_dtype(column):
        present = column.dropna()
        if len(present) and bool((present % 1 == 0).all()) and float(present.abs().max()) < 2**53:
            column = column.astype("Int64")
    texts = column.astype(object).where(column.notna(), None)
    texts = texts.map(lambda value: None if value is None else str(value).strip())
    return texts.where(~texts.isin(MISSING), None).astype(object)


def _kind(column: pd.Series, name: str, table: str) -> ColumnKind:
    """The kind of a column by its first rows; a `DataError` if it mixes numbers and texts."""
    import pandas as pd

    if pd.api.types.is_datetime64_any_dtype(column) or pd.api.types.is_timedelta64_dtype(column):
        return "date"
    if not _is_text(column):
        return "empty" if column.isna().all() else "unsupported" if column.dtype.kind == "c" else "number"
    raw = column.dropna()
    if len(raw) and isinstance(raw.iloc[0], datetime.date):
        return "date"
    if any(isinstance(value, list | dict | np.ndarray | bytes) for value in raw.iloc[:5]):
        return "unsupported"
    texts = _texts(column).dropna()
    if not len(texts):
        return "empty"
    numbers = pd.to_numeric(texts, errors="coerce").notna()
    if numbers.all():
        return "number"
    if all(DATE.fullmatch(text) for text in texts):
        return "date"
    different = texts.nunique()
    if numbers.mean() > 0.5 and different > MOST_CATEGORIES:
        place = int((~numbers).to_numpy().argmax())
        raise DataError(
            f"{table} mixes numbers and text in the column {name!r}, such as {shown(texts.iloc[place])} in row "
            f"{texts.index[place] + 1}: correct it, or leave it empty if it is missing"
        )
    return "identifier" if len(texts) >= IDENTIFIER_ROWS and different == len(texts) else "category"


# -- text files --------------------------------------------------------------------------------------------------------


class DelimitedTable(Table):
    """CSV or TSV file in UTF-8 with column names in its first line; the delimiter is found from that line."""

    quote = '"'

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = printable(path.name)
        with self._opened() as file:
            self._header(file)

    def _header(self, file: TextIO) -> None:
        """Read the column names, and set `_fields`, `_delimiter` and `_skip`, the number of lines before the data."""
        first = next(_lines(file, self.name), "")
        delimiter = "\t" if self.path.suffix.lower() == ".tsv" else max(DELIMITERS, key=first.count)
        self._delimiter = delimiter
        rows = self._rows(file, first)
        self._fields = [field.strip() for field in next(rows, [])]
        if len(self._fields) < 2:
            raise DataError(f"{self.name} has fewer than 2 columns: separate the columns by commas, the names first")

    @property
    def key(self) -> str:
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

    def _rows(self, file: TextIO, first: str = "") -> Iterator[list[str]]:
        """Fields of each line that is not empty, from the position of the file on; `first` comes before it."""
        lines: Iterable[str] = _lines(file, self.name)
        if first:
            lines = _with_first(first, lines)
        try:
            found = csv.reader(lines, delimiter=self._delimiter, quotechar=self.quote, skipinitialspace=True)
            yield from (row for row in found if row)
        except csv.Error as error:
            raise DataError(f"{self.name} cannot be read as a table ({error}): check its quotes") from error

    def _data(self, file: TextIO) -> Iterator[list[str]]:
        """Fields of each row below the column names; a row with too few or too many is an error."""
        rows = self._rows(file)
        next(rows, None)
        for number, row in enumerate(rows, 1):
            if len(row) != len(self._fields):
                raise DataError(
                    f"{self.name} has {len(row)} fields in row {number}, but {len(self._fields)} columns: "
                    "correct the row"
                )
            yield row

    def _raw(self, names: Sequence[str], kinds: Mapping[str, ColumnKind], size: int) -> Iterator[pd.DataFrame]:
        import pandas as pd

        if not kinds:  # the first rows, as text
            with self._opened() as file:
                yield _text_frame(list(islice(self._data(file), size)), self._fields)
            return
        types = {name: np.float64 if kinds.get(name) == "number" else str for name in names}
        with self._opened() as file:
            next(self._rows(file), None)  # the column names
            try:
                reader = pd.read_csv(
                    file, sep=self._delimiter, header=None, names=self._fields, usecols=list(names), dtype=types,
                    na_values=list(MISSING), keep_default_na=True, chunksize=size, index_col=False,
                    quotechar=self.quote, skipinitialspace=True, on_bad_lines="error",
                )  # fmt: skip
                yield from (frame[list(names)] for frame in reader)
            except ValueError as error:  # pandas does not name row and column
                self._find_misfit([name for name in names if kinds.get(name) == "number"])
                raise DataError(f"{self.name} cannot be read as a table ({error})") from error

    def _find_misfit(self, numbers: Sequence[str]) -> None:
        """Raise the error of the first value in these columns that is not a number."""
        places = [(self._fields.index(name), name) for name in numbers]
        with self._opened() as file:
            for row, fields in enumerate(self._data(file), 1):
                for place, name in places:
                    text = fields[place].strip()
                    try:
                        fits = text in MISSING or np.isfinite(float(text))
                    except ValueError:
                        fits = False
                    if not fits:
                        raise self._misfit(name, text, row)

    def _labels(self, label: str, progress: Progress) -> Iterator[list[str]]:
        """Labels by the csv module, which also counts the fields of each row (pandas fills short rows)."""
        place = self._fields.index(label)
        size = self.path.stat().st_size
        with self._opened() as file:
            rows = self._data(file)
            while part := [row[place].strip() for row in islice(rows, CHUNK)]:
                progress(min(file.buffer.tell(), size), size, f"bytes of {self.name} checked")
                yield ["" if text in MISSING else text for text in part]


def _lines(file: Any, name: str) -> Iterator[str]:
    """Lines of a text file; one that is too long or holds a zero byte is an error."""
    while line := file.readline(LONGEST_LINE):
        if len(line) >= LONGEST_LINE and not line.endswith("\n"):
            raise DataError(f"{name} has a line of more than {LONGEST_LINE:,} characters: it is no table of text")
        if "\0" in line:
            raise DataError(f"{name} holds zero bytes: it is no table of text, or UTF-16; save it as UTF-8")
        yield line


def _with_first(first: str, lines: Iterable[str]) -> Iterator[str]:
    yield first
    yield from lines


def _text_frame(rows: list[list[str]], names: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    columns: Any = list(zip(*rows, strict=True)) or [()] * len(names)
    return pd.DataFrame(
        {
            name: pd.Series([None if text.strip() in MISSING else text.strip() for text in column], dtype=object)
            for name, column in zip(names, columns, strict=True)
        }
    )


class ArffTable(DelimitedTable):
    """ARFF file (Weka, MOA): nominal, numeric, string and date attributes; `?` is a missing value."""

    quote = "'"
    _attribute = re.compile(r"@attribute\s+('[^']*'|\"[^\"]*\"|\S+)\s+(.+)", re.IGNORECASE)
    _delimiter = ","

    def _header(self, file: TextIO) -> None:
        self._fields, self._kinds = [], {}
        self._skip = 0
        for line in _lines(file, self.name):
            self._skip += 1
            text = line.strip()
            if text.lower().startswith("@data"):
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

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Columns with the kinds that the header declares; categories that identify a row are identifiers."""
        head = self.head
        return tuple(
            Column(name, kind if not (kind == "category" and _identifies(head[name])) else "identifier")
            for name, kind in self._kinds.items()
        )

    def _rows(self, file: Any, first: str = "") -> Iterator[list[str]]:
        return super()._rows(_ArffLines(file, self.name), first)  # type: ignore[arg-type]

    def _data(self, file: TextIO) -> Iterator[list[str]]:
        for _ in range(self._skip - 1):
            file.readline()
        return super()._data(file)

    def _raw(self, names: Sequence[str], kinds: Mapping[str, ColumnKind], size: int) -> Iterator[pd.DataFrame]:
        with self._opened() as file:
            rows = self._data(file)
            while part := list(islice(rows, size)):
                yield _text_frame(part, self._fields)[list(names)]


class _ArffLines:
    """Lines of the data of an ARFF file: without comments, and with one kind of quotes."""

    def __init__(self, file: TextIO, name: str) -> None:
        self._file, self._name = file, name

    def readline(self, limit: int = -1) -> str:
        """Return the next line with data, "" at the end."""
        while line := self._file.readline(limit):
            text = line.lstrip()
            if text.startswith("{"):
                raise DataError(f"{self._name} is a sparse ARFF file: save it with the values of all attributes")
            if text.strip() and not text.startswith("%"):
                return line if '"' not in line else line.replace('"', "'")
        return ""


def _arff_kind(kind: str) -> ColumnKind:
    if kind.startswith(("numeric", "real", "integer")):
        return "number"
    return "date" if kind.startswith("date") else "category"


def _identifies(column: pd.Series) -> bool:
    texts = column.dropna()
    return len(texts) >= IDENTIFIER_ROWS and texts.nunique() == len(texts)


# -- binary files and frames -------------------------------------------------------------------------------------------


class ParquetTable(Table):
    """Parquet file, read in batches of rows with pyarrow."""

    def __init__(self, path: Path) -> None:
        require("pyarrow")
        self.path = path
        self.name = printable(path.name)
        with self._opened() as file:
            self._fields = [str(name) for name in file.schema_arrow.names]

    @property
    def key(self) -> str:
        return file_key(self.path)

    def _names(self) -> Sequence[str]:
        return self._fields

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            with pq.ParquetFile(self.path, buffer_size=2**20, pre_buffer=False) as file:
                yield file
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{self.name} is no Parquet file that can be read ({error}): save it again") from error

    def _raw(self, names: Sequence[str], kinds: Mapping[str, ColumnKind], size: int) -> Iterator[pd.DataFrame]:
        with self._opened() as file:
            for batch in file.iter_batches(batch_size=size, columns=list(names), use_threads=False):
                yield batch.to_pandas(ignore_metadata=True)


class ArrowTable(Table):
    """A pyarrow Table or Dataset, read in batches of rows in its order."""

    name = "the Arrow table"

    def __init__(self, source: Any) -> None:
        import pyarrow.dataset as ds

        self.dataset = source if isinstance(source, ds.Dataset) else ds.dataset(source)

    def _names(self) -> Sequence[str]:
        return [str(name) for name in self.dataset.schema.names]

    def _raw(self, names: Sequence[str], kinds: Mapping[str, ColumnKind], size: int) -> Iterator[pd.DataFrame]:
        import pyarrow as pa

        try:
            for batch in self.dataset.to_batches(
                columns=list(names), batch_size=size, batch_readahead=1, fragment_readahead=1, use_threads=False
            ):
                if batch.num_rows:
                    yield batch.to_pandas(ignore_metadata=True)
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{self.name} cannot be read ({error}): check its files") from error


class FrameTable(Table):
    """A pandas or polars data frame."""

    name = "the frame"

    def __init__(self, frame: Any) -> None:
        if not hasattr(frame, "iloc"):  # polars
            import pandas as pd

            frame = pd.DataFrame({str(name): frame[name].to_numpy() for name in frame.columns})
        self.frame = frame.set_axis([str(name) for name in frame.columns], axis=1)

    def _names(self) -> Sequence[str]:
        return list(self.frame.columns)

    def _raw(self, names: Sequence[str], kinds: Mapping[str, ColumnKind], size: int) -> Iterator[pd.DataFrame]:
        for start in range(0, len(self.frame), size):
            yield self.frame.iloc[start : start + size][list(names)].reset_index(drop=True)


class NpzTable(FrameTable):
    """NPZ file with `X` (n, d) and `y` (n,), or with one array (n,) per column."""

    def __init__(self, path: Path) -> None:
        import pandas as pd

        self.path = path
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
        except (ValueError, OSError, zipfile.BadZipFile, EOFError) as error:
            raise DataError(
                f"{printable(path.name)} is no NPZ file of plain arrays ({error}): save it again"
            ) from error
        columns: dict[str, Any] = {}
        for name, array in arrays.items():
            if array.ndim == 2:
                columns |= {f"{name}{i}": array[:, i] for i in range(array.shape[1])}
            elif array.ndim == 1:
                columns[name] = array
        lengths = {len(column) for column in columns.values()}
        if len(lengths) != 1:
            told = ", ".join(f"{name} {array.shape}" for name, array in arrays.items()) or "no arrays"
            raise DataError(f"{printable(path.name)} has {told}: save X (n, d) and y (n,) of the same length")
        super().__init__(pd.DataFrame(columns, copy=False))
        self.name = printable(path.name)

    @property
    def key(self) -> str:
        """Digest of the file's path, size and date."""
        return file_key(self.path)


class RowTable(Table):
    """Rows that an iterable yields again at each pass: pairs of features by name and label.

    Parameters
    ----------
    name : str
        Name for messages.
    rows : callable
        Function without arguments that returns an iterator of (dict, label).
    key : str
        Digest of the content, "" if unknown.
    """

    LABEL = "label"

    def __init__(self, name: str, rows: Any, key: str = "") -> None:
        self.name = name
        self._iterate = rows
        self._key = key

    @property
    def key(self) -> str:
        return self._key

    def _names(self) -> Sequence[str]:
        first = next(iter(self._iterate()), None)
        if first is None:
            raise DataError(f"{self.name} has no samples: choose another stream")
        return [*(str(name) for name in first[0]), self.LABEL]

    def _raw(self, names: Sequence[str], kinds: Mapping[str, ColumnKind], size: int) -> Iterator[pd.DataFrame]:
        import pandas as pd

        rows = iter(self._iterate())
        while part := list(islice(rows, size)):
            found = pd.DataFrame([{str(name): value for name, value in x.items()} for x, _ in part])
            found[self.LABEL] = [y for _, y in part]
            yield found.reindex(columns=list(names))


def file_key(path: Path) -> str:
    """Return a digest of a file's path, size and date."""
    status = path.stat()
    text = f"{path.resolve()}\0{status.st_size}\0{status.st_mtime_ns}"
    return blake2b(os.fsencode(text), digest_size=12).hexdigest()


TABLES: dict[str, Any] = {
    ".csv": DelimitedTable,
    ".tsv": DelimitedTable,
    ".arff": ArffTable,
    ".parquet": ParquetTable,
    ".npz": NpzTable,
}
