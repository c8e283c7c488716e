"""The Drift lab's button "Page in one file": what it downloads shows the same run and computes others."""

import pytest

from tests.support.appserver import chromium, serve

pytest.importorskip("playwright")
pytestmark = pytest.mark.browser


def test_download_shows_the_run_of_the_page_and_computes_another(tmp_path):
    with serve() as address, chromium() as browser:
        page = browser.new_page(accept_downloads=True)
        page.goto(f"{address}/drift-lab?data=points&lambda=3&drift=labels-swapped&per_class=200&train=30&seed=2")
        with page.expect_download() as downloading:
            page.get_by_role("button", name="Page in one file").click()
        downloading.value.save_as(tmp_path / "lab.html")
        file = browser.new_page()
        file.goto((tmp_path / "lab.html").as_uri())
        file.wait_for_selector("body[data-ready=true]")
        assert "labels-swapped --at 0.5" in file.locator("#command").text_content()
        assert file.locator("canvas.chart").count() >= 3
        file.click("#again")
        file.wait_for_selector("#state:has-text('600 samples, computed in this page')")
