"""The compiled heart: who is near, how they vote, and what T does along a stream.

Distances come in approximate, from a float32 matrix product, with a bound on their error. The bound settles nearly
every question of who belongs to the k nearest; what it leaves open is settled by exact distances. So a decision never
depends on block sizes, threads or the order in which a BLAS adds up, and one sample at a time gives what a whole
stream gives.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

ADD_NOTHING, ADD_ERRORS, ADD_ALL = 0, 1, 2
ADAPTIVE = -1.0  # as `add_probability`: let the recent error rate decide

# The adaptive rule: errors are averaged over about n = 50 samples and over ten times as many; T takes errors in
# where the short average stands one to two standard deviations above the long one.
SHORT_RATE, LONG_RATE = 1 / 50, 1 / 500


@njit(cache=True, fastmath={"reassoc", "contract"})
def exact_distance(a: NDArray, b: NDArray) -> float:
    """Squared Euclidean distance of two float32 vectors, in float64: differences are exact, duplicates give 0."""
    total = 0.0
    for i in range(a.shape[0]):
        difference = np.float64(a[i]) - np.float64(b[i])
        total += difference * difference
    return total


@njit(cache=True, fastmath={"reassoc", "contract"})
def _quick_distance(a: NDArray, b: NDArray) -> np.float32:
    total = np.float32(0)
    for i in range(a.shape[0]):
        difference = a[i] - b[i]
        total += difference * difference
    return total


@njit(cache=True)
def quick_distances(x: NDArray, rows: NDArray, out: NDArray) -> None:
    """Squared distances in float32, for one sample; relative error at most (d + 3) * 2**-24, but for underflow."""
    for j in range(rows.shape[0]):
        out[j] = _quick_distance(x, rows[j])


@njit(cache=True)
def squared_norms(rows: NDArray) -> NDArray:
    """Squared lengths, rounded to float32 only at the end; infinite where that is."""
    out = np.empty(rows.shape[0], np.float32)
    origin = np.zeros(rows.shape[1], np.float32)
    for j in range(rows.shape[0]):
        out[j] = exact_distance(rows[j], origin)
    return out


@njit(cache=True)
def fingerprint(words: NDArray) -> np.uint64:
    """A 64-bit hash of an array of uint32, four words at a time."""
    prime = np.uint64(0x9E3779B97F4A7C15)
    a, b, c, d = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(5)
    n = words.shape[0]
    for i in range(0, n - n % 4, 4):
        a = (a ^ np.uint64(words[i])) * prime
        b = (b ^ np.uint64(words[i + 1])) * prime
        c = (c ^ np.uint64(words[i + 2])) * prime
        d = (d ^ np.uint64(words[i + 3])) * prime
        # a multiplication only carries upwards: bring the high bits back down
        a ^= a >> np.uint64(29)
        b ^= b >> np.uint64(31)
        c ^= c >> np.uint64(33)
        d ^= d >> np.uint64(35)
    for i in range(n - n % 4, n):
        a = (a ^ np.uint64(words[i])) * prime
        a ^= a >> np.uint64(29)
    return ((a * prime ^ b) * prime ^ c) * prime ^ d


@njit(cache=True)
def uniform(seed: int, time: int) -> float:
    """A number in [0, 1) that depends on nothing but the seed and the clock (splitmix64)."""
    z = np.uint64(seed) * np.uint64(0xD1342543DE82EF95) + np.uint64(time) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return float((z ^ (z >> np.uint64(31))) >> np.uint64(11)) / 9007199254740992.0


@njit(cache=True)
def _sift_down(heap: NDArray, size: int) -> None:
    """Restore a max-heap whose root was replaced."""
    parent = 0
    value = heap[0]
    while True:
        child = 2 * parent + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= value:
            break
        heap[parent] = heap[child]
        parent = child
    heap[parent] = value


@njit(cache=True)
def _kth_smallest(values: NDArray, n: int, k: int, heap: NDArray) -> float:
    """The k-th smallest of values[:n]; infinity where fewer than k are numbers."""
    for i in range(k):
        heap[i] = np.inf
    for i in range(n):
        if values[i] < heap[0]:
            heap[0] = values[i]
            _sift_down(heap, k)
    return heap[0]


@njit(cache=True)
def _vote(
    x: NDArray,
    near: NDArray,  # float32 scratch: approximate squared distances to the n members
    n: int,
    k: int,
    slack_abs: float,
    slack_rel: float,
    members: NDArray,  # their ids, oldest first
    codes: NDArray,  # their classes
    stream: NDArray,
    foreign: NDArray,
    by_distance: bool,
    heap: NDArray,
    doubtful: NDArray,
    exact: NDArray,
    votes: NDArray,
) -> None:
    """Fill `votes` (one per class) with those of the k nearest members."""
    votes[:] = 0.0
    n_stream = stream.shape[0]
    kth = _kth_smallest(near, n, k, heap)
    slack = slack_abs + slack_rel * kth
    low, high = kth - 2 * slack, kth + 2 * slack
    certain = 0
    open_places = 0
    for j in range(n):
        if near[j] < low:
            if not by_distance:
                votes[codes[j]] += 1.0
            certain += 1
        elif not near[j] > high:  # also where overflow left a NaN
            doubtful[open_places] = j
            open_places += 1
    wanted = k - certain
    if wanted < open_places:  # more candidates than places: exact distances decide, the older first among equals
        for i in range(open_places):
            id_ = members[doubtful[i]]
            other = stream[id_] if id_ < n_stream else foreign[id_ - n_stream]
            exact[i] = exact_distance(x, other)
        for i in range(wanted):
            best = i
            for m in range(i + 1, open_places):
                if exact[m] < exact[best] or (exact[m] == exact[best] and doubtful[m] < doubtful[best]):
                    best = m
            exact[i], exact[best] = exact[best], exact[i]
            doubtful[i], doubtful[best] = doubtful[best], doubtful[i]
    if not by_distance:
        for i in range(wanted):
            votes[codes[doubtful[i]]] += 1.0
        return
    # 1/d votes want exact distances of all k, certain ones included, summed in the order of T
    for i in range(wanted):
        near[doubtful[i]] = -np.inf
    zero = False
    for j in range(n):
        if near[j] < low or near[j] == -np.inf:
            id_ = members[j]
            other = stream[id_] if id_ < n_stream else foreign[id_ - n_stream]
            squared = exact_distance(x, other)
            if squared == 0.0:
                if not zero:
                    zero = True
                    votes[:] = 0.0
                votes[codes[j]] += 1.0
            elif not zero:
                votes[codes[j]] += 1.0 / np.sqrt(squared)


@njit(cache=True)
def add_chance(rates: NDArray) -> float:
    """The adaptive probability: 0 while the recent error rate is the usual one, 1 when it stands two sigma above."""
    short, long, seen = rates[0], rates[1], rates[2]
    if seen < 1:
        return 0.0
    usual = min(max(long, 0.01), 0.99)
    rate = max(SHORT_RATE, 1.0 / seen)
    sigma = np.sqrt(usual * (1.0 - usual) * rate / (2.0 - rate))
    return min(max((short - long) / sigma - 1.0, 0.0), 1.0)


@njit(cache=True)
def advance(
    stream: NDArray,  # float32 (n, d): sample i has id i
    foreign: NDArray,  # float32 (m, d): what T held before, ids n, n+1, …
    near: NDArray,  # float32 (rows, columns): approximate squared distances of stream[first:first+rows]
    column: NDArray,  # id -> column of `near`
    slack_abs: NDArray,  # float64 (rows,): |near - true| <= slack_abs + slack_rel * near
    slack_rel: float,
    first: int,
    start: int,
    stop: int,
    truth: NDArray,  # class of each stream sample, -1 = no label: predict only
    members: NDArray,  # T, oldest first, is members[head:tail]: ids,
    codes: NDArray,  # classes
    times: NDArray,  # and times
    head: int,
    tail: int,
    k_fixed: int,  # 0 = ceil(sqrt(|T|))
    by_distance: bool,
    add: int,
    add_probability: float,
    max_size: int,
    seed: int,
    clock: int,  # time of stream[0]
    rates: NDArray,  # short and long error averages, number of labels seen
    predictions: NDArray,
    sizes: NDArray,
    votes: NDArray,  # (n, classes), or (1, classes) as scratch
) -> tuple[int, int]:
    """Test, then train, on stream[start:stop]; gives the new ends of T."""
    room = tail - head + (stop - start if add != ADD_NOTHING else 0)
    row = np.empty(room, np.float32)
    exact = np.empty(room, np.float64)
    doubtful = np.empty(room, np.int64)
    heap = np.empty(room, np.float32)
    for i in range(start, stop):
        n = tail - head
        distances = near[i - first]
        for j in range(n):
            row[j] = distances[column[members[head + j]]]
        k = min(k_fixed, n) if k_fixed > 0 else int(np.ceil(np.sqrt(n)))
        ballot = votes[i] if votes.shape[0] > 1 else votes[0]
        _vote(
            stream[i], row, n, k, slack_abs[i - first], slack_rel, members[head:tail], codes[head:tail], stream,
            foreign, by_distance, heap, doubtful, exact, ballot,
        )  # fmt: skip
        predictions[i] = np.argmax(ballot)
        if truth[i] >= 0:
            wrong = predictions[i] != truth[i]
            error = 1.0 if wrong else 0.0
            wanted = add == ADD_ALL or (add == ADD_ERRORS and wrong)
            if wanted and add_probability < 1.0:
                chance = add_chance(rates) if add_probability == ADAPTIVE else add_probability
                wanted = uniform(seed, clock + i) < chance
            rates[2] += 1.0
            rates[0] += (error - rates[0]) * max(SHORT_RATE, 1.0 / rates[2])
            rates[1] += (error - rates[1]) * max(LONG_RATE, 1.0 / rates[2])
            if wanted:
                members[tail], codes[tail], times[tail] = i, truth[i], clock + i
                tail += 1
                if tail - head > max_size:
                    head += 1
        sizes[i] = tail - head
    return head, tail
