"""Write the README's comparison with the paper from data/paper: `python -m docs.readme_results`.

`python -m tmlcd_core reproduce all --out data/paper` makes those files.
"""

import csv
import re
from pathlib import Path

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
    ("NN-FC1 on centred features", "NN-FC1, centred", "accuracy", ".3f"),
)
COLUMNS = {"accuracy": "paper", "samples": "paper's samples"}
CLASSES = ("2", "3", "5")


def results() -> str:
    """Return Table 1 for speech and the paragraph on the paper's claims, as Markdown."""
    with (PAPER / "table1.csv").open(encoding="utf-8") as file:
        found = {(r["classes"], r["classifier"]): r for r in csv.DictReader(file) if r["data"] == "speech"}
    lines = ["| | " + " | ".join(f"{n} classes" for n in CLASSES) + " |", "|---" * (len(CLASSES) + 1) + "|"]
    for words, classifier, column, form in ROWS:
        cells = [found[n, classifier] for n in CLASSES]
        shown = [f"{float(c[column]):{form}} ({c[COLUMNS[column]]})" for c in cells]
        lines.append(f"| {words} | " + " | ".join(shown) + " |")
    return "\n".join(lines) + "\n\n" + claims() + "\n"


def claims() -> str:
    """Return the paragraph on the paper's claims, as Markdown."""
    with (PAPER / "claims.csv").open(encoding="utf-8") as file:
        found = {row["claim"]: row for row in csv.DictReader(file)}
    holding = sum(row["verdict"] == "holds" for row in found.values())
    fastest = measured(found["hybrid-fastest"]["measured"])
    over = {who: [v for name, v in fastest.items() if name.endswith(f"over {who}")] for who in ("active", "cit")}
    noticed = measured(found["noise-undetected"]["measured"])
    small, slow = (measured(found[claim]["measured"]) for claim in ("small-gap", "slow-gap"))
    text = f"""\
The paper's Section 7 makes {len(found)} statements that can be tested; {holding} hold here. The page *Paper* and
`data/paper/claims.csv` list all of them with the measured values. Among those that do not hold, all with h = 25:
- Hybrid recovers faster than Active, but not faster than CIT: its accuracy in the 500 samples after a change is
  {span(over["active"])} above Active's and {span([-v for v in over["cit"]])} below CIT's.
- The noise is detected in {noticed["active"]:.0%} (Active) and {noticed["hybrid"]:.0%} (Hybrid) of the runs.
- 4,410 Hz costs no accuracy beyond |T| = 50: with 2 and 3 classes it loses {slow["2 classes"]:.3f} and
  {slow["3 classes"]:.3f}; |T| = 50 alone loses {small["2 classes"]:.3f} and {small["3 classes"]:.3f}."""
    return text.replace("%", " %")


def measured(text: str) -> dict[str, float]:
    """Parse the means from a claim's column "measured".

    >>> measured("2 classes: 0.080 ± 0.020; a, over b: -1.5 ± 1")
    {'2 classes': 0.08, 'a, over b': -1.5}
    """
    return {name: float(mean) for name, mean in re.findall(r"([^;]+?): (-?[\d.]+) ± [\d.]+(?:; )?", text)}


def span(values: list[float]) -> str:
    """Return "smallest to largest" with three decimals."""
    return " to ".join(f"{round(value, 3) + 0.0:.3f}" for value in (min(values), max(values)))  # no -0.000


def main() -> None:
    """Replace the README's text between the marks BEGIN and END."""
    head, rest = README.read_text(encoding="utf-8").split(BEGIN)
    README.write_text(head + BEGIN + results() + END + rest.split(END)[1], encoding="utf-8")


if __name__ == "__main__":
    main()
