"""Image effects: functions from a uint8 image (height, width, 3) and a strength in 0..1 to the changed image."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

ImagePixels = NDArray[np.uint8]

NOISE_SD = 100.0  # grey levels
BLUR_SIGMA = 0.04  # of the shorter side
DARKENED = 0.9  # of the light
ROTATED = 45.0  # degrees
OCCLUDED = 0.6  # of the area
GREY = 128


def add_pixel_noise(image: ImagePixels, strength: float, rng: np.random.Generator) -> ImagePixels:
    """Return the image with Gaussian noise of a standard deviation of up to NOISE_SD."""
    return _rounded(image + NOISE_SD * strength * rng.standard_normal(image.shape))


def blur(image: ImagePixels, strength: float, rng: np.random.Generator) -> ImagePixels:
    """Return the image after a Gaussian blur with a sigma of up to BLUR_SIGMA of the shorter side."""
    sigma = BLUR_SIGMA * strength * min(image.shape[:2])
    down, across = (_gaussian(size, sigma) for size in image.shape[:2])
    return _rounded(np.einsum("ij,jkc,lk->ilc", down, image.astype(np.float64), across, optimize=True))


def darken(image: ImagePixels, strength: float, rng: np.random.Generator) -> ImagePixels:
    """Return the image with its brightness reduced by up to DARKENED."""
    return _rounded(image * (1 - DARKENED * strength))


def rotate(image: ImagePixels, strength: float, rng: np.random.Generator) -> ImagePixels:
    """Return the image rotated about its centre by up to ROTATED degrees, bilinear, with the edge pixels repeated."""
    angle = np.deg2rad(ROTATED * strength)
    height, width = image.shape[:2]
    y, x = np.mgrid[:height, :width].astype(np.float64) - (np.array([height, width]).reshape(2, 1, 1) - 1) / 2
    row = np.clip(np.cos(angle) * y + np.sin(angle) * x + (height - 1) / 2, 0, height - 1)
    column = np.clip(np.cos(angle) * x - np.sin(angle) * y + (width - 1) / 2, 0, width - 1)
    top, left = (
        np.minimum(row.astype(int), max(height - 2, 0)),
        np.minimum(column.astype(int), max(width - 2, 0)),
    )
    bottom, right = np.minimum(top + 1, height - 1), np.minimum(left + 1, width - 1)
    v, u = (row - top)[..., None], (column - left)[..., None]
    upper = (1 - u) * image[top, left] + u * image[top, right]
    lower = (1 - u) * image[bottom, left] + u * image[bottom, right]
    return _rounded((1 - v) * upper + v * lower)


def occlude(image: ImagePixels, strength: float, rng: np.random.Generator) -> ImagePixels:
    """Return the image with up to OCCLUDED of it covered by a grey rectangle at a random position.

    With the same seed, a stronger rectangle covers a weaker one except for at most one pixel at the edges.
    """
    out = image.copy()
    sides = np.array(image.shape[:2]) * np.sqrt(OCCLUDED * strength)
    first = np.floor(rng.random(2) * (image.shape[:2] - sides)).astype(int)
    last = np.ceil(first + sides).astype(int)
    out[first[0] : last[0], first[1] : last[1]] = GREY
    return out


def _gaussian(size: int, sigma: float) -> NDArray[np.float64]:
    """Matrix (size, size) that blurs one axis; rows near the edge are normalised to the pixels inside."""
    distance = np.subtract.outer(np.arange(size), np.arange(size)) / sigma
    weights = np.exp(-0.5 * distance**2)
    return weights / weights.sum(axis=1, keepdims=True)


def _rounded(values: NDArray) -> ImagePixels:
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)
