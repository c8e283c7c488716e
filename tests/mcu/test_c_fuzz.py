"""Exported C code under the address and undefined-behaviour sanitizers, with random and damaged input."""

from __future__ import annotations

import shutil
import subprocess
import wave
from pathlib import Path

import numpy as np
import pytest

from tmlcd_core import ActiveTinyKNN, CondensingInTime, HybridTinyKNN, Tandem, TinyKNN
from tmlcd_core.features import Extractor
from tmlcd_core.mcu import Board, export_firmware
from tmlcd_core.mcu.device import _makefile_list
from tmlcd_core.mcu.keeping import SessionTakes

DRIVER = Path(__file__).parent / "c_fuzz.c"
LINK_DRIVER = Path(__file__).parent / "c_fuzz_link.c"
FLAGS = ["-std=c99", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off",
         "-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize-recover=all"]  # fmt: skip
SMALL = Extractor(sample_rate=1000, n_fft=64, hop=64)
ROOMY = Board("roomy", "cortex-m7", 480, 1 << 22, 1 << 22)


def _works() -> bool:
    """True if a compiler here can link its sanitizers."""
    if not shutil.which("gcc"):
        return False
    test = ["gcc", "-fsanitize=address,undefined", "-x", "c", "-", "-o", "/dev/null"]
    return subprocess.run(test, input=b"int main(void) { return 0; }", capture_output=True, check=False).returncode == 0


pytestmark = pytest.mark.skipif(not _works(), reason="gcc with address and undefined sanitizers is not installed")


def build(folder: Path, *, driver: Path | None) -> Path:
    """A fuzz driver, which includes the file that it looks into, or the host program; with sanitizers."""
    core = _makefile_list(folder, "CORE")
    if driver is None:
        files = [*core, "stream.c", "report.c", "host.c"]
    else:
        shutil.copy(driver, folder)
        files = [*(f for f in core if f != "learner.c" or driver != DRIVER), driver.name]
    program = "host" if driver is None else driver.stem
    subprocess.run(["gcc", *FLAGS, *files, "-o", program], cwd=folder, check=True)
    return folder / program


def run(program: Path, *arguments: object) -> subprocess.CompletedProcess:
    return subprocess.run(
        [str(program), *map(str, arguments)], capture_output=True, text=True, cwd=program.parent, check=False
    )


def model(kind: str, d: int, **settings):
    rng = np.random.default_rng(0)
    y = np.arange(24) % 2
    kinds = {
        "hybrid": lambda: HybridTinyKNN(max_size=24, threshold=6, batch=16, warmup=32, **settings),
        "active": lambda: ActiveTinyKNN(window=30, threshold=6, batch=16, warmup=32, **settings),
        "cit": lambda: CondensingInTime(max_size=24, **settings),
        "tiny": lambda: TinyKNN(**settings),
    }
    return kinds[kind]().fit(rng.random((24, d)) + y[:, None], y)


CASES = {
    "hybrid-float32": (lambda: export_firmware(model("hybrid", 3), store="float32"), 20_000),
    "hybrid-distance": (
        lambda: export_firmware(model("hybrid", 3, weights="distance"), store="float32"),
        20_000,
    ),
    "active-kept-named": (
        lambda: export_firmware(
            model("active", 3),
            store="uint8",
            limit=0.4,
            session=SessionTakes(np.random.default_rng(1).random((30, 3)), keep=5_000),
        ),
        20_000,
    ),
    "hybrid-int16-k99": (lambda: export_firmware(model("hybrid", 3, k=99), store="int16"), 20_000),
    "hybrid-uint8-classes": (
        lambda: export_firmware(model("hybrid", 1), store="uint8", classes=range(255)),
        5_000,
    ),
    "active-uint8": (lambda: export_firmware(model("active", 3), store="uint8"), 20_000),
    "active-plain": (lambda: export_firmware(model("active", 3, condense=False), store="float32"), 20_000),
    "cit-int16": (lambda: export_firmware(model("cit", 3, weights="distance"), store="int16"), 20_000),
    "tiny": (lambda: export_firmware(model("tiny", 3)), 2_000),
    "sound-streamed": (lambda: export_firmware(model("hybrid", SMALL.n_features), SMALL, store="uint8"), 300),
    "sound-paper": (
        lambda: export_firmware(model("hybrid", SMALL.n_features), SMALL, board=ROOMY, layout="paper"),
        300,
    ),
    "sound-compact": (
        lambda: export_firmware(model("cit", SMALL.n_features), SMALL, layout="compact", store="int16", fused=False),
        300,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_whatever_comes_in(name, tmp_path):
    """Strange numbers, NaN, labels out of range, a full T, k above |T|, odd clips, a wrapped clock."""
    make, samples = CASES[name]
    program = build(make().write(tmp_path), driver=DRIVER)
    for seed in (1, 2):
        done = run(program, seed, samples)
        assert done.returncode == 0, done.stderr
        _, _, alarms, refused = map(int, done.stdout.split())
        assert refused > 0 or name.startswith("sound")
        if name.startswith(("hybrid-float32", "active")):
            assert alarms > 0


def test_a_million_samples(tmp_path):
    """T stays bounded, the clock advances, and the CUSUM test still works."""
    program = build(export_firmware(model("hybrid", 2), store="uint8").write(tmp_path), driver=DRIVER)
    done = run(program, 3, 1_000_000)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[2]) > 100


def test_damaged_wav_files(tmp_path):
    """Cut, flipped and grown wav files: an answer or a reason, never a crash."""
    program = build(export_firmware(model("tiny", SMALL.n_features), SMALL).write(tmp_path / "c"), driver=None)
    good = tmp_path / "good.wav"
    with wave.open(str(good), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(1000)
        file.writeframes(np.arange(1000, dtype=np.int16).tobytes())
    data = good.read_bytes()
    assert run(program, good).returncode == 0
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(150):
        damaged = bytearray(data[: rng.integers(0, len(data))] if rng.random() < 0.3 else data)
        for _ in range(rng.integers(0, 4)):
            if damaged:
                damaged[rng.integers(0, min(60, len(damaged)))] = rng.integers(0, 256)
        path = tmp_path / "bad.wav"
        path.write_bytes(bytes(damaged))
        done = run(program, path)
        assert done.returncode in (0, 2), done.stderr
        assert "Sanitizer" not in done.stderr
        assert "runtime error" not in done.stderr
        seen.add(done.returncode)
    assert seen == {0, 2}


def test_damaged_streams(tmp_path):
    """The device's input may end anywhere."""
    program = build(export_firmware(model("hybrid", 3)).write(tmp_path), driver=None)
    data = np.random.default_rng(0).integers(0, 256, 1600, dtype=np.uint8).tobytes()
    for end in (0, 1, 3, 4, 15, 16, 17, 1599, 1600):
        (tmp_path / "stream.bin").write_bytes(data[:end])
        done = run(program, "--stream", "stream.bin")
        assert done.returncode == 0, done.stderr
        assert len(done.stdout.splitlines()) == end // 16


def test_the_sanitizers_do_catch(tmp_path):
    """A write behind an array, put in on purpose, is reported."""
    folder = export_firmware(model("hybrid", 3)).write(tmp_path)
    source = folder / "knn.c"
    source.write_text(source.read_text().replace("nearest[rank] =", "nearest[rank + TML_CAPACITY] ="))
    done = run(build(folder, driver=DRIVER), 1, 20_000)
    assert done.returncode != 0
    assert "runtime error" in done.stderr or "AddressSanitizer" in done.stderr


# -- the serial line -------------------------------------------------------------------------------


def fuzz_link(firmware, folder, seed: int, frames: int) -> tuple[int, int]:
    done = run(build(firmware.write(folder), driver=LINK_DRIVER), seed, frames)
    assert done.returncode == 0, done.stderr
    answers, observed, _ = map(int, done.stdout.split())
    return answers, observed


LINK_CASES = {
    "hybrid": lambda: export_firmware(model("hybrid", 3), store="uint8"),
    "active": lambda: export_firmware(model("active", 70), store="float32"),
    "tandem": lambda: export_firmware(
        Tandem(max_bytes=2_000, threshold=8, batch=20, warmup=40).fit(np.eye(8, 5, dtype=np.float32), np.arange(8) % 2)
    ),
    "sound": lambda: export_firmware(model("hybrid", SMALL.n_features), SMALL, store="uint8"),
}


@pytest.mark.parametrize("name", LINK_CASES)
def test_frames_cut_flipped_and_noise(name, tmp_path):
    """Whatever comes over the line, the board answers with frames, T stays in its bounds, and a hello is answered."""
    answers, observed = fuzz_link(LINK_CASES[name](), tmp_path, 1, 4_000)
    assert answers > 2_000 and observed > 500


@pytest.mark.slow
@pytest.mark.timeout(3_000)  # three minutes each on a quiet machine
@pytest.mark.parametrize("name", ["hybrid", "tandem"])
def test_a_million_samples_over_the_serial_line(name, tmp_path):
    answers, observed = fuzz_link(LINK_CASES[name](), tmp_path, 2, 3_200_000)
    assert observed > 1_000_000 and answers > observed
