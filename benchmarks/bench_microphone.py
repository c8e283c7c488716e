"""Benchmark of the Microphone page in Chromium: time from the end of a take to its prediction, and of the live bars."""

import statistics
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import soundfile
import soxr

from tests.support.appserver import chromium, serve

TAKES = 12
PAUSE_MS = 220  # from the end of the word to the end of the take (PAUSE in voice_activity.js)
RATE = 48_000  # Hz
BARS = "/microphone/hearing"  # part of the address that answers with the votes for the sound so far
PAUSE = 1.2  # s before each word, so that takes are separated
READING = 15_000  # ms before the first word: the page warms up imports and compiled code meanwhile
ENDED = "([recorder, last]) => (recorder.dataset.ended ?? null) !== last"
SHOWN = """([recorder, before]) => new Promise(done => {
  const look = () => {
    const text = document.querySelector(".st-key-mic-answer")?.innerText ?? "";
    if (text.includes("What did you say?") && recorder.dataset.done !== before)
      done(performance.now() - Number(recorder.dataset.ended));
    else requestAnimationFrame(look);
  };
  look();
})"""


def microphone_file(path: Path, word: str, takes: int = 8) -> Path:
    """Write a recording that Chromium loops as its microphone input: variants of one word. Return its path."""
    from pages.views.microphone.sample_clips import sample_clip

    parts = []
    for number in range(100, 100 + takes):
        clip, rate = sample_clip(word, number)
        parts += [np.zeros(round(PAUSE * RATE)), soxr.resample(clip, rate, RATE)]
    soundfile.write(path, np.concatenate(parts), RATE, subtype="PCM_16")
    return path


def on_screen(folder: Path) -> tuple[list[float], list[float]]:
    """Return ms from the end of each take to its prediction on screen, and ms of each question for the live bars.

    A take ends PAUSE_MS after its word. The server is new at the first take.
    """
    flags = ["--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream"]
    flags.append(f"--use-file-for-fake-audio-capture={microphone_file(folder / 'no.wav', 'no')}")
    with serve() as address, chromium(*flags) as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        page.set_default_timeout(60_000)
        page.goto(f"{address}/microphone")
        page.get_by_text("No microphone?").click()
        page.wait_for_timeout(READING)
        page.get_by_role("button", name="3 of each word").click()
        page.get_by_role("button", name="Say words").click()
        page.get_by_text("Tell me what to say").click()
        page.get_by_text("Say one of the words").wait_for()
        recorder = page.locator(".recorder").element_handle()
        times, ended = [], None
        bars: list[float] = []
        page.on(
            "requestfinished", lambda request: bars.append(request.timing["responseEnd"]) if BARS in request.url else 0
        )
        page.get_by_role("button", name="Start listening").click()
        for _ in range(TAKES):
            before = recorder.get_attribute("data-done")
            page.wait_for_function(ENDED, arg=[recorder, ended])
            ended = recorder.get_attribute("data-ended")
            times.append(float(page.evaluate(SHOWN, [recorder, before])))
        return times, bars


def model_alone() -> list[float]:
    """Return the median ms of each stage of an answer: open the take, predict, learn."""
    from pages.views.microphone.sample_clips import sample_clip
    from tmlcd_core.features.voice import open_take
    from tmlcd_core.live import LiveSession, warm_up

    warm_up()
    session = LiveSession(("yes", "no", "up"))
    for number in range(30):
        word = session.words[number % 3]
        session.teach(word, open_take(sample_clip(word, number)))
    stages: list[list[float]] = []
    for number in range(100, 130):
        moments = [time.perf_counter()]
        take = open_take(sample_clip("no", number))
        moments.append(time.perf_counter())
        answer = session.say(take)
        moments.append(time.perf_counter())
        session.judge(answer.id, "no")
        moments.append(time.perf_counter())
        stages.append([1000 * (b - a) for a, b in pairwise(moments)])
    return [statistics.median(stage) for stage in zip(*stages, strict=True)]


def main() -> None:
    """Print the times."""
    with tempfile.TemporaryDirectory() as folder:
        (first, *later), bars = on_screen(Path(folder))
    opening, saying, judging = model_alone()
    print(f"end of a take to its prediction on screen, first take     {first:8.0f} ms")
    print(f"  median of the {len(later)} after it                             {statistics.median(later):8.0f} ms")
    print(f"  the same from the end of the word                       {statistics.median(later) + PAUSE_MS:8.0f} ms")
    print(f"  slowest of them                                         {max(later):8.0f} ms")
    print(f"live bars, median of {len(bars):3} questions while a word is said  {statistics.median(bars):8.0f} ms")
    print(f"  slowest of them                                         {max(bars):8.0f} ms")
    print(f"the model alone, |T| = 30: open a take                    {opening:8.1f} ms")
    print(f"  features and three learners' votes                      {saying:8.1f} ms")
    print(f"  three learners learn from it                            {judging:8.1f} ms")


if __name__ == "__main__":
    main()
