"""Benchmark of the app in Chromium: frames per second, redraw time, time to the first page."""

import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.support.appserver import ROOT, chromium, process_of, processor_seconds, serve

STAGE = ROOT / "tests" / "support" / "player_stage.py"
PLAY_SECONDS = 5
UPDATES = 8
MOVES = 30
STARTS = 7
LOOK_SECONDS = 4  # on Home, before the first click
KEY_CLOCK = """() => window.addEventListener(
    "keydown", () => { window.keyPressed = performance.now(); }, {capture: true, once: true})"""
TRIVIAL = "import streamlit as st\nst.title('Trivial')\n"


def dataset(page: Any) -> dict[str, str]:
    """Return the player's data attributes and the browser's clock (`now`, ms)."""
    return page.locator(".player").evaluate("p => ({...p.dataset, now: String(performance.now())})")


def play(browser: Any, address: str, learners: int) -> tuple[float, float, float]:
    """Measure frames per second, ms per redraw, and ms from a key on a slider to the new picture."""
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.goto(f"{address}/?length=7500&learners={learners}")
    page.wait_for_selector(".player[data-time]")
    page.get_by_role("button", name="Play (space)").click()
    before = dataset(page)
    page.wait_for_timeout(1000 * PLAY_SECONDS)
    after = dataset(page)
    frames = int(after["frames"]) - int(before["frames"])
    rate = 1000 * frames / (float(after["now"]) - float(before["now"]))
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("slider", name="Threshold").focus()
    player = page.locator(".player").element_handle()
    redraws, answers = [], []
    for _ in range(UPDATES):
        digest = dataset(page)["digest"]
        start = time.perf_counter()
        page.keyboard.press("ArrowRight")
        page.wait_for_function(f"p => p.dataset.digest !== {digest!r}", arg=player)
        answers.append(1000 * (time.perf_counter() - start))
        redraws.append(float(dataset(page)["redrawMs"]))
    page.close()
    return rate, statistics.median(redraws), statistics.median(answers)


def lab_slider(browser: Any, address: str) -> None:
    """Print ms from a key on the Drift lab's slider of h to the new picture: 5 spoken words, 7,500 samples."""
    page = browser.new_page(viewport={"width": 1280, "height": 720}, reduced_motion="reduce")  # no autoplay
    page.goto(f"{address}/drift-lab?data=speech&lambda=5")
    page.wait_for_selector(".player[data-time]", timeout=600_000)
    page.wait_for_timeout(2000)
    page.get_by_role("slider", name="Alarm level (h)").focus()
    player = page.locator(".player").element_handle()
    server = process_of(address)
    answers, redraws, processor = [], [], []
    for move in range(MOVES + 1):
        used, digest = processor_seconds(server), dataset(page)["digest"]
        page.evaluate(KEY_CLOCK)
        page.keyboard.press("ArrowRight")
        page.wait_for_function(f"p => p.dataset.digest !== {digest!r}", arg=player)
        seen = dataset(page)
        page.wait_for_timeout(500)
        if move:  # the first move also warms up the session
            answers.append(float(seen["redrawn"]) - page.evaluate("window.keyPressed"))
            redraws.append(float(seen["redrawMs"]))
            processor.append(1000 * (processor_seconds(server) - used))
    page.close()
    high = statistics.quantiles(answers, n=10)[-1]
    print(f"Drift lab, 5 words, 7,500 samples, {MOVES} keys on the slider of h (load {os.getloadavg()[0]:.1f}):")
    print(f"  key to picture {statistics.median(answers):.0f} ms (90 %: {high:.0f} ms),")
    print(f"  {statistics.median(redraws):.0f} ms of it to draw; {statistics.median(processor):.0f} ms on the server")


def first_page(browser: Any, script: Path, selector: str) -> float:
    """Return the seconds from the start of a new server to the selector on screen."""
    start = time.perf_counter()
    with serve(script) as address:
        page = browser.new_page()
        page.goto(address)
        page.wait_for_selector(selector)
        seconds = time.perf_counter() - start
        page.close()
    return seconds


def first_lab(browser: Any) -> float:
    """Return the seconds from the first click on "Drift lab" to its charts, on a new server that has shown Home."""
    with serve() as address:
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        page.goto(address)
        page.wait_for_selector(".player[data-time]")
        page.wait_for_timeout(1000 * LOOK_SECONDS)
        start = time.perf_counter()
        page.get_by_test_id("stSidebarNav").get_by_role("link", name="Drift lab").click()
        page.wait_for_url("**/drift-lab**")
        page.get_by_role("slider", name="Alarm level (h)").wait_for()
        page.wait_for_selector(".player[data-time]")
        seconds = time.perf_counter() - start
        page.close()
    return seconds


def main() -> None:
    """Print all measurements."""
    with chromium() as browser:
        print("7,500 samples   frames/s   redraw ms   slider to picture ms")
        with serve(STAGE) as address:
            for learners in (3, 8):
                rate, redraw, answer = play(browser, address, learners)
                print(f"{learners} learners      {rate:8.0f} {redraw:11.0f} {answer:22.0f}")
        with serve() as address:
            lab_slider(browser, address)
        with tempfile.TemporaryDirectory() as folder:
            trivial = Path(folder, "trivial.py")
            trivial.write_text(TRIVIAL)
            pairs = [
                (
                    first_page(browser, trivial, "h1"),
                    first_page(browser, ROOT / "app.py", ".player[data-time]"),
                )
                for _ in range(STARTS)
            ]
        plain, home = (statistics.median(seconds) for seconds in zip(*pairs, strict=True))
        print(f"server start to first page: trivial app {plain:.1f} s, Home with its player {home:.1f} s")
        ratio = statistics.median(later / sooner for sooner, later in pairs)
        print(f"ratio {ratio:.2f} (median of {STARTS} pairs)")
        labs = [first_lab(browser) for _ in range(3)]
        print(f"Drift lab of a new server: charts {statistics.median(labs):.1f} s after the click (target 2 s)")


if __name__ == "__main__":
    main()
