"""The static site: every link leads somewhere, no page asks another host."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from docs import site
from tmlcd_core import __all__ as public

LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "audio": "src"}


class Links(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded, self.linked, self.ids = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.ids.add(found.get("id"))
        if tag in LOADED and found.get(LOADED[tag]):
            self.loaded.append(found[LOADED[tag]])
        if tag == "a" and found.get("href"):
            self.linked.append(found["href"])


def check(folder: Path, sections: tuple[str, ...] = site.SECTIONS) -> int:
    pages = {path: Links(path.read_text("utf-8")) for path in folder.rglob("*.html") if path.parent.name != "lab"}
    for path, page in pages.items():
        for address in page.loaded:
            assert not re.match(r"(https?:)?//", address), f"{path} asks {address}"
        for address in page.loaded + page.linked:
            parts = urlsplit(address)
            if parts.scheme in ("http", "https", "mailto", "data"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.stem in set(site.SECTIONS) - set(sections) and target.parent == folder:
                continue
            assert target.exists(), f"{path} links to {address}"
            if parts.fragment and target in pages:
                assert unquote(parts.fragment) in pages[target].ids, f"{path} links to {address}"
    return len(pages)


def test_links_of_documents_and_reference(tmp_path):
    readme = (site.ROOT / "README.md").read_text("utf-8")
    (tmp_path / "site.css").write_text(site.STYLE)
    (tmp_path / "pictures").symlink_to(site.PICTURES)
    for part in (site.start, site.findings, site.recipes):
        part(tmp_path, readme)
    for part in (site.gallery, site.guides, site.reference):
        part(tmp_path)
    assert check(tmp_path, tuple(set(site.SECTIONS) - {"lessons", "notebooks"})) > 15
    text = (tmp_path / "reference" / "tmlcd_core.html").read_text("utf-8")
    assert all(f'id="{name}"' in text for name in public)
    assert "nearest-neighbour" in text, "docstrings are there"
    assert "SlidingKNN" in (tmp_path / "recipes.html").read_text("utf-8")


def test_formulas_are_mathml_and_code_stays():
    found = []
    text = site.without_formulas("The $\\sqrt{n}$ and\n$$ g_t \\ge h $$\n`cost = $5`, ```a $ b $```", found)
    assert text == "The FORMULA0END and\nFORMULA1END\n`cost = $5`, ```a $ b $```"
    assert "<msqrt>" in found[0] and 'display="inline"' in found[0]
    assert 'display="block"' in found[1] and "<msub>" in found[1]


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_whole_site(tmp_path):
    site.build(tmp_path / "site", lambda text: None)
    assert check(tmp_path / "site") > 30
    for path in (tmp_path / "site" / "notebooks").glob("*.html"):
        text = re.sub(r"<(pre|code)\b.*?</\1>", "", path.read_text("utf-8"), flags=re.S)
        assert not re.search(r"\$[^<>\n]+\$|FORMULA\d", text), f"{path.name} shows LaTeX"
    frames = list((tmp_path / "site" / "lab").glob("*.html"))
    assert len(frames) > 5 and all("default-src 'none'" in frame.read_text("utf-8") for frame in frames)
