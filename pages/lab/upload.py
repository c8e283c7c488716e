"""A visitor's own data: a zip in a folder of the session, or a folder on the machine that runs the server."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import streamlit as st

from pages.shell.visitor import offers_server_devices
from pages.widgets import as_text, show_fault
from tmlcd_core.datasets import FolderSource, extract_upload
from tmlcd_core.datasets.folder import left_out
from tmlcd_core.errors import DataError, TmlcdError

LIMIT = 10 * 2**20  # bytes; the browser's widget has the same limit, but any client can send anything
STATE = "lab upload"


@dataclass(frozen=True)
class Upload:
    """An unpacked zip; the folder goes when nobody holds it any more, at the latest with the session."""

    file_id: str
    name: str
    folder: TemporaryDirectory
    told: str

    @property
    def path(self) -> str:
        return str(Path(self.folder.name, "upload"))

    @property
    def cache(self) -> str:
        """Where its features go: they are nobody else's business either."""
        return str(Path(self.folder.name, "features"))


def local_folder(typed: str) -> str:
    """The whole path of a folder on this machine; a `DataError` for anything else, and for visitors from elsewhere."""
    if not offers_server_devices():
        raise DataError("folders of the server are closed to visitors: upload a zip of the folder instead")
    try:
        path = Path(typed.strip()).expanduser().resolve()
        if path.is_dir():
            return str(path)
    except (OSError, ValueError, RuntimeError):  # too long, a zero byte, an unknown user's home
        pass
    raise DataError(f"there is no folder {typed[:200]!r} on this computer")


def upload() -> Upload | None:
    """The zip of this session: the newest that could be unpacked."""
    sent = st.file_uploader(
        "Zip of clips or images",
        type="zip",
        max_upload_size=LIMIT >> 20,
        help="One folder per class with wav, flac, ogg or mp3 clips or jpg or png images; 10 MB at most.",
    )
    known: Upload | None = st.session_state.get(STATE)
    if sent is not None and (known is None or sent.file_id != known.file_id):
        try:
            known = st.session_state[STATE] = unpack(sent.file_id, sent.name, sent.getvalue())
        except TmlcdError as fault:
            show_fault(fault)
            return known
    if known is None:
        st.info("Nothing has been uploaded in this session yet.", icon=":material/upload_file:")
    else:
        st.caption(as_text(known.told))
    return known


def unpack(file_id: str, name: str, content: bytes) -> Upload:
    """Unpack a zip into a folder of its own and look at what is there."""
    if len(content) > LIMIT:
        raise DataError(f"{name!r} has {len(content) / 2**20:.1f} MB; {LIMIT // 2**20} MB are the limit")
    folder = TemporaryDirectory(prefix="tmlcd-upload-")
    found = Upload(file_id, name, folder, "")
    try:
        source = FolderSource(extract_upload(content, found.path))
        usable = source.check()
    except DataError as fault:
        raise DataError(str(fault).replace(found.path, name)) from fault
    counts = ", ".join(f"{label}: {n}" for label, n in list(usable.items())[:12])
    more = f" and {len(usable) - 12} classes more" if len(usable) > 12 else ""
    classes = f"{len(usable)} class{'es' * (len(usable) > 1)}"
    told = f"{name} holds {source.kind} of {classes} ({counts}{more}). {left_out(source.skipped)}"
    return Upload(file_id, name, folder, told.strip())
