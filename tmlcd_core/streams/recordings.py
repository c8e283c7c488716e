"""Recorded streams: samples that keep the order of time in which they were recorded, with unknown changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.datasets import FeatureCache, FolderSource, Kind
from tmlcd_core.errors import ConfigError, DataError
from tmlcd_core.features import Extractor, SpeechExtractor
from tmlcd_core.progress import Progress, silent
from tmlcd_core.streams.feature_pools import SourcePool
from tmlcd_core.streams.scenario import Concept, Origin, Scenario
from tmlcd_core.validation import one_of, whole_number

INITIAL = 100  # default number of samples that a learner is fitted on
ORDERS = ("name", "date")  # of the files of a folder

Block = tuple[NDArray[np.float32], NDArray[np.str_]]  # features (n, d) and labels (n,)


class Recording:
    """Recorded stream: base class, with the interface of a `FeaturePool` where the order does not matter.

    A subclass implements `blocks`.

    Parameters
    ----------
    name, key : str
        Name for messages, and a digest that changes with the content.
    counts : mapping
        Number of samples of each class.
    initial : int
        Number of samples at the start that the learners are fitted on.
    samples : int
        Number of samples to use, the initial ones included; 0 for all.
    """

    kind: Kind = "vector"

    def __init__(self, name: str, key: str, counts: Mapping[str, int], initial: int = INITIAL, samples: int = 0):
        self.name, self.key, self.counts = name, key, dict(counts)
        self.initial = whole_number("initial", initial, 1)
        total = sum(self.counts.values())
        self.total = min(total, whole_number("samples", samples, 0) or total)
        if self.total <= self.initial:
            raise DataError(
                f"{name} has {self.total} labelled samples, initial={initial}: use fewer initial samples (--initial)"
            )

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes, sorted."""
        return tuple(self.counts)

    def count(self, word: str) -> int:
        """Return the number of samples of a class."""
        return self.counts[word]

    def usable(self, word: str, wanted: int) -> int:
        """Return the number of samples of a class; all are usable."""
        return self.count(word)

    def pool(self, origin: Origin, n: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Raise a `ConfigError`, never returns: the samples of a recorded stream keep their order."""
        raise ConfigError(f"{self.name} keeps the order of its samples: leave out the classes and the drift")

    def medium(self, origin: Origin, index: int) -> NDArray | None:
        """Return the clip or image of sample `index`; None if there is none."""
        return None

    def scenario(self) -> Scenario:
        """Return the scenario: all classes, no known drift."""
        train = max(1, self.initial // len(self.classes))
        return Scenario((Concept(self.classes),), self.total - self.initial, train, self.initial)

    def blocks(self, progress: Progress = silent) -> Iterator[Block]:
        """Yield the samples in the order of time: first the initial ones, then blocks of at most CHUNK samples."""
        raise NotImplementedError


class FolderRecording(Recording):
    """Recorded stream of the clips or images in a folder, in the order of their file names or dates.

    Parameters
    ----------
    folder : str
        Folder with one folder per class, as for `FolderSource`.
    order : str
        "name": by file name, then by folder. "date": by the date of the last change, then by name.
    initial, samples
        As in `Recording`.
    extractor : Extractor, SpeechExtractor or None
        Feature extractor; the paper's if None.
    cache : FeatureCache or None
        Feature cache; the default one if None.
    """

    def __init__(
        self,
        folder: str,
        order: str,
        initial: int = INITIAL,
        samples: int = 0,
        extractor: Extractor | SpeechExtractor | None = None,
        cache: FeatureCache | None = None,
    ) -> None:
        one_of("order", order, ORDERS)
        self.files = SourcePool(folder, (), extractor, cache)
        source = self.files.source
        if not isinstance(source, FolderSource):
            raise ConfigError(f"{folder!r} has no files, order={order!r} is for a folder: leave the order out")
        super().__init__(
            folder, f"{source.key} {order}", {w: source.count(w) for w in source.classes}, initial, samples
        )
        self.kind = source.kind
        found = [(source.file(w, i), w, i) for w in source.classes for i in range(source.count(w))]

        def place(one: tuple[Path, str, int]) -> tuple:
            date = one[0].stat().st_mtime_ns if order == "date" else 0
            return date, one[0].name, str(one[0])

        self._order = [(word, index) for _, word, index in sorted(found, key=place)][: self.total]

    def medium(self, origin: Origin, index: int) -> NDArray | None:
        """Return the clip or image of sample `index`."""
        word, number = self._order[index]
        return self.files.medium(Origin(word), number)

    def blocks(self, progress: Progress = silent) -> Iterator[Block]:
        """Yield the initial samples, then all others in one block; files that cannot be read are an error."""
        rows = {}
        for word in dict.fromkeys(word for word, _ in self._order):
            X, index = self.files.pool(Origin(word), self.files.count(word), progress)
            rows[word] = X, {number: row for row, number in enumerate(index.tolist())}
        missing = [(word, number) for word, number in self._order if number not in rows[word][1]]
        if missing:
            source = self.files.source
            assert isinstance(source, FolderSource)
            raise DataError(f"{source.file(*missing[0])} cannot be read: remove it, so that the order has no gap")
        X = np.stack([rows[word][0][rows[word][1][number]] for word, number in self._order])
        y = np.array([word for word, _ in self._order])
        yield X[: self.initial], y[: self.initial]
        yield X[self.initial :], y[self.initial :]
