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


F4, H7 = "F4 and F7, words of 4 bytes", "H7, 32 bytes with an ECC"
UNITS = {F4: (4, ()), H7: (32, ("-fsanitize=address,undefined",))}
CASES = [
    pytest.param(name, kind, marks=[pytest.mark.slow] * (kind == H7 and name in ("active", "tandem")))
    for name in MODELS
    for kind in UNITS
]


def cut_everywhere(
    firmware, folder: Path, sector: int, samples: int, unit: int = 4, more: tuple[str, ...] = ()
) -> tuple[int, int]:
    firmware.write(folder)
    shutil.copy(DRIVER, folder)
    flags = [
        "-std=c99",
        "-O2",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-ffp-contract=off",
        f"-DPOWER_CUT_SECTOR={sector}",
        f"-DFLASH_UNIT={unit}",
        *more,
    ]
    sources = [*_makefile_list(folder, "CORE"), "flash_store.c", DRIVER.name]
    subprocess.run([*host_compiler(), *flags, *sources, "-o", "cut"], cwd=folder, check=True)
    done = subprocess.run(["./cut", str(samples)], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    cuts, lost = map(int, done.stdout.split())
    return cuts, lost


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_a_power_cut_at_any_byte_loses_at_most_the_last_sample(name, kind, tmp_path):
    """The whole state, to the last bit, is that before or after the sample; and the learner goes on from there.

    A unit of the H7 whose writing or erasing was cut must not be read: the address sanitizer stops such a program.
    """
    make, store, sector, samples = MODELS[name]
    unit, more = UNITS[kind]
    if more and not shutil.which("gcc"):
        pytest.skip("gcc is not installed: its address sanitizer marks the units that must not be read")
    sector += -sector % unit + (1024 if more else 0)  # records take more room
    cuts, lost = cut_everywhere(export_firmware(make().fit(X, Y), store=store), tmp_path, sector, samples, unit, more)
    assert cuts > 2 * sector, "the sectors have changed at least once"
    assert 0 < lost <= cuts


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("if (crc != crc32(crc32(0, &found", "if (0 && crc != crc32(crc32(0, &found"),  # believe torn records
        ("uint32_t other = 1 - current", "uint32_t other = current"),  # overwrite the only good sector
        ("if (!flash_intact(current, at, sizeof found))", "if (0)"),  # read a torn unit
        ("if (!flash_intact(sector, 0, sizeof *found))", "if (0)"),
        ("in_units((uint32_t)sizeof made + features + 4)", "padded((uint32_t)sizeof made + features + 4)"),
    ],
    ids=["record", "sector", "torn record", "torn header", "half a unit"],
)
def test_mistakes_in_the_store_are_caught(old, new, tmp_path):
    make, store, sector, samples = MODELS["hybrid"]
    firmware = export_firmware(make().fit(X, Y), store=store)
    text = firmware.files["flash_store.c"]
    assert old in text
    firmware.files["flash_store.c"] = text.replace(old, new)
    unit, more = UNITS[H7 if "intact" in old or "in_units" in old else F4]
    if more and not shutil.which("gcc"):
        pytest.skip("gcc is not installed: its address sanitizer marks the units that must not be read")
    with pytest.raises(AssertionError):
        cut_everywhere(firmware, tmp_path, sector + -sector % unit, samples, unit, more)
