"""Memory limits for uploaded files; Streamlit has none for the total size."""

from collections.abc import Iterable

from pages.shell.streamlit_internals import MemoryUploadedFileManager, UploadedFile, UploadedFileRec, get_script_run_ctx

MOST_OF_TAB = 100 * 2**20  # bytes per tab
MOST_OF_ALL = 2**30  # bytes for all tabs


class LimitedUploads(MemoryUploadedFileManager):
    """Streamlit's upload manager with a limit per session and for all sessions; above it, HTTP 413."""

    def add_file(self, session_id: str, file: UploadedFileRec) -> None:
        """Store a file, or raise HTTPException 413 if it exceeds a limit."""
        from starlette.exceptions import HTTPException

        there = self.file_storage.get(session_id, {})
        held = sum(len(one.data) for name, one in there.items() if name != file.file_id)
        if held + len(file.data) > MOST_OF_TAB:
            raise HTTPException(413, f"This tab has uploaded {held >> 20} MB; reload it to upload more")
        if self._total_bytes + len(file.data) > MOST_OF_ALL:
            raise HTTPException(413, f"The server holds {self._total_bytes >> 20} MB of uploads; try again later")
        super().add_file(session_id, file)


def limit_uploads(manager: MemoryUploadedFileManager) -> None:
    """Apply the limits to Streamlit's upload manager in place: `st.App` has no option for another one."""
    manager.__class__ = LimitedUploads


def forget(files: Iterable[UploadedFile]) -> None:
    """Remove read files from the server's memory, so that the tab can upload more."""
    context = get_script_run_ctx()
    if context is not None and isinstance(context.uploaded_file_mgr, MemoryUploadedFileManager):
        for file in files:
            context.uploaded_file_mgr.remove_file(context.session_id, file.file_id)
