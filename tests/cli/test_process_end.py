"""How a process ends on Ctrl-C and on a full disk: one line, no traceback, and an exit code that says why."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.appserver import free_port

ROOT = Path(__file__).resolve().parents[2]
SERVER = ["-m", "pages.shell.serve", "--server.headless", "true", "--server.address", "127.0.0.1", "--server.port"]
LINE = "error: interrupted\n"
# A module that takes long to import, in the place of one that is imported sooner or later.
# It sleeps in short pieces: a signal that comes just before a sleep is handled only after it.
SLOW = "import os, time\nos.write(1, b'importing')\nfor _ in range(600):\n    time.sleep(0.1)\n"


def heard() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell's background job ignores Ctrl-C


def started(arguments: list[str], path: Path | None = None, **more: str) -> subprocess.Popen[str]:
    environment = os.environ | {"PYTHONPATH": f"{path}{os.pathsep}{ROOT}" if path else str(ROOT)} | more
    return subprocess.Popen(
        [sys.executable, *arguments], cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True, preexec_fn=heard,
    )  # fmt: skip


def interrupted(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Send Ctrl-C to a process and its children; return its exit code and output."""
    os.killpg(process.pid, signal.SIGINT)
    _, complaint = process.communicate(timeout=120)
    return process.returncode, complaint


@pytest.mark.parametrize(
    "arguments, module",
    [
        (["-m", "tmlcd_core", "budget"], "numpy"),
        (["-m", "tmlcd_core", "run", "--data", "points"], "numba"),
        (["-m", "tmlcd_core", "run", "--data", "points"], "sklearn"),
        (["-m", "pages.shell.serve"], "streamlit"),
        (["-m", "pages.classroom", "--address", "127.0.0.1"], "streamlit"),
    ],
)
def test_an_interrupt_during_an_import_is_one_line(tmp_path, arguments, module):
    (tmp_path / f"{module}.py").write_text(SLOW)
    process = started(arguments, tmp_path)
    assert process.stdout is not None and process.stdout.read(9) == "importing"
    assert interrupted(process) == (130, LINE)


def test_an_interrupt_of_worker_processes_is_one_line(tmp_path):
    process = started(
        ["-m", "tmlcd_core", "run", "--data", "points", "--runs", "400", "--jobs", "2", "--out", str(tmp_path / "out")]
    )
    while process.poll() is None and not (tmp_path / "out").exists():
        time.sleep(0.05)
    code, complaint = interrupted(process)
    assert code == 130 and complaint.endswith(LINE) and "Traceback" not in complaint


@pytest.mark.parametrize("command", [SERVER, ["-m", "pages.classroom", "--address", "127.0.0.1", "--port"]])
def test_an_interrupt_of_a_server_is_one_line(tmp_path, command):
    process = started([*command, str(free_port())], TMLCD_CACHE=str(tmp_path), HOME=str(tmp_path))
    assert process.stdout is not None
    for line in process.stdout:
        if "URL:" in line:
            break
    assert interrupted(process) == (130, LINE)


def test_an_interrupt_that_a_library_swallows_ends_the_process_all_the_same():
    script = """
import os, signal, time
from tmlcd_core import interrupts
interrupts.PATIENCE = 0.2
interrupts.leave_on_interrupt()
interrupts.raise_on_interrupt()
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
except KeyboardInterrupt:
    time.sleep(60)
"""
    process = started(["-c", script])
    _, complaint = process.communicate(timeout=50)
    assert (process.returncode, complaint) == (130, LINE)


def test_a_background_job_goes_on():
    script = """
import os, signal
from tmlcd_core.interrupts import leave_on_interrupt
signal.signal(signal.SIGINT, signal.SIG_IGN)
leave_on_interrupt()
os.kill(os.getpid(), signal.SIGINT)
"""
    assert subprocess.run([sys.executable, "-c", script], cwd=ROOT, timeout=60).returncode == 0


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))  # bytes: as on a disk that is nearly full


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_full_disk_is_bad_input(tmp_path, jobs):
    out = tmp_path / "out"
    command = ["run", "--data", "points", "--per-class", "60", "--train", "10", "--runs", "2", "--jobs", jobs]
    done = subprocess.run(
        [sys.executable, "-m", "tmlcd_core", *command, "--out", str(out)],
        cwd=ROOT, capture_output=True, text=True, timeout=300, preexec_fn=limited,
        env=os.environ | {"TMLCD_CACHE": str(tmp_path / "cache")},
    )  # fmt: skip
    assert done.returncode == 2 and done.stdout == "", done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("error: ") and str(out) in last and "File too large" in last


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
@pytest.mark.parametrize("command", [["budget"], ["calibrate", "--accuracy", "0.9", "--json"], ["data", "list"]])
def test_a_full_standard_output_is_bad_input(command):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "tmlcd_core", *command], cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: standard output: No space left on device; ")
