"""The static site: every link leads somewhere, no page asks another host."""

import re

import pytest

from docs import site, site_reference
from docs.site_links import faults_of
from tmlcd_core import __all__ as public


def test_links_of_documents_and_reference(tmp_path):
    readme = (site.ROOT / "README.md").read_text("utf-8")
    (tmp_path / "site.css").write_text(site.style())
    (tmp_path / "pictures").symlink_to(site.PICTURES)
    for part in (site.start, site.findings, site.recipes):
        part(tmp_path, readme)
    for part in (site.gallery, site.guides, site.reference):
        part(tmp_path)
    for section in ("lessons", "notebooks"):  # the slow test builds them
        site.write(tmp_path, section, section, "")
    count, faults = faults_of(tmp_path)
    assert count > 15 and not faults
    text = (tmp_path / "reference" / "tmlcd_core.html").read_text("utf-8")
    assert all(f'id="{name}"' in text for name in public)
    assert "nearest-neighbour" in text, "docstrings are there"
    commands = (tmp_path / "reference" / "tmlcd.html").read_text("utf-8")
    assert all(f'id="tmlcd-{name}"' in commands for name in ("run", "export", "live-answers", "data-check"))
    for path in (tmp_path / "reference").glob("*.html"):
        assert not re.search(r"object at|at 0x|option_strings|\(.*: &#39;", path.read_text("utf-8")), path

    assert "SlidingKNN" in (tmp_path / "recipes.html").read_text("utf-8")


def test_reference_has_every_public_name_of_every_module_that_lists_them():
    described = site_reference.public_names()
    core = site.ROOT / "tmlcd_core"
    for file in (*core.glob("*.py"), *core.glob("*/__init__.py")):
        listed = re.search(r"^__all__ = \[(.*?)\]", file.read_text("utf-8"), re.M | re.S)
        if listed:
            module = ".".join(file.relative_to(site.ROOT).with_suffix("").parts).removesuffix(".__init__")
            assert set(re.findall(r'"(\w+)"', listed[1])) <= set(described[module]), module
    assert "TinyKNNClassifier" in described["tmlcd_core.capymoa"]


def test_docstring_becomes_paragraphs_terms_and_examples():
    text = site_reference.described(
        "One `Trace` of p_v1.\n\nParameters\n----------\nx : (n, d) array\n    Rows < 3.\n\n    More.\ny\n    Labels."
        "\n\nExamples\n--------\n>>> 1 + 1\n2",
        lambda name: f'<a href="#{name}">{name}</a>',
    )
    assert '<p>One <a href="#Trace">Trace</a> of p_v1.</p>' in text
    assert "<dt><code>x</code> <i>(n, d) array</i></dt><dd><p>Rows &lt; 3.</p><p>More.</p></dd>" in text
    assert text.count("<dt>") == 2 and "<h4>Examples</h4>" in text and "<dl>" not in text.partition("Examples")[2]


def test_formulas_are_mathml_and_code_stays():
    found = []
    text = site.without_formulas("The $\\sqrt{n}$ and\n$$ g_t \\ge h $$\n`cost = $5`, ```a $ b $```", found)
    assert text == "The FORMULA0END and\nFORMULA1END\n`cost = $5`, ```a $ b $```"
    assert "<msqrt>" in found[0] and 'display="inline"' in found[0]
    assert 'display="block"' in found[1] and "<msub>" in found[1]


def test_links_that_lead_nowhere_are_found(tmp_path):
    (tmp_path / "a.html").write_text('<h1 id="x">A</h1><a href="b.html#y">b</a><a href="#x">x</a><img src="c.png">')
    (tmp_path / "b.html").write_text('<a href="a.html#x">a</a><script src="//other.example/x.js"></script>')
    count, faults = faults_of(tmp_path)
    asks = "b.html asks //other.example/x.js"
    assert count == 2 and {"a.html links to c.png", "a.html links to b.html#y", asks} <= set(faults)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_whole_site(tmp_path):
    site.build(tmp_path / "site", lambda text: None)
    count, faults = faults_of(tmp_path / "site")
    assert count > 30 and not faults
    for path in (tmp_path / "site" / "notebooks").glob("*.html"):
        text = re.sub(r"<(pre|code)\b.*?</\1>", "", path.read_text("utf-8"), flags=re.S)
        assert not re.search(r"\$[^<>\n]+\$|FORMULA\d", text), f"{path.name} shows LaTeX"
    frames = list((tmp_path / "site" / "lab").glob("*.html"))
    assert len(frames) > 5 and all("default-src 'none'" in frame.read_text("utf-8") for frame in frames)
