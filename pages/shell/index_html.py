"""index.html of the app: Streamlit's HTML with the shell's style and script."""

from pathlib import Path

import streamlit as st
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from pages.shell.navigation import PAGES, SHELL
from pages.shell.presenter import PRESENTER, presenter_style
from pages.shell.streamlit_internals import get_static_dir

VIEWS = Path(__file__).parents[1] / "views"


def index_html() -> str:
    """Return Streamlit's HTML with shell.js and the style of all pages, so that a page does not jump when it is drawn.

    The style is shell.css and the CSS files in pages/views.
    """
    head, end, body = Path(get_static_dir(), "index.html").read_text(encoding="utf-8").partition("</head>")
    style = "".join(path.read_text(encoding="utf-8") for path in (SHELL, *sorted(VIEWS.glob("*/*.css"))))
    script = SHELL.with_suffix(".js").read_text(encoding="utf-8")
    return f'{head}<style>{style}</style><script type="module">{script}</script>{end}{body}'


def index_routes(html: str) -> list[Route]:
    """Return routes that serve `html` at the address of each page."""
    head, end, body = html.partition("</head>")
    base = st.get_option("server.baseUrlPath").strip("/")

    def answer(request: Request) -> HTMLResponse:
        large = f"<style>{presenter_style()}</style>" if request.query_params.get(PRESENTER) == "true" else ""
        return HTMLResponse(head + large + end + body, headers={"Cache-Control": "no-cache"})

    return [Route(f"/{base}/{page.url}".replace("//", "/"), answer) for page in PAGES]
