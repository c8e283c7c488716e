"""AppTest as the server does it: app.py runs around every page."""

from collections.abc import Iterator
from typing import Any

import pytest
from streamlit.runtime.pages_manager import PagesManager


@pytest.fixture(scope="session", autouse=True)
def app_py_runs_around_every_page() -> Iterator[None]:
    """AppTest forgets at each run what app.py says when a server imports it: that pages/ is no list of pages.

    Without this, `switch_page` would run the page's script alone.
    """
    begin = PagesManager.__init__

    def without_folder(self: PagesManager, *args: Any, **kwargs: Any) -> None:
        PagesManager.uses_pages_directory = False
        begin(self, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PagesManager, "__init__", without_folder)
        yield
