"""Study: when does forgetting pay? Hybrid against CIT by the share of the training set T that a change made wrong.

Hybrid differs from CIT in two ways: a bound on |T|, and a test whose alarm removes the samples older than the change.
The study measures both separately, and a perfect alarm beside the test, for changes of m of λ classes:

- replaced: another class appears under the old label. The stored samples of that label are useless, but rarely in the
  way, because samples like them no longer come.
- rotated: m classes pass their labels on. The stored samples of these labels are wrong.

The classes are drawn at random in every run, so m/λ is the expected share of T that is useless or wrong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.detectors import calibrate_threshold
from tmlcd_core.errors import DataError
from tmlcd_core.experiments import Experiment, Results, sweep
from tmlcd_core.experiments.runs import LearnerRun
from tmlcd_core.learners import settings_of
from tmlcd_core.paper.study import Gain, Study, gain_of, require_pairs
from tmlcd_core.progress import Progress, silent

DATA = ("speech", "digits")
CLASSES = (2, 3, 5, 10)  # λ
RUNS = 20  # paper, Sec. 7.3
AFTER = 500  # samples after the change, in which the accuracy is measured
FALSE_ALARMS, HORIZON = 0.05, 1000  # h is calibrated to this probability of a false alarm within so many samples
LONGEST = 10_000  # samples of a stream; a longer one, such as speech with λ = 10, is left out to save time
CALM = ("cit-bounded",)  # learner whose accuracy without a change calibrates h
STUDIED = ("cit", "cit-bounded", "hybrid", "hybrid-unbounded", "known-change")
KINDS = {"replaced": "class-change", "rotated": "labels-swapped"}  # kind of change to drift
NO_CHANGE = "none"  # drift of m = 0, which belongs to both kinds
# Parts of the difference between Hybrid and CIT: the better learner minus the other.
SPLIT = {
    "hybrid": ("hybrid", "cit"),
    "bound": ("cit-bounded", "cit"),
    "alarm": ("hybrid", "cit-bounded"),
    "alarm without bound": ("hybrid-unbounded", "cit"),
    "perfect alarm": ("known-change", "cit-bounded"),
}


@dataclass(frozen=True)
class ForgettingCase:
    """One point of the study: data, kind of change, and m of λ classes affected.

    Parameters
    ----------
    data, kind : str
        Name of the data; "replaced" or "rotated".
    classes, affected : int
        λ and m.
    threshold : float
        Calibrated h of the test.
    samples : int
        Samples after the change over which the accuracy is the mean.
    accuracy : dict
        Accuracy after the change of each learner, a list with one value per run.
    link : str
        Link of the experiment with CIT and Hybrid in the Drift lab.
    """

    data: str
    kind: str
    classes: int
    affected: int
    threshold: float
    samples: int
    accuracy: dict[str, list[float]]
    link: str

    @property
    def share(self) -> float:
        """Expected share of T that is useless or wrong after the change, m/λ."""
        return self.affected / self.classes

    def differences(self, part: str) -> NDArray[np.float64]:
        """Return the difference of accuracy of a part of `SPLIT`, shape (runs,)."""
        one, other = (np.array(self.accuracy[learner]) for learner in SPLIT[part])
        return one - other

    def gain(self, part: str) -> Gain:
        """Return the `Gain` of a part of `SPLIT`."""
        return gain_of(self.differences(part))


class Forgetting(Study[ForgettingCase]):
    """Result of the study: number of runs, and the cases."""

    CASE, COMMAND = ForgettingCase, "forgetting"

    def of(self, kind: str) -> list[ForgettingCase]:
        """Return the cases of a kind of change, by share."""
        return sorted((case for case in self.cases if case.kind == kind), key=lambda case: case.share)


# -- what the numbers say --------------------------------------------------------------------------------------------

WRONG = {"replaced": "useless (its classes replaced)", "rotated": "wrong (its labels rotated)"}
PERFECT, OWN = "perfect alarm", "alarm"  # parts of SPLIT


def pays_from(cases: Sequence[ForgettingCase], part: str = PERFECT) -> float | None:
    """Return the smallest share from which on forgetting clearly wins in every case; None if there is none.

    "Clearly" means that the 95 % interval of the gain lies above 0.
    """
    lost = max((case.share for case in cases if case.gain(part).sign <= 0), default=-1.0)
    return min((case.share for case in cases if case.share > lost), default=None)


def hurts_up_to(cases: Sequence[ForgettingCase], part: str = PERFECT) -> float | None:
    """Return the largest share up to which forgetting clearly wins in no case; None if there is none."""
    won = min((case.share for case in cases if case.gain(part).sign > 0), default=2.0)
    return max((case.share for case in cases if case.share < won), default=None)


def title(study: Forgetting) -> str:
    """Return the finding in one line, from the numbers of the study."""
    found = {kind: pays_from(study.of(kind)) for kind in KINDS}
    words = {"rotated": "wrong", "replaced": "useless"}
    pays = [f"{_at_least(found[kind])} of T is {word}" for kind, word in words.items() if found[kind] is not None]
    if not pays:
        return "Forgetting clearly pays in none of the shares of T measured"
    return f"Forgetting pays when {', or '.join(pays)}"


def forgetting_sentence(study: Forgetting) -> str:
    """Return what the study found, in one paragraph: where the 95 % intervals exclude 0, never more."""
    parts = []
    for kind in reversed(KINDS):
        cases = study.of(kind)
        always, never = pays_from(cases), hurts_up_to(cases)
        where = [f"in every case from a share of {_percent(always)} on"] * (always is not None)
        where += [f"in none up to {_percent(never)}"] * (never is not None)
        where += ["in no clear order of the shares"] * (not where)
        parts.append(f"where part of T became {WRONG[kind]}, it clearly raised the accuracy {' and '.join(where)}")
    return f"Forgetting at a perfect alarm: {'; '.join(parts)}. {own_alarm(study)}."


def own_alarm(study: Forgetting) -> str:
    """Return in how many cases the alarm of Hybrid's own test helped and hurt, as a sentence without full stop."""
    changed = [case for case in study.cases if case.affected]
    signs = [case.gain(OWN).sign for case in changed]
    least, most = (end(case.samples for case in changed) for end in (min, max))
    after = f"{most}" if least == most else f"{least} to {most}"
    return (
        f"The alarm of Hybrid's own test clearly helped in {signs.count(1)} and clearly hurt in {signs.count(-1)} of "
        f"{len(signs)} cases with a change (95 % intervals over {study.runs} runs, {after} samples after the change, "
        "equal bound on |T|)"
    )


def _percent(share: float | None) -> str:
    return "none" if share is None else "all" if share == 1 else f"{round(100 * share)} %"


def _at_least(share: float | None) -> str:
    return "all" if share == 1 else f"at least {_percent(share)}"


SPLIT_HEAD = ("data", "λ", "change", "Hybrid − CIT", "bound", "alarm", "alarm without bound", "perfect alarm", "h")


def split_rows(study: Forgetting) -> list[list[Any]]:
    """Return the split of Hybrid's difference to CIT, in the columns of `SPLIT_HEAD`, with "mean [low, high]" as text.

    The rows are one class replaced, all classes replaced and two labels swapped, for each data and λ.
    """
    rows = []
    for case in study.cases:
        name = named_change(case)
        if name:
            gains = [str(case.gain(part)) for part in SPLIT]
            rows.append([Path(case.data).name, case.classes, name, *gains, f"{case.threshold:g}"])
    return rows


def named_change(case: ForgettingCase) -> str:
    """Return the name of the change of a case, as in the paper; empty for those between.

    >>> named_change(ForgettingCase("digits", "rotated", 3, 2, 50.0, 200, {}, ""))
    'two labels swapped'
    """
    names = {
        ("replaced", 1): "one class changed",
        ("replaced", case.classes): "all classes changed",
        ("rotated", 2): "two labels swapped",
    }
    return names.get((case.kind, case.affected), "")


# -- the study -------------------------------------------------------------------------------------------------------


def study_forgetting(
    data: Sequence[str] = DATA,
    runs: int = RUNS,
    folder: str | Path | None = None,
    jobs: int = -1,
    progress: Progress = silent,
    classes: Sequence[int] = CLASSES,
) -> Forgetting:
    """Run the study; finished runs in `folder` are not repeated.

    Parameters
    ----------
    data : sequence of str
        Names of data or folders.
    runs : int
        Runs of each case, with seeds 0, 1, …
    folder : path or None
        Folder of the runs, as in `sweep`.
    jobs : int
        Number of processes; -1 for one per core.
    progress : Progress
        Called after each run.
    classes : sequence of int
        Numbers of classes λ; those that the data do not allow are left out.

    Returns
    -------
    Forgetting
    """
    require_pairs(runs)
    calm = [
        Experiment(name, number, drift=NO_CHANGE, learners=CALM, runs=runs)
        for name in dict.fromkeys(data)
        for number in _possible(name, classes)
    ]
    without = sweep(calm, None, folder, jobs, progress=progress)
    planned = [case for one in calm for case in _cases(one, without)]
    different = list(dict.fromkeys(experiment for _, experiment in planned))
    results = sweep(different, None, folder, jobs, progress=progress)
    return Forgetting(runs, tuple(_case(kind, one, results) for kind, one in planned))


def _possible(data: str, classes: Sequence[int]) -> list[int]:
    """Numbers of classes that the data have, with streams no longer than `LONGEST`."""
    pool = Experiment(data, drift=NO_CHANGE).feature_pool()
    found = [n for n in classes if n <= len(pool.classes)]
    found = [n for n in found if Experiment(data, n, drift=NO_CHANGE).drawn(pool).length <= LONGEST]
    if not found:
        raise DataError(f"{data} has {len(pool.classes)} classes; the study needs at least {min(classes)}")
    return found


def _cases(calm: Experiment, results: Results) -> list[tuple[str, Experiment]]:
    """Kind and experiment of each case for the data and λ of an experiment without a change."""
    runs = [run.learners[CALM[0]] for run in results.runs(calm)]
    middle = len(runs[0].correct) // 2
    settings = {"threshold": _threshold(runs, middle), "known-change.change": middle + 1}
    base = replace(calm, learners=STUDIED, settings=settings)
    found = [(kind, base) for kind in KINDS]
    spare = len(calm.feature_pool().classes) - calm.classes
    for kind, drift in KINDS.items():
        most = min(calm.classes, spare) if kind == "replaced" else calm.classes
        changed = replace(base, drift=drift, settings={"threshold": settings["threshold"]})
        found += [(kind, replace(changed, affected=m)) for m in range(1 if kind == "replaced" else 2, most + 1)]
    return found


def _threshold(runs: Sequence[LearnerRun], middle: int) -> float:
    """Calibrated h of Hybrid's test: the accuracy before the middle of streams without a change."""
    accuracy = float(np.mean([run.correct[:middle].mean() for run in runs]))
    test = settings_of("hybrid", 0)
    batch, warmup = test["batch"], test["warmup"]
    horizon = max(batch, min(HORIZON, middle - warmup))
    h = calibrate_threshold(accuracy, batch, warmup, horizon, FALSE_ALARMS, direction="down")
    return float(math.ceil(h))  # a value of the slider in the Drift lab


def _case(kind: str, experiment: Experiment, results: Results) -> ForgettingCase:
    runs = results.runs(experiment)
    change = runs[0].changes[0] if runs[0].changes else len(runs[0].learners["cit"].correct) // 2
    accuracy = {
        name: [round(float(run.learners[name].correct[change : change + AFTER].mean()), 6) for run in runs]
        for name in STUDIED
    }
    affected = 0 if experiment.drift == NO_CHANGE else experiment.affected or (1 if kind == "replaced" else 2)
    samples = min(AFTER, runs[0].scenario.length - change)
    h = dict(experiment.settings)["threshold"]
    link = replace(experiment, learners=("cit", "hybrid"), runs=1).link()
    return ForgettingCase(experiment.data, kind, experiment.classes, affected, h, samples, accuracy, link)
