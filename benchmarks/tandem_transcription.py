"""Tandem in plain numpy, line by line: the oracle of its tests, and the baseline of its benchmark.

`PLAIN` uses numpy's own matrix product, `exp` and `log`: the shortest formulation in numpy. `PORTABLE` fixes the
order of all float32 sums and writes `exp` and `log` in basic operations: its predictions are those of
`tmlcd_core.Tandem` bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

f32 = np.float32
LANES = 16


def portable_exp(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """Cephes' expf for x <= 0; 0 below -87."""
    x = np.asarray(x, f32)
    kept = np.maximum(x, f32(-87))
    z = np.floor(kept * f32(1.44269504088896341) + f32(0.5))
    r = kept - z * f32(0.693359375) - z * f32(-2.12194440e-4)
    p = f32(1.9875691500e-4)
    for c in (1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1):
        p = p * r + f32(c)
    return np.where(x > f32(-87), np.ldexp(p * (r * r) + r + f32(1), z.astype(int)), f32(0))


def portable_log(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """Cephes' logf for 0 < x <= 1."""
    m, z = np.frexp(np.asarray(x, f32))
    low = m < f32(0.707106781186547524)
    r = np.where(low, m + m, m) - f32(1)
    z = (z - low).astype(f32)
    p = f32(7.0376836292e-2)
    for c in (-1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
              2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1):  # fmt: skip
        p = p * r + f32(c)
    p = p * r * (r * r) + z * f32(-2.12194440e-4) - f32(0.5) * (r * r)
    return (r + p) + z * f32(0.693359375)


def in_turn(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Sum over the last axis, one term after the other."""
    return np.add.accumulate(values, axis=-1)[..., -1]


def portable_product(W: NDArray[np.float32], x: NDArray[np.float32]) -> NDArray[np.float32]:
    """W x in LANES partial sums, which are added in turn, then the terms left over."""
    terms = W * x
    whole = len(x) - len(x) % LANES
    lanes = np.zeros((len(W), LANES), f32)
    if whole:
        lanes = in_turn(terms[:, :whole].reshape(len(W), -1, LANES).swapaxes(1, 2))
    return in_turn(np.concatenate([lanes, terms[:, whole:]], axis=1))


class Arithmetic(NamedTuple):
    """The operations whose rounding differs between libraries."""

    product: Callable[..., Any]
    exp: Callable[..., Any]
    log: Callable[..., Any]
    total: Callable[..., Any]


PLAIN = Arithmetic(np.matmul, np.exp, np.log, partial(np.sum, axis=-1))
PORTABLE = Arithmetic(portable_product, portable_exp, portable_log, in_turn)


class Tandem:
    """The rule of Tandem for class codes 0, 1, …; `budget` in bytes."""

    def __init__(self, X0: NDArray, y0: NDArray, budget: int, arithmetic: Arithmetic = PORTABLE):
        self.use, self.budget = arithmetic, budget
        X0 = np.asarray(X0, f32)
        self.mean = (X0.astype(float).cumsum(axis=0)[-1] / len(X0)).astype(f32)
        self.low = X0.min()
        self.levels = f32(255 / (float(X0.max()) - float(X0.min()))) if X0.max() > X0.min() else f32(0)
        self.slots = np.unique(y0).tolist()  # classes in the order of appearance
        n = len(self.slots)
        self.F, self.A = np.zeros((2, n, X0.shape[1]), f32)
        self.bF, self.bA = np.zeros((2, n), f32)
        self.M = np.eye(n, dtype=f32)  # shares of the true classes (columns) where the product b named the row
        self.rows = np.empty((2 * self.capacity, X0.shape[1]), np.uint8)  # T is [first:last], moved up now and then
        self.codes = np.empty(2 * self.capacity, int)
        self.first = self.last = 0
        self.L = np.zeros(6, f32)
        self.n = 0
        for x, y in zip(X0, y0, strict=True):
            self.step(x, y)

    @property
    def capacity(self) -> int:
        d, n = self.F.shape[1], len(self.slots)
        return (self.budget - 4 * d - 8 * n * (d + 1) - 4 * n * n - 44) // (d + 2)

    @property
    def T(self) -> NDArray[np.uint8]:
        """Rows of the ring, oldest first."""
        return self.rows[self.first : self.last]

    def normalised(self, p: NDArray) -> NDArray:
        total = self.use.total(p)
        return p / total if total > 0 else np.full(len(p), f32(1) / f32(len(p)))

    def softmax(self, scores: NDArray) -> NDArray:
        return self.normalised(self.use.exp(f32(5) * scores - (f32(5) * scores).max()))

    def vote(self, squared: NDArray, newest: int) -> NDArray:
        start = max(len(squared) - newest, 0)
        nearest = start + squared[start:].argsort(kind="stable")[:5]
        votes = np.zeros(len(self.slots), f32)
        distances = np.sqrt(np.maximum(squared[nearest], 1).astype(f32))
        np.add.at(votes, self.codes[self.first + nearest], f32(1) / distances)
        return self.normalised(votes)

    def step(self, x: NDArray, y: Any = None) -> Any:
        """Return the class predicted for x (d,), then learn its class y unless None."""
        n, cap = len(self.slots), self.capacity
        xc = x - self.mean
        q = np.clip((x - self.low) * self.levels + f32(0.5), 0, 255).astype(np.uint8)
        pA = self.softmax(self.use.product(self.A, xc) + self.bA)
        squared = ((self.T.astype(np.int32) - q) ** 2).sum(axis=1)
        v0, v1, v2 = (self.vote(squared, newest) for newest in (cap, cap // 4, cap // 16))
        b = self.normalised((pA + f32(0.01)) * (v0 + f32(0.2)))
        r = self.normalised(self.use.total(b * self.M.T))
        experts = np.stack([pA, v0, b, r, *(self.normalised((r + f32(0.01)) * (v + f32(0.2))) for v in (v1, v2))])
        experts = (experts + f32(0.02)) / (f32(1) + f32(0.02) * f32(n))
        mix = self.use.total((self.use.exp(self.L - self.L.max())[:, None] * experts).T)
        answer = min(zip(-mix, self.slots, strict=True))[1]
        if y is not None:
            self.learn(xc, q, y, experts)
        return answer

    def learn(self, xc: NDArray, q: NDArray, y: Any, experts: NDArray) -> None:
        """Learn a sample after its prediction."""
        if y not in self.slots:  # all experts gave it the probability 0
            nothing = np.full((6, 1), f32(0.02) / (f32(1) + f32(0.02) * f32(len(self.slots))))
            experts = np.append(experts, nothing, axis=1)
            self.slots.append(y)
            self.F, self.A = (np.append(W, np.zeros((1, len(xc)), f32), axis=0) for W in (self.F, self.A))
            self.bF, self.bA = (np.append(b, f32(0)) for b in (self.bF, self.bA))
            self.M = np.pad(self.M, (0, 1))
            self.M[-1, -1] = 1
        slot = self.slots.index(y)
        self.L = f32(0.98) * self.L + self.use.log(experts[:, slot])
        self.n += 1
        true = (np.arange(len(self.slots)) == slot).astype(f32)
        named = experts[2].argmax()
        self.M[named] += f32(0.2) * (true - self.M[named])
        error = true - self.softmax(self.use.product(self.F, xc) + self.bF)
        norm = self.use.product(xc[None], xc)[0]
        if norm > 0:
            self.F += (f32(0.5) * error / norm)[:, None] * xc
        self.bF += f32(0.05) * error
        rate = max(f32(0.01), f32(1) / f32(self.n))
        self.A += rate * (self.F - self.A)
        self.bA += rate * (self.bF - self.bA)
        self.first = max(self.first, self.last + 1 - self.capacity)
        if self.last == len(self.rows):
            self.last -= self.first
            self.rows[: self.last], self.codes[: self.last] = self.rows[self.first :], self.codes[self.first :]
            self.first = 0
        self.rows[self.last], self.codes[self.last] = q, slot
        self.last += 1

    @property
    def nbytes(self) -> int:
        """Bytes stored: layers with biases, mean, confusion matrix, ring with labels of two bytes, and 11 scalars."""
        parts = (self.F, self.A, self.bF, self.bA, self.M, self.mean, self.T)
        return sum(part.nbytes for part in parts) + 2 * len(self.T) + 4 * 11


def run(X0: NDArray, y0: NDArray, X: NDArray, y: Any, budget: int, arithmetic: Arithmetic = PORTABLE) -> NDArray:
    """Return the predictions over a stream, X (n, d) and classes y (n,), None where there is no label."""
    model = Tandem(X0, y0, budget, arithmetic)
    return np.array([model.step(x, label) for x, label in zip(np.asarray(X, f32), y, strict=True)])
