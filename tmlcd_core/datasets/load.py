"""From media to features, through the cache."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tmlcd_core.datasets.cache import FeatureCache
from tmlcd_core.datasets.dataset import Dataset, PartialSource, PreparedSource, Source
from tmlcd_core.errors import ConfigError, DataError
from tmlcd_core.optional_packages import require
from tmlcd_core.progress import Progress, silent
from tmlcd_core.validation import whole_number

if TYPE_CHECKING:
    from tmlcd_core.features import Effect, Extractor

CHUNK = 256  # media at a time: 23 MB of clips, 39 MB of photographs
RECIPE = "1"  # to be raised when the same media, effect and extractor give other features than before


def load(
    source: Source,
    classes: Sequence[str],
    per_class: int,
    extractor: Extractor | None,
    effect: Effect | None = None,
    strength: float = 1.0,
    seed: int = 0,
    progress: Progress = silent,
    cache: FeatureCache | None = None,
) -> Dataset:
    """Features of the first `per_class` usable media of each class; fewer where a class has no more.

    Every class has a file of its own in the cache, and a longer request continues it: another word, or more
    clips of a word, costs only what is new.

    Parameters
    ----------
    source, classes, per_class
        What to take. Rows come class by class, in the order of `classes`.
    extractor
        None takes vectors as they are and images as grey pixels in 0..1.
    effect, strength
        What disturbs every clip or image before the extractor, from 0 (not at all) to 1 (fully).
    seed
        Of the effect's own randomness; clip i meets the same noise however many are asked for.
    cache
        `FeatureCache()` unless given. An effect that is not one of `EFFECTS` is computed anew each time.

    Examples
    --------
    >>> import tempfile
    >>> from tmlcd_core.datasets import DigitsSource, FeatureCache, load
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     data = load(DigitsSource(), ["3", "5"], 100, extractor=None, cache=FeatureCache(folder))
    >>> data.X.shape, round(float(data.X.mean()), 3)
    ((200, 64), 0.282)
    """
    whole_number("per_class", per_class, 1)
    if isinstance(classes, str) or not len(classes) or len(set(classes)) != len(classes):
        raise ConfigError(f"classes are {classes!r}; name at least one in a list, and none twice")
    if not 0 <= strength <= 1:
        raise ConfigError(f"strength is {strength}; give a number from 0 (none) to 1 (full)")
    way = _Way(source, extractor, effect, seed)
    counts = {label: source.count(label) for label in classes}
    shelf = _Shelf(FeatureCache() if cache is None else cache, way, strength)
    parts = [shelf.fetch(label, count, min(per_class, count)) for label, count in counts.items()]
    if isinstance(source, PreparedSource) and (short := [part.label for part in parts if part.short]):
        source.prepare(short, progress)
    tell = _Tally(progress, sum(part.wanted for part in parts))
    made = [_class_features(way, strength, part, shelf, tell) for part in parts]
    return Dataset(
        name=source.name,
        X=np.concatenate([X for X, _ in made]),
        y=np.repeat(np.array(classes), [len(index) for _, index in made]),
        index=np.concatenate([index for _, index in made]),
        source=source,
    )


def extract(
    source: Source,
    label: str,
    indices: Sequence[int],
    extractor: Extractor | None,
    effect: Effect | None = None,
    strength: ArrayLike = 1.0,
    seed: int = 0,
    progress: Progress = silent,
) -> NDArray[np.float32]:
    """Features of chosen media of one class, uncached: for a drift whose strength changes on the way.

    `strength` is one number or one for each index. Medium i has the features that `load` gives it at that
    strength.

    Examples
    --------
    >>> from tmlcd_core.datasets import DigitsSource
    >>> extract(DigitsSource(), "3", [7, 0, 7], extractor=None).shape
    (3, 64)
    """
    way = _Way(source, extractor, effect, seed)
    numbers, count = [int(i) for i in indices], source.count(label)
    if outside := [i for i in numbers if not 0 <= i < count]:
        raise DataError(f"{source.name} has no clip or image {outside[0]} of {label!r}: there are {count}, from 0 on")
    if np.shape(strength) not in ((), (len(numbers),)):
        raise ConfigError(f"strengths of shape {np.shape(strength)} for {len(numbers)} indices: give one, or one each")
    strengths = np.broadcast_to(np.asarray(strength, np.float64), len(numbers))
    blocks = []
    for start in range(0, len(numbers), CHUNK):
        part = numbers[start : start + CHUNK]
        blocks.append(way.features(label, source.media(label, part), part, strengths[start : start + CHUNK]))
        progress(start + len(part), len(numbers), f"features of {label}")
    if not blocks:
        raise ConfigError("no indices; name at least one clip or image")
    return np.concatenate(blocks)


def disturb(
    source: Source,
    label: str,
    media: NDArray,
    index: Sequence[int],
    effect: Effect,
    strength: ArrayLike,
    seed: int,
) -> NDArray:
    """Media of one class with the effect that `load` gives them."""
    # Clip i of one word and clip i of another are not to meet the same noise.
    own = int(np.random.SeedSequence([seed, zlib.crc32(label.encode())]).generate_state(1)[0])
    return effect(media, strength, seed=own, indices=index, sample_rate=source.sample_rate or 0)


@dataclass
class _Part:
    """One class on its way: what is known of the first `tried` of its `count` media, `wanted` being asked for."""

    label: str
    count: int
    wanted: int
    tried: int = 0
    blocks: list[NDArray[np.float32]] = field(default_factory=list)
    index: list[int] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)

    @property
    def short(self) -> bool:
        return len(self.index) < self.wanted and self.tried < self.count


def _class_features(
    way: _Way, strength: float, part: _Part, shelf: _Shelf, tell: _Tally
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Features and indices of the first `wanted` usable media of a class: what is missing is made and kept."""
    source, label, cached = way.source, part.label, part.tried
    if isinstance(source, PartialSource):
        source.skipped.update(part.skipped)
    tell.add(min(len(part.index), part.wanted), label)
    try:
        while part.short:
            turn = range(part.tried, min(part.tried + min(CHUNK, part.wanted - len(part.index)), part.count))
            if isinstance(source, PartialSource):
                media, kept, refused = source.read(label, turn)
                part.skipped |= refused
            else:
                media, kept = source.media(label, turn), list(turn)
            if kept:
                part.blocks.append(way.features(label, media, kept, strength))
                part.index += kept
            part.tried = turn.stop
            tell.add(len(kept), label)
    finally:  # someone who cancels half-way finds that half the next time
        X = np.concatenate(part.blocks) if part.blocks else np.empty((0, 0), np.float32)
        order = np.array(part.index, np.int64)
        if part.index and part.tried > cached:
            meta = {"rows": len(order), "tried": part.tried, "skipped": part.skipped}
            shelf.store(label, {"X": X, "index": order}, meta)
    if not part.index:
        reasons = "; ".join(f"{name}: {why}" for name, why in list(part.skipped.items())[:3])
        raise DataError(f"class {label!r} of {source.name} has no usable clip or image ({reasons or 'it is empty'})")
    return X[: part.wanted], order[: part.wanted]


@dataclass(frozen=True)
class _Way:
    """The way from one source's media to features."""

    source: Source
    extractor: Extractor | None
    effect: Effect | None
    seed: int

    def __post_init__(self) -> None:
        name, kind = self.source.name, self.source.kind
        if self.extractor is None and kind == "audio":
            raise ConfigError(f"{name} holds clips, which need an extractor; give Extractor()")
        if self.extractor is not None and kind == "vector":
            raise ConfigError(f"{name} holds vectors, which need no extractor; give None")
        whole_number("seed", self.seed, 0)
        if self.effect is not None and self.effect.kind != kind:
            raise ConfigError(f"{self.effect.name!r} is for {self.effect.kind}, and {name} holds {kind}")

    def features(self, label: str, media: NDArray, index: Sequence[int], strength: ArrayLike) -> NDArray[np.float32]:
        if self.effect is not None:
            media = disturb(self.source, label, media, index, self.effect, strength, self.seed)
        if self.source.kind == "vector":
            return np.asarray(media, np.float32)
        if self.extractor is None:
            return np.asarray(media, np.float32).mean(axis=3).reshape(len(media), -1) / 255
        if self.source.kind == "image":
            return self.extractor.transform_images(media)
        return self.extractor.transform(_resampled(media, self.source.sample_rate, self.extractor.sample_rate))


class _Shelf:
    """The cached classes of one way at one strength; none at all if they could not be told from others."""

    def __init__(self, cache: FeatureCache, way: _Way, strength: float) -> None:
        self.cache, self.source = cache, way.source.name
        disturbed, self.open = "no effect", True
        if way.effect is not None:
            from tmlcd_core.features import EFFECTS

            disturbed = f"{way.effect.name} {float(strength)!r} {way.seed}"
            self.open = EFFECTS.get(way.effect.name) is way.effect
        stem = way.extractor.key if way.extractor is not None else "raw"
        self.keys = (way.source.key, RECIPE, stem, disturbed)

    def fetch(self, label: str, count: int, wanted: int) -> _Part:
        found = self.cache.fetch(self.source, label, self.keys) if self.open else None
        if found is None:
            return _Part(label, count, wanted)
        arrays, meta = found
        return _Part(label, count, wanted, int(meta["tried"]), [arrays["X"]], arrays["index"].tolist(), meta["skipped"])

    def store(self, label: str, arrays: dict[str, NDArray], meta: dict) -> None:
        if self.open:
            self.cache.store(self.source, label, self.keys, arrays, meta)


class _Tally:
    """Adds up what is done, for `progress`."""

    def __init__(self, progress: Progress, total: int) -> None:
        self.progress, self.total, self.done = progress, total, 0

    def add(self, rows: int, label: str) -> None:
        self.done += rows
        self.progress(self.done, self.total, f"features of {label}")


def _resampled(clips: NDArray[np.float32], have: int | None, want: int) -> NDArray[np.float32]:
    if have is None or have == want:
        return clips
    require("soxr")
    import soxr

    return np.stack([soxr.resample(clip, have, want) for clip in clips])
