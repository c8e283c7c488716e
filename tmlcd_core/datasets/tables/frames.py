"""Tables of binary files and of objects in memory: Parquet, NPZ, pandas, polars and Arrow, rows of an iterable."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tmlcd_core.datasets.folder import printable
from tmlcd_core.datasets.tables.column_kinds import ColumnKind
from tmlcd_core.datasets.tables.table import Table, file_key
from tmlcd_core.errors import DataError
from tmlcd_core.optional_packages import require

if TYPE_CHECKING:
    import pandas as pd


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
        """Digest of the file's path, size and date."""
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
            raise DataError(f"{self.name} is not a Parquet file that can be read ({error}): save it again") from error

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
        require("pandas")
        import pandas as pd

        self.path = path
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
        except (ValueError, OSError, zipfile.BadZipFile, EOFError) as error:
            raise DataError(
                f"{printable(path.name)} is not an NPZ file of plain arrays ({error}): save it again"
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
        """Digest that was given."""
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
