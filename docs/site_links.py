"""Check of the static site: every link leads somewhere, no page asks another host."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "audio": "src"}


class Links(HTMLParser):
    """Addresses that a page loads or links to, and the ids that it can be linked at."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.linked: list[str] = []
        self.ids: set[str | None] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the addresses of an element."""
        found = dict(attrs)
        self.ids.add(found.get("id"))
        if tag in LOADED and (loaded := found.get(LOADED[tag])):
            self.loaded.append(loaded)
        if tag == "a" and (linked := found.get("href")):
            self.linked.append(linked)


def faults_of(folder: Path) -> tuple[int, list[str]]:
    """Return the number of pages in `folder`, and a sentence for each link that leads nowhere or to another host."""
    pages = {path: Links(path.read_text("utf-8")) for path in folder.rglob("*.html") if path.parent.name != "lab"}
    faults = []
    for path, page in pages.items():
        name = path.relative_to(folder)
        faults += [f"{name} asks {one}" for one in page.loaded if re.match(r"(https?:)?//", one)]
        for address in page.loaded + page.linked:
            parts = urlsplit(address)
            if parts.scheme in ("http", "https", "mailto", "data"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            missing = parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids
            if not target.exists() or missing:
                faults.append(f"{name} links to {address}")
    return len(pages), faults
