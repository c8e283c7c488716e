"""Study: learners at equal bytes. Tandem beside the paper's learners, their byte versions, SAM-kNN, a window and river.

All learners see the same streams. Those of this project keep to the same bytes; river's cannot be limited, so they run
without a limit on some of the streams, and their memory is river's own estimate of its Python objects.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.errors import ConfigError, DataError
from tmlcd_core.experiments import Experiment, Results, sweep
from tmlcd_core.knn.storage import sample_bytes
from tmlcd_core.paper.study import Gain, Study, gain_of, require_pairs
from tmlcd_core.progress import Progress, silent

DATA = ("speech", "digits", "points")
CLASSES = (2, 3, 5)  # λ
RUNS = 10  # draws of the classes for each λ
RIVER_CLASSES, RIVER_SCENARIOS = 3, ("class change", "swap")  # river's take up to 0.1 s a sample: only these streams
PER_CLASS = 400  # samples of each class in a stream, if the data have so many
SOON = 100  # samples after a change
# Half of the words: nothing was chosen on them (`benchmarks/tune_speech.py`, `benchmarks/tune_tandem.py`).
WORDS = (
    "bed", "bird", "cat", "down", "happy", "left", "marvin", "one", "right", "seven", "sheila", "stop", "two",
    "up", "wow",
)  # fmt: skip
SCENARIOS: dict[str, dict[str, Any]] = {
    "class change": {"drift": "class-change"},
    "noise": {"drift": "noise"},
    "swap": {"drift": "labels-swapped"},
    "recurring": {"drift": "recurring"},
    "gradual": {"drift": "class-change", "over": 0.5},
    "none": {"drift": "none"},
}
BUDGETS = {"50": (50, 0), "100·λ": (0, 100)}  # samples of 4 d + 8 bytes: fixed, and for each class
BYTE_SETTINGS = {"storage": "uint8", "k": 5, "weights": "distance"}
TANDEM = "Tandem"
NAMES = {
    "cit": "CIT",
    "active": "Active",
    "hybrid": "Hybrid",
    "window": "Sliding window",
    "sam-knn": "SAM-kNN",
    "tandem": TANDEM,
}
IN_BYTES = ("cit", "active", "hybrid", "window")  # SAM-kNN's long-term memory holds cluster means: no byte version
RIVER = {
    "river-softmax": "river: online softmax",
    "river-tree": "river: Hoeffding adaptive tree",
    "river-forest": "river: adaptive random forest",
}
MEASURES = {"accuracy": "whole stream", "soon": f"{SOON} samples after a change"}


@dataclass(frozen=True)
class BytesCase:
    """Accuracy of one learner in one scenario, for data, budget and λ.

    Parameters
    ----------
    data, budget, scenario : str
        Name of the data or folder; a key of `BUDGETS`, empty for a learner without a limit; a key of `SCENARIOS`.
    classes : int
        λ.
    learner : str
        Name as in the tables.
    bytes : int
        Largest memory over all draws.
    accuracy, soon : list of float
        Accuracy over the whole stream and in the first samples after each change, one value per draw; `soon` is empty
        in streams without a change.
    """

    data: str
    budget: str
    scenario: str
    classes: int
    learner: str
    bytes: int
    accuracy: list[float]
    soon: list[float]


@dataclass(frozen=True)
class BytesComparison:
    """Tandem against one learner over the same streams: the mean of each draw of classes is one pair.

    `gain` is Tandem minus the learner with its 95 % interval; `p` is Wilcoxon's signed-rank test, corrected by Holm's
    method for the learners of the table; `won` of `pairs` draws were better with Tandem.
    """

    learner: str
    bytes: int
    accuracy: float
    soon: float
    gain: Gain
    p: float
    won: int
    pairs: int


@dataclass(frozen=True)
class Loss:
    """Scenario in which Tandem is clearly worse than a learner: the 95 % interval of `gain` lies below 0."""

    data: str
    budget: str
    scenario: str
    measure: str
    learner: str
    gain: Gain


class EqualBytes(Study[BytesCase]):
    """Result of the study: number of draws for each λ, and the cases."""

    CASE, COMMAND = BytesCase, "equal-bytes"

    @property
    def data(self) -> list[str]:
        """Names of the data."""
        return list(dict.fromkeys(case.data for case in self.cases))

    def draws(
        self,
        data: str,
        budget: str,
        learner: str,
        measure: str = "accuracy",
        scenarios: Sequence[str] = tuple(SCENARIOS),
    ) -> dict[tuple[int, int], float]:
        """Return the accuracy of each draw of classes, by λ and number: the mean over scenarios."""
        found: dict[tuple[int, int], list[float]] = {}
        for case in self.cases:
            if (case.data, case.budget, case.learner) == (data, budget, learner) and case.scenario in scenarios:
                for draw, value in enumerate(getattr(case, measure)):
                    found.setdefault((case.classes, draw), []).append(value)
        return {key: float(np.mean(values)) for key, values in found.items()}

    def scenarios(self, data: str, learner: str) -> list[str]:
        """Return the scenarios in which a learner ran on the data: all of them, or some for river's learners."""
        return list(dict.fromkeys(c.scenario for c in self.cases if (c.data, c.learner) == (data, learner)))

    def differences(
        self, data: str, budget: str, learner: str, measure: str = "accuracy", scenario: str = ""
    ) -> NDArray[np.float64]:
        """Return Tandem's accuracy minus the learner's for each draw, over the streams of both, shape (draws,)."""
        scenarios = [scenario] if scenario else self.scenarios(data, learner)
        ours = self.draws(data, budget, TANDEM, measure, scenarios)
        theirs = self.draws(data, "" if learner in RIVER.values() else budget, learner, measure, scenarios)
        return np.array([ours[key] - value for key, value in theirs.items()])

    def others(self, data: str, budget: str) -> list[str]:
        """Return the learners besides Tandem with this data and budget, or without a limit."""
        names = dict.fromkeys(c.learner for c in self.cases if c.data == data and c.budget in (budget, ""))
        return [name for name in names if name != TANDEM]

    def comparisons(self, data: str, budget: str) -> list[BytesComparison]:
        """Return Tandem against every other learner, the most accurate first."""
        others = self.others(data, budget)
        p_values = _holm([_wilcoxon(self.differences(data, budget, name)) for name in others])
        found = []
        for name, p in zip(others, p_values, strict=True):
            own = "" if name in RIVER.values() else budget
            cases = [c for c in self.cases if (c.data, c.budget, c.learner) == (data, own, name)]
            differences = self.differences(data, budget, name)
            overall, soon = (np.mean(list(self.draws(data, own, name, measure).values())) for measure in MEASURES)
            largest = max(case.bytes for case in cases)
            won = int((differences > 0).sum())
            found.append(
                BytesComparison(
                    name, largest, float(overall), float(soon), gain_of(differences), p, won, len(differences)
                )
            )
        return sorted(found, key=lambda one: -one.accuracy)

    def losses(self) -> list[Loss]:
        """Return where Tandem is clearly worse, the largest loss first: single scenarios, both measures."""
        found = []
        for data in self.data:
            for budget in BUDGETS:
                for name, measure, scenario in product(self.others(data, budget), MEASURES, SCENARIOS):
                    differences = self.differences(data, budget, name, measure, scenario)
                    if len(differences) > 1 and differences.mean() < 0:
                        lost = gain_of(differences)
                        found += [Loss(data, budget, scenario, measure, name, lost)] * (lost.sign < 0)
        return sorted(found, key=lambda one: one.gain.mean)


def sentence(study: EqualBytes) -> str:
    """Return what the study found: where Tandem is best over all scenarios, and where it clearly loses."""
    tables = {(data, budget): study.comparisons(data, budget) for data in study.data for budget in BUDGETS}
    best = [key for key, rows in tables.items() if all(one.gain.mean > 0 for one in rows)]
    clear = [key for key, rows in tables.items() if all(one.gain.sign > 0 for one in rows)]
    text = (
        f"Over all scenarios Tandem has the highest accuracy in {len(best)} of {len(tables)} combinations of data and "
        f"budget, clearly (95 % intervals against every other learner) in {len(clear)}."
    )
    losses = study.losses()
    if not losses:
        return f"{text} It clearly loses to no learner in any scenario."
    worst = losses[0]
    return (
        f"{text} In single scenarios it clearly loses {len(losses)} comparisons; the largest loss is "
        f"{-worst.gain.mean:.3f} to {worst.learner} ({worst.data}, {worst.scenario}, budget {worst.budget}, "
        f"{MEASURES[worst.measure]})."
    )


def river_streams(study: EqualBytes) -> str:
    """Return on which streams river's learners ran, such as "λ = 3, class change and swap, 10 draws"."""
    told = []
    for scenario in SCENARIOS:
        found = [one for one in study.data if any(scenario in study.scenarios(one, name) for name in RIVER.values())]
        if found:
            told.append(scenario if found == study.data else f"{scenario} ({', '.join(found)})")
    return f"λ = {RIVER_CLASSES}, {' and '.join(told)}, {study.runs} draws"


def river_sentence(study: EqualBytes) -> str:
    """Return how Tandem compares with each of river's learners on the same streams, over all data and budgets."""
    told = []
    rows = [one for data in study.data for budget in BUDGETS for one in study.comparisons(data, budget)]
    for name in RIVER.values():
        found = [one for one in rows if one.learner == name]
        if found:
            gains, clear = [one.gain.mean for one in found], sum(one.gain.sign > 0 for one in found)
            told.append(
                f"{name.removeprefix('river: ')} {min(gains):+.3f} to {max(gains):+.3f}, clearly above 0 in {clear} of "
                f"{len(found)}"
            )
    return (
        "River's learners have no limit of memory. Tandem's accuracy minus theirs on the same streams "
        f"({river_streams(study)}), by data and budget: {'; '.join(told)}."
    )


HEAD = ("learner", "bytes", "accuracy", f"{SOON} after", "Tandem − it", "p", "Tandem better")


def rows(study: EqualBytes, data: str, budget: str) -> list[list[str]]:
    """Return the table of one data and budget in the columns of `HEAD`, Tandem first."""
    ours = [np.mean(list(study.draws(data, budget, TANDEM, measure).values())) for measure in MEASURES]
    own = max(c.bytes for c in study.cases if (c.data, c.budget, c.learner) == (data, budget, TANDEM))
    found = [[TANDEM, f"{own:,}", f"{ours[0]:.3f}", f"{ours[1]:.3f}", "", "", ""]]
    for one in study.comparisons(data, budget):
        cells = [f"{one.bytes:,}", f"{one.accuracy:.3f}", f"{one.soon:.3f}", str(one.gain), f"{one.p:.2g}"]
        found.append([one.learner, *cells, f"{one.won} of {one.pairs}"])
    return found


LOSS_HEAD = ("data", "budget", "scenario", "measured over", "learner", "Tandem − it")


def loss_rows(study: EqualBytes) -> list[list[str]]:
    """Return the losses of Tandem in the columns of `LOSS_HEAD`, the largest first."""
    return [
        [one.data, one.budget, one.scenario, MEASURES[one.measure], one.learner, str(one.gain)]
        for one in study.losses()
    ]


def _wilcoxon(differences: NDArray[np.float64]) -> float:
    from scipy.stats import wilcoxon  # type: ignore[import-untyped]

    return float(wilcoxon(differences).pvalue) if differences.any() else 1.0


def _holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected for their number by Holm's method.

    >>> [round(p, 3) for p in _holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    corrected, highest = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(np.argsort(p_values)):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[i]))
        corrected[i] = highest
    return corrected


# -- the study -------------------------------------------------------------------------------------------------------


def hands(words: Sequence[str], size: int) -> Iterator[list[str]]:
    """Yield hands of `size` words from a shuffled pack, reshuffled when empty: all words appear about equally often."""
    rng = np.random.default_rng(size)
    while True:
        pack = rng.permutation(list(words)).tolist()
        for start in range(0, len(pack) - size + 1, size):
            yield pack[start : start + size]


def study_equal_bytes(
    data: Sequence[str] = DATA,
    runs: int = RUNS,
    folder: str | Path | None = None,
    jobs: int = -1,
    progress: Progress = silent,
    river: bool = True,
    classes: Sequence[int] = CLASSES,
) -> EqualBytes:
    """Run the study; finished runs in `folder` are not repeated.

    Parameters
    ----------
    data : sequence of str
        Names of data or folders. Speech uses the half of the words on which nothing was chosen.
    runs : int
        Draws of classes for each λ, with seeds 0, 1, …
    folder : path or None
        Folder of the runs, as in `sweep`.
    jobs : int
        Number of processes; -1 for one per core.
    progress : Progress
        Called after each run.
    river : bool
        Run river's learners as well.
    classes : sequence of int
        Numbers of classes λ; those that the data do not have are left out.

    Returns
    -------
    EqualBytes
    """
    require_pairs(runs)
    names = {name: Path(name).name for name in data}  # a result does not say where a folder is
    if len(set(names.values())) < len(names):
        raise ConfigError(f"two folders have the same name: {', '.join(names)}; rename one of them")
    planned = [one for name in names for one in _planned(name, runs, river, classes)]
    if len({experiment.base for *_, experiment in planned}) < len(planned):
        raise ConfigError(f"runs={runs}: the data have too few classes for so many different draws; use fewer runs")
    results = sweep([experiment for *_, experiment in planned], None, folder, jobs, progress=progress)
    found: dict[tuple, BytesCase] = {}
    for budget, scenario, number, experiment in planned:
        _add(found, (names[experiment.data], budget, scenario, number), experiment, results)
    return EqualBytes(runs, tuple(found.values()))


def _planned(data: str, runs: int, river: bool, numbers: Sequence[int]) -> list[tuple[str, str, int, Experiment]]:
    """Budget, scenario, λ and experiment of all runs on the data."""
    pool = Experiment(data, drift="none").feature_pool()
    names = WORDS if data == "speech" else tuple(pool.classes)
    sizes = [classes for classes in numbers if classes < len(names)]
    if not sizes:
        raise DataError(f"{data} has {len(names)} classes; the study needs at least {min(numbers) + 1}")
    d = Experiment(data, 2, names[:2], drift="none", per_class=1, train=1).stream().X.shape[1]
    found = []
    for classes in sizes:
        for seed, hand in enumerate(islice(hands(sorted(names), classes + 1), runs)):
            for scenario, changed in SCENARIOS.items():
                if scenario == "noise" and pool.kind == "vector":
                    continue  # there is no such effect
                words, new = tuple(hand[:-1]), hand[-1]
                base = Experiment(data, classes, words, new, seed=seed, per_class=PER_CLASS, runs=1, **changed)
                for budget, (fixed, each) in BUDGETS.items():
                    bounded = replace(base, max_bytes=(fixed + each * classes) * sample_bytes(d))
                    found.append((budget, scenario, classes, replace(bounded, learners=tuple(NAMES))))
                    in_bytes = replace(bounded, learners=IN_BYTES, settings=BYTE_SETTINGS)
                    found.append((budget, scenario, classes, in_bytes))
                if river and classes == RIVER_CLASSES and scenario in RIVER_SCENARIOS:
                    found.append(("", scenario, classes, replace(base, learners=tuple(RIVER))))
    return found


def _add(
    found: dict[tuple, BytesCase], key: tuple[str, str, str, int], experiment: Experiment, results: Results
) -> None:
    """Add the run of an experiment to the cases of its learners."""
    [run] = results.runs(experiment)
    for name, one in run.learners.items():
        title = RIVER.get(name) or NAMES[name] + (", bytes, k = 5" if experiment.settings else "")
        case = found.get((*key, title)) or BytesCase(*key, title, 0, [], [])
        case.accuracy.append(round(float(one.correct.mean()), 5))
        soon = [one.correct[change : change + SOON].mean() for change in run.changes]
        if soon:
            case.soon.append(round(float(np.mean(soon)), 5))
        found[(*key, title)] = replace(case, bytes=max(case.bytes, one.metrics.peak_bytes))
