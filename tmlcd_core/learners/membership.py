"""Membership: which samples the training set T held at every time of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.knn.stream_pass import Queue

START = -1  # `enters` of the samples that T holds before the first sample of the stream


@dataclass(frozen=True)
class Membership:
    """Samples of T over time: after sample t of the stream, T holds those with `enters <= t < leaves`.

    Parameters
    ----------
    sample : int32 (m,)
        Index in the stream, or -1 - j for sample j of the initial training set.
    label : shape (m,)
        Label as stored.
    enters, leaves : int32 (m,)
        First sample of the stream after which T holds the sample, and the first after which it does not any more;
        -1 for the initial T, the length of the run for samples that stay.

    Examples
    --------
    >>> from tmlcd_core import HybridTinyKNN
    >>> X = np.arange(400)[:, None] % 2
    >>> y = np.where(np.arange(400) < 200, X[:, 0], 1 - X[:, 0])
    >>> trace = HybridTinyKNN(batch=20, warmup=40).fit(X[:10], y[:10]).run(X, y)
    >>> held = trace.membership
    >>> held.at(0).tolist() == (held.enters < 1).tolist(), int(held.at(399).sum()) == int(trace.sizes[-1])
    (True, True)
    """

    sample: NDArray[np.int32]
    label: NDArray
    enters: NDArray[np.int32]
    leaves: NDArray[np.int32]

    def at(self, time: int) -> NDArray[np.bool_]:
        """Return which entries T holds after sample `time` of the stream, bool (m,); -1 is before the first."""
        return (self.enters <= time) & (time < self.leaves)

    def dropped(self, alarm: int) -> tuple[int, int]:
        """Return how many samples T lost at an alarm, and how many it held before the sample of the alarm."""
        held = (self.enters < alarm) & (self.leaves >= alarm)
        return int((held & (self.leaves == alarm)).sum()), int(held.sum())


def membership(
    queues: Sequence[Queue],
    alarms: Sequence[int],
    max_size: int,
    initial: NDArray[np.integer],
    classes: NDArray,
    n: int,
) -> Membership:
    """Return the `Membership` of a run from the queues between its alarms.

    Parameters
    ----------
    queues : sequence of Queue
        T up to each alarm, and from the last alarm to the end.
    alarms : sequence of int
        Sample of each alarm.
    max_size : int
        Largest |T|: when another sample joins, the oldest leaves.
    initial : shape (m,)
        Positions of the first T in the initial training set.
    classes : shape (classes,)
        Label of each class code.
    n : int
        Samples of the run.
    """
    first = queues[0]
    position = np.zeros(1 + max(int(queue.ids.max(initial=n)) for queue in queues) - n, np.int32)
    position[first.ids[: first.start] - n] = initial
    parts = []  # of each queue: entries, int32 (m, 4): sample, code, enters, leaves; and which of them are new
    staying: dict[int, list[NDArray[np.int32]]] = {}  # entries that T holds at the end of the queue before
    begin = START
    for queue, end in zip(queues, [*alarms, n], strict=True):
        part = np.empty((len(queue.ids), 4), np.int32)
        sample, code, enters, leaves = part.T
        own = queue.ids < n
        sample[own], sample[~own] = queue.ids[own], -1 - position[queue.ids[~own] - n]
        code[:] = queue.codes
        enters[: queue.start], enters[queue.start :] = begin, sample[queue.start :]
        gone = max(0, len(part) - max_size)
        leaves[:gone], leaves[gone:] = sample[len(part) - gone :], end
        entries = list(part) if staying or end < n else []
        new = np.ones(len(part), bool)
        for place in range(queue.start if staying else 0):
            if known := staying.get(int(sample[place])):  # it stays in T over the alarm
                known[-1][3] = leaves[place]
                entries[place], new[place] = known.pop(), False
        parts.append((part, new))
        staying, begin = {}, end
        if end < n:
            for entry in entries:
                if entry[3] == end:
                    staying.setdefault(int(entry[0]), []).append(entry)
    found = np.concatenate([part[new] for part, new in parts])
    return Membership(found[:, 0], classes[found[:, 1]], found[:, 2], found[:, 3])
