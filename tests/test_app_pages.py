"""Each page of the registry opens without an exception, and the registry and the folder agree."""

import subprocess
import sys
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.menu import PAGES, Page

ROOT = Path(__file__).parent.parent
TIMEOUT = 60


def open_page(page: Page) -> AppTest:
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT).run()
    return at.switch_page(page.file).run()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.title)
def test_page_opens(page):
    at = open_page(page)
    assert not at.exception
    assert not at.error
    assert len(at.title) == 1, "a page has one title"


def test_every_script_is_registered_and_none_stands_directly_in_pages():
    scripts = {str(path.relative_to(ROOT)) for path in (ROOT / "pages").glob("*/*.py")}
    packages = {str(path.relative_to(ROOT)) for path in (ROOT / "pages").glob("*/__init__.py")}
    beside = {str(path.relative_to(ROOT)) for p in packages for path in (ROOT / p).parent.glob("*.py")}
    assert scripts - beside == {page.file for page in PAGES}
    assert not list((ROOT / "pages").glob("*.py")), "a deep link to a fresh server would skip app.py"


def test_addresses_and_titles_are_unique():
    assert len({page.url for page in PAGES}) == len(PAGES) == len({page.title for page in PAGES})


MODULES = """
import sys
from streamlit.testing.v1 import AppTest
AppTest.from_string("import streamlit as st; st.title('trivial')", default_timeout=60).run()
before = set(sys.modules)
assert not AppTest.from_file("app.py", default_timeout=60).run().exception
print(*{name.partition(".")[0] for name in set(sys.modules) - before})
"""


def test_the_first_page_imports_nothing_heavy():
    """Home must be on screen within 1.5 times the time of a trivial app: torch alone would cost seconds."""
    command = [sys.executable, "-c", MODULES]
    loaded = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert "tmlcd_core" in loaded
    assert not {"torch", "librosa", "sklearn", "river", "plotly", "pandas"} & set(loaded)
