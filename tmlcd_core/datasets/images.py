"""Public image datasets: scikit-learn's digits, and three datasets downloaded by torchvision."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.datasets.cache import cache_folder
from tmlcd_core.datasets.dataset import Kind
from tmlcd_core.datasets.folder import FolderSource, some
from tmlcd_core.errors import DataError
from tmlcd_core.progress import Progress, silent

DIGIT_LEVELS = 15  # of 255 grey levels per step of scikit-learn's 0..16: no rounding is needed
TIMEOUT = 30.0  # seconds without data after which a download is aborted

IMAGENETTE_NAMES = {
    "n01440764": "tench",
    "n02102040": "English springer",
    "n02979186": "cassette player",
    "n03000684": "chain saw",
    "n03028079": "church",
    "n03394916": "French horn",
    "n03417042": "garbage truck",
    "n03425413": "gas pump",
    "n03445777": "golf ball",
    "n03888257": "parachute",
}


class _Images:
    """Base class of sources with all images, of equal size, in one array."""

    name: str
    kind: Kind = "image"
    sample_rate: int | None = None

    @property
    def classes(self) -> tuple[str, ...]:
        """Sorted labels."""
        return tuple(sorted(self._rows))

    def count(self, label: str) -> int:
        """Return the number of images of a class."""
        return len(self._of(label))

    def media(self, label: str, indices: Sequence[int]) -> NDArray[np.uint8]:
        """Return images of a class, uint8 (n, height, width, 3)."""
        images = self._loaded[0][self._of(label)[np.asarray(indices, np.int64)]]
        return images if images.ndim == 4 else np.repeat(images[..., None], 3, axis=3)

    def _load(self) -> tuple[NDArray[np.uint8], NDArray[np.str_]]:
        """Images (n, h, w) or (n, h, w, 3) and their labels."""
        raise NotImplementedError

    @cached_property
    def _loaded(self) -> tuple[NDArray[np.uint8], NDArray[np.str_]]:
        return self._load()

    @cached_property
    def _rows(self) -> dict[str, NDArray[np.int64]]:
        labels = self._loaded[1]
        return {str(name): np.flatnonzero(labels == name) for name in np.unique(labels)}

    def _of(self, label: str) -> NDArray[np.int64]:
        if label not in self._rows:
            raise DataError(f"no class {label!r} in {self.name}; it has {some(self.classes)}")
        return self._rows[label]


class DigitsSource(_Images):
    """Source of scikit-learn's 1,797 handwritten digits of 8x8 pixels.

    Examples
    --------
    >>> source = DigitsSource()
    >>> source.count("7"), int(source.media("7", [0]).sum())
    (179, 13050)
    """

    name = "digits"
    key = "sklearn-1"

    def _load(self) -> tuple[NDArray[np.uint8], NDArray[np.str_]]:
        from sklearn.datasets import load_digits

        digits = load_digits()
        return (digits.images * DIGIT_LEVELS).astype(np.uint8), digits.target.astype(str)


@dataclass(frozen=True)
class Download:
    """Dataset downloaded by torchvision: class name and arguments, size in megabytes, folder that must exist."""

    name: str
    dataset: str
    options: dict[str, object]
    megabytes: int
    holds: str

    def folder(self) -> Path:
        """Return the folder of the dataset, which may not exist yet."""
        return cache_folder() / "downloads" / self.name

    def present(self) -> bool:
        """Return True if the dataset is on this machine."""
        return os.path.isdir(self.folder() / self.holds)

    def missing(self) -> str | None:
        """Return a message with the download command and the folder; None if the dataset is present."""
        if self.present():
            return None
        return (
            f"{self.name} ({self.megabytes} MB) is not on this machine; with internet run "
            f"`python -m tmlcd_core data make {self.name} --download`, "
            f"or unpack it so that {self.folder() / self.holds} exists"
        )

    def fetch(self) -> None:
        """Download the dataset unless it is present; it is moved to its folder only when complete."""
        if self.present():
            return
        partial = self.folder() / "partial"
        before = socket.getdefaulttimeout()
        try:
            socket.setdefaulttimeout(TIMEOUT)
            partial.mkdir(parents=True, exist_ok=True)
            with contextlib.redirect_stdout(sys.stderr):
                self.open(partial, download=True)
            for found in list(partial.iterdir()):
                if found.is_dir():  # the archives are removed with the partial folder
                    os.replace(found, self.folder() / found.name)
        except Exception as error:  # no network, a full disk, a truncated archive or a wrong digest
            if missing := self.missing():  # otherwise another process has downloaded it meanwhile
                reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
                raise DataError(f"{self.name} cannot be downloaded ({reason}); {missing}") from error
        finally:
            socket.setdefaulttimeout(before)
            if self.present():
                shutil.rmtree(partial, ignore_errors=True)

    def open(self, root: Path, download: bool = False) -> object:
        """Return torchvision's dataset in the folder `root`."""
        from tmlcd_core.features.torchvision_ops import import_torchvision

        return getattr(import_torchvision().datasets, self.dataset)(str(root), download=download, **self.options)


CIFAR10 = Download("cifar10", "CIFAR10", {"train": True}, 163, "cifar-10-batches-py")
FASHION_MNIST = Download("fashion-mnist", "FashionMNIST", {"train": True}, 29, "FashionMNIST")
IMAGENETTE = Download("imagenette", "Imagenette", {"split": "train", "size": "320px"}, 326, "imagenette2-320")


class DownloadedSource(_Images):
    """Source of the training part of CIFAR-10 or Fashion-MNIST, in torchvision's order.

    Parameters
    ----------
    which
        `CIFAR10` or `FASHION_MNIST`.
    download
        Download the dataset if it is missing; otherwise a `DataError` names the download command and the folder.
    """

    def __init__(self, which: Download, download: bool = False) -> None:
        self.name, self.key, self._which = which.name, "torchvision-1", which
        _ensure(which, download)

    def _load(self) -> tuple[NDArray[np.uint8], NDArray[np.str_]]:
        try:
            found = self._which.open(self._which.folder())
        except (RuntimeError, OSError, ValueError, EOFError, AssertionError) as error:  # torchvision's errors
            reason = str(error) or type(error).__name__
            raise DataError(
                f"{self.name} in {self._which.folder()} is damaged ({reason}); remove that folder and download it again"
            ) from error
        names = np.array([name.replace("/", " or ") for name in found.classes])  # type: ignore[attr-defined]
        labels = names[np.asarray(found.targets)]  # type: ignore[attr-defined]
        return np.asarray(found.data, np.uint8), labels  # type: ignore[attr-defined]


class ImagenetteSource(FolderSource):
    """Source of Imagenette: ten easy classes of ImageNet, photographs of 320 pixels.

    Parameters
    ----------
    download
        Download the dataset if it is missing; otherwise a `DataError` names the download command and the folder.
    progress
        Progress callback of the scan.
    """

    def __init__(self, download: bool = False, progress: Progress = silent) -> None:
        _ensure(IMAGENETTE, download)
        super().__init__(IMAGENETTE.folder() / IMAGENETTE.holds, progress=progress)
        self.name = IMAGENETTE.name
        self._files = {IMAGENETTE_NAMES.get(label, label): files for label, files in self._files.items()}


def _ensure(which: Download, download: bool) -> None:
    if download:
        which.fetch()
    if missing := which.missing():
        raise DataError(missing)
