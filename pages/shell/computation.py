"""Long computations: one at a time for each visitor.

A visitor is a browser, whose tabs share Streamlit's cookie. A computation claims the visitor's place when it turns out
to be long; short ones never need it.
"""

import atexit
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import streamlit as st

from pages.shell.streamlit_internals import decode_xsrf_token_string, get_script_run_ctx
from tmlcd_core.errors import TmlcdError
from tmlcd_core.progress import Progress

LONG = 2.0  # s after which a computation counts as long
RESTED = 5.0  # s without a step after which a computation in steps counts as left
MOST_PROCESSES = 2  # of all visitors together
COOKIE, TAB = "_streamlit_xsrf", "visitor:tab"


class Busy(TmlcdError):
    """Too many long computations: of the visitor, or of all."""


class Closable(Protocol):
    def close(self) -> None: ...


T = TypeVar("T", bound=Closable)


@dataclass
class Computation:
    """One long computation.

    Parameters
    ----------
    what
        Its name, as the visitor knows it.
    running
        Whether it still runs.
    is_process
        Whether it runs beside the pages. Others run within the script of a tab, which does one thing at a time.
    """

    what: str
    running: Callable[[], bool]
    is_process: bool = False
    tab: str = ""


@dataclass
class _Visitor:
    """What the server holds for a browser: its long computation, and objects to close when its last tab has gone."""

    tabs: set[str] = field(default_factory=set)  # sessions
    left: float | None = None  # when all of them were seen to have gone
    place: Computation | None = None
    kept: dict[str, Closable] = field(default_factory=dict)


_visitors: dict[str, _Visitor] = {}
_lock = threading.RLock()


def visitor() -> str:
    """A name for this visitor: from the browser's cookie, or of this tab alone where there is none."""
    masked = st.context.cookies.get(COOKIE, "")
    token = decode_xsrf_token_string(masked)[0] if masked else None
    return token.hex() if token else st.session_state.setdefault(TAB, secrets.token_hex(16))


def keep(name: str, make: Callable[[], T]) -> T:
    """This visitor's object of that name, made when it is first asked for.

    All tabs of a browser have the same, also after a reload; it is closed when the last tab has gone.
    """
    with _lock:
        kept = _here().kept
        if name not in kept:
            kept[name] = make()
        return kept[name]  # type: ignore[return-value]


def claim(wanted: Computation) -> None:
    """Give the visitor's place to a computation; `Busy` while another one runs there."""
    with _lock:
        here, wanted.tab = _here(), _tab()
        there = here.place
        # What the script of this very tab did before is over, or will claim the place again with its next step.
        elsewhere = there is not None and there is not wanted and (there.is_process or there.tab != wanted.tab)
        if there is not None and elsewhere and there.running():
            raise Busy(f"Another computation of yours is still running ({there.what}); wait for it or cancel it")
        places = [one.place for one in _visitors.values() if one is not here and one.place is not None]
        processes = sum(place.is_process and place.running() for place in places)
        if wanted.is_process and processes >= MOST_PROCESSES:
            raise Busy(f"The server runs {processes} long computations for others; try again in some minutes")
        here.place = wanted


@contextmanager
def one_at_a_time(what: str, progress: Progress) -> Iterator[Progress]:
    """Progress of a computation within a script run: after two seconds it needs the visitor's place, or is `Busy`."""
    started, inside = time.monotonic(), True
    wanted = Computation(what, lambda: inside)

    def tell(done: int, total: int, now: str) -> None:
        if time.monotonic() - started > LONG:
            claim(wanted)
        progress(done, total, now)

    try:
        yield tell
    finally:
        inside = False


class InSteps:
    """A computation that goes on at each tick of a fragment: it runs during a step and some seconds after it."""

    def __init__(self, what: str) -> None:
        self._until = 0.0
        self._place = Computation(what, lambda: time.monotonic() < self._until)

    @contextmanager
    def step(self) -> Iterator[None]:
        """One step, if the visitor's place is free; else `Busy`."""
        claim(self._place)
        self._until = float("inf")
        try:
            yield
        finally:
            self._until = time.monotonic() + RESTED

    def finish(self) -> None:
        """Leave the place."""
        self._until = 0.0


def close_left(is_active: Callable[[str], bool], patience: float) -> None:
    """Close what is kept for visitors who have had no open tab for `patience` seconds."""
    now = time.monotonic()
    with _lock:
        for name, one in list(_visitors.items()):
            if any(map(is_active, one.tabs)):
                one.left = None
            elif one.left is None:
                one.left = now
            elif now - one.left >= patience:
                _close(_visitors.pop(name))


def close_all() -> None:
    """Close what is kept for every visitor."""
    with _lock:
        while _visitors:
            _close(_visitors.popitem()[1])


atexit.register(close_all)


def _close(one: _Visitor) -> None:
    for kept in one.kept.values():
        kept.close()


def _here() -> _Visitor:
    """What is known of this visitor, who has this tab open."""
    found = _visitors.setdefault(visitor(), _Visitor())
    found.tabs.add(_tab())
    found.left = None
    return found


def _tab() -> str:
    context = get_script_run_ctx()
    return "" if context is None else context.session_id
