"""Tables of the reproduction, written as CSV, Markdown and LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tmlcd_core.experiments.evaluation import Spread, spread
from tmlcd_core.experiments.results import Results, write_text
from tmlcd_core.paper.claims import Claim, Finding
from tmlcd_core.paper.configurations import TABLE_LEARNERS, PaperConfiguration
from tmlcd_core.paper.published import BESIDE, NAMES, TABLE_1

_LATEX = {"&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "$": r"\$", "|": r"\textbar{}", "±": r"$\pm$"}
_LATEX |= {"<": r"$<$", ">": r"$>$", "µ": r"$\mu$"}


def write_table(folder: Path, name: str, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[Path]:
    """Write a table as `name`.csv, .md and .tex in `folder`; return the paths."""
    text = [[_text(cell) for cell in row] for row in rows]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([["" if cell is None else cell for cell in row] for row in rows])
    pipes = [[cell.replace("|", "\\|") for cell in row] for row in [list(head), *text]]
    markdown = [f"| {' | '.join(pipes[0])} |", "|" + "---|" * len(head), *(f"| {' | '.join(r)} |" for r in pipes[1:])]
    lines = [" & ".join(_latex(cell) for cell in row) + r" \\" for row in [list(head), *text]]
    latex = [rf"\begin{{tabular}}{{{'l' * len(head)}}}", r"\hline", lines[0], r"\hline", *lines[1:], r"\hline"]
    files = {
        "csv": stream.getvalue(),
        "md": "\n".join(markdown) + "\n",
        "tex": "\n".join([*latex, r"\end{tabular}"]) + "\n",
    }
    paths = []
    for suffix, content in files.items():
        paths.append(folder / f"{name}.{suffix}")
        write_text(paths[-1], content)
    return paths


def _text(cell: Any) -> str:
    if cell is None:
        return ""
    return f"{cell:.3f}".rstrip("0").rstrip(".") if isinstance(cell, float) else str(cell)


def _latex(cell: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in cell)


TABLE_HEAD = (
    "data", "classes", "classifier", "accuracy", "accuracy std", "paper", "difference",
    "samples", "samples std", "paper's samples", "samples difference", "note",
)  # fmt: skip


def table_1(results: Results, configurations: Sequence[PaperConfiguration]) -> list[list[Any]]:
    """Return the rows of Table 1 with the paper's values, in the columns of `TABLE_HEAD`."""
    rows: list[list[Any]] = []
    for one in configurations:
        experiment = one.experiment
        classes = experiment.classes
        speech = experiment.data == "speech"
        for learner in TABLE_LEARNERS:
            metrics = results.metrics(experiment, learner)
            accuracy, size = spread([m.accuracy for m in metrics]), spread([m.final_size for m in metrics])
            paper = TABLE_1["speech" if speech else "images"][BESIDE.get(learner, learner)][classes]
            rows.append(
                [
                    experiment.data,
                    classes,
                    NAMES[learner],
                    round(accuracy.mean, 4),
                    round(accuracy.std, 4),
                    paper.accuracy,
                    round(accuracy.mean - paper.accuracy, 4),
                    round(size.mean, 2),
                    round(size.std, 2),
                    paper.size,
                    round(size.mean - paper.size, 2),
                    "; ".join(_notes(one, learner, results.runs(experiment)[0].scenario.train)),
                ]
            )
    return rows


def _notes(one: PaperConfiguration, learner: str, train: int) -> Iterator[str]:
    if one.experiment.data != "speech":
        yield f"another dataset: the paper's is ImageNet, 100 per class; {train} per class here"
    if learner in BESIDE:
        yield f"a row of ours, beside the paper's {NAMES[BESIDE[learner]]}"


CLAIM_HEAD = ("claim", "section", "statement", "rule", "measured", "verdict")


def claim_rows(found: Sequence[tuple[Claim, Finding]]) -> list[list[str]]:
    """Return the rows of the claims, in the columns of `CLAIM_HEAD`."""
    return [
        [
            claim.key,
            claim.section,
            claim.statement,
            claim.rule,
            "; ".join(f"{case}: {_measured(value)}" for case, value in finding.values.items()),
            verdict(finding),
        ]
        for claim, finding in found
    ]


def verdict(finding: Finding) -> str:
    """Return the verdict on a claim as text."""
    return "holds" if finding.holds else "does not hold"


def _measured(value: Spread) -> str:
    digits = 1 if abs(value.mean) >= 10 else 3
    return f"{value.mean:.{digits}f} ± {value.std:.{digits}f}"
