"""The paper's settings as printed and as the authors' code runs: one experiment by Python, link, command and lab."""

import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tmlcd_core import Experiment
from tmlcd_core.cli import main
from tmlcd_core.errors import ConfigError
from tmlcd_core.experiments import VARIANTS, variant_of
from tmlcd_core.learners import LEARNERS

ROOT = Path(__file__).resolve().parents[2]
SMALL = Experiment("digits", per_class=60, train=10)


def test_as_printed_changes_nothing_and_the_code_changes_what_the_authors_set():
    experiment = Experiment("speech", learners=("cit", "active", "hybrid", "condensed", "static", "nn-fc1"))
    assert VARIANTS["printed"].apply(experiment) == experiment
    code = VARIANTS["code"].apply(experiment)
    scenario = code.drawn(code.feature_pool())
    settings = {name: code.learner_settings(name, scenario) for name in code.learners}
    votes = {name: found.get("weights") for name, found in settings.items()}
    weighted = dict.fromkeys(("cit", "active", "hybrid", "condensed"), "distance")
    assert votes == {**weighted, "static": "uniform", "nn-fc1": None}
    assert (settings["active"]["threshold"], settings["hybrid"]["threshold"]) == (100.0, 25.0)
    assert code.learner("active", scenario).detector.likelihood == "authors"
    assert settings["nn-fc1"]["optimizer"] == "adam"
    assert code.feature_pool().extractor.norm == "clip"


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=list(VARIANTS))
def test_every_choice_names_its_source(variant):
    assert all(one.topic and one.value and one.source for one in variant.choices)
    assert [one.topic for one in variant.choices] == [one.topic for one in VARIANTS["printed"].choices]


@pytest.mark.parametrize(
    "experiment",
    [
        SMALL,
        Experiment("pack"),
        Experiment("points", learners=["hybrid"], settings={"threshold": 50.0}),
        Experiment("speech", learners=list(LEARNERS), settings={"nn-fc1.rate": 1e-3, "hybrid.weights": "uniform"}),
        Experiment("speech", extractor={"sample_rate": 4410, "n_fft": 128, "hop": 128}),
    ],
)
def test_link_and_command_name_the_variant(experiment):
    code = VARIANTS["code"].apply(experiment)
    assert code != experiment and Experiment.from_link(code.link()) == code
    assert ("paper=code" in code.link()) == VARIANTS["code"].within(code)
    assert "paper" not in experiment.link()


def test_the_command_runs_the_variant(capsys):
    code = VARIANTS["code"].apply(SMALL)
    words = shlex.split(code.command())[1:]
    assert words[-4:] == ["--paper", "code", "--runs", "1"]
    assert main([*words, "--json", "--jobs", "1"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["extractor"] == {"norm": "clip"} and found["learners"]["active"]["settings"]["threshold"] == 100
    assert Experiment.from_link(found["link"]) == replace(code, runs=1)
    assert found["learners"]["cit"]["accuracy"]["mean"] == pytest.approx(code.run().learners["cit"].metrics.accuracy)


def test_features_without_clips_keep_their_normalisation():
    assert VARIANTS["code"].apply(Experiment("pack")).extractor == ()
    assert VARIANTS["code"].apply(Experiment("points")).extractor == ()


def test_an_unknown_variant_is_named():
    with pytest.raises(ConfigError, match="no variant 'script' of the paper's settings; choose printed or code"):
        variant_of("script")
    with pytest.raises(ConfigError, match="no variant 'script'"):
        Experiment.from_link("/drift-lab?paper=script")


def test_the_lab_offers_the_variant():
    app = AppTest.from_file(str(ROOT / "pages" / "drift_lab.py"), default_timeout=120)
    app.query_params["paper"] = "code"
    app.run()
    assert not app.exception
    box = next(one for one in app.selectbox if one.label == "Settings of the paper")
    assert box.value == "code" and box.options == [one.title for one in VARIANTS.values()]
    assert next(one for one in app.selectbox if one.label == "Votes").disabled
    assert any("keep their features" in one.value for one in app.caption)
