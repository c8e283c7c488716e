"""The command line from outside: exit codes, JSON alone on standard output, errors of one line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tmlcd_core
from tmlcd_core.cli import main
from tmlcd_core.datasets import FeatureCache
from tmlcd_core.progress import terminal_bar

REPOSITORY = Path(__file__).parents[2]


def run(cache: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tmlcd_core", *arguments],
        cwd=REPOSITORY,
        env={**os.environ, "TMLCD_CACHE": str(cache), **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def said(done: subprocess.CompletedProcess[str]) -> dict:
    """The object that `--json` printed: exactly one, on one line."""
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


@pytest.fixture
def clips(tmp_path: Path) -> Path:
    soundfile = pytest.importorskip("soundfile")
    rng = np.random.default_rng(0)
    for label in ("yes", "no"):
        (tmp_path / "mine" / label).mkdir(parents=True)
        for i in range(3):
            soundfile.write(tmp_path / "mine" / label / f"{i}.wav", 0.1 * rng.standard_normal(8_000), 8_000)
    (tmp_path / "mine" / "yes" / "bad.wav").write_bytes(b"nothing of the kind")
    return tmp_path / "mine"


def test_help_names_the_commands(tmp_path: Path) -> None:
    for arguments in (["--help"], ["data", "--help"], ["data", "make", "--help"]):
        done = run(tmp_path, *arguments)
        assert done.returncode == 0 and done.stdout.startswith("usage: python -m tmlcd_core") and not done.stderr
        assert "option_strings" not in done.stdout, "a % in a help text was formatted"


def test_version_is_that_of_the_package(tmp_path: Path) -> None:
    done = run(tmp_path, "--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"tmlcd {tmlcd_core.__version__}\n", "")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ([], "COMMAND"),
        (["frobnicate"], "frobnicate"),
        (["data"], "ACTION"),
        (["data", "make"], "source"),
        (["data", "make", "spech"], "'spech' is neither"),
        (["data", "make", "digits", "--clips", "many"], "many"),
        (["data", "make", "cifar10", "--json"], "is not on this machine"),
        (["data", "check", "/no/such/folder", "--json"], "there is no folder"),
        (["data", "pack", "--out", __file__], "cannot be written"),
    ],
)
def test_bad_input_is_one_line_and_code_2(tmp_path: Path, arguments: list[str], part: str) -> None:
    done = run(tmp_path, *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1 and part in done.stderr


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--clips", "0"], "--clips is 0"),
        (["--words", "eleven"], "no class 'eleven'"),
        (["--words", "1", "1"], "twice"),
    ],
)
def test_bad_choices(arguments: list[str], part: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "make", "digits", *arguments, "--json"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: ") and err.count("\n") == 1 and part in err


def test_a_fault_is_one_line_and_code_1(tmp_path: Path) -> None:
    code = (
        "import tmlcd_core.datasets as d, sys\n"
        "from tmlcd_core.cli import main\n"
        "d.SOURCES = None\n"
        "sys.exit(main(['data', 'list']))"
    )

    def broken(**environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", code],
            cwd=REPOSITORY,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
        )

    done = broken()
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("fault: AttributeError") and done.stderr.count("\n") == 1
    assert "Traceback" in broken(TMLCD_DEBUG="1").stderr


def test_list(tmp_path: Path) -> None:
    sources = {row["name"]: row for row in said(run(tmp_path, "data", "list", "--json"))["sources"]}
    assert sources["digits"]["missing"] is None
    assert str(tmp_path / "downloads" / "imagenette") in sources["imagenette"]["missing"]
    text = run(tmp_path, "data", "list").stdout
    assert all(name in text for name in sources)


def test_check(tmp_path: Path, clips: Path) -> None:
    found = said(run(tmp_path, "data", "check", str(clips), "--json"))
    assert found["classes"] == {"no": 3, "yes": 3} and found["kind"] == "audio"
    assert list(found["skipped"]) == [os.path.join("yes", "bad.wav")]
    done = run(tmp_path, "data", "check", str(clips))
    assert done.returncode == 0 and "6 usable audio files" in done.stdout and "1 files skipped" in done.stdout
    done = run(tmp_path, "run", "--data", str(clips), "--drift", "none", "--learners", "cit", "--runs", "1", "--json")
    assert said(done)["runs"] == 1 and "warning: 1 file is left out" in done.stderr and "data check" in done.stderr
    for path in clips.rglob("*.wav"):
        path.write_bytes(b"")
    done = run(tmp_path, "data", "check", str(clips), "--json")
    assert done.returncode == 2 and "none of the 7 files" in done.stderr


def test_make_and_cache(tmp_path: Path, clips: Path) -> None:
    cache = tmp_path / "cache"
    made = said(run(cache, "data", "make", str(clips), "--clips", "2", "--json"))
    assert made["rows"] == {"no": 2, "yes": 2} and made["features"] == 715
    data = {"X": np.zeros((6, 64), np.float32)}
    FeatureCache(cache / "features").store("digits", "0", ("k",), data, {"rows": 6})
    shown = said(run(cache, "data", "cache", "--json"))
    assert {name: one["rows"] for name, one in shown["sources"].items()} == {"mine": 4, "digits": 6}
    assert shown["bytes"] == sum(p.stat().st_size for p in cache.rglob("*.features"))
    assert "digits" in run(cache, "data", "cache").stdout
    done = run(cache, "data", "cache", "--clear", "mne")
    assert done.returncode == 2 and "'mne'" in done.stderr and "digits, mine" in done.stderr
    cleared = said(run(cache, "data", "cache", "--clear", "mine", "--json"))
    assert cleared["freed_bytes"] > 0 and list(said(run(cache, "data", "cache", "--json"))["sources"]) == ["digits"]
    assert said(run(cache, "data", "cache", "--clear", "--json"))["bytes"] == 0


def test_a_damaged_cache_is_a_warning_of_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TMLCD_CACHE", str(tmp_path))
    arguments = ["data", "make", "digits", "--words", "0", "--clips", "3", "--json"]
    assert main(arguments) == 0
    (path,) = tmp_path.rglob("*.features")
    path.write_bytes(path.read_bytes()[:-5])
    capsys.readouterr()
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["rows"] == {"0": 3}
    (line,) = [line for line in err.splitlines() if line.startswith("warning: ")]
    assert "damaged" in line and "computed again" in line


def test_names_that_the_terminal_cannot_show(tmp_path: Path, clips: Path) -> None:
    (clips / "no").rename(clips / "нет")
    done = run(tmp_path, "data", "check", str(clips), PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0 and "\\u043d" in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="no head")
def test_a_closed_pipe_is_no_fault(tmp_path: Path) -> None:
    command = f"{sys.executable} -m tmlcd_core data list | true"
    done = subprocess.run(["bash", "-c", command], cwd=REPOSITORY, capture_output=True, text=True)
    assert done.stderr == ""


@pytest.mark.skipif(sys.platform == "win32", reason="no bash")
def test_without_a_standard_output_there_is_no_fault() -> None:
    command = f"{sys.executable} -m tmlcd_core data list >&-"
    done = subprocess.run(["bash", "-c", command], cwd=REPOSITORY, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_error_does_not_stand_at_the_end_of_a_bar(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(options: object) -> None:
        terminal_bar(delay=0.0)(1, 3, "runs")
        raise KeyboardInterrupt

    monkeypatch.setattr("tmlcd_core.cli.data._list", stop)
    assert main(["data", "list"]) == 130
    bar, error = capsys.readouterr().err.strip().split("\n")
    assert "1/3 runs" in bar and error == "error: interrupted"


def test_speech(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("espeakng_loader")
    made = said(run(tmp_path, "data", "make", "speech", "--words", "yes", "hello", "--clips", "3", "--json"))
    assert made["rows"] == {"yes": 3, "hello": 3} and made["features"] == 715
    monkeypatch.setenv("TMLCD_CACHE", str(tmp_path))
    assert main(["data", "make", "speech", "--words", "<b>", "?!", "--json"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_importing_the_command_line_is_quick() -> None:
    """Nothing heavy is loaded for `--help`."""
    heavy = "{'torch', 'sklearn', 'librosa', 'numba', 'river'}"
    code = f"import sys, tmlcd_core.cli.data\nprint({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True)
    assert done.stdout == "set()\n"
