"""From media to features, through the cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.datasets.cache import FeatureCache
from tmlcd_core.datasets.dataset import Dataset, PartialSource, Source
from tmlcd_core.errors import ConfigError, DataError
from tmlcd_core.progress import Progress, silent

if TYPE_CHECKING:
    from tmlcd_core.features import Effect, Extractor

CHUNK = 256  # media at a time: 23 MB of clips, 39 MB of photographs
RECIPE = "1"  # to be raised when the same media and extractor give other features than before


def load(
    source: Source,
    classes: Sequence[str],
    per_class: int,
    extractor: Extractor | None,
    effect: Effect | None = None,
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
    effect
        A disturbance at full strength of every clip or image before the extractor.
    seed
        Of the effect's own randomness; clip i meets the same noise however many are asked for.
    cache
        `FeatureCache()` unless given.

    Examples
    --------
    >>> import tempfile
    >>> from tmlcd_core.datasets import DigitsSource, FeatureCache, load
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     data = load(DigitsSource(), ["3", "5"], 100, extractor=None, cache=FeatureCache(folder))
    >>> data.X.shape, round(float(data.X.mean()), 3)
    ((200, 64), 0.282)
    """
    if per_class < 1:
        raise ConfigError(f"per_class is {per_class}; ask for at least 1 clip or image of each class")
    if not classes or len(set(classes)) != len(classes):
        raise ConfigError(f"classes are {list(classes)}; name at least one, and none twice")
    if extractor is None and source.kind == "audio":
        raise ConfigError(f"{source.name} holds clips, which need an extractor; give Extractor()")
    if extractor is not None and source.kind == "vector":
        raise ConfigError(f"{source.name} holds vectors, which need no extractor; give None")
    cache = FeatureCache() if cache is None else cache
    wanted = {label: min(per_class, source.count(label)) for label in classes}
    make = _Maker(source, extractor, effect, seed)
    keys = (source.key, make.key)
    tell = _Counted(progress, sum(wanted.values()))
    parts = [_class_features(make, label, wanted[label], cache, keys, tell) for label in classes]
    return Dataset(
        name=source.name,
        X=np.concatenate([X for X, _ in parts]),
        y=np.repeat(np.array(classes), [len(index) for _, index in parts]),
        index=np.concatenate([index for _, index in parts]),
        source=source,
    )


def _class_features(
    make: _Maker, label: str, wanted: int, cache: FeatureCache, keys: tuple[str, ...], tell: _Counted
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Features and indices of the first `wanted` usable media of a class: from the cache, then new ones."""
    source = make.source
    blocks: list[NDArray[np.float32]] = []
    index: list[int] = []
    skipped: dict[str, str] = {}
    tried = 0
    if found := cache.fetch(source.name, label, keys):
        arrays, meta = found
        blocks, index, skipped = [arrays["X"]], arrays["index"].tolist(), meta["skipped"]
        tried = int(meta["tried"])
        if isinstance(source, PartialSource):
            source.skipped.update(skipped)
    cached, count = len(index), source.count(label)
    tell.add(min(cached, wanted), label)
    fresh = False
    while len(index) < wanted and tried < count:
        turn = range(tried, min(tried + min(CHUNK, wanted - len(index)), count))
        if isinstance(source, PartialSource):
            known = set(source.skipped)
            media, kept = source.read(label, turn)
            skipped |= {name: why for name, why in source.skipped.items() if name not in known}
        else:
            media, kept = source.media(label, turn), list(turn)
        if kept:
            blocks.append(make.features(label, media, kept))
            index += kept
        tried, fresh = turn.stop, True
        tell.add(len(kept), label)
    if not index:
        reasons = "; ".join(f"{name}: {why}" for name, why in list(skipped.items())[:3])
        raise DataError(
            f"class {label!r} of {source.name} has no usable clip or image ({reasons or 'it is empty'})"
        )
    X, order = np.concatenate(blocks), np.array(index, np.int64)
    if fresh:
        cache.store(
            source.name,
            label,
            keys,
            {"X": X, "index": order},
            {"rows": len(order), "tried": tried, "skipped": skipped},
        )
    return X[:wanted], order[:wanted]


class _Maker:
    """Media of one source to features, by one extractor and effect."""

    def __init__(self, source: Source, extractor: Extractor | None, effect: Effect | None, seed: int) -> None:
        self.source, self.extractor, self.effect, self.seed = source, extractor, effect, seed
        disturbed = f"{effect.key} {seed}" if effect is not None else "no effect"
        self.key = f"{RECIPE}\0{extractor.key if extractor is not None else 'raw'}\0{disturbed}"

    def features(self, label: str, media: NDArray, index: Sequence[int]) -> NDArray[np.float32]:
        if self.effect is not None:
            media = self.effect(media)
        if self.source.kind == "vector":
            return np.asarray(media, np.float32)
        if self.extractor is None:
            return np.asarray(media, np.float32).mean(axis=3).reshape(len(media), -1) / 255
        if self.source.kind == "image":
            return self.extractor.transform_images(media)
        return self.extractor.transform(self._resampled(media))

    def _resampled(self, clips: NDArray[np.float32]) -> NDArray[np.float32]:
        assert self.extractor is not None and self.source.sample_rate is not None
        have, want = self.source.sample_rate, self.extractor.sample_rate
        if have == want:
            return clips
        import soxr

        return np.stack([soxr.resample(clip, have, want) for clip in clips])


class _Counted:
    """Adds up what is done, for `progress`."""

    def __init__(self, progress: Progress, total: int) -> None:
        self.progress, self.total, self.done = progress, total, 0

    def add(self, rows: int, label: str) -> None:
        self.done += rows
        self.progress(self.done, self.total, f"features of {label}")
