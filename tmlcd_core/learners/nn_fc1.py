"""NN-FC1, the paper's neural baseline: one fully-connected layer trained by back-propagation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from tmlcd_core.errors import ConfigError, DataError
from tmlcd_core.knn.store import BYTES_PER_NUMBER
from tmlcd_core.learners.comparison_learner import ComparisonLearner
from tmlcd_core.learners.layer_kernels import AdamSettings, descend, descend_by_adam, gradient, power, scores
from tmlcd_core.learners.trace import Trace
from tmlcd_core.optional_packages import require
from tmlcd_core.validation import as_features, one_of, real_number, whole_number

RATES = (1e-2, 5e-3, 1e-3, 5e-4, 1e-4, 5e-5, 1e-5)  # of the initial training (paper, Sec. 7.4)
STREAM_RATES = (1e-3, 5e-4, 1e-4, 5e-5, 1e-5, 5e-6, 1e-6)  # of the step on each sample of the stream (paper, Sec. 7.5)
EPOCHS = 3  # paper, Sec. 7.4
MOST_EPOCHS = 10_000
OPTIMIZERS = ("sgd", "adam")  # as printed in the paper; as the authors' published code runs
BETAS, EPS = (0.9, 0.999), 1e-8  # Adam's defaults in torch
WEIGHT_DECAY = 1e-5  # of Adam, in the authors' published code
BATCH = 5  # not in the paper; the default of the authors' published script, which also shuffles every epoch


@dataclass(frozen=True)
class BestOfGrid:
    """Result of a grid search over learning rates: trace of the best pair and accuracies of all pairs."""

    trace: Trace
    rate: float
    stream_rate: float
    accuracies: NDArray[np.float64]  # (rates, stream rates): share of the labelled samples predicted correctly


class NNFC1(ComparisonLearner):
    """NN-FC1: one fully-connected layer, softmax and cross-entropy, trained by SGD or Adam.

    `fit` trains for three epochs; then every labelled sample of the stream is one back-propagation
    step with its own learning rate. The layer is initialized like torch's `nn.Linear`. A class that appears later gets
    an output whose weights start at 0. The size is the number of classes, because the weights of an output take as
    much memory as a sample (paper, footnote in Sec. 7.4).

    Parameters
    ----------
    rate, stream_rate
        Learning rates of `fit` and of the stream; with a `stream_rate` of 0 there is no learning on the stream, as in
        the paper's Table 1. `best_of_grid` tries all rates of the paper.
    epochs, batch
        Passes over the initial samples, each in a new random order, and samples per step.
    optimizer
        "sgd": plain stochastic gradient descent without momentum, as printed in the paper. "adam": Adam with a weight
        decay of 1e-5, as the authors' published code runs; its moments start at 0 in `fit` and again on the stream.
    random_state
        Seed of the initial weights and of the sample orders.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 1200)
    >>> X = rng.normal(size=(1200, 8)) + 1.5 * np.where(np.arange(1200) < 700, y, 1 - y)[:, None]  # labels swap at 600
    >>> best = NNFC1().best_of_grid(X[:100], y[:100], X[100:], y[100:])
    >>> best.rate, best.stream_rate, round(float(best.accuracies.max()), 2)
    (0.005, 0.001, 0.66)
    >>> trace = NNFC1(best.rate, best.stream_rate).fit(X[:100], y[:100]).run(X[100:], y[100:])
    >>> round(float(np.mean(trace.predictions == y[100:])), 2)
    0.66
    """

    def __init__(
        self,
        rate: float = 1e-2,
        stream_rate: float = 1e-3,
        epochs: int = EPOCHS,
        batch: int = BATCH,
        optimizer: str = "sgd",
        random_state: int = 0,
    ):
        self.rate = rate
        self.stream_rate = stream_rate
        self.epochs = epochs
        self.batch = batch
        self.optimizer = optimizer
        self.random_state = random_state

    def _check(self) -> None:
        real_number("rate", self.rate, 0.0, 1e6)
        real_number("stream_rate", self.stream_rate, 0.0, 1e6)
        whole_number("epochs", self.epochs, 0, MOST_EPOCHS)
        whole_number("batch", self.batch, 1)
        one_of("optimizer", self.optimizer, OPTIMIZERS)
        whole_number("random_state", self.random_state, 0, 2**63 - 1)

    def _start(self, X: NDArray[np.float32], codes: NDArray[np.int32]) -> None:
        self._train(X, codes, (self.rate,), (self.stream_rate,))

    def _train(
        self, X: NDArray[np.float32], codes: NDArray[np.int32], rates: Sequence[float], stream_rates: Sequence[float]
    ) -> None:
        """Train one layer for each pair of rates, in one array (pairs, classes, features + 1) with the bias last."""
        batch = min(int(self.batch), len(X))  # torch requires a Python int of at most 64 bits
        way = (self.epochs, batch, self.optimizer == "adam", int(self.random_state))
        layers = _trained(X, codes, len(self.classes_), rates, *way)
        self._layers = layers.repeat(len(stream_rates), axis=0)
        self._adam = Adam.start(self._layers.shape) if self.optimizer == "adam" else None
        self._stream_rates = np.tile(np.array(stream_rates, np.float32), len(rates))
        self._seen = np.ones(len(self.classes_), bool)

    def _widen(self, classes: NDArray) -> None:
        places = np.searchsorted(classes, self.classes_)
        pairs, _, inputs = self._layers.shape
        layers, seen = np.zeros((pairs, len(classes), inputs), np.float32), np.zeros(len(classes), bool)
        layers[:, places], seen[places] = self._layers, self._seen
        if self._adam is not None:
            grown = Adam.start(layers.shape, self._adam.steps)
            grown.mean[:, places], grown.square[:, places] = self._adam.mean, self._adam.square
            self._adam = grown
        self._layers, self._seen = layers, seen

    def _follow(self, X: NDArray[np.float32], truth: NDArray[np.int32]) -> tuple[NDArray, NDArray]:
        # A new class exists from its first sample on: that sample is predicted without the class and learned with it.
        first = np.where(self._seen, -1, len(X))
        for code in np.flatnonzero(~self._seen):
            first[code] = next(iter(np.flatnonzero(truth == code)), len(X))
        now = np.arange(len(X))[:, None]
        known = first <= now
        if self._adam is None or not self._stream_rates.any():
            outputs = _descend(X, truth, self._layers, self._stream_rates, known)
        else:
            outputs, self._layers = self._adam.descend(X, truth, self._layers, self._stream_rates, known)
        outputs[np.broadcast_to((first >= now)[:, None], outputs.shape)] = -np.inf
        self._seen = first < len(X)
        predicted = outputs.argmax(axis=2)
        return predicted[:, 0] if predicted.shape[1] == 1 else predicted, (first <= now).sum(axis=1)

    def _classify(self, X: NDArray[np.float32]) -> NDArray[np.integer]:
        outputs = scores(_with_one(X), _by_input(self._layers[:1]))
        return np.where(self._seen, outputs, -np.inf).argmax(axis=1)

    def best_of_grid(
        self,
        X0: Any,
        y0: Any,
        X: Any,
        y: Any,
        rates: Sequence[float] = RATES,
        stream_rates: Sequence[float] = STREAM_RATES,
    ) -> BestOfGrid:
        """Grid search: fit on (X0, y0) and run on the stream (X, y) with all pairs of rates; does not change the model.

        "Among all the possible combinations, […] only the one with the largest accuracy" is shown (paper, Sec. 7.5); of
        equally accurate pairs the first is taken. `stream_rates=(0,)` is the paper's Table 1: no learning on the
        stream. All pairs use the same initial weights and sample orders, so only the rates differ.

        Parameters
        ----------
        X0, y0, X, y
            Features (n, d) and labels (n,) of the initial samples and of the stream.
        rates, stream_rates
            Learning rates to combine, at least one each.

        Returns
        -------
        BestOfGrid
            Trace and rates of the best pair, and the accuracies of all pairs.
        """
        for name, values in (("rates", rates), ("stream_rates", stream_rates)):
            if len(values) == 0:
                raise ConfigError(f"{name}={values!r} is empty: pass at least one learning rate")
            for value in values:
                real_number(name, value, 0.0, 1e6)
        model = clone(self).set_params(rate=0.0, epochs=0).fit(X0, y0)  # checks everything, trains nothing
        model.set_params(epochs=self.epochs)
        model._train(as_features(X0), model._encode(y0)[0], rates, stream_rates)
        truth, predicted, sizes = model._pass_through(X, y)
        predicted = predicted.reshape(len(truth), -1)
        labelled = truth >= 0
        if not labelled.any():
            raise DataError("y has no labels, so the learning rates cannot be compared: pass at least one label")
        hits = (predicted[labelled] == truth[labelled, None]).mean(axis=0)
        best = int(hits.argmax())
        trace = model._trace(predicted[:, best], sizes)
        rate, stream_rate = divmod(best, len(stream_rates))
        return BestOfGrid(trace, rates[rate], stream_rates[stream_rate], hits.reshape(len(rates), len(stream_rates)))

    @property
    def weights_(self) -> NDArray[np.float32]:
        """Weights of each output with the bias last, float32 (classes, features + 1)."""
        self._require_fitted()
        return self._layers[0].copy()

    def __len__(self) -> int:
        self._require_fitted()
        return int(self._seen.sum())

    def memory_bytes(self) -> int:
        """Return the size of weights and biases in bytes, 32 bits each."""
        return len(self) * (self.n_features_in_ + 1) * BYTES_PER_NUMBER


@dataclass
class Adam:
    """State of Adam: moving means of gradients and their squares, in the shape of the weights, and the steps so far."""

    mean: NDArray[np.float32]
    square: NDArray[np.float32]
    steps: int = 0

    @classmethod
    def start(cls, shape: tuple[int, ...], steps: int = 0) -> Adam:
        """Return the state before the first gradient."""
        return cls(np.zeros(shape, np.float32), np.zeros(shape, np.float32), steps)

    def move(
        self, gradient: NDArray[np.float32], weights: NDArray[np.float32], rates: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Update the state by a gradient; return the step to subtract from the weights, all float32 (inputs, outputs).

        `rates` are the learning rates, float32 (outputs,).
        """
        self.steps += 1
        gradient = gradient + WEIGHT_DECAY * weights
        self.mean += (1 - BETAS[0]) * (gradient - self.mean)
        self.square += (1 - BETAS[1]) * (gradient * gradient - self.square)
        bias, bias_square = (1 - power(beta, self.steps) for beta in BETAS)
        return rates / np.float32(bias) * self.mean / (np.sqrt(self.square / np.float32(bias_square)) + EPS)

    def descend(
        self,
        X: NDArray[np.float32],
        truth: NDArray[np.int32],
        layers: NDArray[np.float32],
        rates: NDArray[np.float32],
        known: NDArray[np.bool_],
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Run Adam over the stream; return the outputs before each step (samples, pairs, classes) and the new layers.

        X is (samples, features), `truth` (samples,), `layers` (pairs, classes, features + 1) and `rates` (pairs,);
        `known` (samples, classes) marks the classes that take part in a step.
        """
        pairs, classes, _ = layers.shape
        arrays = [_by_input(array) for array in (layers, self.mean, self.square)]
        outputs = np.empty((len(X), pairs * classes), np.float32)
        step = np.repeat(rates, classes)
        self.steps = descend_by_adam(
            _with_one(X), truth, *arrays, step, known, outputs, AdamSettings(*BETAS, EPS, WEIGHT_DECAY), self.steps
        )
        weights, self.mean, self.square = (_by_layer(array, classes) for array in arrays)
        return outputs.reshape(len(X), pairs, classes), weights


def _trained(
    X: NDArray[np.float32],
    codes: NDArray,
    n_classes: int,
    rates: Sequence[float],
    epochs: int,
    batch: int,
    adam: bool,
    seed: int,
) -> NDArray[np.float32]:
    """Train one layer per rate from the same weights, by SGD or Adam; return float32 (rates, classes, features + 1)."""
    require("torch")
    import torch

    draw = torch.Generator().manual_seed(seed)
    bound = np.float32(1 / X.shape[1] ** 0.5)  # nn.Linear: weights and biases uniform in +-1/sqrt(features)
    weights, biases = (torch.rand(n_classes, inputs, generator=draw).numpy() for inputs in (X.shape[1], 1))
    layer = (np.hstack([weights, biases]) * 2 - 1) * bound  # torch's own range would be fused on some processors
    rows, labels = _with_one(X), codes.astype(np.int32)
    known = np.ones(n_classes, np.bool_)
    layers = _by_input(np.repeat(layer[None], len(rates), axis=0))
    step = np.repeat(np.array(rates, np.float32), n_classes)
    state = Adam.start(layers.shape)
    for _ in range(epochs):
        for part in torch.randperm(len(rows), generator=draw).split(batch):
            at = part.numpy()
            slope = gradient(rows[at], labels[at], layers, known) / np.float32(len(at))
            layers -= state.move(slope, layers, step) if adam else step * slope
    return _by_layer(layers, n_classes)


def _descend(
    X: NDArray[np.float32],
    truth: NDArray[np.int32],
    layers: NDArray[np.float32],
    rates: NDArray[np.float32],
    known: NDArray[np.bool_],  # (samples, classes): classes that take part in the step
) -> NDArray[np.float32]:
    """Run SGD over the stream, changing `layers` in place; return the outputs before each step.

    The outputs have shape (samples, pairs, classes).
    """
    pairs, classes, _ = layers.shape
    outputs = np.empty((len(X), pairs * classes), np.float32)
    by_input = _by_input(layers)
    descend(_with_one(X), truth, by_input, np.repeat(rates, classes), known, outputs)
    layers[:] = _by_layer(by_input, classes)
    return outputs.reshape(len(X), pairs, classes)


def _by_input(layers: NDArray[np.float32]) -> NDArray[np.float32]:
    """Transpose (pairs, classes, inputs) to (inputs, pairs * classes), the order of the compiled loops."""
    return np.ascontiguousarray(layers.transpose(2, 0, 1)).reshape(layers.shape[2], -1)


def _by_layer(by_input: NDArray[np.float32], classes: int) -> NDArray[np.float32]:
    """Undo `_by_input`."""
    return np.ascontiguousarray(by_input.reshape(len(by_input), -1, classes).transpose(1, 2, 0))


def _with_one(X: NDArray[np.float32]) -> NDArray[np.float32]:
    """X with a last feature of 1, whose weight is the bias."""
    return np.column_stack([X, np.ones(len(X), np.float32)])
