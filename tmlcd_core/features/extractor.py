"""Feature extractor of the paper: from one second of sound, or an image, to maps of ResNet-18's first layer."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tmlcd_core.errors import AudioError, ConfigError, DataError
from tmlcd_core.features import spectrogram
from tmlcd_core.features.audio import fit_length
from tmlcd_core.features.images import IMAGE_SIZE, fit_image
from tmlcd_core.features.stem import (
    N_FILTERS,
    apply_stem,
    apply_stem_by_clip,
    imagenet_table,
    load_stem,
    output_size,
    torch_stem,
    viridis_table,
)
from tmlcd_core.optional_packages import require
from tmlcd_core.progress import Progress, silent
from tmlcd_core.validation import whole_number

PAPER_FILTER = 51  # highest mean activation after the max-pool on ImageNet (the authors' choice)
SECONDS = 1  # length of a clip (paper, Sec. 7.3)
CLIP_BATCH = 16  # the double-precision spectra of 16 clips (3 MB) fit into a processor's second-level cache
IMAGE_BATCH = 16
NORMS = ("imagenet", "clip")
RECIPE = 2  # version, part of `key`: increase it if the same settings would give other features


@dataclass(frozen=True, eq=False)
class AudioStages:
    """Intermediate results of the extractor for one clip.

    `waveform` (samples,), `decibels` (bins, frames) in -80..0, `plane` (bins, frames) the same scaled to 0..1,
    `coloured` (bins, frames, 3) in 0..1, `maps` (f, h, w). Row 0 of a spectrogram is 0 Hz.
    """

    waveform: NDArray[np.float32]
    decibels: NDArray[np.float32]
    plane: NDArray[np.float32]
    coloured: NDArray[np.float32]
    maps: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class ImageStages:
    """Intermediate results of the extractor for one image.

    `image` unchanged, `cropped` uint8 (224, 224, 3), `normalised` float32 (224, 224, 3), `maps` (f, 56, 56).
    """

    image: NDArray[np.uint8]
    cropped: NDArray[np.uint8]
    normalised: NDArray[np.float32]
    maps: NDArray[np.float32]


@dataclass(frozen=True)
class Extractor:
    """Feature extractor: ResNet-18 cut after its first max-pool, with selected filters.

    A clip becomes a spectrogram in decibels below its maximum, coloured by viridis; an image is resized, cropped to
    224x224 and normalised as for ImageNet. Then follow the 7x7 convolution, batch normalisation, ReLU and max-pool.
    Media are processed `batch_size` at a time, so the extra memory is constant. The kernel is compiled by numba and
    does not need torch; with one filter it is several times as fast as torch's convolution.

    Parameters
    ----------
    filters
        Filters to keep out of 64, in this order.
    sample_rate
        Sample rate of the clips in Hz: 22050 in the paper, 4410 in its variant for the smallest board (with n_fft =
        hop = 128).
    n_fft
        Window of the short-time Fourier transform, in samples.
    hop
        Step between two windows, in samples.
    norm
        Statistics of the batch normalisation: "imagenet" (running statistics, the network in evaluation mode) or "clip"
        (mean and variance of each clip's or image's own map, as in the authors' code: the network stays in training
        mode, with batches of one).
    engine
        "numba", or "torch" to use torch's layers with the same weights; the results are equal within rounding, so it
        is not part of `key`.

    Examples
    --------
    >>> extractor = Extractor()
    >>> extractor.shape, extractor.n_features
    ((1, 65, 11), 715)
    >>> noise = np.random.default_rng(0).normal(0, 0.1, (2, 22050)).astype(np.float32)
    >>> round(float(extractor.transform(noise).mean()), 3)
    0.574

    References
    ----------
    Disabato, Roveri: Tiny machine learning for concept drift, Sec. 7.3.
    """

    filters: tuple[int, ...] = (PAPER_FILTER,)
    sample_rate: int = 22_050
    n_fft: int = 512
    hop: int = 512
    norm: Literal["imagenet", "clip"] = "imagenet"
    engine: Literal["numba", "torch"] = field(default="numba", compare=False)

    def __post_init__(self) -> None:
        filters = np.atleast_1d(np.asarray(self.filters)).tolist()
        whole = all(isinstance(f, int) and 0 <= f < N_FILTERS for f in filters)
        if not whole or not filters or len(set(filters)) != len(filters):
            raise ConfigError(f"filters={self.filters!r}: choose different numbers from 0 to {N_FILTERS - 1}")
        object.__setattr__(self, "filters", tuple(filters))
        for name in ("sample_rate", "n_fft", "hop"):
            object.__setattr__(self, name, whole_number(name, getattr(self, name), 1))
        if not 1_000 <= self.sample_rate <= 192_000:
            raise ConfigError(f"sample_rate={self.sample_rate}: choose a rate from 1000 to 192000 Hz")
        if not 16 <= self.n_fft <= self.samples:
            raise ConfigError(f"n_fft={self.n_fft}: choose 16 to {self.samples} samples (one second)")
        least = max(16, self.n_fft // 8)  # more overlap would take gigabytes without new information
        if not least <= self.hop <= self.samples:
            raise ConfigError(f"hop={self.hop}: choose {least} to {self.samples} samples (an eighth of n_fft or more)")
        if self.norm not in NORMS:
            raise ConfigError(f"norm={self.norm!r}: choose {' or '.join(map(repr, NORMS))}")
        if self.engine not in ("numba", "torch"):
            raise ConfigError(f"engine={self.engine!r}: choose 'numba' or 'torch'")

    @classmethod
    def at_rate(cls, sample_rate: int) -> Extractor:
        """Return the extractor with the paper's filter at another rate; the window keeps its length in seconds."""
        window = 512 if sample_rate > 11_025 else 256 if sample_rate > 5_512 else 128
        return cls(sample_rate=sample_rate, n_fft=window, hop=window)

    @property
    def samples(self) -> int:
        """Number of samples of one clip."""
        return SECONDS * self.sample_rate

    @property
    def key(self) -> str:
        """Digest of all settings and weights that determine the features; used in cache names."""
        settings: tuple[object, ...] = (RECIPE, self.filters, self.sample_rate, self.n_fft, self.hop)
        if self.norm != "imagenet":
            settings += (self.norm,)
        return hashlib.sha256(repr(settings).encode() + load_stem().conv1.tobytes()).hexdigest()[:16]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Filters, rows (frequency) and columns (time) of a clip's maps."""
        frames = spectrogram.frame_count(self.samples, self.n_fft, self.hop)
        return len(self.filters), output_size(self.n_fft // 2 + 1), output_size(frames)

    @property
    def n_features(self) -> int:
        """Number of features of a clip."""
        return int(np.prod(self.shape))

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Filters, rows and columns of an image's maps."""
        return len(self.filters), output_size(IMAGE_SIZE), output_size(IMAGE_SIZE)

    def transform(
        self, clips: ArrayLike, *, batch_size: int = CLIP_BATCH, progress: Progress = silent
    ) -> NDArray[np.float32]:
        """Return the features, float32 (n, n_features), of clips (n, samples); one clip (samples,) gives n = 1.

        A clip shorter than one second is repeated; of a longer clip the first second is used.
        """
        waves = as_waves(clips)
        features = np.empty((len(waves), self.n_features), np.float32)
        for start in _batches(len(waves), batch_size, progress, "clips"):
            batch = fit_length(waves[start : start + batch_size], self.samples)
            db = spectrogram.decibels(batch, self.n_fft, self.hop)
            maps = self._clip_maps(spectrogram.stretch(db)[1])
            features[start : start + batch_size] = maps.reshape(len(maps), -1)
        return features

    def transform_images(
        self,
        images: NDArray[np.uint8] | Sequence[NDArray[np.uint8]],
        *,
        batch_size: int = IMAGE_BATCH,
        progress: Progress = silent,
    ) -> NDArray[np.float32]:
        """Return the features, float32 (n, f * 56 * 56), of uint8 images (height, width, 3) or (height, width).

        The images may have different sizes. One image (height, width, 3) gives n = 1.
        """
        images = _several(images)
        features = np.empty((len(images), int(np.prod(self.image_shape))), np.float32)
        for start in _batches(len(images), batch_size, progress, "images"):
            cropped = np.stack([fit_image(image) for image in images[start : start + batch_size]])
            maps = self._image_maps(cropped)
            features[start : start + batch_size] = maps.reshape(len(maps), -1)
        return features

    def stages(self, clip: ArrayLike) -> AudioStages:
        """Return the intermediate results for one clip, shape (samples,) or (1, samples)."""
        wave = as_waves(clip)
        if len(wave) != 1:
            raise AudioError(f"stages takes one clip, not {len(wave)}: index the batch first")
        wave = fit_length(wave, self.samples).astype(np.float32)
        db = spectrogram.decibels(wave, self.n_fft, self.hop)
        plane, levels = spectrogram.stretch(db)
        colours = load_stem().viridis[levels[0].T]
        return AudioStages(wave[0], db[0].T, plane[0].T, colours, self._clip_maps(levels)[0])

    def image_stages(self, image: NDArray[np.uint8]) -> ImageStages:
        """Return the intermediate results for one image, uint8 (height, width, 3) or (height, width)."""
        cropped = fit_image(image)
        normalised = np.stack([table[cropped[..., c]] for c, table in enumerate(imagenet_table())], axis=-1)
        return ImageStages(image, cropped, normalised, self._image_maps(cropped[None])[0])

    def _clip_maps(self, levels: NDArray[np.uint8]) -> NDArray[np.float32]:
        if self.engine == "torch":
            return self._torch_maps(load_stem().viridis[levels].transpose(0, 3, 2, 1))
        # Frames come first in memory: transpose the kernels and the small maps instead of the spectrograms.
        return self._maps(levels[:, None], viridis_table(), upright=False).transpose(0, 1, 3, 2)

    def _image_maps(self, cropped: NDArray[np.uint8]) -> NDArray[np.float32]:
        planes, table = np.ascontiguousarray(cropped.transpose(0, 3, 1, 2)), imagenet_table()
        if self.engine == "torch":
            return self._torch_maps(np.stack([table[c][planes[:, c]] for c in range(3)], axis=1))
        return self._maps(planes, table, upright=True)

    def _maps(self, levels: NDArray[np.uint8], table: NDArray[np.float32], upright: bool) -> NDArray[np.float32]:
        kernels, offset = _parts(self.filters, self.norm, upright)
        if self.norm == "clip":
            return apply_stem_by_clip(levels, table, kernels, self.filters)
        return apply_stem(levels, table, kernels, offset)

    def _torch_maps(self, coloured: NDArray[np.float32]) -> NDArray[np.float32]:
        require("torch")
        import torch

        with torch.inference_mode():
            images = torch.from_numpy(np.ascontiguousarray(coloured))
            return torch_stem(self.filters, self.norm)(images).numpy()


def select_filters(
    media: NDArray | Sequence[NDArray[np.uint8]], f: int, *, extractor: Extractor | None = None
) -> tuple[int, ...]:
    """Return the f filters with the highest mean activation after the max-pool on a reference set, best first.

    This is the paper's dimensionality reduction, "filter selection without supervised information". `media` of uint8
    are images (n, height, width, 3), all others clips (n, samples) at the extractor's sample rate. On ImageNet it
    selects filter 51 for f = 1.
    """
    f, media = whole_number("f", f, 1, N_FILTERS), _several(media)
    if len(media) == 0:
        raise DataError("the reference set is empty: pass at least one image or clip")
    every = replace(extractor or Extractor(), filters=tuple(range(N_FILTERS)))
    images = np.asarray(media[0]).dtype == np.uint8
    total = np.zeros(N_FILTERS)
    for start in range(0, len(media), CLIP_BATCH):
        part = media[start : start + CLIP_BATCH]
        maps = every.transform_images(part) if images else every.transform(np.asarray(part))
        total += maps.reshape(len(part), N_FILTERS, -1).mean(axis=2, dtype=np.float64).sum(axis=0)
    return tuple(np.argsort(-total, kind="stable")[:f].tolist())


def _several(media: NDArray | Sequence[NDArray]) -> NDArray | Sequence[NDArray]:
    """Wrap one clip (samples,) or image (height, width, 3) in a list; return several unchanged."""
    shape = media.shape if isinstance(media, np.ndarray) else ()
    return [np.asarray(media)] if len(shape) == 1 or (len(shape) == 3 and shape[2] == 3) else media


def as_waves(clips: ArrayLike) -> NDArray:
    """Return clips (n, samples) or one clip (samples,) as an array (n, samples); others are an `AudioError`."""
    waves = np.asarray(clips)
    if waves.ndim == 1:
        waves = waves[None]
    if waves.ndim != 2 or waves.shape[1] == 0 or waves.dtype.kind not in "iuf":
        raise AudioError(
            f"clips of type {waves.dtype} and shape {waves.shape}: pass numbers (n, samples); for images use "
            "`transform_images`"
        )
    return waves


def _batches(n: int, size: int, progress: Progress, what: str) -> Iterable[int]:
    if size < 1:
        raise ConfigError(f"batch_size={size}: choose at least 1")
    for start in range(0, n, size):
        yield start
        progress(min(start + size, n), n, what)


@lru_cache(maxsize=16)
def _parts(filters: tuple[int, ...], norm: str, upright: bool) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Kernels (f, 3, 7, 7), transposed if not `upright`, and offsets (f,) of the filters."""
    stem = load_stem()
    kernels, offset = stem.folded(filters) if norm == "imagenet" else (stem.rising(filters), stem.bias[list(filters)])
    return kernels if upright else np.ascontiguousarray(kernels.transpose(0, 1, 3, 2)), offset
