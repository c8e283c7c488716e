"""The image gate: the one way by which pictures enter, and their crop for the extractor."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.errors import DataError

IMAGE_SIZE = 224  # pixels, ImageNet's crop (paper, Sec. 7.3)
MAX_ASPECT = 50  # a longer strip would be blown up to gigabytes before its middle is cropped


def fit_image(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The middle 224x224 of an image (height, width, 3) or (height, width), its shorter side resized to 224.

    The same pixels as torchvision's Resize(224) and CenterCrop(224) give on a Pillow image.
    """
    image = np.asarray(image)
    if image.dtype != np.uint8 or image.ndim not in (2, 3) or (image.ndim == 3 and image.shape[2] != 3):
        raise DataError(
            f"image of type {image.dtype} and shape {image.shape}: give uint8 (height, width, 3) or (height, width)"
        )
    height, width = image.shape[:2]
    if min(height, width) < 1 or max(height, width) > MAX_ASPECT * min(height, width):
        raise DataError(
            f"image of {width}x{height} pixels: give one at most {MAX_ASPECT} times as long as wide"
        )
    if image.ndim == 2:
        image = np.repeat(image[..., None], 3, axis=2)
    if (height, width) != (IMAGE_SIZE, IMAGE_SIZE):
        image = _shorter_side(image)
    top, left = (round((size - IMAGE_SIZE) / 2.0) for size in image.shape[:2])
    return image[top : top + IMAGE_SIZE, left : left + IMAGE_SIZE]


def _shorter_side(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    from PIL import Image

    height, width = image.shape[:2]
    if width <= height:
        size = (IMAGE_SIZE, int(IMAGE_SIZE * height / width))
    else:
        size = (int(IMAGE_SIZE * width / height), IMAGE_SIZE)
    if size == (width, height):
        return image
    return np.asarray(Image.fromarray(image).resize(size, Image.Resampling.BILINEAR))
