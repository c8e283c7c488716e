"""The server's microphone: real PortAudio over an ALSA device that plays a file, and every way it can be missing."""

import ctypes.util
import os
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tmlcd_core.errors import AudioError, ConfigError
from tmlcd_core.features import server_microphone
from tmlcd_core.features.server_microphone import input_device, record

ROOT = Path(__file__).resolve().parents[2]
ALSA = """
pcm.clip {{ type file slave.pcm {{ type null }} file "/dev/null" infile "{raw}" format "raw" }}
pcm.!default {{ type plug slave.pcm clip }}
"""
RECORD = """
import numpy as np
from tmlcd_core.features.server_microphone import input_device, record
samples, rate = record(0.5)
print(input_device(), rate, samples.dtype)
np.save({out!r}, samples)
"""


class PortAudioError(Exception):
    """Replaces sounddevice's error."""


@pytest.fixture
def library(monkeypatch):
    """A fake sounddevice module, which the test may change."""
    fake = SimpleNamespace(
        PortAudioError=PortAudioError,
        query_devices=lambda kind: {"name": "desk microphone", "default_samplerate": 48_000.0},
        rec=lambda n, **kwargs: np.full((n, 1), 7, np.int16),
    )
    monkeypatch.setitem(sys.modules, "sounddevice", fake)
    return fake


def fail(*args, **kwargs):
    raise PortAudioError("Error querying device -1")


def test_a_file_behind_alsa_is_recorded_bit_for_bit(tmp_path):
    if not sys.platform.startswith("linux") or ctypes.util.find_library("portaudio") is None:
        pytest.skip("*** NO PORTAUDIO (Debian: libportaudio2): the server's microphone is not tested ***")
    clip = np.random.default_rng(0).integers(-20_000, 20_000, 96_000, dtype=np.int16)
    clip.astype("<i2").tofile(tmp_path / "clip.raw")
    (tmp_path / "asound.conf").write_text(ALSA.format(raw=tmp_path / "clip.raw"), encoding="utf-8")
    env = os.environ | {"ALSA_CONFIG_PATH": str(tmp_path / "asound.conf")}
    command = [sys.executable, "-c", RECORD.format(out=str(tmp_path / "heard.npy"))]
    said = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True).stdout.split()
    assert said == ["default", "44100", "int16"]
    heard = np.load(tmp_path / "heard.npy")
    assert np.array_equal(heard, clip[: len(heard)])
    assert len(heard) == 22_050


def test_the_device_has_a_name_and_gives_samples(library):
    assert input_device() == "desk microphone"
    samples, rate = record(0.1)
    assert samples.shape == (4_800,) and rate == 48_000


def test_a_machine_without_portaudio_offers_nothing(monkeypatch):
    monkeypatch.setitem(sys.modules, "sounddevice", None)  # an ImportError, as OSError without the library
    assert input_device() is None
    with pytest.raises(AudioError, match="libportaudio2"):
        record(1.0)


@pytest.mark.parametrize("missing", [fail, lambda kind: (_ for _ in ()).throw(ValueError("No input device matching"))])
def test_a_machine_without_an_input_offers_nothing(library, missing):
    library.query_devices = missing
    assert input_device() is None
    with pytest.raises(AudioError, match="does not answer"):
        record(1.0)


def test_a_device_that_vanishes_says_so_and_can_be_used_again(library):
    good, library.rec = library.rec, fail
    with pytest.raises(AudioError, match="does not answer"):
        record(1.0)
    library.rec = good
    assert len(record(0.1)[0]) == 4_800


def test_one_recording_at_a_time(library):
    begun, go_on = threading.Event(), threading.Event()
    plain = library.rec

    def slow(n, **kwargs):
        begun.set()
        assert go_on.wait(10)
        return plain(n, **kwargs)

    library.rec = slow
    first = threading.Thread(target=record, args=(0.1,))
    first.start()
    assert begun.wait(10)
    with pytest.raises(AudioError, match="in use"):
        record(0.1)
    go_on.set()
    first.join()
    assert not server_microphone._LOCK.locked()


@pytest.mark.parametrize("seconds", [0, -1, 31, float("nan"), float("inf")])
def test_absurd_lengths_are_refused(library, seconds):
    with pytest.raises(ConfigError, match="seconds="):
        record(seconds)
