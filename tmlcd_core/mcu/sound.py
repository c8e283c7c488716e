"""NumPy version of the exported feature extractor: its tables and the C code's exact float32 arithmetic.

Sums have the order of the C code, without fused multiply-add, so the features equal those of the board bit by bit.
`Extractor.transform` uses librosa's arithmetic; a few cells of the spectrogram differ by one colour level.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.errors import ConfigError
from tmlcd_core.features import Extractor
from tmlcd_core.features.stem import load_stem

if TYPE_CHECKING:
    from tmlcd_core.mcu.budget import FirmwareConfiguration

FULL_SCALE = 32_768  # of int16 samples
SMALLEST_POWER = np.float32(1e-10)  # this and the constants below as in spectrogram.c
DB_PER_OCTAVE = np.float32(3.01029996)
TOP_DB = 80
DB_UNITS = 256  # steps of an int16 decibel
KERNEL = 7  # rows and columns of the convolution

Tables = Mapping[str, NDArray[np.float32]]


def sound_tables(c: FirmwareConfiguration, extractor: Extractor, fused: bool) -> Tables:
    """Return the extractor's constants in float32 by name; the C code has the prefix `tml_`.

    `window` (n_fft,), `twiddle` (n_fft / 2, 2) and `bias` (filters,); then `fused` (filters, 49, 256), or `viridis`
    (256, 3) and `filter` (filters, 49, 3).
    """
    if extractor.norm != "imagenet":
        raise ConfigError(f"norm={extractor.norm!r} has no C code: export with norm='imagenet'")
    i = np.arange(c.n_fft)
    window = 0.5 - 0.5 * np.cos(2 * np.pi * i / c.n_fft)
    if c.layout != "paper":
        window = window / FULL_SCALE  # int16 samples; scaling by a power of two is exact
    angles = 2 * np.pi * i[: c.n_fft // 2] / c.n_fft
    tables = {"window": window, "twiddle": np.stack([np.cos(angles), -np.sin(angles)], axis=1)}
    return {name: np.asarray(table, np.float32) for name, table in tables.items()} | filter_tables(extractor, fused)


def filter_tables(extractor: Extractor, fused: bool) -> dict[str, NDArray[np.float32]]:
    """Return the constants of the convolution, float32 by name: `bias` and the others of `sound_tables`."""
    kernels, bias = load_stem().folded(extractor.filters)
    taps = kernels.reshape(len(kernels), 3, KERNEL**2).transpose(0, 2, 1)  # filter, place, colour
    viridis = load_stem().viridis
    tables: dict[str, NDArray] = {"bias": bias}
    if fused:
        tables["fused"] = taps.astype(np.float64) @ viridis.T.astype(np.float64)
    else:
        tables |= {"viridis": viridis, "filter": taps}
    return {name: np.asarray(table, np.float32) for name, table in tables.items()}


def as_int16(clips: NDArray[np.floating]) -> NDArray[np.int16]:
    """Return clips (n, samples) in -1..1 as int16 samples."""
    return np.rint(clips * FULL_SCALE).clip(-FULL_SCALE, FULL_SCALE - 1).astype(np.int16)


def board_features(clips: NDArray[np.int16], c: FirmwareConfiguration, tables: Tables) -> NDArray[np.float32]:
    """Return the features of `tml_extract` for clips (n, sample_rate), shape (n, features)."""
    return np.stack([stem_features(_levels(_decibels(clip, c, tables), c), tables) for clip in clips])


def _decibels(clip: NDArray[np.int16], c: FirmwareConfiguration, tables: Tables) -> NDArray:
    """Decibels (bins, frames): float32 in the paper's layout, else int16 in steps of 1 / DB_UNITS."""
    paper = c.layout == "paper"
    half = c.n_fft // 2
    padded = np.zeros(max(len(clip), c.frames * c.hop) + 2 * c.n_fft, np.float32)  # centred windows, zeros outside
    padded[half : half + len(clip)] = clip
    if paper:
        padded *= np.float32(1 / FULL_SCALE)
    starts = np.arange(c.frames)[:, None] * c.hop
    re, im = real_spectrum(padded[starts + np.arange(c.n_fft)] * tables["window"], tables["twiddle"])
    power = np.maximum(re * re + im * im, SMALLEST_POWER)
    db = (DB_PER_OCTAVE * log2_of(power) * np.float32(1 if paper else DB_UNITS)).T
    if paper:
        return db
    db = np.minimum(db, np.float32(32_767))
    return np.trunc(db + np.where(db < 0, np.float32(-0.5), np.float32(0.5))).astype(np.int32)


def real_spectrum(
    windows: NDArray[np.float32], twiddle: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return real and imaginary parts, each (frames, bins), of the transforms of windows (frames, n_fft).

    `twiddle` is (n_fft / 2, 2): cos and -sin. Two real transforms are packed in one complex.
    """
    frames, n_fft = windows.shape
    size = n_fft // 2
    bits = size.bit_length() - 1
    reverse = np.array([int(f"{i:0{bits}b}"[::-1], 2) for i in range(size)])
    re, im = windows[:, 0::2][:, reverse], windows[:, 1::2][:, reverse]
    half = 1
    while half < size:
        cos, sin = twiddle[:: size // half].T[:, :half]
        re, im = (part.reshape(frames, -1, 2, half) for part in (re, im))
        a, b = (re[:, :, 0], im[:, :, 0]), (re[:, :, 1], im[:, :, 1])
        turned = b[0] * cos - b[1] * sin, b[0] * sin + b[1] * cos
        re, im = (np.stack([a[i] + turned[i], a[i] - turned[i]], axis=2).reshape(frames, size) for i in (0, 1))
        half *= 2
    k = np.arange(1, size // 2 + 1)
    (a_re, a_im), (b_re, b_im) = (re[:, k], im[:, k]), (re[:, size - k], im[:, size - k])
    middle = np.float32(0.5)
    even = middle * (a_re + b_re), middle * (a_im - b_im)
    odd = middle * (a_im + b_im), middle * (b_re - a_re)
    cos, sin = twiddle[k].T
    turned = odd[0] * cos - odd[1] * sin, odd[0] * sin + odd[1] * cos
    out_re, out_im = np.zeros((2, frames, size + 1), np.float32)
    out_re[:, 0], out_re[:, size] = re[:, 0] + im[:, 0], re[:, 0] - im[:, 0]
    out_re[:, k], out_im[:, k] = even[0] + turned[0], even[1] + turned[1]
    out_re[:, size - k], out_im[:, size - k] = even[0] - turned[0], turned[1] - even[1]
    return out_re, out_im


def log2_of(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return tml_log2f of mathfn.c for positive x of any shape (n, …), float32."""
    f = np.float32
    bits = x.view(np.uint32)
    exponent = (bits >> 23).astype(np.int32) - 127
    m = ((bits & np.uint32(0x007FFFFF)) | np.uint32(0x3F800000)).view(np.float32)
    large = m > f(1.41421356)
    m, exponent = np.where(large, m * f(0.5), m), exponent + large
    t = (m - f(1)) / (m + f(1))
    s = t * t
    series = f(1) + s * (f(0.33333333) + s * (f(0.2) + s * (f(0.14285714) + s * f(0.11111111))))
    return exponent.astype(np.float32) + f(2.88539008) * t * series


def _levels(db: NDArray, c: FirmwareConfiguration) -> NDArray[np.intp]:
    """Levels 0..255 (bins, frames) between the clip's minimum, at most TOP_DB down, and its maximum."""
    low, high = db.min(), db.max()
    if c.layout == "paper":
        low = high - np.float32(TOP_DB) if high - low > TOP_DB else low
        scaled = np.float32(256) * ((db - low) / (high - low or np.float32(1)))
    else:
        low = max(low, high - TOP_DB * DB_UNITS)
        scaled = 256 * (db - low) // (high - low or 1)
    return np.clip(scaled, 0, 255).astype(np.intp)


def stem_features(levels: NDArray[np.intp], tables: Tables) -> NDArray[np.float32]:
    """Return the features of `tml_stem` for levels 0..255 (bins, frames), shape (features,).

    They are colours, a 7x7 convolution of stride 2, ReLU, and a 3x3 maximum of stride 2.
    """
    rows, columns = ((size - 1) // 2 + 1 for size in levels.shape)
    pad = KERNEL // 2
    inside = np.pad(np.ones(levels.shape, bool), pad)
    padded = np.pad(levels, pad)
    map_rows, map_columns = (rows - 1) // 2 + 1, (columns - 1) // 2 + 1
    maps = []
    for number, bias in enumerate(tables["bias"]):
        total = np.full((rows, columns), bias, np.float32)
        for tap in range(KERNEL**2):
            place = (slice(tap // KERNEL, tap // KERNEL + 2 * rows - 1, 2),
                     slice(tap % KERNEL, tap % KERNEL + 2 * columns - 1, 2))  # fmt: skip
            np.add(total, _contribution(tables, number, tap)[padded[place]], out=total, where=inside[place])
        ringed = np.zeros((2 * map_rows + 1, 2 * map_columns + 1), np.float32)
        ringed[1 : rows + 1, 1 : columns + 1] = total
        parts = [
            ringed[r : r + 2 * map_rows - 1 : 2, s : s + 2 * map_columns - 1 : 2] for r in range(3) for s in range(3)
        ]
        maps.append(np.maximum(np.max(parts, axis=0), np.float32(0)))
    return np.concatenate([part.ravel() for part in maps])


def _contribution(tables: Tables, number: int, tap: int) -> NDArray[np.float32]:
    """Contribution of each level at one tap of a filter, shape (256,)."""
    if "fused" in tables:
        return tables["fused"][number, tap]
    products = tables["viridis"] * tables["filter"][number, tap]
    return products[:, 0] + products[:, 1] + products[:, 2]
