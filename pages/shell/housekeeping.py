"""Server housekeeping: end disconnected sessions and release their memory."""

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import streamlit as st

from pages.shell.computation import close_left
from pages.shell.streamlit_internals import forget_left_sessions, get_instance, is_empty
from pages.shell.uploads import limit_uploads
from tmlcd_core.memory import give_back

EVERY = 10.0  # s between two checks, at most


@asynccontextmanager
async def housekeeping(app: st.App) -> AsyncIterator[None]:
    """Lifespan of the app: set the upload limits and run the housekeeping task."""
    limit_uploads(get_instance().uploaded_file_mgr)
    keeper = asyncio.create_task(_keep_house())
    try:
        yield
    finally:
        keeper.cancel()
        with suppress(asyncio.CancelledError):
            await keeper


async def _keep_house() -> None:
    patience = float(st.get_option("server.disconnectedSessionTTL"))
    while True:
        await asyncio.sleep(min(EVERY, patience))
        close_left(get_instance().is_active_session, patience)
        if forget_left_sessions():
            if is_empty():
                forget_distances()
            # Sessions contain reference cycles; automatic collection is rare once torch and scikit-learn are loaded.
            gc.collect()
            give_back()


def forget_distances() -> None:
    """Clear the distance cache (up to 256 MB); it is fast to recompute."""
    from tmlcd_core.knn import distance_cache

    distance_cache.clear()
