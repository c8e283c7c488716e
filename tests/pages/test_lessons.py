"""Lessons: every number and every right answer is computed again with the core; the panel reveals nothing before."""

import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.shell.navigation import PAGES
from pages.views.lessons import LESSONS, OLD_TITLES, equal_bytes, forgetting, late_labels, lesson_of
from pages.views.lessons.lesson import UNSURE, Part
from pages.views.lessons.own import LIMITS, METRICS, MOST_OPTIONS, TASK, Task, link, plain, unpacked
from pages.views.lessons.predictions import MOST_PREDICTIONS, MOST_VISITORS, Predictions
from tmlcd_core.detectors import calibrate_threshold, threshold_table
from tmlcd_core.experiments import Experiment
from tmlcd_core.mcu import BOARDS, PAPER_CONFIGURATIONS, accuracy_of, budget, what_fits
from tmlcd_core.viz import cusum

ROOT = Path(__file__).parents[2]
TIMEOUT = 180
LOADED = {page.url: page.file for page in PAGES}
PARTS = {lesson.key(i + 1): (lesson, i + 1, part) for lesson in LESSONS for i, part in enumerate(lesson.parts)}
THREE = ("cit", "active", "hybrid")


def opened(address: str) -> AppTest:
    """The page that an address opens."""
    parts = urlsplit(address)
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT).run()
    for key, values in parse_qs(parts.query).items():
        at.query_params[key] = values
    return at.switch_page(LOADED[parts.path]).run()


def value_of(at: AppTest, key: str):
    found = [w.value for kind in (at.slider, at.selectbox, at.number_input, at.multiselect, at.select_slider, at.toggle)
             for w in kind if w.key == key]  # fmt: skip
    assert len(found) == 1, key
    return found[0]


def buttons(at: AppTest) -> list[str]:
    return [one.key for one in at.button if one.key]


def texts(at: AppTest) -> str:
    return " ".join(
        one.value for kind in (at.markdown, at.success, at.info, at.warning, at.caption, at.text) for one in kind
    )


# ---------------------------------------------------------------- the panel


@pytest.mark.parametrize("key", PARTS)
def test_a_part_opens_its_page_with_its_settings_after_the_prediction(key):
    lesson, number, part = PARTS[key]
    at = opened(lesson.link(number))
    assert not at.exception and not at.error and not at.toast
    assert not at.slider and not at.get("bidi_component") and not at.get("plotly_chart"), "the page waits"
    assert [name for name in buttons(at) if name.startswith("predict ")] == [
        f"predict {name}" for name in (*part.options, UNSURE)
    ]
    first = next(iter(part.options))
    at.button(key=f"predict {first}").click().run()
    assert not at.exception and not at.error and not at.toast
    for setting, wanted in part.settings.items():
        shown = value_of(at, setting)
        if isinstance(wanted, list):
            assert shown == wanted
        else:
            assert str(shown) == wanted or float(shown) == float(wanted), setting
    assert f"You predicted: {part.text(part.options[first])}" in texts(at) and "check" in buttons(at)


def test_the_steps_reveal_nothing_and_end_with_the_check_the_explanation_and_the_next_question():
    lesson, number, part = PARTS["passive-1"]
    found = part.measure(part.settings)
    explained = part.text(part.explain, found.facts)
    at = opened(lesson.link(number))
    at.button(key="predict active").click().run()
    for fact in (explained, *found.values.values()):
        assert fact not in texts(at)
    at.button(key="check").click().run()
    assert explained in texts(at) and "The run says something else" in at.warning[0].value
    assert all(value in at.warning[0].value for value in found.values.values())
    links = " ".join(one.proto.body for one in at.get("html"))
    assert "step=2" in links and "Next question" in links and "lessons" in links
    right = opened(lesson.link(number))
    right.button(key=f"predict {found.answer}").click().run().button(key="check").click().run()
    assert right.success[0].value.startswith("You were right")


@pytest.mark.parametrize("address", ["drift-lab?lesson=chip", "stm32?lesson=nothing&step=%00", "drift-lab?task=!"])
def test_an_unknown_lesson_or_one_of_another_page_leaves_the_page_as_it_is(address):
    at = opened(address)
    assert not at.exception and not [name for name in buttons(at) if name.startswith("predict ")]


@pytest.mark.parametrize("step", ["0", "99", "-1", "x", "1e9"])
def test_a_wrong_number_of_a_question_opens_one_that_exists(step):
    at = opened(f"stm32?lesson=chip&step={step}")
    assert not at.exception and "predict " + UNSURE in buttons(at)


def test_the_lessons_page_shows_the_progress_and_forgets_it_on_request():
    at = opened("drift-lab?lesson=bytes")
    at.button(key="predict tandem").click().run().button(key="check").click().run()
    at.switch_page("pages/lessons.py").run()
    assert not at.exception
    cards = [one.proto.body for one in at.get("html") if "<span" in one.proto.body]
    assert len(cards) == len(LESSONS)
    (begun,) = [card for card in cards if "Continue" in card]
    assert "bytes" in begun and "step=2" in begun and "1 of 2 questions (✓ right)" in begun
    next(one for one in at.button if one.label == "Forget my predictions").click().run()
    assert not any("Continue" in one.proto.body for one in at.get("html"))


def test_old_addresses_name_a_lesson_that_comes_first():
    for old, name in OLD_TITLES.items():
        assert lesson_of(old) is lesson_of(name) is not None
    at = opened("lessons?lesson=Noise+that+nobody+notices")
    first = next(one.proto.body for one in at.get("html") if "<span" in one.proto.body)
    assert "lesson=noise" in first


# ---------------------------------------------------------------- predictions of the class


def test_predictions_are_counted_once_per_visitor_without_the_teacher_and_are_bounded():
    found = Predictions()
    for i in range(30):
        found.predict(f"student {i}", "a", "yes" if i % 3 else "no")
        found.predict(f"student {i}", "a", "changed")
    found.predict("teacher", "a", "yes")
    assert dict(found.counts("a", without="teacher")) == {"yes": 20, "no": 10}
    found.check("student 1", "a", True)
    assert found.of("student 1")["a"].checked and found.of("student 1")["a"].option == "yes"
    found.check("nobody", "a", True)
    for i in range(MOST_VISITORS + 5):
        found.predict(f"robot {i}", "a", "x")
    assert sum(found.counts("a").values()) == MOST_VISITORS
    for i in range(MOST_PREDICTIONS + 5):
        found.predict("busy", str(i), "x")
    assert len(found.of("busy")) == MOST_PREDICTIONS
    found.forget("busy")
    assert found.of("busy") == {}


@pytest.mark.parametrize(
    ("classroom", "local", "sees"), [(True, True, True), (True, False, False), (False, True, False)]
)
def test_only_the_teacher_in_a_classroom_sees_how_the_class_predicted(classroom, local, sees, monkeypatch):
    from pages.views.lessons import panel

    store = Predictions()
    monkeypatch.setattr(panel, "PREDICTIONS", store)
    monkeypatch.setattr(panel, "is_local_visitor", lambda: local)
    monkeypatch.setenv(panel.ADDRESSES, "https://192.168.1.5:8501" if classroom else "")
    for i in range(30):
        store.predict(f"student {i}", "chip-1", "all" if i < 12 else "some")
    at = opened("stm32?lesson=chip")
    switches = [one for one in at.toggle if one.key == "class"]
    assert bool(switches) == sees
    if sees:
        assert "so far" not in texts(at), "closed at first: the class sees the projector"
        switches[0].set_value(True).run()
        assert "30 predictions so far" in texts(at)
        shown = [one.proto.text for one in at.get("progress")]
        assert shown == ["On all of them: 12", "Only on the larger ones: 18", "On none of them: 0", "I do not know: 0"]
        assert "student" not in str(at.main)


# ---------------------------------------------------------------- what the answers say


def percent(share: float, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f} %"


class Run:
    """The experiment of a part, run with the core alone."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.stream = experiment.stream()
        self.change = (*self.stream.changes, len(self.stream))[0]
        self.learners = experiment.run_stream(self.stream).learners

    def right(self, name: str, start: int | None = None, stop: int | None = None) -> float:
        part = slice(self.change if start is None else start, stop)
        return float((self.learners[name].trace.predictions == self.stream.y)[part].mean())

    def metric(self, name: str, what: str) -> float:
        return getattr(self.learners[name].metrics, what)


def run_of(key: str, **changes) -> Run:
    lesson, number, _ = PARTS[key]
    return Run(replace(Experiment.from_link(f"/{lesson.link(number)}"), **changes))


def said(key: str):
    _, _, part = PARTS[key]
    return part.measure(part.settings)


def lost_at(run: Run, alarm: int) -> dict[str, str]:
    """What Hybrid held before its alarm, and lost: a mistake at the alarm is stored before T is cut."""
    trace = run.learners["hybrid"].trace
    held, added = trace.sizes[alarm - 1], int(trace.predictions[alarm] != run.stream.y[alarm])
    return {"stored": str(held), "lost": str(held + added - trace.sizes[alarm])}


def test_passive_against_active():
    swap, replaced = run_of("passive-1"), run_of("passive-2")
    back = {name: swap.metric(name, "recovery") for name in THREE}
    hybrid = swap.learners["hybrid"].trace
    alarm = hybrid.detections[0]
    assert said("passive-1") == (
        max(back, key=back.get),
        {name: f"recovered after {back[name]:.0f} samples" for name in THREE},
        {
            **{f"{name}_back": f"{back[name]:.0f}" for name in THREE},
            **{f"{name}_delay": f"{swap.metric(name, 'delay'):.0f}" for name in ("active", "hybrid")},
            **lost_at(swap, alarm),
        },
    )
    assert said("passive-1").answer == "cit"
    [alarm] = replaced.learners["active"].trace.detections
    after = {name: replaced.right(name) for name in THREE}
    assert said("passive-2") == (
        min(after, key=after.get),
        {name: f"{percent(after[name], 1)} right after the change" for name in THREE},
        {
            "wait": str(alarm + 1 - replaced.change),
            **{f"{name}_wait": percent(replaced.right(name, None, alarm + 1)) for name in ("active", "cit")},
            **{f"{name}_later": percent(replaced.right(name, alarm + 1)) for name in ("active", "cit")},
        },
    )
    assert said("passive-2").answer == "active"
    cit, hybrid = (replaced.learners[name].trace.predictions for name in ("cit", "hybrid"))
    np.testing.assert_array_equal(hybrid, cit, "without an alarm Hybrid is CIT")


def test_the_price_of_memory():
    free, bound = run_of("memory-1"), run_of("memory-2")
    lead = free.right("incremental") - free.right("cit")
    assert said("memory-1") == (
        "0" if lead < 0.01 else "1" if lead < 0.05 else "2",
        {},
        {
            "lead": f"{100 * lead:.1f}",
            "all_size": f"{free.metric('incremental', 'final_size'):,}",
            "all_bytes": f"{free.metric('incremental', 'largest_bytes'):,}",
            "all_after": percent(free.right("incremental")),
            "cit_after": percent(free.right("cit")),
            "cit_size": f"{free.metric('cit', 'final_size'):,}",
            "cit_bytes": f"{free.metric('cit', 'largest_bytes'):,}",
        },
    )
    lost = {name: 100 * (free.right(name) - bound.right(name)) for name in THREE}
    assert said("memory-2") == (
        min(lost, key=lost.get),
        {name: f"loses {lost[name]:.1f} points" for name in THREE},
        {
            **{f"{name}_free": percent(free.right(name)) for name in THREE},
            **{f"{name}_small": percent(bound.right(name)) for name in THREE},
            "window_bytes": f"{bound.metric('active', 'window_bytes'):,}",
        },
    )
    assert said("memory-2").answer == "active"
    assert {bound.learners[name].trace.sizes.max() for name in ("cit", "hybrid")} == {50}
    active = free.learners["active"].trace
    assert (np.diff(active.sizes) != 0).sum() == len(active.detections), "stores nothing between alarms"


def test_the_threshold():
    low, high = (float(part.settings["h"]) for part in lesson_of("threshold").parts)
    change = 700
    rows = {row.threshold: row for row in threshold_table(0.9, 0.7, 50, 100, 1000, (low, 25.0, high))}
    longer = calibrate_threshold(0.9, 50, 300, 1000, 0.01)
    [calm] = threshold_table(0.9, 0.7, 50, 300, 1000, (longer,))
    hits = np.random.default_rng(0).random(1500) < np.where(np.arange(1500) < change, 0.9, 0.7)
    early = cusum.replay(hits, threshold=low).alarms[0]
    assert said("threshold-1") == (
        "early",
        {"early": f"first alarm at sample {early}, change at {change}"},
        {
            "first": f"{early}",
            "change": f"{change}",
            "rate": percent(rows[low].false_alarm_rate),
            "delay": f"{rows[low].mean_delay:.0f}",
            "horizon": "1,000",
        },
    )
    assert early < change and cusum.replay(hits, threshold=high).alarms == []
    assert said("threshold-2") == (
        "never",
        {"never": "no alarm after the change in this stream"},
        {
            "rate": percent(rows[high].false_alarm_rate, 1),
            "delay": f"{rows[high].mean_delay:.0f}",
            "missed": percent(rows[high].missed, 1),
            "usual": "25",
            "rate_usual": percent(rows[25.0].false_alarm_rate, 1),
            "delay_usual": f"{rows[25.0].mean_delay:.0f}",
            "warmup": "100",
            "longer": "300",
            "calibrated": f"{calibrate_threshold(0.9, 50, 100, 1000, 0.01):.1f}",
            "calibrated_longer": f"{longer:.1f}",
            "delay_longer": f"{calm.mean_delay:.0f}",
        },
    )
    assert rows[high].false_alarm_rate <= 0.01, "at most one quiet stream in a hundred"


def test_voices_in_the_background():
    seeds = range(20)
    softs, louds = ([run_of(key, seed=seed) for seed in seeds] for key in ("noise-1", "noise-2"))
    soft, loud = softs[5], louds[5]

    def alarms(runs: list[Run], name: str) -> str:
        return str(sum(bool((run.learners[name].trace.detections >= run.change).any()) for run in runs))

    test = soft.experiment.learner_settings("active", soft.stream.scenario)
    highest = {name: f"{np.nanmax(soft.learners[name].trace.statistic):.0f}" for name in ("active", "hybrid")}
    assert said("noise-1") == (
        "nobody",
        {name: f"highest *g* {g}, *h* is 25" for name, g in highest.items()},
        {
            **{f"{name}_before": percent(soft.right(name, 0, soft.change)) for name in ("active", "cit")},
            **{f"{name}_after": percent(soft.right(name)) for name in ("active", "cit")},
            "batches": str((len(soft.stream) - soft.change) // test["batch"]),
            "active_g": highest["active"],
            "h": f"{test['threshold']:g}",
        },
    )
    assert not any(len(one.trace.detections) for one in soft.learners.values())
    bound = loud.experiment.learner_settings("hybrid", loud.stream.scenario)["max_size"]
    assert said("noise-2") == (
        "cit",
        {name: f"{percent(loud.right(name), 1)} right after the change" for name in THREE},
        {
            **{f"{name}_after": percent(loud.right(name)) for name in THREE},
            "active_delay": f"{loud.metric('active', 'delay'):.0f}",
            "bound": str(bound),
            "seeds": str(len(seeds)),
            **{f"{name}_soft_alarms": alarms(softs, name) for name in ("active", "hybrid")},
            **{f"{name}_loud_alarms": alarms(louds, name) for name in ("active", "hybrid")},
        },
    )
    assert all(max(THREE, key=run.right) == "cit" for run in louds)
    sizes = {name: loud.learners[name].trace.sizes[-1] for name in ("cit", "hybrid")}
    assert sizes["hybrid"] == bound < sizes["cit"], "some are pushed out"


def test_when_forgetting_pays():
    import json

    study = json.loads((ROOT / "data/paper/forgetting.json").read_text("utf-8"))
    for key, affected, answer in (("forgetting-1", 5, "2"), ("forgetting-2", 2, "1")):
        run = run_of(key)
        gain = run.right("hybrid") - run.right("cit-bounded")
        assert answer == ("0" if gain < -0.01 else "1" if gain < 0.01 else "2")
        found = said(key)
        assert found.answer == answer and found.values == {answer: f"Hybrid {100 * gain:+.1f} points after the change"}
        trace = run.learners["hybrid"].trace
        alarm = trace.detections[0]
        [case] = [
            one for one in study["cases"]
            if (one["data"], one["kind"], one["classes"], one["affected"]) == ("digits", "rotated", 5, affected)
        ]  # fmt: skip
        accuracy = case["accuracy"]
        mean = np.mean(np.subtract(accuracy["known-change"], accuracy["cit-bounded"]))
        assert float(found.facts["low"]) <= 100 * mean <= float(found.facts["high"])
        assert {name: found.facts[name] for name in found.facts if name not in ("low", "high")} == {
            "hybrid": percent(run.right("hybrid")),
            "bounded": percent(run.right("cit-bounded")),
            **lost_at(run, alarm),
            "delay": str(alarm - run.change),
            "mean": f"{100 * mean:+.1f}",
            "runs": str(len(accuracy["cit-bounded"])),
            **forgetting.SEEDS[str(affected)],
        }


def test_the_same_bytes_for_all():
    four = ("cit", "active", "hybrid", "tandem")
    small, large = run_of("bytes-1"), run_of("bytes-2")
    for run, limit in ((small, 143_400), (large, 4 * 143_400)):
        assert all(run.metric(name, "peak_bytes") <= limit for name in four), "nobody has more"
    share = {name: small.metric(name, "accuracy") for name in four}
    first = said("bytes-1")
    assert first.answer == max(share, key=share.get) == "tandem"
    assert first.values == {name: f"{percent(share[name], 1)} right" for name in four}
    assert first.facts == {
        **{name: percent(share[name]) for name in four},
        **{f"{name}_size": f"{small.metric(name, 'final_size'):,}" for name in four},
        **{f"{name}_bytes": f"{small.metric(name, 'peak_bytes'):,}" for name in ("cit", "tandem")},
        **equal_bytes.SEEDS,
    }
    gains = {name: large.metric(name, "accuracy") - share[name] for name in four}
    second = said("bytes-2")
    assert second.answer == max(gains, key=gains.get) == "active"
    assert second.values == {name: f"{100 * gains[name]:+.1f} points" for name in four}
    assert second.facts == {
        **{f"{name}_small": percent(share[name]) for name in four},
        **{f"{name}_large": percent(large.metric(name, "accuracy")) for name in four},
        "active_size": str(small.learners["active"].trace.sizes[0]),
        **equal_bytes.SEEDS,
    }
    assert int(PARTS["bytes-2"][2].settings["max_bytes"]) == 4 * int(PARTS["bytes-1"][2].settings["max_bytes"])


def test_labels_that_come_late():
    once, late, later = run_of("late-1", label_delay=0), run_of("late-1"), run_of("late-2")
    delays = [run.metric("hybrid", "delay") for run in (once, late)]
    first = said("late-1")
    assert first.answer == "1" and abs(delays[1] - delays[0] - 100) < 25
    assert first.values == {"1": f"alarm {delays[1]:.0f} samples after the change, {delays[0]:.0f} with labels at once"}
    assert first.facts == {
        "late": f"{delays[1]:.0f}",
        "once": f"{delays[0]:.0f}",
        "more": f"{delays[1] - delays[0]:.0f}",
        **{f"{name}_late": percent(late.right(name)) for name in THREE},
        **{f"{name}_once": percent(once.right(name)) for name in THREE},
        **late_labels.SEEDS,
    }
    second, once = said("late-2"), run_of("late-2", label_delay=0)
    assert max(THREE, key=once.right) == "hybrid", "with labels at once Hybrid was the best"
    assert second.answer == max(THREE, key=later.right) == "hybrid"
    assert second.values == {name: f"{percent(later.right(name), 1)} right after the change" for name in THREE}
    assert second.facts == {
        **{f"{name}_late": percent(later.right(name)) for name in THREE},
        **{f"{name}_once": percent(once.right(name)) for name in THREE},
        "size_late": str(later.learners["cit"].trace.sizes[-1]),
        "size_once": str(once.learners["cit"].trace.sizes[-1]),
        **late_labels.SEEDS,
    }


@pytest.mark.slow
def test_the_lessons_say_with_how_many_seeds_their_point_holds():
    seeds = range(20)
    for key, affected in (("forgetting-1", "5"), ("forgetting-2", "2")):
        gains = []
        for seed in seeds:
            run = run_of(key, seed=seed)
            gains.append(100 * (run.right("hybrid") - run.right("cit-bounded")))
        hurt, helped = sum(gain < -1 for gain in gains), sum(gain >= 1 for gain in gains)
        found = {"seeds": "20", "hurt": str(hurt), "same": str(20 - hurt - helped), "helped": str(helped)}
        assert forgetting.SEEDS[affected] == found
    delays = [[run_of("late-1", seed=s, label_delay=d).metric("hybrid", "delay") for d in (0, 100)] for s in seeds]
    best = [max(THREE, key=run_of("late-2", seed=seed).right) for seed in seeds]
    assert {
        "seeds": "20",
        "as_late": str(sum(late - once == 100 for once, late in delays)),
        "hybrid_best": str(best.count("hybrid")),
        "active_best": str(best.count("active")),
    } == late_labels.SEEDS
    firsts, mosts = [], []
    for seed in seeds:
        small, large = (run_of(key, seed=seed) for key in ("bytes-1", "bytes-2"))
        share = {name: small.metric(name, "accuracy") for name in equal_bytes.FOUR}
        firsts.append(max(share, key=share.get))
        mosts.append(max(share, key=lambda name: large.metric(name, "accuracy") - share[name]))
    counts = {"tandem_best": str(firsts.count("tandem")), "active_gains": str(mosts.count("active"))}
    assert {"seeds": "20", **counts} == equal_bytes.SEEDS


def test_photographs_against_speech():
    speech = run_of("networks-1")
    photos = Run(replace(speech.experiment, extractor={}))
    assert dict(speech.experiment.extractor) == {"name": "speech"} and photos.experiment.extractor == ()
    share, other = (run.metric("cit", "accuracy") for run in (speech, photos))
    answer = "0" if share - other < -0.05 else "1" if share - other < 0.05 else "2"
    assert said("networks-1") == (
        answer,
        {answer: f"{percent(share)} with the network, {percent(other)} with the filter"},
        {
            "speech": percent(share),
            "photos": percent(other),
            "points": f"{100 * (share - other):+.1f}",
            "speech_numbers": "96",
            "photos_numbers": "715",
            "speech_bytes": f"{speech.metric('cit', 'largest_bytes'):,}",
            "photos_bytes": f"{photos.metric('cit', 'largest_bytes'):,}",
        },
    )
    assert answer == "2" and speech.stream.X.shape[1] == 96 and photos.stream.X.shape[1] == 715


def test_fit_it_on_the_chip():
    at = opened(lesson_of("chip").link(1))
    at.button(key="predict all").click().run()
    configuration = at.session_state["stm32:configuration"]
    small = replace(configuration, layout="streamed", store="uint8")
    assert configuration == PAPER_CONFIGURATIONS[0]
    fits = {fit.board.name: fit for fit in what_fits(configuration)}
    sizes = {row.name: row.bytes for row in budget(configuration).rows if row.name != "Training set T"}
    *_, two, one = sorted(sizes, key=sizes.get)
    assert [name for name, fit in fits.items() if not fit.fits] == [min(BOARDS, key=lambda name: BOARDS[name].ram)]
    named = ", ".join(fit.board.title for fit in fits.values() if fit.fits)
    assert said("chip-1") == (
        "some",
        {"some": f"fits on {named}"},
        {
            "needed": f"{budget(configuration).needed:,}",
            "ram": f"{BOARDS['stm32f401'].ram:,}",
            "largest": one.lower(),
            "second": two.lower(),
            "largest_bytes": f"{sizes[one]:,}",
            "second_bytes": f"{sizes[two]:,}",
        },
    )
    cost, cost_small = accuracy_of(configuration), accuracy_of(small)
    [fit] = [one for one in what_fits(small) if one.board.name == "stm32f401"]
    more = 100 * (cost_small.lost - cost.lost)
    assert fit.fits and more < 1
    assert said("chip-2") == (
        "0",
        {"0": f"{more:+.1f} points lost"},
        {
            "needed": f"{budget(small).needed:,}",
            "largest": str(fit.largest),
            "lost": f"{100 * cost.lost:.1f}",
            "lost_small": f"{100 * cost_small.lost:.1f}",
            "error": f"{100 * cost_small.error:.1f}",
            "reference": "200",
            "slow": f"{PAPER_CONFIGURATIONS[1].sample_rate:,}",
            "needed_slow": f"{budget(PAPER_CONFIGURATIONS[1]).needed:,}",
        },
    )


NAMES = re.compile(r"STM32F401|\{\w+\}")


@pytest.mark.parametrize("key", PARTS)
def test_no_number_stands_outside_settings_and_facts(key):
    part: Part = PARTS[key][2]
    for text in (part.read, part.question, *part.options.values(), *part.watch, part.explain):
        assert not re.search(r"\d", NAMES.sub("", text)), text
    before = {name for text in (part.read, part.question, *part.options.values(), *part.watch)
              for name in re.findall(r"\{(\w+)\}", text)}  # fmt: skip
    assert before <= {*part.settings, "bytes"}, "no fact of the run before the check"
    assert 2 <= len(part.options) <= 6 and UNSURE not in part.options


# ---------------------------------------------------------------- a lesson of one's own

HOSTILE = "<script>alert(1)</script> **bold** [x](http://example.org) $x$ :red[y] https://example.org " + "long " * 99


@pytest.mark.parametrize("page", ["drift-lab", "inside-cusum", "stm32"])
def test_a_lesson_of_ones_own_holds_settings_question_options_and_answer(page):
    key, value = {"drift-lab": ("h", 31.0), "inside-cusum": ("h", 31.0), "stm32": ("filters", 3)}[page]
    asked = {"drift-lab": "data=points&h=31", "inside-cusum": "h=31"}.get(page, "filters=3")
    at = opened(f"{page}?{asked}&title=old&question=old")
    at.text_input(key="own title").set_value("Übung & 1=2?")
    at.text_area(key="own question").set_value("Why?\n\nReally?")
    at.text_area(key="own options").set_value("Because *x*\nNobody knows\n\n").run()
    at.selectbox(key="own answer").set_value("Nobody knows")
    at.text_area(key="own explanation").set_value("So it is.").run()
    [made] = [c.value for c in at.code if "task=" in c.value]
    assert made.isascii() and " " not in made and "Nobody" not in made and "old" not in made
    again = opened(made)
    assert not again.exception and not again.slider, "the page waits for the prediction"
    assert "Übung" in texts(again) and "So it is" not in texts(again)
    again.button(key="predict 1").click().run()
    assert value_of(again, key) == value
    again.button(key="check").click().run()
    assert again.success[0].value.startswith("You were right") and "So it is" in texts(again)


def test_the_run_decides_a_teachers_question():
    asked = "data=points&drift=labels-swapped&seed=1"
    at = opened(f"drift-lab?{asked}")
    at.text_input(key="own title").set_value("Who?")
    at.toggle(key="own run").set_value(True).run()
    at.selectbox(key="own end").set_value("lowest")
    at.selectbox(key="own metric").set_value("accuracy_after").run()
    [made] = [c.value for c in at.code if "task=" in c.value]
    outcome = Experiment.from_link(f"/drift-lab?{asked}").run()
    after = {name: run.metrics.accuracy_after for name, run in outcome.learners.items()}
    again = opened(made)
    again.button(key=f"predict {min(after, key=after.get)}").click().run().button(key="check").click().run()
    assert again.success[0].value.startswith("You were right")
    assert all(f"accuracy after the change: {value:.3f}" in again.success[0].value for value in after.values())


def test_a_question_without_options_is_shown_above_the_page_as_before():
    for address in ("stm32?title=Title&question=Why", f"stm32?{TASK}={Task('Title', 'Why').packed()}"):
        at = opened(address)
        assert [text.value for text in at.text] == ["Title", "Why"] and at.get("plotly_chart")


def test_a_hostile_task_is_plain_text_short_and_bounded():
    task = unpacked(Task(HOSTILE, HOSTILE, (HOSTILE, "a", "b", "c", "d", "e", "f", "g"), 99).packed())
    assert [len(task.title), len(task.question)] == list(LIMITS.values())
    assert len(task.options) <= MOST_OPTIONS and task.answer == -1
    at = opened(link("stm32", {}, task))
    assert not at.exception
    shown = [one.value for one in at.markdown if "script" in one.value]
    assert shown and all(r"\<script\>" in text and "http://" not in text for text in shown)
    for broken in ("", "!", "AAAA", "x" * 100_000, Task("t").packed()[:-3]):
        assert unpacked(broken) is None or broken
    import base64
    import zlib

    bomb = base64.urlsafe_b64encode(zlib.compress(b'{"title": "' + b"0" * 10**7 + b'"}', 9)).decode()
    assert unpacked(bomb) is None
    for wrong in (b"[1, 2]", b'{"title": 5}', b'{"options": 7}', b'{"options": [1]}', b"5", b"null"):
        assert unpacked(base64.urlsafe_b64encode(zlib.compress(wrong)).decode()) is None
    assert plain(" a\n\n\tb  c ", 4) == "a b "


def test_metrics_of_own_questions_exist():
    from tmlcd_core.experiments import describe

    assert set(METRICS) <= set(describe())
