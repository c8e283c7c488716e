"""Several visitors of one server over websockets: isolation, and clean-up after they leave."""

import asyncio
import time
import urllib.error
import urllib.request
from contextlib import AsyncExitStack
from types import SimpleNamespace

import pytest
from starlette.exceptions import HTTPException
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from benchmarks.bench_sessions import check_isolation
from pages.shell import uploads
from pages.shell.navigation import PAGES
from tests.support.appserver import process_of, serve
from tests.support.visitor import Visitor

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
            small = {"data": "points", "per_class": 150, "train": 20}
            await asyncio.gather(one.open("drift-lab", **small), other.open("drift-lab", **small))
            assert one.player()["digest"] == other.player()["digest"], "equal links show equal runs"
            await asyncio.gather(one.choose(lab={"position": 40}), other.choose(lab={"position": 90}))
            assert one.texts("heading")[1].startswith("Sample 40:")
            assert other.texts("heading")[1].startswith("Sample 90:")

    asyncio.run(ask())


COUNTING = """
import gc
import numpy as np
import streamlit as st
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.scriptrunner import get_script_run_ctx
from pages.shell.housekeeping import housekeeping
from tmlcd_core.knn import distance_cache

if __name__ == "__main__":
    st.code(str(sum(type(one) is AppSession for one in gc.get_objects())))
    st.code(get_script_run_ctx().session_id)
    st.code(str(distance_cache.nbytes))
    with distance_cache.of(np.ones((9, 2), np.float32)):
        pass
else:
    app = st.App(__file__, lifespan=housekeeping)
"""
LEAVING = 10
MOST_SECONDS = 60


def test_sessions_and_file_descriptors_go_when_visitors_have_left(tmp_path):
    """Streamlit alone keeps all of them until somebody else leaves, and three descriptors for each."""

    async def sessions(address, count):
        async with AsyncExitStack() as stack:
            there = await visitors(stack, address, count)
            for one in there:
                await one.open("")
            live, _, distances = there[-1].texts("code")
            return int(live), int(distances), process_of(address).num_fds()

    (script := tmp_path / "counting.py").write_text(COUNTING)
    with serve(script, ["--server.disconnectedSessionTTL", "1"]) as address:
        _, _, alone = asyncio.run(sessions(address, 1))
        live, distances, during = asyncio.run(sessions(address, LEAVING))
        assert distances > 0
        assert live >= LEAVING and during >= alone + 3 * (LEAVING - 1)
        deadline = time.monotonic() + MOST_SECONDS
        while process_of(address).num_fds() >= alone and time.monotonic() < deadline:
            time.sleep(0.2)
        live, distances, after = asyncio.run(sessions(address, 1))
        assert after <= alone and distances == 0
        assert live <= 2, "its own, and one that the server's loop has served last"


def send(address, session, name, megabytes):
    """Upload a file as a browser does; the status of the answer."""
    page = urllib.request.urlopen(f"{address}/_stcore/health")
    cookie = page.headers["Set-Cookie"].partition(";")[0]
    body = b'--x\r\nContent-Disposition: form-data; name="f"; filename="a.wav"\r\n\r\n'
    body += bytes(megabytes * 2**20) + b"\r\n--x--\r\n"
    headers = {"Cookie": cookie, "X-Xsrftoken": cookie.partition("=")[2]}
    headers["Content-Type"] = "multipart/form-data; boundary=x"
    url = f"{address}/_stcore/upload_file/{session}/{name}"
    try:
        return urllib.request.urlopen(urllib.request.Request(url, body, headers, method="PUT")).status
    except urllib.error.HTTPError as fault:
        return fault.code


def test_a_tab_cannot_fill_the_memory_with_files(tmp_path):
    async def ask(address):
        async with Visitor(address) as one, Visitor(address) as other:
            await one.open("")
            await other.open("")
            mine, others = one.texts("code")[1], other.texts("code")[1]
            sent = [await asyncio.to_thread(send, address, mine, f"file{n}", 19) for n in range(6)]
            again = await asyncio.to_thread(send, address, mine, "file0", 19)
            return sent, again, await asyncio.to_thread(send, address, others, "file", 19)

    (script := tmp_path / "counting.py").write_text(COUNTING)
    with serve(script) as address:
        sent, again, other = asyncio.run(ask(address))
    assert sent == [204] * 5 + [413]
    assert again == 204, "in the place of itself"
    assert other == 204


def test_files_that_have_been_read_leave_the_memory(monkeypatch):
    manager = MemoryUploadedFileManager("/upload")
    for name in ("read", "waiting"):
        manager.add_file("tab", UploadedFileRec(name, "a.wav", "audio/wav", bytes(20)))
    context = SimpleNamespace(session_id="tab", uploaded_file_mgr=manager)
    monkeypatch.setattr(uploads, "get_script_run_ctx", lambda: context)
    uploads.forget([SimpleNamespace(file_id="read")])
    assert list(manager.file_storage["tab"]) == ["waiting"]


def test_all_tabs_together_have_a_limit(monkeypatch):
    monkeypatch.setattr(uploads, "MOST_OF_ALL", 100)
    uploads.limit_uploads(manager := MemoryUploadedFileManager("/upload"))
    for number in range(5):
        manager.add_file(f"tab {number}", UploadedFileRec("file", "a.wav", "audio/wav", bytes(20)))
    with pytest.raises(HTTPException, match="413"):
        manager.add_file("another", UploadedFileRec("file", "a.wav", "audio/wav", bytes(1)))
    manager.remove_session_files("tab 0")
    manager.add_file("another", UploadedFileRec("file", "a.wav", "audio/wav", bytes(20)))
    assert len(manager.get_files("another", ["file"])) == 1
