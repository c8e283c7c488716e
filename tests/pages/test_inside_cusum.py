"""The page Inside CUSUM: two tabs, and the shipped comparison of detectors."""

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.shell import background_command
from pages.views.inside_cusum import compare_detectors

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = json.loads((ROOT / "data/detectors.json").read_text("utf-8"))


@pytest.fixture(autouse=True)
def allowed(monkeypatch):
    """Visitors may start the comparison: nobody here comes from a browser on this machine."""
    monkeypatch.setenv("TMLCD_REPRODUCE", "1")


def opened(**address):
    page = AppTest.from_file(str(ROOT / "pages/inside_cusum.py"), default_timeout=120)
    page.query_params.update(address)
    page.run()
    assert not page.exception
    return page


def comparison(**address):
    return opened(part="Compare detectors", **address)


def test_an_address_without_a_tab_opens_the_test_as_before():
    page = opened(h="31", n="20")
    assert page.slider(key="h").value == 31 and page.slider(key="n").value == 20
    assert not page.toast and len(page.metric) == 3


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
