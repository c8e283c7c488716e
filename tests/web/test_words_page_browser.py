"""A live session in one file in a real Chromium: offline, under its policy, with a microphone that plays a file."""

import base64
import json
import re
from functools import lru_cache

import numpy as np
import pytest

from tests.support.appserver import chromium
from tests.support.hummed_words import write_microphone
from tests.web.test_words_page import (
    compare,
    hummed,
    hummed_session,
    page_of_hummed,
    records_of,
    small_session,
    twin_lines,
)
from tmlcd_core.live import LiveSession
from tmlcd_core.web.words_page import words_page

pytest.importorskip("playwright")
pytestmark = pytest.mark.browser
READY, STATE = "body[data-ready=true]", "#state"
# The stream of records through the page's own objects.
LINES = """([sound, records]) => {
  const samples = new Int16Array(Uint8Array.from(atob(sound), (c) => c.charCodeAt(0)).buffer);
  const lines = [];
  let from = 0;
  for (const [length, word] of records) {
    for (const { x, start, stop, decibels } of words.core.hear(samples.subarray(from, from + length))) {
      const { prediction, distance, unknown } = words.core.predict(x);
      const step = words.core.judge(x, words.code(word));
      const labels = words.core.labels();
      lines.push({ x: [...x], start, stop, decibels, told: prediction, distance, unknown, ...step, labels });
    }
    from += length;
  }
  return JSON.stringify(lines);
}"""


@lru_cache(maxsize=1)
def full_page() -> str:
    return words_page(hummed_session(), all_sounds=True)


@pytest.fixture(scope="module")
def microphone(tmp_path_factory):
    return write_microphone(tmp_path_factory.mktemp("microphone") / "rise.wav", "rise")


@pytest.fixture(scope="module")
def browser(microphone):
    flags = ("--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream")
    with chromium(*flags, f"--use-file-for-fake-audio-capture={microphone}") as found:
        yield found


def open_page(page, text, folder):
    path = folder / "words.html"
    path.write_text(text, encoding="utf-8")
    page.goto(path.as_uri())
    return path.as_uri()


@pytest.mark.parametrize("front_end", ["word", pytest.param("speech", marks=pytest.mark.slow)])  # its twin is slow
def test_every_line_in_chromium_is_that_of_the_twin(page, tmp_path, front_end):
    session = hummed_session() if front_end == "word" else small_session()
    open_page(page, page_of_hummed(front_end), tmp_path)
    page.wait_for_selector(READY)
    parts, labels = records_of(hummed(session.words, 10, 7), np.random.default_rng(4).permutation(60))
    sound = base64.b64encode(np.concatenate(parts).astype("<i2").tobytes()).decode()
    records = [[len(part), label] for part, label in zip(parts, labels, strict=True)]
    lines = json.loads(page.evaluate(LINES, [sound, records]))
    assert compare(lines, twin_lines(session, front_end, "hybrid", parts, labels))[0] > 50


def test_microphone_is_heard_and_its_word_learned(page, tmp_path):
    address = open_page(page, full_page(), tmp_path)
    page.wait_for_selector(READY)
    page.click("#listen")
    page.wait_for_selector("#answer b:text-is('rise')", timeout=30_000)
    page.click("#listen")
    page.click("#judge button:text-is('rise')")
    page.wait_for_selector("body[data-answers='1']")
    with page.expect_download() as download:
        page.click("#save")
    saved = LiveSession.open(download.value.path().read_bytes())
    assert saved.events[-1] == {"do": "judge", "take": list(saved.takes)[-1], "word": "rise"}
    assert saved.pending() is None and saved.judged == 1
    take = list(saved.takes.values())[-1]
    assert 0 < take.start < take.stop <= take.seconds
    assert page.asked == [address] and not page.complaints


def test_swap_raises_an_alarm_and_the_session_comes_back(page, tmp_path):
    """With the takes inside the file, without a microphone; all recordings come back with their bits."""
    session = hummed_session()
    open_page(page, full_page(), tmp_path)
    page.wait_for_selector(READY)
    run = page.locator("#run")
    run.click()
    page.wait_for_selector("body[data-answers='40'][data-alarms='0']")
    page.wait_for_selector("#run:has-text('Answer')")
    page.wait_for_selector(f"{STATE}:has-text('Now swap two words')")
    page.click("#swap")
    page.wait_for_selector("#meaning:has-text('now means')")
    run.click()
    page.wait_for_selector("body[data-answers='80']:not([data-alarms='0'])")
    assert page.locator("#statistic line.alarm").count() >= 1
    page.wait_for_selector(f"{STATE}:has-text('at the end'):has-text('The alarm went off')")
    ended = int(re.search(r"(\d+) of 10 at the end", page.inner_text(STATE))[1])
    assert ended >= 8, "it has adapted"
    with page.expect_download() as download:
        page.click("#save")
    back = LiveSession.open(download.value.path().read_bytes())
    assert {name: take.digest for name, take in back.takes.items()} == {
        name: take.digest for name, take in session.takes.items()
    }
    assert back.events[: len(session.events)] == session.events
    assert back.events[-1] == {"do": "drift", "kind": "swap", "first": "low", "second": "rise"}


def test_browser_without_webassembly_says_so(page, tmp_path):
    page.add_init_script("delete globalThis.WebAssembly")
    open_page(page, page_of_hummed("word"), tmp_path)
    page.wait_for_selector(f"{STATE}.error:has-text('no WebAssembly')")


def test_no_microphone_says_so(page, tmp_path):
    page.add_init_script("delete Navigator.prototype.mediaDevices")
    open_page(page, page_of_hummed("word"), tmp_path)
    page.wait_for_selector(READY)
    page.click("#listen")
    page.wait_for_selector(f"{STATE}.error:has-text('no microphone')")


def test_browser_that_does_not_start_its_sound_says_so(page, tmp_path):
    page.add_init_script("AudioContext.prototype.resume = () => new Promise(() => {})")
    open_page(page, page_of_hummed("word"), tmp_path)
    page.wait_for_selector(READY)
    page.click("#listen")
    page.wait_for_selector(f"{STATE}.error:has-text('does not start its sound')")
    assert page.inner_text("#listen") == "Listen"


def test_file_that_was_cut_off_says_so(page, tmp_path):
    open_page(page, page_of_hummed("word")[:-3000], tmp_path)
    page.wait_for_selector(f"{STATE}:has-text('the file is incomplete')")


def test_damaged_file_says_so(page, tmp_path):
    head, found, rest = page_of_hummed("word").partition('id="wasm">')
    open_page(page, f"{head}{found}AAAA{rest[4:]}", tmp_path)
    page.wait_for_selector(f"{STATE}.error:has-text('This file cannot be shown')")
