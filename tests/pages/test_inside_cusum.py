"""The page Inside CUSUM: two tabs, and the shipped comparison of detectors."""

import json
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.shell import background_command
from pages.views.inside_cusum import compare_detectors, inside_test
from tmlcd_core.experiments import Experiment
from tmlcd_core.viz import cusum

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = json.loads((ROOT / "data/detectors.json").read_text("utf-8"))


@pytest.fixture(autouse=True)
def allowed(monkeypatch):
    """Visitors may start the comparison: nobody here comes from a browser on this machine."""
    monkeypatch.setenv("TMLCD_REPRODUCE", "1")


def opened(**address):
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).run()
    page.query_params.update(address)
    page.switch_page("pages/inside_cusum.py").run()
    assert not page.exception
    return page


def comparison(**address):
    return opened(part="Compare detectors", **address)


def test_an_address_without_a_tab_opens_the_test_as_before():
    page = opened(h="31", n="20")
    assert page.slider(key="h").value == 31 and page.slider(key="n").value == 20
    assert not page.toast and len(page.metric) == 3


def played(page):
    """Header of the run in the player."""
    (packed,) = (one.proto.bytes for one in page.get("bidi_component"))
    first = 4 + int.from_bytes(packed[:4], "little")
    return json.loads(packed[4:first])


def test_the_first_example_tells_the_truth_at_first_sight():
    page = opened()
    before, after, change = (page.slider(key=key).value for key in ("before", "after", "at"))
    h, seed = page.slider(key="h").value, page.number_input(key=inside_test.SEED).value
    hits = np.random.default_rng(seed).random(1500) < np.where(np.arange(1500) < change, before, after)
    said = cusum.replay(hits, threshold=h, batch=50, warmup=100)
    assert np.nanmax(said.statistic[:change]) < h / 20, "flat before the change"
    climb = said.statistic[change - 1 : said.alarms[0] + 1 : 50]
    assert len(climb) > 3 and (np.diff(climb) > 0).all(), "higher after every batch since the change"
    assert said.change_points == [change] and len(said.alarms) == 1
    assert played(page)["learners"][0]["alarms"] == said.alarms
    words, formulas = page.markdown, page.get("latex")
    assert any(f"since sample {change}" in text.value for text in words)
    assert page.expander[0].label == "Formulas with these numbers" and len(formulas) == 4
    assert not page.expander[0].proto.expanded


LAB = {
    "swap": {"drift": "labels-swapped", "per_class": "750", "seed": "1"},
    "settings": {"data": "points", "drift": "labels-swapped", "h": "12", "n": "20", "xi": "60", "grid": "0.02"},
    "labels": {"data": "points", "drift": "labels-swapped", "labels": "50", "label_delay": "30", "wrong_labels": "5"},
    "recorded": {"data": "river:Phishing"},
}


@pytest.mark.parametrize("learner", ["active", "hybrid"])
@pytest.mark.parametrize("name", LAB)
def test_a_link_opens_this_very_run_of_the_lab_at_this_very_sample(name, learner):
    asked = LAB[name]
    trace = Experiment.from_link("/drift-lab?" + urlencode(asked)).run().learners[learner].trace
    sample = int(trace.detections[0]) if len(trace.detections) else 700
    page = opened(**asked, learner=learner, sample=str(sample))
    assert not page.error and page.selectbox(key="run").value == inside_test.LAB
    shown = played(page)
    position, (tested,) = shown["start"], shown["learners"]
    assert len(tested["alarms"]) == len(trace.detections)
    if name != "labels":
        assert position == sample
        assert tested["alarms"] == trace.detections.tolist()
        assert tested["change_points"] == trace.change_points.tolist()
    elif len(trace.detections):
        assert position == tested["alarms"][0], "the sample at which the label came that raised the alarm"
    texts = " ".join(one.value for one in page.markdown)
    assert f"evidence for it is {trace.statistic[sample]:.1f}" in texts or trace.statistic[sample] <= 0


def test_every_change_of_a_run_of_the_lab_is_marked_with_its_end():
    asked = {"data": "points", "drift": "recurring", "lambda": "3", "per_class": "300", "over": "20"}
    stream = Experiment.from_link("/drift-lab?" + urlencode(asked)).stream()
    shown = played(opened(**asked, learner="hybrid"))
    assert len(shown["changes"]) == 2
    assert (shown["changes"], shown["ends"]) == (list(stream.changes), list(stream.ends))
    assert all(" replaced " in text for text in shown["change_texts"])


def test_a_new_alarm_level_repeats_the_run_of_the_lab():
    page = opened(**LAB["swap"], learner="active", sample="800")
    page.slider(key="h").set_value(90.0).run()
    asked = LAB["swap"] | {"h": "90"}
    trace = Experiment.from_link("/drift-lab?" + urlencode(asked)).run().learners["active"].trace
    assert played(page)["learners"][0]["alarms"] == trace.detections.tolist()
    page.selectbox(key="run").set_value(inside_test.SIMULATED).run()
    page.slider(key="h").set_value(91.0).run()
    assert page.selectbox(key="run").value == inside_test.SIMULATED, "a new setting does not bring the lab's run back"


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"learner": "cit"}, "no CUSUM test"),
        ({"learner": "nobody"}, "there is no learner"),
        ({"learner": "hybrid", "data": "/etc"}, "unknown"),
        ({"learner": "hybrid", "data": "folder", "folder": "/etc"}, "cannot use folders"),
        ({"learner": "hybrid", "data": "points", "per_class": "1e12"}, "too large"),
        ({"learner": "hybrid", "data": "upload"}, "does not contain the uploaded zip"),
    ],
)
def test_a_link_that_the_lab_would_refuse_is_refused(asked, words, monkeypatch):
    monkeypatch.setattr("pages.views.drift_lab.upload.offers_server_devices", lambda: False)
    page = opened(**asked)
    (error,) = page.error
    assert words in error.value.replace("\\", "")


def test_links_of_earlier_versions_keep_their_seed():
    assert opened(h="5", seed="0").number_input(key=inside_test.SEED).value == 0


def test_the_comparison_shows_the_shipped_numbers_without_computing():
    page = comparison()
    (shown,) = (element.value for element in page.dataframe)
    kind = SHIPPED["errors"][0]
    assert list(shown["Detector"]) == [one["detector"] for one in kind["detectors"]]
    for text, one in zip(shown["Drop of 0.2: delay (missed)"], kind["detectors"], strict=True):
        (found,) = [other for other in one["detections"] if other["name"] == "drop of 0.2, abrupt"]
        assert text.split(" ")[0] == f"{found['delay']['value']:.0f}"
    (chart,) = page.get("plotly_chart")
    lines = json.loads(chart.proto.spec)["data"]
    assert len(lines) == 2 * len(kind["detectors"]) and "ADWIN" in chart.proto.alt
    assert any("shipped" in caption.value for caption in page.caption)


def test_other_errors_and_gradual_changes_can_be_chosen_by_address():
    page = comparison(errors="Condensing-in-Time on speech", shape="Gradual")
    (shown,) = (element.value for element in page.dataframe)
    cit = SHIPPED["errors"][2]["detectors"][0]["detections"]
    (found,) = [one for one in cit if one["name"] == "labels swap, gradual"]
    assert shown["Labels swap: delay (missed)"][0].startswith(f"{found['delay']['value']:.0f} (")
    assert not page.toast


def test_visitors_of_a_server_are_shown_the_command(monkeypatch):
    monkeypatch.delenv("TMLCD_REPRODUCE")
    page = comparison()
    assert [one.value for one in page.code] == ["python -m tmlcd_core detectors"]
    assert not [button for button in page.button if button.label == "Run"]


def test_the_comparison_is_run_with_the_chosen_settings(monkeypatch):
    started = []
    monkeypatch.setattr(background_command.BackgroundCommand, "start", lambda self, words: started.append(words))
    page = comparison()
    page.select_slider(key="rate").set_value(0.05)
    page.select_slider(key="streams").set_value(1000).run()
    next(button for button in page.button if button.label == "Run").click().run()
    assert started == [["detectors", "--rate", "0.05", "--streams", "1000", "--learner-streams", "100"]]


def test_a_finished_command_replaces_the_shipped_numbers(monkeypatch):
    other = SHIPPED | {"errors": SHIPPED["errors"][:1], "rate": 0.05}
    monkeypatch.setattr(background_command.BackgroundCommand, "result", lambda self: json.dumps(other))
    page = comparison()
    assert "5 % of the streams" in page.markdown[0].value
    assert any("computed on this server" in caption.value for caption in page.caption)
    assert compare_detectors.FILE == "detectors.json"
