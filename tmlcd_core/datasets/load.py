"""Loading of features: media, effect and extractor, with a cache."""

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
    from tmlcd_core.features.speech_extractor import SpeechExtractor

CHUNK = 64  # media at a time, then progress is reported: 6 MB of clips, 10 MB of photographs
RECIPE = "1"  # version, part of the cache key: increase it if the same settings would give other features


def load(
    source: Source,
    classes: Sequence[str],
    per_class: int,
    extractor: Extractor | SpeechExtractor | None,
    effect: Effect | None = None,
    strength: float = 1.0,
    seed: int = 0,
    progress: Progress = silent,
    cache: FeatureCache | None = None,
) -> Dataset:
    """Load the features of the first `per_class` usable media of each class, or of all if a class has fewer.

    Each class has its own file in the cache, and a larger request extends it: only new classes and additional media
    are computed.

    Parameters
    ----------
    source, classes, per_class
        Source, labels and number of media per class. Rows are ordered by class, in the order of `classes`.
    extractor
        Feature extractor; with None, vectors are used unchanged and images as grey pixels in 0..1.
    effect, strength
        Effect applied to every clip or image before the extractor, with a strength from 0 (none) to 1 (full).
    seed
        Seed of the effect; the noise of clip i does not depend on the number of clips.
    progress
        Progress callback.
    cache
        By default `FeatureCache()`. An effect that is not in `EFFECTS` is not cached.

    Returns
    -------
    Dataset
        Features (n, d), labels and indices.

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
        raise ConfigError(f"classes are {classes!r}; pass a list with at least one class and no class twice")
    if not 0 <= strength <= 1:
        raise ConfigError(f"strength is {strength}; choose a number from 0 (none) to 1 (full)")
    pipeline = _Pipeline(source, extractor, effect, seed)
    counts = {label: source.count(label) for label in classes}
    pipeline_cache = _PipelineCache(FeatureCache() if cache is None else cache, pipeline, strength)
    parts = [pipeline_cache.fetch(label, count, min(per_class, count)) for label, count in counts.items()]
    if isinstance(source, PreparedSource) and (
        short := [class_progress.label for class_progress in parts if class_progress.short]
    ):
        source.prepare(short, progress)
    counter = _Counter(progress, sum(class_progress.wanted for class_progress in parts))
    made = [_class_features(pipeline, strength, class_progress, pipeline_cache, counter) for class_progress in parts]
    return Dataset(
        name=source.name,
        X=np.concatenate([X for X, _ in made]),
        y=np.repeat(np.array(classes), [len(index) for _, index in made]),
        index=np.concatenate([index for _, index in made]),
        source=source,
    )


def disturb(
    source: Source,
    label: str,
    media: NDArray,
    index: Sequence[int],
    effect: Effect,
    strength: ArrayLike,
    seed: int,
) -> NDArray:
    """Return media (n, …) of one class with an effect, as in `load`; `strength` is one number or shape (n,)."""
    # Clip i of two different words must not get the same noise.
    own = int(np.random.SeedSequence([seed, zlib.crc32(label.encode())]).generate_state(1)[0])
    return effect(media, strength, seed=own, indices=index, sample_rate=source.sample_rate or 0)


@dataclass
class _ClassProgress:
    """Progress of one class: features of the first `tried` of `count` media, of which `wanted` are requested."""

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
    pipeline: _Pipeline,
    strength: float,
    class_progress: _ClassProgress,
    pipeline_cache: _PipelineCache,
    counter: _Counter,
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Features and indices of the first `wanted` usable media of a class; missing ones are computed and cached."""
    source, label, cached = pipeline.source, class_progress.label, class_progress.tried
    if isinstance(source, PartialSource):
        source.skipped.update(class_progress.skipped)
    counter.add(min(len(class_progress.index), class_progress.wanted), label)
    try:
        while class_progress.short:
            turn = range(
                class_progress.tried,
                min(
                    class_progress.tried + min(CHUNK, class_progress.wanted - len(class_progress.index)),
                    class_progress.count,
                ),
            )
            if isinstance(source, PartialSource):
                media, kept, refused = source.read(label, turn)
                class_progress.skipped |= refused
            else:
                media, kept = source.media(label, turn), list(turn)
            if kept:
                class_progress.blocks.append(pipeline.features(label, media, kept, strength))
                class_progress.index += kept
            class_progress.tried = turn.stop
            counter.add(len(kept), label)
    finally:  # also cache a part if the user cancels
        X = np.concatenate(class_progress.blocks) if class_progress.blocks else np.empty((0, 0), np.float32)
        order = np.array(class_progress.index, np.int64)
        if class_progress.index and class_progress.tried > cached:
            meta = {"rows": len(order), "tried": class_progress.tried, "skipped": class_progress.skipped}
            pipeline_cache.store(label, {"X": X, "index": order}, meta)
    if not class_progress.index:
        reasons = "; ".join(f"{name}: {why}" for name, why in list(class_progress.skipped.items())[:3])
        raise DataError(f"class {label!r} of {source.name} has no usable clip or image ({reasons or 'it is empty'})")
    return X[: class_progress.wanted], order[: class_progress.wanted]


@dataclass(frozen=True)
class _Pipeline:
    """The pipeline from one source's media to features."""

    source: Source
    extractor: Extractor | SpeechExtractor | None
    effect: Effect | None
    seed: int

    def __post_init__(self) -> None:
        name, kind = self.source.name, self.source.kind
        if self.extractor is None and kind == "audio":
            raise ConfigError(f"{name} has clips, which need an extractor; pass Extractor()")
        if self.extractor is not None and kind == "vector":
            raise ConfigError(f"{name} has vectors, which need no extractor; pass None")
        whole_number("seed", self.seed, 0)
        if self.effect is not None and self.effect.kind != kind:
            raise ConfigError(
                f"{self.effect.name!r} is for {self.effect.kind}, but {name} has {kind}: choose another effect"
            )

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


class _PipelineCache:
    """Cache of one pipeline at one strength; disabled for effects that have no unique name."""

    def __init__(self, cache: FeatureCache, pipeline: _Pipeline, strength: float) -> None:
        self.cache, self.source = cache, pipeline.source.name
        disturbed, self.open = "no effect", True
        if pipeline.effect is not None:
            from tmlcd_core.features import EFFECTS

            disturbed = f"{pipeline.effect.name} {float(strength)!r} {pipeline.seed}"
            self.open = EFFECTS.get(pipeline.effect.name) is pipeline.effect
        stem = pipeline.extractor.key if pipeline.extractor is not None else "raw"
        self.keys = (pipeline.source.key, RECIPE, stem, disturbed)

    def fetch(self, label: str, count: int, wanted: int) -> _ClassProgress:
        found = self.cache.fetch(self.source, label, self.keys) if self.open else None
        if found is None:
            return _ClassProgress(label, count, wanted)
        arrays, meta = found
        return _ClassProgress(
            label, count, wanted, int(meta["tried"]), [arrays["X"]], arrays["index"].tolist(), meta["skipped"]
        )

    def store(self, label: str, arrays: dict[str, NDArray], meta: dict) -> None:
        if self.open:
            self.cache.store(self.source, label, self.keys, arrays, meta)


class _Counter:
    """Counter of completed rows, reported to `progress`."""

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
