"""Image loading and validation, and the crop for the extractor; all images pass here."""

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
MAX_WEBP_PIXELS = 25_000_000  # WebP's decoder keeps an image four times in memory: 380 MB
MAX_ASPECT = 50  # a longer strip would be enlarged to gigabytes before the crop
BYTES_PER_PIXEL = 8  # while an image is decoded: 4 in Pillow, 3 in the array
STRIP = 256  # rows converted at a time
SIDEWAYS = range(5, 9)  # values of Exif's orientation that swap width and height
ORIENTATION = 0x0112  # Exif's tag
FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF")


def load_image(source: str | Path | bytes | BinaryIO) -> NDArray[np.uint8]:
    """Load a jpg, png, webp, bmp or gif as upright 8-bit RGB, uint8 (height, width, 3).

    Of an animation the first frame is used; transparent parts become white; 16-bit greys keep their high byte.
    """
    with _opened(source) as image, decoding.take(BYTES_PER_PIXEL * image.width * image.height):
        return _decoded(image)


def load_fitted(source: str | Path | bytes | BinaryIO) -> NDArray[np.uint8]:
    """Load, resize and crop an image to uint8 (224, 224, 3): `fit_image(load_image(source))` in one reservation."""
    with _opened(source) as image, decoding.take(BYTES_PER_PIXEL * image.width * image.height):
        return _fitted(image)


def image_size(source: str | Path | bytes | BinaryIO) -> tuple[int, int]:
    """Return width and height of the upright image in pixels, from its header, without decoding."""
    with _opened(source) as image:
        width, height = image.size
        return (height, width) if image.getexif().get(ORIENTATION) in SIDEWAYS else (width, height)


@contextmanager
def _opened(source: str | Path | bytes | BinaryIO) -> Iterator[Image]:
    """An open Pillow image with a checked header; every failure is a `DataError`."""
    require("PIL")
    from PIL import Image, UnidentifiedImageError

    with open_binary(source, DataError) as (file, name):
        # Decoders raise many kinds of exceptions for damaged files: treat all of them as an error of the file.
        try:
            with Image.open(file, formats=FORMATS) as image:
                _check_size(image, name)
                yield image
        except DataError:
            raise
        except Image.DecompressionBombError as error:
            raise DataError(f"{name} has too many pixels: use at most {MAX_PIXELS // 10**6} megapixels") from error
        except Exception as error:
            # Pillow's message for an unidentified image contains an object's address.
            reason = "no image" if isinstance(error, UnidentifiedImageError) else error
            raise DataError(f"{name} cannot be decoded: use a jpg or png image ({reason})") from error


def _decoded(image: Image) -> NDArray[np.uint8]:
    from PIL import ImageOps

    image.load()
    ImageOps.exif_transpose(image, in_place=True)
    pixels = np.empty((image.height, image.width, 3), np.uint8)
    for top in range(0, image.height, STRIP):  # converting the whole image at once would copy it each time
        bottom = min(top + STRIP, image.height)
        pixels[top:bottom] = _rgb(image.crop((0, top, image.width, bottom)))
    image.close()  # Pillow's own copy of the pixels
    return pixels


def _fitted(image: Image) -> NDArray[np.uint8]:
    # A copy of the crop, so that the whole image is freed before the memory reservation ends.
    return np.ascontiguousarray(fit_image(_decoded(image)))


def fit_image(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Resize the shorter side of a uint8 image (height, width, 3) or (height, width) to 224 and crop the centre.

    Returns uint8 (224, 224, 3), the same pixels as torchvision's Resize(224) and CenterCrop(224) on a Pillow image.
    """
    image = np.asarray(image)
    if image.dtype != np.uint8 or image.ndim not in (2, 3) or (image.ndim == 3 and image.shape[2] != 3):
        raise DataError(f"image of type {image.dtype} and shape {image.shape}: pass uint8 (height, width, 3) or grey")
    height, width = image.shape[:2]
    if min(height, width) < 1 or max(height, width) > MAX_ASPECT * min(height, width):
        raise DataError(f"image of {width}x{height} pixels: use an image at most {MAX_ASPECT} times as long as wide")
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
            f"{name} has {image.width}x{image.height} pixels: use an image of at most {most // 10**6} megapixels"
        )


def _rgb(image: Image) -> NDArray[np.uint8]:
    require("PIL")
    from PIL import Image

    if image.mode.startswith("I"):  # 16-bit grey; Pillow's own conversion would clip all values above 255
        grey = np.clip(np.asarray(image, dtype=np.int64) >> 8, 0, 255).astype(np.uint8)
        return np.repeat(grey[..., None], 3, axis=2)
    if image.has_transparency_data:
        image = image.convert("RGBA")
        white = Image.new("RGBA", image.size, (255, 255, 255, 255))
        image = Image.alpha_composite(white, image)
    return np.array(image if image.mode == "RGB" else image.convert("RGB"))
