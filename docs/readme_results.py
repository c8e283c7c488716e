"""Write the README's comparison with the paper from data/paper: `python -m docs.readme_results`.

`python -m tmlcd_core reproduce all --out data/paper` makes those files.
"""

import csv
import json
import textwrap
from pathlib import Path

from tmlcd_core.paper.findings import claim_counts, shipped_findings

ROOT = Path(__file__).resolve().parents[1]
PAPER = ROOT / "data" / "paper"
README = ROOT / "README.md"
BEGIN, END = "<!-- written by python -m docs.readme_results -->\n", "<!-- end of what it writes -->\n"
ROWS = (  # row title, classifier, column, format
    ("kNN", "kNN", "accuracy", ".3f"),
    ("kNN, condensed", "kNN + C", "accuracy", ".3f"),
    ("samples kept", "kNN + C", "samples", ".0f"),
    ("SVM", "SVM", "accuracy", ".3f"),
    ("support vectors", "SVM", "samples", ".0f"),
    ("NN-FC1", "NN-FC1", "accuracy", ".3f"),
)
COLUMNS = {"accuracy": "paper", "samples": "paper's samples"}
CLASSES = ("2", "3", "5")
WIDTH = 135  # characters of a line of the README


def results() -> str:
    """Return Table 1 for speech, the findings and the number of claims that hold, as Markdown."""
    with (PAPER / "table1.csv").open(encoding="utf-8") as file:
        found = {(r["classes"], r["classifier"]): r for r in csv.DictReader(file) if r["data"] == "speech"}
    lines = ["| | " + " | ".join(f"{n} classes" for n in CLASSES) + " |", "|---" * (len(CLASSES) + 1) + "|"]
    for words, classifier, column, form in ROWS:
        cells = [found[n, classifier] for n in CLASSES]
        shown = [
            f"{float(c[column]):{form}}, {float(c[f'code {column}']):{form}} ({c[COLUMNS[column]]})" for c in cells
        ]
        lines.append(f"| {words} | " + " | ".join(shown) + " |")
    return "\n".join(lines) + "\n\n" + claims() + "\n"


def claims() -> str:
    """Return the findings and the number of claims that hold, as Markdown."""
    found = json.loads((PAPER / "reproduction.json").read_text(encoding="utf-8"))
    paragraphs = [f"{n}. **{one.title}.** {one.text}" for n, one in enumerate(shipped_findings(PAPER), 1)]
    return "\n".join(map(_wrapped, [f"{claim_counts(found)} The findings:", *paragraphs]))


def _wrapped(text: str) -> str:
    indent = "   " if text[0].isdigit() else ""
    return textwrap.fill(text, WIDTH, subsequent_indent=indent, break_on_hyphens=False)


def main() -> None:
    """Replace the README's text between the marks BEGIN and END."""
    head, rest = README.read_text(encoding="utf-8").split(BEGIN)
    README.write_text(head + BEGIN + results() + END + rest.split(END)[1], encoding="utf-8")


if __name__ == "__main__":
    main()
