"""Stream composition: the samples of one run from a scenario, a feature pool and a seed."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.draws import MEDIA, ORDER, Draws
from tmlcd_core.errors import DataError
from tmlcd_core.progress import report_step
from tmlcd_core.streams.feature_pools import FeaturePool, check_count
from tmlcd_core.streams.recordings import Recording
from tmlcd_core.streams.scenario import Origin, Scenario

MOST_BYTES = 200 * 2**20  # of the features of a recording that is held in memory


@dataclass(frozen=True)
class Stream:
    """Samples of one run with their origins.

    `X0` (n0, d) and `y0` (n0,) are the initial training set, `X` (n, d) and `y` (n,) the stream. `changes` are the
    indices of the first sample of each new concept, `ends` the indices from which on all samples come from it. Sample t
    is medium `index[t]` of `origins[origin[t]]`; `origin0` and `index0` are the same for the initial training set.
    """

    X0: NDArray[np.float32]
    y0: NDArray[np.str_]
    X: NDArray[np.float32]
    y: NDArray[np.str_]
    changes: tuple[int, ...]
    ends: tuple[int, ...]
    origins: tuple[Origin, ...]
    origin0: NDArray[np.int64]
    index0: NDArray[np.int64]
    origin: NDArray[np.int64]
    index: NDArray[np.int64]
    scenario: Scenario  # with all class names drawn

    def __len__(self) -> int:
        return len(self.y)

    @property
    def classes(self) -> NDArray[np.str_]:
        """Sorted labels among which a wrong label is drawn: those of the stream as it was before drifts were added."""
        *_, first = self.scenario.history
        if first is self.scenario:
            return np.union1d(self.y0, self.y)
        return np.unique([label for concept in first.concepts() for label in concept])


@dataclass(frozen=True)
class Plan:
    """Order of a stream, computed without data: labels and origins, those of the initial training set first."""

    scenario: Scenario
    labels: list[str]
    origins: tuple[Origin, ...]
    origin: NDArray[np.int64]

    @property
    def needed(self) -> dict[str, int]:
        """Number of media that the run needs, by class."""
        total: dict[str, int] = {}
        for number, count in zip(*np.unique(self.origin, return_counts=True), strict=True):
            word = self.origins[number].word
            total[word] = total.get(word, 0) + int(count)
        return total


def plan(scenario: Scenario, feature_pool: FeaturePool, seed: int) -> Plan:
    """Draw the open class names and the order of labels; labels are equally frequent between two changes.

    Raises a `DataError` if a class has fewer media than the run needs. Returns a `Plan`.
    """
    order = order_labels(scenario.complete(feature_pool.classes, seed), seed)
    for word, n in order.needed.items():
        check_count(feature_pool, word, n)
    return order


def order_labels(scenario: Scenario, seed: int) -> Plan:
    """Return the `Plan` of a scenario without open class names: the random order of its labels. Needs no data.

    If the scenario has a past, its first labels are those of the past.
    """
    concepts = scenario.concepts()
    draws = Draws(seed, ORDER)
    concept = np.zeros(scenario.length, np.int64)
    starts = [drift.at for drift in scenario.drifts]
    fresh: dict[tuple[int, int], NDArray[np.bool_]] = {}
    for number, drift in enumerate(scenario.drifts, 1):
        later = np.arange(scenario.length) - drift.at
        chance = np.clip((later + 1) / max(drift.over, 1), 0, 1)
        passed = (later >= 0) & (draws.uniform(scenario.length) < chance)
        # Simultaneous drifts are one change: a sample has passed all of them or none.
        concept[fresh.setdefault((drift.at, drift.over), passed)] = number
    labels: list[str] = [""] * scenario.length
    bounds = sorted({0, *starts, scenario.length})
    for begin, end in pairwise(bounds):
        for number in np.unique(concept[begin:end]):
            places = begin + np.flatnonzero(concept[begin:end] == number)
            names = list(concepts[number])
            turn = np.resize(draws.permutation(len(names)), len(places))[draws.permutation(len(places))]
            for place, name in zip(places.tolist(), turn.tolist(), strict=True):
                labels[place] = names[name]
    first = [name for name in concepts[0] for _ in range(scenario.train)]
    first = draws.shuffled(first)
    found = [concepts[0][name] for name in first]
    found += [concepts[number][name] for number, name in zip(concept.tolist(), labels, strict=True)]
    labels = first + labels
    if scenario.past is not None:
        before, seen = order_labels(scenario.past, seed), len(first) + scenario.kept
        labels[:seen] = before.labels[:seen]
        found[:seen] = [before.origins[number] for number in before.origin[:seen].tolist()]
    origins = tuple(dict.fromkeys(found))
    numbers = {origin: i for i, origin in enumerate(origins)}
    return Plan(scenario, labels, origins, np.array([numbers[o] for o in found]))


def compose(scenario: Scenario, feature_pool: FeaturePool, seed: int = 0) -> Stream:
    """Return the `Stream` of one run; each medium is used at most once, with or without an effect.

    A `Recording` as feature pool keeps its order: the stream has all its samples, whatever the seed. A scenario with a
    past begins with the samples of the past, and goes on with media that these have not used.

    Examples
    --------
    >>> from tmlcd_core.streams import SourcePool, make_scenario
    >>> stream = compose(make_scenario("class-change", 2, per_class=40, train=10), SourcePool("digits"), seed=0)
    >>> stream.X0.shape, stream.X.shape, stream.changes
    ((20, 3136), (80, 3136), (40,))
    """
    if isinstance(feature_pool, Recording):
        return _recorded(scenario, feature_pool)
    order = plan(scenario, feature_pool, seed)
    needed = order.needed
    draws = Draws(seed, MEDIA)
    X: NDArray[np.float32] | None = None
    index = np.empty(len(order.labels), np.int64)
    chosen: dict[str, NDArray[np.int64]] = {}
    used = dict.fromkeys(needed, 0)
    past, seen, n0 = order.scenario.past, 0, order.scenario.initial
    if past is not None:
        before, kept = compose(past, feature_pool, seed), order.scenario.kept
        seen = n0 + kept
        index[:seen] = np.concatenate([before.index0, before.index[:kept]])
    word_of = np.array([origin.word for origin in order.origins])[order.origin]
    for number, origin in enumerate(order.origins):
        report_step(number, len(order.origins), "classes")
        features, numbers = feature_pool.pool(origin, needed[origin.word])
        check_count(feature_pool, origin.word, needed[origin.word], len(features))
        if origin.word not in chosen:
            drawn = draws.permutation(len(features))
            taken = index[:seen][word_of[:seen] == origin.word]
            chosen[origin.word] = drawn[~np.isin(numbers[drawn], taken)]
        places = seen + np.flatnonzero(order.origin[seen:] == number)
        begin = used[origin.word]
        rows = chosen[origin.word][begin : begin + len(places)]
        used[origin.word] += len(places)
        if X is None:
            X = np.empty((len(order.labels), features.shape[1]), np.float32)
        X[places] = features[rows]
        index[places] = numbers[rows]
    assert X is not None
    if past is not None:
        X[:seen] = np.concatenate([before.X0, before.X[:kept]])
    y = np.array(order.labels)
    return Stream(
        X[:n0],
        y[:n0],
        X[n0:],
        y[n0:],
        order.scenario.changes,
        order.scenario.ends,
        order.origins,
        order.origin[:n0],
        index[:n0],
        order.origin[n0:],
        index[n0:],
        order.scenario,
    )


def _recorded(scenario: Scenario, recording: Recording) -> Stream:
    """The whole recording in memory; a `DataError` if it has more than MOST_BYTES."""
    parts = []
    for block in recording.blocks():
        parts.append(block)
        if (size := recording.total * block[0].shape[1] * 4) > MOST_BYTES:
            raise DataError(
                f"{recording.name} has {size >> 20} MB of features, more than {MOST_BYTES >> 20} MB: use fewer samples "
                "(--samples), or `tmlcd run`, which reads it in blocks"
            )
    X, y = np.concatenate([X for X, _ in parts]), np.concatenate([y for _, y in parts])
    n0, row = len(parts[0][1]), np.arange(len(y))
    origin = np.searchsorted(np.array(recording.classes), y)
    return Stream(
        X[:n0], y[:n0], X[n0:], y[n0:], (), (), tuple(Origin(name) for name in recording.classes),
        origin[:n0], row[:n0], origin[n0:], row[n0:], scenario,
    )  # fmt: skip
