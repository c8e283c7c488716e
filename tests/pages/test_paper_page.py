"""The Paper page: results of data/paper, and running the experiments."""

import base64
import contextlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pandas as pd
import psutil
import pytest
from streamlit.testing.v1 import AppTest

from pages.shell import background_command as work_module
from pages.shell import computation
from pages.shell.background_command import BackgroundCommand
from pages.shell.computation import Busy
from pages.shell.start_options import StartOptions
from pages.shell.url_widgets import WORD_JOINER
from pages.views.drift_lab.page import GOOD
from pages.views.paper import claims as claims_view
from tmlcd_core.experiments import Experiment
from tmlcd_core.paper import equal_bytes
from tmlcd_core.paper.equal_bytes import EqualBytes
from tmlcd_core.paper.findings import MOST, claim_counts, findings
from tmlcd_core.paper.forgetting import Forgetting, forgetting_sentence, named_change

ROOT = Path(__file__).resolve().parents[2]


def opened(tab="Table 1", **more):
    page = AppTest.from_file(str(ROOT / "pages/paper.py"), default_timeout=120)
    page.query_params.update(tab=tab, **more)
    page.run()
    assert not page.exception
    return page


def shipped():
    return json.loads((ROOT / "data/paper/reproduction.json").read_text())


def plain(text):
    """Markdown without its escapes."""
    return text.replace("\\", "").replace(WORD_JOINER, "")


def verdicts(page, column="As printed"):
    """The verdict shown for each claim in a column."""
    said = (re.match(rf"{column}: :material/(\w+): \*\*(.+)\*\*$", element.value) for element in page.markdown)
    return [(found[1], found[2].lower()) for found in said if found]


def test_the_page_begins_with_the_findings_of_the_files():
    page = opened()
    study = Forgetting.from_json(json.loads((ROOT / "data/paper/forgetting.json").read_text()))
    wanted = findings(shipped(), study)
    assert len(wanted) == MOST
    shown = [plain(element.value) for element in page.markdown[:MOST]]
    assert shown == [f"{n}. **{one.title}.**  \n{one.text}" for n, one in enumerate(wanted, 1)]
    assert plain(page.markdown[MOST].value) == claim_counts(shipped())
    assert "shipped" in page.caption[0].value


@pytest.mark.parametrize(
    ("measure", "ours", "paper"),
    [("accuracy", "accuracy", "paper"), ("stored samples", "samples", "paper's samples")],
)
def test_table_1_has_both_columns_the_papers_values_and_the_differences(measure, ours, paper):
    (shown,) = [element.value for element in opened("Table 1", measure=measure).table]
    csv = pd.read_csv(ROOT / "data/paper/table1.csv").sort_values(["data", "classes"], ascending=[False, True])
    assert len(shown) == len(csv) == len(shipped()["table1"])
    for _, row in csv.iterrows():
        one = shown[(shown["data"] == row["data"]) & (shown["λ"] == row["classes"])]
        (cell,) = one[one["classifier"] == row["classifier"]].to_dict("records")
        for title, column in {"paper": paper, "as printed": ours, "as the code runs": f"code {ours}"}.items():
            half = 0.5 if measure != "accuracy" else 0.005 if title == "paper" else 0.0005
            mean, std = map(float, cell[title].split(" ± "))
            assert (mean, std) == pytest.approx((row[column], row[f"{column} std"]), abs=half + 1e-4)
        for title, column in {"difference": ours, "difference ": f"code {ours}"}.items():
            assert float(cell[title].replace("−", "-")) == pytest.approx(row[column] - row[paper], abs=half + 1e-4)


def test_an_expander_lists_every_setting_of_both_columns_with_its_source():
    page = opened("Table 1")
    (listed,) = [one for one in page.expander if one.label == "What differs between the two columns"]
    text = plain("\n".join(element.value for element in listed.markdown))
    for variant in shipped()["variants"]:
        for one in variant["choices"]:
            assert f"**{one['topic']}**" in text and f"*{variant['title']}*: {one['value']} ({one['source']})." in text


def test_every_claim_shows_rule_values_and_verdicts_of_both_columns():
    page = opened("Claims")
    found = shipped()["claims"]
    icons = {"holds": "check_circle", "too close to call": "help", "does not hold": "cancel"}
    for name, title in claims_view.COLUMNS.items():
        said = [claim[name]["verdict"] for claim in found]
        assert verdicts(page, title) == [(icons[verdict], verdict) for verdict in said]
    texts = [plain(element.value) for element in page.markdown]
    captions = [plain(element.value) for element in page.caption]
    for claim in found:
        head = f"**{claim['statement']}** (Sec. {claim['section']})  \nRule: {claim['rule'].replace(' -', ' −')}."
        assert head in texts
        for name in claims_view.COLUMNS:
            values = [claims_view.spread(v["mean"], v["std"]) for v in claim[name]["measured"].values()]
            assert any(re.findall(r"[−\d.]+\s±\s[\d.]+", text) == values for text in captions), claim["key"]
    assert not any(re.search(r"\b(nn-fc1|cit|svm|speech-\w+)\b", text.partition("Open in")[0]) for text in captions)


def test_claims_about_hybrid_show_the_verdict_at_every_alarm_level():
    found = [
        c for c in shipped()["claims"] if len({str(v["measured"]) for v in c["code"]["by_threshold"].values()}) > 1
    ]
    page = opened("Claims")
    shown = [element.value for element in page.table]
    assert len(shown) == len(found) > 0
    for rows, claim in zip(shown, found, strict=True):
        by_level = claim["code"]["by_threshold"]
        assert rows["h"].astype(str).tolist() == list(by_level)
        assert rows["verdict"].str.lower().tolist() == [one["verdict"] for one in by_level.values()]
        assert rows["rule true in"].tolist() == [f"{100 * one['share']:.0f} %" for one in by_level.values()]


def test_each_column_of_a_claim_links_to_its_experiments():
    page = opened("Claims")
    shown = [e.value for e in page.caption if e.value.startswith("Open in the Drift lab")]
    found = shipped()
    wanted = [
        [found["configurations"][name][column] for name in claim["configurations"]]
        for claim in found["claims"]
        for column in claims_view.COLUMNS
    ]
    assert [[f"/{link}" for link in re.findall(r"\]\(([^)]*)\)", text)] for text in shown] == wanted
    assert [links[0] for links in wanted] == [
        claim[column]["link"] for claim in found["claims"] for column in claims_view.COLUMNS
    ]


def choose_alone():
    """The settings of the Drift lab without its run."""
    import streamlit as st

    from pages.views.drift_lab.choose import choose

    st.session_state["experiment"] = choose(st.container())


@pytest.mark.parametrize("name", list(shipped()["configurations"]))
@pytest.mark.parametrize("column", list(claims_view.COLUMNS))
def test_the_drift_lab_opens_a_link_of_the_paper_page_with_exactly_its_settings_and_learners(name, column):
    link = shipped()["configurations"][name][column]
    page = AppTest.from_function(choose_alone, default_timeout=60)
    page.query_params.update(parse_qs(urlsplit(link).query))
    page.run()
    assert not page.exception and not page.toast
    made, wanted = page.session_state["experiment"].experiment, Experiment.from_link(link)
    assert made.learner_names == wanted.learner_names
    assert made == wanted


@pytest.mark.parametrize("name", ["images-2", "images-class-change-2"])
def test_the_drift_lab_runs_the_experiment_of_a_link_in_each_column(name):
    """One column after the other on one server, whose caches must not mix their features up."""
    for column in claims_view.COLUMNS:
        link = shipped()["configurations"][name][column]
        page = AppTest.from_file(str(ROOT / "pages/drift_lab.py"), default_timeout=300)
        page.query_params.update(parse_qs(urlsplit(link).query))
        page.run()
        assert not page.exception and not page.error and not page.toast
        wanted = Experiment.from_link(link).run().learners
        assert page.multiselect(key="learners").value == list(wanted)
        shown = page.session_state[GOOD].traces
        assert list(shown) == list(wanted)
        for learner, one in wanted.items():
            assert np.array_equal(shown[learner].predictions, one.trace.predictions), (column, learner)


@pytest.mark.parametrize(
    ("column", "which"), [("As printed", "algorithms"), ("As the authors' code runs", "algorithms_code")]
)
def test_the_figures_hold_the_shipped_curves_of_the_chosen_column(column, which):
    charts = opened("Figures", column=column).get("plotly_chart")
    curves = shipped()["curves"][which]
    assert len(charts) == sum(map(len, curves))
    for element, panel in zip(charts, (panel for pair in curves for panel in pair), strict=True):
        named = [trace["name"] for trace in json.loads(element.proto.spec)["data"] if "name" in trace]
        assert named == [line["name"] for line in panel["lines"]]
        assert "NN-FC1" in named and panel["title"] in element.proto.alt
        drawn = next(t for t in json.loads(element.proto.spec)["data"] if t.get("name") == named[0])
        values = np.frombuffer(base64.b64decode(drawn["y"]["bdata"]), drawn["y"]["dtype"])
        assert values[-1] == pytest.approx(panel["lines"][0]["mean"][-1], rel=1e-3)


def test_a_link_to_the_other_figure_is_no_fault():
    page = opened("Figures", figure="What a small memory and a low rate cost")
    assert not page.toast
    assert page.selectbox(key="figure").value == "What a small memory and a low rate cost"


def test_the_forgetting_tab_shows_finding_picture_split_and_links():
    page = opened("When forgetting pays")
    study = Forgetting.from_json(json.loads((ROOT / "data/paper/forgetting.json").read_text()))
    said = "".join(element.value for element in page.markdown).replace("\\", "")
    assert forgetting_sentence(study) in said
    (chart,) = page.get("plotly_chart")
    spec = json.loads(chart.proto.spec)
    assert {trace["name"].partition(",")[0] for trace in spec["data"]} == {"speech", "digits"}
    assert all(trace["error_y"]["array"] for trace in spec["data"])
    for change in ("one class changed", "all classes changed", "two labels swapped"):
        page.segmented_control(key="change").set_value(change).run()
        (table,) = [element.value for element in page.table]
        cases = [case for case in study.cases if named_change(case) == change]
        assert table["λ"].tolist() == [case.classes for case in cases]
        assert [float(text.split()[0]) for text in table["bound"]] == pytest.approx(
            [case.gain("bound").mean for case in cases], abs=6e-4
        )
        links = [re.search(r"\((drift-lab\?[^)]*)\)", text)[1] for text in table["experiment"]]
        opened_by_link = [Experiment.from_link(f"/{link}") for link in links]
        assert [(one.data, one.classes, dict(one.settings).get("threshold", 25.0)) for one in opened_by_link] == [
            (case.data, case.classes, case.threshold) for case in cases
        ]


def test_the_tab_at_equal_bytes_shows_the_shipped_study():
    page = opened("At equal bytes")
    study = EqualBytes.from_json(json.loads((ROOT / "data/equal_bytes.json").read_text(encoding="utf-8")))
    said = "".join(element.value for element in page.markdown).replace("\\", "")
    assert equal_bytes.sentence(study) in said
    for data, title, budget in (("speech", "50 samples", "50"), ("points", "100 samples per class", "100·λ")):
        page.segmented_control(key="bytes_of").set_value(data).run()
        page.segmented_control(key="budget").set_value(title).run()
        assert not page.exception and len(page.get("plotly_chart")) == 1
        shown, lost = (element.value for element in page.table)
        assert shown.values.tolist() == equal_bytes.rows(study, data, budget)
        assert lost.values.tolist() == equal_bytes.loss_rows(study)[:10]


def test_claims_can_be_filtered():
    page = opened("Claims")
    page.segmented_control(key="show").set_value("does not hold").run()
    pairs = list(zip(verdicts(page), verdicts(page, "As the authors' code runs"), strict=True))
    said = [(c["printed"]["verdict"], c["code"]["verdict"]) for c in shipped()["claims"]]
    assert [(one[1], other[1]) for one, other in pairs] == [pair for pair in said if "does not hold" in pair]


@pytest.fixture(autouse=True)
def allowed(monkeypatch):
    """Allow visitors to start the experiments; tests have no browser on this machine."""
    monkeypatch.setenv("TMLCD_REPRODUCE", "1")


@pytest.fixture
def visitors():
    """Visitors known to the server; removed after the test."""
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
    page = opened("Run it")
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
    opened("Run it").button[0].click().run()
    second = opened("Run it")
    assert next(button for button in second.button if button.label == "Run").disabled
    assert second.code, "its progress"
    next(button for button in second.button if button.label == "Cancel").click().run()
    assert not visitors["one browser"].kept["the paper's experiments"].running()


def test_the_run_ends_with_the_visitors_last_tab(visitors):
    page = opened("Run it")
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
    (work.folder / "out" / "reproduction.json").write_text(json.dumps(shipped()))
    assert "computed on this server" in opened().caption[0].value


PUBLIC = [(True, False, True), (False, False, False), (False, True, True)]


@pytest.mark.parametrize(("local", "option", "offered"), PUBLIC)
def test_visitors_of_a_public_server_run_it_only_if_an_option_allows_it(visitors, monkeypatch, local, option, offered):
    import pages.shell.start_options
    import pages.shell.visitor

    monkeypatch.setattr(pages.shell.visitor, "is_local_visitor", lambda: local)
    monkeypatch.setattr(pages.shell.start_options, "start_options", lambda: StartOptions(reproduce=option))
    page = opened("Run it")
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
