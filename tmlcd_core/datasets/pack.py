"""Data pack in `data/`: the features of one experiment of the paper and a few clips for playback.

With it the app can show a run before eSpeak, torch or a sound library is loaded: reading it needs only numpy.

Features are stored as one byte each, scaled between the feature's minimum and maximum. That keeps 99.8 % of a kNN's
decisions on the 3,750 clips of the stream's first three words (as many as float16 at twice the size), and 98.3 % if
each kNN condenses its own copy of the training set. Differences between neighbours in frequency are compressed with
zlib: the paper's 4,800 clips of three words and a new one take 2.3 MB, as with xz, and unpack nine times as fast.
"""

from __future__ import annotations

import contextlib
import io
import zlib
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.datasets.arrayfile import read_arrays, write_arrays
from tmlcd_core.datasets.cache import FeatureCache
from tmlcd_core.datasets.dataset import Dataset, Source
from tmlcd_core.datasets.load import load
from tmlcd_core.errors import ConfigError, DataError
from tmlcd_core.optional_packages import require
from tmlcd_core.progress import Progress, silent
from tmlcd_core.shipped_data import PLACE

if TYPE_CHECKING:
    from tmlcd_core.features import Extractor

WORDS = ("yes", "no", "up", "stop")  # three initial words; after the change, "stop" replaces "up"
TRAIN, PER_CLASS = 100, 1500  # initial clips and clips in the stream, per class (paper, Sec. 7.3)
CLIPS = 2  # for playback, per word
MAX_BYTES = 3_000_000
FILE = "default.pack"
LEVELS = 255


@dataclass(frozen=True)
class Pack:
    """Data of the default experiment: `train` + `per_class` clips of each class; `new` replaces `old` half-way.

    `data` has `train + per_class` rows of the words that remain, `train + per_class / 2` of `old` and `per_class / 2`
    of `new`; `clips` are FLAC files for playback, by word.
    """

    data: Dataset
    words: tuple[str, ...]
    old: str
    new: str
    train: int
    per_class: int
    clips: dict[str, tuple[Path, ...]]


def pack_key() -> str:
    """Return a digest of the shipped pack, part of the key of results."""
    return f"pack {blake2b((PLACE / FILE).read_bytes(), digest_size=8).hexdigest()}"


def make_pack(
    folder: str | Path,
    source: Source,
    extractor: Extractor,
    words: tuple[str, ...] = WORDS,
    train: int = TRAIN,
    per_class: int = PER_CLASS,
    progress: Progress = silent,
    cache: FeatureCache | None = None,
) -> int:
    """Write the pack to `folder` and return its size in bytes; the last word replaces the one before it half-way."""
    if source.kind != "audio":
        raise ConfigError(f"{source.name} has no clips; choose a source of audio")
    if len(words) < 3:
        raise ConfigError(f"words are {list(words)}; pass at least two initial words and a new one")
    *stay, old, new = words
    rows = dict.fromkeys(stay, train + per_class)
    rows |= {old: train + per_class // 2, new: per_class // 2}
    parts = [load(source, [word], n, extractor, progress=progress, cache=cache) for word, n in rows.items()]
    for word, part in zip(rows, parts, strict=True):
        if len(part.X) < rows[word]:
            raise DataError(f"{source.name} has {len(part.X)} usable clips of {word!r}; the pack needs {rows[word]}")
    X = np.concatenate([part.X for part in parts])
    low = X.min(axis=0)
    step = (X.max(axis=0) - low) / LEVELS
    levels = np.rint((X - low) / np.where(step > 0, step, 1)).astype(np.uint8)
    packed = zlib.compress(_differences(levels.reshape(-1, *extractor.shape)).tobytes(), 9)
    folder = Path(folder)
    heard = _write_clips(folder / "clips", source, {word: len(part.X) for word, part in zip(rows, parts, strict=True)})
    size = heard + write_arrays(
        folder / FILE,
        {
            "packed": np.frombuffer(packed, np.uint8),
            "low": low,
            "step": step,
            "index": np.concatenate([part.index for part in parts]).astype(np.int32),
        },
        {
            "name": source.name,
            "rows": rows,
            "shape": extractor.shape,
            "old": old,
            "new": new,
            "train": train,
            "per_class": per_class,
            "source": source.key,
            "extractor": extractor.key,
        },
    )
    if size > MAX_BYTES:
        raise DataError(f"the pack has {size} bytes, more than {MAX_BYTES}; take fewer words or clips")
    return size


@dataclass(frozen=True, eq=False)
class PackLevels:
    """Content of the pack as stored: one byte per feature, zlib unpacked.

    `rows` is the number of samples by word, `shape` that of a feature map (filters, frequency, time), `differences` the
    bytes of `_differences`; feature i is its level times `step[i]` plus `low[i]`, in float32.
    """

    rows: dict[str, int]
    shape: tuple[int, int, int]
    low: NDArray[np.float32]
    step: NDArray[np.float32]
    differences: bytes
    index: NDArray[np.int32]
    about: dict[str, Any]


def load_levels(folder: str | Path | None = None) -> PackLevels:
    """Return the stored bytes of the pack of `folder`, by default the shipped one."""
    folder = PLACE if folder is None else Path(folder)
    try:
        arrays, meta = read_arrays(folder / FILE)
    except FileNotFoundError:
        raise DataError(
            f"there is no pack in {folder}; make one with `python -m tmlcd_core data pack --out {folder}`"
        ) from None
    unpacked = zlib.decompress(arrays["packed"].data)
    return PackLevels(meta["rows"], meta["shape"], arrays["low"], arrays["step"], unpacked, arrays["index"], meta)


def load_pack(folder: str | Path | None = None) -> Pack:
    """Return the `Pack` of `folder`, by default the shipped one."""
    folder = PLACE if folder is None else Path(folder)
    stored = load_levels(folder)
    rows, meta = stored.rows, stored.about
    f, height, width = stored.shape
    unpacked = np.frombuffer(stored.differences, np.uint8)
    levels = _levels(unpacked.reshape(-1, f, width, height)).reshape(sum(rows.values()), -1)
    X = levels.astype(np.float32)
    X *= stored.step
    X += stored.low
    words = tuple(rows)
    return Pack(
        data=Dataset(meta["name"], X, np.repeat(np.array(words), list(rows.values())), stored.index.astype(np.int64)),
        words=words[:-1],
        old=meta["old"],
        new=meta["new"],
        train=meta["train"],
        per_class=meta["per_class"],
        clips={word: tuple(sorted((folder / "clips").glob(f"{_name(word)}-*.flac"))) for word in words},
    )


def _differences(maps: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Maps (n, f, frequency, time) as (n, f, time, frequency), each value less its neighbour, modulo 256."""
    return np.diff(maps.transpose(0, 1, 3, 2), axis=3, prepend=np.uint8(0))


def _levels(differences: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Inverse of `_differences`."""
    return np.add.accumulate(differences, axis=3, dtype=np.uint8).transpose(0, 1, 3, 2)


def _write_clips(folder: Path, source: Source, rows: dict[str, int]) -> int:
    require("soundfile")
    import soundfile

    with contextlib.suppress(DataError):  # no pack yet, or a damaged one
        for old in chain(*load_pack(folder.parent).clips.values()):
            old.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    size = 0
    for word, n in rows.items():
        chosen = range(min(CLIPS, n))
        for number, clip in zip(chosen, source.media(word, chosen), strict=True):
            soundfile.write(buffer := io.BytesIO(), clip, source.sample_rate, format="FLAC", subtype="PCM_16")
            size += (folder / f"{_name(word)}-{number}.flac").write_bytes(buffer.getvalue())
    return size


def _name(word: str) -> str:
    """File name of a word: the word itself if it has only ASCII letters, otherwise a number."""
    return word if word.isascii() and word.isalpha() else f"word{zlib.crc32(word.encode()):08x}"
