"""Runs in notebooks: figures, tables, and the player in a real JupyterLab."""

import base64
import os
import socket
import subprocess
import sys
from html.parser import HTMLParser

import nbformat
import numpy as np
import pytest

from tests.support.appserver import chromium
from tmlcd_core import Experiment, HybridTinyKNN, prequential
from tmlcd_core.viz.notebook import as_player_run, png_of, widget_module

SMALL = Experiment("points", classes=3, drift="labels-swapped", per_class=200, train=30)
CODE = """\
from tmlcd_core import Experiment
run = Experiment("points", classes=3, drift="labels-swapped", per_class=200, train=30).run()
player = run.play()
player
"""
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
    assert widget_module().count("export default") == 1


@pytest.fixture
def jupyter(tmp_path):
    """Address of a JupyterLab whose folder has one notebook."""
    pytest.importorskip("anywidget")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CODE)])
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
def test_jupyterlab_plays_the_run_and_reads_it_without_a_kernel(jupyter, tmp_path):
    with chromium() as browser:
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
