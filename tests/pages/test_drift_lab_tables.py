"""Tables in the Drift lab: path and upload, preview, no invented change, and the labels as in life."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from streamlit.testing.v1 import AppTest

from pages.views.drift_lab import choose, upload
from pages.views.drift_lab.tables import classes_in_words, preview
from pages.views.drift_lab.upload import LIMIT, keep_table
from tests.support.tables import drifting_frame
from tmlcd_core.datasets.tables import open_table
from tmlcd_core.errors import DataError
from tmlcd_core.experiments import Experiment
from tmlcd_core.experiments.inspection import inspect_sample

ROOT = Path(__file__).parents[2]
TIMEOUT = 120


@pytest.fixture(autouse=True)
def local(monkeypatch):
    monkeypatch.setenv("TMLCD_SERVER_DEVICES", "1")


@pytest.fixture
def path(tmp_path):
    drifting_frame(1500).to_csv(tmp_path / "things.csv", index=False)
    return str(tmp_path / "things.csv")


def lab(**query):
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT).run()
    for key, value in query.items():
        at.query_params[key] = value
    return at.switch_page("pages/drift_lab.py").run()


def shown_run(at):
    """The header of the run in the player."""
    packed = at.get("bidi_component")[0].proto.bytes
    return json.loads(packed[4 : 4 + int.from_bytes(packed[:4], "little")])


def told(at):
    return " ".join(one.value.replace("\\", "") for kind in ("error", "info", "caption") for one in getattr(at, kind))


def test_a_link_with_a_table_runs_it_as_the_library_does(path):
    experiment = Experiment(path, label="class", labels=0.5, label_delay=20, wrong_labels=0.1)
    at = lab(data="table", table=path, label="class", labels="50", label_delay="20", wrong_labels="10")
    assert not at.exception and not at.toast
    found = at.session_state["lab good"]
    assert found.experiment == experiment
    run = experiment.run()
    for name, trace in found.traces.items():
        assert trace.predictions.tolist() == run.learners[name].trace.predictions.tolist()
    shown = shown_run(at)
    assert shown["changes"] == [] and [row["name"] for row in shown["so_far"]] == ["alarms"]
    assert "1,500 labelled rows of 3 classes" in told(at)
    assert {"drift", "lambda"}.isdisjoint({one.key for one in (*at.selectbox, *at.slider)})
    rows = at.session_state["lab good"].metrics["hybrid"]
    assert rows.alarms >= 0 and np.isnan([rows.recovery, rows.delay, rows.missed, rows.false_alarms]).all()


def test_the_preview_comes_before_the_choice_of_the_label(path):
    at = lab(data="table", table=path)
    assert not at.exception
    assert "Choose the column with the labels, probably “class”" in told(at)
    assert "lab good" not in at.session_state
    [frame] = [one.value for one in at.dataframe]
    assert frame["column"].tolist() == ["size", "weight", "colour", "class"]
    assert frame["use"].tolist() == ["number", "number", "category", "category"]
    at.selectbox(key="label").set_value("class").run()
    assert at.session_state["lab good"].experiment == Experiment(path, label="class")


def test_learners_that_agree_are_named(path):
    at = lab(data="table", table=path, label="class", learners=["active", "hybrid"])
    both = at.session_state["lab good"].traces
    assert all(len(trace.detections) for trace in both.values())
    assert "Several learners raise an alarm near sample" in told(at)


def test_a_table_that_cannot_run_is_a_sentence(tmp_path):
    (tmp_path / "bad.csv").write_text("a,y\n1,p\n2\n")
    at = lab(data="table", table=str(tmp_path / "bad.csv"))
    assert not at.exception and "1 fields in row 2, but 2 columns" in told(at)
    at = lab(data="table", table=str(tmp_path / "none.csv"))
    assert not at.exception and "there is no file" in told(at).lower()


def test_other_visitors_cannot_read_tables_of_the_server(path, monkeypatch):
    monkeypatch.delenv("TMLCD_SERVER_DEVICES")
    with pytest.raises(DataError, match="visitors cannot use files of the server"):
        upload.local_table(path)
    at = lab(data="table", table=path, label="class")
    assert not at.exception
    assert at.session_state["lab good"].experiment.data != path


def test_a_long_table_runs_its_first_rows(path, monkeypatch):
    monkeypatch.setattr(choose, "MOST_SAMPLES", 700)
    at = lab(data="table", table=path, label="class")
    assert not at.exception
    assert at.session_state["lab good"].experiment == Experiment(path, label="class", samples=700)
    assert at.session_state["lab good"].scenario.length == 600


def test_a_river_stream_opens_by_its_link():
    at = lab(data="river:Phishing", learners=["hybrid"])
    assert not at.exception and not at.toast
    assert at.session_state["lab good"].experiment == Experiment("river:Phishing", learners=["hybrid"])


def test_an_upload_is_kept_within_the_limits_and_named_as_it_was_sent(path):
    before, content = set(upload._uploads._sizes), Path(path).read_bytes()  # other tests' pages may still hold uploads
    kept = keep_table("id", "mine.csv", content)
    assert Experiment(kept.path, label="class").run().scenario.length == 1400
    folder = Path(kept.folder.name)
    del kept
    assert not folder.exists()
    with pytest.raises(DataError, match=r"'mine.csv' has 10\.\d MB: upload at most 10 MB"):
        keep_table("id", "mine.csv", bytes(LIMIT + 2**18))
    with pytest.raises(DataError, match=r"^mine.csv has the column 'a' twice"):
        keep_table("id", "mine.csv", b"a,a,y\n1,2,3\n")
    with pytest.raises(DataError, match="not a table"):
        keep_table("id", "mine.parquet", b"PAR1")
    assert set(upload._uploads._sizes) <= before


def test_preview_and_counts_in_words():
    table = open_table(drifting_frame(90))
    assert preview(table, "class")["use"] == ["number", "number", "category", "label"]
    counts = dataclasses.replace(table.count_labels("class"), classes={f"c{i}": 2 for i in range(14)})
    assert classes_in_words(counts).endswith("c11: 2 and 2 more).")


@pytest.mark.parametrize("delay", [0, 7])
def test_the_sample_at_the_cursor_is_that_of_the_run(delay):
    experiment = Experiment("points", classes=3, per_class=100, train=10, labels=0.7, label_delay=delay)
    stream = experiment.stream()
    trace = experiment.learner_run("hybrid", stream).trace
    for sample in (0, 5, 150):
        learner = experiment.learner("hybrid", stream.scenario)
        found = inspect_sample(learner, stream, sample, experiment.supervision, experiment.seed)
        assert found.said == trace.predictions[sample]
        assert sample == 0 or found.size == trace.sizes[sample - 1]


def test_a_link_runs_a_folder_in_the_order_of_its_files(tmp_path):
    for number in range(30):
        folder = tmp_path / ("dark" if number % 2 else "light")
        folder.mkdir(exist_ok=True)
        Image.fromarray(np.full((32, 32, 3), 40 + 5 * number, np.uint8)).save(folder / f"{number:02d}.png")
    at = lab(data="folder", folder=str(tmp_path), order="name", initial="10", learners=["hybrid"])
    assert not at.exception
    found = at.session_state["lab good"]
    assert found.experiment == Experiment(tmp_path, order="name", initial=10, learners=["hybrid"])
    assert found.stream.y.tolist() == 10 * ["light", "dark"]
