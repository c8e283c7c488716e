"""Undocumented Streamlit APIs used by the app: check them first when Streamlit is updated."""

from streamlit.delta_generator import DeltaGenerator
from streamlit.file_util import get_static_dir
from streamlit.runtime import get_instance
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import UploadedFile, UploadedFileRec
from streamlit.web.cli import main
from streamlit.web.server.starlette.starlette_app_utils import decode_xsrf_token_string

__all__ = [
    "DeltaGenerator",
    "MemoryUploadedFileManager",
    "UploadedFile",
    "UploadedFileRec",
    "decode_xsrf_token_string",
    "get_instance",
    "get_script_run_ctx",
    "get_static_dir",
    "ignore_pages_folder",
    "main",
]


def ignore_pages_folder() -> None:
    """Disable Streamlit's automatic pages/ folder, so that only `st.navigation` defines pages.

    Until a run has called st.navigation, Streamlit uses the scripts in pages/: on a fresh server a deep link would run
    that script without app.py, or show "Page not found".
    """
    PagesManager.uses_pages_directory = False
