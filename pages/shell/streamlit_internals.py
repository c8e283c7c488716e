"""Undocumented Streamlit APIs used by the app: check them first when Streamlit is updated."""

from collections.abc import Mapping, Sequence

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
    "forget_left_sessions",
    "get_instance",
    "get_script_run_ctx",
    "get_static_dir",
    "ignore_pages_folder",
    "is_empty",
    "main",
    "runs_fragment",
    "write_address",
]


def ignore_pages_folder() -> None:
    """Disable Streamlit's automatic pages/ folder, so that only `st.navigation` defines pages.

    Until a run has called st.navigation, Streamlit uses the scripts in pages/: on a fresh server a deep link would run
    that script without app.py, or show "Page not found".
    """
    PagesManager.uses_pages_directory = False


def forget_left_sessions() -> int:
    """Shut down the sessions that disconnected `server.disconnectedSessionTTL` seconds ago; return their number.

    Streamlit itself looks for them only when the next session disconnects, and leaves the rest to the garbage
    collection: until then each keeps three file descriptors, its uploads and its state.
    """
    expired = get_instance()._session_mgr._session_storage._cache.expire()  # type: ignore[attr-defined]
    for _, info in expired:
        info.session.shutdown()
    return len(expired)


def is_empty() -> bool:
    """True if no visitor is there, nor has left a moment ago."""
    manager = get_instance()._session_mgr
    return not manager.list_active_sessions() and not manager._session_storage.list()  # type: ignore[attr-defined]


def runs_fragment() -> bool:
    """True if only fragments run, not the whole page."""
    context = get_script_run_ctx()
    return context is not None and bool(context.fragment_ids_this_run)


def write_address(values: Mapping[str, Sequence[str]]) -> None:
    """Set query parameters, also those bound to widgets; an empty sequence removes one.

    Streamlit writes the value of a bound widget itself, but if code has set it, only once the widget is on the screen:
    not in a closed expander.
    """
    context = get_script_run_ctx()
    if context is None:
        return
    with context.session_state.query_params() as address:
        for name, texts in values.items():
            address._query_params.pop(name, None)
            address._initial_query_params.pop(name, None)
            if texts:
                address._query_params[name] = list(texts) if len(texts) > 1 else texts[0]
                address._initial_query_params[name] = list(texts)
        address._send_query_param_msg()
