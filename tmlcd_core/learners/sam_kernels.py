"""The compiled heart of SAM-kNN: votes of the memories, interleaved test-train errors, cleaning.

Squared distances are computed in float64 and kept as float32. Among equally distant samples the older is the nearer
(all of the long-term memory is older than all of the short-term one), and a tied vote goes to the smallest class.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tmlcd_core.knn.kernels import exact_distance

DONE, GROW, MAKE_ROOM = 0, 1, 2  # why `advance` came back
STM, LTM, BOTH = 0, 1, 2  # rows of `hits`: the memories that predict
N_STM, N_LTM, N_WINDOWS = 0, 1, 2  # places in `count`
START, TESTED, HITS = 0, 1, 2  # columns of `windows`: first sample, next sample to test, samples predicted right


@njit(cache=True)
def _distances(x: NDArray, rows: NDArray, n: int, out: NDArray) -> None:
    for j in range(n):
        out[j] = exact_distance(x, rows[j])


@njit(cache=True)
def _enter(value: float, place: int, size: int, near: NDArray, places: NDArray) -> int:
    """Let an older sample into the list of the nearest, which is sorted and has room for len(near)."""
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
    """The nearest of row[start:stop]; gives how many were found."""
    size = 0
    for j in range(stop - 1, start - 1, -1):
        if size < near.shape[0] or row[j] <= near[size - 1]:
            size = _enter(row[j], j, size, near, places)
    return size


@njit(cache=True)
def _elect(near: NDArray, voters: NDArray, size: int, by_distance: bool, votes: NDArray) -> int:
    """The class with the most votes; a neighbour at distance 0 leaves no say to those farther off."""
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
def ask(
    stm_row: NDArray, stm_y: NDArray, ltm_row: NDArray, ltm_y: NDArray, count: NDArray, k: int, by_distance: bool,
    votes: NDArray, said: NDArray,
) -> None:  # fmt: skip
    """Fill `said` with the class that each memory predicts; -1 for memories that have too little to say."""
    near, places = np.empty(k, np.float32), np.empty(k, np.int64)
    voters = np.empty(k, np.int64)
    n = _nearest(stm_row, 0, count[N_STM], near, places)
    for j in range(n):
        voters[j] = stm_y[places[j]]
    said[STM] = _elect(near, voters, n, by_distance, votes) if n > 0 else -1
    said[LTM] = said[BOTH] = -1
    if count[N_LTM] < k:
        return
    far, far_places = np.empty(k, np.float32), np.empty(k, np.int64)
    far_voters = np.empty(k, np.int64)
    m = _nearest(ltm_row, 0, count[N_LTM], far, far_places)
    for j in range(m):
        far_voters[j] = ltm_y[far_places[j]]
    said[LTM] = _elect(far, far_voters, m, by_distance, votes)
    both, both_voters = np.empty(k, np.float32), np.empty(k, np.int64)
    a, b = 0, 0
    for j in range(k):
        if a == n or (b < m and far[b] <= near[a]):
            both[j], both_voters[j] = far[b], far_voters[b]
            b += 1
        else:
            both[j], both_voters[j] = near[a], voters[a]
            a += 1
    said[BOTH] = _elect(both, both_voters, k, by_distance, votes)


@njit(cache=True)
def choose(said: NDArray, hits: NDArray, n: int) -> int:
    """What the memory says that was right most often on the samples of the STM; the first of equals."""
    if said[LTM] < 0:
        return said[STM]
    best, most = STM, -1
    for memory in range(3):
        right = 0
        for j in range(n):
            right += hits[memory, j]
        if right > most:
            best, most = memory, right
    return said[best]


@njit(cache=True)
def _test_on(
    windows: NDArray, tested: NDArray, w: int, n: int, D: NDArray, y: NDArray, k: int, by_distance: bool, votes: NDArray
) -> None:
    """Interleaved test-train of window w: each sample that was not tested yet, by those before it in the window."""
    near, places, voters = np.empty(k, np.float32), np.empty(k, np.int64), np.empty(k, np.int64)
    start = windows[w, START]
    for i in range(windows[w, TESTED], n):
        size = _nearest(D[i], start, i, near, places)
        for j in range(size):
            voters[j] = y[places[j]]
        right = _elect(near, voters, size, by_distance, votes) == y[i]
        tested[w, i] = right
        windows[w, HITS] += right
    windows[w, TESTED] = n


@njit(cache=True)
def _open(windows: NDArray, w: int, start: int, k: int) -> None:
    """Window w begins at `start`; its first k samples are only learned."""
    windows[w, START], windows[w, TESTED], windows[w, HITS] = start, start + k, 0


@njit(cache=True)
def _better(windows: NDArray, w: int, v: int, n: int, k: int) -> bool:
    """Whether window w has a smaller error than window v."""
    return windows[w, HITS] * (n - windows[v, START] - k) > windows[v, HITS] * (n - windows[w, START] - k)


@njit(cache=True)
def best_window(
    windows: NDArray, tested: NDArray, count: NDArray, D: NDArray, y: NDArray, k: int, min_size: int, exact: bool,
    by_distance: bool, votes: NDArray,
) -> int:  # fmt: skip
    """Which of the windows of n, n/2, n/4, … newest samples has the smallest error; the longest of equals."""
    n = count[N_STM]
    if n < 2 * min_size:
        return 0
    w = 0
    while n >> w >= min_size:
        start = n - (n >> w)
        if w >= count[N_WINDOWS]:
            _open(windows, w, start, k)
            count[N_WINDOWS] = w + 1
        elif windows[w, START] == start - 1 and not exact and windows[w, TESTED] > start - 1 + k:
            # one sample less: the tests stay as they are, although the sample that leaves had its say in some
            windows[w, HITS] -= tested[w, start - 1 + k]
            windows[w, START] = start
        elif windows[w, START] != start:
            _open(windows, w, start, k)
        _test_on(windows, tested, w, n, D, y, k, by_distance, votes)
        w += 1
    count[N_WINDOWS] = w
    best = 0
    for v in range(1, w):
        if _better(windows, v, 0, n, k):  # it seems so: to be sure, all over again
            _open(windows, v, windows[v, START], k)
            _test_on(windows, tested, v, n, D, y, k, by_distance, votes)
    for v in range(1, w):
        if _better(windows, v, best, n, k):
            best = v
    return best


@njit(cache=True)
def _clean(
    label: int, own: NDArray, own_n: int, own_places: NDArray, y: NDArray, row: NDArray, other_y: NDArray,
    alive: NDArray, m: int, k: int,
) -> int:  # fmt: skip
    """Strike out, of the k nearest others, those of another class that are no farther than a neighbour of its own."""
    reach = np.float32(-1)
    for j in range(own_n):
        if y[own_places[j]] == label:
            reach = max(reach, own[j])
    if reach < 0:
        return 0
    near, places = np.empty(k, np.float32), np.empty(k, np.int64)
    size = 0
    for j in range(m - 1, -1, -1):
        if alive[j]:
            size = _enter(row[j], j, size, near, places)
    struck = 0
    for j in range(size):
        if near[j] <= reach and other_y[places[j]] != label:
            alive[places[j]] = False
            struck += 1
    return struck


@njit(cache=True)
def clean_by_newest(
    D: NDArray, stm_y: NDArray, ltm_row: NDArray, ltm_x: NDArray, ltm_y: NDArray, count: NDArray, k: int
) -> None:
    """Take out of the LTM what contradicts the newest sample of the STM."""
    n, m = count[N_STM], count[N_LTM]
    if n <= k or m == 0:
        return
    near, places = np.empty(k, np.float32), np.empty(k, np.int64)
    size = _nearest(D[n - 1], 0, n - 1, near, places)
    alive = np.ones(m, np.bool_)
    if _clean(stm_y[n - 1], near, size, places, stm_y, ltm_row, ltm_y, alive, m, k):
        kept = 0
        for j in range(m):
            if alive[j]:
                ltm_x[kept], ltm_y[kept] = ltm_x[j], ltm_y[j]
                kept += 1
        count[N_LTM] = kept


@njit(cache=True)
def shrink(
    start: int, D: NDArray, stm_x: NDArray, stm_y: NDArray, hits: NDArray, ltm_x: NDArray, ltm_y: NDArray,
    windows: NDArray, tested: NDArray, best: int, count: NDArray, k: int,
) -> None:  # fmt: skip
    """The STM becomes its window `best`, from `start` on; what is consistent with it of the rest joins the LTM."""
    n = count[N_STM]
    alive = np.ones(start, np.bool_)
    if n - start > k:
        near, places = np.empty(k, np.float32), np.empty(k, np.int64)
        row = np.empty(n, np.float32)
        for i in range(start, n):
            for j in range(start, i):
                row[j] = D[i, j]
            row[i] = np.inf
            for j in range(i + 1, n):
                row[j] = D[j, i]
            size = _nearest(row, start, n, near, places)
            _clean(stm_y[i], near, size, places, stm_y, D[i], stm_y, alive, start, k)
    for j in range(start):
        if alive[j]:
            ltm_x[count[N_LTM]], ltm_y[count[N_LTM]] = stm_x[j], stm_y[j]
            count[N_LTM] += 1
    drop_oldest(start, D, stm_x, stm_y, hits, count)
    count[N_WINDOWS] = max(count[N_WINDOWS] - best, 0)
    for w in range(count[N_WINDOWS]):
        windows[w] = windows[w + best]
        windows[w, START] -= start
        windows[w, TESTED] -= start
        tested[w, : n - start] = tested[w + best, start:n].copy()


@njit(cache=True)
def drop_oldest(start: int, D: NDArray, stm_x: NDArray, stm_y: NDArray, hits: NDArray, count: NDArray) -> None:
    """The STM without its first samples."""
    n = count[N_STM]
    for j in range(start, n):
        stm_x[j - start], stm_y[j - start] = stm_x[j], stm_y[j]
        hits[:, j - start] = hits[:, j]
        for i in range(start, j):
            D[j - start, i - start] = D[j, i]
    count[N_STM] = n - start


@njit(cache=True)
def advance(
    X: NDArray, truth: NDArray, first: int, resume: bool, D: NDArray, stm_x: NDArray, stm_y: NDArray, hits: NDArray,
    ltm_x: NDArray, ltm_y: NDArray, windows: NDArray, tested: NDArray, count: NDArray, k: int, by_distance: bool,
    min_size: int, max_size: int, exact: bool, n_classes: int, predictions: NDArray, sizes: NDArray,
) -> tuple[int, int]:  # fmt: skip
    """Test, then train, on X[first:]; gives the sample it stopped at, and why."""
    stm_row, ltm_row = np.empty(stm_x.shape[0], np.float32), np.empty(ltm_x.shape[0], np.float32)
    votes, said = np.empty(n_classes), np.empty(3, np.int64)
    for i in range(first, X.shape[0]):
        if resume:
            _distances(X[i], ltm_x, count[N_LTM], ltm_row)  # room was made in it
        else:
            n = count[N_STM]
            if n == stm_x.shape[0] or n + 1 + count[N_LTM] > ltm_x.shape[0]:
                return i, GROW
            _distances(X[i], stm_x, n, stm_row)
            _distances(X[i], ltm_x, count[N_LTM], ltm_row)
            ask(stm_row, stm_y, ltm_row, ltm_y, count, k, by_distance, votes, said)
            predictions[i] = choose(said, hits, n)
            if truth[i] >= 0:
                stm_x[n], stm_y[n] = X[i], truth[i]
                D[n, :n] = stm_row[:n]
                for memory in range(3):
                    hits[memory, n] = said[memory] == truth[i]
                count[N_STM] = n + 1
                if n + 1 + count[N_LTM] > max_size:
                    return i, MAKE_ROOM
        resume = False
        if truth[i] >= 0:
            clean_by_newest(D, stm_y, ltm_row, ltm_x, ltm_y, count, k)
            best = best_window(windows, tested, count, D, stm_y, k, min_size, exact, by_distance, votes)
            if best > 0:
                start = windows[best, START]
                shrink(start, D, stm_x, stm_y, hits, ltm_x, ltm_y, windows, tested, best, count, k)
        sizes[i] = count[N_STM] + count[N_LTM]
    return X.shape[0], DONE


@njit(cache=True)
def classify(
    X: NDArray, stm_x: NDArray, stm_y: NDArray, hits: NDArray, ltm_x: NDArray, ltm_y: NDArray, count: NDArray, k: int,
    by_distance: bool, n_classes: int,
) -> NDArray:  # fmt: skip
    """Predict only."""
    stm_row, ltm_row = np.empty(stm_x.shape[0], np.float32), np.empty(ltm_x.shape[0], np.float32)
    votes, said = np.empty(n_classes), np.empty(3, np.int64)
    predictions = np.empty(X.shape[0], np.int64)
    for i in range(X.shape[0]):
        _distances(X[i], stm_x, count[N_STM], stm_row)
        _distances(X[i], ltm_x, count[N_LTM], ltm_row)
        ask(stm_row, stm_y, ltm_row, ltm_y, count, k, by_distance, votes, said)
        predictions[i] = choose(said, hits, count[N_STM])
    return predictions
