"""Runs in notebooks: figures, tables, and the player in a real JupyterLab."""

import base64
import io
import json
import os
import socket
import subprocess
import sys
import uuid
from html.parser import HTMLParser

import nbformat
import numpy as np
import pytest
import soundfile

from tests.support.appserver import chromium
from tests.support.hummed_words import RATE, hum, write_microphone
from tmlcd_core import Experiment, HybridTinyKNN, prequential
from tmlcd_core.viz.notebook import as_player_run, png_of, recorder_widget

SMALL = Experiment("points", classes=3, drift="labels-swapped", per_class=200, train=30)
CELLS = (
    """\
from tmlcd_core import Experiment
Experiment("points", classes=3, drift="labels-swapped", per_class=200, train=30).play()
""",
    """\
from pathlib import Path
from tmlcd_core.viz.notebook import recorder_widget
def keep(take):
    Path("heard.txt").write_text(f"{take.seconds:.3f}")
    return {"rise": 0.75, "fall": 0.25}
recorder_widget(keep, prompt="Hum")
""",
)
START = 60_000  # ms for a server or a kernel on a busy machine


@pytest.fixture(scope="module")
def run():
    return SMALL.run()


class Cells(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.rows = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])

    def handle_data(self, data):
        if self.rows:
            self.rows[-1].append(data)


def test_player_shows_the_curves_of_the_run(run):
    shown = as_player_run(run)
    assert shown.learners == tuple(run.learners) and shown.changes == run.changes
    for name, one in run.learners.items():
        np.testing.assert_array_equal(shown.correct[name], one.correct)
        np.testing.assert_array_equal(shown.panels[1].curves[name], one.sizes)


def test_tables_hold_the_metrics_and_escape_names(run):
    rows = {name: values for name, *values in Cells(run._repr_html_()).rows}
    assert rows["metric"] == list(run.learners)
    assert rows["accuracy"] == [f"{one.metrics.accuracy:.4g}" for one in run.learners.values()]
    text = Experiment("<b>x</b>", classes=["<i>", "no"])._repr_html_()
    assert "<b>x</b>" not in text and "&lt;i&gt;" in text


def test_figures_of_runs_results_and_traces(run):
    one = run.learners["hybrid"]
    assert [len(what.plot().axes) for what in (run, one, one.trace)] == [3, 3, 2]
    assert len(run.learners["cit"].plot().axes) == 2, "CIT has no statistic"
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    assert prequential(HybridTinyKNN(), (rng.normal(size=(300, 3)) + y[:, None], y)).plot().axes
    assert base64.b64decode(png_of(run)).startswith(b"\x89PNG")


def test_widget_has_the_bytes_of_the_player_and_a_picture(run):
    pytest.importorskip("anywidget")
    widget = run.play(start=0)
    assert widget.data == as_player_run(run).pack(start=0)
    bundle, _ = widget._repr_mimebundle_()
    assert {"application/vnd.jupyter.widget-view+json", "image/png"} <= set(bundle)
    assert widget._esm.count("export default") == 1


def header_of(data):
    return json.loads(data[4 : 4 + int.from_bytes(data[:4], "little")])


def test_experiment_plays_with_its_story_and_the_living_plane(run):
    pytest.importorskip("anywidget")
    header = header_of(SMALL.play().data)
    assert header["picture"]["regions"] and header["picture"]["title"] == "The plane" and header["story"]
    assert [one["name"] for one in header["learners"]] == [
        one["name"] for one in header_of(as_player_run(run).pack())["learners"]
    ]
    assert all(one["T"] for one in header["picture"]["learners"])


def test_recorder_turns_what_the_browser_sends_into_takes():
    pytest.importorskip("anywidget")
    rng = np.random.default_rng(0)
    heard = []

    def answer(take):
        heard.append(take)
        return {"low": 0.9, "rise": 0.1}

    widget = recorder_widget(answer, prompt="Hum")
    assert widget._esm.count("export default") == 1 and widget.shown["prompt"] == "Hum"
    soundfile.write(file := io.BytesIO(), hum("low", rng), RATE, format="WAV", subtype="PCM_16")
    sent = {"id": str(uuid.UUID(int=1)), "wav": base64.b64encode(file.getvalue()).decode(), "kind": "word", "word": ""}
    widget.sent = sent
    assert widget.takes == heard and len(heard) == 1 and 0.9 < heard[0].seconds < 1.1
    assert widget.shown["done"] == [sent["id"]] and widget.shown["bars"] == [("low", 0.9), ("rise", 0.1)]
    widget.sent = sent | {"word": "again"}  # the browser repeats a take until it is acknowledged
    widget.sent = {"id": "../../x", "wav": 7}
    assert len(heard) == 1
    widget.sent = sent | {"id": str(uuid.UUID(int=2)), "wav": "no sound"}
    assert len(heard) == 1 and len(widget.shown["done"]) == 2
    assert widget.shown["prompt"] not in ("", "Hum"), "the error stands in place of the prompt"


@pytest.fixture
def jupyter(tmp_path):
    """Address of a JupyterLab whose folder has one notebook."""
    pytest.importorskip("anywidget")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
    book.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(book, tmp_path / "play.ipynb")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}"]
    command += ["--IdentityProvider.token=", f"--notebook-dir={tmp_path}", "--ServerApp.disable_check_xsrf=True"]
    place = {"JUPYTER_CONFIG_DIR": str(tmp_path / "config"), "JUPYTER_DATA_DIR": str(tmp_path / "data")}
    place |= {"JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime"), "PYTHONPATH": os.getcwd(), "HOME": str(tmp_path)}
    with (tmp_path / "log").open("w") as log, subprocess.Popen(command, stderr=log, env=os.environ | place) as server:
        yield f"http://127.0.0.1:{port}/lab/tree/play.ipynb"
        server.terminate()


@pytest.mark.slow
@pytest.mark.browser
def test_jupyterlab_plays_records_and_is_read_without_a_kernel(jupyter, tmp_path):
    sound = write_microphone(tmp_path / "rise.wav", "rise")
    flags = ("--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream")
    with chromium(*flags, f"--use-file-for-fake-audio-capture={sound}") as browser:
        page = browser.new_page(viewport={"width": 1300, "height": 900})
        for _ in range(120):  # until the server listens
            try:
                page.goto(jupyter)
                break
            except Exception:
                page.wait_for_timeout(500)
        page.locator(".jp-Notebook .jp-CodeCell").first.wait_for(timeout=START)
        page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=START)
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_text("Run All Cells", exact=True).click()
        chart = page.locator(".jp-OutputArea .player canvas.chart").first
        chart.wait_for(timeout=START)
        assert page.locator(".jp-OutputArea .player .metrics th").count() > 5
        clock = page.locator(".jp-OutputArea .player .clock")
        assert clock.inner_text() == "599 / 600"
        page.locator(".jp-OutputArea .player [data-action=restart]").click()
        assert clock.inner_text() == "0 / 600"
        planes = page.locator(".jp-OutputArea .player canvas.plane")
        assert planes.count() == 3, "a living plane for each learner"
        drawn = "(it) => it.width && it.getContext('2d').getImageData(0, 0, it.width, it.height).data.some((v) => v)"
        page.wait_for_function(drawn, arg=planes.first.element_handle())
        page.locator(".jp-OutputArea .recorder .main").click()
        page.locator(".jp-OutputArea .recorder[data-done]").wait_for(timeout=START)
        assert 0.3 < float((tmp_path / "heard.txt").read_text()) < 2
        page.locator(".jp-OutputArea .recorder .bar:has-text('rise'):has-text('75 %')").wait_for()
        page.keyboard.press("Control+s")
        for _ in range(100):
            try:
                outputs = nbformat.read(tmp_path / "play.ipynb", 4).cells[0].outputs
            except ValueError:  # half written
                outputs = []
            if outputs:
                break
            page.wait_for_timeout(100)
        assert "image/png" in outputs[-1].data, "a reader without a kernel sees the figure"
        page.screenshot(path=str(tmp_path / "jupyter.png"))
