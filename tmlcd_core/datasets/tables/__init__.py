"""Tables in the order of time: CSV, TSV, ARFF, Parquet and NPZ files, pandas and polars frames, Arrow tables.

A table is read in chunks of rows, so that its size is limited by the disk only.
"""

from tmlcd_core.datasets.tables.column_kinds import LEFT_OUT, MOST_CATEGORIES, Column
from tmlcd_core.datasets.tables.formats import TABLES, is_frame, is_table, no_table, open_table
from tmlcd_core.datasets.tables.frames import RowTable
from tmlcd_core.datasets.tables.table import LabelCounts, Table

__all__ = [
    "LEFT_OUT",
    "MOST_CATEGORIES",
    "TABLES",
    "Column",
    "LabelCounts",
    "RowTable",
    "Table",
    "is_frame",
    "is_table",
    "no_table",
    "open_table",
]
