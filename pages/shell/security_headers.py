"""Security headers: Content-Security-Policy, nosniff and Referrer-Policy."""

import base64
import hashlib
import re
from collections.abc import Mapping

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

INLINE_SCRIPT = re.compile(r"<script(?![^>]*\ssrc=)[^>]*>(.*?)</script>", re.S)
STARTS = {"http.response.start", "websocket.http.response.start"}


def security_headers(html: str, frame_ancestors: str) -> dict[str, str]:
    """Return the headers (name -> value) for every response of a server that serves `html`.

    Parameters
    ----------
    html : str
        The served page; only its inline scripts may run.
    frame_ancestors : str
        Sites that may embed a page, in the syntax of the directive frame-ancestors.
    """
    hashes = " ".join(f"'sha256-{_digest(script)}'" for script in INLINE_SCRIPT.findall(html))
    policy = {
        "default-src": "'self'",
        # Streamlit loads the code of a component from a blob, and its protocol buffers use WebAssembly.
        "script-src": f"'self' blob: 'wasm-unsafe-eval' {hashes}",
        "style-src": "'self' 'unsafe-inline'",  # Streamlit's frontend writes styles into the page
        "img-src": "'self' blob: data:",
        "media-src": "'self' blob: data:",
        "font-src": "'self' data:",
        "connect-src": "'self' blob: data:",
        "worker-src": "'self' blob:",
        "object-src": "'none'",
        "base-uri": "'self'",
        "form-action": "'self'",
        "frame-ancestors": frame_ancestors,
    }
    return {
        "Content-Security-Policy": "; ".join(f"{name} {sources}" for name, sources in policy.items()),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "same-origin",  # the address contains the settings and the key of a session
    }


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


class SecurityHeaders:
    """ASGI middleware that adds headers to every response.

    Parameters
    ----------
    app : ASGI application
        The wrapped application.
    headers : mapping
        Header name -> value.
    """

    def __init__(self, app: ASGIApp, headers: Mapping[str, str]) -> None:
        self.app = app
        self.headers = headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def add_headers(message: Message) -> None:
            if message["type"] in STARTS:
                MutableHeaders(scope=message).update(self.headers)
            await send(message)

        await self.app(scope, receive, add_headers)
