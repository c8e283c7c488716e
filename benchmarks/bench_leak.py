"""What the leak in the authors' code adds to the accuracy after the change: `python -m benchmarks leak`."""

from dataclasses import replace

import numpy as np

from tmlcd_core.learners import PAPER
from tmlcd_core.paper import paper_experiment
from tmlcd_core.paper.leak import with_leak

RUNS = 5
CLASSES = (2, 3)


def main() -> None:
    """Print accuracy before and after the change, with every clip once and with the leak, in the code's settings."""
    for classes in CLASSES:
        experiment = replace(paper_experiment(f"speech-class-change-{classes}", "code"), learners=PAPER)
        found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in PAPER}
        for seed in range(RUNS):
            run = replace(experiment, seed=seed)
            stream = run.stream()
            once, leaked = run.run_stream(stream), run.run_stream(with_leak(stream))
            for name in PAPER:
                fair, again = once.learners[name].metrics, leaked.learners[name].metrics
                found[name].append((fair.accuracy_before, fair.accuracy_after, again.accuracy_after))
        for name, values in found.items():
            before, fair, again = np.mean(values, axis=0)
            print(f"{classes} classes, {name:<7} before {before:.3f}  after {fair:.3f}  with the leak {again:.3f}")


if __name__ == "__main__":
    main()
