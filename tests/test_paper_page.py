"""The Paper page: shows what data/paper holds, and runs the same here."""

import json
import time
from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def page():
    return AppTest.from_file(str(ROOT / "pages/read/paper.py"), default_timeout=120)


def test_shows_the_shipped_results(page):
    page.run()
    assert not page.exception
    shipped = json.loads((ROOT / "data/paper/reproduction.json").read_text())
    tables = [element.value for element in page.table]
    assert len(tables[0]) == len(shipped["table1"])
    assert len(tables[1]) == len(shipped["claims"]) >= 14
    csv = pd.read_csv(ROOT / "data/paper/table1.csv")
    speech = tables[0][(tables[0]["data"] == "speech") & (tables[0]["classifier"] == "kNN")]
    expected = csv[(csv["data"] == "speech") & (csv["classifier"] == "kNN")]["accuracy"]
    assert [float(text.split(" ")[0]) for text in speech["accuracy"]] == pytest.approx(expected.tolist(), abs=6e-4)
    assert "shipped" in page.caption[0].value


def test_claims_can_be_filtered(page):
    page.run()
    page.segmented_control(key="show").set_value("does not hold").run()
    assert set(page.table[1].value["verdict"]) == {"does not hold"}


def test_runs_and_cancels(page):
    page.run()
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
