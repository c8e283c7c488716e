"""Exported project: its files, refusals, and the output of its host program."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import sys
import wave
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tmlcd_core import (
    ActiveTinyKNN,
    CondensingInTime,
    ConfigError,
    ExportError,
    GeneralizedCusum,
    HybridTinyKNN,
    Tandem,
    TinyKNN,
)
from tmlcd_core.cli import main
from tmlcd_core.features import Extractor
from tmlcd_core.mcu import BOARDS, CANNOT_EXPORT, Board, board, export_firmware
from tmlcd_core.mcu.device import make
from tmlcd_core.mcu.keeping import SessionTakes

ROOT = Path(__file__).parents[2]
RATE = 4410
EXTRACTOR = Extractor(sample_rate=RATE, n_fft=128, hop=128)
WORDS = ("early", "late")


def tone(word: str, rng: np.random.Generator) -> np.ndarray:
    """One second of int16 sound: a burst of noise early, in the middle or late, on a quiet floor."""
    start = {"early": 0.05, "middle": 0.35, "late": 0.65}[word] + rng.uniform(0, 0.05)
    time = np.arange(RATE) / RATE
    sound = rng.normal(0, 0.2, RATE) * ((time > start) & (time < start + 0.3)) + rng.normal(0, 0.001, RATE)
    return np.round(sound * 32767).clip(-32768, 32767).astype(np.int16)


def features(clips: np.ndarray) -> np.ndarray:
    return EXTRACTOR.transform(clips.astype(np.float32) / 32768)


@pytest.fixture(scope="module")
def sound_model() -> HybridTinyKNN:
    rng = np.random.default_rng(0)
    words = [WORDS[i % 2] for i in range(20)]
    return HybridTinyKNN(max_size=50, condense=False).fit(features(np.stack([tone(w, rng) for w in words])), words)


def vector_model(d: int = 6, **settings: object) -> HybridTinyKNN:
    rng = np.random.default_rng(1)
    y = np.arange(60) % 3
    return HybridTinyKNN(**{"max_size": 40, **settings}).fit(rng.normal(size=(60, d)) + 2 * y[:, None], y)


# -- the zip -------------------------------------------------------------------------------------


def test_the_same_model_gives_the_same_bytes(sound_model):
    assert export_firmware(sound_model, EXTRACTOR).zip() == export_firmware(sound_model, EXTRACTOR).zip()
    first, second = vector_model(), vector_model()
    assert export_firmware(first).zip() == export_firmware(second).zip()


def test_the_zip_holds_what_it_needs_and_no_more(sound_model):
    def names(firmware):
        with zipfile.ZipFile(io.BytesIO(firmware.zip())) as archive:
            assert archive.testzip() is None
            return {name.removeprefix("tmlcd-firmware/") for name in archive.namelist()}

    sound = names(export_firmware(sound_model, EXTRACTOR))
    vectors = names(export_firmware(TinyKNN().fit([[0.0], [1.0]], [0, 1])))
    assert {"spectrogram.c", "stem.c", "audio.h", "cusum.c"} <= sound
    assert not {"spectrogram.c", "stem.c", "audio.h", "cusum.c"} & vectors
    for b in BOARDS:
        assert {f"boards/{b}.ld", f"boards/{b}.mk"} <= sound & vectors
    firmware = export_firmware(sound_model, EXTRACTOR)
    assert {"LICENSE", "NOTICE", "STEM.md"} <= sound
    assert {"LICENSE", "NOTICE", "stream.bin", "expected.txt"} <= vectors  # without clips sound has no stream
    sources = {name for name in sound if name.endswith(".c")}
    named = set(re.findall(r"[a-z_]+\.c\b", firmware.files["Makefile"]))
    assert named == sources  # every source is compiled, and every compiled source is there
    included = set().union(*(re.findall(r'#include "(.+)"', text) for text in firmware.files.values()))
    assert included == {Path(name).name for name in sound if name.endswith(".h")}


def test_nothing_is_left_to_fill_in(sound_model):
    for model, extractor in ((sound_model, EXTRACTOR), (vector_model(), None)):
        for name, text in export_firmware(model, extractor).files.items():
            assert not re.search(r"@[A-Z_]+@", text), name
            assert not re.search(r"TODO|/home/|/tmp/", text), name


def test_licence_and_notice_are_the_repositorys(sound_model):
    files = export_firmware(sound_model, EXTRACTOR).contents()
    for name, path in {"LICENSE": ROOT, "NOTICE": ROOT, "STEM.md": ROOT / "tmlcd_core/features"}.items():
        assert files[name] == (path / name).read_bytes()
        assert f"`{name}`" in files["README.md"].decode()


def test_the_readme_states_the_budget_and_the_classes(sound_model):
    firmware = export_firmware(sound_model, EXTRACTOR, board="stm32f401")
    readme = firmware.files["README.md"]
    assert "early, late" in readme
    assert f"{firmware.budget.needed:,}" in readme
    for row in firmware.budget.rows:
        assert f"| {row.name} | {row.size} | {row.bytes:,} |" in readme


def test_what_the_reader_must_know_before_flashing_is_said(sound_model):
    """Memory of the part, how to make the file for a Nucleo's drive, and where functions may be called."""
    files = export_firmware(sound_model, EXTRACTOR, board="stm32f401").files
    assert "98,304 bytes of RAM and 524,288 bytes of flash" in files["README.md"]
    assert "make firmware-stm32f401.bin" in files["README.md"]
    assert all("from an interrupt" in files[name] for name in ("README.md", "tmlcd.h"))


def test_the_heap_and_libm_are_not_used():
    sound = HybridTinyKNN(max_size=9).fit(np.eye(2, 153), [0, 1])
    everything = export_firmware(vector_model(weights="distance")).files | export_firmware(sound, EXTRACTOR).files
    for name, text in everything.items():
        if name.endswith((".c", ".h")) and name != "host.c":
            code = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
            assert not re.search(r"\b(malloc|calloc|realloc|free|alloca)\b|<math\.h>|<stdlib\.h>|<string\.h>", code), (
                name
            )


# -- the type of T -------------------------------------------------------------------------------


def test_auto_takes_the_most_precise_type_that_fits(sound_model):
    rng = np.random.default_rng(2)
    full = Extractor()
    model = HybridTinyKNN(max_size=50).fit(rng.random((10, full.n_features)), np.arange(10) % 2)
    chosen = {name: export_firmware(model, full, board=name).configuration.store for name in ("stm32h743", "stm32f401")}
    assert chosen == {"stm32h743": "float32", "stm32f401": "uint8"}
    assert export_firmware(sound_model, EXTRACTOR).configuration.store == "float32"


@pytest.mark.parametrize("store", ["int16", "uint8"])
def test_stored_values_are_within_half_a_step(store):
    model = vector_model()
    firmware = export_firmware(model, store=store)
    back = firmware.quantise(model.samples_).astype(np.float64) / firmware.scale + firmware.offset
    assert np.abs(back - model.samples_).max() <= 0.501 / firmware.scale
    low, high = {"int16": (-32767, 32767), "uint8": (0, 255)}[store]
    far = firmware.quantise(np.array([[-1e30, 1e30]], np.float32))
    assert far.tolist() == [[low, high]]
    stored = re.search(r"tml_initial_x.*?= \{(.*?)\};", firmware.files["model.c"], re.DOTALL).group(1)
    numbers = np.array(re.findall(r"-?\d+", stored), dtype=int).reshape(len(model), -1)
    assert np.array_equal(numbers, firmware.quantise(model.samples_))


def test_a_model_of_one_repeated_value_can_be_quantised():
    model = TinyKNN().fit(np.full((4, 3), 7.0), [0, 0, 1, 1])
    firmware = export_firmware(model, store="uint8")
    assert np.isfinite([firmware.offset, firmware.scale]).all()
    assert len(np.unique(firmware.quantise(model.samples_))) == 1


# -- what cannot be exported ---------------------------------------------------------------------


def _river_like():
    class Never:
        statistic, change_time = 0.0, 0

        def update(self, correct, time):
            return False

    return Never()


def _many_classes(n: int, **settings: object) -> TinyKNN:
    return TinyKNN(**settings).fit(np.arange(float(n))[:, None], np.arange(n))


def _far_apart():
    return TinyKNN().fit(np.array([[-3e38], [3e38]], np.float32), [0, 1])


REFUSED = {
    "kind": lambda: export_firmware(object()),
    "not fitted": lambda: export_firmware(HybridTinyKNN()),
    "named": lambda: export_firmware(Tandem().fit(np.eye(9), np.arange(9) % 2), session=SessionTakes(np.eye(9))),
    "keep": lambda: export_firmware(_many_classes(2), session=SessionTakes(keep=1)),
    "unbounded": lambda: export_firmware(CondensingInTime().fit([[0.0], [1.0]], [0, 1])),
    "too large": lambda: export_firmware(
        CondensingInTime(condense=False).fit(np.arange(9.0)[:, None], np.arange(9) % 2), max_size=8
    ),
    "detector": lambda: export_firmware(vector_model(detector=_river_like())),
    "grid": lambda: export_firmware(vector_model(detector=GeneralizedCusum(spacing=0.02))),
    "probability": lambda: export_firmware(vector_model(add_probability="adaptive")),
    "count": lambda: export_firmware(vector_model(warmup=65_536)),
    "one class": lambda: export_firmware(_many_classes(1)),
    "classes": lambda: export_firmware(_many_classes(256)),
    "votes": lambda: export_firmware(_many_classes(128, weights="distance")),
    "n_fft": lambda: export_firmware(vector_model(), Extractor(n_fft=500)),
    "extractor": lambda: export_firmware(vector_model(), Extractor()),
    "overflow": lambda: export_firmware(
        TinyKNN().fit(np.zeros((2, 66_052), np.float32), [0, 1]), board="stm32h743", store="uint8"
    ),
    "storage": lambda: export_firmware(vector_model(storage="uint8"), store="float32"),
    "range": lambda: export_firmware(_far_apart(), store="uint8"),
    "fused": lambda: export_firmware(vector_model(), fused=True),
    "memory": lambda: export_firmware(vector_model(d=3136, max_size=50), store="float32"),
    "flash": lambda: export_firmware(
        vector_model(), board=board("tiny", core="cortex-m4", mhz=48, ram=65536, flash=9000)
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", CANNOT_EXPORT)
def test_what_cannot_be_exported_is_said_in_one_sentence(what):
    with pytest.raises(ExportError) as caught:
        REFUSED[what]()
    pattern = re.escape(CANNOT_EXPORT[what])
    pattern = re.sub(r"\\\{[^}]*\\\}", ".+", pattern)
    assert re.fullmatch(pattern, str(caught.value))


def test_one_class_may_be_exported_with_those_that_may_turn_up():
    assert export_firmware(_many_classes(1), classes=[1]).classes == ("0", "1")


def test_the_refusal_for_memory_names_the_size_that_fits():
    model = vector_model(d=700, max_size=200)
    with pytest.raises(ExportError, match=r"\|T\| = (\d+) would fit") as caught:
        export_firmware(model, store="float32")
    fits = int(re.search(r"= (\d+) would", str(caught.value)).group(1))
    rng = np.random.default_rng(0)
    smaller = HybridTinyKNN(max_size=fits).fit(rng.normal(size=(10, 700)), np.arange(10) % 2)
    assert export_firmware(smaller, store="float32").budget.fits(BOARDS["stm32f401"])


@pytest.mark.parametrize(
    "bad",
    [
        {"board": "stm8"},
        {"layout": "huge"},
        {"store": "int4"},
        {"max_size": 0},
        {"max_size": 10**9},
        {"max_size": 7},
        {"classes": ["a word"]},
        {"classes": "a word"},
        {"classes": [1.5]},
        {"classes": [None]},
        {"board": None},
    ],
)
def test_bad_settings_are_refused(bad):
    with pytest.raises(ConfigError):
        export_firmware(vector_model(), **bad)


def test_an_unbounded_model_is_exported_with_a_max_size():
    model = CondensingInTime().fit([[0.0], [1.0]], [0, 1])
    assert export_firmware(model, max_size=30).configuration.samples == 30


def test_active_reserves_its_window_twice():
    model = ActiveTinyKNN(window=30).fit([[0.0], [1.0]], [0, 1])
    rows = {r.name: r.bytes for r in export_firmware(model, store="float32").budget.rows}
    assert rows["Training set T"] == rows["History window W"]


def test_a_board_of_ones_own_is_among_the_files():
    mine = Board("my-board", "cortex-m4", 100, 128 * 1024, 256 * 1024)
    files = export_firmware(vector_model(), board=mine).files
    assert "LENGTH = 131072" in files["boards/my-board.ld"]
    assert "BOARD ?= my-board" in files["Makefile"]


def test_an_m7_of_ones_own_needs_no_double_precision():
    """An STM32F746 has no double precision and would stop; the paper's two M7 have it."""
    mine = board("stm32f746", core="cortex-m7", mhz=216, ram=320 * 1024, flash=1024 * 1024)
    files = export_firmware(vector_model(), board=mine).files
    units = {name: files[f"boards/{name}.mk"].split("-mfpu=")[1].split()[0] for name in ("stm32f746", "stm32f767")}
    assert units == {"stm32f746": "fpv5-sp-d16", "stm32f767": "fpv5-d16"}


# -- the host program ----------------------------------------------------------------------------


def write_wav(path, clip, rate=RATE, channels=1, width=2):
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(np.ascontiguousarray(clip).tobytes())
    return path


@pytest.fixture(scope="module")
def host(sound_model, tmp_path_factory):
    folder = export_firmware(sound_model, EXTRACTOR, classes=["middle"]).write(tmp_path_factory.mktemp("host"))
    make(folder, "host")

    def run(*arguments):
        return subprocess.run(
            [str(folder / "tmlcd-host"), *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=folder,
            check=False,
        )

    return run


def test_a_wav_is_classified_as_python_does(host, sound_model, tmp_path):
    rng = np.random.default_rng(3)
    for i, word in enumerate([*WORDS, *WORDS]):
        clip = tone(word, rng)
        done = host(write_wav(tmp_path / f"{i}.wav", clip))
        expected = sound_model.predict(features(clip[None]))[0]
        assert expected == word
        assert done.stdout == f"{tmp_path / f'{i}.wav'}: 1 {expected} {len(sound_model)}\n"


def test_a_short_clip_is_repeated_and_a_stereo_one_is_its_first_channel(host, sound_model, tmp_path):
    rng = np.random.default_rng(4)
    clip = tone("late", rng)
    for start, stop in ((0, 3000), (2500, RATE), (3000, 3001)):
        short = host(write_wav(tmp_path / "short.wav", clip[start:stop]))
        assert f" {sound_model.predict(features(clip[None, start:stop]))[0]} " in short.stdout
    stereo = np.stack([clip, tone("early", rng)], axis=1)
    assert " late " in host(write_wav(tmp_path / "stereo.wav", stereo, channels=2)).stdout


def test_labels_teach_the_host_program(host, sound_model, tmp_path):
    rng = np.random.default_rng(5)
    paths = [write_wav(tmp_path / f"{i}.wav", tone("middle", rng)) for i in range(12)]
    lines = host(*[f"{p}=middle" for p in paths]).stdout.splitlines()
    assert lines[0].split()[2] != "middle"
    assert lines[-1].split()[2] == "middle"
    assert int(lines[-1].split()[3]) > len(sound_model)


def test_bad_files_are_refused_with_a_reason(host, tmp_path):
    clip = tone("early", np.random.default_rng(6))
    junk = tmp_path / "junk.wav"
    junk.write_bytes(b"hello")
    cases = {
        "not a wav": [junk],
        "22050 Hz": [write_wav(tmp_path / "rate.wav", clip, rate=22050)],
        "16-bit": [write_wav(tmp_path / "bits.wav", clip.astype(np.uint8), width=1)],
        "no sound samples": [write_wav(tmp_path / "empty.wav", clip[:0])],
        "cannot be opened": [tmp_path / "nowhere.wav"],
        "not a class": [f"{junk}=nobody"],
        "give files": [],
    }
    for reason, arguments in cases.items():
        done = host(*arguments)
        assert done.returncode == 2
        assert reason in done.stderr


def test_names_survive_the_c_string(tmp_path):
    names = ['say "hi"', "back\\slash", "grüß", "what??/", "new\nline"]
    model = TinyKNN(k=1).fit(np.arange(5.0)[:, None], names)
    folder = export_firmware(model).write(tmp_path / "c")
    make(folder, "host")
    for value, name in zip(range(5), names, strict=True):
        vector = tmp_path / "vector.txt"
        vector.write_text(f"{value}\n")
        done = subprocess.run([str(folder / "tmlcd-host"), str(vector)], capture_output=True, check=True)
        assert done.stdout.decode() == f"{vector}: 1 {name} 5\n"


def test_a_threshold_that_is_never_reached_compiles(tmp_path):
    make(export_firmware(vector_model(threshold=float("inf"))).write(tmp_path), "host")


def test_number_labels_keep_their_order(tmp_path):
    """2 comes before 10, though its digits do not; a tie goes to the smaller."""
    model = TinyKNN(k=2).fit([[0.0], [2.0]], [10, 2])
    folder = export_firmware(model).write(tmp_path / "c")
    make(folder, "host")
    vector = tmp_path / "vector.txt"
    vector.write_text("1.0")
    done = subprocess.run([str(folder / "tmlcd-host"), str(vector)], capture_output=True, text=True, check=True)
    assert done.stdout.split()[2] == str(model.predict([[1.0]])[0]) == "2"


def test_codes_of_truth_values_when_a_number_may_turn_up():
    files = export_firmware(TinyKNN().fit([[0.0], [1.0]], [True, False]), classes=[2]).files
    assert '"0",\n    "1",\n    "2"' in files["model.c"]
    assert "tml_initial_label[TML_INITIAL] = {\n1, 0}" in files["model.c"]


def test_a_name_of_two_words_is_quoted_in_the_readme():
    readme = export_firmware(TinyKNN().fit([[0.0], [1.0]], ["turn left", "up"])).files["README.md"]
    assert "./tmlcd-host vector.txt='turn left' " in readme


@pytest.mark.skipif(not shutil.which("c++"), reason="there is no C++ compiler")
def test_a_program_in_c_plus_plus_can_use_it(tmp_path):
    export_firmware(vector_model()).write(tmp_path)
    program = "int main() { float x[TML_FEATURES] = {}; tml_reset(); return tml_observe(x, 0).time != 1; }"
    (tmp_path / "main.cpp").write_text(f'#include "tmlcd.h"\n{program}\n')
    core = ("knn", "learner", "cusum", "mathfn", "model")
    subprocess.run(["cc", "-std=c99", "-c", *(f"{name}.c" for name in core)], cwd=tmp_path, check=True)
    subprocess.run(["c++", "main.cpp", *(f"{name}.o" for name in core), "-o", "main"], cwd=tmp_path, check=True)
    subprocess.run([str(tmp_path / "main")], check=True)


def test_configurations_of_sound_compile_without_a_warning(sound_model, tmp_path):
    """`make` here makes an error of a warning: every layout, type, learner and vote."""
    X, y = sound_model.samples_, sound_model.labels_
    learners = [
        HybridTinyKNN(max_size=50, weights="distance"),
        ActiveTinyKNN(window=60),
        CondensingInTime(max_size=50, k=3),
        TinyKNN(),
        HybridTinyKNN(max_size=50, detector=GeneralizedCusum(likelihood="binomial")),
    ]
    stores = ["float32", "int16", "uint8"]
    for i, (learner, layout) in enumerate(
        zip(learners, ["paper", "compact", "streamed", "compact", "streamed"], strict=True)
    ):
        settings = {"layout": layout, "store": stores[i % 3], "fused": False if i == 1 else None}
        firmware = export_firmware(learner.fit(X, y), EXTRACTOR, board="stm32h743", **settings)
        make(firmware.write(tmp_path / str(i)), "host")


def test_more_filters_make_more_features(tmp_path):
    extractor = replace(EXTRACTOR, filters=(51, 60, 45))
    rng = np.random.default_rng(7)
    X = extractor.transform(np.stack([tone(w, rng) for w in WORDS]).astype(np.float32) / 32768)
    firmware = export_firmware(TinyKNN().fit(X, WORDS), extractor)
    assert firmware.configuration.features == 3 * 153
    assert firmware.fused  # three tables are 150 KB: less than half of the flash
    everything = replace(EXTRACTOR, filters=tuple(range(64)))
    X = everything.transform(np.stack([tone(w, rng) for w in WORDS]).astype(np.float32) / 32768)
    assert not export_firmware(TinyKNN().fit(X, WORDS), everything, board="stm32h743").fused


# -- the check ---------------------------------------------------------------------------------------


def run_make(folder, *arguments):
    return subprocess.run(["make", "-C", str(folder), *arguments], capture_output=True, text=True, check=False)


def clips_to_check(each: int = 3) -> tuple[np.ndarray, list[str]]:
    rng = np.random.default_rng(11)
    words = [word for word in (*WORDS, "middle") for _ in range(each)]
    return np.stack([tone(word, rng) for word in words]), words


def codes_in(stream: bytes, sample_bytes: int) -> list[int]:
    return np.frombuffer(stream, np.uint8).reshape(-1, 4 + sample_bytes)[:, :4].copy().view("<i4").ravel().tolist()


def test_make_check_compares_the_host_program_with_python(sound_model, tmp_path):
    firmware = export_firmware(sound_model, EXTRACTOR, classes=["middle"], check=clips_to_check())
    folder = firmware.write(tmp_path / "c")
    done = run_make(folder, "check")
    assert done.returncode == 0, done.stderr
    assert "All lines are as expected." in done.stdout
    lines = firmware.check.expected.decode().splitlines()
    assert len(lines) == firmware.check.samples == 9
    codes = codes_in(firmware.check.stream, 2 * RATE)
    assert codes[0] == -1 and set(codes[1:-1]) == {0, 1, 2}
    assert int(lines[-1].split()[2]) > len(sound_model), "something is learnt"
    # Whoever changes what the C code does is told.
    source = (folder / "learner.c").read_text()
    for old, new in (
        ("step->prediction != label &&", "0 &&"),
        ("step.prediction = tml_vote", "step.prediction = 0 * tml_vote"),
    ):
        assert old in source
        (folder / "learner.c").write_text(source.replace(old, new))
        broken = run_make(folder, "check")
        assert broken.returncode == 2
        assert re.search(r"^[<>] \d+ ", broken.stdout, re.MULTILINE)


def test_clips_as_numbers_and_as_samples_are_the_same_check(sound_model):
    clips, words = clips_to_check(1)
    given = {"classes": ["middle"]}
    as_samples = export_firmware(sound_model, EXTRACTOR, check=(clips, words), **given).check
    assert (
        export_firmware(sound_model, EXTRACTOR, check=(clips / np.float32(32768), words), **given).check == as_samples
    )


def test_the_stream_is_small_and_has_all_classes():
    full = Extractor()
    rng = np.random.default_rng(0)
    for n in (2, 4, 10):
        y = np.repeat(np.arange(n), 9)
        model = HybridTinyKNN(max_size=50).fit(rng.random((len(y), full.n_features)), y)
        clips = rng.integers(-999, 999, (len(y), 22_050)).astype(np.int16)
        check = export_firmware(model, full, check=(clips, y)).check
        assert len(check.stream) <= max(300_000, n * 44_104)
        records = [check.stream[i + 4 : i + 44_104] for i in range(0, len(check.stream), 44_104)]
        told = {clip.tobytes(): label for clip, label in zip(clips, y.tolist(), strict=True)}
        assert {told[record] for record in records} == set(range(n))


@pytest.mark.parametrize(
    "model",
    [
        HybridTinyKNN(max_size=40),
        HybridTinyKNN(max_size=40, threshold=2.0, batch=5, warmup=10, weights="distance"),
        ActiveTinyKNN(window=40, threshold=2.0, batch=5, warmup=10),
        CondensingInTime(max_size=40, k=3),
        TinyKNN(condense=True),
    ],
    ids=lambda model: f"{type(model).__name__} {model.weights}",
)
@pytest.mark.parametrize("store", ["float32", "uint8"])
def test_every_model_of_vectors_brings_its_check(model, store, tmp_path):
    rng = np.random.default_rng(1)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 6)) + y[:, None]
    labels = np.concatenate([y, y, (y + 1) % 3, (y + 1) % 3])  # half-way the classes change places
    firmware = export_firmware(model.fit(X, y), store=store, classes=[7], check=(np.tile(X, (4, 1)), labels))
    assert run_make(firmware.write(tmp_path), "check").returncode == 0
    if "threshold" in model.get_params() and model.threshold < 5:
        assert b" alarm " in firmware.check.expected
    assert export_firmware(model, store=store).check.samples == len(model)  # by default those of T


@pytest.mark.parametrize(
    ("check", "named"),
    [
        ((np.zeros((2, 5), np.int16), ["early", "late"]), r"\(2, 5\)"),
        ((np.zeros((2, RATE), np.int16), ["early"]), r"\(1,\)"),
        ((np.zeros((0, RATE), np.int16), []), r"\(0, 4410\)"),
        ((np.zeros((1, RATE), np.int16), ["stop"]), "'stop'"),
    ],
)
def test_samples_that_make_no_check_are_refused(check, named, sound_model):
    with pytest.raises(ConfigError, match=named):
        export_firmware(sound_model, EXTRACTOR, check=check)


def test_without_a_stream_make_says_so_before_it_needs_a_compiler(sound_model, tmp_path):
    folder = export_firmware(sound_model, EXTRACTOR).write(tmp_path)
    for target in ("run", "check"):
        done = run_make(folder, target, "CC=false", "DEVICE_CC=false")
        assert done.returncode == 2
        assert "There is no stream.bin" in done.stderr
    assert "create `stream.bin`" in (folder / "README.md").read_text()


def test_a_long_name_is_cut_alike(tmp_path):
    names = ["x" * 200, "é" * 50 + "y"]
    firmware = export_firmware(TinyKNN(k=1).fit([[0.0], [1.0]], names))
    assert run_make(firmware.write(tmp_path), "check").returncode == 0
    assert len(firmware.check.expected.splitlines()[0]) < 128


# -- samples per class -------------------------------------------------------------------------------


def test_a_forgotten_class_is_reported_and_not_refused():
    """After an alarm T holds two classes of three; the third keeps its code, for it may come back."""
    rng = np.random.default_rng(3)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 4)) + 3 * y[:, None]
    model = HybridTinyKNN(max_size=40, threshold=2.0, batch=10, warmup=20).fit(X, y)
    stream = np.arange(300) % 2
    where = np.where(np.arange(300) < 100, stream, 1 - stream)
    model.run(rng.normal(size=(300, 4)) + 3 * where[:, None], stream)
    assert set(model.labels_) == {0, 1}
    firmware = export_firmware(model)
    assert firmware.samples_per_class == {
        "0": int((model.labels_ == 0).sum()),
        "1": int((model.labels_ == 1).sum()),
        "2": 0,
    }
    for text in (firmware.in_words(), firmware.files["README.md"]):
        assert "no “2” (forgotten" in text


# -- a full disk -------------------------------------------------------------------------------------

FULL_DISK = """
import resource, sys
from tmlcd_core.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))  # the system refuses the byte after these
sys.exit(main(sys.argv[1:]))
"""


def tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("out", ["deep/project", "project.zip"])
def test_a_disk_that_is_full_leaves_no_half_of_a_project(out, folder_of_clips, tmp_path):
    place = tmp_path / "place"
    place.mkdir()
    arguments = ["export", "--data", str(folder_of_clips), "--classes", *WORDS, "--sample-rate", "4410",
                 "--train", "6", "--out", str(place / out)]  # fmt: skip

    def on_a_full_disk():
        return subprocess.run(
            [sys.executable, "-c", FULL_DISK, *arguments], capture_output=True, text=True, check=False, cwd=ROOT
        )

    done = on_a_full_disk()
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"error: .*cannot be written \(File too large\).*", done.stderr.splitlines()[-1])
    assert tree(place) == {} and not (place / out).exists()
    assert main(arguments) == 0
    before = tree(place)
    assert on_a_full_disk().returncode == 2
    assert tree(place) == before, "the project of before is whole"


def test_a_project_is_written_over_an_older_one(sound_model, tmp_path):
    first = export_firmware(vector_model()).write(tmp_path / "c")
    (first / "mine.txt").write_text("stays")
    firmware = export_firmware(sound_model, EXTRACTOR)
    firmware.write(first)
    found = tree(first)
    assert firmware.contents().items() <= found.items()
    assert found["mine.txt"] == b"stays"
    assert not [name for name in found if "tmlcd-" in name]


# -- the command -------------------------------------------------------------------------------------


@pytest.fixture
def folder_of_clips(tmp_path, monkeypatch):
    monkeypatch.setenv("TMLCD_CACHE", str(tmp_path / "cache"))
    rng = np.random.default_rng(8)
    for word in WORDS:
        (tmp_path / "clips" / word).mkdir(parents=True)
        for i in range(6):
            write_wav(tmp_path / "clips" / word / f"{i}.wav", tone(word, rng))
    return tmp_path / "clips"


def test_the_command_writes_a_folder_or_a_zip(folder_of_clips, tmp_path, capsys):
    common = [
        "export",
        "--data",
        str(folder_of_clips),
        "--classes",
        *WORDS,
        "--sample-rate",
        "4410",
        "--train",
        "6",
        "--json",
    ]
    assert main([*common, "--out", str(tmp_path / "project"), "--board", "stm32f401"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["classes"] == ["early", "late"]
    assert list(found["samples_per_class"]) == ["early", "late"]
    assert sum(found["samples_per_class"].values()) == found["stored"]
    assert run_make(tmp_path / "project", "check").returncode == 0
    assert found["needed"] <= found["ram"] == 98_304
    make(tmp_path / "project", "host")
    assert main([*common, "--out", str(tmp_path / "project.zip"), "--later", "middle"]) == 0
    with zipfile.ZipFile(tmp_path / "project.zip") as archive:
        assert b"middle" in archive.read("tmlcd-firmware/model.c")
    assert json.loads(capsys.readouterr().out)["samples_per_class"]["middle"] == 0
    assert main([*common[:-1], "--out", str(tmp_path / "project")]) == 0
    counts = {word: found["samples_per_class"][word] for word in WORDS}
    assert "T holds " + ", ".join(f"{n} “{word}”" for word, n in counts.items()) in capsys.readouterr().out
    assert not list(tmp_path.glob(".project*"))


@pytest.mark.parametrize(
    "arguments",
    [
        "--board stm8",
        "--train 0",
        "--layout x",
        "--store x",
        "--max-size 5000 --store float32",
        "--data digits --classes 0 1",
    ],
)
def test_the_command_refuses_in_one_line(arguments, folder_of_clips, tmp_path, capsys):
    base = ["export", "--out", str(tmp_path / "x"), "--data", str(folder_of_clips), "--classes", *WORDS, "--train", "6"]
    assert main([*base, "--sample-rate", "4410", *arguments.split()]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines()[-1].startswith("error: ")
    assert not (tmp_path / "x").exists()
