"""Fixtures for several tests: seeded streams of Gaussian classes, and a local file server."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from hypothesis import settings

from tests.support.appserver import seen_now

collect_ignore_glob = ["*capymoa_run.py"]  # a program for an environment of its own

# The same examples every time: a failure on one machine is a failure on all.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


def gaussian_stream(n0=60, n=400, d=6, classes=3, separation=1.2, change=None, seed=0):
    """Initial samples and a stream; from `change` on two classes have swapped places and a third has moved."""
    rng = np.random.default_rng(seed)
    centres = separation * rng.normal(size=(classes + 1, d))
    y0 = np.arange(n0) % classes
    y = rng.integers(0, classes, n)
    moved = np.r_[1, 0, classes, 3:classes] if classes > 2 else np.array([1, 0])
    place = y if change is None else np.where(np.arange(n) >= change, moved[y], y)
    X0 = rng.normal(size=(n0, d)) + centres[y0]
    X = rng.normal(size=(n, d)) + centres[place]
    return X0.astype(np.float32), y0, X.astype(np.float32), y


@pytest.fixture(scope="session", autouse=True)
def cache_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep the features of tests out of the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMLCD_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield tmp_path_factory.getbasetemp()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo) -> Iterator[None]:
    """Add what the browser shows to the report of a failed test."""
    report = yield
    if report.when == "call" and report.failed and item.get_closest_marker("browser"):
        report.sections.append(("Browser", seen_now()))
    return report


@pytest.fixture
def make_stream():
    return gaussian_stream


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """Address of a local server for the files in `served`."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            """Nobody reads it."""

    (tmp_path / "served").mkdir()

    class Server(ThreadingHTTPServer):
        def handle_error(self, *args: object) -> None:
            """torchvision looks for a redirection and hangs up."""

    with Server(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path / "served"))) as httpd:
        Thread(target=httpd.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{httpd.server_address[1]}/"
        httpd.shutdown()
