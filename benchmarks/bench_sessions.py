"""Load test with thirty sessions over websockets: response time, memory per idle session, isolation."""

import asyncio
import os
import random
import statistics
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from benchmarks.bench_app import TRIVIAL
from pages.shell.navigation import PAGES
from tests.support.appserver import process_of, processor_seconds, serve
from tests.support.visitor import Visitor
from tmlcd_core import Experiment

SESSIONS = 30
ROUNDS = 3
THINKING = 5.0  # s at most between two clicks of a visitor
PAUSE = 5.0  # s between two clicks of a busy visitor, for the number of sessions per core
SETTLE = 3.0  # s after the last answer, before memory is read
FORGET = 140  # s until the server has dropped a disconnected session (Streamlit's limit is 120 s)
GROUPS, GROUP = 4, 20  # groups of visitors that come and go
GONE = 16  # s until a server that waits 3 s for disconnected sessions has dropped them
OWN_LAB = {"data": "points", "per_class": 150, "train": 20}


def memory(server: Any) -> float:
    """Return the resident memory in MB."""
    return server.memory_info().rss / 1e6


def held(server: Any) -> str:
    """Return memory and open files as text."""
    return f"{memory(server):5.0f} MB, {server.num_fds():3} file descriptors"


async def at_once(visitors: list[Visitor], page: str) -> list[float]:
    """Open a page for all visitors at once; return the seconds until each has the whole page."""
    await asyncio.gather(*(visitor.open(page) for visitor in visitors))
    return [visitor.seconds for visitor in visitors]


async def in_class(visitors: list[Visitor]) -> dict[str, list[float]]:
    """Let each visitor open every page with random pauses; return the seconds by page."""
    took: dict[str, list[float]] = {page.url: [] for page in PAGES}

    async def visit(number: int, visitor: Visitor) -> None:
        rng = random.Random(number)
        for page in PAGES:
            await asyncio.sleep(rng.uniform(0, THINKING))
            await visitor.open(page.url)
            took[page.url].append(visitor.seconds)

    await asyncio.gather(*(visit(number, visitor) for number, visitor in enumerate(visitors)))
    return took


async def check_isolation(visitors: list[Visitor]) -> None:
    """Request a different seed and threshold for each visitor at once; check that each gets its own run."""

    async def ask(number: int, visitor: Visitor) -> None:
        await visitor.open("drift-lab", seed=number, h=30 + number, **OWN_LAB)
        _check(visitor, number, 30.0 + number)
        await visitor.choose(h=65.0 + number)
        _check(visitor, number, 65.0 + number)

    await asyncio.gather(*(ask(number, visitor) for number, visitor in enumerate(visitors)))
    digests = {visitor.player()["digest"] for visitor in visitors}
    assert len(digests) == len(visitors), "two visitors have the same run"


def _check(visitor: Visitor, seed: int, threshold: float) -> None:
    program, _ = visitor.texts("code")  # Python, command
    wanted = Experiment("points", per_class=150, train=20, settings={"threshold": threshold}, seed=seed)
    fault = f"the visitor with seed {seed} and h = {threshold} got\n{program}"
    assert wanted.program().strip() == program.strip(), fault
    assert visitor.player()["panels"][2]["threshold"] == threshold


def table(title: str, took: dict[str, list[float]]) -> None:
    """Print median and 95th percentile of each page."""
    print(f"{title}\n  page                      median s   95 % s")
    for page in PAGES:
        print(line(page.title, took[page.url]))


def line(name: str, seconds: list[float]) -> str:
    """Return one line of a table."""
    return f"  {name:24}{statistics.median(seconds):10.2f} {statistics.quantiles(seconds, n=20)[-1]:8.2f}"


async def trivial(address: str) -> list[float]:
    """Return the seconds of a trivial app under the same load, for comparison."""
    async with AsyncExitStack() as stack:
        visitors = [await stack.enter_async_context(Visitor(address)) for _ in range(SESSIONS)]
        return [seconds for _ in range(ROUNDS + 1) for seconds in await at_once(visitors, "")][SESSIONS:]


async def measure(address: str, server: Any) -> None:
    """Print all measurements of one server."""
    async with Visitor(address) as first:  # loads the libraries and fills the shared caches
        for page in PAGES:
            await first.open(page.url)
    before, warm = memory(server), held(server)
    async with AsyncExitStack() as stack:
        visitors = [await stack.enter_async_context(Visitor(address)) for _ in range(SESSIONS)]
        took = await in_class(visitors)
        table(f"{SESSIONS} sessions, each page in turn, up to {THINKING:g} s between clicks", took)
        await asyncio.sleep(SETTLE)
        print(f"memory: {(memory(server) - before) / SESSIONS:.1f} MB per idle session")
        again: dict[str, list[float]] = {page.url: [] for page in PAGES}
        processor = processor_seconds(server)
        for page in PAGES * ROUNDS:
            again[page.url] += await at_once(visitors, page.url)
        spent = processor_seconds(server) - processor
        table(f"all {SESSIONS} click at once (load of this machine {os.getloadavg()[0]:.1f})", again)
        each = spent / (ROUNDS * SESSIONS * len(PAGES))
        print(f"processor time per response: {1000 * each:.0f} ms on average")
        print(f"sessions per core: {0.5 * PAUSE / each:.0f}, each with a click every {PAUSE:g} s, at half load")
        await check_isolation(
            [await stack.enter_async_context(Visitor(address)) for _ in range(SESSIONS)]
        )  # new sessions
        print(f"isolation: {SESSIONS} seeds and thresholds, each session got its own run")
        await asyncio.sleep(SETTLE)
        during = held(server)
    await asyncio.sleep(FORGET)
    print(f"before {SESSIONS} sessions   {warm}\nduring               {during}\nafter they have left {held(server)}")


async def come_and_go(address: str, server: Any) -> None:
    """Print the memory after each of four groups of visitors that open every page at once and leave: it settles."""
    async with Visitor(address) as first:
        for page in PAGES:
            await first.open(page.url)
    print(f"before the first group   {held(server)}")
    for number in range(GROUPS):
        async with AsyncExitStack() as stack:
            visitors = [await stack.enter_async_context(Visitor(address)) for _ in range(GROUP)]
            for page in PAGES:
                await at_once(visitors, page.url)
        await asyncio.sleep(GONE)
        print(f"after group {number + 1} of {GROUP}       {held(server)}", flush=True)


def main() -> None:
    """Print all tables."""
    with serve() as address:
        asyncio.run(measure(address, process_of(address)))
    with serve(options=["--server.disconnectedSessionTTL", "3"]) as address:
        asyncio.run(come_and_go(address, process_of(address)))
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "trivial.py")
        script.write_text(TRIVIAL)
        with serve(script) as address:
            print(line("(a trivial app)", asyncio.run(trivial(address))))


if __name__ == "__main__":
    main()
