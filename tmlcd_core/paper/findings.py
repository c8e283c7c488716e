"""Findings: the most interesting results against the paper, in sentences made from the files of data/paper.

Every number comes from the files, and every statement is tested on them: where its condition does not hold, the
sentence says what holds instead, or the finding is left out. The Paper page, the README and notebook 6 show these
sentences.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tmlcd_core.paper.forgetting import Forgetting, named_change, own_alarm, title
from tmlcd_core.shipped_data import PLACE

SHIPPED = PLACE / "paper"
MOST = 5  # findings shown
COLUMNS = {"printed": "as printed", "code": "as the code runs"}  # the authors' published code
ACCURACY = {"printed": "accuracy", "code": "code accuracy"}  # columns of Table 1
SAMPLES = {"printed": "samples", "code": "code samples"}
DIGITS = 3  # decimals of an accuracy; a smaller difference counts as none
CHANCE = 0.05  # an accuracy at most this much above 1/λ is called chance
WRONG_OR_USELESS = (
    "Measured with a perfect alarm: T is wrong where labels were rotated, and useless where classes were replaced."
)

Found = Mapping[str, Any]  # values of reproduction.json


@dataclass(frozen=True)
class Headline:
    """Finding in words: a title of one sentence without full stop, and the sentences with its numbers."""

    title: str
    text: str


def shipped_findings(folder: Path = SHIPPED) -> list[Headline]:
    """Return the findings of the files in a folder, data/paper by default."""
    found, study = (json.loads((folder / f"{name}.json").read_text("utf-8")) for name in ("reproduction", "forgetting"))
    return findings(found, Forgetting.from_json(study))


def findings(found: Found, study: Forgetting) -> list[Headline]:
    """Return the `MOST` most interesting findings of a reproduction and of the study of forgetting, in order."""
    candidates = (
        _table_1(found),
        _network(found),
        _hybrid(found, study),
        Headline(title(study), f"{WRONG_OR_USELESS} {own_alarm(study)}."),
        _low_rate(found),
        _noise(found),
    )
    return [one for one in candidates if one is not None][:MOST]


def claim_counts(found: Found) -> str:
    """Return the number of claims by verdict in both columns, with the range of the number of true rules."""
    counts = {"printed": found["counts"]["printed"], "code": found["counts"]["code"][f"{found['main_threshold']:g}"]}
    both = sum(all(claim[column]["verdict"] == "holds" for column in COLUMNS) for claim in found["claims"])
    parts = [
        f"{counts[column]['holds']} hold {where}, {counts[column]['does_not_hold']} do not, "
        f"{counts[column]['too_close']} are too close to call"
        for column, where in COLUMNS.items()
    ]
    ranges = " and ".join(f"{counts[column]['low']} to {counts[column]['high']}" for column in COLUMNS)
    return (
        f"Of {len(found['claims'])} testable claims in Section 7, {both} hold in both columns ({'; '.join(parts)}). In "
        f"95 % of resampled runs, {ranges} of their rules are true."
    )


# -- the findings ----------------------------------------------------------------------------------------------------


def _table_1(found: Found) -> Headline | None:
    """Accuracy of kNN, condensed kNN and SVM on speech within the paper's standard deviation."""
    rows = [row for row in found["table1"] if row["data"] == "speech" and row["classifier"] != "NN-FC1"]
    if not rows:
        return None
    near = {c: sum(_within(row, ACCURACY[c], "paper") for row in rows) for c in COLUMNS}
    stored = {c: sum(_within(row, SAMPLES[c], "paper's samples") for row in rows) for c in COLUMNS}
    furthest = {c: max(abs(row[ACCURACY[c]] - row["paper"]) for row in rows) for c in COLUMNS}
    complete = [where for column, where in COLUMNS.items() if near[column] == len(rows)]
    name = "Table 1's accuracies of kNN, condensed kNN and SVM on speech"
    if len(complete) == len(COLUMNS):
        said = f"{name} are reproduced in both columns"
    elif complete:
        said = f"{name} are reproduced {complete[0]}, but not {next(w for w in COLUMNS.values() if w not in complete)}"
    else:
        said = f"{name} are not all reproduced in either column"
    return Headline(
        said,
        f"As printed, {near['printed']} of {len(rows)} are within the paper's standard deviation, as the code runs "
        f"{near['code']}; the largest differences are {furthest['printed']:.3f} and {furthest['code']:.3f}. Of the "
        f"numbers of stored samples, {stored['printed']} and {stored['code']} are. The synthetic speech was "
        "chosen by most of these numbers, as printed, on half of the words.",
    )


def _within(row: Mapping[str, Any], ours: str, paper: str) -> bool:
    return abs(row[ours] - row[paper]) <= row[f"{paper} std"]


def _network(found: Found) -> Headline | None:
    """NN-FC1 as printed and as the code runs, compared with chance."""
    rows = [row for row in found["table1"] if row["data"] == "speech" and row["classifier"] == "NN-FC1"]
    if not rows:
        return None
    chance = {c: [row[ACCURACY[c]] <= 1 / row["classes"] + CHANCE for row in rows] for c in COLUMNS}
    if all(chance["printed"]) and not any(chance["code"]):
        said = "NN-FC1 stays at chance as printed and learns as the authors' code runs"
        is_norm, why = _cause(found, rows)
        said += ", because of batch normalisation" * is_norm
    else:
        least = {c: f"{chance[c].count(False)} of {len(rows)} cases {where}" for c, where in COLUMNS.items()}
        said, why = f"NN-FC1 is better than chance in {least['printed']} and {least['code']}", ""
    classes = _listed([str(row["classes"]) for row in rows])
    printed, code, paper = (
        _listed([f"{row[name]:.{digits}f}" for row in rows])
        for name, digits in ((ACCURACY["printed"], 3), (ACCURACY["code"], 3), ("paper", 2))
    )
    return Headline(
        said,
        f"With {classes} classes its accuracy is {printed} as printed, {code} as the code runs, and {paper} in the "
        f"paper. {why}".strip(),
    )


def _cause(found: Found, rows: Sequence[Mapping[str, Any]]) -> tuple[bool, str]:
    """Return whether batch normalisation alone makes NN-FC1 learn, and what it and the code's training do alone."""
    choices = {one["name"]: {c["topic"]: c["value"] for c in one["choices"]} for one in found["variants"]}
    norms = [_start(choices[column]["Batch normalisation"]) for column in COLUMNS]
    crossed = {kind: [ones[str(row["classes"])]["mean"] for row in rows] for kind, ones in found["crossed"].items()}
    norm, training = (_listed([f"{value:.{DIGITS}f}" for value in crossed[kind]]) for kind in ("norm", "training"))
    learns = {
        kind: [value > 1 / row["classes"] + CHANCE for value, row in zip(values, rows, strict=True)]
        for kind, values in crossed.items()
    }
    return all(learns["norm"]) and not all(learns["training"]), (
        f"As printed but with the code's batch normalisation ({norms[1]}, instead of {norms[0]}) it is {norm}; as "
        f"printed but with the code's training {training}."
    )


def _start(value: str) -> str:
    """Return the first part of a setting's description."""
    return value.split(":")[0]


def _hybrid(found: Found, study: Forgetting) -> Headline | None:
    """Hybrid against Active and CIT after one class changed, and the part of the bound on |T|."""
    means = {column: _means(found, "hybrid-fastest", column) for column in COLUMNS}
    over = {
        (column, other): [value for case, value in means[column].items() if case.endswith(f"over {other}")]
        for column in COLUMNS
        for other in ("active", "cit")
    }
    if not all(over.values()):
        return None
    ahead = {key: sum(round(value, DIGITS) > 0 for value in values) for key, values in over.items()}
    number = len(over["printed", "cit"])
    faster = {other: {ahead[column, other] == number for column in COLUMNS} == {True} for other in ("active", "cit")}
    never = all(ahead[column, "cit"] == 0 for column in COLUMNS)
    if faster["active"] and faster["cit"]:
        said = "When one class changes, Hybrid recovers faster than Active and CIT, as the paper says"
    elif faster["active"] and never:
        said = "When one class changes, Hybrid recovers faster than Active, but not faster than CIT"
    else:
        counts = " and ".join(
            f"{ahead[column, 'active']} and {ahead[column, 'cit']} {where}" for column, where in COLUMNS.items()
        )
        said = f"When one class changes, Hybrid recovers faster than Active and CIT in {counts} of {number} cases"
    active, cit = ({c: _span(over[c, other]) for c in COLUMNS} for other in ("active", "cit"))
    text = (
        f"In the 500 samples after the change, it gains {active['printed']} over Active and {cit['printed']} over CIT "
        f"as printed, {active['code']} and {cit['code']} as the code runs."
    )
    return Headline(said, text + (_bound(study) if never else ""))


def _bound(study: Forgetting) -> str:
    """Return the sentence on the bound's part in Hybrid's difference to CIT; empty if the bound is not the reason."""
    cases = [case for case in study.cases if named_change(case) == "one class changed"]
    lost = [case for case in cases if case.gain("hybrid").sign < 0]
    parts = {part: [case.gain(part).mean for case in lost] for part in ("bound", "alarm")}
    if not lost or any(b >= 0 or abs(b) <= abs(a) for b, a in zip(parts["bound"], parts["alarm"], strict=True)):
        return ""
    return (
        f" The bound on |T| is the reason: where Hybrid clearly loses to CIT, it contributes "
        f"{_span(parts['bound'])}, the alarm {_span(parts['alarm'])}."
    )


def _low_rate(found: Found) -> Headline | None:
    """Sound at 4,410 Hz with |T| = 50, compared with |T| = 50 alone."""
    small, slow = ({c: _means(found, key, c) for c in COLUMNS} for key in ("small-gap", "slow-gap"))
    if not slow["printed"]:
        return None
    extra = [round(slow[c][case] - small[c][case], DIGITS) for c in COLUMNS for case in slow[c]]
    if max(extra) <= 0:
        said = "A rate of 4,410 Hz costs no accuracy beyond |T| = 50"
    else:
        said = f"A rate of 4,410 Hz costs up to {max(extra):.3f} of accuracy beyond |T| = 50"
    lost = {c: [_listed([f"{gap[c][case]:.{DIGITS}f}" for case in slow[c]]) for gap in (slow, small)] for c in COLUMNS}
    return Headline(
        said,
        f"With {_listed([case.split()[0] for case in slow['printed']])} classes, it loses {lost['printed'][0]}, "
        f"|T| = 50 alone {lost['printed'][1]} as printed; {lost['code'][0]} against {lost['code'][1]} as the code runs."
        " The paper: 0.15 to 0.25 against 0.04 to 0.10.",
    )


def _noise(found: Found) -> Headline | None:
    """Share of the runs in which Active and Hybrid detect the noise."""
    seen = {column: _means(found, "noise-undetected", column) for column in COLUMNS}
    if not seen["printed"]:
        return None
    verdicts = {_claim(found, "noise-undetected")[column]["verdict"] for column in COLUMNS}
    said = "The noise raises alarms" if verdicts == {"does not hold"} else "The noise raises few alarms"
    if len(verdicts) > 1 or "too close to call" in verdicts:
        said = "Whether the noise raises alarms depends on the settings"
    parts = [f"{seen[c]['active']:.0%} and {seen[c]['hybrid']:.0%} {where}" for c, where in COLUMNS.items()]
    text = f"Active and Hybrid detect it in {', '.join(parts)} of the runs. The paper: in none."
    return Headline(said, text.replace("%", " %"))


# -- parts of sentences ----------------------------------------------------------------------------------------------


def _claim(found: Found, key: str) -> Mapping[str, Any]:
    return next(claim for claim in found["claims"] if claim["key"] == key)


def _means(found: Found, key: str, column: str) -> dict[str, float]:
    return {case: value["mean"] for case, value in _claim(found, key)[column]["measured"].items()}


def _span(values: Sequence[float]) -> str:
    """Return "smallest to largest" with sign; zero has none."""
    ends = [round(value, DIGITS) for value in (min(values), max(values))]
    low, high = (f"{end:+.{DIGITS}f}".replace("-", "−") if end else f"{0:.{DIGITS}f}" for end in ends)
    return low if low == high else f"{low} to {high}"


def _listed(words: Sequence[str]) -> str:
    """Return "a, b and c"."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
