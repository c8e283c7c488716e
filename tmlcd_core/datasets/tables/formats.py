"""Formats of tables: which class reads a file or an object."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tmlcd_core.datasets.folder import printable, some
from tmlcd_core.datasets.tables.frames import ArrowTable, FrameTable, NpzTable, ParquetTable
from tmlcd_core.datasets.tables.table import Table
from tmlcd_core.datasets.tables.text_files import ArffTable, DelimitedTable
from tmlcd_core.errors import DataError
from tmlcd_core.optional_packages import require

TABLES: dict[str, Any] = {
    ".csv": DelimitedTable,
    ".tsv": DelimitedTable,
    ".arff": ArffTable,
    ".parquet": ParquetTable,
    ".npz": NpzTable,
}
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
        raise DataError(f"{printable(str(source))!r} is not a table: give a file that ends in {some(list(TABLES))}")
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
    """Return the sentence that says why an object is not a table, and what to call."""
    remedies = (remedy for (library, name), remedy in TO_FRAME.items() if _is_of(source, library, name))
    remedy = next(remedies, "give a file, a pandas or polars frame, or a pyarrow Table or Dataset")
    return f"{type(source).__name__} is not a table: {remedy}"


def _is_of(source: Any, library: str, *names: str) -> bool:
    """True if one of the classes of an object has one of these names and comes from this library."""
    return any(kind.__name__ in names and kind.__module__.split(".")[0] == library for kind in type(source).__mro__)
