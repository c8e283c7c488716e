"""A path, the bytes of an upload or an open file: one way to open them all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from tmlcd_core.errors import DataError


@contextmanager
def open_source(source: str | Path | bytes | BinaryIO, error: type[DataError]) -> Iterator[tuple[BinaryIO, str]]:
    """The source from its beginning, open for reading, and what to call it in a message."""
    if isinstance(source, bytes | bytearray | memoryview):
        yield BytesIO(source), f"the upload of {len(source)} bytes"
    elif isinstance(source, str | Path):
        try:
            file = open(source, "rb")  # noqa: SIM115 - closed below; the error belongs to the opening alone
        except (OSError, ValueError) as problem:
            reason = getattr(problem, "strerror", None) or problem
            raise error(f"{str(source)!r} cannot be opened: {reason}") from problem
        with file:
            yield file, str(source)
    else:
        yield _rewound(source, error), str(getattr(source, "name", "the given file"))


def _rewound(source: Any, error: type[DataError]) -> BinaryIO:
    try:
        source.seek(0)
    except (AttributeError, OSError, ValueError) as problem:
        raise error(f"{type(source).__name__} is no path, bytes or open binary file") from problem
    return source
