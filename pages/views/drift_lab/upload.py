"""A visitor's own data: an uploaded zip or table, or a folder or table on the server's machine."""

import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

import streamlit as st

from pages.shell.computation import one_at_a_time, visitor
from pages.shell.url_widgets import as_text
from pages.shell.visitor import offers_server_devices
from tmlcd_core.datasets import FolderSource, UploadBudget, extract_upload
from tmlcd_core.datasets.folder import left_out
from tmlcd_core.datasets.tables import open_table
from tmlcd_core.errors import DataError
from tmlcd_core.progress import Progress, silent

LIMIT = 10 * 2**20  # bytes; checked again here because a client can bypass the widget's limit
BUDGET = UploadBudget()
MOST_OF_VISITOR = 3 * BUDGET.bytes  # bytes unpacked, all tabs of a visitor
MOST_OF_ALL = 40 * BUDGET.bytes
TABLE_ENDINGS = ("csv", "tsv", "arff")  # text only: a small Parquet or NPZ file may unpack to any size
STATE, REFUSED = "lab upload", "lab upload refused"


@dataclass(frozen=True)
class Upload:
    """Unpacked zip, or a table with its `ending`.

    Its folder is deleted with the last reference, at the latest with the session.
    """

    file_id: str
    name: str
    folder: TemporaryDirectory
    told: str
    ending: str = ""

    @property
    def path(self) -> str:
        """Folder of the unpacked files, or the table."""
        return str(Path(self.folder.name, f"upload{self.ending}"))

    @property
    def cache(self) -> str:
        """Folder of its features, deleted with the upload."""
        return str(Path(self.folder.name, "features"))


def local_folder(typed: str) -> str:
    """Return the absolute path of a folder on the server's machine.

    Raises `DataError` if there is no such folder or the visitor may not use folders of the server.
    """
    if not offers_server_devices():
        raise DataError("visitors cannot use folders of the server: upload a zip of the folder instead")
    try:
        path = Path(typed.strip()).expanduser().resolve()
        if path.is_dir():
            return str(path)
    except (OSError, ValueError, RuntimeError):  # too long, a zero byte, an unknown user's home
        pass
    raise DataError(f"there is no folder {typed[:200]!r} on this computer: check the path")


def local_table(typed: str) -> str:
    """Return the absolute path of a table on the server's machine; `DataError` as in `local_folder`."""
    if not offers_server_devices():
        raise DataError("visitors cannot use files of the server: upload the table instead")
    try:
        path = Path(typed.strip()).expanduser().resolve()
        if path.is_file():
            return str(path)
    except (OSError, ValueError, RuntimeError):
        pass
    raise DataError(f"there is no file {typed[:200]!r} on this computer: check the path")


def upload() -> Upload | None:
    """Show the upload widget and return the zip of this session; `DataError` if a new one is not usable."""
    hint = "One folder per class with wav, flac, ogg or mp3 clips or jpg or png images. At most 10 MB."
    known = _received("Zip of clips or images", ["zip"], hint, unpack)
    if known is not None:
        st.caption(as_text(known.told))
    return known


def upload_table() -> Upload | None:
    """Show the upload widget and return the table of this session; `DataError` if a new one is not usable."""
    hint = "Rows in the order of time, with column names in the first line. CSV, TSV or ARFF in UTF-8, at most 10 MB."
    return _received("Table", list(TABLE_ENDINGS), hint, keep_table)


def _received(label: str, endings: list[str], hint: str, keep: Callable[..., Upload]) -> Upload | None:
    """Show an upload widget; return the last usable file of this session, stored by `keep`."""
    sent = st.file_uploader(label, type=endings, max_upload_size=LIMIT >> 20, help=hint)
    state = f"{STATE} {label}"
    known: Upload | None = st.session_state.get(state)
    if sent is not None and (known is None or sent.file_id != known.file_id):
        refused_id, fault = st.session_state.get(REFUSED, ("", None))
        if refused_id == sent.file_id:  # do not read it again in every rerun
            raise fault
        try:
            with st.spinner("Reading your files …"), one_at_a_time("reading your upload", silent) as tell:
                known = st.session_state[state] = keep(sent.file_id, sent.name, sent.getvalue(), visitor(), tell)
        except DataError as fault:
            st.session_state[REFUSED] = sent.file_id, fault
            raise
    return known


def keep_table(file_id: str, name: str, content: bytes, owner: str = "", progress: Progress = silent) -> Upload:
    """Store and check a table of the visitor `owner` in a folder of its own; return its `Upload`."""
    ending = Path(name).suffix.lower()
    if ending[1:] not in TABLE_ENDINGS:
        raise DataError(f"{name!r} is not a table: upload a file that ends in {', '.join(TABLE_ENDINGS)}")

    def store(path: str) -> str:
        Path(path).write_bytes(content)
        _ = open_table(path).columns
        return ""

    return _stored(Upload(file_id, name, TemporaryDirectory(prefix="tmlcd-upload-"), "", ending), content, owner, store)


def unpack(file_id: str, name: str, content: bytes, owner: str = "", progress: Progress = silent) -> Upload:
    """Unpack and check a zip of the visitor `owner` in a new folder; return the `Upload`."""

    def store(path: str) -> str:
        source = FolderSource(extract_upload(content, path, BUDGET))
        usable = source.check(progress, BUDGET.seconds)
        counts = ", ".join(f"{label}: {n}" for label, n in list(usable.items())[:12])
        more = f" and {len(usable) - 12} more classes" if len(usable) > 12 else ""
        classes = f"{len(usable)} class{'es' * (len(usable) > 1)}"
        told = f"{name} contains {source.kind} of {classes} ({counts}{more}). {left_out(source.skipped)}"
        return told.strip()

    return _stored(Upload(file_id, name, TemporaryDirectory(prefix="tmlcd-upload-"), ""), content, owner, store)


def _stored(found: Upload, content: bytes, owner: str, store: Callable[[str], str]) -> Upload:
    """Store an upload within the quota: `store` writes it to a path and returns a description."""
    name, folder = found.name, found.folder
    try:
        if len(content) > LIMIT:
            raise DataError(f"{name!r} has {len(content) / 2**20:.1f} MB: upload at most {LIMIT // 2**20} MB")
        _uploads.reserve(folder, owner)
        told = store(found.path)
    except BaseException as fault:
        folder.cleanup()
        _uploads.release(folder.name)
        if isinstance(fault, DataError):
            text = str(fault).replace(found.path, name)
            raise DataError(text.replace(f"upload{found.ending}", name) if found.ending else text) from fault
        raise
    _uploads.settle(folder)
    return replace(found, told=told)


class Uploads:
    """Disk quota of unpacked uploads, per visitor and for all visitors together."""

    def __init__(self) -> None:
        self._sizes: dict[str, tuple[str, int]] = {}  # folder -> visitor, bytes
        self._lock = Lock()

    def reserve(self, folder: TemporaryDirectory, owner: str) -> None:
        """Reserve the maximum size of an upload until its folder is deleted; `DataError` if the quota is full."""
        with self._lock:
            mine = sum(size for who, size in self._sizes.values() if who == owner)
            if mine + BUDGET.bytes > MOST_OF_VISITOR:
                raise DataError(f"your tabs hold {mine >> 20} MB of uploads; close one of them first")
            everyone = sum(size for _, size in self._sizes.values())
            if everyone + BUDGET.bytes > MOST_OF_ALL:
                raise DataError(f"the server holds {everyone >> 20} MB of uploads; try again in a few minutes")
            self._sizes[folder.name] = owner, BUDGET.bytes
        weakref.finalize(folder, self.release, folder.name)

    def settle(self, folder: TemporaryDirectory) -> None:
        """Replace the reservation of a folder by its size on disk."""
        size = sum(path.stat().st_size for path in Path(folder.name).rglob("*") if path.is_file())
        with self._lock:
            self._sizes[folder.name] = self._sizes[folder.name][0], size

    def release(self, folder: str) -> None:
        """Free the quota of a folder."""
        with self._lock:
            self._sizes.pop(folder, None)


_uploads = Uploads()
