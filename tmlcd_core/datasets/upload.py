"""Safe extraction of untrusted zip uploads, within a budget."""

from __future__ import annotations

import contextlib
import io
import os
import stat
import time
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from tmlcd_core.datasets.folder import AUDIO, EXPECTED, IMAGES, some
from tmlcd_core.errors import DataError

MAX_NAME = 200  # characters of a whole path; file systems take 255 bytes per part
BLOCK = 2**16  # bytes


@dataclass(frozen=True)
class UploadBudget:
    """Limits of one upload; a zip of 10 MB with clips or photographs stays far below them.

    Parameters
    ----------
    files
        Number of entries of the zip.
    bytes
        Size of all unpacked files.
    pixels
        Pixels of all images, from their headers: ten images of the largest size.
    values
        Values in the first second of all clips over all channels, from their headers: 5,000 stereo clips at 48 kHz.
    seconds
        Processor time for reading the headers, and the same again for decoding every file once.
    """

    files: int = 5_000
    bytes: int = 100 * 2**20
    pixels: int = 400_000_000
    values: int = 600_000_000
    seconds: float = 30.0


DEFAULT_BUDGET = UploadBudget()


def extract_upload(
    upload: bytes | str | Path | BinaryIO, folder: str | Path, budget: UploadBudget = DEFAULT_BUDGET
) -> Path:
    """Unpack the clips and images of a zip into `folder` (created if missing) for `FolderSource`; return the folder.

    `upload` is the bytes, path or open file of the zip. Only audio and image files are written; other files are
    ignored. An absolute path, `..`, a link, an encrypted file or a size over the limits rejects the whole upload. The
    declared sizes are checked first and the real ones during unpacking, so a zip bomb uses at most `budget.bytes` of
    disk space, which is freed again. The header of each file is read after it is unpacked: an upload with too many
    pixels or samples is rejected before anything is decoded.

    Examples
    --------
    >>> import io, tempfile, zipfile
    >>> with zipfile.ZipFile(buffer := io.BytesIO(), "w") as archive:
    ...     archive.writestr("yes/1.wav", b"...")
    ...     archive.writestr("yes/readme.txt", b"...")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sorted(p.name for p in extract_upload(buffer.getvalue(), folder).rglob("*.*"))
    ['1.wav']
    """
    folder = Path(folder)
    written: list[Path] = []
    try:
        with zipfile.ZipFile(io.BytesIO(upload) if isinstance(upload, bytes) else upload) as archive:
            wanted = _wanted(archive, budget)
            folder.mkdir(parents=True, exist_ok=True)
            left, cost = budget.bytes, _Cost(budget)
            for name, member in wanted.items():
                target = folder.joinpath(*PurePosixPath(name).parts)
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(member) as packed, open(target, "xb") as file:
                    written.append(target)
                    while block := packed.read(BLOCK):
                        left -= len(block)
                        if left < 0:
                            raise DataError(_too_large(budget.bytes))
                        file.write(block)
                cost.add(target)
    except BaseException as error:
        for path in written:
            path.unlink(missing_ok=True)
        if isinstance(error, DataError):
            raise
        if isinstance(error, (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError)):
            raise DataError(f"the upload is not a zip file that can be read ({error}); zip the folder again") from error
        if isinstance(error, FileExistsError):
            raise DataError(f"{folder} already holds {error.filename}; unpack into an empty folder") from error
        if isinstance(error, OSError):
            raise DataError(f"the upload cannot be unpacked: {error.strerror or error}") from error
        raise
    return folder


class _Cost:
    """Pixels, samples and files so far, from the headers."""

    def __init__(self, budget: UploadBudget) -> None:
        self.budget = budget
        self.pixels = self.values = self.files = 0
        self.started = time.thread_time()

    def add(self, path: Path) -> None:
        """Count a file; a `DataError` if the budget is exceeded."""
        from tmlcd_core.features import image_size
        from tmlcd_core.features.audio import sound_values

        self.files += 1
        with contextlib.suppress(DataError):  # unreadable files are skipped later and need no decoding
            if path.suffix.lower() in IMAGES:
                width, height = image_size(path)
                self.pixels += width * height
            else:
                self.values += sound_values(path)
        self._check()

    def _check(self) -> None:
        first = f"the first {self.files} files of the zip"
        if self.pixels > self.budget.pixels:
            most = f"{self.budget.pixels / 1e6:.0f} megapixels"
            raise DataError(f"{first} hold {self.pixels / 1e6:.0f} megapixels, more than {most}; send smaller images")
        if self.values > self.budget.values:
            most = f"{self.budget.values / 1e6:.0f} million"
            raise DataError(f"{first} hold {self.values / 1e6:.0f} million samples, more than {most}; send mono clips")
        if time.thread_time() - self.started > self.budget.seconds:
            raise DataError(f"{first} take more than {self.budget.seconds:g} s to read; send fewer or plainer files")


def _wanted(archive: zipfile.ZipFile, budget: UploadBudget) -> dict[str, zipfile.ZipInfo]:
    members = archive.infolist()
    if len(members) > budget.files:
        raise DataError(f"the zip holds {len(members)} entries, more than {budget.files}; send fewer files")
    wanted: dict[str, zipfile.ZipInfo] = {}
    kinds: set[str] = set()
    total = 0
    for member in members:
        # Some zip tools on Windows store backslashes.
        name = member.filename.replace("\\", "/")
        parts = PurePosixPath(name).parts  # without "." and empty ones
        if name.startswith("/") or ".." in parts or ":" in name or any(ord(c) < 32 for c in name):
            raise DataError(f"the zip holds the path {name!r}, which leads out of its folder; zip the folder again")
        kind = stat.S_IFMT(member.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise DataError(f"the zip holds {name!r}, a link or device; send plain files")
        if name.endswith("/") or any(p.startswith((".", "_")) for p in parts):
            continue  # folders, and files added by the macOS Finder (__MACOSX/._1.wav)
        ending = os.path.splitext(name)[1].lower()
        kinds.add(ending or "no ending")
        if ending not in AUDIO | IMAGES:
            continue
        if member.flag_bits & 1:
            raise DataError(f"{name!r} in the zip is encrypted; send it without a password")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            # With LZMA the sender chooses how much memory the reader allocates, up to 4 GB.
            raise DataError(f"{name!r} in the zip has an unsupported compression; zip the folder with default settings")
        if len(name) > MAX_NAME:
            raise DataError(f"the zip holds a path of {len(name)} characters, more than {MAX_NAME}; shorten its names")
        name = str(PurePosixPath(name))
        if name in wanted:
            raise DataError(f"the zip holds {name!r} twice; zip the folder again")
        total += member.file_size
        if total > budget.bytes:
            raise DataError(_too_large(budget.bytes))
        wanted[name] = member
    if not wanted:
        found = f" (it holds {some(sorted(kinds))})" if kinds else " (it is empty)"
        raise DataError(f"the zip holds no clips or images{found}; {EXPECTED}")
    return wanted


def _too_large(max_bytes: int) -> str:
    return f"the zip unpacks to more than {max_bytes / 2**20:.0f} MB; send fewer or shorter clips"
