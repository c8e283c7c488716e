"""Limit of one long computation at a time per visitor.

A visitor is a browser: its tabs share Streamlit's cookie. A computation claims the visitor's slot once it has run for
LONG seconds; short ones do not need it.
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
RESTED = 5.0  # s without a step after which a computation in steps counts as abandoned
MOST_PROCESSES = 2  # for all visitors together
COOKIE, TAB = "_streamlit_xsrf", "visitor:tab"


class Busy(TmlcdError):
    """Too many long computations, of this visitor or of all visitors."""


class Closable(Protocol):
    """Object with a `close` method."""

    def close(self) -> None: ...


T = TypeVar("T", bound=Closable)


@dataclass
class Computation:
    """One long computation.

    Parameters
    ----------
    what : str
        Name in messages to the visitor.
    running : callable
        Returns True while it runs.
    is_process : bool
        True for a background process. Other computations run in the script of a tab, one at a time.
    tab : str
        Streamlit session that claimed the slot.
    """

    what: str
    running: Callable[[], bool]
    is_process: bool = False
    tab: str = ""


@dataclass
class _Visitor:
    """State of one browser: its long computation, and objects to close after its last tab."""

    tabs: set[str] = field(default_factory=set)  # Streamlit session ids
    left: float | None = None  # time at which no tab was open any more
    place: Computation | None = None
    kept: dict[str, Closable] = field(default_factory=dict)


_visitors: dict[str, _Visitor] = {}
_lock = threading.RLock()


def visitor() -> str:
    """Return an id for this visitor from the browser's cookie; without a cookie, an id for this tab."""
    masked = st.context.cookies.get(COOKIE, "")
    token = decode_xsrf_token_string(masked)[0] if masked else None
    return token.hex() if token else st.session_state.setdefault(TAB, secrets.token_hex(16))


def keep(name: str, make: Callable[[], T]) -> T:
    """Return this visitor's object of that name, created by `make` on first use.

    All tabs of a browser share it, also after a reload; it is closed after the last tab.
    """
    with _lock:
        kept = _here().kept
        if name not in kept:
            kept[name] = make()
        return kept[name]  # type: ignore[return-value]


def claim(wanted: Computation) -> None:
    """Claim the visitor's slot for a computation; `Busy` if another one is running."""
    with _lock:
        here, wanted.tab = _here(), _tab()
        there = here.place
        # An earlier computation in the script of this tab has ended, or will claim the slot again in its next step.
        elsewhere = there is not None and there is not wanted and (there.is_process or there.tab != wanted.tab)
        if there is not None and elsewhere and there.running():
            raise Busy(f"You already have a computation running ({there.what}): wait for it or cancel it")
        places = [one.place for one in _visitors.values() if one is not here and one.place is not None]
        processes = sum(place.is_process and place.running() for place in places)
        if wanted.is_process and processes >= MOST_PROCESSES:
            raise Busy(f"The server runs {processes} long computations for other visitors: try again in a few minutes")
        here.place = wanted


@contextmanager
def one_at_a_time(what: str, progress: Progress) -> Iterator[Progress]:
    """Yield `progress` wrapped for a computation in a script run: after LONG s it claims the slot, or raises `Busy`."""
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
    """Computation in steps, one per tick of a fragment; it holds the visitor's slot until RESTED s after a step."""

    def __init__(self, what: str) -> None:
        self._until = 0.0
        self._place = Computation(what, lambda: time.monotonic() < self._until)

    @contextmanager
    def step(self) -> Iterator[None]:
        """Run one step if the visitor's slot is free; otherwise `Busy`."""
        claim(self._place)
        self._until = float("inf")
        try:
            yield
        finally:
            self._until = time.monotonic() + RESTED

    def finish(self) -> None:
        """Release the slot."""
        self._until = 0.0


def close_left(is_active: Callable[[str], bool], patience: float) -> None:
    """Close the objects of visitors without an open tab for `patience` seconds.

    `is_active` takes a Streamlit session id and returns True while its tab is open.
    """
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
    """Close the objects of all visitors."""
    with _lock:
        while _visitors:
            _close(_visitors.popitem()[1])


atexit.register(close_all)


def _close(one: _Visitor) -> None:
    for kept in one.kept.values():
        kept.close()


def _here() -> _Visitor:
    """Return the state of this visitor and register this tab."""
    found = _visitors.setdefault(visitor(), _Visitor())
    found.tabs.add(_tab())
    found.left = None
    return found


def _tab() -> str:
    context = get_script_run_ctx()
    return "" if context is None else context.session_id
