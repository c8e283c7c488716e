"""Compiled inner loops: squared distances, kNN votes, and test-then-train over a stream.

Distances are float32 approximations with a bound on their error. If the bound leaves open which samples are the k
nearest, float64 distances decide, which have the same bits on every processor. So a prediction does not depend on block
sizes, threads, the processor or the summation order of a BLAS, and predicting one sample at a time gives the same
results as a whole stream.

Arrays that belong together are passed as named tuples, which numba compiles to plain structures.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tmlcd_core.portable_loops import squared_distance as exact_distance

ADD_NOTHING, ADD_ERRORS, ADD_ALL = 0, 1, 2
ADAPTIVE = -1.0  # as `add_probability`: the recent error rate decides
UNBOUNDED = 2**62  # as `max_size`

# The adaptive probability compares the error rate of about the last n = 50 samples with that of ten times as many:
# misclassified samples join T where the first is one to two standard deviations above the second.
SHORT_RATE, LONG_RATE = 1 / 50, 1 / 500

HALF_ULP = 2.0**-24  # of float32
FEW = 192  # values: up to here, comparing each with all others in vector instructions is faster than a heap
SAMPLE = 64  # distances from which the reach of the k nearest is guessed
SMALLEST = 2.0**-149  # of float32: a number that underflows has an error of up to half of it


class UpdateRule(NamedTuple):
    """Settings of the loops: how T votes and which samples join it."""

    k: int = 0  # neighbours that vote; 0 = ceil(sqrt(|T|))
    by_distance: bool = False  # votes count 1/d
    add: int = ADD_NOTHING
    add_probability: float = 1.0
    max_size: int = UNBOUNDED
    seed: int = 0


class Vectors(NamedTuple):
    """Feature vectors by id: the n samples of the stream have the ids 0 to n - 1, all others follow."""

    stream: NDArray  # float32 (n, d)
    others: NDArray  # float32 (m, d)


class Labels(NamedTuple):
    """Class codes and times of the samples of a stream."""

    truth: NDArray  # int32 (n,): class code, -1 = no label, only predict
    clock: int  # time of the first sample


class Block(NamedTuple):
    """Approximate squared distances of consecutive samples of the stream."""

    first: int  # index of the first sample
    near: NDArray  # float32 (samples, columns)
    column: NDArray  # int32: id -> column of `near`
    slack: NDArray  # float64 (samples,): largest error in each row


class Members(NamedTuple):
    """T as ids, class codes and times, oldest first, in [head:tail] of arrays with room for more."""

    ids: NDArray  # int32
    codes: NDArray  # int32
    times: NDArray  # int64
    head: int
    tail: int


class Queue(NamedTuple):
    """T as feature vectors, class codes and times, oldest first, in [head:tail] of arrays with room for more."""

    x: NDArray  # float32 (room, d)
    codes: NDArray  # int32
    times: NDArray  # int64
    head: int
    tail: int


class Results(NamedTuple):
    """Output of `advance` for each sample of the stream."""

    predictions: NDArray  # int32 (n,): class code predicted before learning
    sizes: NDArray  # int32 (n,): |T| after learning
    votes: NDArray  # float64 (n, classes), or (1, classes) to keep none


class Voters(NamedTuple):
    """The n members of T as seen from one sample; |near - true| <= slack_abs + slack_rel * near."""

    ids: NDArray  # int32 (n,), oldest first
    codes: NDArray  # int32 (n,)
    near: NDArray  # float32 (n,): approximate squared distances
    slack_abs: float
    slack_rel: float


class Scratch(NamedTuple):
    """Memory of `_vote` for n members, reused for each sample."""

    heap: NDArray  # float32 (n,)
    values: NDArray  # float32 (n,)
    nearest: NDArray  # int64 (n + 1,)
    doubtful: NDArray  # int64 (n,)
    exact: NDArray  # float64 (n,)


@njit(cache=True, fastmath={"reassoc", "contract"})
def _quick_distance(a: NDArray, b: NDArray) -> np.float32:
    """Squared distance in float32: relative error at most (d + 3) * HALF_ULP, apart from underflow."""
    total = np.float32(0)
    for i in range(a.shape[0]):
        difference = a[i] - b[i]
        total += difference * difference
    return total


@njit(cache=True)
def _quick_distances(x: NDArray, rows: NDArray, out: NDArray) -> None:
    for j in range(rows.shape[0]):
        out[j] = _quick_distance(x, rows[j])


@njit(cache=True)
def squared_norms(rows: NDArray) -> NDArray:
    """Return the squared norms of rows (n, d), computed in float64, as float32 (n,) (infinite on overflow)."""
    out = np.empty(rows.shape[0], np.float32)
    origin = np.zeros(rows.shape[1], np.float32)
    for j in range(rows.shape[0]):
        out[j] = exact_distance(rows[j], origin)
    return out


@njit(cache=True)
def fingerprint(words: NDArray) -> np.uint64:
    """Return a 64-bit hash of an array, uint32 (n,)."""
    prime = np.uint64(0x9E3779B97F4A7C15)
    a, b, c, d = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(5)
    n = words.shape[0]
    for i in range(0, n - n % 4, 4):
        a = (a ^ np.uint64(words[i])) * prime
        b = (b ^ np.uint64(words[i + 1])) * prime
        c = (c ^ np.uint64(words[i + 2])) * prime
        d = (d ^ np.uint64(words[i + 3])) * prime
        # a multiplication carries only upwards: mix the high bits back into the low ones
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
    """Return a pseudorandom number in [0, 1) that depends only on seed and time (splitmix64)."""
    z = np.uint64(seed) * np.uint64(0xD1342543DE82EF95) + np.uint64(time) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return float((z ^ (z >> np.uint64(31))) >> np.uint64(11)) / 9007199254740992.0


@njit(cache=True)
def _scratch(n: int) -> Scratch:
    heap, values, exact = np.empty(n, np.float32), np.empty(n, np.float32), np.empty(n)
    return Scratch(heap, values, np.empty(n + 1, np.int64), np.empty(n, np.int64), exact)


@njit(cache=True)
def _sift_down(heap: NDArray, size: int) -> None:
    """Restore a max-heap after its root was replaced."""
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
def _doubt(kth: float, voters: Voters) -> float:
    """Largest error of a comparison with the k-th smallest approximate distance."""
    return 2 * (voters.slack_abs + voters.slack_rel * kth)


@njit(cache=True)
def _kth_smallest(values: NDArray, k: int, heap: NDArray) -> float:
    """The k-th smallest value; infinity if fewer than k values are numbers. `heap` is scratch, shape (>= k,)."""
    n = values.shape[0]
    if n > FEW:
        heap[:k] = np.inf
        for i in range(n):
            if values[i] < heap[0]:
                heap[0] = values[i]
                _sift_down(heap, k)
        return heap[0]
    largest = -np.inf  # of the values with fewer than k smaller ones
    for i in range(n):
        smaller = 0
        for j in range(n):
            smaller += values[j] < values[i]
        if smaller < k and values[i] > largest:
            largest = values[i]
            if smaller == k - 1:
                return largest
    count = 0
    for i in range(n):
        count += values[i] <= largest
    return largest if count >= k else np.inf


@njit(cache=True)
def _nearest(voters: Voters, k: int, scratch: Scratch) -> tuple[int, float]:
    """Find the members that may be among the k nearest; return their number and the k-th smallest distance.

    `scratch.nearest` becomes their positions, oldest first, with some more. The distance is infinite if fewer than k
    are numbers.
    """
    near, nearest, values = voters.near, scratch.nearest, scratch.values
    n = near.shape[0]
    reach = np.inf  # members up to this distance are collected: a guess, then enlarged if necessary
    expected = k * SAMPLE / n
    place = int(expected + 2 * np.sqrt(expected)) + 2
    if n > FEW and place <= SAMPLE:
        for i in range(SAMPLE):
            values[i] = near[i * n // SAMPLE]
        reach = _kth_smallest(values[:SAMPLE], place, scratch.heap)
    while True:
        found = 0
        for j in range(n):
            nearest[found] = j
            found += not near[j] > reach  # also true for a NaN, the result of an overflow
        for i in range(found):
            values[i] = near[nearest[i]]
        kth = _kth_smallest(values[:found], k, scratch.heap)
        farthest = kth + _doubt(kth, voters)
        if farthest <= reach or not reach < np.inf:
            return found, kth
        reach = farthest


@njit(cache=True)
def underflow(d: int) -> float:
    """Return the largest error of a squared distance of d features from squares too small for float32."""
    return (d + 16) * SMALLEST


@njit(cache=True)
def _true_distance(x: NDArray, id_: int, vectors: Vectors) -> float:
    n = vectors.stream.shape[0]
    if id_ < n:
        return exact_distance(x, vectors.stream[id_])
    return exact_distance(x, vectors.others[id_ - n])


@njit(cache=True)
def _vote(x: NDArray, voters: Voters, vectors: Vectors, rule: UpdateRule, scratch: Scratch, votes: NDArray) -> int:
    """Fill `votes`, shape (classes,), with the votes of the k nearest members; return the class with the most."""
    near, nearest, doubtful, exact = voters.near, scratch.nearest, scratch.doubtful, scratch.exact
    n = near.shape[0]
    k = min(rule.k, n) if rule.k > 0 else int(np.ceil(np.sqrt(n)))
    found, kth = _nearest(voters, k, scratch)
    low, high = kth - _doubt(kth, voters), kth + _doubt(kth, voters)
    chosen = 0
    candidates = 0  # members that may or may not be among the k nearest
    for i in range(found):
        j = nearest[i]
        if near[j] < low:
            nearest[chosen] = j
            chosen += 1
        elif not near[j] > high:
            doubtful[candidates] = j
            candidates += 1
    places = k - chosen
    if places < candidates:  # exact distances decide; among equally distant members the older counts as nearer
        for i in range(candidates):
            exact[i] = _true_distance(x, voters.ids[doubtful[i]], vectors)
        for i in range(places):
            best = i
            for m in range(i + 1, candidates):
                if exact[m] < exact[best] or (exact[m] == exact[best] and doubtful[m] < doubtful[best]):
                    best = m
            exact[i], exact[best] = exact[best], exact[i]
            doubtful[i], doubtful[best] = doubtful[best], doubtful[i]
    nearest[chosen:k] = doubtful[:places]
    votes[:] = 0.0
    if rule.by_distance:
        _vote_by_distance(x, np.sort(nearest[:k]), voters, vectors, votes)
    else:
        for i in range(k):
            votes[voters.codes[nearest[i]]] += 1.0
    return int(np.argmax(votes))


@njit(cache=True)
def _vote_by_distance(x: NDArray, nearest: NDArray, voters: Voters, vectors: Vectors, votes: NDArray) -> None:
    """Add 1/d for each of the nearest members, given in the order of T; members at distance 0 decide alone."""
    duplicate = False
    for j in nearest:
        squared = _true_distance(x, voters.ids[j], vectors)
        if squared == 0.0:
            if not duplicate:
                duplicate = True
                votes[:] = 0.0
            votes[voters.codes[j]] += 1.0
        elif not duplicate:
            votes[voters.codes[j]] += 1.0 / np.sqrt(squared)


@njit(cache=True)
def add_chance(rates: NDArray) -> float:
    """Return the adaptive probability of adding an error to T: 0 at the usual error rate, 1 at two deviations above it.

    `rates` is float64 (3,): short and long error average, number of labels seen.
    """
    short, long, seen = rates[0], rates[1], rates[2]
    if seen < 1:
        return 0.0
    usual = min(max(long, 0.01), 0.99)
    rate = max(SHORT_RATE, 1.0 / seen)
    sigma = np.sqrt(usual * (1.0 - usual) * rate / (2.0 - rate))
    return min(max((short - long) / sigma - 1.0, 0.0), 1.0)


@njit(cache=True)
def _joins(wrong: bool, time: int, rule: UpdateRule, rates: NDArray) -> bool:
    """True if a labelled sample joins T; updates `rates` (short and long error average, labels seen)."""
    joins = rule.add == ADD_ALL or (rule.add == ADD_ERRORS and wrong)
    if joins and rule.add_probability < 1.0:
        chance = add_chance(rates) if rule.add_probability == ADAPTIVE else rule.add_probability
        joins = uniform(rule.seed, time) < chance
    error = 1.0 if wrong else 0.0
    rates[2] += 1.0
    rates[0] += (error - rates[0]) * max(SHORT_RATE, 1.0 / rates[2])
    rates[1] += (error - rates[1]) * max(LONG_RATE, 1.0 / rates[2])
    return joins


@njit(cache=True)
def advance(
    vectors: Vectors,
    labels: Labels,
    block: Block,
    members: Members,
    rule: UpdateRule,
    rates: NDArray,
    results: Results,
    start: int,
    stop: int,
) -> tuple[int, int]:
    """Test-then-train on the samples [start:stop] of a block; return head and tail of T. `rates` (3,) is updated."""
    head, tail = members.head, members.tail
    room = tail - head + (stop - start if rule.add != ADD_NOTHING else 0)
    scratch = _scratch(room)
    near = np.empty(room, np.float32)
    columns = np.empty(room, np.int32)  # of the members from `first` on, also those that join
    first = head
    for j in range(head, tail):
        columns[j - first] = block.column[members.ids[j]]
    for i in range(start, stop):
        n = tail - head
        ids, codes = members.ids[head:tail], members.codes[head:tail]
        row = block.near[i - block.first]
        held = columns[head - first : tail - first]
        for j in range(n):
            near[j] = row[held[j]]
        voters = Voters(ids, codes, near[:n], block.slack[i - block.first], 0.0)
        votes = results.votes[i] if results.votes.shape[0] > 1 else results.votes[0]
        predicted = _vote(vectors.stream[i], voters, vectors, rule, scratch, votes)
        results.predictions[i] = predicted
        truth, time = labels.truth[i], labels.clock + i
        if truth >= 0 and _joins(predicted != truth, time, rule, rates):
            members.ids[tail], members.codes[tail], members.times[tail] = i, truth, time
            columns[tail - first] = block.column[i]
            tail += 1
            if tail - head > rule.max_size:
                head += 1
        results.sizes[i] = tail - head
    return head, tail


@njit(cache=True)
def learn(
    x: NDArray, truth: int, predicted: int, time: int, queue: Queue, rule: UpdateRule, rates: NDArray
) -> tuple[int, int]:
    """Learn a labelled sample x (1, d) predicted before; return head and tail of T. `rates` (3,) is updated."""
    head, tail = queue.head, queue.tail
    if _joins(predicted != truth, time, rule, rates):
        queue.codes[tail], queue.times[tail] = truth, time
        for i in range(x.shape[1]):
            queue.x[tail, i] = x[0, i]
        tail += 1
        if tail - head > rule.max_size:
            head += 1
    return head, tail


@njit(cache=True)
def step(
    x: NDArray, truth: int, time: int, queue: Queue, rule: UpdateRule, rates: NDArray, n_classes: int
) -> tuple[int, int, int]:
    """Test-then-train on one sample x (1, d); return predicted code, head and tail of T. `rates` (3,) is updated."""
    head, tail = queue.head, queue.tail
    n, d = tail - head, x.shape[1]
    scratch = _scratch(n)
    near = np.empty(n, np.float32)
    _quick_distances(x[0], queue.x[head:tail], near)
    ids = np.empty(n, np.int32)
    for j in range(n):
        ids[j] = 1 + head + j  # id 0 is the sample itself
    voters = Voters(ids, queue.codes[head:tail], near, underflow(d), 2 * (d + 3) * HALF_ULP)
    predicted = _vote(x[0], voters, Vectors(x, queue.x), rule, scratch, np.empty(n_classes))
    if truth >= 0:
        head, tail = learn(x, truth, predicted, time, queue, rule, rates)
    return predicted, head, tail
