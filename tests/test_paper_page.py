"""The Paper page: shows what data/paper holds, and runs the same here."""

import json
import re
import time
from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).resolve().parent.parent


def opened(tab="Table 1", **more):
    page = AppTest.from_file(str(ROOT / "pages/read/paper.py"), default_timeout=120)
    page.query_params.update(tab=tab, **more)
    page.run()
    assert not page.exception
    return page


def verdicts(page):
    """What stands beside each claim."""
    said = (re.search(r"\*\* (Holds|Does not hold) \(Sec\. 7", element.value) for element in page.markdown)
    return [found[1].lower() for found in said if found]


def test_shows_the_shipped_results():
    page = opened()
    shipped = json.loads((ROOT / "data/paper/reproduction.json").read_text())
    (table,) = [element.value for element in page.table]
    assert len(table) == len(shipped["table1"])
    claims = verdicts(opened("Claims"))
    assert claims == [claim["verdict"] for claim in shipped["claims"]] and len(claims) >= 14
    csv = pd.read_csv(ROOT / "data/paper/table1.csv")
    speech = table[(table["data"] == "speech") & (table["classifier"] == "kNN")]
    expected = csv[(csv["data"] == "speech") & (csv["classifier"] == "kNN")]["accuracy"]
    assert [float(text.split(" ")[0]) for text in speech["accuracy"]] == pytest.approx(expected.tolist(), abs=6e-4)
    assert "shipped" in page.caption[0].value


def test_the_figures_hold_the_shipped_curves():
    charts = opened("Figures").get("plotly_chart")
    shipped = json.loads((ROOT / "data/paper/reproduction.json").read_text())["curves"]["algorithms"]
    assert len(charts) == sum(map(len, shipped))
    for element, panel in zip(charts, (panel for pair in shipped for panel in pair), strict=True):
        named = [trace["name"] for trace in json.loads(element.proto.spec)["data"] if "name" in trace]
        assert named == [line["name"] for line in panel["lines"]]
        assert "NN-FC1" in named and panel["title"] in element.proto.alt


def test_a_link_to_the_other_figure_is_no_fault():
    page = opened("Figures", figure="What a small memory and a low rate cost")
    assert not page.toast
    assert page.selectbox(key="figure").value == "What a small memory and a low rate cost"


def test_claims_can_be_filtered():
    page = opened("Claims")
    page.segmented_control(key="show").set_value("does not hold").run()
    assert set(verdicts(page)) == {"does not hold"}


def test_runs_and_cancels():
    page = opened("Run it here")
    page.button[0].click().run()
    work = page.session_state["work:paper"]
    assert work.running()
    page.run()
    cancel = next(button for button in page.button if button.label == "Cancel")
    cancel.click().run()
    deadline = time.monotonic() + 20
    while work.running() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not work.running()
    assert not page.exception
    assert any("Stopped" in element.value for element in page.info)
