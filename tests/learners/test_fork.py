"""A process forked while a thread runs a stream: the child can run one too."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import os, signal, sys, threading, warnings
import numpy as np
from tmlcd_core import HybridTinyKNN

warnings.simplefilter("ignore")  # Python's own, about forking with threads
rng = np.random.default_rng(0)
y = np.arange(3000) % 3
X = (rng.normal(size=(3000, 40)) + y[:, None]).astype(np.float32)

def run():
    return HybridTinyKNN(k=1).fit(X[:100], y[:100]).run(X[100:], y[100:]).predictions

expected = run()
stop = threading.Event()
def work():
    while not stop.is_set():
        run()
thread = threading.Thread(target=work)
thread.start()
good = 0
for _ in range(15):
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # a child that hangs is ended
        os._exit(0 if np.array_equal(run(), expected) else 3)
    good += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
stop.set()
thread.join()
print(good, np.array_equal(run(), expected))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_child_forked_while_a_thread_runs_a_stream_runs_it_too():
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=ROOT, capture_output=True, text=True, timeout=1200)
    assert done.stdout.split() == ["15", "True"], done.stderr
