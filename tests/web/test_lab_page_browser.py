"""The Drift lab in one file in a real Chromium: offline, under its content security policy, in a frame."""

import base64
import re
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from tests.support.appserver import chromium
from tmlcd_core.experiments import Experiment
from tmlcd_core.web.lab_page import page_of_experiment

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = pytest.mark.browser
SMALL = Experiment("points", classes=3, per_class=200, train=30)
READY, STATE = "body[data-ready=true]", "#state"


@pytest.fixture(scope="module")
def text():
    return page_of_experiment(SMALL)


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


def move(page, name, value):
    page.evaluate(
        "([name, value]) => { const input = document.getElementById(name); input.value = value;"
        " input.dispatchEvent(new Event('input', { bubbles: true })); }",
        [name, str(value)],
    )


def test_sliders_compute_pythons_decisions_without_any_request(page, text, tmp_path):
    path = tmp_path / "lab.html"
    path.write_text(text, encoding="utf-8")
    page.goto(path.as_uri())
    page.wait_for_selector(READY)
    for name, value in (("classes", 4), ("drift", "labels-swapped"), ("at", 30), ("threshold", 10), ("seed", 5)):
        move(page, name, value)
    page.wait_for_selector(f"{STATE}:has-text('computed in this page')")
    page.click("text=Static kNN")
    page.wait_for_selector("#command:has-text('static')", state="attached")
    found = page.evaluate(
        "() => lastRun.traces.map((t) =>"
        " [[...t.predictions].map((code) => t.classes[code]), [...t.sizes], t.detections])"
    )
    learners = ("cit", "active", "hybrid", "static")
    changed = replace(
        SMALL, classes=4, drift="labels-swapped", at=0.3, seed=5, settings={"threshold": 10.0}, learners=learners
    )
    run = changed.run()
    for (predictions, sizes, detections), one in zip(found, run.learners.values(), strict=True):
        assert predictions == one.trace.predictions.tolist()
        assert sizes == one.trace.sizes.tolist() and detections == one.trace.detections.tolist()
    assert page.locator(".player .card .value").count() == 4, "the player shows a card for each learner"
    assert page.locator(".player canvas.plane").count() == 4, "and a living plane"
    page.wait_for_selector(".player .story:has-text('swapped')")
    assert page.asked == [path.as_uri()] and not page.complaints


def test_page_works_in_a_frame_under_a_strict_policy_of_its_host(browser, text, tmp_path):
    """The host allows scripts by their hash only, and WebAssembly; the frame asks for nothing."""
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', text)[1]

    class Strict(SimpleHTTPRequestHandler):
        def end_headers(self):
            self.send_header("Content-Security-Policy", policy if "lab" in self.path else "default-src 'self'")
            super().end_headers()

        def log_message(self, *args):
            """Nobody reads it."""

    (tmp_path / "lab.html").write_text(text, encoding="utf-8")
    (tmp_path / "blog.html").write_text('<iframe src="lab.html" width="900" height="700"></iframe>', encoding="utf-8")
    page = browser.new_page()
    asked = []
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Strict, directory=str(tmp_path))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        page.goto(f"http://127.0.0.1:{server.server_address[1]}/blog.html")
        frame = page.frame_locator("iframe")
        frame.locator(READY).wait_for()
        frame.locator("#again").click()
        frame.locator(f"{STATE}:has-text('computed in this page')").wait_for()
        server.shutdown()
    page.close()
    assert [name for name in asked if name != "favicon.ico"] == ["blog.html", "lab.html"]


CUT_OFF = """() => [...document.querySelectorAll(".player .card :is(.name, .item, .value, .memory)")]
    .filter((part) => part.scrollWidth > part.clientWidth + 1 && getComputedStyle(part).display !== "inline"
        || part.getBoundingClientRect().right > part.closest(".card").getBoundingClientRect().right + 1)
    .map((part) => part.textContent)"""


def test_browser_without_webassembly_plays_the_run_of_six_learners_and_says_so(page, tmp_path):
    six = replace(SMALL, learners=("cit", "active", "hybrid", "window", "sam-knn", "tandem"), max_bytes=4800)
    (tmp_path / "lab.html").write_text(page_of_experiment(six), encoding="utf-8")
    page.add_init_script("delete globalThis.WebAssembly")
    page.goto((tmp_path / "lab.html").as_uri())
    page.wait_for_selector(f"{STATE}:has-text('This browser has no WebAssembly')")
    assert page.locator("canvas.chart").count() >= 3 and page.locator("#classes").is_disabled()
    cards = page.locator(".player .card")
    expect(cards).to_have_text([re.compile(r"\d samples · [\d.]+ k?B$")] * 6)
    cards.locator(".memory").evaluate_all("all => all.forEach((one) => one.textContent = '10,000 samples · 143.4 kB')")
    for width in (1440, 1280, 390, 360):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_function(f"innerWidth === {width}")
        assert page.evaluate(CUT_OFF) == [], f"text of a card is cut off at {width} px"


@pytest.mark.parametrize("part", ["features", "run"])
def test_damaged_file_says_so(page, text, tmp_path, part):
    head, found, rest = text.partition(f'id="{part}">')
    content, _, tail = rest.partition("</script>")
    broken = base64.b64encode(b"x" + base64.b64decode(content)[1:-9]).decode()
    (tmp_path / "lab.html").write_text(f"{head}{found}{broken}</script>{tail}", encoding="utf-8")
    page.goto((tmp_path / "lab.html").as_uri())
    page.wait_for_selector(f"{STATE}.error:has-text('This file cannot be shown')")
