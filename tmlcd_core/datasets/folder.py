"""Folder source: the user's own clips or images, labelled by folder or by file name."""

from __future__ import annotations

import math
import os
import re
import stat
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.datasets.dataset import Kind
from tmlcd_core.errors import DataError
from tmlcd_core.progress import Progress, silent

AUDIO = frozenset({".wav", ".flac", ".ogg", ".mp3"})
IMAGES = frozenset({".jpg", ".jpeg", ".png"})
SAMPLE_RATE = 22_050  # Hz, to which clips are resampled (paper, Sec. 7.3)
LARGEST_FILE = 256 * 2**20  # bytes; too large for one clip or photograph
EXPECTED = (
    "expected one folder per class with wav, flac, ogg or mp3 clips or with jpg or png images, "
    "or files named LABEL_anything.wav in one folder"
)
REPORT_EVERY = 1000  # files
T = TypeVar("T")


class FolderSource:
    """Source of the clips or images in a folder, one class per sub-folder.

    Supported layouts: a folder per class (Speech Commands; searched recursively), `train/` with a folder per class
    (ImageNet), files `LABEL_anything` in one flat folder (Free Spoken Digit Dataset), files `LABEL_SPEAKER_take` in a
    folder per speaker (AudioMNIST). Names that begin with `.` or `_` are ignored (`_background_noise_`). If there are
    clips and images, the more numerous ones are used.

    The scan reads only names, sizes and dates. An unreadable file is skipped when it is read, so the other files keep
    their indices; `check` decodes all files. Within a class the files are ordered by a digest of their names: the first
    n are a fair sample of speakers and takes, and the same on every machine.

    Parameters
    ----------
    path
        The folder.
    progress
        Progress callback of the scan.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("yes_1.wav", "yes_2.wav", "no_1.wav"):
    ...         size = Path(folder, name).write_bytes(b"not looked at yet")
    ...     source = FolderSource(folder)
    >>> source.classes, source.count("yes")
    (('no', 'yes'), 2)
    """

    def __init__(self, path: str | Path, progress: Progress = silent) -> None:
        self.path = Path(os.path.expanduser(path))
        if not is_folder(path):
            raise DataError(f"there is no folder {str(path)!r}; {EXPECTED}")
        self.path = self.path.resolve()
        self.name = printable(self.path.name) or "root"
        self.decoding_seconds = 0.0  # processor time so far
        self.skipped: dict[str, str] = {}  # path relative to the folder -> reason
        try:
            self._files, self.kind = self._scan(progress)
        except OSError as error:  # no permission, or circular links
            raise DataError(f"{printable(str(self.path))!r} cannot be read: {error.strerror}") from error
        self.sample_rate: int | None = SAMPLE_RATE if self.kind == "audio" else None

    @property
    def classes(self) -> tuple[str, ...]:
        """Sorted labels."""
        return tuple(sorted(self._files))

    def count(self, label: str) -> int:
        """Return the number of files of the class, readable or not."""
        return len(self._of(label))

    def file(self, label: str, index: int) -> Path:
        """Return the path of one clip or image."""
        return self.path / self._of(label)[index]

    @cached_property
    def key(self) -> str:
        """Digest of the folder's path and the names, sizes and dates of all files."""
        digest = blake2b(os.fsencode(self.path), digest_size=12)
        for label in self.classes:
            for name in self._files[label]:
                try:
                    status = os.stat(os.path.join(self.path, name))
                    seen = f"\0{status.st_size}\0{status.st_mtime_ns}\0"
                except OSError:
                    seen = "\0gone\0"
                digest.update(os.fsencode(name) + seen.encode())
        return digest.hexdigest()

    def media(self, label: str, indices: Sequence[int]) -> NDArray:
        """Return the clips (n, samples) or images (n, 224, 224, 3); a `DataError` names the first unreadable file."""
        media, _, refused = self.read(label, indices)
        for name, reason in refused.items():
            raise DataError(f"{name} cannot be used: {reason}")
        return media

    def read(self, label: str, indices: Sequence[int]) -> tuple[NDArray, list[int], dict[str, str]]:
        """Return the readable media, their indices, and the reason for each unreadable file, also put in `skipped`."""
        files = self._of(label)
        with ThreadPoolExecutor() as pool:  # decoders release the interpreter lock
            timed = list(pool.map(lambda i: _timed(self._decode, files[i]), indices))
        self.decoding_seconds += sum(seconds for _, seconds in timed)
        decoded = [(i, one) for i, (one, _) in zip(indices, timed, strict=True)]
        refused = {printable(files[i]): one for i, one in decoded if isinstance(one, str)}
        self.skipped |= refused
        good = [(i, one) for i, one in decoded if not isinstance(one, str)]
        media = np.stack([one for _, one in good]) if good else np.empty((0, 0), np.float32)
        return media, [i for i, _ in good], refused

    def check(self, progress: Progress = silent, max_seconds: float = math.inf) -> dict[str, int]:
        """Decode every file once; return the number of readable files per class.

        Raises a `DataError` if that takes more than `max_seconds` of processor time, checked after every 64 files.
        """
        before = self.decoding_seconds
        total = sum(map(len, self._files.values()))
        done, step, readable = 0, 64, {}
        for label in self.classes:
            readable[label] = 0
            for start in range(0, self.count(label), step):
                indices = range(start, min(start + step, self.count(label)))
                readable[label] += len(self.read(label, indices)[1])
                done += len(indices)
                if self.decoding_seconds - before > max_seconds:
                    took = f"{done} of {total} files take more than {max_seconds:g} s to decode"
                    raise DataError(f"{took}; send fewer or smaller files")
                progress(done, total, f"decoding {label}")
        if not any(readable.values()):
            name = printable(self._files[self.classes[0]][0])
            raise DataError(
                f"none of the {total} files in {printable(str(self.path))!r} can be read "
                f"(such as {name}: {self.skipped[name]}); {EXPECTED}"
            )
        return readable

    def _of(self, label: str) -> list[str]:
        if label not in self._files:
            raise DataError(f"no class {label!r} in {printable(str(self.path))!r}; it has {some(self.classes)}")
        return self._files[label]

    def _decode(self, name: str) -> NDArray | str:
        """The clip or image, or the reason why it cannot be used."""
        from tmlcd_core.features import load_clip, load_fitted

        path = self.path / name
        try:
            status = os.stat(path)
            if not stat.S_ISREG(status.st_mode):  # opening a pipe would block
                raise DataError("not a regular file")
            if status.st_size > LARGEST_FILE:
                raise DataError(f"{status.st_size / 2**20:.0f} MB is too large for one clip or image")
            if self.sample_rate is not None:
                return load_clip(path, self.sample_rate)
            return load_fitted(path)
        except (DataError, OSError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            # Shown to the user who uploaded the file: without this machine's paths.
            return printable(reason.replace(str(path), path.name))

    def _scan(self, progress: Progress) -> tuple[dict[str, list[str]], Kind]:
        root = self._root()
        above = "" if root == self.path else str(root.relative_to(self.path))
        labelled: dict[str, dict[str, list[str]]] = {"audio": {}, "image": {}}
        unlabelled: list[str] = []
        totals: Counter[str] = Counter()
        flat = not any(True for _ in _folders(root))
        for seen, (top, name) in enumerate(_walk(root, self.skipped), 1):
            if seen % REPORT_EVERY == 0:
                progress(seen, seen + REPORT_EVERY, "files found")  # the total is not known yet
            relative = os.path.join(above, name)
            kind = _kind(name)
            if kind is None:
                if top:  # other files next to the class folders, such as a licence, are normal
                    self.skipped[printable(relative)] = "not a wav, flac, ogg, mp3, jpg or png file"
                continue
            label = _label(top, os.path.basename(name)) if top or flat else ""
            if not label:
                unlabelled.append(relative)
                continue
            labelled[kind].setdefault(label, []).append(relative)
            totals[kind] += 1
        if not totals:
            hint = f", but {len(unlabelled)} without a label" if unlabelled else ""
            raise DataError(f"no clips or images in {printable(str(self.path))!r}{hint}; {EXPECTED}")
        chosen: Kind = "audio" if totals["audio"] >= totals["image"] else "image"
        other = "image" if chosen == "audio" else "audio"
        for name in unlabelled:
            self.skipped[printable(name)] = "in no class folder, or no LABEL_ before its name"
        for names in labelled[other].values():
            for name in names:
                self.skipped[printable(name)] = f"{other} among {chosen} files"
        files = labelled[chosen]
        for names in files.values():
            names.sort(key=lambda n: (blake2b(os.fsencode(n.replace(os.sep, "/")), digest_size=8).digest(), n))
        progress(totals[chosen], totals[chosen], "files found")
        return files, chosen

    def _root(self) -> Path:
        """The folder of the class folders: `train/` if it exists; single wrapper folders are skipped."""
        root = self.path
        while True:
            folders = list(_folders(root))
            if "train" in folders and any(True for _ in _folders(root / "train")):
                root = root / "train"
            elif len(folders) == 1 and not _has_media(root) and not _is_class(root / folders[0]):
                root = root / folders[0]
            else:
                return root


def _timed(function: Callable[[str], T], argument: str) -> tuple[T, float]:
    """Result of the function, and the processor time of this thread in seconds."""
    started = time.thread_time()
    found = function(argument)
    return found, time.thread_time() - started


def is_folder(path: str | Path) -> bool:
    """Return True if a typed path is a folder; unlike `Path`, without exceptions for invalid or closed paths."""
    return bool(str(path)) and os.path.isdir(os.path.expanduser(path))


def printable(text: str) -> str:
    """Return a file name with control characters and undecodable bytes replaced by question marks."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", "?", os.fsencode(text).decode("utf-8", "replace"))


def left_out(skipped: dict[str, str]) -> str:
    """Return a sentence about the skipped files (name -> reason), or an empty string."""
    if not skipped:
        return ""
    name, reason = next(iter(skipped.items()))
    count = "1 file is" if len(skipped) == 1 else f"{len(skipped)} files are"
    return f"{count} left out, such as {name} ({reason})."


def some(names: Sequence[str], most: int = 10) -> str:
    """Return at most `most` names and the number of the others, for a message."""
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest


def _kind(name: str) -> Kind | None:
    ending = os.path.splitext(name)[1].lower()
    return "audio" if ending in AUDIO else "image" if ending in IMAGES else None


def _label(folder: str, name: str) -> str:
    stem = os.path.splitext(name)[0].split("_")
    if not folder:
        return printable(stem[0]) if len(stem) > 1 else ""
    if len(stem) == 3 and stem[1] == folder and stem[2].isdigit():
        return printable(stem[0])  # AudioMNIST: 01/7_01_32.wav
    return printable(folder)


def _hidden(name: str) -> bool:
    return name.startswith((".", "_")) or name == "Thumbs.db"


def _folders(root: Path) -> Iterator[str]:
    with os.scandir(root) as entries:
        yield from (e.name for e in entries if e.is_dir() and not _hidden(e.name))


def _has_media(root: Path) -> bool:
    with os.scandir(root) as entries:
        return any(_kind(e.name) and not _hidden(e.name) and e.is_file() for e in entries)


def _is_class(folder: Path) -> bool:
    """True if a single folder is a class, False if it is a wrapper around labelled files."""
    with os.scandir(folder) as entries:
        labels = {_label("", e.name) for e in entries if _kind(e.name) and not _hidden(e.name)}
    return bool(labels) and (len(labels) == 1 or "" in labels)


def _walk(root: Path, skipped: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield (class folder or "", path relative to root); links to folders within a class are not followed."""
    pending = [""]
    while pending:
        inside = pending.pop()
        try:
            with os.scandir(root / inside) as entries:
                found = list(entries)
        except OSError as error:
            skipped[printable(inside)] = f"a folder that cannot be opened: {error.strerror}"
            continue
        for entry in found:
            if _hidden(entry.name):
                continue
            name = os.path.join(inside, entry.name)
            if entry.is_dir(follow_symlinks=not inside):
                pending.append(name)
            elif not entry.is_dir():
                yield name.split(os.sep, 1)[0] if inside else "", name
