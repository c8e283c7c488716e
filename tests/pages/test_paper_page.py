"""The Paper page: shows what data/paper holds, and runs the same here."""

import contextlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import psutil
import pytest
from streamlit.testing.v1 import AppTest

from pages.shell import background_command as work_module
from pages.shell import computation
from pages.shell.background_command import BackgroundCommand
from pages.shell.computation import Busy
from pages.shell.start_options import StartOptions

ROOT = Path(__file__).resolve().parents[2]


def opened(tab="Table 1", **more):
    page = AppTest.from_file(str(ROOT / "pages/paper.py"), default_timeout=120)
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


@pytest.fixture(autouse=True)
def allowed(monkeypatch):
    """Visitors may start the experiments: nobody here comes from a browser on this machine."""
    monkeypatch.setenv("TMLCD_REPRODUCE", "1")


@pytest.fixture
def visitors():
    """The visitors that the server knows, closed again after the test."""
    computation.close_all()
    yield computation._visitors
    computation.close_all()


def work_of(page):
    return computation._visitors[page.session_state[computation.TAB]].kept["the paper's experiments"]


def alive(group):
    """The processes of a group that have not ended, ten seconds after they were told to."""
    members = []
    for one in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):  # others come and go
            if one.status() != psutil.STATUS_ZOMBIE and os.getpgid(one.pid) == group:
                members.append(one)
    return psutil.wait_procs(members, timeout=10)[1]


def test_runs_and_cancels(visitors):
    page = opened("Run it here")
    page.button[0].click().run()
    work = work_of(page)
    assert work.running()
    page.run()
    cancel = next(button for button in page.button if button.label == "Cancel")
    cancel.click().run()
    assert not work.running() and not alive(work.process.pid)
    assert not page.exception
    assert any("Stopped" in element.value for element in page.info)


def test_a_second_tab_and_a_reload_find_the_same_run(visitors, monkeypatch):
    monkeypatch.setattr(computation, "visitor", lambda: "one browser")
    opened("Run it here").button[0].click().run()
    second = opened("Run it here")
    assert next(button for button in second.button if button.label == "Run").disabled
    assert second.code, "its progress"
    next(button for button in second.button if button.label == "Cancel").click().run()
    assert not visitors["one browser"].kept["the paper's experiments"].running()


def test_the_run_ends_with_the_visitors_last_tab(visitors):
    page = opened("Run it here")
    page.button[0].click().run()
    work, folder = work_of(page), work_of(page).folder
    computation.close_left(lambda tab: True, 0.0)
    assert work.running(), "a tab is open"
    computation.close_left(lambda tab: False, 3600.0)
    assert work.running(), "a reload takes a moment"
    computation.close_left(lambda tab: False, 0.0)
    assert not work.running() and not alive(work.process.pid) and not folder.exists()
    assert not visitors


def test_a_finished_run_is_shown_in_every_tab(visitors, monkeypatch):
    monkeypatch.setattr(computation, "visitor", lambda: "one browser")
    opened()
    work = visitors["one browser"].kept["the paper's experiments"]
    work.process = subprocess.Popen([sys.executable, "-c", ""])
    work.process.wait()
    (work.folder / "out").mkdir()
    shipped = ROOT / "data/paper/reproduction.json"
    (work.folder / "out" / "reproduction.json").write_text(shipped.read_text())
    assert "computed on this server" in opened().caption[0].value


PUBLIC = [(True, False, True), (False, False, False), (False, True, True)]


@pytest.mark.parametrize(("local", "option", "offered"), PUBLIC)
def test_visitors_of_a_public_server_run_it_only_if_an_option_allows_it(visitors, monkeypatch, local, option, offered):
    import pages.shell.start_options
    import pages.shell.visitor

    monkeypatch.setattr(pages.shell.visitor, "is_local_visitor", lambda: local)
    monkeypatch.setattr(pages.shell.start_options, "start_options", lambda: StartOptions(reproduce=option))
    page = opened("Run it here")
    assert bool(page.button) == offered
    assert ("python -m tmlcd_core reproduce" in "".join(code.value for code in page.code)) != offered


def test_the_server_runs_a_few_for_all_visitors(visitors, monkeypatch):
    started = []
    monkeypatch.setattr(BackgroundCommand, "running", lambda self: self in started)
    monkeypatch.setattr(work_module.subprocess, "Popen", lambda *args, **options: None)
    for number in range(computation.MOST_PROCESSES + 1):
        monkeypatch.setattr(computation, "visitor", lambda: f"visitor {number}")  # noqa: B023
        work = BackgroundCommand.of_visitor("test")
        if number < computation.MOST_PROCESSES:
            work.start([])
            started.append(work)
        else:
            with pytest.raises(Busy, match="The server runs 2 long computations"):
                work.start([])
