"""T, time and test in flash: the power is cut after every byte, on a simulated flash of two sectors."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tmlcd_core import ActiveTinyKNN, CondensingInTime, HybridTinyKNN, Tandem
from tmlcd_core.mcu import export_firmware
from tmlcd_core.mcu.device import _makefile_list, host_compiler

DRIVER = Path(__file__).parent / "c_power_cut.c"
TEST = {"threshold": 2, "batch": 5, "warmup": 10}
X = np.random.default_rng(0).normal(size=(8, 2)).astype(np.float32)
Y = np.arange(8) % 2
MODELS = {
    "hybrid": (lambda: HybridTinyKNN(max_size=8, **TEST), "uint8", 1800, 70),
    "active": (lambda: ActiveTinyKNN(window=8, **TEST), "float32", 2048, 70),
    "cit": (lambda: CondensingInTime(max_size=8), "int16", 512, 70),
    "tandem": (lambda: Tandem(max_bytes=400, **TEST), "auto", 2100, 50),
}


def cut_everywhere(firmware, folder: Path, sector: int, samples: int) -> tuple[int, int]:
    firmware.write(folder)
    shutil.copy(DRIVER, folder)
    flags = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", f"-DPOWER_CUT_SECTOR={sector}"]
    sources = [*_makefile_list(folder, "CORE"), "flash_store.c", DRIVER.name]
    subprocess.run([*host_compiler(), *flags, *sources, "-o", "cut"], cwd=folder, check=True)
    done = subprocess.run(["./cut", str(samples)], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    cuts, lost = map(int, done.stdout.split())
    return cuts, lost


@pytest.mark.parametrize("name", MODELS)
def test_a_power_cut_at_any_byte_loses_at_most_the_last_sample(name, tmp_path):
    """The whole state, to the last bit, is that before or after the sample; and the learner goes on from there."""
    make, store, sector, samples = MODELS[name]
    cuts, lost = cut_everywhere(export_firmware(make().fit(X, Y), store=store), tmp_path, sector, samples)
    assert cuts > 2 * sector, "the sectors have changed at least once"
    assert 0 < lost <= cuts


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("if (crc != crc32(crc32(0, &found", "if (0 && crc != crc32(crc32(0, &found"),  # believe torn records
        ("uint32_t other = 1 - current", "uint32_t other = current"),  # overwrite the only good sector
    ],
    ids=["record", "sector"],
)
def test_mistakes_in_the_store_are_caught(old, new, tmp_path):
    make, store, sector, samples = MODELS["hybrid"]
    firmware = export_firmware(make().fit(X, Y), store=store)
    text = firmware.files["flash_store.c"]
    assert old in text
    firmware.files["flash_store.c"] = text.replace(old, new)
    with pytest.raises(AssertionError):
        cut_everywhere(firmware, tmp_path, sector, samples)
