"""Every source by its name, for the command line and the app."""

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
    """What `open_source` was asked for."""

    words: Sequence[str] | None
    download: bool
    progress: Progress


@dataclass(frozen=True)
class SourceInfo:
    """One line about a source, how to open it, and what this machine lacks for it (None: nothing)."""

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
        "audio", "30 spoken commands, or any word you type, made by eSpeak NG", _speech("normal"), _ESPEAK
    ),
    "speech-clean": SourceInfo("audio", "the same without noise", _speech("clean"), _ESPEAK),
    "speech-very-noisy": SourceInfo("audio", "the same with strong noise", _speech("very noisy"), _ESPEAK),
    "points": SourceInfo("vector", "10 clouds of points in the plane, made at once", lambda request: PointsSource()),
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
    """A source by its name in `SOURCES`, or any folder of clips or images by its path.

    Parameters
    ----------
    words
        What speech is to say, instead of its 30 words; the other sources have the classes they have.
    download
        Fetch the source if it is absent.

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
