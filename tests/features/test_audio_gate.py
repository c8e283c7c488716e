"""Validation of all audio that a microphone, a folder or an upload may contain."""

from __future__ import annotations

import io
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tmlcd_core.errors import AudioError, ConfigError
from tmlcd_core.features import check_audio, load_clip, make_clip

TONE_HZ = 440.0


def tone(rate: int, seconds: float = 1.0, level: float = 0.5) -> NDArray:
    return level * np.sin(2 * np.pi * TONE_HZ * np.arange(round(rate * seconds)) / rate)


def encode(samples: NDArray, rate: int, kind: str = "WAV", subtype: str | None = None) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, samples, rate, format=kind, subtype=subtype)
    return file.getvalue()


def with_rate(wav: bytes, rate: int) -> bytes:
    """The same wav file claiming another sample rate."""
    return wav[:24] + struct.pack("<I", rate) + wav[28:]


def dominant(clip: NDArray, rate: int = 22_050) -> float:
    """Frequency of the strongest bin."""
    spectrum = np.abs(np.fft.rfft(clip * np.hanning(len(clip))))
    return float(np.fft.rfftfreq(len(clip), 1 / rate)[spectrum.argmax()])


WAV = encode(tone(16_000), 16_000)

GOOD: dict[str, Callable[[], bytes]] = {
    "wav": lambda: WAV,
    "flac": lambda: encode(tone(16_000), 16_000, "FLAC"),
    "ogg": lambda: encode(tone(16_000), 16_000, "OGG"),
    "mp3": lambda: encode(tone(16_000), 16_000, "MP3"),
    "8-bit": lambda: encode(tone(16_000), 16_000, subtype="PCM_U8"),
    "24-bit": lambda: encode(tone(16_000), 16_000, subtype="PCM_24"),
    "32-bit": lambda: encode(tone(16_000), 16_000, subtype="PCM_32"),
    "float": lambda: encode(tone(16_000), 16_000, subtype="FLOAT"),
    "double": lambda: encode(tone(16_000), 16_000, subtype="DOUBLE"),
    "mu-law": lambda: encode(tone(16_000), 16_000, subtype="ULAW"),
    "float over 1": lambda: encode(tone(16_000, level=1.5), 16_000, subtype="FLOAT"),
    "stereo": lambda: encode(np.column_stack([tone(16_000)] * 2), 16_000),
    "8 channels": lambda: encode(np.column_stack([tone(16_000)] * 8), 16_000),
    "one of two channels silent": lambda: encode(np.column_stack([tone(16_000), np.zeros(16_000)]), 16_000),
    "4,000 Hz": lambda: encode(tone(4_000), 4_000),
    "11,025 Hz": lambda: encode(tone(11_025), 11_025),
    "22,050 Hz": lambda: encode(tone(22_050), 22_050),
    "48,000 Hz": lambda: encode(tone(48_000), 48_000),
    "192,000 Hz": lambda: encode(tone(192_000), 192_000),
    "short": lambda: encode(tone(16_000, 0.15), 16_000),
    "long": lambda: encode(tone(16_000, 2.3), 16_000),
    "truncated wav": lambda: WAV[: len(WAV) // 2],
    "quiet": lambda: encode(tone(16_000, level=0.002), 16_000),
}


@pytest.mark.parametrize("case", GOOD)
def test_sensible_result(case: str) -> None:
    clip = load_clip(GOOD[case]())
    assert (clip.shape, clip.dtype) == ((22_050,), np.float32)
    assert clip.flags.c_contiguous
    assert np.isfinite(clip).all()
    assert dominant(clip) == pytest.approx(TONE_HZ, abs=8)  # a repeated short clip has a seam


NAN = tone(16_000)
NAN[5_000] = np.nan
BAD: dict[str, tuple[Callable[[], bytes], str]] = {
    "empty": (lambda: b"", "cannot be decoded"),
    "garbage": (lambda: bytes(range(256)) * 50, "cannot be decoded"),
    "a text": (lambda: b"label,clip\n" * 100, "cannot be decoded"),
    "an image": (lambda: b"\x89PNG\r\n\x1a\n" + b"\0" * 500, "cannot be decoded"),
    "only a header": (lambda: WAV[:20], "cannot be decoded"),
    "truncated flac": (lambda: encode(tone(16_000), 16_000, "FLAC")[:-500], "cannot be decoded"),
    "zero frames": (lambda: encode(np.zeros(0), 16_000), "0 samples"),
    "one sample": (lambda: encode(np.ones(1) * 0.5, 16_000), "1 samples"),
    "10 ms": (lambda: encode(tone(16_000, 0.01), 16_000), "160 samples"),
    "2^31-1 Hz": (lambda: with_rate(WAV, 2**31 - 1), "2147483647 Hz"),
    "1 Hz": (lambda: with_rate(WAV, 1), "1 Hz"),
    "NaN": (lambda: encode(NAN, 16_000, subtype="FLOAT"), "NaN"),
    "infinite": (lambda: encode(np.full(16_000, np.inf), 16_000, subtype="FLOAT"), "infinite"),
    "beyond float32": (lambda: encode(tone(16_000, level=1e300), 16_000, subtype="DOUBLE"), "infinite"),
    "not scaled": (lambda: encode(tone(16_000, level=3e4), 16_000, subtype="FLOAT"), "3e\\+04"),
    "silent": (lambda: encode(np.zeros(16_000), 16_000), "silent"),
    "constant": (lambda: encode(np.full(16_000, 0.25), 16_000), "silent"),
    "opposite channels": (lambda: encode(np.column_stack([tone(16_000), -tone(16_000)]), 16_000), "silent"),
    "100 channels": (lambda: encode(np.zeros((4_000, 100)), 4_000), "100 channels"),
    "exotic format": (lambda: encode(tone(16_000), 16_000, "MAT5"), "MAT5"),
}


@pytest.mark.parametrize("case", BAD)
def test_clear_error(case: str) -> None:
    make, message = BAD[case]
    with pytest.raises(AudioError, match=message):
        load_clip(make())


def test_every_way_to_hand_a_file_over(tmp_path: Path) -> None:
    path = tmp_path / "clip.wav"
    path.write_bytes(WAV)
    expected = load_clip(WAV)
    with path.open("rb") as file:
        file.read(100)  # the gate starts from the beginning
        np.testing.assert_array_equal(load_clip(file), expected)
        assert not file.closed
    for same in (path, str(path), io.BytesIO(WAV), bytearray(WAV)):
        np.testing.assert_array_equal(load_clip(same), expected)  # type: ignore[arg-type]


@pytest.mark.parametrize("path", ["missing.wav", "a\0b.wav", ""])
def test_paths_that_cannot_be_opened(path: str, tmp_path: Path) -> None:
    with pytest.raises(AudioError, match="cannot be opened"):
        load_clip(str(tmp_path / path))  # the last one is the folder itself


def test_wrong_kinds_of_source() -> None:
    with pytest.raises(AudioError, match="NoneType"):
        load_clip(None)  # type: ignore[arg-type]


def test_the_message_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "still.wav"
    path.write_bytes(encode(np.zeros(16_000), 16_000))
    with pytest.raises(AudioError, match=r"still\.wav: silent"):
        load_clip(path)


def test_an_hour_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "hour.wav"
    header = bytearray(encode(tone(16_000), 16_000))
    seconds, size = 3_600, 3_600 * 32_000
    header[4:8], header[40:44] = struct.pack("<I", 36 + size), struct.pack("<I", size)
    with path.open("wb") as file:
        file.write(header)
        file.truncate(44 + size)  # a sparse file: an hour on paper, a second on the disk
    assert soundfile.info(str(path)).duration == seconds
    load_clip(path)  # so that imports are not counted
    tracemalloc.start()
    clip = load_clip(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3e6
    assert dominant(clip) == pytest.approx(TONE_HZ, abs=1)


@pytest.mark.parametrize("rate", [8_000, 16_000, 44_100, 48_000, 192_000])
def test_resampling_keeps_the_wave_and_removes_what_does_not_fit(rate: int) -> None:
    clip = make_clip(tone(rate, 1.2), rate)
    middle = slice(2_000, 20_000)
    np.testing.assert_allclose(clip[middle], tone(22_050)[middle], atol=1e-3)
    if rate >= 44_100:
        high = np.sin(2 * np.pi * 15_000 * np.arange(rate) / rate)  # above 11,025 Hz
        mixed = make_clip(high + tone(rate), rate)
        np.testing.assert_allclose(mixed[middle], tone(22_050)[middle], atol=1e-3)


def test_short_repeats_and_long_is_cut() -> None:
    clip = make_clip(tone(22_050, 0.4), 22_050)
    np.testing.assert_array_equal(clip[8_820:17_640], clip[:8_820])
    np.testing.assert_array_equal(make_clip(tone(22_050, 3), 22_050), tone(22_050).astype(np.float32))
    assert make_clip(tone(16_000), 16_000, 4_410, 0.5).shape == (2_205,)


@pytest.mark.parametrize(
    ("kind", "scale", "rest"),
    [
        (np.int16, 2**15, 0),
        (np.int32, 2**31, 0),
        (np.uint8, 2**7, 2**7),
        (np.float64, 1, 0),
        (np.float32, 1, 0),
    ],
)
def test_recorders_sample_types(kind: type, scale: int, rest: int) -> None:
    wave = tone(16_000)
    recorded = (np.round(wave * scale) + rest if scale > 1 else wave).astype(kind)
    np.testing.assert_allclose(check_audio(recorded, 16_000), wave, atol=0.005)
    np.testing.assert_allclose(check_audio(recorded[:, None], 16_000), wave, atol=0.005)


@pytest.mark.parametrize(
    ("samples", "rate", "message"),
    [
        (np.zeros((10, 10, 10)), 16_000, "shape"),
        (np.zeros((2, 16_000)), 16_000, "16000 channels"),
        (np.zeros((16_000, 0)), 16_000, "0 channels"),
        (np.array(["a"] * 999), 16_000, "type"),
        (np.zeros(16_000, complex), 16_000, "complex"),
        (tone(16_000), 3_999, "3999 Hz"),
        (tone(16_000), 192_001, "192001 Hz"),
        (tone(16_000), -1, "-1 Hz"),
    ],
)
def test_arrays_are_checked(samples: NDArray, rate: int, message: str) -> None:
    with pytest.raises(AudioError, match=message):
        check_audio(samples, rate)


def test_targets_are_checked() -> None:
    with pytest.raises(ConfigError, match="sample_rate=0"):
        load_clip(WAV, sample_rate=0)
    for seconds in (0, -1, 1e9, float("nan")):
        with pytest.raises(ConfigError, match="seconds="):
            load_clip(WAV, seconds=seconds)


SEEDS = [encode(tone(8_000, 0.2), 8_000, kind) for kind in ("WAV", "FLAC", "OGG", "MP3", "AIFF", "AU")]


def only_the_family(data: bytes) -> None:
    try:
        clip = load_clip(data)
    except AudioError:
        return
    assert clip.shape == (22_050,)
    assert np.isfinite(clip).all()


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.binary(max_size=400))
def test_fuzz_random_bytes(data: bytes) -> None:
    only_the_family(data)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(
    st.sampled_from(SEEDS),
    st.lists(st.tuples(st.integers(0, 4_000), st.binary(min_size=1, max_size=4)), max_size=6),
    st.integers(0, 4_000),
)
def test_fuzz_damaged_files(seed: bytes, changes: list[tuple[int, bytes]], cut: int) -> None:
    """Bytes overwritten, most of them in the header, and the end cut off."""
    data = bytearray(seed)
    for place, new in changes:
        place = place % (200 if place % 2 else len(data))
        data[place : place + len(new)] = new
    only_the_family(bytes(data[: len(data) - cut // 4]))
