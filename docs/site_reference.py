"""Reference pages of the static site: every public name and every command, from docstrings and help texts."""

from __future__ import annotations

import argparse
import html
import importlib
import inspect
import pkgutil
import re
import sys
import types
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import mistune
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonConsoleLexer, PythonLexer

import tmlcd_core
from tmlcd_core.cli.command import PROGRAM, parser_of_commands

COMMANDS = "tmlcd"  # page of the command line
# Public modules below a package; None: all their public functions and classes.
DEEPER = {
    "tmlcd_core.reference": None,
    "tmlcd_core.viz.notebook": ("player_widget", "experiment_widget", "recorder_widget"),
    "tmlcd_core.web.lab_page": ("lab_page", "page_of_experiment"),
    "tmlcd_core.web.words_page": ("words_page",),
}
ABSENT = "capymoa.base"  # needs an environment of its own: its class is a plain one here
HEAD = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.M)
WIDEST = 96  # characters of a signature on one line
MARKDOWN = mistune.create_markdown(escape=True)


class _Plain(str):
    """Text that is shown without quotes."""

    __repr__ = str.__str__


def public_names() -> dict[str, tuple[str, ...]]:
    """Return the public names of each public module of the library, by the module's name."""
    found = {tmlcd_core.__name__: tuple(sorted(tmlcd_core.__all__))}
    below = {f"tmlcd_core.{one.name}": None for one in pkgutil.iter_modules(tmlcd_core.__path__)}
    for name, names in sorted({**below, **DEEPER}.items()):
        if name.endswith("__main__"):
            continue
        module = module_of(name)
        if name in DEEPER and names is None:
            names = tuple(one for one, what in vars(module).items() if _is_own(what, module) and one[0] != "_")
        names = names or tuple(sorted(getattr(module, "__all__", ())))
        if names:
            found[name] = names
    return found


def module_of(name: str) -> Any:
    """Import a module; CapyMOA's class is replaced if CapyMOA is absent."""
    package = ABSENT.partition(".")[0]
    if name == "tmlcd_core.capymoa" and package not in sys.modules:
        sys.modules[package] = types.ModuleType(package)
        sys.modules[ABSENT] = types.ModuleType(ABSENT)
        vars(sys.modules[ABSENT])["Classifier"] = object
        try:
            return importlib.import_module(name)
        finally:
            del sys.modules[package], sys.modules[ABSENT]
    return importlib.import_module(name)


def _is_own(what: Any, module: Any) -> bool:
    return callable(what) and getattr(what, "__module__", "") == module.__name__


def pages() -> Iterator[tuple[str, str, str]]:
    """Yield name, first line of the docstring and HTML of each reference page."""
    yield COMMANDS, "The command line: all commands and their options.", commands_page()
    public = public_names()
    pages_by_name = {one: name for name, names in reversed(public.items()) for one in names}  # the first module is best

    def link(text: str, here: str) -> str:
        name, _, member = text.removesuffix("()").partition(".")
        page = here if name in public[here] else pages_by_name.get(name)
        shown = f"<code>{html.escape(text)}</code>"
        if page is None or (member and not hasattr(getattr(module_of(page), name), member)):
            return shown
        return f'<a href="{"" if page == here else f"{page}.html"}#{name}">{shown}</a>'

    for name, names in public.items():
        module = module_of(name)
        told = inspect.getdoc(module) or ""

        def linked(text: str, here: str = name) -> str:
            return link(text, here)

        parts = [f"<h1>{name}</h1>{described(told, linked)}"]
        parts += [_definition(one, getattr(module, one), linked) for one in names]
        yield name, told.partition("\n")[0], "".join(parts)


def commands_page() -> str:
    """Return the HTML of the page of the command line: the help text of each command."""
    parts = [
        "<h1>tmlcd</h1><p>Without installing the library: <code>.venv/bin/python -m tmlcd_core COMMAND</code>.</p>"
    ]

    def add(parser: argparse.ArgumentParser) -> None:
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                for below in action.choices.values():
                    add(below)
                return
        parser.prog = parser.prog.replace(PROGRAM, COMMANDS)
        parser.formatter_class = partial(argparse.HelpFormatter, width=WIDEST)
        anchor = parser.prog.replace(" ", "-")
        parts.append(f'<h2 id="{anchor}"><code>{parser.prog}</code></h2><pre>{html.escape(parser.format_help())}</pre>')

    add(parser_of_commands())
    return "".join(parts)


def _definition(name: str, what: Any, link: Callable[[str], str]) -> str:
    kind = "class" if inspect.isclass(what) else "function" if callable(what) else "value"
    heading = f'<h2 id="{name}"><code>{name}</code> <small>{kind}</small></h2>'
    if not (callable(what) or inspect.ismodule(what)):
        return f"{heading}<p>{html.escape(type(what).__name__)}</p>"
    text = heading + code(f"{name}{signature(what)}") + described(inspect.getdoc(what) or "", link)
    if inspect.isclass(what):
        for member, value in sorted(vars(what).items()):
            told = inspect.getdoc(value.__func__ if isinstance(value, classmethod | staticmethod) else value)
            if not member.startswith("_") and told and isinstance(value, property | classmethod | types.FunctionType):
                line = member if isinstance(value, property) else f"{member}{signature(getattr(what, member))}"
                text += f'<h3 id="{name}.{member}"><code>{name}.{member}</code></h3>{code(line)}{described(told, link)}'
    return f"<section>{text}</section>"


def signature(what: Any) -> str:
    """Return the signature with types as they are written, and with functions by their names.

    >>> def f(x: int, *, key: Callable = len) -> str: ...
    >>> signature(f)
    '(x: int, *, key: Callable = len) -> str'
    """
    try:
        found = inspect.signature(what)
    except (TypeError, ValueError):
        return ""
    own = [one.replace(annotation=_as_written(one.annotation), default=_named(one.default))
           for one in found.parameters.values()]  # fmt: skip
    text = str(found.replace(parameters=own, return_annotation=_as_written(found.return_annotation)))
    if len(text) <= WIDEST:
        return text
    lines = [str(one) for one in own]
    only_by_name = [i for i, one in enumerate(own) if one.kind is one.KEYWORD_ONLY]
    if only_by_name and not any(one.kind is one.VAR_POSITIONAL for one in own):
        lines.insert(only_by_name[0], "*")
    _, arrow, result = text.rpartition(" -> ")
    return "(\n    " + ",\n    ".join(lines) + f",\n){arrow}{result if arrow else ''}"


def _as_written(annotation: Any) -> Any:
    return _Plain(annotation) if isinstance(annotation, str) else annotation


def _named(default: Any) -> Any:
    if default is inspect.Parameter.empty or "<" not in repr(default):
        return default
    name = getattr(default, "__name__", "<")
    return _Plain("…" if "<" in name else name)


def code(text: str, console: bool = False) -> str:
    """Return Python code, or a session with prompts, as HTML."""
    lexer = PythonConsoleLexer() if console else PythonLexer()
    return str(highlight(text, lexer, HtmlFormatter()))


def described(text: str, link: Callable[[str], str]) -> str:
    """Return a docstring as HTML: sections with a line of dashes below their head, parameters as a list.

    >>> described("One line.", str), described("Returns\\n-------\\nint\\n    A number.", str).count("<dt>")
    ('<p>One line.</p>', 1)
    """
    first, *rest = HEAD.split(text)
    parts = [_text(first, link)]
    for head, body in zip(rest[::2], rest[1::2], strict=True):
        is_list = head not in ("Examples", "References", "Notes")
        parts.append(f"<h4>{head}</h4>{_terms(body, link) if is_list else _text(body, link)}")
    return "".join(parts)


def _terms(text: str, link: Callable[[str], str]) -> str:
    """A list of terms, each followed by indented lines."""
    parts = []
    for term, body in re.findall(r"^(\S.*)\n((?:[ \t]+.*\n?|\n)*)", text.strip() + "\n", re.M):
        about = inspect.cleandoc(f"\n{body}")
        name, _, kind = term.partition(" : ")
        parts.append(
            f"<dt><code>{html.escape(name)}</code> <i>{html.escape(kind)}</i></dt><dd>{_text(about, link)}</dd>"
        )
    return f"<dl>{''.join(parts)}</dl>"


def _text(text: str, link: Callable[[str], str]) -> str:
    """Paragraphs, lists and examples."""
    parts = []
    for block in re.split(r"\n{2,}(?=\S)", text.strip()):
        if block.startswith(">>>"):
            parts.append(code(block, console=True))
            continue
        plain = re.sub(r"`[^`]*`|[*_]", lambda one: one[0] if one[0][0] == "`" else f"\\{one[0]}", block)
        found = str(MARKDOWN(plain)).strip()
        parts.append(re.sub(r"<code>([^<]*)</code>", lambda one: link(html.unescape(one[1])), found))
    return "".join(parts)
