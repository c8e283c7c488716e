"""Middleware against DNS rebinding and foreign origins: refuses requests before Streamlit sees them."""

from collections.abc import Sequence

import streamlit as st
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from pages.shell.host_names import host_name, is_allowed, origin_name

REMEDY = "start it with --hosts NAME or TMLCD_HOSTS=NAME to allow it"


class RequestGuard:
    """ASGI middleware that refuses requests with a foreign Host or Origin, pages and websockets alike.

    A foreign Host is the sign of DNS rebinding, which lets a web page read a server on localhost. Streamlit checks the
    Host of websockets only, and for a foreign Origin it blocks while it asks another host for its own public address.

    Parameters
    ----------
    app : ASGI application
        The wrapped application.
    hosts : sequence of str
        Allowed names besides those of this machine, as in `StartOptions.hosts`.
    """

    def __init__(self, app: ASGIApp, hosts: Sequence[str]) -> None:
        self.app = app
        self.hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self.refusal(Headers(scope=scope)) if scope["type"] in ("http", "websocket") else ""
        answer = PlainTextResponse(f"{refusal}\n", 400) if refusal else self.app
        await answer(scope, receive, send)

    def refusal(self, headers: Headers) -> str:
        """Return the reason for refusing a request with these headers; "" if it is allowed."""
        names = [host_name(host) for host in headers.getlist("host")]
        if len(names) != 1 or not is_allowed(names[0], self.hosts):
            name = ", ".join(filter(None, names)) or "of this request"
            return f"This server does not know the host name {name}: {REMEDY}."
        for origin in headers.getlist("origin"):
            if not self._is_own(origin):
                return f"This server does not answer pages of {origin_name(origin) or 'unknown sites'}: {REMEDY}."
        return ""

    def _is_own(self, origin: str) -> bool:
        if not st.get_option("server.enableCORS") or origin in st.get_option("server.corsAllowedOrigins"):
            return True  # allowed by the server's configuration
        return is_allowed(origin_name(origin), self.hosts)
