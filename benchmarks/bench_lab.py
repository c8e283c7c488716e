"""Benchmark of the Drift lab in Chromium: time to cancel a computation, frames per second of the picture."""

import os
from typing import Any

from tests.support.appserver import chromium, process_of, processor_seconds, serve

WAIT = 600_000  # ms
PLAY_SECONDS = 5
DELAYS = (0, 300, 700)  # ms from the Cancel button to the click on it
SPEECH = "data=speech&per_class=1500"  # 10 words: 15,000 samples of 715 numbers
FOUR = "learners=cit&learners=active&learners=hybrid&learners=static"
LIMIT = 1.0  # s
IDLE = 0.02  # s of processor time in a second
CLICK = """() => window.addEventListener(
    "click", () => { window.clicked = performance.now(); }, {capture: true, once: true})"""
# Whether there is a Cancel button: "yes", or "no" after two seconds without one and without a computation.
OFFERED = """() => {
    const quiet = document.querySelector("[data-testid=stApp]").dataset.testScriptState === "notRunning";
    window.quietSince = quiet ? window.quietSince ?? performance.now() : undefined;
    if ([...document.querySelectorAll("button")].some((one) => one.innerText.includes("Cancel"))) return "yes";
    return performance.now() - window.quietSince > 2000 && "no";
}"""
CANCELLED = """asked => !location.search.includes(asked)
    && ![...document.querySelectorAll("button")].some((one) => one.innerText.includes("Cancel"))
    && document.querySelector("[data-testid=stApp]").dataset.testScriptState === "notRunning"
    && performance.now()"""


def opened(browser: Any, address: str, query: str) -> Any:
    """Open the Drift lab and return its page when the player is drawn."""
    page = browser.new_page(viewport={"width": 1280, "height": 720}, reduced_motion="reduce")  # no autoplay
    page.set_default_timeout(WAIT)
    page.goto(f"{address}/drift-lab?{query}")
    page.wait_for_selector(".player[data-time]")
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
    return page


def cancelled(page: Any, asked: str, delay: int) -> float:
    """Click Cancel `delay` ms after it appears; return the seconds until the page shows what it showed before.

    The result is 0 if the computation ends before there is a button: a cancelled run keeps the distances it computed.
    """
    if page.wait_for_function(OFFERED).json_value() == "no":
        return 0.0
    page.wait_for_timeout(delay)
    page.evaluate(CLICK)
    page.get_by_role("button", name="Cancel").click()
    done = page.wait_for_function(CANCELLED, arg=asked).json_value()
    return (done - page.evaluate("window.clicked")) / 1000


def cancel_run(browser: Any, address: str, query: str) -> list[float]:
    """Seconds of cancelling one run with 10 words, for each of DELAYS."""
    seconds = []
    for delay in DELAYS:
        page = opened(browser, address, f"{SPEECH}&{query}")
        page.get_by_role("slider", name="Classes (λ)").press("End")
        page.wait_for_url("**lambda=10**")
        seconds.append(cancelled(page, "lambda=10", delay))
        page.close()
    return seconds


def cancel_bands(browser: Any, address: str, query: str) -> list[float]:
    """Seconds of cancelling the average of 20 runs with 10 words, for each of DELAYS."""
    seconds = []
    for delay in DELAYS:
        page = opened(browser, address, f"{SPEECH}&lambda=10&{query}")
        page.get_by_role("radio", name="20 runs").click()
        page.wait_for_url("**bands=true**")
        seconds.append(cancelled(page, "bands=true", delay))
        page.close()
    return seconds


def show_cancel(browser: Any) -> None:
    """Print how long a cancelled computation goes on."""
    with serve() as address:
        print(f"Seconds from a click on Cancel to the run before, 10 words, 15,000 samples (target: {LIMIT:g} at most)")
        cases = [("features of new words", cancel_run, FOUR)]
        for name, learners in (
            ("four learners", FOUR),
            ("kNN that stores everything", "learners=incremental"),
            ("Tandem", "learners=tandem"),
        ):
            cases += [(f"one run, {name}", cancel_run, learners), (f"20 runs, {name}", cancel_bands, learners)]
        cases += [("one run, late labels", cancel_run, f"{FOUR}&label_delay=50")]
        for number, (name, cancel, query) in enumerate(cases):
            if number == 1:
                opened(browser, address, f"{SPEECH}&lambda=10&learners=static&seed=1").close()  # computes the features
            seconds = cancel(browser, address, f"{query}&seed=1")
            shown = " ".join(f"{one:.2f}" if one else "done" for one in seconds)
            print(f"  {name:38} {shown}  (load {os.getloadavg()[0]:.1f})", flush=True)


def show_frames(browser: Any) -> None:
    """Print the frames per second of the picture while it plays, and the processor time of the server."""
    with serve() as address:
        for name, query in {
            "points, decision regions": f"data=points&drift=labels-swapped&{FOUR}",
            "spoken words, projection": f"data=pack&drift=labels-swapped&{FOUR}",
        }.items():
            page = opened(browser, address, query)
            player = page.locator(".player").first
            server, look = process_of(address), "p => [Number(p.dataset.frames), performance.now()]"
            used = -1.0
            while processor_seconds(server) - used > IDLE:  # a new server still loads the other pages' modules
                used = processor_seconds(server)
                page.wait_for_timeout(1000)
            page.get_by_role("button", name="Play (space)").click()
            before, used = player.evaluate(look), processor_seconds(server)
            page.wait_for_timeout(1000 * PLAY_SECONDS)
            after, planes = player.evaluate(look), page.locator("canvas.plane").count()
            rate = 1000 * (after[0] - before[0]) / (after[1] - before[1])
            busy = 100 * (processor_seconds(server) - used) / PLAY_SECONDS
            print(
                f"{name}: {planes} learners, {rate:.0f} frames/s while playing (30 or more), server {busy:.1f} % busy "
                f"(load {os.getloadavg()[0]:.1f})",
                flush=True,
            )
            page.close()


def main() -> None:
    """Print all measurements."""
    with chromium() as browser:
        show_frames(browser)
        show_cancel(browser)


if __name__ == "__main__":
    main()
