"""Registry of data sources by name, for the command line and the app."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from tmlcd_core.datasets.dataset import Kind, Source
from tmlcd_core.datasets.folder import FolderSource, is_folder
from tmlcd_core.datasets.images import (
    CIFAR10,
    FASHION_MNIST,
    IMAGENETTE,
    DigitsSource,
    DownloadedSource,
    ImagenetteSource,
)
from tmlcd_core.datasets.points import PointsSource
from tmlcd_core.errors import DataError
from tmlcd_core.optional_packages import missing_package
from tmlcd_core.progress import Progress, silent


class Request(NamedTuple):
    """Arguments of `open_source`."""

    words: Sequence[str] | None
    download: bool
    progress: Progress


@dataclass(frozen=True)
class SourceInfo:
    """Registry entry of a source: kind, description, function to open it, function that returns what is missing."""

    kind: Kind
    about: str
    open: Callable[[Request], Source]
    missing: Callable[[], str | None] = lambda: None


def _speech(variant: Literal["clean", "normal", "very noisy"]) -> Callable[[Request], Source]:
    def open_speech(request: Request) -> Source:
        from tmlcd_core.datasets.speech import WORDS, SpeechSource

        return SpeechSource(tuple(request.words or WORDS), variant)

    return open_speech


_ESPEAK = partial(missing_package, "espeakng_loader")

SOURCES: dict[str, SourceInfo] = {
    "speech": SourceInfo(
        "audio", "30 spoken commands, or any word you type, synthesised by eSpeak NG", _speech("normal"), _ESPEAK
    ),
    "speech-clean": SourceInfo("audio", "the same without noise", _speech("clean"), _ESPEAK),
    "speech-very-noisy": SourceInfo("audio", "the same with strong noise", _speech("very noisy"), _ESPEAK),
    "points": SourceInfo("vector", "10 clouds of points in the plane", lambda request: PointsSource()),
    "digits": SourceInfo(
        "image",
        "1,797 handwritten digits of 8x8 pixels, from scikit-learn",
        lambda request: DigitsSource(),
        partial(missing_package, "PIL"),
    ),
    "cifar10": SourceInfo(
        "image",
        "CIFAR-10: 50,000 photographs of 32x32 pixels in 10 classes",
        lambda request: DownloadedSource(CIFAR10, request.download),
        CIFAR10.missing,
    ),
    "fashion-mnist": SourceInfo(
        "image",
        "Fashion-MNIST: 60,000 pictures of clothes, 28x28 pixels in 10 classes",
        lambda request: DownloadedSource(FASHION_MNIST, request.download),
        FASHION_MNIST.missing,
    ),
    "imagenette": SourceInfo(
        "image",
        "Imagenette: 9,469 photographs in 10 classes of ImageNet",
        lambda request: ImagenetteSource(request.download, request.progress),
        IMAGENETTE.missing,
    ),
}


def open_source(
    name: str | Path,
    words: Sequence[str] | None = None,
    download: bool = False,
    progress: Progress = silent,
) -> Source:
    """Return a source by its name in `SOURCES`, or a folder of clips or images by its path.

    Parameters
    ----------
    name
        Name of a source, or path of a folder.
    words
        Words of a speech source instead of its 30 words; ignored by other sources.
    download
        Download the dataset if it is missing.
    progress
        Progress callback.

    Examples
    --------
    >>> open_source("digits").count("0")
    178
    """
    if info := SOURCES.get(str(name)):
        if not download and (missing := info.missing()):
            raise DataError(missing)
        return info.open(Request(words, download, progress))
    if not is_folder(name):
        raise DataError(f"{str(name)!r} is neither a folder nor one of {', '.join(SOURCES)}")
    return FolderSource(name, progress)
