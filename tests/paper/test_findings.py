"""Findings in sentences: true of the shipped files, and turned round where the files say the opposite."""

import copy
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tmlcd_core.paper.findings import CHANCE, MOST, claim_counts, findings, shipped_findings
from tmlcd_core.paper.forgetting import Forgetting

DATA = Path(__file__).parents[2] / "data" / "paper"


@pytest.fixture
def found():
    return json.loads((DATA / "reproduction.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def study():
    return Forgetting.from_json(json.loads((DATA / "forgetting.json").read_text("utf-8")))


def measured(found, key, column):
    (claim,) = (one for one in found["claims"] if one["key"] == key)
    return claim[column]["measured"]


def speech(found, network):
    rows = found["table1"]
    return [row for row in rows if row["data"] == "speech" and (row["classifier"] == "NN-FC1") == network]


def set_hybrid(found, *, active, cit):
    for column in ("printed", "code"):
        for case, value in measured(found, "hybrid-fastest", column).items():
            value["mean"] = active if case.endswith("active") else cit


def titles(found, study):
    return [one.title for one in findings(found, study)]


def test_there_are_five_different_ones_with_numbers(found, study):
    ours = findings(found, study)
    assert ours == shipped_findings() and len({one.title for one in ours}) == len(ours) == MOST == 5
    for one in ours:
        assert re.search(r"\d", one.text) and one.text.endswith(".") and not one.title.endswith(".")
        assert "nan" not in one.text and "None" not in one.text


@pytest.mark.parametrize("column", ["", "code "])
def test_table_1_counts_the_cases_within_the_papers_deviation(found, study, column):
    rows = speech(found, network=False)
    near = np.sum([abs(row[f"{column}accuracy"] - row["paper"]) <= row["paper std"] for row in rows])
    said = findings(found, study)[0].text
    assert (f"as the code runs {near};" if column else f"As printed, {near} of {len(rows)} are") in said
    for row in rows:
        row.update({"accuracy": row["paper"], "code accuracy": row["paper"]})
    assert "are reproduced in both columns" in titles(found, study)[0]
    rows[0][f"{column}accuracy"] = rows[0]["paper"] + 2 * rows[0]["paper std"]
    good, bad = ("as printed", "as the code runs")[:: -1 if not column else 1]
    assert f"are reproduced {good}, but not {bad}" in titles(found, study)[0]
    for row in rows:
        row.update({"accuracy": 0.0, "code accuracy": 0.0})
    assert "are not all reproduced in either column" in titles(found, study)[0]


def test_nn_fc1_is_said_to_be_at_chance_only_if_it_is(found, study):
    rows = speech(found, network=True)
    for row in rows:
        row.update({"accuracy": 1 / row["classes"] + CHANCE / 2, "code accuracy": 0.9})
    said = findings(found, study)[1]
    assert said.title.startswith("NN-FC1 stays at chance as printed") and "batch normalisation" in said.text
    assert said.title.endswith(", because of batch normalisation")
    for one in found["crossed"]["training"].values():
        one["mean"] = 0.9
    assert "because" not in findings(found, study)[1].title, "the training alone would do"
    rows[0]["accuracy"] = 0.9
    said = findings(found, study)[1]
    assert said.title == ("NN-FC1 is better than chance in 1 of 3 cases as printed and 3 of 3 cases as the code runs")
    assert "batch normalisation" not in said.text


def test_hybrid_against_active_and_cit_follows_the_signs(found, study):
    set_hybrid(found, active=0.1, cit=-0.1)
    assert titles(found, study)[2].endswith("faster than Active, but not faster than CIT")
    assert "The bound on |T| is the reason" in findings(found, study)[2].text
    set_hybrid(found, active=0.1, cit=0.1)
    assert titles(found, study)[2].endswith("faster than Active and CIT, as the paper says")
    assert "bound" not in findings(found, study)[2].text
    set_hybrid(found, active=-0.1, cit=0.1)
    assert "in 0 and 4 as printed and 0 and 4 as the code runs of 4 cases" in titles(found, study)[2]


def test_the_bound_is_the_reason_only_if_it_makes_the_larger_part(found, study):
    set_hybrid(found, active=0.1, cit=-0.1)
    same = [replace(case, accuracy=case.accuracy | {"cit-bounded": case.accuracy["cit"]}) for case in study.cases]
    assert "the reason" not in findings(found, Forgetting(study.runs, tuple(same)))[2].text


def test_forgetting_that_never_helps_is_not_said_to_pay(found, study):
    same = [replace(case, accuracy=dict.fromkeys(case.accuracy, [0.5] * study.runs)) for case in study.cases]
    said = findings(found, Forgetting(study.runs, tuple(same)))[3]
    assert said.title == "Forgetting clearly pays in none of the shares of T measured"
    assert "clearly helped in 0 and clearly hurt in 0" in said.text


def test_a_low_rate_that_costs_accuracy_is_said_to(found, study):
    for column in ("printed", "code"):
        for case, value in measured(found, "slow-gap", column).items():
            value["mean"] = measured(found, "small-gap", column)[case]["mean"]
    assert "costs no accuracy" in titles(found, study)[4]
    measured(found, "slow-gap", "code")["3 classes"]["mean"] += 0.0421
    assert "costs up to 0.042 of accuracy" in titles(found, study)[4]


def test_a_finding_without_values_makes_room_for_the_next(found, study):
    for column in ("printed", "code"):
        measured(found, "slow-gap", column).clear()
    verdicts = next(one for one in found["claims"] if one["key"] == "noise-undetected")
    for verdict, words in (("does not hold", "raises alarms"), ("holds", "raises few alarms")):
        for column in ("printed", "code"):
            verdicts[column]["verdict"] = verdict
        assert titles(found, study)[4] == f"The noise {words}"
    verdicts["code"]["verdict"] = "does not hold"
    assert "depends on the settings" in titles(found, study)[4]


def test_the_counts_are_those_of_the_verdicts(found):
    said = claim_counts(found)
    for column in ("printed", "code"):
        given = [claim[column]["verdict"] for claim in found["claims"]]
        holds, fails, near = map(given.count, ("holds", "does not hold", "too close to call"))
        where = "as printed" if column == "printed" else "as the code runs"
        assert f"{holds} hold {where}, {fails} do not, {near} are too close to call" in said
    both = sum(one["printed"]["verdict"] == one["code"]["verdict"] == "holds" for one in found["claims"])
    changed = copy.deepcopy(found)
    changed["claims"][0]["code"]["verdict"] = "does not hold"
    was = found["claims"][0]["printed"]["verdict"] == found["claims"][0]["code"]["verdict"] == "holds"
    assert f", {both} hold in both" in said and f", {both - was} hold in both" in claim_counts(changed)


def test_nn_fc1_as_the_code_runs_is_within_the_papers_deviation(found):
    rows = {row["classes"]: row for row in speech(found, network=True)}
    near = {n: abs(row["code accuracy"] - row["paper"]) <= row["paper std"] for n, row in rows.items()}
    assert near == {2: True, 3: True, 5: True}
