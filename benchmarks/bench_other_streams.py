"""Benchmark of accuracy at equal bytes on river's streams: Tandem beside the other learners.

The generators have another seed than those on which Tandem's rule was chosen (`benchmarks/tune_tandem.py`); the last
four streams are of kinds that the search does not have.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.tune_tandem import GENERATORS, INITIAL, LONG
from tmlcd_core import Experiment
from tmlcd_core.knn.storage import sample_bytes
from tmlcd_core.paper.equal_bytes import BUDGETS, BYTE_SETTINGS, IN_BYTES, NAMES, TANDEM

STREAMS = (*GENERATORS, "ConceptDriftStream", "Phishing", "Bananas", "ImageSegments")
SEED = 2
SHORT = 100  # initial samples of a stream with few samples


def accuracies(name: str, budget: str) -> dict[str, float]:
    """Return the accuracy of each learner on a stream of river at a budget, a key of `BUDGETS`."""
    base = Experiment(f"river:{name}", seed=SEED, initial=INITIAL, samples=LONG)
    if base.feature_pool().total < LONG:
        base = replace(base, initial=SHORT)
    stream = base.stream()
    fixed, each = BUDGETS[budget]
    bounded = replace(base, max_bytes=(fixed + each * len(stream.classes)) * sample_bytes(stream.X.shape[1]))
    found = {}
    for learners, settings, title in ((tuple(NAMES), {}, "{}"), (IN_BYTES, BYTE_SETTINGS, "{}, bytes, k = 5")):
        run = replace(bounded, learners=learners, settings=settings).run(keep_traces=False)
        found |= {title.format(NAMES[one]): result.metrics.accuracy for one, result in run.learners.items()}
    return found


def main() -> None:
    """Print Tandem's accuracy and the best other learner's on each stream, as a table in Markdown."""
    print("| stream | " + " | ".join(f"{TANDEM}, {budget} | best other" for budget in BUDGETS) + " |")
    print("|" + "---|" * (1 + 2 * len(BUDGETS)))
    for name in STREAMS:
        cells = []
        for budget in BUDGETS:
            found = accuracies(name, budget)
            ours = found.pop(TANDEM)
            best = max(found, key=lambda one: found[one])
            cells += [f"{ours:.3f}", f"{found[best]:.3f} ({best})"]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
