"""Family of rules around Tandem's, for the search that chose it: the experts and all constants are settings.

`python -m benchmarks.tune_tandem` measures its members. `FIRST` is the rule with which the search began; `CHOSEN` gives
the predictions of `tmlcd_core.Tandem`, which a test checks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tmlcd_core.learners.tandem_kernels import LARGEST, LARGEST_OUTPUT, encode, exp, log, start
from tmlcd_core.learners.vector_loops import dot, squared_distances

NOTHING = -1
PARTS = {"F": 0, "A": 1, "r": 2, "v0": 0, "v1": 1, "v2": 2}  # layers and renamed product; votes of the three windows
F, A, RENAMED = 0, 1, 2
ZERO, ONE, HALF = np.float32(0), np.float32(1), np.float32(0.5)


@dataclass(frozen=True)
class Rule:
    """Settings of one rule.

    Parameters
    ----------
    experts : tuple of str
        Each expert is a part or a product of two: "F" and "A" are the layers, "v0", "v1", "v2" the votes of the three
        windows, "r" the product `renamed` after the confusion matrix. "A v0" is the product of A and v0.
    renamed : str
        What the confusion matrix renames: "A v0" or "A".
    windows : tuple of int
        The votes ask the newest 1/n of the rows.
    power : int
        A vote counts 1/distance^power.
    push_below : float
        A sample is stored if the mix gave its class less than this share; 2 stores all.
    """

    experts: tuple[str, ...]
    renamed: str = "A v0"
    windows: tuple[int, int, int] = (1, 4, 16)
    k: int = 5
    power: int = 0
    step: float = 0.5
    sharpness: float = 5.0
    bias_step: float = 0.05
    least_averaging: float = 0.01
    discount: float = 0.98
    confusion_step: float = 0.2
    floor: float = 0.02
    layer_floor: float = 0.01
    vote_floor: float = 0.2
    push_below: float = 2.0

    def rows(self, budget: int, d: int, classes: int) -> int:
        """Return the number of stored rows that fit `budget` bytes with d features, all parts counted."""
        confusion = 4 * classes**2 if any("r" in one.split() for one in self.experts) else 0
        rest = 4 * d + 8 * classes * (d + 1) + confusion + 4 * (len(self.experts) + 5)
        return (budget - rest) // (d + 2)

    def run(self, X0: NDArray, y0: NDArray, X: NDArray, y: NDArray, budget: int) -> NDArray[np.int64]:
        """Return the predictions over a stream, X (n, d), after learning X0 (m, d); classes are 0, 1, …"""
        X0, X = np.ascontiguousarray(X0, np.float32), np.ascontiguousarray(X, np.float32)
        seen, unseen = np.unique(y0), np.setdiff1d(y, y0)
        order = [*seen.tolist(), *sorted(unseen.tolist(), key=y.tolist().index)]  # slots: classes as they appear
        slot = np.zeros(max(order) + 1, np.int64)
        slot[order] = np.arange(len(order))
        pairs = np.array([_pair(one) for one in self.experts])
        rows = np.array([self.rows(budget, X.shape[1], n) for n in range(len(order) + 1)])
        numbers = np.array(
            [
                self.step, self.sharpness, self.bias_step, self.least_averaging, self.discount, self.confusion_step,
                self.floor, self.layer_floor, self.vote_floor, self.push_below,
            ],
            np.float32,
        )  # fmt: skip
        predicted = _run(
            np.concatenate([X0, X]), slot[np.concatenate([y0, y])], len(X0), len(seen), np.array(order), rows, pairs,
            (self.k, self.power, self.renamed == "A v0", *self.windows), numbers,
        )  # fmt: skip
        return predicted[len(X0) :]


def _pair(expert: str) -> tuple[int, int]:
    """Layer and vote of an expert, NOTHING if it has none."""
    layer = vote = NOTHING
    for part in expert.split():
        layer, vote = (layer, PARTS[part]) if part.startswith("v") else (PARTS[part], vote)
    return layer, vote


@njit(cache=True, error_model="numpy")
def _normalise(values: NDArray) -> None:
    total = ZERO
    for value in values:
        total += value
    for c in range(len(values)):
        values[c] = values[c] / total if total > ZERO else ONE / np.float32(len(values))


@njit(cache=True, error_model="numpy")
def _softmax(weights: NDArray, biases: NDArray, x: NDArray, usable: bool, sharpness: np.float32, out: NDArray) -> None:
    for c in range(len(out)):
        value = sharpness * ((dot(weights[c], x) if usable else ZERO) + biases[c])
        out[c] = min(max(value, -LARGEST_OUTPUT), LARGEST_OUTPUT)
    highest = out.max()
    for c in range(len(out)):
        out[c] = exp(out[c] - highest)
    _normalise(out)


@njit(cache=True, error_model="numpy")
def _vote(distances: NDArray, labels: NDArray, k: int, power: int, out: NDArray) -> None:
    """Votes of the k nearest rows, given from the oldest to the newest; of equally distant ones the older is nearer."""
    near = np.full(k, np.iinfo(np.int32).max, np.int64)
    who = np.full(k, NOTHING)
    for place in range(len(distances)):
        squared = distances[place]
        if squared < near[k - 1]:
            j = k - 1
            while j > 0 and squared < near[j - 1]:
                near[j], who[j] = near[j - 1], who[j - 1]
                j -= 1
            near[j], who[j] = squared, place
    out[:] = ZERO
    for j in range(k):
        if who[j] >= 0:
            nearest = np.float32(max(near[j], 1))
            distance = np.sqrt(nearest) if power == 1 else nearest ** np.float32(power / 2)
            out[labels[who[j]]] += ONE / distance
    _normalise(out)


@njit(cache=True, error_model="numpy")
def _multiply(layer: NDArray, vote: NDArray, layer_floor: np.float32, vote_floor: np.float32, out: NDArray) -> None:
    for c in range(len(out)):
        out[c] = (layer[c] + layer_floor) * (vote[c] + vote_floor)
    _normalise(out)


@njit(cache=True, error_model="numpy")
def _run(
    X: NDArray, y: NDArray, initial: int, n: int, codes: NDArray, rows: NDArray, pairs: NDArray, choices: Any,
    numbers: NDArray,
) -> NDArray:  # fmt: skip
    """Predictions over X (n, d), learned from the first sample on; `n` classes are known at the start."""
    k, power, of_product, windows = choices[0], choices[1], choices[2], choices[3:]
    step, sharpness, bias_step, least, discount = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    confusion_step, floor, layer_floor, vote_floor, push_below = (
        numbers[5], numbers[6], numbers[7], numbers[8], numbers[9],
    )  # fmt: skip
    room, d, experts = len(codes), X.shape[1], len(pairs)
    mean, scale = np.zeros(d, np.float32), np.zeros(2, np.float32)
    start(X[:initial], mean, scale)
    weights, biases = np.zeros((2, room, d), np.float32), np.zeros((2, room), np.float32)
    confusion = np.eye(room).astype(np.float32)
    stored = np.zeros((2 * rows[n], d), np.uint8)  # rows first to last, moved to the start now and then
    labels = np.zeros(2 * rows[n], np.int64)
    first, last = 0, 0
    evidence = np.zeros(experts, np.float32)
    centred, coded = np.zeros(d, np.float32), np.zeros(d, np.int16)
    distances = np.zeros(rows[n], np.int32)
    layers, votes = np.zeros((3, room), np.float32), np.zeros((3, room), np.float32)
    answers, named, mix = np.zeros((experts, room), np.float32), np.zeros(room, np.float32), np.zeros(room, np.float32)
    predicted = np.zeros(len(X), np.int64)
    for i in range(len(X)):
        x, label, capacity, size = X[i], y[i], rows[n], last - first
        for j in range(d):
            centred[j] = x[j] - mean[j]
        norm = dot(centred, centred)
        usable = ZERO < norm <= LARGEST
        encode(x, scale, coded)
        squared_distances(coded, stored[first:last], distances[:size])
        for layer in range(2):
            _softmax(weights[layer], biases[layer], centred, usable, sharpness, layers[layer, :n])
        for window in range(3):
            old = max(0, size - capacity // windows[window])
            _vote(distances[old:size], labels[first + old : last], k, power, votes[window, :n])
        if of_product:
            _multiply(layers[A, :n], votes[0, :n], layer_floor, vote_floor, named[:n])
        else:
            named[:n] = layers[A, :n]
        for c in range(n):
            total = ZERO
            for j in range(n):
                total += named[j] * confusion[j, c]
            layers[RENAMED, c] = total
        _normalise(layers[RENAMED, :n])
        best, share = evidence.max(), ONE + floor * np.float32(n)
        mix[:] = ZERO
        for h in range(experts):
            layer, vote = pairs[h]
            if layer == NOTHING:
                answers[h, :n] = votes[vote, :n]
            elif vote == NOTHING:
                answers[h, :n] = layers[layer, :n]
            else:
                _multiply(layers[layer, :n], votes[vote, :n], layer_floor, vote_floor, answers[h, :n])
            weight = exp(evidence[h] - best)
            for c in range(n):
                answers[h, c] = (answers[h, c] + floor) / share
                mix[c] += weight * answers[h, c]
        answer = 0
        for c in range(1, n):
            if mix[c] > mix[answer] or (mix[c] == mix[answer] and codes[c] < codes[answer]):
                answer = c
        predicted[i] = codes[answer]
        if label == n:  # a class seen for the first time: so far its probability was 0
            answers[:, n] = floor / (ONE + floor * np.float32(n))
            n += 1
            first = max(first, last - rows[n])
        for h in range(experts):
            evidence[h] = discount * evidence[h] + log(answers[h, label])
        said = named[:n].argmax()
        for c in range(n):
            truth = ONE if c == label else ZERO
            confusion[said, c] += confusion_step * (truth - confusion[said, c])
        _softmax(weights[F], biases[F], centred, usable, sharpness, layers[F, :n])
        rate = max(least, ONE / np.float32(i + 1))
        for c in range(n):
            error = (ONE if c == label else ZERO) - layers[F, c]
            change = step * error / norm if usable else ZERO
            for j in range(d):
                weights[F, c, j] += change * centred[j]
                weights[A, c, j] += rate * (weights[F, c, j] - weights[A, c, j])
            biases[F, c] += bias_step * error
            biases[A, c] += rate * (biases[F, c] - biases[A, c])
        if mix[label] < push_below * mix[:n].sum():
            first = max(first, last + 1 - rows[n])
            if last == len(stored):
                last -= first
                stored[:last], labels[:last] = stored[first:].copy(), labels[first:].copy()
                first = 0
            for j in range(d):
                stored[last, j] = coded[j]
            labels[last] = label
            last += 1
    return predicted


FIRST = Rule(("F", "A", "v0", "v1", "v2", "A v0", "F v1", "F v2"), power=2)
CHOSEN = Rule(("A", "v0", "A v0", "r", "r v1", "r v2"), power=1)
