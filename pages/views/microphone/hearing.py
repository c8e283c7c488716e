"""Votes for a word that is still being said: the browser sends the sound so far, and no run of the page is needed."""

import threading

import streamlit as st
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

MOST_BYTES = 2**20  # of a sound; 1.7 s at 192 kHz have 0.7 million
AT_ONCE = 2  # sounds that are computed at the same time; others get no votes
BACKGROUND = ""  # key of the background beside the words, which have one character or more
_slots = threading.BoundedSemaphore(AT_ONCE)


def hearing_path() -> str:
    """Return the path of the address that answers with votes."""
    return f"/{st.get_option('server.baseUrlPath').strip('/')}/microphone/hearing".replace("//", "/")


def hearing_route() -> Route:
    """Return the route: POST a WAV file to `hearing_path()?session=TOKEN`, get the probability of each word as JSON.

    The answer is empty (204) if there is nothing to say: no such session in memory, one that is busy, or no word yet.
    """
    return Route(hearing_path(), _answer, methods=["POST"])


async def _answer(request: Request) -> Response:
    sound = bytearray()
    async for chunk in request.stream():
        sound += chunk
        if len(sound) > MOST_BYTES:
            return Response(status_code=413)
    shares = await run_in_threadpool(votes_so_far, request.query_params.get("session", ""), bytes(sound))
    return Response(status_code=204) if shares is None else JSONResponse(shares)


def votes_so_far(token: str, sound: bytes) -> dict[str, float] | None:
    """Return the probability of each word and of the background for a WAV file; None if there is no answer.

    The session is not changed.
    """
    # Heavy modules, and the server imports this one at its start.
    from pages.views.microphone.session_store import session_store
    from tmlcd_core.errors import TmlcdError
    from tmlcd_core.features.voice import open_take

    stored = session_store().in_memory(token)
    if stored is None or not _slots.acquire(blocking=False):
        return None
    try:
        if not stored.lock.acquire(blocking=False):
            return None
        try:
            answer = stored.session.hear(open_take(sound))
            return answer.shares() | {BACKGROUND: 1 - answer.known if answer.noise else 0.0}
        finally:
            stored.lock.release()
    except TmlcdError:  # no word yet
        return None
    finally:
        _slots.release()
