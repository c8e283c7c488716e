"""Compiled inner loops of SAM-kNN: votes of the memories, interleaved test-train errors, cleaning.

Squared distances are computed in float64 and kept as float32. Among equally distant samples the older counts as nearer
(the long-term memory counts as older than the short-term memory); a tied vote goes to the smallest class.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tmlcd_core.knn.kernels import exact_distance

DONE, GROW, MAKE_ROOM = 0, 1, 2  # why `advance` returned
STM, LTM, BOTH = 0, 1, 2  # the memories that predict: rows of `hits`, indices of `said`
N_STM, N_LTM, N_WINDOWS = 0, 1, 2  # indices of `counts`
START, TESTED, HITS = 0, 1, 2  # columns of `windows`: first sample, next sample to test, correct predictions


class Settings(NamedTuple):
    """Parameters of SAM-kNN."""

    k: int
    by_distance: bool  # votes count 1/d
    min_size: int  # smallest window that the STM may shrink to
    max_size: int  # samples in both memories together
    exact: bool  # repeat the test of a window whenever it loses a sample
    n_classes: int


class Memories(NamedTuple):
    """Short-term (STM) and long-term memory (LTM), oldest first, in arrays with room for more."""

    counts: NDArray  # int64 (3,): samples in the STM, samples in the LTM, windows
    stm_x: NDArray  # float32 (room, d)
    stm_y: NDArray  # int32 (room,): class codes
    ltm_x: NDArray
    ltm_y: NDArray
    distances: NDArray  # float32 (room, room): squared distance of samples i > j of the STM at [i, j]
    hits: NDArray  # uint8 (3, room): STM, LTM or both predicted this sample of the STM correctly
    windows: NDArray  # int64 (windows, 3): the candidates for the STM's next size
    tested: NDArray  # uint8 (windows, room): this window predicted this sample of the STM correctly


class Near(NamedTuple):
    """Squared distances from one sample to both memories; same length as the memories' arrays."""

    stm: NDArray  # float32
    ltm: NDArray  # float32


@njit(cache=True)
def _distances(x: NDArray, rows: NDArray, n: int, out: NDArray) -> None:
    for j in range(n):
        out[j] = exact_distance(x, rows[j])


@njit(cache=True)
def _insert(value: float, place: int, size: int, near: NDArray, places: NDArray) -> int:
    """Insert a sample into the sorted list of the nearest, before equal ones; returns the new length of the list."""
    if size == near.shape[0]:
        if value > near[size - 1]:
            return size
        j = size - 1
    else:
        j = size
        size += 1
    while j > 0 and value <= near[j - 1]:
        near[j], places[j] = near[j - 1], places[j - 1]
        j -= 1
    near[j], places[j] = value, place
    return size


@njit(cache=True)
def _nearest(row: NDArray, start: int, stop: int, near: NDArray, places: NDArray) -> int:
    """Fill `near` and `places` with the nearest of row[start:stop]; return their number."""
    size = 0
    for j in range(stop - 1, start - 1, -1):
        if size < near.shape[0] or row[j] <= near[size - 1]:
            size = _insert(row[j], j, size, near, places)
    return size


@njit(cache=True)
def _elect(near: NDArray, voters: NDArray, size: int, by_distance: bool, votes: NDArray) -> int:
    """Return the class with the most votes; if any neighbours are at distance 0, only these vote."""
    votes[:] = 0.0
    for j in range(size):
        if not by_distance:
            votes[voters[j]] += 1.0
        elif near[0] > 0.0:
            votes[voters[j]] += 1.0 / np.sqrt(np.float64(near[j]))
        elif near[j] == 0.0:
            votes[voters[j]] += 1.0
    return int(np.argmax(votes))


@njit(cache=True)
def ask(near: Near, memories: Memories, settings: Settings, votes: NDArray, said: NDArray) -> None:
    """Fill `said`, int64 (3,), with the codes predicted by STM, LTM and both, or -1; `votes` (classes,) is scratch."""
    k, by_distance, counts = settings.k, settings.by_distance, memories.counts
    stm_near, stm_voters = np.empty(k, np.float32), np.empty(k, np.int64)
    places = np.empty(k, np.int64)
    n = _nearest(near.stm, 0, counts[N_STM], stm_near, places)
    for j in range(n):
        stm_voters[j] = memories.stm_y[places[j]]
    said[STM] = _elect(stm_near, stm_voters, n, by_distance, votes) if n > 0 else -1
    said[LTM] = said[BOTH] = -1
    if counts[N_LTM] < k:
        return
    ltm_near, ltm_voters = np.empty(k, np.float32), np.empty(k, np.int64)
    m = _nearest(near.ltm, 0, counts[N_LTM], ltm_near, places)
    for j in range(m):
        ltm_voters[j] = memories.ltm_y[places[j]]
    said[LTM] = _elect(ltm_near, ltm_voters, m, by_distance, votes)
    both_near, both_voters = np.empty(k, np.float32), np.empty(k, np.int64)
    a, b = 0, 0
    for j in range(k):  # merge the two sorted lists
        if a == n or (b < m and ltm_near[b] <= stm_near[a]):
            both_near[j], both_voters[j] = ltm_near[b], ltm_voters[b]
            b += 1
        else:
            both_near[j], both_voters[j] = stm_near[a], stm_voters[a]
            a += 1
    said[BOTH] = _elect(both_near, both_voters, k, by_distance, votes)


@njit(cache=True)
def choose(said: NDArray, hits: NDArray, n: int) -> int:
    """Return `said`, int64 (3,), of the memory with the most `hits`, bool (3, n), in the STM; the first if tied."""
    if said[LTM] < 0:
        return said[STM]
    best, most = STM, -1
    for memory in range(3):
        correct = 0
        for j in range(n):
            correct += hits[memory, j]
        if correct > most:
            best, most = memory, correct
    return said[best]


@njit(cache=True)
def _test_window(w: int, memories: Memories, settings: Settings, votes: NDArray) -> None:
    """Interleaved test-train of window w: predict each untested sample from those before it in the window."""
    k, y, windows = settings.k, memories.stm_y, memories.windows
    near, places, voters = np.empty(k, np.float32), np.empty(k, np.int64), np.empty(k, np.int64)
    n, start = memories.counts[N_STM], windows[w, START]
    for i in range(windows[w, TESTED], n):
        size = _nearest(memories.distances[i], start, i, near, places)
        for j in range(size):
            voters[j] = y[places[j]]
        correct = _elect(near, voters, size, settings.by_distance, votes) == y[i]
        memories.tested[w, i] = correct
        windows[w, HITS] += correct
    windows[w, TESTED] = n


@njit(cache=True)
def _open(windows: NDArray, w: int, start: int, k: int) -> None:
    """Start window w at `start`, untested; its first k samples are only learned."""
    windows[w, START], windows[w, TESTED], windows[w, HITS] = start, start + k, 0


@njit(cache=True)
def _better(windows: NDArray, w: int, v: int, n: int, k: int) -> bool:
    """True if window w has a smaller error rate than window v."""
    return windows[w, HITS] * (n - windows[v, START] - k) > windows[v, HITS] * (n - windows[w, START] - k)


@njit(cache=True)
def best_window(memories: Memories, settings: Settings, votes: NDArray) -> int:
    """Return the number of the window with the smallest error rate, the longest if tied; `votes` (classes,) is scratch.

    Window w holds the n / 2^w newest samples of the STM.
    """
    counts, windows, k = memories.counts, memories.windows, settings.k
    n = counts[N_STM]
    if n < 2 * settings.min_size:
        return 0
    w = 0
    while n >> w >= settings.min_size:
        start = n - (n >> w)
        if w >= counts[N_WINDOWS]:
            _open(windows, w, start, k)
            counts[N_WINDOWS] = w + 1
        elif windows[w, START] == start - 1 and not settings.exact and windows[w, TESTED] > start - 1 + k:
            # one sample fewer: keep the other tests, although the removed sample voted in some of them
            windows[w, HITS] -= memories.tested[w, start - 1 + k]
            windows[w, START] = start
        elif windows[w, START] != start:
            _open(windows, w, start, k)
        _test_window(w, memories, settings, votes)
        w += 1
    counts[N_WINDOWS] = w
    best = 0
    for v in range(1, w):
        if _better(windows, v, 0, n, k):  # before the STM shrinks to it, test it again from the start
            _open(windows, v, windows[v, START], k)
            _test_window(v, memories, settings, votes)
    for v in range(1, w):
        if _better(windows, v, best, n, k):
            best = v
    return best


@njit(cache=True)
def _reach(sample: int, row: NDArray, start: int, stop: int, y: NDArray, k: int) -> np.float32:
    """Distance to the farthest sample of the same class among the k nearest in row[start:stop]; -1 if none."""
    near, places = np.empty(k, np.float32), np.empty(k, np.int64)
    size = _nearest(row, start, stop, near, places)
    reach = np.float32(-1)
    for j in range(size):
        if y[places[j]] == y[sample]:
            reach = max(reach, near[j])
    return reach


@njit(cache=True)
def _clean(label: int, reach: float, row: NDArray, y: NDArray, alive: NDArray, k: int) -> bool:
    """Remove the samples of another class within `reach` from the k nearest alive; return True if any were removed."""
    if reach < 0:
        return False
    near, places = np.empty(k, np.float32), np.empty(k, np.int64)
    size = 0
    for j in range(alive.shape[0] - 1, -1, -1):
        if alive[j]:
            size = _insert(row[j], j, size, near, places)
    removed = False
    for j in range(size):
        if near[j] <= reach and y[places[j]] != label:
            alive[places[j]] = False
            removed = True
    return removed


@njit(cache=True)
def clean_by_newest(memories: Memories, near: Near, k: int) -> None:
    """Remove samples from the LTM that contradict the newest sample of the STM; `near` has that sample's distances."""
    counts, ltm_x, ltm_y = memories.counts, memories.ltm_x, memories.ltm_y
    n, m = counts[N_STM], counts[N_LTM]
    if n <= k or m == 0:
        return
    reach = _reach(n - 1, memories.distances[n - 1], 0, n - 1, memories.stm_y, k)
    alive = np.ones(m, np.bool_)
    if _clean(memories.stm_y[n - 1], reach, near.ltm, ltm_y, alive, k):
        kept = 0
        for j in range(m):
            if alive[j]:
                ltm_x[kept], ltm_y[kept] = ltm_x[j], ltm_y[j]
                kept += 1
        counts[N_LTM] = kept


@njit(cache=True)
def shrink(best: int, memories: Memories, k: int) -> None:
    """Shrink the STM to its window `best`; the other samples move to the LTM unless they contradict the window."""
    counts, windows, tested, distances = memories.counts, memories.windows, memories.tested, memories.distances
    n, start = counts[N_STM], windows[best, START]
    alive = np.ones(start, np.bool_)
    if n - start > k:
        row = np.empty(n, np.float32)
        for i in range(start, n):
            for j in range(start, i):
                row[j] = distances[i, j]
            row[i] = np.inf
            for j in range(i + 1, n):
                row[j] = distances[j, i]
            reach = _reach(i, row, start, n, memories.stm_y, k)
            _clean(memories.stm_y[i], reach, distances[i], memories.stm_y, alive, k)
    for j in range(start):
        if alive[j]:
            memories.ltm_x[counts[N_LTM]], memories.ltm_y[counts[N_LTM]] = memories.stm_x[j], memories.stm_y[j]
            counts[N_LTM] += 1
    drop_oldest(start, memories)
    counts[N_WINDOWS] = max(counts[N_WINDOWS] - best, 0)
    for w in range(counts[N_WINDOWS]):
        windows[w] = windows[w + best]
        windows[w, START] -= start
        windows[w, TESTED] -= start
        tested[w, : n - start] = tested[w + best, start:n].copy()


@njit(cache=True)
def drop_oldest(dropped: int, memories: Memories) -> None:
    """Remove the `dropped` oldest samples of the STM."""
    n = memories.counts[N_STM]
    for j in range(dropped, n):
        memories.stm_x[j - dropped], memories.stm_y[j - dropped] = memories.stm_x[j], memories.stm_y[j]
        memories.hits[:, j - dropped] = memories.hits[:, j]
        for i in range(dropped, j):
            memories.distances[j - dropped, i - dropped] = memories.distances[j, i]
    memories.counts[N_STM] = n - dropped


@njit(cache=True)
def _room_for_distances(memories: Memories) -> Near:
    return Near(np.empty(memories.stm_x.shape[0], np.float32), np.empty(memories.ltm_x.shape[0], np.float32))


@njit(cache=True)
def advance(
    X: NDArray, truth: NDArray, first: int, resume: bool, memories: Memories, settings: Settings, results: NDArray
) -> tuple[int, int]:
    """Test-then-train on X[first:] (n, d), truth (n,); return the index at which it stopped, and why.

    The reason is DONE, GROW or MAKE_ROOM.

    After MAKE_ROOM, call it again with `resume`: that sample is already predicted and stored. `results`, int64 (2, n),
    receives the predicted class codes and the total size of both memories.
    """
    counts = memories.counts
    near = _room_for_distances(memories)
    votes, said = np.empty(settings.n_classes), np.empty(3, np.int64)
    for i in range(first, X.shape[0]):
        if resume:
            _distances(X[i], memories.ltm_x, counts[N_LTM], near.ltm)  # the LTM was compressed
        else:
            n = counts[N_STM]
            if n == memories.stm_x.shape[0] or n + 1 + counts[N_LTM] > memories.ltm_x.shape[0]:
                return i, GROW
            _distances(X[i], memories.stm_x, n, near.stm)
            _distances(X[i], memories.ltm_x, counts[N_LTM], near.ltm)
            ask(near, memories, settings, votes, said)
            results[0, i] = choose(said, memories.hits, n) if n > 0 else 0  # the smallest label, as in a tie
            if truth[i] >= 0:
                memories.stm_x[n], memories.stm_y[n] = X[i], truth[i]
                memories.distances[n, :n] = near.stm[:n]
                for memory in range(3):
                    memories.hits[memory, n] = said[memory] == truth[i]
                counts[N_STM] = n + 1
                if n + 1 + counts[N_LTM] > settings.max_size:
                    return i, MAKE_ROOM
        resume = False
        if truth[i] >= 0:
            clean_by_newest(memories, near, settings.k)
            best = best_window(memories, settings, votes)
            if best > 0:
                shrink(best, memories, settings.k)
        results[1, i] = counts[N_STM] + counts[N_LTM]
    return X.shape[0], DONE


@njit(cache=True)
def classify(X: NDArray, memories: Memories, settings: Settings) -> NDArray:
    """Return the class code predicted for each sample of X (n, d), int64 (n,), without learning."""
    near = _room_for_distances(memories)
    votes, said = np.empty(settings.n_classes), np.empty(3, np.int64)
    predictions = np.empty(X.shape[0], np.int64)
    for i in range(X.shape[0]):
        _distances(X[i], memories.stm_x, memories.counts[N_STM], near.stm)
        _distances(X[i], memories.ltm_x, memories.counts[N_LTM], near.ltm)
        ask(near, memories, settings, votes, said)
        predictions[i] = choose(said, memories.hits, memories.counts[N_STM])
    return predictions
