"""Benchmark of the pages in one file: size, and time from opening to the first answer on a slowed processor."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from tests.support.appserver import chromium
from tests.support.hummed_words import take_of
from tmlcd_core.live import LiveSession
from tmlcd_core.web.words_page import LARGEST, words_page

SLOWDOWN = 6  # of the processor, by Chromium's developer tools
TURNS = 7
LIMIT = 1000  # ms from opening to the first answer
PHONE = {"width": 390, "height": 844}
# The page plays its first take as soon as it is ready.
FIRST = """
addEventListener("DOMContentLoaded", () => new MutationObserver((_, observer) => {
  if (!document.body.dataset.ready) return;
  observer.disconnect();
  document.getElementById("play").click();
  globalThis.firstAnswer = performance.now();
}).observe(document.body, { attributes: true }));
"""


def session() -> LiveSession:
    """Return a session of three hummed words with three takes each."""
    rng = np.random.default_rng(0)
    found = LiveSession(["low", "rise", "fall"], "word")
    for _ in range(3):
        for word in found.words:
            found.teach(word, take_of(word, rng))
    return found


def main() -> None:
    """Print bytes, ms until the first answer and ms of the main thread for the front ends with a limit."""
    taught = session()
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        for front_end in ("word", "speech"):
            file = Path(folder) / f"{front_end}.html"
            file.write_text(words_page(taught, front_end=front_end), encoding="utf-8")
            waits, busy = [], []
            for turn in range(2 * TURNS):
                page = browser.new_page(viewport=PHONE)
                page.add_init_script(FIRST)
                tools = page.context.new_cdp_session(page)
                slowed = turn < TURNS
                if slowed:
                    tools.send("Emulation.setCPUThrottlingRate", {"rate": SLOWDOWN})
                else:
                    tools.send("Performance.enable", {"timeDomain": "threadTicks"})
                page.goto(file.as_uri())
                wait = page.wait_for_function("() => globalThis.firstAnswer", timeout=60_000).json_value()
                if slowed:
                    waits.append(wait)
                else:
                    found = {one["name"]: one["value"] for one in tools.send("Performance.getMetrics")["metrics"]}
                    busy.append(1000 * found["TaskDuration"])
                page.close()
            print(f"{front_end:7} {file.stat().st_size:9,} bytes (limit {LARGEST[front_end]:,})")
            print(
                f"        first answer, {SLOWDOWN} times slower: median {np.median(waits):5.0f} ms, largest "
                f"{max(waits):5.0f} (target {LIMIT}); processor time of the page, not slowed {np.median(busy):5.1f} ms"
            )


if __name__ == "__main__":
    main()
