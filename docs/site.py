"""Static site of the documentation: `python -m docs.site FOLDER` (default: build/site). It asks no other host.

Sources: README.md, docs/*.md, the notebooks with their stored output, the lessons of the app, and the docstrings of all
public names. Lessons contain the Drift lab as a page in one file, a guide the shipped words. At the end all links are
checked.
"""

from __future__ import annotations

import html
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jinja2
import latex2mathml.converter
import mistune
import nbformat
from nbconvert import HTMLExporter
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonConsoleLexer, get_lexer_by_name

from docs import site_reference
from docs.site_links import faults_of
from tmlcd_core.experiments import Experiment
from tmlcd_core.live.example import example_session
from tmlcd_core.web.lab_page import page_of_experiment
from tmlcd_core.web.words_page import words_page

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / ".github" / "pictures"
LAB = "drift-lab"
FORMULA = re.compile(r"(`+).*?\1|\$\$(.+?)\$\$|\$(.+?)\$", re.S)  # or code, which stays
SECTIONS = ("index", "lessons", "notebooks", "recipes", "reference", "findings", "gallery", "guides")
TITLES = {"index": "Start in five minutes", "guides": "Guides"}
# Documents of docs/ that the site shows under "Guides", and what they are about.
GUIDES = {
    "without-a-server": "The Drift lab and your own words as pages in one file; widgets in notebooks.",
    "scale": "Visitors per core, several processes behind a proxy, and when to hand out files instead.",
    "listening": "How the page Microphone listens, and how well: measured on recorded voices.",
    "tandem": "Tandem, a learner of this project: its rule, its bytes, and where it loses.",
    "tandem-search": "What was tried before Tandem got its rule.",
    "glossary": "The terms of the app, the library and the paper.",
}
WORDS = "without-a-server"  # the guide that ends with a page to try
PAGE = jinja2.Template(
    """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }} · TML-CD Lab</title>
<link rel="stylesheet" href="{{ up }}site.css">
</head>
<body>
<header><a class="brand" href="{{ up }}index.html">TML-CD Lab</a>
{%- for name, text in menu %} <a href="{{ up }}{{ name }}.html"
{%- if name == here %} aria-current="page"{% endif %}>{{ text }}</a>{% endfor %}</header>
<div class="page">
<main>
{{ body }}
{%- if turns %}
<nav class="turn" aria-label="Next and previous page">
{%- for text, name in turns %}<a href="{{ up }}{{ name }}.html">{{ text }}</a>{% endfor %}</nav>
{%- endif %}
</main>
{%- if contents %}
<nav class="contents" aria-label="On this page"><b>On this page</b><ol>
{%- for anchor, text in contents %}<li><a href="#{{ anchor }}">{{ text }}</a></li>{% endfor %}</ol></nav>
{%- endif %}
</div>
</body>
</html>
"""
)
HEADING = re.compile(r'<h2[^>]* id="([^"]+)"[^>]*>(.*?)</h2>', re.S)
FEWEST_HEADINGS = 3  # of a page with a list of them


def build(folder: Path, tell: Callable[[str], Any] = print) -> None:
    """Write the whole site to `folder`, which is emptied first."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "site.css").write_text(style(), encoding="utf-8")
    shutil.copytree(PICTURES, folder / "pictures")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for part in (start, findings, recipes):
        part(folder, readme)
    gallery(folder)
    guides(folder)
    reference(folder)
    tell("reference and guides")
    notebooks(folder)
    tell("notebooks")
    lessons(folder)
    tell(f"{folder}/index.html")


def style() -> str:
    """Return the style sheet, with the colours of code."""
    sheet = (ROOT / "docs" / "site.css").read_text(encoding="utf-8")
    dark = HtmlFormatter(style="github-dark").get_style_defs(".highlight")
    light = HtmlFormatter(style="default").get_style_defs(".highlight")
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n{sheet}"


def write(folder: Path, name: str, title: str, body: str, turns: Sequence[tuple[str, str]] = ()) -> None:
    """Write one page; `name` is its path without the ending, `turns` are texts and names of its neighbours."""
    section = name.partition("/")[0]
    menu = [(one, TITLES.get(one, one.capitalize())) for one in SECTIONS]
    path = folder / f"{name}.html"
    path.parent.mkdir(exist_ok=True)
    heads = [
        (anchor, re.sub(r"<small>.*?</small>|<[^>]+>", "", text).strip()) for anchor, text in HEADING.findall(body)
    ]
    contents = heads if len(heads) >= FEWEST_HEADINGS else []
    values = {"title": title, "body": body, "here": section, "menu": menu, "turns": turns, "contents": contents}
    path.write_text(PAGE.render(up="../" * name.count("/"), **values), encoding="utf-8")


def write_section(folder: Path, section: str, title: str, pages: Sequence[tuple[str, str, str, str]]) -> None:
    """Write pages (name, title, what it is about as HTML, body) with links to their neighbours, and their list."""
    names = [(f"{section}/{name}", text) for name, text, *_ in pages]
    for number, (name, text, _, body) in enumerate(pages):
        before = [(f"← {one}", place) for place, one in names[:number][-1:]]
        after = [(f"{one} →", place) for place, one in names[number + 1 :][:1]]
        write(folder, f"{section}/{name}", text, body, [*before, *after])
    lines = "".join(
        f'<li><a href="{section}/{name}.html">{html.escape(text)}</a><span>{about}</span></li>'
        for name, text, about, _ in pages
    )
    write(folder, section, title, f'<h1>{html.escape(title)}</h1><ul class="list">{lines}</ul>')


class _Coloured(mistune.HTMLRenderer):
    """HTML of Markdown, with code in colours."""

    def block_code(self, code: str, info: str | None = None) -> str:
        """Return a block of code; `info` is its language."""
        lexer = PythonConsoleLexer() if code.startswith(">>>") else get_lexer_by_name(info or "text")
        return str(highlight(code, lexer, HtmlFormatter()))


def markdown(text: str, up: str = "") -> str:
    """Return Markdown as HTML, with headings that can be linked, and links to files of the repository as code."""
    found = str(
        mistune.create_markdown(renderer=_Coloured(escape=False), plugins=["table", "strikethrough", "url"])(text)
    )
    found = re.sub(r"<h([1-4])>(.*?)</h\1>", lambda m: f'<h{m[1]} id="{_anchor(m[2])}">{m[2]}</h{m[1]}>', found)
    found = found.replace(".github/pictures/", f"{up}pictures/")
    return re.sub(r'<a href="(?!https?:|#|mailto:)([^"]+\.(?:md|py|ipynb|cff))">(.*?)</a>', r"<code>\1</code>", found)


def _anchor(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", re.sub(r"<[^>]+>", "", text).lower()).strip("-")


def _parts(text: str, *heads: str) -> str:
    """The sections of a document with these headings."""
    return "\n".join(f"## {head}\n" + text.partition(f"## {head}\n")[2].partition("\n## ")[0] for head in heads)


def start(folder: Path, readme: str) -> None:
    """Write the first page: the README up to the paper, and how to install the library."""
    head = readme.partition("\n## ")[0]
    text = _parts(readme, "In five minutes", "The paper in five sentences", "One experiment, three forms")
    text += "\n" + _parts(readme, "Your own data", "The library in ten lines", "Limits")
    write(folder, "index", "Start in five minutes", markdown(f"{head}\n{text}"))


def findings(folder: Path, readme: str) -> None:
    """Write the findings of the reproduction."""
    write(folder, "findings", "Findings", "<h1>Findings</h1>" + markdown(_parts(readme, "Against the paper")))


def recipes(folder: Path, readme: str) -> None:
    """Write the recipes: learner, detector, drift, dataset and board of your own."""
    write(folder, "recipes", "Recipes", "<h1>Recipes</h1>" + markdown(_parts(readme, "Add your own")))


def gallery(folder: Path) -> None:
    """Write the pictures of the app."""
    pictures = sorted(PICTURES.glob("*"))
    body = "".join(
        f'<h2 id="{path.stem}">{title}</h2><img src="pictures/{path.name}" alt="{title}">'
        for path, title in ((one, html.escape(one.stem.replace("-", " ").capitalize())) for one in pictures)
    )
    write(folder, "gallery", "Gallery", f'<div class="gallery"><h1>Gallery</h1>{body}</div>')


def guides(folder: Path) -> None:
    """Write the documents of docs/, and their list."""
    pages = []
    for name, about in GUIDES.items():
        text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
        title = text.partition("\n")[0].removeprefix("# ")
        pages.append((name, title, about, markdown(text, "../") + (_words(folder) if name == WORDS else "")))
    write_section(folder, "guides", "Guides", pages)


def _words(folder: Path) -> str:
    """Four words that the reader's browser hears, as a page in one file."""
    (folder / "lab").mkdir(exist_ok=True)
    (folder / "lab" / "words.html").write_text(words_page(example_session(), all_sounds=True), encoding="utf-8")
    frame = '<iframe src="../lab/words.html" title="My words" loading="lazy" allow="microphone"></iframe>'
    return f'<h2 id="try-it">Try it</h2><p><a href="../lab/words.html">This page alone</a></p>{frame}'


def notebooks(folder: Path) -> None:
    """Write the notebooks with their stored output."""
    exporter = HTMLExporter(template_name="basic", exclude_input_prompt=True, exclude_output_prompt=True)
    pages = []
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        book = nbformat.read(path, 4)
        title = next(line for cell in book.cells for line in cell.source.splitlines() if line.startswith("# "))[2:]
        formulas: list[str] = []
        for cell in book.cells:
            if cell.cell_type == "markdown":
                cell.source = without_formulas(cell.source, formulas)
        body, _ = exporter.from_notebook_node(book)
        body = re.sub(r"FORMULA(\d+)END", lambda found, formulas=formulas: formulas[int(found[1])], body)
        body = re.sub(r"<script\b.*?</script>", "", body, flags=re.S)  # the figures are pictures
        body = re.sub(r'<a class="anchor-link".*?</a>', "", body)
        body = re.sub(r'href="([\w-]+)\.ipynb"', r'href="\1.html"', body)
        body = body.replace('href="README.md"', 'href="../notebooks.html"')
        question = re.search(r"<strong>The question\.</strong>(.*?)</p>", body, re.S)
        pages.append((path.stem, title, question[1] if question else "", body))
    write_section(folder, "notebooks", "Notebooks", pages)


def without_formulas(text: str, formulas: list[str]) -> str:
    """Return Markdown whose formulas in LaTeX are `FORMULA0END`, …; their MathML is added to `formulas`.

    >>> found = []
    >>> without_formulas("If $g_t = 1$, `$HOME`.", found), "<msub>" in found[0]
    ('If FORMULA0END, `$HOME`.', True)
    """

    def replace(found: re.Match[str]) -> str:
        if found[1]:
            return found[0]
        made = latex2mathml.converter.convert(found[2] or found[3], display="block" if found[2] else "inline")
        formulas.append(f'<span class="formula">{made}</span>' if found[2] else made)
        return f"FORMULA{len(formulas) - 1}END"

    return FORMULA.sub(replace, text)


def reference(folder: Path) -> None:
    """Write the pages of `site_reference`."""
    pages = [(name, name, site_reference.described(about, str), body) for name, about, body in site_reference.pages()]
    write_section(folder, "reference", "Reference", pages)


def lessons(folder: Path) -> None:
    """Write the lessons: what to predict, the Drift lab in one file, and the answer that the run gives."""
    from streamlit.logger import set_log_level

    set_log_level("error")  # it warns of each value that is read outside of a page
    from pages.views.lessons import LESSONS

    pages = []
    for lesson in LESSONS:
        parts = [f"<h1>{html.escape(lesson.title)}</h1><p>{html.escape(lesson.about)}</p>"]
        for number, part in enumerate(lesson.parts, 1):
            parts.append(_part(folder, lesson, number, part))
        pages.append((lesson.name, lesson.title, html.escape(lesson.about), "".join(parts)))
    write_section(folder, "lessons", "Lessons", pages)


def _part(folder: Path, lesson: Any, number: int, part: Any) -> str:
    found = part.measure(part.settings)
    options = "".join(f"<li>{markdown(part.text(text))}</li>" for text in part.options.values())
    watch = "".join(f"<li>{markdown(part.text(text))}</li>" for text in part.watch)
    frame = ""
    if part.page == LAB:
        (folder / "lab").mkdir(exist_ok=True)
        page = page_of_experiment(Experiment.from_link(lesson.link(number)))
        (folder / "lab" / f"{lesson.key(number)}.html").write_text(page, encoding="utf-8")
        frame = f'<iframe src="../lab/{lesson.key(number)}.html" title="Drift lab" loading="lazy"></iframe>'
    answer = markdown(part.text(part.options.get(found.answer, ""))) + markdown(part.text(part.explain, found.facts))
    return (
        f'<h2 id="part-{number}">Part {number}</h2>'
        f"{markdown(part.text(part.read))}<h3>{html.escape(part.text(part.question))}</h3>"
        f"<ul>{options}</ul>{frame}<p>Watch:</p><ul>{watch}</ul><details><summary>Answer</summary>{answer}</details>"
    )


if __name__ == "__main__":
    place = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "site")
    build(place, lambda text: print(text, flush=True))
    count, faults = faults_of(place)
    if faults:
        sys.exit("\n".join(faults))
    print(f"{count} pages, all links checked")
