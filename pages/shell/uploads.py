"""Limits of the uploaded files that Streamlit holds in memory: by itself it takes any number of them."""

from collections.abc import Iterable

from pages.shell.streamlit_internals import MemoryUploadedFileManager, UploadedFile, UploadedFileRec, get_script_run_ctx

MOST_OF_TAB = 100 * 2**20  # bytes
MOST_OF_ALL = 2**30  # bytes, of all tabs


class LimitedUploads(MemoryUploadedFileManager):
    """Streamlit's uploaded files, with a limit for each session and for all together: what exceeds it gets HTTP 413."""

    def add_file(self, session_id: str, file: UploadedFileRec) -> None:
        from starlette.exceptions import HTTPException

        there = self.file_storage.get(session_id, {})
        held = sum(len(one.data) for name, one in there.items() if name != file.file_id)
        if held + len(file.data) > MOST_OF_TAB:
            raise HTTPException(413, f"This tab has sent {held >> 20} MB; reload it to send more")
        if self._total_bytes + len(file.data) > MOST_OF_ALL:
            raise HTTPException(413, f"The server holds {self._total_bytes >> 20} MB of uploads; try again later")
        super().add_file(session_id, file)


def limit_uploads(manager: MemoryUploadedFileManager) -> None:
    """Give Streamlit's own manager the limits: `st.App` has no option for another one."""
    manager.__class__ = LimitedUploads


def forget(files: Iterable[UploadedFile]) -> None:
    """Remove files that have been read from the server's memory, so that a tab may send more."""
    context = get_script_run_ctx()
    if context is not None and isinstance(context.uploaded_file_mgr, MemoryUploadedFileManager):
        for file in files:
            context.uploaded_file_mgr.remove_file(context.session_id, file.file_id)
