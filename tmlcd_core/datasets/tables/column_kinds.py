"""Kinds of columns (number, category, date, …), found from the first rows of a table."""

from __future__ import annotations

import datetime
import re
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from tmlcd_core.errors import DataError
from tmlcd_core.optional_packages import require
from tmlcd_core.validation import shown

if TYPE_CHECKING:
    import pandas as pd

MOST_CATEGORIES = 50  # of one column that have a feature each; the others share one
IDENTIFIER_ROWS = 20  # a text column with at least so many values, all different, is an identifier
MISSING = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "-nan", "null", "NULL", "None", "<NA>")  # texts of missing values
DATE = re.compile(r"\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})([ T]\d{1,2}:\d{2}.*)?\s*")

COMMA = re.compile(r"[-+]?(\d*,\d+([eE][-+]?\d+)?|\d{1,3}(,\d{3})+(\.\d+)?|\d{1,3}(\.\d{3})+,\d+)")  # numbers

ColumnKind = Literal["number", "category", "date", "identifier", "empty", "commas", "unsupported"]
LEFT_OUT: dict[ColumnKind, str] = {
    "date": "a date; the order of the rows is the time",
    "identifier": "a text that differs in every row",
    "empty": "empty in the first rows",
    "commas": "numbers with commas; write them like 1234.5",
    "unsupported": "neither a number nor a text",
}


class Column(NamedTuple):
    """Column of a table. Numbers and categories become features; other kinds are left out (`LEFT_OUT`)."""

    name: str
    kind: ColumnKind


def kind_of(column: pd.Series, name: str, table: str) -> ColumnKind:
    """Return the kind of a column by its first rows; a `DataError` if it mixes numbers and texts."""
    require("pandas")
    import pandas as pd

    if pd.api.types.is_datetime64_any_dtype(column) or pd.api.types.is_timedelta64_dtype(column):
        return "date"
    if not is_text(column):
        return "empty" if column.isna().all() else "unsupported" if column.dtype.kind == "c" else "number"
    raw = column.dropna()
    if len(raw) and isinstance(raw.iloc[0], datetime.date):
        return "date"
    if any(isinstance(value, list | dict | np.ndarray | bytes) for value in raw.iloc[:5]):
        return "unsupported"
    texts = as_texts(column).dropna()
    if not len(texts):
        return "empty"
    numbers = pd.to_numeric(texts, errors="coerce").notna()
    if numbers.all():
        return "number"
    if all(DATE.fullmatch(text) for text in texts):
        return "date"
    if not numbers.all() and all(COMMA.fullmatch(text) for text in texts[~numbers]):
        return "commas"
    different = texts.nunique()
    if numbers.mean() > 0.5 and different > MOST_CATEGORIES:
        place = int((~numbers).to_numpy().argmax())
        raise DataError(
            f"{table} mixes numbers and text in the column {name!r}, such as {shown(texts.iloc[place])} in row "
            f"{texts.index[place] + 1}: correct it, or leave it empty if it is missing"
        )
    return "identifier" if identifies_rows(texts) else "category"


def identifies_rows(column: pd.Series) -> bool:
    """Return True if all values of a text column differ, and there are enough of them."""
    texts = column.dropna()
    return len(texts) >= IDENTIFIER_ROWS and texts.nunique() == len(texts)


def is_text(column: pd.Series) -> bool:
    """Return True for a column of neither numbers nor booleans."""
    import pandas as pd

    return not (pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column))


def as_texts(column: pd.Series) -> pd.Series:
    """Return the values as text, None where missing: whole floats without a point, so that 1.0 and 1 are one class."""
    import pandas as pd

    if pd.api.types.is_float_dtype(column):
        present = column.dropna()
        if len(present) and bool((present % 1 == 0).all()) and float(present.abs().max()) < 2**53:
            column = column.astype("Int64")
    texts = column.astype(object).where(column.notna(), None)
    texts = texts.map(lambda value: None if value is None else str(value).strip())
    return texts.where(~texts.isin(MISSING), None).astype(object)
