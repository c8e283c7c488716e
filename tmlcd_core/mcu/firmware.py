"""Exported C project: files, check and configuration (`Firmware`)."""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.mcu.boards import Board
from tmlcd_core.mcu.budget import Budget, FirmwareConfiguration, budget
from tmlcd_core.mcu.check import Check
from tmlcd_core.mcu.expected_output import quantised


@dataclass(frozen=True)
class Firmware:
    """Exported C project: text files by path, check, and configuration.

    `offset` and `scale` map a feature x to its stored value round((x - offset) * scale); float32 stores x.
    `farthest` is the squared distance from T, in stored steps, beyond which an answer is "unknown", or None.
    `named` (n, d) are the stored values of the named samples, which count as those of T for it.
    `samples_per_class` counts the exported T: 0 for a class that was forgotten or has not appeared yet.
    """

    board: Board
    configuration: FirmwareConfiguration
    classes: tuple[str, ...]
    samples_per_class: Mapping[str, int]
    fused: bool
    offset: float
    scale: float
    farthest: float | None
    named: NDArray[np.float32]
    files: Mapping[str, str]
    check: Check | None

    @property
    def budget(self) -> Budget:
        """Memory budget of the configuration."""
        return budget(self.configuration)

    def quantise(self, X: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return X (n, d) as the device stores it, in float32; a Python model of these makes the device's decisions.

        Tandem's layers see the features as they are: X is returned.
        """
        return quantised(X, self.configuration, self.offset, self.scale)

    def contents(self) -> dict[str, bytes]:
        """Return all files of the project by path, including the check if there is one."""
        found = {name: text.encode() for name, text in self.files.items()}
        if self.check is not None:
            found |= {"stream.bin": self.check.stream, "expected.txt": self.check.expected}
        return found

    def zip(self) -> bytes:
        """Return the project as the bytes of a zip; deterministic."""
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in sorted(self.contents().items()):
                info = zipfile.ZipInfo(f"tmlcd-firmware/{name}", date_time=(1980, 1, 1, 0, 0, 0))
                info.compress_type = zipfile.ZIP_DEFLATED
                info.external_attr = 0o644 << 16
                archive.writestr(info, content)
        return out.getvalue()

    def write(self, folder: str | Path) -> Path:
        """Write the project to `folder`, which is created if needed, and return its path.

        All files are written to a temporary folder on the same disk and then renamed, so that a failed write (full
        disk) leaves `folder` unchanged.
        """
        root = Path(folder)
        exists = root.is_dir()
        beside = root if exists else root.parent
        beside.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".tmlcd-", dir=beside) as temporary:
            made = Path(temporary) / "project"
            for name, content in self.contents().items():
                path = made / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            if not exists:
                made.rename(root)
                return root
            for name in self.contents():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
            for name in self.contents():
                (made / name).replace(root / name)
        return root

    def in_words(self) -> str:
        """Return a sentence on the samples per class in the exported T, and the classes without samples.

        Examples
        --------
        >>> from tmlcd_core import HybridTinyKNN
        >>> model = HybridTinyKNN(max_size=50).fit([[0.0], [1.0], [1.1]], ["no", "yes", "yes"])
        >>> from tmlcd_core.mcu import export_firmware
        >>> export_firmware(model, classes=["up"]).in_words()
        'T holds 1 “no”, 2 “yes”; no “up” (forgotten, or not met yet: the device learns it from labelled samples)'
        """
        held = [f"{count} “{name}”" for name, count in self.samples_per_class.items() if count]
        absent = [f"“{name}”" for name, count in self.samples_per_class.items() if not count]
        text = f"T holds {', '.join(held)}"
        if absent:
            reason = "forgotten, or not met yet: the device learns it from labelled samples"
            text += f"; no {', '.join(absent)} ({reason})"
        return text
