"""Picture and WAV file of one clip or image."""

from __future__ import annotations

import io
import wave

import numpy as np
from numpy.typing import NDArray

SIDE = 224  # px, to which small pictures are enlarged without blurring their pixels
ASPECT = 1.6  # width to height of a spectrogram as shown


def picture(medium: NDArray) -> NDArray[np.uint8]:
    """Return an RGB picture (height, width, 3): the image itself, or the spectrogram of a clip.

    >>> picture(np.full((8, 8, 3), 7, np.uint8)).shape
    (224, 224, 3)
    """
    if medium.ndim == 1:
        from tmlcd_core.features import Extractor

        rows = Extractor().stages(medium).coloured[::-1]  # low frequencies at the bottom
        image = (rows * 255).astype(np.uint8)
        wide = max(1, round(ASPECT * image.shape[0] / image.shape[1]))
        return np.repeat(image, wide, axis=1)
    factor = max(1, SIDE // max(medium.shape[:2]))
    return np.repeat(np.repeat(medium, factor, axis=0), factor, axis=1)


def wav(clip: NDArray, sample_rate: int) -> bytes:
    """Return a clip (samples,) as the bytes of a 16-bit WAV file.

    >>> len(wav(np.zeros(100), 22050))
    244
    """
    with wave.open(buffer := io.BytesIO(), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sample_rate)
        file.writeframes((np.clip(clip, -1, 1) * 32767).astype("<i2").tobytes())
    return buffer.getvalue()
