"""Inspect one sample of a run: training set, prediction and neighbours at that time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.errors import ConfigError
from tmlcd_core.experiments.labels import FULL, Supervision, Teacher
from tmlcd_core.experiments.runs import Follower
from tmlcd_core.learners import StreamLearner
from tmlcd_core.learners.comparison_learner import ComparisonLearner
from tmlcd_core.streams.scenario import Origin
from tmlcd_core.streams.stream import Stream


@dataclass(frozen=True)
class Neighbour:
    """Stored sample that took part in the vote.

    `age` is the number of samples since it was stored, None for initial training samples. The sample is medium `index`
    of `origin`.
    """

    label: str
    age: int | None
    distance: float
    origin: Origin
    index: int


@dataclass(frozen=True)
class Inspection:
    """State of a learner just before one sample of the stream.

    `said` is the prediction, `size` is |T|, `neighbours` are the samples that voted, nearest first, and `voters` their
    positions in T. `labels` are the labels of T, shape (size,); `plane` is T, shape (size, 2), or None if the features
    are not two-dimensional. A learner that does not vote by neighbours has none, and no labels.
    """

    said: str
    size: int
    neighbours: tuple[Neighbour, ...]
    voters: tuple[int, ...]
    labels: NDArray[np.str_]
    plane: NDArray[np.float32] | None


def inspect_sample(
    model: StreamLearner | ComparisonLearner,
    stream: Stream,
    sample: int,
    supervision: Supervision = FULL,
    seed: int = 0,
) -> Inspection:
    """Run an unfitted learner up to one sample; return its prediction, training set and neighbours as an `Inspection`.

    The learner runs over the whole stream, but without labels from the sample on, so that it stops learning there. In
    this way it reuses the cached distances of earlier runs over the same stream. `supervision` and `seed` are those of
    the labels that the learner got.

    Examples
    --------
    >>> from tmlcd_core.experiments import Experiment
    >>> experiment = Experiment("points", classes=3, per_class=100, train=20)
    >>> stream = experiment.stream()
    >>> found = inspect_sample(experiment.learner("cit", stream.scenario), stream, 200)
    >>> found.said, [(n.label, n.age) for n in found.neighbours[:2]]
    ('E', [('E', None), ('E', None)])
    """
    if not 0 <= sample < len(stream):
        raise ConfigError(f"sample={sample} lies outside the stream: choose 0..{len(stream) - 1}")
    teacher = Teacher(supervision, stream.classes, seed)
    if supervision.label_delay:
        follower = Follower(model, stream.X0, stream.y0, teacher)
        if sample:
            follower.follow(stream.X[:sample], stream.y[:sample])
        said = model.predict(stream.X[sample : sample + 1])[0]
    else:
        labels = teacher.labels(stream.y).astype(object)
        labels[sample:] = None
        said = model.fit(stream.X0, stream.y0).run(stream.X, labels).predictions[sample]
    if not hasattr(model, "neighbours"):
        return Inspection(str(said), len(model), (), (), np.empty(0, str), None)
    asked = model.neighbours(stream.X[sample : sample + 1])
    stored = model.stored_
    first = {row.tobytes(): i for i, row in enumerate(model.as_stored(stream.X0))}
    found = []
    for place, distance, label, time in zip(*(part[0] for part in asked), strict=True):
        if time > 0:
            origin, index = stream.origin[time - 1], stream.index[time - 1]
        else:
            start = first[stored[place].tobytes()]
            origin, index = stream.origin0[start], stream.index0[start]
        age = sample + 1 - int(time) if time > 0 else None
        found.append(Neighbour(str(label), age, float(distance), stream.origins[origin], int(index)))
    plane = model.samples_ if stored.shape[1] == 2 else None
    voters = tuple(asked.positions[0].tolist())
    return Inspection(str(said), len(stored), tuple(found), voters, model.labels_, plane)
