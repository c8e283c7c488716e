"""Each page of the registry opens without an exception, and the registry and the folder agree."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.shell.navigation import PAGES, Page
from pages.shell.url_widgets import limited, says
from pages.views.inside_cusum.inside_test import EXAMPLE

ROOT = Path(__file__).parents[2]
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
    assert at.toggle(key="presenter"), "app.py has run around the page"


def test_every_script_in_pages_is_in_the_menu():
    scripts = {str(path.relative_to(ROOT)) for path in (ROOT / "pages").glob("*.py")}
    assert scripts == {page.file for page in PAGES}


def test_folders_of_pages_are_views_named_like_a_page_components_shell_and_classroom():
    folders = {path.parent.relative_to(ROOT / "pages").parts for path in (ROOT / "pages").rglob("*.py")}
    assert {parts[0] for parts in folders if parts} == {"views", "components", "shell", "classroom"}
    views = {parts[1] for parts in folders if parts[:1] == ("views",) and len(parts) > 1}
    assert views <= {Path(page.file).stem for page in PAGES}


def test_what_streamlit_does_not_document_is_used_in_one_file():
    outside = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "app.py", *(ROOT / "pages").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (isinstance(node, ast.ImportFrom) and str(node.module).startswith("streamlit."))
        or (isinstance(node, ast.Import) and any(alias.name.startswith("streamlit.") for alias in node.names))
    }
    assert outside == {"pages/shell/streamlit_internals.py"}


def test_addresses_and_titles_are_unique():
    assert len({page.url for page in PAGES}) == len(PAGES) == len({page.title for page in PAGES})


@pytest.mark.parametrize(
    ("value", "limits", "expected"),
    [
        (9.0, (0.0, 1.0, 0.5), 1.0),
        (-1, (0, 5), 0),
        (3, (0, 5), 3),
        ("x", (("a", "b"),), "a"),
        (True, (), True),
    ],
)
def test_a_value_is_kept_within_the_widgets_limits(value, limits, expected):
    assert limited(value, *limits) == expected


@pytest.mark.parametrize(
    ("asked", "value", "same"),
    [
        ("25", 25.0, True),
        ("true", True, True),
        ("x", 3, False),
        ("Active", "Active", True),
        ("nan", 1.0, False),
    ],
)
def test_the_text_of_an_address_is_compared_with_the_value(asked, value, same):
    assert says([asked], value) is same


CUSUM = next(page for page in PAGES if page.url == "inside-cusum")


def test_a_broken_link_falls_back_with_a_notice():
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT).run()
    at.query_params["h"] = "1e999"
    at.query_params["n"] = "<b>"
    at.query_params["run"] = "Hybrid Tiny kNN"
    at.switch_page(CUSUM.file).run()
    assert not at.exception
    assert at.slider(key="h").value == 25.0
    assert at.selectbox(key="run").value == "Hybrid Tiny kNN"
    assert len(at.toast) == 2


@pytest.mark.parametrize("number", ["1e999", "-inf", "9" * 400, "nan"])
def test_a_number_beyond_all_bounds_falls_back(number):
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT).run()
    at.query_params["sim_seed"] = number
    at.switch_page(CUSUM.file).run()
    assert not at.exception
    assert at.number_input(key="sim_seed").value == EXAMPLE


def test_a_change_that_is_never_noticed_has_no_mean_delay():
    at = open_page(CUSUM)
    at.toggle(key="drops").set_value(True)
    at.slider(key="before").set_value(0.5)
    at.slider(key="after").set_value(0.99)
    at.slider(key="h").set_value(100.0).run()
    assert not at.exception
    assert [metric.value for metric in at.metric][:2] == ["0.0%", "none"]
    assert not any("drops" in caption.value for caption in at.caption)


def test_a_higher_threshold_never_gives_more_alarms():
    at = open_page(CUSUM)
    rates = []
    for threshold in (5.0, 25.0, 80.0):
        at.slider(key="h").set_value(threshold).run()
        assert not at.exception
        rates.append(float(at.metric[0].value.rstrip("%")))
    assert rates == sorted(rates, reverse=True)
    assert rates[0] > rates[-1]


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
    assert not {"torch", "librosa", "sklearn", "river", "numba", "plotly", "pandas"} & set(loaded)
