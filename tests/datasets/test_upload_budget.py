"""Budgets for decoding: hostile uploads are refused by their headers, and decoding takes bounded memory."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import textwrap
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import numpy as np
import pytest
import soundfile
from PIL import Image

from tmlcd_core.datasets import FolderSource, UploadBudget, extract_upload, folder, upload
from tmlcd_core.errors import AudioError, DataError
from tmlcd_core.features import fit_image, image_size, images, load_clip, load_fitted, load_image, opening
from tmlcd_core.features.audio import MAX_VALUES, read_sound, sound_values

ROOT = Path(__file__).resolve().parents[2]
LARGEST = 6320  # pixels: its square is just below the limit for one image
PEAK_MB = 500


def picture(size: tuple[int, int], mode: str = "1", kind: str = "PNG", **options: object) -> bytes:
    Image.new(mode, size).save(buffer := io.BytesIO(), kind, **options)
    return buffer.getvalue()


def zipped(files: dict[str, bytes]) -> bytes:
    with zipfile.ZipFile(buffer := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def copies(content: bytes, number: int, ending: str = "png") -> bytes:
    return zipped({f"{'ab'[i % 2]}/{i}.{ending}": content for i in range(number)})


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are decoded."""
    seen: list[str] = []
    original = FolderSource._decode
    monkeypatch.setattr(FolderSource, "_decode", lambda self, name: (seen.append(name), original(self, name))[1])
    return seen


@pytest.mark.parametrize(("number", "match"), [(16, "439 megapixels, more than 400"), (20_000, "20000 entries")])
def test_zips_of_one_bit_images_are_refused_before_decoding(tmp_path, decoded, number, match):
    with pytest.raises(DataError, match=match) as refused:
        FolderSource(extract_upload(copies(picture((LARGEST, LARGEST)), number), tmp_path)).check()
    assert not decoded and not any(path.is_file() for path in tmp_path.rglob("*"))
    assert "\n" not in str(refused.value)


def test_an_upload_at_the_limit_takes_bounded_memory():
    """In a new process: nine of the largest images, two visitors at the same time."""
    script = """
        import io, resource, sys, tempfile
        from concurrent.futures import ThreadPoolExecutor
        import soundfile
        from tmlcd_core.datasets import FolderSource, extract_upload
        import tmlcd_core.features
        sent = sys.stdin.buffer.read()
        peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        before = peak()
        def visit(number):
            with tempfile.TemporaryDirectory() as folder:
                return FolderSource(extract_upload(sent, folder)).check()
        with ThreadPoolExecutor(2) as visitors:
            print(*visitors.map(visit, range(2)), file=sys.stderr)
        print(peak() - before)
    """
    sent = copies(picture((LARGEST, LARGEST), "P"), 9)
    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], input=sent, capture_output=True, check=True, cwd=ROOT
    )
    assert b"{'a': 5, 'b': 4} {'a': 5, 'b': 4}" in found.stderr
    assert float(found.stdout) < PEAK_MB


@pytest.mark.parametrize("name", ["RGBA.png", "RGB.png", "L.png", "1.png", "RGB.jpeg", "progressive.jpeg", "RGB.webp"])
def test_the_largest_image_takes_bounded_memory(tmp_path, name):
    mode, kind = name.split(".")
    progressive = {"progressive": True} if mode == "progressive" else {}
    side = LARGEST if kind != "webp" else 5000
    (tmp_path / name).write_bytes(
        picture((side, side), "RGB" if progressive else mode, kind.upper(), lossless=True, **progressive)
    )
    script = """
        import resource, sys
        from tmlcd_core.features import load_fitted
        peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        before = peak()
        load_fitted(sys.argv[1])
        print(peak() - before)
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path / name)]
    found = subprocess.run(command, capture_output=True, check=True, cwd=ROOT)
    assert float(found.stdout) < PEAK_MB


@pytest.mark.parametrize("size", [(4000, 3000), (5712, 4284)])
def test_a_photograph_of_a_telephone_is_taken(tmp_path, size):
    noise = np.random.default_rng(0).integers(0, 255, (60, 80, 3), dtype=np.uint8)
    Image.fromarray(noise).resize(size).save(buffer := io.BytesIO(), "JPEG", quality=70)
    sent = zipped({"cat/1.jpg": buffer.getvalue(), "dog/1.jpg": buffer.getvalue()})
    assert FolderSource(extract_upload(sent, tmp_path)).check() == {"cat": 1, "dog": 1}


def test_pixels_are_summed_over_files(tmp_path):
    sent = copies(picture((100, 100)), 5)
    assert FolderSource(extract_upload(sent, tmp_path / "five", UploadBudget(pixels=50_000))).count("a") == 3
    with pytest.raises(DataError, match="the first 5 files"):
        extract_upload(sent, tmp_path / "four", UploadBudget(pixels=49_999))


def test_samples_of_sound_are_summed_over_files_and_channels(tmp_path):
    soundfile.write(buffer := io.BytesIO(), np.zeros((44_100, 2)), 44_100, "PCM_U8", format="WAV")
    sent = copies(buffer.getvalue(), 3, "wav")
    assert sound_values(buffer.getvalue()) == 2 * 44_100
    extract_upload(sent, tmp_path / "three", UploadBudget(values=6 * 44_100))
    with pytest.raises(DataError, match="million samples"):
        extract_upload(sent, tmp_path / "two", UploadBudget(values=6 * 44_100 - 1))


def test_seconds_of_the_headers_are_limited(tmp_path, monkeypatch):
    clock = count()
    monkeypatch.setattr(upload.time, "thread_time", lambda: next(clock))
    with pytest.raises(DataError, match=r"the first 4 files .* more than 3 s"):
        extract_upload(copies(picture((9, 9)), 9), tmp_path, UploadBudget(seconds=3))


def test_seconds_of_decoding_are_limited(tmp_path, monkeypatch, decoded):
    source = FolderSource(extract_upload(copies(picture((9, 9)), 300), tmp_path))
    monkeypatch.setattr(folder, "_timed", lambda decode, name: (decode(name), 0.1))
    with pytest.raises(DataError, match="128 of 300 files take more than 10 s"):
        source.check(max_seconds=10)
    assert len(decoded) == 128
    assert source.check() == {"a": 150, "b": 150}


def test_decoding_time_is_processor_time_of_the_decoders(tmp_path):
    source = FolderSource(extract_upload(copies(picture((2000, 2000), "RGB"), 4), tmp_path))
    source.check()
    assert source.decoding_seconds > 0


def test_threads_wait_while_the_room_is_full():
    room, most, lock = opening.Room(100), 0, threading.Lock()

    def work(amount: int) -> None:
        nonlocal most
        with room.take(amount):
            with lock:
                most = max(most, room.used)
            threading.Event().wait(0.002)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, [30, 60, 100, 5, 400] * 8))
    assert 60 <= most <= 100 and room.used == 0


@pytest.mark.parametrize("load", [load_image, load_fitted])
def test_decoding_and_resizing_hold_the_same_room(monkeypatch, load):
    held = []
    for module, name in ((images, "_rgb"), (images, "fit_image")):
        original = getattr(module, name)
        monkeypatch.setattr(module, name, lambda x, f=original: (held.append(opening.decoding.used), f(x))[1])
    load(picture((300, 400), "L"))
    assert held and set(held) == {300 * 400 * images.BYTES_PER_PIXEL}
    assert len(held) == 2 + (load is load_fitted) and opening.decoding.used == 0


def test_a_largest_image_leaves_room_for_no_other():
    assert opening.decoding.size < 2 * images.MAX_PIXELS * images.BYTES_PER_PIXEL


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_finds_the_room_empty():
    with opening.decoding.take(opening.decoding.size):
        child = os.fork()
        if not child:
            os._exit(0 if opening.decoding.used == 0 and load_image(picture((2, 2))).shape == (2, 2, 3) else 1)
        assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "P", "1", "I;16", "LA"])
def test_strips_give_the_pixels_of_the_whole(mode):
    """Pillow's own conversion of the whole image is the oracle; 700 rows are three strips."""
    noise = np.random.default_rng(1).integers(0, 255, (700, 90, 4), dtype=np.uint8)
    grey = noise[..., 0].astype("<u2") * 257
    whole = Image.fromarray(grey if mode == "I;16" else noise[..., : 4 if "A" in mode else 3])
    whole = whole if mode == "I;16" else whole.convert(mode)
    whole.save(buffer := io.BytesIO(), "PNG")
    if mode in ("RGBA", "LA"):
        white = Image.new("RGBA", whole.size, "white")
        expected = np.asarray(Image.alpha_composite(white, whole.convert("RGBA")).convert("RGB"))
    elif mode == "I;16":
        expected = np.repeat(noise[..., :1], 3, axis=2)
    else:
        expected = np.asarray(whole.convert("RGB"))
    np.testing.assert_array_equal(load_image(buffer.getvalue()), expected)
    np.testing.assert_array_equal(load_fitted(buffer.getvalue()), fit_image(expected))


def test_the_size_is_that_of_the_upright_image():
    exif = Image.Exif()
    exif[images.ORIENTATION] = 6
    turned = picture((40, 30), "RGB", "JPEG", exif=exif)
    height, width, _ = load_image(turned).shape
    assert image_size(turned) == (width, height) == (30, 40)


def test_many_channels_of_silence_are_refused_by_the_header():
    """A flac of some kilobytes that would be hundreds of megabytes of samples."""
    soundfile.write(buffer := io.BytesIO(), np.zeros((30 * 96_000, 8), np.int16), 96_000, format="FLAC")
    assert len(buffer.getvalue()) < 200_000
    with pytest.raises(AudioError, match="8 channels at 96000 Hz for 30 s: use mono or stereo"):
        read_sound(buffer.getvalue(), 30.1)
    with pytest.raises(AudioError, match="silent"):
        load_clip(buffer.getvalue())  # a second of it may be read
    assert MAX_VALUES >= 30.1 * 192_000 * 2
