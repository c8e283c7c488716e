"""What a data source is, and what the experiments get from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.progress import Progress

Kind = Literal["audio", "image", "vector"]


class Source(Protocol):
    """Classes of raw media, each an ordered list that always comes out the same.

    `media(label, indices)` gives, for audio, a float32 array (n, samples) of one-second clips at
    `sample_rate`; for images, a uint8 array (n, height, width, 3); for vectors, a float32 array (n, d).
    `key` is a short digest of all that determines the media: it names the cached features. A label that a
    source cannot serve is a `DataError`.
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
    """What a source has besides if only reading shows which of its media are usable: a folder of files.

    `read` gives the usable ones of `indices`, which they are, and the others by name with the reason; these it
    puts into `skipped` too.
    """

    skipped: dict[str, str]

    def read(self, label: str, indices: Sequence[int]) -> tuple[NDArray, list[int], dict[str, str]]: ...


@runtime_checkable
class PreparedSource(Protocol):
    """What a source has besides if its classes can be got ready together, faster than one by one as `media` asks."""

    def prepare(self, labels: Sequence[str], progress: Progress) -> None: ...


@dataclass(frozen=True)
class Dataset:
    """Features of some classes: row i of `X` has label `y[i]` and is medium `index[i]` of its class."""

    name: str
    X: NDArray[np.float32]
    y: NDArray[np.str_]
    index: NDArray[np.int64]
    source: Source | None = None

    @property
    def classes(self) -> tuple[str, ...]:
        return tuple(np.unique(self.y).tolist())
