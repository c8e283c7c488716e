"""The leak in the authors' code: clips of the unchanged classes come again after the change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tmlcd_core.streams.stream import Stream


def with_leak(stream: Stream) -> Stream:
    """Return the stream in which the unchanged classes repeat, after the first change, their media from before it.

    The repeated samples come in their original order. No experiment uses this stream: a learner would be tested on
    samples that it has stored. `python -m benchmarks leak` measures what the leak adds.

    >>> from tmlcd_core import Experiment
    >>> stream = with_leak(Experiment("digits", per_class=40, train=10).stream())
    >>> len(stream), len(np.unique(stream.X, axis=0))
    (80, 60)
    """
    change = stream.changes[0]
    X, index = stream.X.copy(), stream.index.copy()
    for origin in np.unique(stream.origin[change:]):
        before = np.flatnonzero(stream.origin[:change] == origin)
        if len(before):
            after = change + np.flatnonzero(stream.origin[change:] == origin)
            again = np.resize(before, len(after))
            X[after], index[after] = stream.X[again], stream.index[again]
    return replace(stream, X=X, index=index)
