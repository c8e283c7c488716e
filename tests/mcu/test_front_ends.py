"""Front ends in C: words out of a stream of sound, in blocks of any size, against their Python twins."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import pytest

from tests.support.hummed_words import TUNES, hum
from tmlcd_core import HybridTinyKNN
from tmlcd_core.features import Extractor
from tmlcd_core.features.voice import VOICE_EXTRACTORS, Take, open_take, speech_network
from tmlcd_core.features.voice.words import find_words, measure
from tmlcd_core.live.unknown import LARGEST, distances_between
from tmlcd_core.mcu import (
    BOARDS,
    Firmware,
    FirmwareConfiguration,
    budget,
    export_firmware,
    flash_bytes,
    largest_store,
)
from tmlcd_core.mcu.budget import STACK
from tmlcd_core.mcu.check import make_word_check
from tmlcd_core.mcu.device import EmulatedBoard, HostLibrary, build_firmware, make
from tmlcd_core.mcu.expected_output import twin_of
from tmlcd_core.mcu.front_ends import FRONT_ENDS, HeardWord, lay_out
from tmlcd_core.mcu.listening import find_spans, frames_of
from tmlcd_core.mcu.sound import as_int16
from tmlcd_core.mcu.speech_int8 import (
    load_int8_network,
    network_input,
    run_layers,
    slaney_filters,
    speech_features,
)
from tmlcd_core.mcu.unknown import is_unknown

ROOT = Path(__file__).parents[2]
SMALL = Extractor(sample_rate=1000, n_fft=64, hop=64)
RATE = 16_000
STRICT = ("-Wconversion", "-Wshadow")
F401, F767 = BOARDS["stm32f401"], BOARDS["stm32f767"]
HEARING = tuple(FRONT_ENDS)


# -- sound ---------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def takes() -> tuple[list[Take], np.ndarray]:
    """Eight words of eSpeak NG from the pack and sixteen hummed ones, with their names."""
    files = sorted((ROOT / "data" / "clips").glob("*.flac"))
    rng = np.random.default_rng(0)
    hummed = [word for word in TUNES for _ in range(4)]
    sources = [*files, *((hum(word, rng), RATE) for word in hummed)]
    names = [file.stem.split("-")[0].split("_")[0] for file in files] + hummed
    return [open_take(source) for source in sources], np.array(names)


def sounds() -> list[np.ndarray]:
    return [as_int16(take.samples) for take in takes()[0]]


@lru_cache(maxsize=1)
def hard_stream() -> np.ndarray:
    """Words between noise, silence, full scale, a click, a steady tone, a word without end, and a louder room."""
    rng = np.random.default_rng(1)
    time = np.arange(3 * RATE) / RATE
    parts = [
        *lay_out(sounds()[::3]),
        np.zeros(RATE),
        np.full(RATE // 2, -32_768),
        rng.integers(-32_768, 32_768, RATE),
        np.eye(1, RATE)[0] * 30_000,
        np.where(np.arange(RATE) % 8 < 4, 32_767, -32_768),
        rng.normal(0, 3, RATE),
        8_000 * np.sin(2 * np.pi * 700 * time),
        *lay_out(sounds()[1::8]),
        6_000 * np.sin(2 * np.pi * 500 * time) * (np.sin(2 * np.pi * 3 * time) > 0),
        rng.normal(0, 3, RATE),
        *(part + rng.normal(0, 60, len(part)) for part in lay_out(sounds()[2::4])),
    ]
    return np.concatenate(parts).clip(-32_768, 32_767).astype(np.int16)


def firmware_of(name: str, store: str = "uint8", board: str = "stm32f401") -> Firmware:
    known, words = takes()
    X = FRONT_ENDS[name].transform(known)
    model = HybridTinyKNN(max_size=15, condense=False, batch=6, warmup=6, threshold=3.0).fit(X[::2], words[::2])
    apart = np.linalg.norm(X[1::2, None] - X[None, ::2], axis=2).min(axis=1)
    return export_firmware(
        model, name, board=board, store=store, classes=sorted(set(words.tolist())),
        limit=float(np.quantile(apart, 0.7)),
        check=(sounds(), words),
    )  # fmt: skip


def first_words(firmware: Firmware, count: int) -> tuple[bytes, bytes]:
    """The records of the check's stream up to the first one with `count` lines, and these lines."""
    check = firmware.check
    assert check is not None
    stream, at, words = check.stream, 0, FRONT_ENDS[firmware.configuration.front_end].hear
    while at < len(stream):
        at += 8 + 2 * int.from_bytes(stream[at + 4 : at + 8], "little")
        if (found := len(words(sound_of(stream[:at])))) >= count:
            return stream[:at], b"".join(check.expected.splitlines(keepends=True)[:found])
    raise AssertionError(f"the check has fewer than {count} words")


def sound_of(stream: bytes) -> np.ndarray:
    parts, at = [], 0
    while at < len(stream):
        count = int.from_bytes(stream[at + 4 : at + 8], "little")
        parts.append(np.frombuffer(stream, "<i2", count, at + 8))
        at += 8 + 2 * count
    return np.concatenate(parts)


def same(a: list[HeardWord], b: list[HeardWord]) -> bool:
    """True if the words and their features are equal, bit by bit."""
    if [(w.start, w.stop, w.end, w.decibels) for w in a] != [(w.start, w.stop, w.end, w.decibels) for w in b]:
        return False
    return np.array_equal([w.x for w in a], [w.x for w in b])


# -- clips ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["paper", "compact", "streamed"])
def test_a_stream_of_clips_is_cut_every_second(layout, tmp_path):
    d = SMALL.n_features
    model = HybridTinyKNN(max_size=5).fit(np.eye(2, d), [0, 1])
    library = HostLibrary(export_firmware(model, SMALL, layout=layout).write(tmp_path))
    sound = np.random.default_rng(0).normal(0, 3000, 3500).astype(np.int16)
    expected = [library.features(clip, d) for clip in sound[:3000].reshape(3, -1)]
    for block in (0, 1, 7, 64, 999, 1000, 1001, 2500):
        library.listen()
        words = library.hear(sound, d, block)
        assert [(word.start, word.stop) for word in words] == [(0, 1000), (1000, 2000), (2000, 3000)]
        assert np.array_equal([word.x for word in words], expected)


# -- words ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", HEARING)
def test_host_and_twin_hear_the_same_words_whatever_the_blocks(name, tmp_path):
    front_end = FRONT_ENDS[name]
    library = HostLibrary(firmware_of(name).write(tmp_path), STRICT)
    expected = front_end.hear(hard_stream())
    assert len(expected) > 10
    for block in (0, 1, 159, 160, 161, 1000, 48_000) if name == "word" else (0, 1000):
        library.listen()
        assert same(library.hear(hard_stream(), front_end.n_features, block), expected)


@pytest.mark.parametrize("name", HEARING)
@pytest.mark.parametrize("store", ["uint8", "int16", "float32"])
def test_host_and_emulated_boards_decide_as_the_twin(name, store, tmp_path):
    """From sound to decision, alarm and change point: `make check`, then the same program on M4 and M7."""
    firmware = firmware_of(name, store)
    folder = firmware.write(tmp_path)
    make(folder, "check")
    assert firmware.check is not None and firmware.check.samples >= 4
    assert 0 < firmware.check.expected.count(b"(unknown)") < firmware.check.samples
    stream, expected = firmware.check.stream, firmware.check.expected
    if store != "uint8":  # the network takes a second a word: two words are enough
        stream, expected = first_words(firmware, 2)
    for board in (F401, F767):
        device = EmulatedBoard(build_firmware(folder, board), board)
        assert device.run(stream).encode() == expected
        assert 0 <= device.static_bytes() - budget(firmware.configuration).static <= 16
        assert device.stack_bytes() < 0.8 * STACK
        assert device.sections[".text"] <= flash_bytes(firmware.configuration, fused=False)


@pytest.mark.parametrize("name", HEARING)
def test_every_word_of_a_stream_is_heard_where_the_page_finds_it(name):
    parts = lay_out(sounds()[8:])  # the pack's clips are short words, repeated within a second
    starts = np.cumsum([0, *(len(part) for part in parts[:-1])])
    words = FRONT_ENDS[name].hear(np.concatenate(parts))
    for word, part, start in zip(words, parts, starts, strict=True):
        ((first, last),) = find_words(measure((part / 32_768).astype(np.float32)))
        assert abs(word.start - start - first * RATE) < 0.04 * RATE
        assert abs(word.stop - start - last * RATE) < 0.04 * RATE


def test_nothing_is_heard_in_noise_and_a_steady_sound_becomes_the_background():
    rng = np.random.default_rng(2)
    hear = FRONT_ENDS["word"].hear
    for level in (0.0, 1.0, 30.0, 1_000.0):
        assert hear(rng.normal(0, level, 20 * RATE).astype(np.int16)) == []
    tone = 5_000 * np.sin(np.arange(9 * RATE) * 0.3)
    tone[:RATE] = 0
    tone[7 * RATE : 8 * RATE] += 30_000 * hum("rise", rng)
    words = hear((tone + rng.normal(0, 3, len(tone))).astype(np.int16))
    assert len(words) == 1
    assert 7 * RATE < words[0].start < words[0].stop < 8 * RATE


def test_the_words_features_are_the_pages_within_the_spread_of_a_word():
    """Half decibels every 10 ms instead of float64 every 5 ms: nearer to the page's vector than takes to each other."""
    known, words = takes()
    page, board = VOICE_EXTRACTORS["word"].transform(known), FRONT_ENDS["word"].transform(known)
    between = np.linalg.norm(page[:, None] - page[None], axis=2)
    alike = (words[:, None] == words[None]) & ~np.eye(len(words), dtype=bool)
    assert np.median(np.linalg.norm(page - board, axis=1)) < 0.5 * np.median(between[alike])
    across = np.linalg.norm(board[:, None] - page[None], axis=2)
    assert np.mean(across.argmin(axis=1) == np.arange(len(words))) > 0.9


def test_a_wav_file_is_heard_by_the_host_program(tmp_path):
    known, words = takes()
    folder = firmware_of("word").write(tmp_path / "c")
    make(folder, "host")
    (tmp_path / "word.wav").write_bytes(known[-1].wav())
    done = subprocess.run([folder / "tmlcd-host", tmp_path / "word.wav"], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-2] == words[-1]
    silent = open_take((np.r_[np.zeros(4_000), known[-1].samples], RATE))
    (tmp_path / "silent.wav").write_bytes(silent.wav()[:44] + bytes(20_000))
    done = subprocess.run([folder / "tmlcd-host", tmp_path / "silent.wav"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "has no word" in done.stderr


@pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is not installed")
@pytest.mark.parametrize("name", HEARING)
def test_a_front_end_survives_any_sound_under_the_sanitizers(name, tmp_path):
    folder = firmware_of(name).write(tmp_path)
    (folder / "listen_fuzz.c").write_text((Path(__file__).parent / "listen_fuzz.c").read_text())
    core = next(line for line in (folder / "Makefile").read_text().splitlines() if line.startswith("CORE = "))
    flags = ["-std=c99", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", *STRICT,
             "-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize-recover=all"]  # fmt: skip
    subprocess.run(["gcc", *flags, *core.split()[2:], "listen_fuzz.c", "-o", "fuzz"], cwd=folder, check=True)
    seconds = {"word": "120", "speech": "12", "filter": "60"}[name]
    for seed in ("1", "2"):
        done = subprocess.run(["./fuzz", seed, seconds], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert int(done.stdout) > 0


# -- speech network ------------------------------------------------------------------------------


def test_the_plain_and_the_packed_kernel_give_the_same_bits(tmp_path):
    """The instructions of the M4 and M7 are emulated on this computer; the boards themselves run in the test above."""
    firmware = firmware_of("speech")
    stream = np.concatenate(lay_out(sounds()[8::5]))
    plain, packed = (
        HostLibrary(firmware.write(tmp_path / flag), (*STRICT, flag)) for flag in ("-DTML_SIMD=0", "-DTML_SIMD=1")
    )
    for library in (plain, packed):
        library.listen()
    assert same(plain.hear(stream, 96), packed.hear(stream, 96))


def test_the_8_bit_network_is_near_the_float_network():
    torch = pytest.importorskip("torch")
    network, levels = load_int8_network(), None
    front_end = FRONT_ENDS["speech"]
    frames = frames_of(np.concatenate(lay_out(sounds()[8::3])), front_end.spectrum)
    for span in find_spans(frames):
        levels = network_input(frames, span)
        exact = speech_network.vectors(levels[None].astype(np.float32) / np.float32(20))[0].mean(axis=0) - network.mean
        exact /= np.linalg.norm(exact)
        assert exact @ speech_features(frames, span) > 0.97
    assert levels is not None and torch is not None


def test_the_integer_layers_equal_a_convolution_in_int64():
    """The twin's sums are float32 products of a BLAS: exact, since they are below 2^24."""
    network = load_int8_network()
    levels = np.random.default_rng(0).integers(0, 256, (90, 32)).astype(np.uint8)
    outputs = run_layers(levels, network)
    x, zero = levels[:, :, None].astype(np.int64), 0
    for layer, output in zip(network.layers[:3], outputs, strict=False):
        _, time, frequency, _ = layer.weights.shape
        padded = np.pad(x, ((0, 0), (frequency // 2,) * 2, (0, 0)), constant_values=zero)
        windows = np.lib.stride_tricks.sliding_window_view(padded, (time, frequency), axis=(0, 1))
        total = np.einsum("tfcij,oijc->tfo", windows, layer.weights.astype(np.int64)) + layer.bias
        half = 1 << (layer.shift - 1)
        factor = np.where(total >= 0, layer.positive.astype(np.int64), layer.negative)
        size = (np.abs(total) * factor + half) >> layer.shift
        x = np.clip(np.sign(total) * size + layer.zero, 0, 255)
        if layer.pool == (2, 2):
            x = np.maximum(x[: len(x) // 2 * 2 : 2], x[1::2])
            x = np.maximum(x[:, ::2], x[:, 1::2])
        zero = layer.zero
        assert np.array_equal(x, output)


def test_the_project_has_the_licence_of_the_networks_weights():
    files = firmware_of("speech").files
    assert "Apache License, Version 2.0" in files["SPEECH_NETWORK.md"]
    assert "`SPEECH_NETWORK.md`" in files["README.md"]
    assert "SPEECH_NETWORK.md" not in firmware_of("word").files


def test_the_networks_mel_filters_are_librosas():
    librosa = pytest.importorskip("librosa")
    expected = librosa.filters.mel(sr=RATE, n_fft=512, n_mels=32, fmin=60, fmax=3_800)
    assert np.abs(slaney_filters() - expected).max() < 1e-8


# -- real voices ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.timeout(3_000)  # the network takes a minute or two, more on a busy machine
@pytest.mark.skipif("TMLCD_VOICES" not in os.environ, reason="TMLCD_VOICES names no folder of recorded words")
@pytest.mark.parametrize("name", HEARING)
def test_host_and_twin_hear_every_word_of_real_voices_alike(name, tmp_path):
    """At least 1,000 takes in one stream: words, features and positions are equal bit by bit."""
    files = sorted(Path(os.environ["TMLCD_VOICES"]).glob("*.flac"))
    assert len(files) >= 1_000
    stream = np.concatenate(lay_out([as_int16(open_take(file).samples) for file in files]))
    library = HostLibrary(firmware_of(name).write(tmp_path))
    library.listen()
    expected = FRONT_ENDS[name].hear(stream)
    assert same(library.hear(stream, FRONT_ENDS[name].n_features, 1_024), expected)
    assert abs(len(expected) - len(files)) <= 0.01 * len(files)


@pytest.mark.slow
@pytest.mark.timeout(20_000)  # the network takes a second a word under emulation, more on a busy machine
@pytest.mark.skipif("TMLCD_VOICES" not in os.environ, reason="TMLCD_VOICES names no folder of recorded words")
@pytest.mark.parametrize("store", ["uint8", "int16"])
@pytest.mark.parametrize("board", [F401, F767], ids=lambda board: board.core)
@pytest.mark.parametrize("name", HEARING)
def test_emulated_boards_decide_as_the_twin_on_real_voices(name, board, store, tmp_path):
    """1,000 takes from sound to decision, "unknown", alarm and change point: every line is equal.

    After half of the takes each digit gets the label of the next one.
    """
    files = sorted(Path(os.environ["TMLCD_VOICES"]).glob("*.flac"))
    files = [files[i] for i in np.random.default_rng(0).permutation(len(files))[:1_040]]
    known = [open_take(file) for file in files]
    digits = np.array([int(file.stem.split("_")[0]) for file in files])
    labels = np.where(np.arange(len(files)) < len(files) // 2, digits, (digits + 1) % 10)
    front_end, first = FRONT_ENDS[name], 40
    X = front_end.transform(known[:first])
    batch, threshold = (10, 3.0) if name == "filter" else (20, 8.0)  # the filter is near chance: a sensitive test
    size = min(50, largest_store(FirmwareConfiguration(front_end=name, store=store), board))
    model = HybridTinyKNN(max_size=size, batch=batch, warmup=60, threshold=threshold).fit(X, labels[:first])
    limit = LARGEST.get(name) or float(np.quantile(distances_between(X).min(axis=1), 0.9))
    firmware = export_firmware(model, name, board=board, store=store, limit=limit, classes=range(10))
    parts = lay_out([as_int16(take.samples) for take in known[first:]])
    words = [(word.end, firmware.quantise(word.x[None])[0]) for word in front_end.hear(np.concatenate(parts))]
    twin = twin_of(model, firmware.configuration, size, firmware.offset, firmware.scale)
    unknown = partial(is_unknown, farthest=firmware.farthest)
    check = make_word_check(twin, np.arange(10), parts, labels[first:], words, unknown)
    assert check.samples >= 990
    device = EmulatedBoard(build_firmware(firmware.write(tmp_path), board), board)
    found, expected = device.run(check.stream).splitlines(), check.expected.decode().splitlines()
    equal = sum(a == b for a, b in zip(found, expected, strict=True))
    alarms, refused = (sum(text in line for line in expected) for text in ("alarm", "(unknown)"))
    lines = f"{equal:,} of {len(expected):,} lines equal, {alarms} alarms, {refused} unknown"
    print(f"{name}, {board.core}, T in {store}: {lines}")
    assert found == expected and alarms and refused
