"""A server of the app on a free port with its own home folder, and Chromium."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 60
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# The state of Streamlit's script and the lines of the page.
SHOWN = """() => [
    document.querySelector("[data-testid=stApp]")?.dataset.testScriptState,
    ...document.body.innerText.split("\\n").filter((line) => line.trim()),
].join(" | ").slice(0, 3000)"""
_running: list[Any] = []  # browsers


def free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serve(script: Path = ROOT / "app.py", options: Sequence[str] = ()) -> Iterator[str]:
    """Start a fresh server with an empty home and cache; yield its address; stop it.

    `options` are further ones of `streamlit run`, and after "--" those of the app.
    """
    port = free_port()
    with tempfile.TemporaryDirectory() as home:
        threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # as `make run` sets them
        env = threads | os.environ | {"HOME": home, "TMLCD_CACHE": f"{home}/cache", "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-m", "streamlit", "run", str(script), "--server.port", str(port)]
        command += [
            "--server.headless",
            "true",
            "--server.address",
            "127.0.0.1",
            "--server.fileWatcherType",
            "none",
            *options,
        ]
        log = Path(home, "server.log")
        with log.open("wb") as out:
            server = subprocess.Popen(command, cwd=ROOT, env=env, stdout=out, stderr=subprocess.STDOUT)
        try:
            address = f"http://127.0.0.1:{port}"
            wait_until_healthy(address, server, log)
            yield address
        finally:
            server.terminate()
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def wait_until_healthy(address: str, server: "subprocess.Popen[bytes]", log: Path) -> None:
    """Return when the server answers; raise with its log when it does not."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            urllib.request.urlopen(f"{address}/_stcore/health", timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"no server at {address}:\n{log.read_text(errors='replace')}")


def process_of(address: str) -> Any:
    """Return the process of a server of `serve`."""
    import psutil

    port = address.rpartition(":")[2]
    return next(one for one in psutil.Process().children() if port in one.cmdline())


def processor_seconds(server: Any) -> float:
    """Return the processor time of a process so far."""
    used = server.cpu_times()
    return used.user + used.system


@contextmanager
def chromium(*extra_flags: str) -> Iterator[Any]:
    """Yield Debian's Chromium under Playwright."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=[*FLAGS, *extra_flags])
        _running.append(browser)
        try:
            yield browser
        except Exception as error:
            error.add_note(seen(browser))
            raise
        finally:
            _running.remove(browser)
        browser.close()


def seen_now() -> str:
    """Return what the pages of every running Chromium show."""
    return "\n".join(map(seen, _running))


def seen(browser: Any) -> str:
    """Return the address and the text of each page of a browser, for the report of a failed test."""
    texts = []
    for page in (page for context in browser.contexts for page in context.pages):
        try:
            texts.append(f"--- {page.url}\n{page.evaluate(SHOWN)}")
        except Exception as error:  # the page may be closed or frozen, and the report must not hide the failure
            texts.append(f"--- {page.url}: {error}")
    return "\n".join(texts)
