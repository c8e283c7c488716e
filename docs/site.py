"""Static site of the documentation: `python -m docs.site FOLDER` (default: build/site). It asks no other host.

Sources: README.md, docs/*.md, the notebooks with their stored output, the lessons of the app, and the docstrings of all
public names. Lessons contain the Drift lab as a page in one file, a guide the shipped words. At the end all links are
checked.
"""

from __future__ import annotations

import html
import importlib
import inspect
import pkgutil
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jinja2
import latex2mathml.converter
import mistune
import nbformat
from nbconvert import HTMLExporter
from pygments.formatters import HtmlFormatter

import tmlcd_core
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
# Documents of docs/ that the site shows under "Guides", by file name.
GUIDES = {"without-a-server": "Without a server", "scale": "Many users", "glossary": "Glossary", "tandem": "Tandem"}
WORDS = "without-a-server"  # the guide that ends with a page to try
HIDDEN = {"tmlcd_core.capymoa"}  # needs an environment of its own
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
<nav><b>TML-CD Lab</b>{% for name, text in menu %} <a href="{{ up }}{{ name }}.html"
{%- if name == here %} aria-current="page"{% endif %}>{{ text }}</a>{% endfor %}</nav>
<main>
{{ body }}
</main>
</body>
</html>
"""
)
STYLE = """
:root { color-scheme: light dark; }
body { margin: 0; font: 16px/1.55 system-ui, sans-serif; }
nav { display: flex; flex-wrap: wrap; gap: 4px 16px; padding: 10px 16px; border-bottom: 1px solid #8886; }
nav a[aria-current] { font-weight: 700; text-decoration: none; }
main { max-width: 1000px; margin: 0 auto; padding: 8px 16px 48px; }
img { max-width: 100%; height: auto; }
iframe { width: 100%; height: 860px; border: 1px solid #8886; border-radius: 8px; }
pre, .highlight { overflow-x: auto; }
.formula { display: block; overflow: auto hidden; padding: 4px 0; }
p code, li code { overflow-wrap: anywhere; }
pre { padding: 10px; border-radius: 8px; background: #8881; font-size: 14px; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { padding: 3px 10px; border-bottom: 1px solid #8884; text-align: left; }
.prompt, .jp-InputPrompt, .jp-OutputPrompt { display: none; }
"""


def build(folder: Path, tell: Callable[[str], Any] = print) -> None:
    """Write the whole site to `folder`, which is emptied first."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "site.css").write_text(STYLE + _colours(), encoding="utf-8")
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


def _colours() -> str:
    dark = HtmlFormatter(style="github-dark").get_style_defs(".highlight")
    light = HtmlFormatter(style="default").get_style_defs(".highlight")
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n"


def write(folder: Path, name: str, title: str, body: str) -> None:
    """Write one page; `name` is its path without the ending."""
    section = name.partition("/")[0]
    menu = [(one, TITLES.get(one, one.capitalize())) for one in SECTIONS]
    path = folder / f"{name}.html"
    path.parent.mkdir(exist_ok=True)
    up = "../" * name.count("/")
    path.write_text(PAGE.render(title=title, body=body, here=section, menu=menu, up=up), encoding="utf-8")


def markdown(text: str, up: str = "") -> str:
    """Return Markdown as HTML, with headings that can be linked, and links to files of the repository as code."""
    found = str(mistune.create_markdown(escape=False, plugins=["table", "strikethrough", "url"])(text))
    found = re.sub(r"<h([1-4])>(.*?)</h\1>", lambda m: f'<h{m[1]} id="{_anchor(m[2])}">{m[2]}</h{m[1]}>', found)
    found = found.replace("&gt;&gt;&gt;", ">>>").replace(".github/pictures/", f"{up}pictures/")
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
    write(folder, "findings", "Findings", markdown(_parts(readme, "Against the paper")))


def recipes(folder: Path, readme: str) -> None:
    """Write the recipes: learner, detector, drift, dataset and board of your own."""
    write(folder, "recipes", "Recipes", markdown(_parts(readme, "Add your own")))


def gallery(folder: Path) -> None:
    """Write the pictures of the app."""
    pictures = sorted(PICTURES.glob("*"))
    body = "".join(
        f'<h2>{html.escape(path.stem.replace("-", " ").capitalize())}</h2><img src="pictures/{path.name}" alt="">'
        for path in pictures
    )
    write(folder, "gallery", "Gallery", f"<h1>Gallery</h1>{body}")


def guides(folder: Path) -> None:
    """Write the documents of docs/, and their list."""
    there = {name: title for name, title in GUIDES.items() if (ROOT / "docs" / f"{name}.md").exists()}
    for name, title in there.items():
        text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
        write(folder, f"guides/{name}", title, markdown(text, "../") + (_words(folder) if name == WORDS else ""))
    _list(folder, "guides", "Guides", there.items())


def _words(folder: Path) -> str:
    """Four words that the reader's browser hears, as a page in one file."""
    (folder / "lab").mkdir(exist_ok=True)
    (folder / "lab" / "words.html").write_text(words_page(example_session(), all_sounds=True), encoding="utf-8")
    frame = '<iframe src="../lab/words.html" title="My words" loading="lazy" allow="microphone"></iframe>'
    return f'<h2>Try it</h2><p><a href="../lab/words.html">This page alone</a></p>{frame}'


def _list(folder: Path, section: str, title: str, entries: Any) -> None:
    lines = "".join(f'<li><a href="{section}/{name}.html">{html.escape(text)}</a></li>' for name, text in entries)
    write(folder, section, title, f"<h1>{html.escape(title)}</h1><ul>{lines}</ul>")


def notebooks(folder: Path) -> None:
    """Write the notebooks with their stored output."""
    exporter = HTMLExporter(template_name="basic", exclude_input_prompt=True, exclude_output_prompt=True)
    entries = []
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
        write(folder, f"notebooks/{path.stem}", title, body)
        entries.append((path.stem, title))
    _list(folder, "notebooks", "Notebooks", entries)


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


def public_modules() -> Iterator[Any]:
    """Yield `tmlcd_core` and its modules that list their public names."""
    yield tmlcd_core
    for found in sorted(pkgutil.iter_modules(tmlcd_core.__path__, "tmlcd_core."), key=lambda one: one.name):
        if found.name not in HIDDEN and not found.name.endswith("__main__"):
            module = importlib.import_module(found.name)
            if getattr(module, "__all__", None):
                yield module


def reference(folder: Path) -> None:
    """Write a page for each public module: signature and docstring of every public name."""
    entries = []
    for module in public_modules():
        parts = [f"<h1>{module.__name__}</h1><p>{html.escape((module.__doc__ or '').partition(chr(10))[0])}</p>"]
        for name in sorted(module.__all__):
            parts.append(_described(name, getattr(module, name)))
        write(folder, f"reference/{module.__name__}", module.__name__, "".join(parts))
        entries.append((module.__name__, module.__name__))
    _list(folder, "reference", "Reference", entries)


def _described(name: str, what: Any) -> str:
    heading = f'<h2 id="{name}"><code>{name}{html.escape(_signature(what))}</code></h2>'
    if not (callable(what) or inspect.ismodule(what)):
        return f"{heading}<p>Value of type {type(what).__name__}.</p>"
    text = f"{heading}<pre>{html.escape(inspect.getdoc(what) or '')}</pre>"
    if inspect.isclass(what):
        for member, value in sorted(vars(what).items()):
            documented = inspect.getdoc(value.__func__ if isinstance(value, classmethod | staticmethod) else value)
            if not member.startswith("_") and documented and isinstance(value, property | classmethod | type(build)):
                shown = "" if isinstance(value, property) else _signature(getattr(what, member))
                told = html.escape(documented)
                text += f'<h3 id="{name}.{member}"><code>{member}{html.escape(shown)}</code></h3><pre>{told}</pre>'
    return text


def _signature(what: Any) -> str:
    try:
        return str(inspect.signature(what)) if callable(what) else ""
    except (TypeError, ValueError):
        return ""


def lessons(folder: Path) -> None:
    """Write the lessons: what to predict, the Drift lab in one file, and the answer that the run gives."""
    from pages.views.lessons import LESSONS

    entries = []
    for lesson in LESSONS:
        parts = [f"<h1>{html.escape(lesson.title)}</h1><p>{html.escape(lesson.about)}</p>"]
        for number, part in enumerate(lesson.parts, 1):
            parts.append(_part(folder, lesson, number, part))
        write(folder, f"lessons/{lesson.name}", lesson.title, "".join(parts))
        entries.append((lesson.name, lesson.title))
    _list(folder, "lessons", "Lessons", entries)


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
        f"<h2>Part {number}</h2>{markdown(part.text(part.read))}<h3>{html.escape(part.text(part.question))}</h3>"
        f"<ul>{options}</ul>{frame}<p>Watch:</p><ul>{watch}</ul><details><summary>Answer</summary>{answer}</details>"
    )


if __name__ == "__main__":
    place = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "site")
    build(place, lambda text: print(text, flush=True))
    count, faults = faults_of(place)
    if faults:
        sys.exit("\n".join(faults))
    print(f"{count} pages, all links checked")
