"""Rebuild stem.npz from torchvision's ResNet-18 and compare it with the shipped file.

Run `python -m tmlcd_core.features.rebuild_stem [--write FILE]`. The first run needs internet, later ones use torch's
cache.
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
    """Download torchvision's ResNet-18 for ImageNet; return its tensors by name."""
    weights = import_torchvision().models.ResNet18_Weights.IMAGENET1K_V1
    try:
        return weights.get_state_dict(progress=False, check_hash=True)
    except (OSError, RuntimeError, EOFError, UnpicklingError) as error:  # no network, a wrong digest, another file
        import torch

        folder = Path(torch.hub.get_dir()) / "checkpoints"
        raise DataError(
            f"{weights.url} cannot be downloaded ({error}): try again with internet, or copy the file to {folder}"
        ) from error


def stem_arrays(network: dict[str, Any]) -> dict[str, NDArray[np.float32]]:
    """Return the arrays of stem.npz from the tensors of a ResNet-18; the colour table is the shipped one."""
    arrays = {name: network[f"bn1.{name}"].numpy().astype("<f4") for name in NORM}
    arrays["conv1"] = network["conv1.weight"].numpy().astype("<f4")
    return arrays | {"eps": load_stem().eps, "viridis": load_stem().viridis}


def differences(arrays: dict[str, NDArray[np.float32]]) -> list[str]:
    """Return one line for every array, of any shape (n, …), that differs from the shipped one."""
    shipped = load_stem()
    return [
        f"{name}: {int((array != getattr(shipped, name)).sum())} of {array.size} numbers differ"
        for name, array in sorted(arrays.items())
        if not np.array_equal(array, getattr(shipped, name))
    ]


def main(arguments: list[str] | None = None) -> int:
    """Run the comparison; return 0 if the stems are equal, 1 if they differ, 2 if the download fails."""
    parser = argparse.ArgumentParser(description="Compare the shipped stem with torchvision's ResNet-18.")
    parser.add_argument("--write", metavar="FILE", help="write the rebuilt stem to FILE")
    options = parser.parse_args(arguments)
    try:
        arrays = stem_arrays(download())
    except DataError as error:
        print(error, file=sys.stderr)
        return 2
    found = differences(arrays)
    print("\n".join(found) or "the shipped stem is identical to torchvision's")
    if options.write:
        np.savez(options.write, allow_pickle=False, **arrays)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
