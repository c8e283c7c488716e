"""One HTML file of several JavaScript modules, a style sheet and data, with a strict content security policy."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import html
import json
import os
import re
import zlib
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from tmlcd_core.errors import ExportError

IMPORT = re.compile(r'^import \{([^}]*)\} from "\.{1,2}/(?:viz/)?([a-z_]+)\.js";$', re.M)
EXPORT = re.compile(r"^export (?:async )?(?:const|class|function\*?) (\w+)", re.M)
# Nothing is loaded from anywhere: no request leaves the page.
POLICY = (
    "default-src 'none'; script-src '{script}' 'wasm-unsafe-eval'; style-src '{style}'; img-src data: blob:; "
    "media-src blob:; base-uri 'none'; form-action 'none'"
)
# A file that was cut off has no script that could say more.
LOADING = "Loading … If this stays, the file is incomplete, or the browser is too old: use one of 2023 or later."
PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="TML-CD Lab">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{body}
{data}
<script type="module">{script}</script>
</body>
</html>
"""


def packed(content: bytes) -> str:
    """Return bytes deflated and in base64, as `data.js` reads them."""
    return base64.b64encode(zlib.compress(content, 9)).decode()


def bundle(modules: Mapping[str, str], main: str) -> str:
    """Return one script of several modules, each in a function of its own, those imported first.

    `modules` are JavaScript sources by name. An import has the form `import { a, b } from "./name.js";` on one line (or
    "../viz/name.js"); a default export is called `main` elsewhere.
    """
    parts: dict[str, str] = {}

    def add(name: str) -> None:
        if name in parts:
            return
        text = modules[name]
        for _, other in IMPORT.findall(text):
            add(other)
        names = EXPORT.findall(text)
        text = IMPORT.sub(lambda found: f"const {{{found[1].replace(' as ', ': ')}}} = module_{found[2]};", text)
        text = re.sub(r"^export default function", "const main = function", text, flags=re.M)
        names += ["main"] if "const main = function" in text else []
        text = re.sub(r"^export \{[^}]*\};.*$", "", text, flags=re.M)
        text = re.sub(r"^export ", "", text, flags=re.M)
        parts[name] = f"const module_{name} = (() => {{\n{text}\nreturn {{ {', '.join(names)} }};\n}})();\n"

    add(main)
    return "".join(parts.values())


def lean(code: str) -> str:
    """Return JavaScript without indentation and lines of comment; no string of it may span several lines."""
    return re.sub(r"^[ \t]+", "", re.sub(r"^[ \t]*//.*\n", "", code, flags=re.M), flags=re.M)


def script(name: str) -> str:
    """Return a JavaScript source of this package."""
    return resources.files(__package__).joinpath(f"{name}.js").read_text(encoding="utf-8")


def style_sheet(name: str) -> str:
    """Return a style sheet of this package."""
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def one_file(title: str, body: str, style: str, code: str, data: Mapping[str, Any], blobs: Mapping[str, bytes]) -> str:
    """Return the HTML page.

    Parameters
    ----------
    title, body : str
        Title as text, body as HTML.
    style, code : str
        Style sheet and JavaScript.
    data : mapping
        JSON values by the id of their element.
    blobs : mapping
        Bytes by the id of their element.
    """
    parts = [_element(name, "application/json", json.dumps(value, allow_nan=False)) for name, value in data.items()]
    parts += [_element(name, "text/plain", packed(content)) for name, content in blobs.items()]
    policy = POLICY.format(script=_hash(code), style=_hash(style))
    texts = {"title": html.escape(title), "body": body, "style": style, "script": code, "data": "\n".join(parts)}
    return PAGE.format(policy=policy, **texts)


def write_page(path: Path, text: str) -> int:
    """Write a page to a temporary file and rename it; return its size in bytes. A full disk leaves `path` as it was."""
    content = text.encode()
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_bytes(content)
        unfinished.replace(path)
    except OSError as error:
        raise ExportError(f"{path} cannot be written ({error.strerror}): choose another file") from error
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
    return len(content)


def _element(name: str, kind: str, text: str) -> str:
    safe = text.replace("<", "\\u003c") if kind.endswith("json") else text
    return f'<script type="{kind}" id="{name}">{safe}</script>'


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def modules_of(names: Sequence[str], more: Mapping[str, str]) -> dict[str, str]:
    """Return sources of this package by name, with those in `more`."""
    return {name: script(name) for name in names} | dict(more)
