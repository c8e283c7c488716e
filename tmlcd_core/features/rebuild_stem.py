"""Rebuild stem.npz from torchvision's own download and compare it with the shipped one.

`python -m tmlcd_core.features.rebuild_stem [--write FILE]`; it needs internet once, then torch's cache.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.errors import DataError
from tmlcd_core.features.stem import load_stem
from tmlcd_core.features.torchvision_ops import import_torchvision

NORM = ("weight", "bias", "running_mean", "running_var")


def download() -> dict[str, Any]:
    """torchvision's ResNet-18 for ImageNet, name to tensor."""
    weights = import_torchvision().models.ResNet18_Weights.IMAGENET1K_V1
    try:
        return weights.get_state_dict(progress=False, check_hash=True)
    except (OSError, RuntimeError, EOFError, UnpicklingError) as error:  # no network, a wrong digest, another file
        import torch

        folder = Path(torch.hub.get_dir()) / "checkpoints"
        raise DataError(
            f"{weights.url} could not be fetched ({error}): with internet try again, or put it into {folder} by hand"
        ) from error


def stem_arrays(network: dict[str, Any]) -> dict[str, NDArray[np.float32]]:
    """What stem.npz holds, cut out of a whole ResNet-18; the colour table is the shipped one."""
    arrays = {name: network[f"bn1.{name}"].numpy().astype("<f4") for name in NORM}
    arrays["conv1"] = network["conv1.weight"].numpy().astype("<f4")
    return arrays | {"eps": load_stem().eps, "viridis": load_stem().viridis}


def differences(arrays: dict[str, NDArray[np.float32]]) -> list[str]:
    """One line for every array that is not, bit for bit, the shipped one."""
    shipped = load_stem()
    return [
        f"{name}: {int((array != getattr(shipped, name)).sum())} of {array.size} numbers differ"
        for name, array in sorted(arrays.items())
        if not np.array_equal(array, getattr(shipped, name))
    ]


def main(arguments: list[str] | None = None) -> int:
    """0 if torchvision's stem is the shipped one, 1 if it differs, 2 if it cannot be had."""
    parser = argparse.ArgumentParser(description="Compare the shipped stem with torchvision's own download.")
    parser.add_argument("--write", metavar="FILE", help="write the rebuilt stem there")
    options = parser.parse_args(arguments)
    try:
        arrays = stem_arrays(download())
    except DataError as error:
        print(error, file=sys.stderr)
        return 2
    found = differences(arrays)
    print("\n".join(found) or "the shipped stem is torchvision's, bit for bit")
    if options.write:
        np.savez(options.write, allow_pickle=False, **arrays)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
