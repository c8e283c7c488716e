"""The content security policy in a real Chromium: every page and the main flows run within it, a stranger does not."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.pages.test_app_browser import POLICY, PROBE, WAIT, server, settle  # noqa: F401
from tests.support.appserver import chromium, serve

pytestmark = pytest.mark.browser


@contextmanager
def watched(*flags: str) -> Iterator[tuple[Any, list[str]]]:
    """A page, and what its policy has blocked or its console complained about."""
    with chromium(*flags) as browser:
        context = browser.new_context(viewport={"width": 1280, "height": 720})
        complaints: list[str] = []
        context.add_init_script(POLICY)
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


def test_the_presenters_view_and_an_unknown_page_keep_to_the_policy(server):  # noqa: F811
    """All other pages and flows are watched where they are tested: `visit`, and `opened` of the Microphone."""
    with watched() as (page, complaints):
        opened(page, f"{server}/paper?presenter=true")
        assert complaints == []
        opened(page, f"{server}/no-such-page")
        assert "does not seem to exist" in complaints.pop(), "Streamlit says so in the console"
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
