"""A visitor is a browser: its tabs, and a tab that is loaded again, are the same one."""

import shutil

import pytest

from tests.support.appserver import chromium, serve

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not shutil.which("chromium"), reason="needs Chromium"),
]
SCRIPT = """
import streamlit as st
from pages.shell.computation import visitor
from pages.shell.housekeeping import housekeeping

if __name__ == "__main__":
    st.code(visitor())
else:
    app = st.App(__file__, lifespan=housekeeping)
"""


def test_tabs_of_one_browser_are_one_visitor_and_another_browser_is_another(tmp_path):
    (script := tmp_path / "who.py").write_text(SCRIPT)
    with serve(script) as address, chromium() as browser:

        def name(page):
            return page.locator("code").first.inner_text(timeout=60_000)

        mine, others = browser.new_context(), browser.new_context()
        first, second, third = mine.new_page(), mine.new_page(), others.new_page()
        for page in (first, second, third):
            page.goto(address)
        here = name(first)
        assert len(here) == 32 and here == name(second) != name(third)
        first.reload()
        assert name(first) == here
