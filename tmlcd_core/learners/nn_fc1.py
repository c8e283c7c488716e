"""NN-FC1, the paper's neural baseline: one fully-connected layer trained by back-propagation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from tmlcd_core.errors import ConfigError, DataError
from tmlcd_core.knn.store import BYTES_PER_NUMBER
from tmlcd_core.learners.comparison_learner import ComparisonLearner
from tmlcd_core.learners.trace import Trace
from tmlcd_core.optional_packages import require
from tmlcd_core.validation import as_features, real_number, whole_number

RATES = (1e-2, 5e-3, 1e-3, 5e-4, 1e-4, 5e-5, 1e-5)  # of the initial training (paper, Sec. 7.4)
STREAM_RATES = (1e-3, 5e-4, 1e-4, 5e-5, 1e-5, 5e-6, 1e-6)  # of the step on each sample of the stream (paper, Sec. 7.5)
EPOCHS = 3  # paper, Sec. 7.4
MOST_EPOCHS = 10_000
BATCH = 5  # not in the paper; the default of the authors' published script, which also shuffles every epoch


@dataclass(frozen=True)
class BestOfGrid:
    """Result of a grid search over learning rates: trace of the best pair and accuracies of all pairs."""

    trace: Trace
    rate: float
    stream_rate: float
    accuracies: NDArray[np.float64]  # (rates, stream rates): share of the labelled samples predicted correctly


class NNFC1(ComparisonLearner):
    """NN-FC1: one fully-connected layer, softmax and cross-entropy, plain stochastic gradient descent.

    `fit` trains for three epochs without momentum; then every labelled sample of the stream is one back-propagation
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
        random_state: int = 0,
    ):
        self.rate = rate
        self.stream_rate = stream_rate
        self.epochs = epochs
        self.batch = batch
        self.random_state = random_state

    def _check(self) -> None:
        real_number("rate", self.rate, 0.0, 1e6)
        real_number("stream_rate", self.stream_rate, 0.0, 1e6)
        whole_number("epochs", self.epochs, 0, MOST_EPOCHS)
        whole_number("batch", self.batch, 1)
        whole_number("random_state", self.random_state, 0, 2**63 - 1)

    def _start(self, X: NDArray[np.float32], codes: NDArray[np.int32]) -> None:
        self._train(X, codes, (self.rate,), (self.stream_rate,))

    def _train(
        self, X: NDArray[np.float32], codes: NDArray[np.int32], rates: Sequence[float], stream_rates: Sequence[float]
    ) -> None:
        """Train one layer for each pair of rates, in one array (pairs, classes, features + 1) with the bias last."""
        batch = min(int(self.batch), len(X))  # torch requires a Python int of at most 64 bits
        layers = _trained(X, codes, len(self.classes_), rates, self.epochs, batch, int(self.random_state))
        self._layers = layers.repeat(len(stream_rates), axis=0)
        self._stream_rates = np.tile(np.array(stream_rates, np.float32), len(rates))
        self._seen = np.ones(len(self.classes_), bool)

    def _widen(self, classes: NDArray) -> None:
        places = np.searchsorted(classes, self.classes_)
        pairs, _, inputs = self._layers.shape
        layers, seen = np.zeros((pairs, len(classes), inputs), np.float32), np.zeros(len(classes), bool)
        layers[:, places], seen[places] = self._layers, self._seen
        self._layers, self._seen = layers, seen

    def _follow(self, X: NDArray[np.float32], truth: NDArray[np.int32]) -> tuple[NDArray, NDArray]:
        # A new class exists from its first sample on: that sample is predicted without the class and learned with it.
        first = np.where(self._seen, -1, len(X))
        for code in np.flatnonzero(~self._seen):
            first[code] = next(iter(np.flatnonzero(truth == code)), len(X))
        now = np.arange(len(X))[:, None]
        outputs = _descend(X, truth, self._layers, self._stream_rates, known=first <= now)
        outputs[np.broadcast_to((first >= now)[:, None], outputs.shape)] = -np.inf
        self._seen = first < len(X)
        predicted = outputs.argmax(axis=2)
        return predicted[:, 0] if predicted.shape[1] == 1 else predicted, (first <= now).sum(axis=1)

    def _classify(self, X: NDArray[np.float32]) -> NDArray[np.integer]:
        outputs = X @ self._layers[0, :, :-1].T + self._layers[0, :, -1]
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


def _trained(
    X: NDArray[np.float32], codes: NDArray, n_classes: int, rates: Sequence[float], epochs: int, batch: int, seed: int
) -> NDArray[np.float32]:
    """Train one layer per rate by plain SGD from the same weights; return float32 (rates, classes, features + 1)."""
    require("torch")
    import torch

    with _one_thread():
        draw = torch.Generator().manual_seed(seed)
        bound = 1 / X.shape[1] ** 0.5  # nn.Linear: weights and biases uniform in +-1/sqrt(features)
        weights = torch.empty(n_classes, X.shape[1]).uniform_(-bound, bound, generator=draw)
        biases = torch.empty(n_classes, 1).uniform_(-bound, bound, generator=draw)
        layers = torch.cat([weights, biases], dim=1).repeat(len(rates), 1, 1)
        rows, labels = torch.from_numpy(_with_one(X)), torch.from_numpy(codes.astype(np.int64))
        step = torch.tensor(rates, dtype=torch.float32)[:, None, None]
        for _ in range(epochs):
            for part in torch.randperm(len(rows), generator=draw).split(batch):
                x = rows[part]
                error = torch.softmax(layers @ x.T, dim=1)
                error[:, labels[part], torch.arange(len(part))] -= 1
                layers -= step / len(part) * (error @ x)
        return layers.numpy()


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
    require("torch")
    import torch

    pairs, classes, _ = layers.shape
    with _one_thread():
        rows, flat = torch.from_numpy(_with_one(X)), torch.from_numpy(layers).view(pairs * classes, -1)
        if not rates.any():
            return (rows @ flat.T).view(-1, pairs, classes).numpy()
        outputs = torch.empty(len(rows), pairs, classes)
        closed = torch.where(torch.from_numpy(known), 0.0, -torch.inf)
        step = torch.from_numpy(rates)[:, None]
        for code, x, output, shut in zip(truth.tolist(), rows, outputs, closed, strict=True):
            torch.mv(flat, x, out=output.view(-1))
            if code >= 0:
                error = torch.softmax(output + shut, dim=1)
                error[:, code] -= 1
                error *= step
                flat.addr_(error.view(-1), x, alpha=-1)
        return outputs.numpy()


def _with_one(X: NDArray[np.float32]) -> NDArray[np.float32]:
    """X with a last feature of 1, whose weight is the bias."""
    return np.column_stack([X, np.ones(len(X), np.float32)])


@contextmanager
def _one_thread() -> Iterator[None]:
    """Run torch on one thread: the layer is small, so a thread pool is slower, and it changes the rounding of sums."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
