"""The image gate: the one way by which pictures enter, and their crop for the extractor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.errors import DataError
from tmlcd_core.features.opening import decoding, open_binary
from tmlcd_core.optional_packages import require

if TYPE_CHECKING:
    from PIL.Image import Image

IMAGE_SIZE = 224  # pixels, ImageNet's crop (paper, Sec. 7.3)
MAX_PIXELS = 40_000_000  # 120 MB once decoded; read from the header, before anything is decoded
MAX_WEBP_PIXELS = 25_000_000  # WebP's decoder holds an image four times: 380 MB
MAX_ASPECT = 50  # a longer strip would be blown up to gigabytes before its middle is cropped
BYTES_PER_PIXEL = 8  # while an image is decoded: 4 in Pillow, 3 in the array
STRIP = 256  # rows that are converted at a time
SIDEWAYS = range(5, 9)  # values of Exif's orientation that swap width and height
ORIENTATION = 0x0112  # Exif's tag
FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF")


def load_image(source: str | Path | bytes | BinaryIO) -> NDArray[np.uint8]:
    """The pixels (height, width, 3) of a jpg, png, webp, bmp or gif, upright, in 8-bit RGB.

    Of an animation the first picture; transparent parts become white; 16-bit greys keep their high byte.
    """
    with _opened(source) as image, decoding.take(BYTES_PER_PIXEL * image.width * image.height):
        return _decoded(image)


def load_fitted(source: str | Path | bytes | BinaryIO) -> NDArray[np.uint8]:
    """`fit_image(load_image(source))`, with decoding and resizing in the same memory of `decoding`."""
    with _opened(source) as image, decoding.take(BYTES_PER_PIXEL * image.width * image.height):
        return _fitted(image)


def image_size(source: str | Path | bytes | BinaryIO) -> tuple[int, int]:
    """Width and height of the upright image in pixels, from its header: nothing is decoded."""
    with _opened(source) as image:
        width, height = image.size
        return (height, width) if image.getexif().get(ORIENTATION) in SIDEWAYS else (width, height)


@contextmanager
def _opened(source: str | Path | bytes | BinaryIO) -> Iterator[Image]:
    """A Pillow image whose header has been checked; whatever fails with it is a `DataError`."""
    require("PIL")
    from PIL import Image, UnidentifiedImageError

    with open_binary(source, DataError) as (file, name):
        # Decoders of damaged files fail in many ways; whatever they raise, the file is to blame.
        try:
            with Image.open(file, formats=FORMATS) as image:
                _check_size(image, name)
                yield image
        except DataError:
            raise
        except Image.DecompressionBombError as error:
            raise DataError(f"{name} has too many pixels: give at most {MAX_PIXELS // 10**6} megapixels") from error
        except Exception as error:
            reason = (
                "no image" if isinstance(error, UnidentifiedImageError) else error
            )  # Pillow names an object's address
            raise DataError(f"{name} cannot be decoded: give a jpg or png image ({reason})") from error


def _decoded(image: Image) -> NDArray[np.uint8]:
    from PIL import ImageOps

    image.load()
    ImageOps.exif_transpose(image, in_place=True)
    pixels = np.empty((image.height, image.width, 3), np.uint8)
    for top in range(0, image.height, STRIP):  # a whole image takes its size again with each conversion
        bottom = min(top + STRIP, image.height)
        pixels[top:bottom] = _rgb(image.crop((0, top, image.width, bottom)))
    image.close()  # Pillow's own copy of the pixels
    return pixels


def _fitted(image: Image) -> NDArray[np.uint8]:
    return np.ascontiguousarray(
        fit_image(_decoded(image))
    )  # a copy of the crop: the whole goes before the room is left


def fit_image(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The middle 224x224 of an image (height, width, 3) or (height, width), its shorter side resized to 224.

    The same pixels as torchvision's Resize(224) and CenterCrop(224) give on a Pillow image.
    """
    image = np.asarray(image)
    if image.dtype != np.uint8 or image.ndim not in (2, 3) or (image.ndim == 3 and image.shape[2] != 3):
        raise DataError(f"image of type {image.dtype} and shape {image.shape}: give uint8 (height, width, 3) or grey")
    height, width = image.shape[:2]
    if min(height, width) < 1 or max(height, width) > MAX_ASPECT * min(height, width):
        raise DataError(f"image of {width}x{height} pixels: give one at most {MAX_ASPECT} times as long as wide")
    if image.ndim == 2:
        image = np.repeat(image[..., None], 3, axis=2)
    image = _shorter_side(image)
    top, left = (round((size - IMAGE_SIZE) / 2.0) for size in image.shape[:2])
    return image[top : top + IMAGE_SIZE, left : left + IMAGE_SIZE]


def _shorter_side(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    require("PIL")
    from PIL import Image

    height, width = image.shape[:2]
    if width <= height:
        size = (IMAGE_SIZE, int(IMAGE_SIZE * height / width))
    else:
        size = (int(IMAGE_SIZE * width / height), IMAGE_SIZE)
    if size == (width, height):
        return image
    return np.asarray(Image.fromarray(image).resize(size, Image.Resampling.BILINEAR))


def _check_size(image: Image, name: str) -> None:
    most = MAX_WEBP_PIXELS if image.format == "WEBP" else MAX_PIXELS
    if image.width * image.height > most:
        raise DataError(
            f"{name} has {image.width}x{image.height} pixels: give an image of at most {most // 10**6} megapixels"
        )


def _rgb(image: Image) -> NDArray[np.uint8]:
    require("PIL")
    from PIL import Image

    if image.mode.startswith("I"):  # 16-bit grey; Pillow's own conversion would cut everything above 255
        grey = np.clip(np.asarray(image, dtype=np.int64) >> 8, 0, 255).astype(np.uint8)
        return np.repeat(grey[..., None], 3, axis=2)
    if image.has_transparency_data:
        image = image.convert("RGBA")
        white = Image.new("RGBA", image.size, (255, 255, 255, 255))
        image = Image.alpha_composite(white, image)
    return np.array(image if image.mode == "RGB" else image.convert("RGB"))
