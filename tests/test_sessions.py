"""Several visitors of one server over real websockets: nobody is shown what is another's."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from benchmarks.appserver import serve
from benchmarks.bench_sessions import check_isolation
from benchmarks.visitor import Visitor
from pages.menu import PAGES

VISITORS = 5


@pytest.fixture(scope="module")
def server():
    with serve() as address:
        yield address


async def visitors(stack, address, count=VISITORS):
    return [await stack.enter_async_context(Visitor(address)) for _ in range(count)]


def test_everyone_gets_an_answer_about_their_own_settings(server):
    async def ask():
        async with AsyncExitStack() as stack:
            await check_isolation(await visitors(stack, server))

    asyncio.run(ask())


def test_pages_seen_at_the_same_time_are_each_visitors_own(server):
    async def ask():
        async with AsyncExitStack() as stack:
            there = await visitors(stack, server, len(PAGES))
            for turn in range(2):  # everyone on another page, then everyone one page further
                asked = [PAGES[(place + turn) % len(PAGES)] for place in range(len(there))]
                await asyncio.gather(*(one.open(page.url) for one, page in zip(there, asked, strict=True)))
                titles = [one.texts("heading")[0] for one in there]
                assert len(set(titles)) == len(PAGES)
                assert not [one for one in there if one.all("exception")]

    asyncio.run(ask())


def test_the_cursor_and_the_figures_of_one_visitor_are_not_anothers(server):
    async def ask():
        async with AsyncExitStack() as stack:
            one, other = await visitors(stack, server, 2)
            small = {"data": "Points in the plane", "per_class": 150, "train": 20}
            await asyncio.gather(one.open("drift-lab", **small), other.open("drift-lab", **small))
            assert one.player()["digest"] == other.player()["digest"], "equal links show equal runs"
            await asyncio.gather(one.choose(lab={"position": 40}), other.choose(lab={"position": 90}))
            assert one.texts("heading")[1].startswith("Sample 40:")
            assert other.texts("heading")[1].startswith("Sample 90:")

    asyncio.run(ask())
