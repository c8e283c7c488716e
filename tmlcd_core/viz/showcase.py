"""Example run of the page Home: the experiment `START`, computed once from the prepared pack and stored next to it.

Home then needs neither learners nor compiled code. `python -m tmlcd_core data pack` writes it with the pack; a test
compares it with a new run of the learners.
"""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.errors import DataError
from tmlcd_core.shipped_data import PLACE
from tmlcd_core.viz.player import PlayerRun

FILE = "showcase.npz"
FIELDS = ("predictions", "sizes", "statistic", "detections", "change_points")
THRESHOLD = 25.0  # h

ALT = (
    "The accuracy of all learners is high until two words swap their meanings, and then drops. The static kNN, which "
    "never learns, stays there. The CUSUM statistic of the Active and the Hybrid Tiny kNN reaches its threshold and "
    "raises an alarm: they forget the samples before the estimated change, and the accuracy recovers."
)


def compute(folder: str | Path = PLACE) -> dict[str, NDArray[Any]]:
    """Run the experiment `START` over the pack of a folder; return its arrays."""
    from tmlcd_core.datasets import load_pack
    from tmlcd_core.experiments import Experiment
    from tmlcd_core.streams.feature_pools import pack_pool

    experiment = Experiment.from_link("")
    stream = experiment.stream(pack_pool(load_pack(folder)))
    arrays: dict[str, NDArray[Any]] = {
        "labels": stream.y,
        "words": np.array(stream.scenario.start.classes),
        "changes": np.array(stream.changes),
    }
    for name, found in experiment.run_stream(stream).learners.items():
        trace = found.trace
        arrays |= {f"{name}.{field}": np.asarray(getattr(trace, field)) for field in FIELDS}
    return arrays


def write(folder: str | Path) -> int:
    """Compute the run from the pack of a folder and write it next to it; return its size in bytes."""
    path = Path(folder, FILE)
    np.savez_compressed(path, allow_pickle=False, **compute(folder))
    return path.stat().st_size


def load_showcase(folder: str | Path = PLACE) -> PlayerRun:
    """Return the stored run for the player."""
    path = Path(folder, FILE)
    if not path.exists():
        raise DataError(f"there is no {path}; make it with `python -m tmlcd_core data pack --out {folder}`")
    with np.load(path, allow_pickle=False) as stored:
        keys = [name.removesuffix(".sizes") for name in stored.files if name.endswith(".sizes")]
        traces = {key: SimpleNamespace(**{f: stored[f"{key}.{f}"] for f in FIELDS}) for key in keys}
        one, other = stored["words"][:2]
        return PlayerRun.from_traces(
            f"Spoken words, then “{one}” and “{other}” swap their meanings",
            traces,
            stored["labels"],
            threshold=THRESHOLD,
            changes=tuple(stored["changes"].tolist()),
            x_label="samples seen",
            alt=ALT,
            change_texts=(f"“{one}” and “{other}” swapped",),
        )
