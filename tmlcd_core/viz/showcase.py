"""The run that Home plays: computed once and shipped, so that the first page needs no data and no compiler.

`python -m tmlcd_core.viz.showcase` computes it again and writes the file; a test keeps the two equal.
"""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.viz.player import PlayerRun

FILE = Path(__file__).with_name("showcase.npz")
FIELDS = ("predictions", "sizes", "statistic", "detections", "change_points")
SEED = 7
LENGTH, CHANGE, CONFIGURATION = 1500, 750, 60  # samples of the stream, of it before the change, and to fit on
DIMENSIONS = 8
THRESHOLD = 25.0  # h

ALT = (
    "All three learners are accurate until the change, where two of three classes swap places and they fall. "
    "The CUSUM statistic of the Active and the Hybrid Tiny kNN crosses its threshold, an alarm is raised, "
    "what is older than the estimated change is forgotten, and the accuracy recovers."
)


def stream(seed: int = SEED) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Three Gaussian classes; at the change two of them swap places, as words that swap meanings."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, CONFIGURATION + LENGTH)
    centres = rng.normal(0.0, 1.0, (3, DIMENSIONS))
    after = np.arange(len(labels)) >= CONFIGURATION + CHANGE
    place = np.where(after, np.array([0, 2, 1])[labels], labels)
    return centres[place] + rng.normal(0.0, 1.0, (len(labels), DIMENSIONS)), labels


def compute() -> dict[str, NDArray[Any]]:
    """Run the paper's three learners over the stream."""
    from tmlcd_core import ActiveTinyKNN, CondensingInTime, HybridTinyKNN

    samples, labels = stream()
    learners = {
        "cit": CondensingInTime(),
        "active": ActiveTinyKNN(window=200, threshold=THRESHOLD),
        "hybrid": HybridTinyKNN(max_size=200, threshold=THRESHOLD),
    }
    arrays: dict[str, NDArray[Any]] = {"labels": labels[CONFIGURATION:]}
    for key, learner in learners.items():
        learner.fit(samples[:CONFIGURATION], labels[:CONFIGURATION])
        trace = learner.run(samples[CONFIGURATION:], labels[CONFIGURATION:])
        for name in FIELDS:
            arrays[f"{key}.{name}"] = np.asarray(getattr(trace, name))
    return arrays


def load() -> PlayerRun:
    """The shipped run, ready for the player."""
    with np.load(FILE, allow_pickle=False) as stored:
        keys = [name.removesuffix(".sizes") for name in stored.files if name.endswith(".sizes")]
        traces = {key: SimpleNamespace(**{f: stored[f"{key}.{f}"] for f in FIELDS}) for key in keys}
        return PlayerRun.from_traces(
            "Three learners meet a change",
            traces,
            stored["labels"],
            threshold=THRESHOLD,
            changes=(CHANGE,),
            x_label="samples seen",
            alt=ALT,
        )


if __name__ == "__main__":
    np.savez_compressed(FILE, allow_pickle=False, **compute())
    print(f"wrote {FILE} ({FILE.stat().st_size} bytes)")
