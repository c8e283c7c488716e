"""Plotly figures of several threads."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Stands for pandas: its import takes as long as the test wants.
SLOW_PANDAS = """
import sys
sys.begun.set()
sys.go_on.wait()
class Series: pass
class Index: pass
class DataFrame: pass
"""
PROGRAM = """
import sys, threading
import plotly.graph_objects
from tmlcd_core.viz.plotly_json import plotly_figure

assert "pandas" not in sys.modules
sys.begun, sys.go_on, found = threading.Event(), threading.Event(), []

def draw():
    try:
        found.append(plotly_figure([{"type": "scatter", "y": [1, 2], "x": [1, 2]}], {"height": 100}).to_json())
    except Exception as error:
        found.append(error)

reader = threading.Thread(target=__import__, args=("pandas",))
reader.start()
sys.begun.wait()
assert "pandas" in sys.modules and not hasattr(sys.modules["pandas"], "Series")
drawer = threading.Thread(target=draw)
drawer.start()
drawer.join(0.5)
print("drawn while pandas was half imported:", found)
sys.go_on.set()
reader.join()
drawer.join()
print(found[0])
"""


def test_a_figure_waits_until_another_thread_has_imported_pandas(tmp_path):
    (tmp_path / "pandas.py").write_text(SLOW_PANDAS)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        env={"PYTHONPATH": f"{tmp_path}:{ROOT}"},
        capture_output=True,
        text=True,
    )
    waited, drawn = done.stdout.splitlines() or [done.stderr, ""]
    assert waited == "drawn while pandas was half imported: []"
    assert '"height":100' in drawn
