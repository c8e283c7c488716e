"""Feature pools: feature vectors of a class, with or without an effect, addressed by medium (clip or image) index."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.datasets import Dataset, FeatureCache, Kind, Pack, PartialSource, Source, load, open_source
from tmlcd_core.datasets.load import disturb
from tmlcd_core.errors import ConfigError, DataError
from tmlcd_core.features import EFFECTS, Extractor, SpeechExtractor
from tmlcd_core.progress import Progress, silent
from tmlcd_core.streams.scenario import NO_EFFECT, VERY_NOISY, Origin

STEP = 100  # media; pool sizes are rounded up to a multiple, so that runs of similar size share a cache entry


class FeaturePool(Protocol):
    """Interface of a feature pool: features of a class by medium index."""

    name: str
    kind: Kind

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes."""

    def count(self, word: str) -> int:
        """Return the number of media of a class."""

    def usable(self, word: str, wanted: int) -> int:
        """Return the number of usable media of a class, checked only if there are fewer than `wanted`."""

    def pool(self, origin: Origin, n: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return the features of the first n or more media, shape (m, d), and their indices, shape (m,)."""

    def medium(self, origin: Origin, index: int) -> NDArray | None:
        """Return one clip or image with its effect; None if it is not available."""


class SourcePool:
    """Feature pool of a data source or a folder: an extractor with a feature cache.

    Parameters
    ----------
    data : str or Path
        A name of `tmlcd_core.datasets.SOURCES`, or a folder.
    words : sequence of str
        Additional words of the speech source, besides its default thirty.
    extractor : Extractor, SpeechExtractor or None
        Feature extractor of sounds and images; the paper's if None.
    cache : FeatureCache or None
        Feature cache; the default one if None.
    seed : int
        Seed of the random effects.

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
        extractor: Extractor | SpeechExtractor | None = None,
        cache: FeatureCache | None = None,
        seed: int = 0,
    ) -> None:
        self.name = str(data)
        self.words = tuple(words)
        self.cache = FeatureCache() if cache is None else cache
        self.seed = seed
        self.source = self._open(self.name)
        self.kind: Kind = self.source.kind
        if isinstance(extractor, SpeechExtractor) and self.kind != "audio":
            raise ConfigError(
                f"{self.name} holds {self.kind} data, but the network for speech needs sound: choose "
                "extractor='paper', or recordings"
            )
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
        """Names of the classes."""
        return self.source.classes

    def count(self, word: str) -> int:
        """Return the number of media of a class, including files that may turn out to be unusable."""
        return self.source.count(word)

    def usable(self, word: str, wanted: int) -> int:
        """Return the number of usable media of a class.

        If a folder has fewer files than `wanted`, they are decoded, since some may be unusable.
        """
        count = self.count(word)
        if count < wanted and isinstance(self.source, PartialSource):
            return len(self.pool(Origin(word), count)[1])
        return count

    @property
    def skipped(self) -> dict[str, str]:
        """Unusable files of a folder found so far: file name to reason."""
        return self.source.skipped if isinstance(self.source, PartialSource) else {}

    def _place(self, origin: Origin) -> tuple[Source, str]:
        """Return the source of this origin, and the effect that remains to be applied to its media."""
        fitting = ", ".join(name for name, effect in EFFECTS.items() if effect.kind == self.kind) or "another drift"
        if origin.effect != VERY_NOISY:
            if origin.effect and EFFECTS[origin.effect].kind != self.kind:
                raise ConfigError(
                    f"effect={origin.effect!r} applies to {EFFECTS[origin.effect].kind}, but {self.name} holds "
                    f"{self.kind}: choose {fitting}"
                )
            return self.source, origin.effect
        if self.name != "speech":
            raise ConfigError(f"only the data 'speech' has a variant {VERY_NOISY!r}; for {self.name} choose {fitting}")
        if origin.strength != 1:
            raise ConfigError(
                f"strength={origin.strength}: {VERY_NOISY!r} has strength 1 only; give 1 or choose another effect"
            )
        return self._open("speech-very-noisy"), NO_EFFECT

    def pool(
        self, origin: Origin, n: int, progress: Progress = silent
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return the features of at least the first n media, shape (m, d), and their indices, shape (m,).

        m is smaller than n if the class has fewer usable media.
        """
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
        """Return one clip or image with its effect, as used in the stream."""
        source, effect = self._place(origin)
        media = source.media(origin.word, [index])
        if effect:
            media = disturb(source, origin.word, media, [index], EFFECTS[effect], origin.strength, self.seed)
        return media[0]


class DatasetPool:
    """Feature pool of a `Dataset` in memory, such as the prepared pack.

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
        """Names of the classes, in the order of their first row."""
        return tuple(dict.fromkeys(self.data.y.tolist()))

    def count(self, word: str) -> int:
        """Return the number of rows of a class."""
        return int((self.data.y == word).sum())

    def usable(self, word: str, wanted: int) -> int:
        """Return the number of rows of a class; all rows are usable."""
        return self.count(word)

    def pool(self, origin: Origin, n: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return all rows of a class, shape (m, d), and the indices of their media, shape (m,); n is ignored."""
        if origin.effect:
            raise ConfigError(
                f"{self.name} holds features only; {origin.effect!r} needs the sounds or images: choose another drift"
            )
        rows = np.flatnonzero(self.data.y == origin.word)
        return self.data.X[rows], self.data.index[rows]

    def medium(self, origin: Origin, index: int) -> NDArray | None:
        """Return one clip or image; None if the dataset has no source."""
        source = self.data.source
        return None if source is None else source.media(origin.word, [index])[0]


def check_count(feature_pool: FeaturePool, word: str, needed: int, found: int | None = None) -> None:
    """Raise a `DataError` if a class has fewer media (`found`, or its count) than a scenario needs."""
    have = feature_pool.count(word) if found is None else found
    if have < needed:
        raise DataError(
            f"the scenario needs {needed} samples of {word!r}; {feature_pool.name} has {have}: "
            "use fewer samples per class (--train, --per-class)"
        )


def pack_pool(pack: Pack) -> DatasetPool:
    """Return the feature pool of the prepared pack: the first class is the one that changes, the last one is new.

    The pack has no clips; the speech source generates the same clips again if it is installed.
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
