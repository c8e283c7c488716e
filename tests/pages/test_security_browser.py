"""The content security policy in a real Chromium: every page and the main flows run within it, a stranger does not."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from pages.shell.navigation import PAGES
from tests.pages.test_app_browser import PROBE, WAIT, server, settle, wait_for_time  # noqa: F401
from tests.pages.test_drift_lab import pictures, zipped
from tests.pages.test_microphone_browser import counted, others, phase, ready, speaking
from tests.support.appserver import chromium, serve

pytestmark = pytest.mark.browser

TELL = """window.violations = 0;
document.addEventListener("securitypolicyviolation", (event) => {
    tellViolation(`${event.effectiveDirective} blocked ${event.blockedURI} in ${event.sourceFile}`);
    window.violations += 1;
});"""
PLOTTED = ".js-plotly-plot .main-svg"


@contextmanager
def watched(*flags: str) -> Iterator[tuple[Any, list[str]]]:
    """A page, and what its policy has blocked or its console complained about."""
    with chromium(*flags) as browser:
        context = browser.new_context(viewport={"width": 1280, "height": 720})
        complaints: list[str] = []
        context.expose_function("tellViolation", lambda violation: complaints.append(violation))
        context.add_init_script(TELL)
        page = context.new_page()
        page.set_default_timeout(WAIT)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console",
            lambda message: (
                complaints.append(message.text)
                if message.type == "error" and not PROBE.search(message.location["url"])
                else None
            ),
        )
        yield page, complaints


def opened(page: Any, address: str) -> None:
    page.goto(address)
    settle(page)


def heard(page: Any, player: str = "audio") -> None:
    """Wait until the browser has loaded a sound."""
    page.wait_for_function(f"() => document.querySelector({player!r})?.readyState >= 1")


def downloaded(page: Any, name: str) -> bytes:
    with page.expect_download() as download:
        page.get_by_role("button", name=re.compile(name)).first.click()
    return download.value.path().read_bytes()


def test_no_page_and_no_flow_violates_the_policy(server, tmp_path):  # noqa: F811
    with watched(*speaking("yes", tmp_path)) as (page, complaints):
        for entry in PAGES:
            opened(page, f"{server}/{entry.url}")
        opened(page, f"{server}/paper?presenter=true")
        assert complaints == []
        opened(page, f"{server}/no-such-page")
        assert "does not seem to exist" in complaints.pop(), "Streamlit says so in the console"

        opened(page, server)
        wait_for_time(page, "t > 20")
        assert downloaded(page, "^Save the charts as PNG").startswith(b"\x89PNG")
        assert b"<svg" in downloaded(page, "^Save the charts as SVG")

        opened(page, f"{server}/features")
        page.wait_for_function(f"() => document.querySelectorAll({PLOTTED!r}).length >= 8")
        heard(page)
        opened(page, f"{server}/drift-lab?data=Upload+a+zip&lambda=2&per_class=100")
        give = page.locator("[data-testid=stFileUploaderDropzoneInput]").first
        give.set_input_files({"name": "mine.zip", "mimeType": "application/zip", "buffer": zipped(pictures(50))})
        page.get_by_text("mine.zip contains").first.wait_for()
        settle(page)
        assert b"," in downloaded(page, "Trace as CSV")
        page.get_by_text("Detailed results").click()
        page.locator("[data-testid=stDataFrame] canvas").first.wait_for()
        opened(page, f"{server}/stm32")
        page.get_by_role("button", name="Create C project").click()
        assert downloaded(page, "tmlcd-.*zip").startswith(b"PK")

        opened(page, f"{server}/microphone")
        page.get_by_role("button", name="Start listening").click()
        counted(page, "yes", 1)
        phase(page, "ready")
        settle(page)  # a run of the script draws the gallery anew
        page.get_by_role("button", name="Play take 1 of “yes”").click()
        page.wait_for_selector(".gallery[data-played]")
        others(page)
        ready(page, "3 of each word", "Every word has enough takes")
        page.get_by_text("Save and export").click()
        assert downloaded(page, "^Session$").startswith(b"PK")
        page.get_by_role("button", name="Say words").click()
        others(page)
        ready(page, "10 random words", "more word")
        page.locator(PLOTTED).first.wait_for()
        assert complaints == []


INJECTED = """() => {
    const script = document.createElement("script");
    script.textContent = "window.ran = 1";
    document.head.append(script);
    const image = new Image();
    image.src = "http://evil.example/leak.png";
}"""


def test_a_script_that_got_into_a_page_neither_runs_nor_reaches_another_host(server):  # noqa: F811
    with watched() as (page, complaints):
        opened(page, f"{server}/paper")
        page.evaluate(INJECTED)
        page.wait_for_function("() => window.violations >= 2")
        assert page.evaluate("window.ran") is None
        blocked = " ".join(complaints)
        assert "script-src-elem blocked inline" in blocked and "img-src blocked http://evil.example" in blocked


@contextmanager
def other_site(folder: Path) -> Iterator[str]:
    """A site of another origin, on this machine."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as site:
        Thread(target=site.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{site.server_address[1]}"
        site.shutdown()


def framed(browser: Any, site: str, folder: Path, address: str) -> bool:
    """Whether a page of the site shows the app in a frame."""
    (folder / "index.html").write_text(f'<iframe src="{address}/paper"></iframe>')
    page = browser.new_page()
    page.goto(site)  # until the frame has loaded, too
    return bool(page.frame_locator("iframe").locator("#root").count())


def test_another_site_may_frame_the_app_only_if_the_owner_says_so(server, tmp_path):  # noqa: F811
    with chromium() as browser, other_site(tmp_path) as site:
        assert not framed(browser, site, tmp_path, server)
        with serve(options=["--", "--frame-ancestors", site]) as address:
            assert framed(browser, site, tmp_path, address)
