"""Compiled inner loops of Tandem: two linear layers, three votes of stored bytes, and the mix of six experts.

Every number is the same on every machine, and in a C version with single-precision arithmetic: distances are integers;
sums of float32 have one fixed order; `exp` and `log` are written out in basic operations; nothing is reassociated or
contracted to fused multiply-adds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tmlcd_core.learners.vector_loops import dot, squared_distances

DONE, NEW_CLASS = 0, 1  # why `advance` returned
F, A = 0, 1  # the fast layer and its running average: rows of `weights` and `biases`
N_LEARNED, HEAD, SIZE = 0, 1, 2  # indices of `counts`
LOW, LEVELS = 0, 1  # indices of `scale`
AVERAGE, VOTE, BOTH, RENAMED, RENAMED_QUARTER, RENAMED_NEWEST = range(6)  # the experts: rows of `Answers.experts`
EXPERTS = 6
K = 5  # neighbours in each vote
WINDOWS = (1, 4, 16)  # the votes ask all rows, the newest quarter, the newest sixteenth of the capacity
MOST_FEATURES = 33_000  # whose squared differences fit 32 bits
LONGEST_COUNT = 1 << 30  # of samples learned: the rate of averaging has long reached its limit

SHARPNESS = np.float32(5)  # factor of a layer's outputs in the softmax
STEP = np.float32(0.5)  # of F, divided by |x|^2
BIAS_STEP = np.float32(0.05)
LEAST_AVERAGING = np.float32(0.01)  # of A: a memory of about 100 samples
DISCOUNT = np.float32(0.98)  # of the experts' log-likelihoods: a memory of about 50 samples
CONFUSION_STEP = np.float32(0.2)  # of a row of the confusion matrix: a memory of about 5 samples
FLOOR = np.float32(0.02)  # added to each probability of an expert
LAYER_FLOOR, VOTE_FLOOR = np.float32(0.01), np.float32(0.2)  # added before a layer and a vote are multiplied
LARGEST_OUTPUT = np.float32(1e4)  # of a layer
LARGEST = np.float32(np.finfo(np.float32).max)
ZERO, HALF, ONE, TOP = np.float32(0), np.float32(0.5), np.float32(1), np.float32(255)

# exp and log of Cephes (S. Moshier), single precision
LOWEST_EXPONENT = -126
POWERS = np.exp2(np.arange(LOWEST_EXPONENT, 1)).astype(np.float32)  # exact
LOG2_E, LN2_HIGH, LN2_LOW = np.float32(1.44269504088896341), np.float32(0.693359375), np.float32(-2.12194440e-4)
SMALLEST_ARGUMENT = np.float32(-87)
EXP = np.array(
    [1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1], np.float32
)
SQRT_HALF = np.float32(0.707106781186547524)
LOG = np.array(
    [
        7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
        2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
    ],
    np.float32,
)  # fmt: skip


class State(NamedTuple):
    """All that Tandem stores on a device, for d features, C classes seen and room for `capacity` rows."""

    mean: NDArray  # float32 (d,): of the initial samples
    weights: NDArray  # float32 (2, C, d): layers F and A
    biases: NDArray  # float32 (2, C)
    confusion: NDArray  # float32 (C, C): recent shares of the true classes where expert BOTH named the row
    rows: NDArray  # uint8 (capacity, d): ring of the newest samples
    labels: NDArray  # uint16 (capacity,): class slots of the rows
    evidence: NDArray  # float32 (6,): discounted log-likelihood of each expert
    scale: NDArray  # float32 (2,): lowest feature, levels of a byte per unit
    counts: NDArray  # int32 (3,): samples learned (at most LONGEST_COUNT), oldest row, number of rows


class Answers(NamedTuple):
    """Memory of one prediction, reused for each sample; `room` is the number of classes in the whole stream."""

    centred: NDArray  # float32 (d,): sample minus mean
    coded: NDArray  # int16 (d,): sample as a row, 0 to 255
    layer: NDArray  # float32 (room,): probabilities of the classes from one layer
    votes: NDArray  # float32 (room,): of one window
    experts: NDArray  # float32 (6, room)
    mix: NDArray  # float32 (room,)
    distances: NDArray  # int32 (capacity,): squared, of the rows from the oldest on
    near: NDArray  # int32 (3, K): squared distances of the nearest rows, nearest first
    voters: NDArray  # int64 (3, K): their positions, counted from the oldest row


class Record(NamedTuple):
    """Labels of a stream and what `advance` writes; class slots count the classes in the order of appearance."""

    truth: NDArray  # int32 (n,): class slot, -1 = no label, only predict
    codes: NDArray  # int32 (room,): class code of each slot; decides ties
    predictions: NDArray  # int32 (n,): class slot predicted before learning
    sizes: NDArray  # int32 (n,): stored rows after learning
    times: NDArray  # int64 (capacity,): when each row was stored; for inspection, not needed on a device
    clock: int  # time of the first sample


@njit(cache=True, error_model="numpy")
def exp(x: np.float32) -> np.float32:
    """Return the exponential function of x <= 0 in float32; 0 below -87."""
    if not x > SMALLEST_ARGUMENT:
        return ZERO
    power = int(np.floor(x * LOG2_E + HALF))
    z = np.float32(power)
    r = x - z * LN2_HIGH
    r = r - z * LN2_LOW
    total = EXP[0]
    for i in range(1, EXP.shape[0]):
        total = total * r + EXP[i]
    total = total * (r * r) + r
    return (total + ONE) * POWERS[power - LOWEST_EXPONENT]


@njit(cache=True, error_model="numpy")
def log(x: np.float32) -> np.float32:
    """Return the natural logarithm of x, 0 < x <= 1, in float32."""
    z = ZERO
    while x < SQRT_HALF:
        x = x + x
        z = z - ONE
    r = x - ONE
    total = LOG[0]
    for i in range(1, LOG.shape[0]):
        total = total * r + LOG[i]
    square = r * r
    total = total * r * square
    total = total + z * LN2_LOW
    total = total - HALF * square
    return (r + total) + z * LN2_HIGH


@njit(cache=True, error_model="numpy")
def encode(x: NDArray, scale: NDArray, out: NDArray) -> None:
    """Write a sample in levels of a byte: 0 is the lowest initial feature, 255 the highest.

    x float32 (d,), scale float32 (2,) as in `State`, out int16 (d,).
    """
    for i in range(x.shape[0]):
        level = (x[i] - scale[LOW]) * scale[LEVELS] + HALF
        out[i] = np.int16(min(level, TOP)) if level > ZERO else np.int16(0)


@njit(cache=True, error_model="numpy")
def _insert(squared: int, place: int, near: NDArray, voters: NDArray) -> None:
    """Insert a row into the sorted list of the nearest, behind equal ones; the farthest leaves."""
    j = near.shape[0] - 1
    while j > 0 and squared < near[j - 1]:
        near[j], voters[j] = near[j - 1], voters[j - 1]
        j -= 1
    near[j], voters[j] = squared, place


@njit(cache=True, error_model="numpy")
def find_nearest(state: State, answers: Answers) -> None:
    """Find the nearest rows of `coded` among all and in both windows; of equally distant rows the older is nearer."""
    near, voters, distances = answers.near, answers.voters, answers.distances
    capacity, head, size = state.rows.shape[0], state.counts[HEAD], state.counts[SIZE]
    first = min(size, capacity - head)  # rows up to the end of the ring
    squared_distances(answers.coded, state.rows[head : head + first], distances[:first])
    squared_distances(answers.coded, state.rows[: size - first], distances[first:size])
    near[:] = np.iinfo(np.int32).max
    voters[:] = -1
    for window in range(3):
        farthest = near[window, K - 1]
        for place in range(max(0, size - capacity // WINDOWS[window]), size):
            if distances[place] < farthest:
                _insert(distances[place], place, near[window], voters[window])
                farthest = near[window, K - 1]


@njit(cache=True, error_model="numpy")
def _normalise(values: NDArray, n: int) -> None:
    """Divide by the sum; without any votes, all classes are equal."""
    total = ZERO
    for c in range(n):
        total += values[c]
    if total > ZERO:
        for c in range(n):
            values[c] /= total
    else:
        values[:n] = ONE / np.float32(n)


@njit(cache=True, error_model="numpy")
def _ask_layer(layer: int, usable: bool, state: State, answers: Answers) -> None:
    """Softmax of one layer: a sample that is too far away for float32 counts only the biases."""
    out = answers.layer
    n = state.biases.shape[1]
    highest = -LARGEST
    for c in range(n):
        value = dot(state.weights[layer, c], answers.centred) if usable else ZERO
        value = SHARPNESS * (value + state.biases[layer, c])
        if not (-LARGEST_OUTPUT < value < LARGEST_OUTPUT):
            value = LARGEST_OUTPUT if value > ZERO else -LARGEST_OUTPUT
        out[c] = value
        highest = max(highest, value)
    for c in range(n):
        out[c] = exp(out[c] - highest)
    _normalise(out, n)


@njit(cache=True, error_model="numpy")
def _vote(window: int, state: State, answers: Answers, out: NDArray) -> None:
    """Votes of the nearest rows of a window, 1/distance each, as shares of the classes."""
    n, capacity, head = state.biases.shape[1], state.rows.shape[0], state.counts[HEAD]
    out[:n] = ZERO
    for j in range(K):
        place = answers.voters[window, j]
        if place >= 0:
            place += head
            label = state.labels[place - capacity if place >= capacity else place]
            out[label] += ONE / np.sqrt(np.float32(max(answers.near[window, j], 1)))
    _normalise(out, n)


@njit(cache=True, error_model="numpy")
def _multiply(layer: NDArray, vote: NDArray, n: int, out: NDArray) -> None:
    for c in range(n):
        out[c] = (layer[c] + LAYER_FLOOR) * (vote[c] + VOTE_FLOOR)
    _normalise(out, n)


@njit(cache=True, error_model="numpy")
def _rename(named: NDArray, confusion: NDArray, n: int, out: NDArray) -> None:
    """Probabilities of the classes if each class that was named means what it recently meant."""
    for c in range(n):
        total = ZERO
        for j in range(n):
            total += named[j] * confusion[j, c]
        out[c] = total
    _normalise(out, n)


@njit(cache=True, error_model="numpy")
def ask(x: NDArray, state: State, answers: Answers) -> np.float32:
    """Fill `answers` for a sample x, float32 (d,); return |x - mean|^2, or 0 if it cannot be used."""
    n = state.biases.shape[1]
    for i in range(x.shape[0]):
        answers.centred[i] = x[i] - state.mean[i]
    norm = dot(answers.centred, answers.centred)
    if not (ZERO < norm <= LARGEST):
        norm = ZERO
    encode(x, state.scale, answers.coded)
    find_nearest(state, answers)
    _ask_layer(A, norm > ZERO, state, answers)
    experts = answers.experts
    experts[AVERAGE, :n] = answers.layer[:n]
    _vote(0, state, answers, experts[VOTE])
    _multiply(experts[AVERAGE], experts[VOTE], n, experts[BOTH])
    _rename(experts[BOTH], state.confusion, n, experts[RENAMED])
    for window, h in ((1, RENAMED_QUARTER), (2, RENAMED_NEWEST)):
        _vote(window, state, answers, answers.votes)
        _multiply(experts[RENAMED], answers.votes, n, experts[h])
    best = state.evidence[0]
    for h in range(1, EXPERTS):
        best = max(best, state.evidence[h])
    answers.mix[:n] = ZERO
    share = ONE + FLOOR * np.float32(n)
    for h in range(EXPERTS):
        weight = exp(state.evidence[h] - best)
        for c in range(n):
            experts[h, c] = (experts[h, c] + FLOOR) / share
            answers.mix[c] += weight * experts[h, c]
    return norm


@njit(cache=True, error_model="numpy")
def choose(mix: NDArray, codes: NDArray, n: int) -> int:
    """Return which of n class slots has the largest share in mix (room,); if tied, the smallest of codes (room,)."""
    best = 0
    for c in range(1, n):
        if mix[c] > mix[best] or (mix[c] == mix[best] and codes[c] < codes[best]):
            best = c
    return best


@njit(cache=True, error_model="numpy")
def learn(label: int, norm: np.float32, state: State, answers: Answers) -> int:
    """Learn the sample of `answers`, whose class slot is `label`; return the position of its row in the ring."""
    n, capacity, counts = state.biases.shape[1], state.rows.shape[0], state.counts
    for h in range(EXPERTS):
        state.evidence[h] = DISCOUNT * state.evidence[h] + log(answers.experts[h, label])
    named = 0
    for c in range(1, n):
        if answers.experts[BOTH, c] > answers.experts[BOTH, named]:
            named = c
    for c in range(n):
        truth = ONE if c == label else ZERO
        state.confusion[named, c] += CONFUSION_STEP * (truth - state.confusion[named, c])
    _ask_layer(F, norm > ZERO, state, answers)
    counts[N_LEARNED] = min(counts[N_LEARNED] + 1, LONGEST_COUNT)
    rate = max(LEAST_AVERAGING, ONE / np.float32(counts[N_LEARNED]))
    for c in range(n):
        error = (ONE if c == label else ZERO) - answers.layer[c]
        step = STEP * error / norm if norm > ZERO else ZERO
        fast, average = state.weights[F, c], state.weights[A, c]
        for i in range(fast.shape[0]):
            fast[i] += step * answers.centred[i] if step != ZERO else ZERO
            average[i] += rate * (fast[i] - average[i])
        state.biases[F, c] += BIAS_STEP * error
        state.biases[A, c] += rate * (state.biases[F, c] - state.biases[A, c])
    place = (counts[HEAD] + counts[SIZE]) % capacity
    if counts[SIZE] == capacity:
        counts[HEAD] = (counts[HEAD] + 1) % capacity
    else:
        counts[SIZE] += 1
    state.rows[place] = answers.coded
    state.labels[place] = label
    return place


@njit(cache=True, error_model="numpy")
def advance(X: NDArray, i: int, pending: np.float32, state: State, answers: Answers, record: Record) -> tuple:
    """Test-then-train from sample i of a stream X, float32 (n, d), on.

    Returns (i, DONE, 0), or (i, NEW_CLASS, pending) if sample i was predicted and is of a class without a slot: then
    add the slot and call again with `pending`, which is negative otherwise.
    """
    while i < X.shape[0]:
        label = record.truth[i]
        if pending < ZERO:
            norm = ask(X[i], state, answers)
            n = state.biases.shape[1]
            record.predictions[i] = choose(answers.mix, record.codes, n)
            if label == n:
                for h in range(EXPERTS):
                    answers.experts[h, n] = FLOOR / (ONE + FLOOR * np.float32(n))
                return i, NEW_CLASS, norm
        else:
            norm, pending = pending, -ONE
        if label >= 0:
            record.times[learn(label, norm, state, answers)] = record.clock + i
        record.sizes[i] = state.counts[SIZE]
        i += 1
    return i, DONE, ZERO


@njit(cache=True, error_model="numpy")
def classify(X: NDArray, state: State, answers: Answers, shares: NDArray) -> None:
    """Write the shares of the classes in the mix for each sample of X (n, d): float32 (n, C), not normalised."""
    for i in range(X.shape[0]):
        ask(X[i], state, answers)
        shares[i] = answers.mix[: shares.shape[1]]


@njit(cache=True, error_model="numpy")
def neighbours(X: NDArray, state: State, answers: Answers, squared: NDArray, places: NDArray) -> None:
    """Write the K nearest rows of each sample of X (n, d): squared (n, K) in levels, and places (n, K) in the ring."""
    for i in range(X.shape[0]):
        encode(X[i], state.scale, answers.coded)
        find_nearest(state, answers)
        squared[i] = answers.near[0]
        places[i] = answers.voters[0]


@njit(cache=True, error_model="numpy")
def start(X: NDArray, mean: NDArray, scale: NDArray) -> None:
    """Write the mean of the samples X (n, d), and the scale of bytes from their lowest to their highest feature."""
    low, high = X[0, 0], X[0, 0]
    for j in range(X.shape[1]):
        total = 0.0
        for i in range(X.shape[0]):
            total += np.float64(X[i, j])
            low, high = min(low, X[i, j]), max(high, X[i, j])
        mean[j] = np.float32(total / X.shape[0])
    span = np.float64(high) - np.float64(low)
    scale[LOW] = low
    scale[LEVELS] = np.float32(255.0 / span) if span * np.float64(LARGEST) > 255.0 else ZERO
