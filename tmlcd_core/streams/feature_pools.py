"""What streams are made of: the features of any class of the data, disturbed or not, by the numbers of its media."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.datasets import Dataset, FeatureCache, Kind, Pack, PartialSource, Source, load, open_source
from tmlcd_core.datasets.load import disturb
from tmlcd_core.errors import ConfigError, DataError
from tmlcd_core.features import EFFECTS, Extractor
from tmlcd_core.progress import Progress, silent
from tmlcd_core.streams.scenario import NO_EFFECT, VERY_NOISY, Origin

STEP = 100  # media; pools are made in multiples of it, so that runs which need a few more or less share one


class FeaturePool(Protocol):
    """Features by class and number: `pool` gives those of the first `n` media of an origin, and their numbers."""

    name: str
    kind: Kind

    @property
    def classes(self) -> tuple[str, ...]: ...

    def count(self, word: str) -> int: ...

    def usable(self, word: str, wanted: int) -> int: ...

    def pool(self, origin: Origin, n: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]: ...

    def medium(self, origin: Origin, index: int) -> NDArray | None: ...


class SourcePool:
    """The classes of a source, or of a folder, through an extractor and the cache.

    Parameters
    ----------
    data
        A name of `tmlcd_core.datasets.SOURCES`, or a folder.
    words
        Classes that speech is to offer besides its own thirty.
    extractor
        For sounds and images; the paper's unless given.
    cache
        Of features; the user's unless given.
    seed
        Of the randomness inside effects.

    Examples
    --------
    >>> digits = SourcePool("digits")
    >>> digits.kind, len(digits.classes), digits.count("0")
    ('image', 10, 178)
    """

    def __init__(
        self,
        data: str | Path,
        words: Sequence[str] = (),
        extractor: Extractor | None = None,
        cache: FeatureCache | None = None,
        seed: int = 0,
    ) -> None:
        self.name = str(data)
        self.words = tuple(words)
        self.cache = FeatureCache() if cache is None else cache
        self.seed = seed
        self.source = self._open(self.name)
        self.kind: Kind = self.source.kind
        if self.kind != "vector":
            extractor = extractor or Extractor()
        self.extractor = extractor

    def _open(self, name: str) -> Source:
        if not name.startswith("speech"):
            return open_source(name)
        from tmlcd_core.datasets.speech import WORDS

        return open_source(name, (*WORDS, *(word for word in self.words if word not in WORDS)))

    @property
    def classes(self) -> tuple[str, ...]:
        return self.source.classes

    def count(self, word: str) -> int:
        return self.source.count(word)

    def usable(self, word: str, wanted: int) -> int:
        """How many media a class has. Where a folder has fewer than wanted, they are read: some may be of no use."""
        count = self.count(word)
        if count < wanted and isinstance(self.source, PartialSource):
            return len(self.pool(Origin(word), count)[1])
        return count

    @property
    def skipped(self) -> dict[str, str]:
        """The files of a folder that were found to be of no use so far, with the reason."""
        return self.source.skipped if isinstance(self.source, PartialSource) else {}

    def _place(self, origin: Origin) -> tuple[Source, str]:
        """The source that has this origin, and the effect that is left to be applied to it."""
        fitting = ", ".join(name for name, effect in EFFECTS.items() if effect.kind == self.kind) or "another drift"
        if origin.effect != VERY_NOISY:
            if origin.effect and EFFECTS[origin.effect].kind != self.kind:
                raise ConfigError(
                    f"effect={origin.effect!r} is for {EFFECTS[origin.effect].kind}, and {self.name} holds "
                    f"{self.kind}: choose {fitting}"
                )
            return self.source, origin.effect
        if self.name != "speech":
            raise ConfigError(f"only the data 'speech' have a variant {VERY_NOISY!r}; for {self.name} choose {fitting}")
        if origin.strength != 1:
            raise ConfigError(f"strength={origin.strength}: {VERY_NOISY!r} is as it is, 1; choose another effect")
        return self._open("speech-very-noisy"), NO_EFFECT

    def pool(
        self, origin: Origin, n: int, progress: Progress = silent
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        source, effect = self._place(origin)
        n = -(-n // STEP) * STEP
        found = load(
            source,
            [origin.word],
            n,
            self.extractor,
            EFFECTS[effect] if effect else None,
            origin.strength if effect else 1.0,
            seed=self.seed,
            progress=progress,
            cache=self.cache,
        )
        return found.X, found.index

    def medium(self, origin: Origin, index: int) -> NDArray:
        """The very clip or image, disturbed as in the stream."""
        source, effect = self._place(origin)
        media = source.media(origin.word, [index])
        if effect:
            media = disturb(source, origin.word, media, [index], EFFECTS[effect], origin.strength, self.seed)
        return media[0]


class DatasetPool:
    """The rows of a `Dataset`: what a page has already loaded, or the ready-made pack.

    Examples
    --------
    >>> rows = Dataset("four", np.eye(4, dtype=np.float32), np.array(list("abab")), np.array([0, 0, 1, 1]))
    >>> DatasetPool(rows).pool(Origin("a"), 2)[1].tolist()
    [0, 1]
    """

    def __init__(self, data: Dataset) -> None:
        self.name = data.name
        self.data = data
        self.kind: Kind = data.source.kind if data.source is not None else "vector"

    @property
    def classes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.data.y.tolist()))

    def count(self, word: str) -> int:
        return int((self.data.y == word).sum())

    def usable(self, word: str, wanted: int) -> int:
        """How many rows a class has."""
        return self.count(word)

    def pool(self, origin: Origin, n: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        if origin.effect:
            raise ConfigError(f"{self.name} is a table of features; {origin.effect!r} needs the sounds or images")
        rows = np.flatnonzero(self.data.y == origin.word)
        return self.data.X[rows], self.data.index[rows]

    def medium(self, origin: Origin, index: int) -> NDArray | None:
        source = self.data.source
        return None if source is None else source.media(origin.word, [index])[0]


def check_count(feature_pool: FeaturePool, word: str, needed: int, found: int | None = None) -> None:
    """A `DataError` if a class has fewer media than a scenario takes."""
    have = feature_pool.count(word) if found is None else found
    if have < needed:
        raise DataError(
            f"the scenario takes {needed} samples of {word!r}; {feature_pool.name} has {have}: "
            "take fewer per class (--train, --per-class)"
        )


def pack_pool(pack: Pack) -> DatasetPool:
    """The ready-made pack, the word that changes first and the one that appears last.

    Its clips are not in it, but speech makes the same ones again where it is installed.
    """
    stay = [word for word in pack.words if word != pack.old]
    words = (pack.old, *stay, pack.new)
    rows = np.concatenate([np.flatnonzero(pack.data.y == word) for word in words])
    try:
        source = open_source("speech", words)
    except DataError:
        source = None
    data = pack.data
    return DatasetPool(Dataset("the pack", data.X[rows], data.y[rows], data.index[rows], source))
