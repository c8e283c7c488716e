"""NN-FC1 against torch's own layer, loss and optimiser, one pair of learning rates at a time."""

from functools import partial

import numpy as np
import pytest
import torch

from tests.conftest import gaussian_stream
from tmlcd_core.errors import ConfigError, DataError
from tmlcd_core.learners import NNFC1
from tmlcd_core.learners.nn_fc1 import BATCH, EPOCHS, RATES, STREAM_RATES
from tmlcd_core.learners.registry import LEARNERS, BestNNFC1

CLOSE = 1e-4  # outputs: two orders of summation in float32


def plain(X0, y0, X, y, rate, stream_rate, epochs=EPOCHS, batch=BATCH, seed=0, optimizer="sgd"):
    """NN-FC1 with nn.Linear, CrossEntropyLoss and torch's own SGD or Adam; the outputs before each step."""
    make = {"sgd": torch.optim.SGD, "adam": partial(torch.optim.Adam, weight_decay=1e-5)}[optimizer]
    torch.manual_seed(seed)
    layer = torch.nn.Linear(X0.shape[1], int(y0.max()) + 1)
    loss = torch.nn.CrossEntropyLoss()

    def step(x, label, optimiser):
        optimiser.zero_grad()
        output = layer(x)
        loss(output, label).backward()
        optimiser.step()
        return output.detach().numpy()

    optimiser = make(layer.parameters(), lr=rate)
    rows, labels = torch.tensor(X0), torch.tensor(y0)
    for _ in range(epochs):
        for part in torch.randperm(len(rows)).split(batch):
            step(rows[part], labels[part], optimiser)
    optimiser = make(layer.parameters(), lr=stream_rate)
    outputs = np.array(
        [step(torch.tensor(x[None]), torch.tensor([c]), optimiser)[0] for x, c in zip(X, y, strict=True)]
    )
    return outputs, np.c_[layer.weight.detach().numpy(), layer.bias.detach().numpy()]


def clear(outputs):
    """Samples at which rounding cannot decide the winner."""
    ordered = np.sort(outputs, axis=1)
    return ordered[:, -1] - ordered[:, -2] > CLOSE


@pytest.mark.parametrize(
    "rate, stream_rate, settings",
    [
        (1e-2, 1e-3, {}),
        (5e-3, 1e-6, {}),
        (1e-2, 5e-4, {"batch": 1}),
        (1e-2, 1e-3, {"batch": 7, "epochs": 2}),  # 90 = 12 batches of 7 and one of 6
        (0.3, 0.1, {"seed": 5}),
        (1e-3, 1e-4, {"optimizer": "adam"}),
        (1e-2, 1e-3, {"optimizer": "adam", "batch": 7, "epochs": 2}),
    ],
)
def test_equals_torch(rate, stream_rate, settings):
    X0, y0, X, y = gaussian_stream(n0=90, n=300, d=20, separation=0.6, change=150)
    outputs, weights = plain(X0, y0, X, y, rate, stream_rate, **settings)
    settings = {"random_state" if name == "seed" else name: value for name, value in settings.items()}
    model = NNFC1(rate, stream_rate, **settings).fit(X0, y0)
    trace = model.run(X, y)
    sure = clear(outputs)
    assert sure.mean() > 0.95
    np.testing.assert_array_equal(trace.predictions[sure], outputs.argmax(axis=1)[sure])
    np.testing.assert_allclose(model.weights_, weights, atol=CLOSE)
    np.testing.assert_array_equal(model.predict(X), (X @ weights[:, :-1].T + weights[:, -1]).argmax(axis=1))


def test_the_grid_equals_torch_pair_by_pair():
    X0, y0, X, y = gaussian_stream(n0=60, n=200, d=12, separation=0.6, change=100)
    best = NNFC1().best_of_grid(X0, y0, X, y)
    assert best.accuracies.shape == (7, 7)
    for i, rate in enumerate(RATES):
        for j, stream_rate in list(enumerate(STREAM_RATES))[:: 3 if i else 1]:
            outputs, _ = plain(X0, y0, X, y, rate, stream_rate)
            sure, hit = clear(outputs), outputs.argmax(axis=1) == y
            unsure = (~sure).mean()
            assert abs(best.accuracies[i, j] - hit.mean()) <= unsure + 1e-9
            if (rate, stream_rate) == (best.rate, best.stream_rate):
                np.testing.assert_array_equal(best.trace.predictions[sure], outputs.argmax(axis=1)[sure])
    assert np.mean(best.trace.predictions == y) == best.accuracies.max()
    alone = NNFC1(best.rate, best.stream_rate).fit(X0, y0).run(X, y)
    assert np.mean(alone.predictions == best.trace.predictions) > 0.99


def test_the_grid_with_strings_new_classes_and_missing_labels():
    X0, y0, X, y = gaussian_stream(n=300, d=8)
    names = np.array(["yes", "no", "up", "left"])
    known, labels = names[y0], names[np.where(np.arange(300) > 150, y + 1, y)].tolist()
    labels[::7] = [None] * len(labels[::7])
    best = NNFC1().best_of_grid(X0, known, X, labels, rates=(1e-2, 1e-3), stream_rates=(1e-2, 0.0))
    heard = np.array([label is not None for label in labels])
    truth = np.array([label or "" for label in labels])
    for i, rate in enumerate((1e-2, 1e-3)):
        for j, stream_rate in enumerate((1e-2, 0.0)):
            trace = NNFC1(rate, stream_rate).fit(X0, known).run(X, labels)
            assert abs(np.mean(trace.predictions[heard] == truth[heard]) - best.accuracies[i, j]) < 0.01
    np.testing.assert_array_equal(best.trace.sizes, trace.sizes)


def test_no_stream_rate_is_table_1():
    """Without learning along the stream, a run is a prediction, and the grid has one column."""
    X0, y0, X, y = gaussian_stream(n=300, d=8)
    model = NNFC1(stream_rate=0).fit(X0, y0)
    before = model.weights_
    np.testing.assert_array_equal(model.run(X, y).predictions, model.predict(X))
    np.testing.assert_array_equal(model.weights_, before)
    assert NNFC1().best_of_grid(X0, y0, X, y, stream_rates=(0,)).accuracies.shape == (7, 1)


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("strings", [False, True])
def test_run_equals_observe(strings, optimizer):
    X0, y0, X, y = gaussian_stream(n=200, d=7, change=100)
    y = np.where(np.arange(200) > 120, y + 1, y)
    if strings:  # sorted, the new class is not the last
        y0, y = np.array(["yes", "no", "up", "left"])[y0], np.array(["yes", "no", "up", "left"])[y]
    y = [None if i % 5 == 0 else label for i, label in enumerate(y)]
    whole, parts, single = (NNFC1(stream_rate=1e-2, optimizer=optimizer).fit(X0, y0) for _ in range(3))
    trace = whole.run(X, y)
    predictions, sizes = [], []
    for x, label in zip(X, y, strict=True):
        predictions.append(single.observe(x, label))
        sizes.append(len(single))
    assert trace.predictions.tolist() == predictions
    assert trace.sizes.tolist() == sizes
    assert sizes[0] == 3 and sizes[-1] == 4
    first, second = parts.run(X[:130], y[:130]), parts.run(X[130:], y[130:])
    np.testing.assert_array_equal(np.r_[first.predictions, second.predictions], trace.predictions)
    for other in (parts, single):
        np.testing.assert_allclose(other.weights_, whole.weights_, atol=1e-6)
    assert np.isnan(trace.statistic).all() and len(trace.detections) == len(trace.change_points) == 0


def test_a_class_is_not_predicted_before_it_was_seen():
    X0, y0, X, y = gaussian_stream(n=300, d=7)
    y = np.where(np.arange(300) >= 100, 9, y)
    trace = NNFC1(stream_rate=1e-2).fit(X0, y0).run(X, y)
    assert 9 not in trace.predictions[:101]
    assert np.mean(trace.predictions[-50:] == 9) > 0.9


def test_memory_is_that_of_as_many_samples_as_classes():
    X0, y0, X, y = gaussian_stream(d=6)
    model = NNFC1().fit(X0, y0)
    assert len(model) == 3 and model.memory_bytes() == 3 * (6 + 1) * 4
    assert set(model.run(X, y).sizes) == {3}


def test_repeatable_whatever_happened_to_torch():
    X0, y0, X, y = gaussian_stream(d=6)
    torch.manual_seed(7)
    threads = torch.get_num_threads()
    state = torch.get_rng_state()
    first = NNFC1(random_state=3).fit(X0, y0).run(X, y)
    assert torch.equal(torch.get_rng_state(), state), "torch's own random numbers are not touched"
    assert torch.get_num_threads() == threads
    np.testing.assert_array_equal(NNFC1(random_state=3).fit(X0, y0).run(X, y).predictions, first.predictions)
    assert (NNFC1(random_state=4).fit(X0, y0).run(X, y).predictions != first.predictions).any()


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"rate": -1.0}, "rate=-1"),
        ({"rate": float("nan")}, "rate=nan"),
        ({"stream_rate": "fast"}, "stream_rate='fast'"),
        ({"epochs": -1}, "epochs=-1"),
        ({"batch": 0}, "batch=0"),
        ({"optimizer": "rmsprop"}, "optimizer='rmsprop'"),
        ({"random_state": None}, "random_state=None"),
    ],
)
def test_bad_settings(settings, words):
    X0, y0, *_ = gaussian_stream()
    with pytest.raises(ConfigError, match=words):
        NNFC1(**settings).fit(X0, y0)


def test_bad_grid():
    X0, y0, X, y = gaussian_stream()
    for rates in ((), (-1.0,), ("fast",)):
        with pytest.raises(ConfigError, match="rates"):
            NNFC1().best_of_grid(X0, y0, X, y, rates=rates)
        with pytest.raises(ConfigError, match="stream_rates"):
            NNFC1().best_of_grid(X0, y0, X, y, stream_rates=rates)
    with pytest.raises(DataError, match="label"):
        NNFC1().best_of_grid(X0, y0, X, [None] * len(X))
    with pytest.raises(DataError, match="NaN"):
        NNFC1().best_of_grid(X0, y0, X * np.nan, y)


def test_the_registered_learner_searches_all_rates_or_takes_the_given_ones():
    X0, y0, X, y = gaussian_stream(n=200, d=8)
    whole = BestNNFC1(optimizer="adam").fit(X0, y0).search(X, y)
    assert whole.accuracies.shape == (7, 7)
    given = BestNNFC1(optimizer="adam", rate=whole.rate, stream_rate=whole.stream_rate).fit(X0, y0)
    assert given.search(X, y).accuracies.shape == (1, 1)
    np.testing.assert_array_equal(given.run(X, y).predictions, whole.trace.predictions)
    assert "nn-fc1-centred" not in LEARNERS
