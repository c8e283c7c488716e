"""Interfaces of data sources, and `Dataset`, the features of some classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.progress import Progress

Kind = Literal["audio", "image", "vector"]


class Source(Protocol):
    """Protocol of a data source: classes of raw media, each a list in a reproducible order.

    `media(label, indices)` returns, for audio, a float32 array (n, samples) of one-second clips at `sample_rate`; for
    images, a uint8 array (n, height, width, 3); for vectors, a float32 array (n, d). `count(label)` is the number of
    media of a class. `key` is a short digest of everything that determines the media, used in cache names. An unknown
    label is a `DataError`.
    """

    name: str
    kind: Kind
    sample_rate: int | None

    @property
    def key(self) -> str: ...

    @property
    def classes(self) -> tuple[str, ...]: ...

    def count(self, label: str) -> int: ...

    def media(self, label: str, indices: Sequence[int]) -> NDArray: ...


@runtime_checkable
class PartialSource(Protocol):
    """Protocol of a source whose media may be unusable, such as a folder of files.

    `read` returns the usable media of `indices`, their indices, and the names of the others with the reason, which are
    also added to `skipped`.
    """

    skipped: dict[str, str]

    def read(self, label: str, indices: Sequence[int]) -> tuple[NDArray, list[int], dict[str, str]]: ...


@runtime_checkable
class PreparedSource(Protocol):
    """Protocol of a source that can prepare several classes together, faster than `media` one by one."""

    def prepare(self, labels: Sequence[str], progress: Progress) -> None: ...


@dataclass(frozen=True)
class Dataset:
    """Features X (n, d) of some classes: row i has label `y[i]` and is medium `index[i]` of its class."""

    name: str
    X: NDArray[np.float32]
    y: NDArray[np.str_]
    index: NDArray[np.int64]
    source: Source | None = None

    @property
    def classes(self) -> tuple[str, ...]:
        """Sorted labels."""
        return tuple(np.unique(self.y).tolist())
