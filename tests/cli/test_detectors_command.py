"""The `detectors` command: results, files, plugins and refused input."""

import csv
import json

import pytest

from tests.cli.test_process_end import LINE, interrupted, started
from tmlcd_core.cli.command import main
from tmlcd_core.detectors.benchmark import DETECTORS

FEW = ["detectors", "--rate", "0.05", "--streams", "40", "--samples", "400", "--jobs", "1"]
QUICK = [*FEW, "--learner-streams", "0"]
PLUGIN = """
from river import drift
from tmlcd_core.detectors.benchmark import Detector, register_detector

register_detector(Detector("rises", lambda h: drift.PageHinkley(threshold=h, mode="up"), 1000, 1, "threshold"))
"""


def test_json_holds_every_detector_and_repeats_itself(capsys):
    found = []
    for _ in range(2):
        assert main([*QUICK, "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out))
        found[-1].pop("seconds")
    assert found[0] == found[1]
    (kind,) = found[0]["errors"]
    assert [one["detector"] for one in kind["detectors"]] == list(DETECTORS)
    for one in kind["detectors"]:
        assert one["calibrated"] <= 0.05 or one["note"].startswith("even")
        assert len(one["detections"]) == 10 and {found["width"] for found in one["detections"]} == {0, 100}


def test_the_errors_of_learners_are_compared_too(capsys):
    assert main([*FEW, "--learner-streams", "20", "--detector", "ADWIN", "--json"]) == 0
    kinds = json.loads(capsys.readouterr().out)["errors"]
    assert [kind["name"] for kind in kinds[1:]] == ["Static kNN on speech", "Condensing-in-Time on speech"]
    for kind in kinds[1:]:
        swap, gradual = (kind["detectors"][0]["detections"][i] for i in (1, 3))
        assert swap["name"] == "labels swap, abrupt" and gradual["width"] == 100
        assert swap["delay"]["value"] < 60 and swap["missed"]["value"] == 0
    static, cit = (kind["detectors"][0]["detections"][1]["drop"] for kind in kinds[1:])
    assert static > 0.5 > cit, "CIT recovers"


def test_a_table_is_printed_and_a_file_written(capsys, tmp_path):
    file = tmp_path / "found.csv"
    assert main([*QUICK, "--detector", "cusum", "KSWIN", "--out", str(file)]) == 0
    said = capsys.readouterr().out
    assert "CUSUM  " in said and f"{file} written" in said
    with file.open(encoding="utf-8") as rows:
        read = list(csv.DictReader(rows))
    assert len(read) == 2 * 10 and {row["detector"] for row in read} == {"CUSUM", "KSWIN"}
    assert all(float(row["delay from"]) <= float(row["delay"]) <= float(row["delay to"]) for row in read)
    assert main([*QUICK, "--detector", "DDM", "--out", str(tmp_path / "found.json")]) == 0
    assert json.loads((tmp_path / "found.json").read_text())["rate"] == 0.05


def test_a_plugin_adds_a_detector_which_runs_as_an_object(capsys, tmp_path):
    (tmp_path / "rises.py").write_text(PLUGIN)
    try:
        assert main([*QUICK, "--plugin", str(tmp_path / "rises.py"), "--detector", "rises", "DDM", "--json"]) == 0
    finally:
        DETECTORS.pop("rises", None)
    mine, other = json.loads(capsys.readouterr().out)["errors"][0]["detectors"]
    assert (mine["detector"], mine["own"], other["own"]) == ("rises", True, False)


@pytest.mark.parametrize(
    "words, said",
    [
        (["--rate", "0"], "rate=0 must lie between 0 and 1"),
        (["--rate", "1"], "rate=1 must lie between 0 and 1"),
        (["--streams", "0"], "--streams is 0: a rate of 0.01 needs at least 100"),
        (["--learner-streams", "5"], "--learner-streams is 5"),
        (["--samples", "10"], "--samples=10 must be a whole number of at least 400"),
        (["--detector", "ADVIN"], "there is no detector 'ADVIN'; there are CUSUM"),
        (["--detector", "ddm", "DDM"], "different names"),
        (["--out", "found.txt"], "give a file that ends in .csv or .json"),
        (["--out", "no/such/folder/found.csv"], "the folder does not exist"),
        (["--seed", "-1"], "--seed=-1"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(capsys, words, said):
    usual = ["detectors", "--streams", "100", "--learner-streams", "0", "--samples", "400"]
    assert main([*usual, *words]) == 2
    complaint = capsys.readouterr().err
    assert said in complaint and complaint.count("\n") == 1


@pytest.mark.parametrize("learner_streams", ["0", "2000"])
def test_an_interrupt_is_one_line(learner_streams):
    """In the threads of the compiled detectors, and in the worker processes of the learners."""
    words = ["detectors", "--streams", "40000", "--learner-streams", learner_streams]
    process = started(["-m", "tmlcd_core", *words])
    assert process.stderr is not None and "[" in process.stderr.read(2), "the progress bar"
    code, complaint = interrupted(process)
    assert code == 130 and complaint.endswith(LINE) and "Traceback" not in complaint
