"""Validation of all images that a folder or an upload may contain."""

from __future__ import annotations

import io
import struct
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from tmlcd_core.errors import DataError
from tmlcd_core.features import Extractor, load_image

RNG = np.random.default_rng(0)
PIXELS = RNG.integers(0, 256, (20, 30, 3), dtype=np.uint8)
SMOOTH = np.dstack([np.add.outer(np.arange(20) * 5, np.arange(30) * 4) + shift for shift in (0, 20, 40)]).astype(
    np.uint8
)


def encode(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def png_header(width: int, height: int) -> bytes:
    """A png that declares a size and has almost no data."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" * 1000)) + chunk(b"IEND", b"")
    )


PNG = encode(Image.fromarray(PIXELS))


@pytest.mark.parametrize("kind", ["PNG", "BMP"])
def test_lossless_formats_come_out_as_they_are(kind: str) -> None:
    image = load_image(encode(Image.fromarray(PIXELS), kind))
    assert image.dtype == np.uint8
    np.testing.assert_array_equal(image, PIXELS)


@pytest.mark.parametrize(("kind", "options"), [("JPEG", {"quality": 95}), ("WEBP", {"lossless": True}), ("GIF", {})])
def test_other_formats_come_close(kind: str, options: dict) -> None:
    image = load_image(encode(Image.fromarray(SMOOTH), kind, **options))
    assert image.shape == SMOOTH.shape
    assert np.abs(image.astype(int) - SMOOTH).mean() < 8


def test_one_pixel() -> None:
    image = load_image(encode(Image.new("RGB", (1, 1), (1, 2, 3))))
    assert image.tolist() == [[[1, 2, 3]]]
    assert Extractor().transform_images([image]).shape == (1, 3136)


def test_grey_and_black_and_white() -> None:
    grey = Image.fromarray(PIXELS[..., 0])
    np.testing.assert_array_equal(load_image(encode(grey)), np.dstack([PIXELS[..., 0]] * 3))
    assert set(np.unique(load_image(encode(grey.convert("1"))))) == {0, 255}


def test_sixteen_bit() -> None:
    deep = RNG.integers(0, 65_536, (5, 7), dtype=np.uint16)
    np.testing.assert_array_equal(load_image(encode(Image.fromarray(deep)))[..., 1], deep >> 8)


def test_cmyk() -> None:
    """A cyan, magenta, yellow and black square each, as a printer's jpeg holds them."""
    inks = np.zeros((32, 128, 4), np.uint8)
    for ink in range(4):
        inks[:, 32 * ink : 32 * ink + 32, ink] = 255
    image = load_image(encode(Image.fromarray(inks, "CMYK"), "JPEG", quality=95))
    expected = [(0, 255, 255), (255, 0, 255), (255, 255, 0), (0, 0, 0)]
    for ink, colour in enumerate(expected):
        np.testing.assert_allclose(image[16, 32 * ink + 16], colour, atol=8)


def test_transparent_parts_are_white() -> None:
    layer = np.dstack([PIXELS, np.zeros((20, 30), np.uint8)])
    layer[:10, :, 3] = 255
    image = load_image(encode(Image.fromarray(layer)))
    np.testing.assert_array_equal(image[:10], PIXELS[:10])
    assert (image[10:] == 255).all()


def test_palette_with_transparency() -> None:
    picture = Image.new("P", (4, 4), 1)
    picture.putpalette([9, 9, 9, 200, 10, 30])
    picture.putpixel((0, 0), 0)
    image = load_image(encode(picture, transparency=0))
    assert image[0, 0].tolist() == [255, 255, 255]
    assert image[3, 3].tolist() == [200, 10, 30]


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG"])
def test_animation_gives_its_first_picture(kind: str) -> None:
    frames = [Image.new("RGB", (16, 16), colour) for colour in ("red", "blue", "green")]
    options = {"lossless": True} if kind == "WEBP" else {}
    image = load_image(encode(frames[0], kind, save_all=True, append_images=frames[1:], duration=100, **options))
    assert (image == (255, 0, 0)).all()


@pytest.mark.parametrize(("orientation", "undo"), [(3, 2), (6, -1), (8, 1)])
def test_turned_as_the_camera_says(orientation: int, undo: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    image = load_image(encode(Image.fromarray(PIXELS), exif=exif))
    np.testing.assert_array_equal(image, np.rot90(PIXELS, undo))


BAD: dict[str, tuple[Callable[[], bytes], str]] = {
    "empty": (lambda: b"", "cannot be decoded"),
    "garbage": (lambda: bytes(range(256)) * 20, "cannot be decoded"),
    "a wav": (lambda: b"RIFF\x24\0\0\0WAVEfmt " + b"\0" * 200, "cannot be decoded"),
    "truncated png": (lambda: PNG[: len(PNG) // 2], "cannot be decoded"),
    "truncated jpeg": (lambda: encode(Image.fromarray(PIXELS), "JPEG")[:-200], "cannot be decoded"),
    "another format": (lambda: encode(Image.fromarray(PIXELS), "TIFF"), "cannot be decoded"),
    "100 megapixels": (lambda: png_header(10_000, 10_000), "10000x10000"),
    "41 megapixels": (lambda: png_header(41_000, 1_000), "41000x1000"),
    "a decompression bomb": (lambda: png_header(60_000, 60_000), "megapixels"),
    "no pixels": (lambda: png_header(0, 10), "cannot be decoded"),
}


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize("case", BAD)
def test_clear_error(case: str) -> None:
    make, message = BAD[case]
    with pytest.raises(DataError, match=message) as refused:
        load_image(make())
    assert "object at 0x" not in str(refused.value)


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_a_hundred_megapixels_are_refused_by_the_header() -> None:
    genuine = encode(Image.new("L", (10_000, 10_000)))
    tracemalloc.start()
    with pytest.raises(DataError, match="40 megapixels"):
        load_image(genuine)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2e6


def test_every_way_to_hand_a_file_over(tmp_path: Path) -> None:
    path = tmp_path / "image.png"
    path.write_bytes(PNG)
    for same in (path, str(path), io.BytesIO(PNG), PNG):
        np.testing.assert_array_equal(load_image(same), PIXELS)
    with pytest.raises(DataError, match=r"missing\.png' cannot be opened"):
        load_image(tmp_path / "missing.png")


def only_the_family(data: bytes) -> None:
    try:
        image: NDArray = load_image(data)
    except DataError:
        return
    assert image.dtype == np.uint8
    assert image.shape[2] == 3


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.binary(max_size=300))
def test_fuzz_random_bytes(data: bytes) -> None:
    only_the_family(data)


PALETTE = Image.fromarray(PIXELS).convert("P")
DEEP = Image.fromarray(RNG.integers(0, 65_536, (5, 7), dtype=np.uint16))
SEEDS = [
    *(encode(Image.fromarray(PIXELS), kind) for kind in ("PNG", "JPEG", "WEBP", "BMP", "GIF")),
    encode(PALETTE, transparency=3),
    encode(DEEP),
    encode(
        Image.fromarray(PIXELS),
        "JPEG",
        exif=b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0",
    ),
]


@pytest.mark.filterwarnings("ignore")  # Pillow warns of damaged EXIF and palettes
@settings(max_examples=500, deadline=None, derandomize=True)
@given(
    st.sampled_from(SEEDS),
    st.lists(st.tuples(st.integers(0, 3_000), st.binary(min_size=1, max_size=4)), max_size=6),
    st.integers(0, 3_000),
)
def test_fuzz_damaged_files(seed: bytes, changes: list[tuple[int, bytes]], cut: int) -> None:
    data = bytearray(seed)
    for place, new in changes:
        place = place % (120 if place % 2 else len(data))
        data[place : place + len(new)] = new
    only_the_family(bytes(data[: len(data) - cut // 6]))
