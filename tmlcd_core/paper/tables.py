"""Tables of the reproduction, written as CSV, Markdown and LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tmlcd_core.experiments.evaluation import Spread, spread
from tmlcd_core.experiments.results import Results, write_text
from tmlcd_core.paper.claims import CLAIMS, MAIN_THRESHOLD, Judged
from tmlcd_core.paper.configurations import TABLE_LEARNERS, PaperConfiguration
from tmlcd_core.paper.published import NAMES, TABLE_1
from tmlcd_core.paper.verdicts import Finding

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
    "data", "classes", "classifier", "paper", "paper std", "accuracy", "accuracy std", "difference",
    "code accuracy", "code accuracy std", "code difference", "paper's samples", "paper's samples std",
    "samples", "samples std", "code samples", "code samples std", "note",
)  # fmt: skip


def table_1(
    results: Results, printed: Sequence[PaperConfiguration], code: Sequence[PaperConfiguration], note: str = ""
) -> list[list[Any]]:
    """Return the rows of Table 1 with the paper's values, in the columns of `TABLE_HEAD`.

    `printed` and `code` are the same configurations in the two variants; `note` describes the image data.
    """
    rows: list[list[Any]] = []
    for one, other in zip(printed, code, strict=True):
        experiment = one.experiment
        images = experiment.data != "speech"
        train = results.runs(experiment)[0].scenario.train
        for learner in TABLE_LEARNERS:
            paper = TABLE_1["images" if images else "speech"][learner][experiment.classes]
            accuracy, size = _measures(results, one, learner)
            code_accuracy, code_size = _measures(results, other, learner)
            rows.append(
                [
                    Path(experiment.data).name,
                    experiment.classes,
                    NAMES[learner],
                    paper.accuracy,
                    paper.accuracy_std,
                    round(accuracy.mean, 4),
                    round(accuracy.std, 4),
                    round(accuracy.mean - paper.accuracy, 4),
                    round(code_accuracy.mean, 4),
                    round(code_accuracy.std, 4),
                    round(code_accuracy.mean - paper.accuracy, 4),
                    paper.size,
                    paper.size_std,
                    round(size.mean, 2),
                    round(size.std, 2),
                    round(code_size.mean, 2),
                    round(code_size.std, 2),
                    f"{note}; {train} initial samples per class" if images else "",
                ]
            )
    return rows


def _measures(results: Results, one: PaperConfiguration, learner: str) -> tuple[Spread, Spread]:
    """Accuracy and stored samples of a learner over the runs."""
    metrics = results.metrics(one.experiment, learner)
    return spread([m.accuracy for m in metrics]), spread([m.final_size for m in metrics])


def claim_head(thresholds: Sequence[float]) -> list[str]:
    """Return the columns of the claims; those of the code's verdict at each alarm level h of Hybrid come last."""
    head = ["claim", "section", "statement", "rule", "measured", "measured_code", "verdict_printed", "verdict_code"]
    return head + [f"verdict_code_h{threshold:g}" for threshold in thresholds]


def claim_rows(printed: Judged, code: Mapping[float, Judged]) -> list[list[str]]:
    """Return the rows of the claims, in the columns of `claim_head(code)`; `code` is by alarm level h of Hybrid."""
    main = code[MAIN_THRESHOLD]
    return [
        [
            claim.key,
            claim.section,
            claim.statement,
            claim.rule,
            _listed(printed.findings[claim.key]),
            _listed(main.findings[claim.key]),
            printed.findings[claim.key].verdict,
            main.findings[claim.key].verdict,
            *(judged.findings[claim.key].verdict for judged in code.values()),
        ]
        for claim in CLAIMS
    ]


def counted(judged: Judged) -> str:
    """Return the number of claims by verdict in words."""
    n = judged.count
    return (
        f"{n.holds} of {len(judged.findings)} claims hold, {n.does_not_hold} do not hold, {n.too_close} are too close "
        f"to call; {n.true} rules are true of the means (95 % interval: {n.low} to {n.high})"
    )


def _listed(finding: Finding) -> str:
    return "; ".join(f"{case}: {_measured(value)}" for case, value in finding.values.items())


def _measured(value: Spread) -> str:
    digits = 1 if abs(value.mean) >= 10 else 3
    return f"{value.mean:.{digits}f} ± {value.std:.{digits}f}"
