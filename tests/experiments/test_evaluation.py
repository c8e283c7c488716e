"""Metrics of streams with known results, compared with plain loops."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from tmlcd_core.changes import judge
from tmlcd_core.errors import ConfigError, DataError
from tmlcd_core.experiments import Experiment, Metrics, accuracy_curve, describe, evaluate, grid, spread
from tmlcd_core.learners import LEARNERS, make_learner, settings_of


def test_curve_is_the_paper_s_convolution():
    correct = np.random.default_rng(0).random(700) < 0.8
    expected = np.convolve(correct, [0.01] * 100)[:700]  # its head has fewer than 100 samples behind it
    curve = accuracy_curve(correct)
    assert np.isnan(curve[:99]).all()
    assert np.allclose(curve[99:], expected[99:])
    assert np.isnan(accuracy_curve(correct[:50])).all()


def test_every_metric_has_a_formula_and_a_range():
    told = describe()
    assert list(told) == [f.name for f in dataclasses.fields(Metrics)]
    assert all(one["formula"] and one["range"] for one in told.values())


def test_accuracies_by_a_loop():
    rng = np.random.default_rng(1)
    correct = rng.random(2000) < 0.7
    changes = [600, 1500]
    m = evaluate(correct, np.arange(2000), changes=changes)

    def share(begin, end):
        return sum(bool(correct[i]) for i in range(begin, end)) / (end - begin)

    assert m.accuracy == pytest.approx(share(0, 2000))
    assert m.accuracy_before == pytest.approx(share(0, 600))
    assert m.accuracy_after == pytest.approx(share(600, 2000))
    for span in (100, 200, 500):
        expected = (share(600, 600 + span) + share(1500, min(1500 + span, 2000))) / 2
        assert getattr(m, f"accuracy_{span}") == pytest.approx(expected)
    assert (m.final_size, m.largest_size, m.mean_size) == (1999, 1999, 999.5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"correct": [], "sizes": []}, "0 predictions"),
        ({"correct": [True] * 3, "sizes": [1, 2]}, "2 sizes"),
        ({"correct": [True] * 3, "sizes": [1, 2, 2], "changes": [3]}, r"changes=\[3\]"),
        ({"correct": [True] * 3, "sizes": [1, 2, 2], "changes": [0]}, r"changes=\[0\]"),
    ],
)
def test_what_cannot_be_measured_is_said(settings, message):
    with pytest.raises(DataError, match=message):
        evaluate(**settings)
    with pytest.raises(ConfigError, match="taps=0"):
        accuracy_curve([1, 0], taps=0)


def test_lists_are_as_good_as_arrays():
    m = evaluate([True, False, True, True], [1, 2, 2, 2], changes=[2])
    assert (m.accuracy, m.accuracy_before, m.accuracy_after, m.largest_size) == (0.75, 0.5, 1.0, 2)


def test_no_change():
    m = evaluate(np.ones(300, bool), np.full(300, 5), detections=[100], change_points=[50])
    assert m.accuracy == m.accuracy_before == 1
    assert all(math.isnan(v) for v in (m.accuracy_after, m.accuracy_100, m.recovery, m.delay, m.change_point_error))
    assert (m.missed, m.false_alarms, m.unrecovered) == (0, 1, 0)


def test_alarms():
    correct, sizes = np.ones(1000, bool), np.full(1000, 5)
    alarms, points = [100, 349, 420, 760], [90, 310, 400, 690]
    m = evaluate(correct, sizes, alarms, points, changes=[300, 700, 900])
    assert m.delay == (49 + 60) / 2
    assert m.change_point_error == (10 + 10) / 2
    assert m.missed == 1
    assert m.false_alarms == 2  # at 100, before any change, and at 420, the second after one
    gradual = evaluate(correct, sizes, alarms, points, changes=[300, 700, 900], ends=[450, 700, 900])
    assert gradual.false_alarms == 1  # the change still went on at 420
    without = evaluate(correct, sizes, changes=[300], has_test=False)
    assert math.isnan(without.missed) and math.isnan(without.false_alarms)


def test_recovery():
    correct = np.ones(1000, bool)
    correct[400:460] = False
    m = evaluate(correct, np.full(1000, 5), changes=[400])
    assert m.recovery == 155  # after 155 samples the last 100 hold 5 errors, 95 % of the perfect accuracy before
    assert m.unrecovered == 0
    correct[400:] = False
    m = evaluate(correct, np.full(1000, 5), changes=[400])
    assert math.isnan(m.recovery) and m.unrecovered == 1


def test_bytes_are_those_of_the_paper_s_table_2():
    m = evaluate(np.ones(10, bool), np.full(10, 50), n_features=65 * 11, window=200)
    assert m.largest_bytes == 143_400
    assert m.window_bytes == 4 * 143_400
    assert evaluate(np.ones(10, bool), np.full(10, 50), n_features=17 * 9).largest_bytes == 31_000


def test_spread_leaves_out_what_has_no_value():
    found = spread([2.0, math.nan, 4.0, 9.0])
    assert (found.mean, found.n) == (5.0, 3)
    assert found.std == pytest.approx(np.std([2, 4, 9]))
    assert math.isnan(spread([math.nan]).mean) and spread([]).n == 0


def test_run_agrees_with_the_learner_itself():
    experiment = Experiment("digits", ("1", "7", "4"), new="9", per_class=120, train=30, seed=2)
    stream = experiment.stream()
    run = experiment.run()
    for name in experiment.learners:
        model = make_learner(name, 90, 2).fit(stream.X0, stream.y0)
        predicted = [model.observe(x, y) for x, y in zip(stream.X, stream.y, strict=True)]
        assert run.learners[name].metrics.accuracy == np.mean(np.array(predicted) == stream.y)
        assert run.learners[name].metrics.final_size == len(model)


def test_paper_settings():
    assert settings_of("hybrid", 300)["max_size"] == settings_of("active", 300)["window"] == 300
    assert settings_of("cit", 300)["max_size"] is None  # unbounded in the paper's experiments
    for name in ("active", "hybrid"):
        settings = settings_of(name, 200)
        assert (settings["batch"], settings["warmup"], settings["condense"]) == (50, 100, True)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Experiment("digits", learners=["knn9000"]), "no learner 'knn9000'; "),
        (lambda: Experiment("digits", learners=[]), "at least one"),
        (lambda: Experiment("digits", learners=["cit", "cit"]), "at least one, all different"),
        (lambda: Experiment("digits", settings={"cit.speed": 9}), "has a setting 'cit.speed'"),
        (lambda: Experiment("digits", settings={"knn9000.k": 9}), "no learner 'knn9000'"),
        (lambda: Experiment("digits", extractor={"colour": 1}), "setting 'colour'; choose from name, filters"),
        (lambda: Experiment("digits", drift="earthquake"), "no drift 'earthquake'"),
        (lambda: Experiment("digits", at=1.5), "at=1.5"),
        (lambda: Experiment("digits", classes=1), "classes=1"),
        (lambda: Experiment("digits", seed=2**32), "seed=4294967296"),
        (lambda: grid(Experiment("digits"), {"speed": [1, 2]}), "has a setting 'speed'"),
        (lambda: grid(Experiment("digits"), {"svm.C": [1, 2]}), "has a setting 'svm.C'"),
    ],
)
def test_bad_experiments_name_the_value(make, message):
    with pytest.raises(ConfigError, match=message):
        make()


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_runs(name):
    drift = "none" if name.startswith("nn-fc1-") else "labels-swapped"  # their rates are the best for the whole stream
    experiment = Experiment("digits", ("0", "1"), drift=drift, per_class=120, train=30, learners=[name])
    one = experiment.run().learners[name]
    assert one.correct[:120].mean() > 0.6
    assert len(one.correct) == len(one.sizes) == 240
    assert one.metrics.microseconds > 0


# ---------------------------------------------------------------- changes


def told_by_a_loop(correct, alarms, changes, ends):
    """The rules again, one sample at a time: false alarms, delays, recoveries (None: unknown, inf: never)."""
    false, delays, recoveries = len(alarms), [], []
    for number, (change, end) in enumerate(zip(changes, ends, strict=True)):
        stop = [*changes, len(correct)][number + 1]
        inside = [a for a in alarms if change <= a < stop]
        false -= len([a for a in inside if a == inside[0] or a < end])
        delays += [inside[0] - change] if inside else []
        if not recoveries or recoveries[-1] != math.inf:
            begin = [0, *changes][number]
            hits, span = sum(map(bool, correct[begin:change])), change - begin

        def low(t, hits=hits, span=span):
            """Whether the last 100 up to t are below 95 % of the last concept from which it had recovered."""
            return t >= 99 and 20 * span * sum(map(bool, correct[t - 99 : t + 1])) < 19 * 100 * hits

        fell = next((t for t in range(change, stop) if low(t)), None)
        if fell is None:
            recoveries.append(0 if stop - end >= 100 else None)
            continue
        back = next((t for t in range(fell, stop) if t - 99 >= end and not low(t)), None)
        late = fell - 99 > end
        recoveries.append(math.inf if back is None else back + 1 - (fell if late else change))
    return false, delays, recoveries


def random_run(seed):
    """Hits, alarms, changes and ends of ramps."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(120, 1500))
    changes = sorted({int(c) for c in rng.integers(1, n, rng.integers(0, 4))})
    ends = [int(rng.integers(c, stop + 1)) for c, stop in zip(changes, [*changes[1:], n], strict=False)]
    if rng.random() < 0.4:
        ends = changes
    chance = np.repeat(rng.choice([0.3, 0.6, 0.85, 0.95, 1.0], 1 + n // 70), 70)[:n]
    alarms = sorted({int(a) for a in rng.integers(0, n, rng.integers(0, 8))})
    return rng.random(n) < chance, alarms, changes, ends


def test_a_learner_that_is_as_bad_as_before_has_not_recovered():
    correct = curve_of((400, 1.0), (300, 0.1), (300, 0.1))
    found = judge(correct, changes=[400, 700])
    assert [outcome.unrecovered for outcome in found.outcomes] == [True, True]
    back = judge(curve_of((400, 1.0), (300, 0.1), (300, 1.0)), changes=[400, 700])  # the first concept returns
    assert [outcome.unrecovered for outcome in back.outcomes] == [True, False]
    assert back.outcomes[1].recovery == 100


def figures_of(correct, alarms, changes, ends):
    return evaluate(correct, np.ones(len(correct)), alarms, alarms, changes, ends)


@pytest.mark.parametrize("block", range(6))
def test_delays_false_alarms_and_recovery_by_a_loop(block):
    kinds = set()
    for seed in range(50 * block, 50 * block + 50):
        run = random_run(seed)
        false, delays, recoveries = told_by_a_loop(*run)
        m = figures_of(*run)
        assert (m.false_alarms, m.missed) == (false, len(run[2]) - len(delays)), seed
        np.testing.assert_equal(m.delay, np.mean(delays) if delays else math.nan)
        told = [r for r in recoveries if r not in (None, math.inf)]
        np.testing.assert_equal(m.recovery, np.mean(told) if told else math.nan)
        assert m.unrecovered == recoveries.count(math.inf), seed
        kinds |= {{None: "unknown", 0: "0", math.inf: "never"}.get(r, "back") for r in recoveries}
    assert kinds == {"never", "0", "unknown", "back"}, "every answer is among the runs"


def test_what_is_known_at_a_sample_is_the_judgement_of_the_run_up_to_it():
    for seed in range(40):
        correct, alarms, changes, ends = random_run(seed)
        whole = judge(correct, alarms, changes, ends)
        events, last = whole.events(), None
        for i in range(0, len(correct), 7):
            begun = [c for c in changes if c <= i]
            known = judge(correct[: i + 1], [a for a in alarms if a <= i], begun, ends[: len(begun)])
            assert whole.until(i) == known, (seed, i)
            since = max(event for event in events if event <= i)
            for figure in ("false", "delay", "missed", "recovery", "unrecovered"):
                np.testing.assert_equal(getattr(known, figure), getattr(whole.until(since), figure))
            last = known
        assert last is not None


def curve_of(*spans):
    """Correct predictions: (samples, share correct) one after the other, errors spread evenly."""
    return np.concatenate([np.arange(n) * share % 1 < share for n, share in spans]) if spans else np.ones(0, bool)


@pytest.mark.parametrize(
    ("spans", "end", "recovery", "never"),
    [
        ([(400, 1.0), (3, 0.0), (597, 1.0)], 400, 0.0, 0),  # 97 % of the last 100 is no fall
        ([(400, 1.0), (60, 0.0), (540, 1.0)], 400, 155.0, 0),
        ([(400, 1.0), (600, 0.0)], 400, math.nan, 1),
        ([(1000, 1.0)], 700, 0.0, 0),
        # A gradual change that is over at 700: good until then, and 61 % afterwards.
        ([(700, 1.0), (300, 0.61)], 700, math.nan, 1),
        # It falls only after the ramp, at 710, and is back when 95 of the last 100 are right, at 865.
        ([(710, 1.0), (60, 0.0), (230, 1.0)], 700, 465.0, 0),
        # It falls and is back during the ramp: that counts when the new concept has been alone for 100 samples.
        ([(400, 1.0), (60, 0.0), (540, 1.0)], 700, 400.0, 0),
        # 150 samples of the new concept are right before it falls, at 855; back at 954: counted from the fall.
        ([(850, 1.0), (10, 0.0), (140, 1.0)], 700, 100.0, 0),
        # Nobody can tell: the new concept is alone for 50 samples only.
        ([(1000, 1.0)], 950, math.nan, 0),
    ],
)
def test_recovery_needs_a_fall_and_the_end_of_the_change(spans, end, recovery, never):
    m = figures_of(curve_of(*spans), [], [400], [end])
    np.testing.assert_equal(m.recovery, recovery)
    assert m.unrecovered == never
