"""Live session: predictions, judgements, replay of the log, files, false-alarm rate."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import wave
import zipfile
from pathlib import Path

import numpy as np
import pytest

from tests.support.hummed_words import RATE, hum, take_of
from tmlcd_core import ActiveTinyKNN, CondensingInTime, ConfigError, DataError, GeneralizedCusum, HybridTinyKNN
from tmlcd_core.cli import main
from tmlcd_core.datasets import FolderSource, extract_upload
from tmlcd_core.features import Extractor
from tmlcd_core.features.voice import VOICE_EXTRACTORS, aligned, open_take
from tmlcd_core.knn.class_balance import in_turns
from tmlcd_core.live import (
    FAULTS,
    LIVE_DRIFTS,
    MOST_TAKES,
    LiveSession,
    LiveSettings,
    clean_name,
    session_project,
)
from tmlcd_core.live.drifts import spoken_for
from tmlcd_core.live.expectations import measured
from tmlcd_core.live.project import leave_one_out
from tmlcd_core.live.state import LiveLearner
from tmlcd_core.mcu.device import make
from tmlcd_core.mcu.keeping import KeepingLearner
from tmlcd_core.viz.live import curves_in_words, live_figure, thumbnail

ROOT = Path(__file__).resolve().parents[2]


def taught(words=("low", "rise", "fall"), each=3, seed=0, **kwargs):
    rng = np.random.default_rng(seed)
    session = LiveSession(words, **kwargs)
    for word in words:
        for _ in range(each):
            session.teach(word, take_of(word, rng))
    return session, rng


def run(session, rng, said, truth=None):
    outcomes = []
    for word, right in zip(said, truth or said, strict=True):
        outcomes.append(session.judge(session.say(take_of(word, rng)).id, right))
    return outcomes


@pytest.fixture(scope="module")
def drifted():
    """30 answers, then "high" is said for "fall", 40 more."""
    session, rng = taught()
    words = [session.words[i % 3] for i in range(70)]
    run(session, rng, words[:30])
    session.begin_drift("class-change", old="fall", new="high")
    outcomes = run(session, rng, ["high" if w == "fall" else w for w in words[30:]], words[30:])
    return session, outcomes


# -- teaching and answering ----------------------------------------------------------------------


def test_it_tells_what_is_missing_until_nothing_is():
    session = LiveSession(["low", "rise"])
    assert "“low”, “rise” have no take yet" in session.missing()
    with pytest.raises(DataError, match="no take yet"):
        session.say(take_of("low", np.random.default_rng(0)))
    with pytest.raises(DataError, match="no take yet"):
        session.model("hybrid")
    assert session.curves() == {}
    session, _ = taught()
    assert session.missing() is None
    assert session.counts() == {"low": 3, "rise": 3, "fall": 3}


def test_an_answer_names_the_word_its_neighbours_and_how_sure_it_is():
    session, rng = taught()
    answer = session.say(take_of("rise", rng))
    for ballot in answer.ballots.values():
        assert ballot.prediction == "rise" == max(ballot.votes, key=ballot.votes.get)
        assert sum(ballot.votes.values()) == pytest.approx(1)
        assert ballot.confidence == answer.known * ballot.votes["rise"] > 0.5
        assert session.labels()[ballot.nearest[0][0]] == "rise"
        distances = [distance for _, distance in ballot.nearest]
        assert distances == sorted(distances)
    X = session.voice.transform([session.takes[t] for t in (answer.id, answer.ballots["cit"].nearest[0][0])])
    assert distances[0] == pytest.approx(float(np.linalg.norm(X[0] - X[1])), rel=1e-5)
    assert 0 < answer.seconds < 60


@pytest.mark.parametrize("each", [(3, 3, 3), (2, 5, 1)])
def test_a_small_memory_keeps_every_word_though_they_were_taught_one_by_one(each):
    session, rng = taught(each=0, settings=LiveSettings(max_size=6))
    for word, count in zip(session.words, each, strict=True):
        for _ in range(count):
            session.teach(word, take_of(word, rng))
    stored = session.stored("hybrid")
    model = session.model("hybrid")
    assert len(stored) == 6
    assert [session.labels()[take] for take in stored] == model.labels_.tolist()
    assert np.array_equal(session.voice.transform([session.takes[take] for take in stored]), model.samples_)
    run(session, rng, ["rise"] * 3, ["low"] * 3)  # three errors, all of one word
    assert set(session.model("hybrid").labels_) == {"low", "rise", "fall"}


def test_the_session_is_the_learners_run_over_its_log(drifted):
    """The same by hand: fit on the taught vectors, the words in turns, and one `run` over the judged ones."""
    session, _ = drifted
    s = session.settings
    lessons = [(e["take"], e["word"]) for e in session.events if e["do"] == "teach"]
    lessons = [lessons[i] for i in in_turns([word for _, word in lessons])]
    taught_ids, y0 = (list(part) for part in zip(*lessons, strict=True))
    judged = [(e["take"], e["word"]) for e in session.events if e["do"] == "judge"]
    voice = VOICE_EXTRACTORS[session.extractor]
    X0 = voice.transform([session.takes[t] for t in taught_ids])
    X, y = voice.transform([session.takes[t] for t, _ in judged]), [w for _, w in judged]
    test = GeneralizedCusum(s.h, s.batch, s.warmup, "down", "binomial", margin=s.margin)
    votes = {"k": s.k, "weights": s.weights, "condense": False}
    by_hand = {
        "cit": CondensingInTime(**votes),
        "active": ActiveTinyKNN(window=s.window, detector=test, **votes),
        "hybrid": HybridTinyKNN(max_size=s.max_size, detector=test, **votes),
    }
    for name, learner in by_hand.items():
        learner.fit(X0, y0)
        for i in range(s.warmup):  # every take of the warm-up is stored
            if learner.observe(X[i], y[i]) == y[i]:
                learner.take_in(X[i : i + 1], y[i : i + 1])
        trace, curve = learner.run(X[s.warmup :], y[s.warmup :]), session.curves()[name]
        assert np.array_equal(curve.correct[s.warmup :], trace.predictions == np.array(y[s.warmup :]))
        assert np.array_equal(curve.size[s.warmup :], trace.sizes)
        assert np.array_equal(curve.statistic[s.warmup :], trace.statistic, equal_nan=True)
        assert list(curve.alarms) == [int(at) + s.warmup for at in trace.detections]
        assert list(curve.change_points) == [int(at) + s.warmup for at in trace.change_points]
        assert np.array_equal(session.model(name).samples_, learner.samples_)
        assert [session.labels()[t] for t in session.stored(name)] == learner.labels_.tolist()
        stored = voice.transform([session.takes[t] for t in session.stored(name)])
        assert np.array_equal(stored, learner.samples_)


def test_after_a_class_change_active_alarms_and_forgets_what_it_was_taught(drifted):
    session, outcomes = drifted
    alarms = [(i, o.verdicts["active"]) for i, o in enumerate(outcomes) if o.verdicts["active"].alarm]
    assert alarms
    number, verdict = alarms[0]
    judged = [e["take"] for e in session.events if e["do"] == "judge"]
    taught_ids = {e["take"] for e in session.events if e["do"] == "teach"}
    assert set(verdict.forgotten) == taught_ids | set(judged[: session.settings.warmup])
    assert abs(judged.index(verdict.change_point) - 30) <= 4
    assert number < 40
    after = session.curves()["active"].correct[30 + number + 1 :]
    assert after.mean() > 0.9
    assert session.curves()["cit"].drifts == (30,)
    assert not any(o.verdicts["cit"].alarm for o in outcomes)


def test_running_accuracy_is_that_of_the_last_ten(drifted):
    curve = drifted[0].curves()["active"]
    for i in (0, 4, 9, 30, 69):
        assert curve.accuracy[i] == pytest.approx(curve.correct[max(0, i - 9) : i + 1].mean())


def test_dropped_and_relabelled_takes_were_never_or_always_so():
    session, rng = taught()
    spare = session.teach("rise", take_of("fall", rng))  # a slip of the tongue
    said = [session.words[i % 3] for i in range(9)]
    sounds = [hum(word, rng) for word in said]

    def curves_of(s):
        return [(c.correct.tolist(), c.size.tolist()) for c in s.curves().values()]

    def judge_all(s):
        for word, sound in zip(said, sounds, strict=True):
            s.judge(s.say(open_take((sound, RATE))).id, word)

    clean, _ = taught()
    right, _ = taught()
    right.teach("fall", session.takes[spare])
    for s in (session, clean, right):
        judge_all(s)
    session.relabel(spare, "fall")
    assert curves_of(session) == curves_of(right)
    session.drop(spare)
    assert curves_of(session) == curves_of(clean)
    assert spare not in session.takes
    with pytest.raises(DataError, match="no take"):
        session.drop(spare)


def test_what_was_said_last_is_pending_until_it_is_judged():
    session, rng = taught()
    assert session.pending() is None
    answer = session.say(take_of("rise", rng))
    again = LiveSession.open(session.save()).pending()
    assert (again.id, again.ballots) == (answer.id, answer.ballots)
    session.judge(answer.id, "rise")
    assert session.pending() is None


def test_an_answer_is_not_judged_while_a_word_has_no_take():
    session, rng = taught(each=1)
    answer = session.say(take_of("low", rng))
    session.drop("t2")
    with pytest.raises(DataError, match="“rise” has no take"):
        session.judge(answer.id, "low")
    assert LiveSession.open(session.save()).events == session.events, "its file can be opened"


def test_a_removed_word_was_never_named():
    session, rng = taught()
    without, _ = taught(("low", "rise"))
    session.begin_drift("class-change", old="fall", new="other")
    session.remove_word("fall")
    assert session.words == without.words and session.counts() == without.counts()
    assert not any(event["do"] == "drift" for event in session.events)
    said = take_of("rise", rng)
    assert session.say(said).ballots == without.say(said).ballots
    with pytest.raises(DataError, match="stays"):
        session.remove_word("low")


@pytest.mark.parametrize("judged", [3, 20])
def test_the_guide_through_a_drift_stays_as_it_was_given(judged):
    session, rng = taught()
    run(session, rng, ["low"] * judged)
    given = session.begin_drift("new-word", word="high")
    run(session, rng, ["fall"] * 15, ["high"] * 15)
    assert LiveSession.open(session.save()).drift_under_way() == (judged, given)
    session.begin_drift("end")
    assert session.drift_under_way() == (judged + 15, None)


def test_what_a_fault_does_is_tried_once(monkeypatch):
    session, _ = taught()
    guide = session.begin_drift("cover")
    monkeypatch.setattr("tmlcd_core.live.drifts.heard_through", None)
    assert session.drift_under_way() == (0, guide)


def test_undo_takes_back_the_last_judgement_only():
    session, rng = taught()
    run(session, rng, ["low", "rise"])
    before = session.save()
    answer = session.say(take_of("fall", rng))
    session.judge(answer.id, "low")
    assert session.undo() == answer.id
    assert [len(c.answers) for c in session.curves().values()] == [2, 2, 2]
    session.drop(answer.id)
    again = LiveSession.open(before)
    assert [c.size.tolist() for c in session.curves().values()] == [c.size.tolist() for c in again.curves().values()]
    assert session.undo() and session.undo()
    assert session.undo() is None


def test_what_is_taught_in_the_middle_counts_from_then_on():
    session, rng = taught(each=1)
    run(session, rng, ["low", "rise", "fall"])
    sizes = {name: len(session.model(name)) for name in session.learners}
    take = session.teach("fall", take_of("fall", rng))
    for name in session.learners:
        assert len(session.model(name)) == sizes[name] + 1
        assert session.stored(name)[-1] == take
        assert session.model(name).times_[-1] == 3
    saved = LiveSession.open(session.save())
    assert all(saved.stored(name) == session.stored(name) for name in session.learners)


def test_what_is_taught_after_relabelling_in_the_middle_is_stored_once():
    session, rng = taught()
    run(session, rng, ["low", "rise", "fall"])
    session.relabel("t1", "rise")
    late = session.teach("low", take_of("low", rng))
    assert session.stored("cit").count(late) == 1
    assert session.stored("cit") == LiveSession.open(session.save()).stored("cit")


def test_a_relabelled_answer_changes_the_truth():
    session, rng = taught()
    answer = session.say(take_of("low", rng))
    with pytest.raises(DataError, match="not been judged"):
        session.relabel(answer.id, "rise")
    session.judge(answer.id, "rise")
    assert not session.curves()["cit"].correct[0]
    session.relabel(answer.id, "low")
    assert session.curves()["cit"].correct[0]


def test_other_features_and_settings_replay_the_same_log(drifted):
    session = LiveSession.open(drifted[0].save())
    session.change(extractor="log-mel", learners=["hybrid"], settings=LiveSettings(k=3, weights="distance"))
    assert list(session.curves()) == ["hybrid"]
    assert session.model("hybrid").n_features_in_ == VOICE_EXTRACTORS["log-mel"].n_features
    assert len(session.curves()["hybrid"].answers) == 70


# -- what is refused -----------------------------------------------------------------------------


BAD_NAMES = [["a", "A"], ["a", " a "], ["a", ""], ["a", "x" * 41], ["a", "b\0"], ["a", "\u202eb"], ["a", 3]]


@pytest.mark.parametrize("words", [[], ["one"], list("abcdefghijk"), *BAD_NAMES])
def test_names_that_make_no_session_are_refused(words):
    with pytest.raises(ConfigError):
        LiveSession(words)


def test_names_with_markup_are_plain_text():
    nasty = ["<script>alert(1)</script>", "**[x](javascript:1)**", "../../etc", "grüß dich"]
    session = LiveSession(nasty)
    assert session.words == nasty
    assert clean_name("e\u0301  a") == "é a"


@pytest.mark.parametrize("wrong", [{"extractor": "x"}, {"learners": ["svm"]}, {"learners": []}])
def test_unknown_parts_are_refused(wrong):
    with pytest.raises(ConfigError):
        LiveSession(["a", "b"], **wrong)


BAD_SETTINGS = {"batch": 0, "warmup": 0, "accuracy": 2, "k": 0, "weights": "x", "false_alarms": 0, "threshold": -1,
                "max_size": 1, "horizon": 1, "margin": 0}  # fmt: skip


@pytest.mark.parametrize("name", BAD_SETTINGS)
def test_settings_are_checked(name):
    with pytest.raises(ConfigError):
        LiveSettings(**{name: BAD_SETTINGS[name]})


def test_the_same_take_twice_is_noticed():
    session, rng = taught()
    sound = hum("low", rng)
    first = session.teach("low", open_take((sound, RATE)))
    for again in (
        lambda: session.teach("rise", open_take((sound, RATE))),
        lambda: session.say(open_take((sound, RATE))),
    ):
        with pytest.raises(DataError, match=f"already as take {first}"):
            again()
    assert sum(session.counts().values()) == 10
    answer = session.say(take_of("low", rng))
    session.judge(answer.id, "low")
    with pytest.raises(DataError, match="judged already"):
        session.judge(answer.id, "low")
    with pytest.raises(DataError, match="taught, not answered"):
        session.judge(first, "low")
    with pytest.raises(DataError, match="no word 'x'"):
        session.teach("x", take_of("low", rng))
    assert session.started


def test_the_last_take_of_a_word_stays_once_answers_depend_on_it():
    session, rng = taught(each=1)
    session.drop("t1")  # nothing judged yet
    assert "“low”" in session.missing()
    session.teach("low", take_of("low", rng))
    run(session, rng, ["low"])
    for attempt in (lambda: session.drop("t2"), lambda: session.relabel("t2", "low")):
        with pytest.raises(DataError, match="the last of 'rise'"):
            attempt()


def test_a_session_has_an_end():
    session, rng = taught()
    take = take_of("low", rng)
    session.takes |= {f"x{i}": session.takes["t1"] for i in range(MOST_TAKES)}
    with pytest.raises(DataError, match="at most 300 takes"):
        session.teach("low", take)


# -- drifts --------------------------------------------------------------------------------------


def test_the_false_alarm_promise_holds_for_the_test_itself():
    """Streams of coin tosses, other seeds, the very detector that the learners get."""
    settings = LiveSettings()
    rng = np.random.default_rng(123)
    alarms = 0
    for _ in range(600):
        test = settings.detector()
        alarms += any(test.update(hit) for hit in rng.random(settings.warmup + settings.horizon) < settings.accuracy)
    assert alarms / 600 < settings.false_alarms + 3 * np.sqrt(0.05 * 0.95 / 600)
    assert settings.false_alarm_rate() <= settings.false_alarms
    assert settings.false_alarm_rate(0.99) < 0.01


def test_an_answer_costs_the_same_work_in_a_long_session(monkeypatch):
    """One vector, one vote and one step of each learner, and no replay: also for an answer that is not judged."""
    session, rng = taught()
    run(session, rng, [session.words[i % 3] for i in range(60)])
    vectors, replays, steps = [], [], []
    transform, begin, judge = type(session.voice).transform, LiveLearner.__init__, LiveLearner.judge
    monkeypatch.setattr(
        type(session.voice), "transform", lambda self, takes: vectors.append(len(takes)) or transform(self, takes)
    )
    monkeypatch.setattr(LiveLearner, "__init__", lambda *args, **more: replays.append(1) or begin(*args, **more))
    monkeypatch.setattr(LiveLearner, "judge", lambda *args: steps.append(1) or judge(*args))
    session.judge(session.say(take_of("low", rng)).id, "low")
    session.drop(session.say(take_of("low", rng)).id)  # an unknown sound, which is forgotten
    session.judge(session.say(take_of("rise", rng)).id, "rise")
    assert vectors == [1, 1, 1] and replays == [] and len(steps) == 2 * len(session.learners)


def test_an_answer_is_judged_again_as_if_it_had_always_been_so():
    session, rng = taught()
    run(session, rng, [session.words[i % 3] for i in range(20)])
    answer = session.say(take_of("low", rng)).id
    session.judge(answer, "rise")
    outcome = session.judge_again(answer, "low")
    opened = LiveSession.open(session.save())
    opened.curves()
    assert outcome == opened._outcomes[answer] and session.labels()[answer] == "low"
    assert all(verdict.right for verdict in outcome.verdicts.values())
    assert all(np.array_equal(session.stored(n), opened.stored(n)) for n in session.learners)


def test_another_speaker_is_no_drift_for_the_speech_network():
    session, rng = taught()
    run(session, rng, [session.words[i % 3] for i in range(14)])
    session.extractor = "speech"  # only the table is looked up
    assert "another speaker is no drift" in session.begin_drift("speaker").expectation


def test_h_is_that_of_calibrate_threshold():
    from tmlcd_core import calibrate_threshold

    s = LiveSettings()
    expected = calibrate_threshold(0.9, 5, 12, 100, 0.05, "down", "binomial", margin=0.08)
    assert s.h == expected == s.detector().threshold
    assert LiveSettings(threshold=7.5).h == 7.5


def test_guides_say_what_to_do_and_what_was_measured():
    session, rng = taught(each=5)
    run(session, rng, [session.words[i % 3] for i in range(14)])
    guide = session.begin_drift("swap", first="low", second="rise")
    assert "“low” means “rise”, and “rise” means “low”" in guide.sentence and guide.often == ("low", "rise")
    [row] = [row for row in measured()["rows"] if (row["drift"], row["extractor"], row["takes"]) == ("swap", "word", 5)]
    for name in ("active", "hybrid"):
        assert f"{name.capitalize()} raised an alarm in {row['learners'][name]['alarms']:.0%}" in guide.expectation
    best = max((row["learners"][name] for name in ("active", "hybrid")), key=lambda rates: rates["alarms"])
    assert guide.between == (best["median"], best["most"])
    guide = session.begin_drift("class-change", old="low", new="<i>up</i>")
    assert "“<i>up</i>”" in guide.sentence and "“low”" in guide.sentence and guide.often == ("low",)
    assert "No alarm is expected from Hybrid: a new word contradicts nothing" in guide.expectation
    assert session.begin_drift("new-word", word="extra").often == ("extra",)
    assert session.words[-1] == "extra"
    assert session.missing() is None  # a new word is met, not taught
    assert "of 15 correct" in session.begin_drift("cover").expectation
    assert "not measured" in session.begin_drift("fault", effect="echo", strength=0.5).expectation
    assert "another person" in session.begin_drift("speaker").sentence
    assert set(LIVE_DRIFTS) >= {e["kind"] for e in session.events if e["do"] == "drift"}
    session.change(settings=LiveSettings(batch=4))
    assert "yours differ" in session.begin_drift("swap", first="low", second="rise").expectation
    session.change(learners=["cit"])
    assert "has no detector" in session.begin_drift("swap", first="low", second="rise").expectation
    fresh, _ = taught()
    early = fresh.begin_drift("swap", first="low", second="rise")
    assert "judge 12 more answers" in early.expectation and early.between is None


def test_words_that_change_places_are_said_for_each_other():
    session, _ = taught()
    assert [spoken_for(session, word) for word in session.words] == ["low", "rise", "fall"]
    session.begin_drift("swap", first="low", second="fall")
    assert [spoken_for(session, word) for word in session.words] == ["fall", "rise", "low"]
    session.begin_drift("end")
    session.begin_drift("rotate", first="low", second="rise", third="fall")
    assert [spoken_for(session, word) for word in session.words] == ["rise", "fall", "low"]
    opened = LiveSession.open(session.save())
    assert opened.events == session.events and spoken_for(opened, "low") == "rise"
    session.remove_word("rise")
    assert [spoken_for(session, word) for word in session.words] == ["low", "fall"]


def test_after_a_swap_active_and_hybrid_alarm():
    session, rng = taught(each=5)
    words = [session.words[i % 3] for i in range(45)]
    run(session, rng, words[:15])
    session.begin_drift("swap", first="low", second="rise")
    run(session, rng, [spoken_for(session, word) for word in words[15:]], words[15:])
    for name in ("active", "hybrid"):
        assert min(session.curves()[name].alarms) < 15 + 25


BAD_DRIFTS = [
    ("x", {}),
    ("class-change", {"old": "low"}),
    ("class-change", {"old": "no", "new": "a"}),
    ("class-change", {"old": "low", "new": "low"}),
    ("swap", {"first": "low", "second": "low"}),
    ("swap", {"first": "low", "second": "no"}),
    ("rotate", {"first": "low", "second": "rise", "third": "low"}),
    ("rotate", {"first": "low", "second": "rise"}),
    ("fault", {"effect": "blur"}),
    ("fault", {"effect": "echo", "strength": 2}),
    ("new-word", {"word": "low"}),
    ("cover", {"x": 1}),
]


@pytest.mark.parametrize("wrong", BAD_DRIFTS)
def test_drifts_that_make_no_sense_are_refused_and_leave_no_trace(wrong):
    session, _ = taught()
    before = session.save()
    with pytest.raises((ConfigError, DataError)):
        session.begin_drift(wrong[0], **wrong[1])
    assert session.save() == before


def test_a_fault_is_applied_to_later_takes_until_it_ends():
    session, rng = taught()
    sounds = [hum("rise", rng) for _ in range(3)]
    clean = session.say(open_take((sounds[0], RATE)))
    guide = session.begin_drift("fault", effect="white noise", strength=0.5)
    assert "of 9 correct" in guide.expectation
    faulty = session.say(open_take((sounds[1], RATE)))
    assert any("white noise" in remark for remark in faulty.take.remarks)
    noise = faulty.take.samples / np.abs(faulty.take.samples).max()
    assert np.std(noise[:1_000]) > 10 * np.std(clean.take.samples[:1_000])
    session.begin_drift("end")
    again = session.say(open_take((sounds[2], RATE)))
    assert again.take.remarks == ()


def test_every_fault_at_full_strength_still_gives_an_answer():
    session, rng = taught()
    for effect in FAULTS:
        session.begin_drift("fault", effect=effect)
        session.judge(session.say(take_of("rise", rng)).id, "rise")
    assert len(session.curves()["cit"].answers) == len(FAULTS)


def test_a_new_word_is_learned_from_its_first_judgement():
    session, rng = taught()
    run(session, rng, ["low", "rise"])
    session.begin_drift("new-word", word="high")
    outcomes = run(session, rng, ["high"] * 3)
    assert [o.verdicts["cit"].right for o in outcomes] == [False, True, True]


# -- files ---------------------------------------------------------------------------------------


def test_an_opened_session_is_the_saved_one(drifted):
    session, _ = drifted
    data = session.save()
    again = LiveSession.open(data)
    assert again.save() == data
    assert again.words == session.words and again.events == session.events
    for name, curve in session.curves().items():
        other = again.curves()[name]
        assert np.array_equal(curve.accuracy, other.accuracy)
        assert np.array_equal(curve.statistic, other.statistic, equal_nan=True)
        assert (curve.alarms, curve.change_points, curve.answers) == (other.alarms, other.change_points, other.answers)
    sound = hum("fall", np.random.default_rng(99))
    one, two = (s.say(open_take((sound, RATE))) for s in (LiveSession.open(data), again))
    assert one.ballots == two.ballots


def rezipped(data: bytes, change) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    change(files)
    with zipfile.ZipFile(out := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def edited(data: bytes, change) -> bytes:
    """A log edited with the digest updated."""
    from hashlib import sha256

    def both(files):
        log = json.loads(files["session.json"])
        change(log)
        files["session.json"] = json.dumps(log).encode()
        files["session.sha256"] = sha256(files["session.json"]).hexdigest().encode()

    return rezipped(data, both)


def added(data: bytes, **event) -> bytes:
    return edited(data, lambda log: log["events"].append(event))


def misspelt(files: dict[str, bytes]) -> None:
    files["session.json"] = files["session.json"].replace(b"low", b"lox")


DAMAGE = {
    "empty": lambda d: b"",
    "text": lambda d: b"hello",
    "cut": lambda d: d[: len(d) // 2],
    "cut a little": lambda d: d[:-10],
    "another zip": lambda d: rezipped(d, lambda f: f.pop("session.json")),
    "a byte of the log": lambda d: rezipped(d, misspelt),
    "a take gone": lambda d: rezipped(d, lambda f: f.pop("takes/t1.wav")),
    "a take too many": lambda d: rezipped(d, lambda f: f.update({"takes/t999.wav": f["takes/t1.wav"]})),
    "takes swapped": lambda d: rezipped(d, lambda f: f.update({"takes/t1.wav": f["takes/t2.wav"]})),
    "a bomb": lambda d: rezipped(d, lambda f: f.update({"takes/t1.wav": bytes(50_000_000)})),
    "a bomb of a log": lambda d: rezipped(d, lambda f: f.update({"session.json": b" " * 50_000_000})),
    "another version": lambda d: edited(d, lambda log: log.update(version=2)),
    "words of no session": lambda d: edited(d, lambda log: log.update(words=["low"])),
    "a path for a take": lambda d: edited(d, lambda log: log["takes"].update({"../x": log["takes"].pop("t1")})),
    "an unknown word": lambda d: edited(d, lambda log: log["events"][0].update(word="nobody")),
    "an unknown event": lambda d: added(d, do="exec", word="low"),
    "judged before said": lambda d: added(d, do="judge", take="t1", word="low"),
    "a fault of nobody": lambda d: added(d, do="drift", kind="fault", effect="x", strength=1),
    "too strong": lambda d: added(d, do="drift", kind="fault", effect="echo", strength=9),
    "no lessons": lambda d: edited(d, lambda log: log.update(events=[e for e in log["events"] if e["do"] != "teach"])),
    "absurd settings": lambda d: edited(d, lambda log: log["settings"].update(batch=-1)),
    "new settings": lambda d: edited(d, lambda log: log["settings"].update(evil=1)),
    "an extractor of nobody": lambda d: edited(d, lambda log: log.update(extractor="os.system")),
    "no list": lambda d: edited(d, lambda log: log.update(events={"a": 1})),
    "a list of numbers": lambda d: edited(d, lambda log: log.update(events=[1, 2])),
    "a span outside": lambda d: edited(d, lambda log: log["takes"]["t1"].update(stop=1e9)),
    "a span that is nothing": lambda d: edited(d, lambda log: log["takes"]["t1"].update(start=None)),
}  # fmt: skip


@pytest.mark.parametrize("what", DAMAGE)
def test_damaged_files_are_refused_in_one_sentence(drifted, what):
    with pytest.raises(DataError) as caught:
        LiveSession.open(DAMAGE[what](drifted[0].save()))
    assert "\n" not in str(caught.value)


def test_the_wav_folder_is_read_back_by_the_folder_source(tmp_path):
    session, rng = taught(("low", "rise"))
    session._name("a/b: <x>")
    for _ in range(2):
        session.teach("a/b: <x>", take_of("high", rng))
    run(session, rng, ["low"])
    source = FolderSource(extract_upload(session.wav_folder(), tmp_path / "clips"))
    assert source.kind == "audio"
    assert {label: source.count(label) for label in source.classes} == {"low": 4, "rise": 3, "a-b- -x-": 2}
    for label in source.classes:
        for i in range(source.count(label)):
            path = source.file(label, i)
            assert open_take(path).digest == session.takes[path.stem].digest
    with pytest.raises(DataError, match="no takes yet"):
        LiveSession(["a", "b"]).wav_folder()


# -- to look at ----------------------------------------------------------------------------------


def test_the_figure_marks_drift_alarm_and_change_point(drifted):
    session, _ = drifted
    curves = session.curves()
    figure = live_figure(curves)
    lines = {trace.name: trace for trace in figure.data if trace.showlegend is not False}
    assert set(lines) == {"CIT", "Active", "Hybrid"}
    assert np.allclose(lines["Active"].y, curves["active"].accuracy)
    marks = {trace.name: trace.x[0] for trace in figure.data if trace.mode == "markers"}
    assert marks["alarm of Active"] == curves["active"].alarms[-1] + 1
    assert any(shape.x0 == 30.5 for shape in figure.layout.shapes)
    assert f"alarm at answer {curves['active'].alarms[0] + 1}" in curves_in_words(curves)
    assert live_figure({}).data == ()
    assert "No answer" in curves_in_words({})
    picture = thumbnail(session.takes["t1"])
    assert picture.dtype == np.uint8 and picture.ndim == 3 and picture.std() > 10


def test_the_first_take_imports_nothing_after_the_warm_up():
    script = """
import sys
import numpy as np
from tmlcd_core.live import LiveSession, warm_up
warm_up()
warm = set(sys.modules)
from tmlcd_core.features.voice import open_take
time = np.arange(16_000) / 16_000
def word(pitch):
    hum = sum(np.sin(2 * np.pi * pitch * k * time) / k for k in range(1, 9))
    return (0.1 * hum * ((time > 0.3) & (time < 0.7))).astype(np.float32), 16_000
session = LiveSession(("low", "high"))
for pitch in (110, 113, 220, 226):
    session.teach("low" if pitch < 200 else "high", open_take(word(pitch)))
session.judge(session.say(open_take(word(116))).id, "low")
print(*sorted(set(sys.modules) - warm))
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


# -- to the STM32 --------------------------------------------------------------------------------


def test_leave_one_out_is_that_of_scikit_learn():
    from sklearn.model_selection import LeaveOneOut, cross_val_score
    from sklearn.neighbors import KNeighborsClassifier

    rng = np.random.default_rng(0)
    y = np.arange(40) % 3
    X = (rng.normal(size=(40, 5)) + y[:, None]).astype(np.float32)
    theirs = cross_val_score(KNeighborsClassifier(1), X, y, cv=LeaveOneOut()).mean()
    assert np.mean(leave_one_out(X, y) == y) == pytest.approx(theirs)


def write_clip(path, clip, rate):
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(np.round(clip * 32_767).astype("<i2").tobytes())


def test_the_exported_project_answers_as_python_does(drifted, tmp_path, capsys):
    session, _ = drifted
    (tmp_path / "session.zip").write_bytes(session.save())
    arguments = ["export", "--board", "stm32f401", "--model", str(tmp_path / "session.zip"), "--sample-rate", "4410",
                 "--front-end", "clip"]  # fmt: skip
    assert main([*arguments, "--out", str(tmp_path / "project"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["classes"] == ["fall", "low", "rise"]
    assert 0.5 < found["accuracy_board"] <= 1 and 0.9 < found["accuracy_page"] <= 1
    assert "paper's filter" in found["remark"]
    assert sum(found["samples_per_class"].values()) == found["stored"]
    make(tmp_path / "project", "check")
    project = session_project(session, "stm32f401", "hybrid", "clip", sample_rate=4_410)
    assert project.stored == found["stored"]
    takes = list(session.labels())
    extractor = Extractor.at_rate(4_410)
    settings = session.settings
    X = extractor.transform(np.stack([aligned(session.takes[t], 4_410) for t in takes]))
    model = session.through(dict(zip(takes, X, strict=True)), ["hybrid"], settings).model("hybrid")
    for take in takes[:6] + takes[-6:]:
        clip = np.round(aligned(session.takes[take], 4_410) * 32_767) / 32_768
        write_clip(tmp_path / "clip.wav", aligned(session.takes[take], 4_410), 4_410)
        done = subprocess.run(
            [str(tmp_path / "project" / "tmlcd-host"), str(tmp_path / "clip.wav")],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        expected = model.predict(extractor.transform(clip[None].astype(np.float32)))[0]
        assert done.stdout.split()[2] == expected


def test_the_exported_test_alarms_with_the_sessions_settings(tmp_path):
    """Labels swap: the device's Active alarms as Python's does, its margin and likelihood included."""
    session, rng = taught(each=2)
    project = session_project(session, "stm32h743", "active", "clip", sample_rate=4_410, store="float32")
    make(project.firmware.write(tmp_path / "c"), "host")
    said = [session.words[i % 3] for i in range(40)]
    truth = [w if i < 16 or w == "rise" else {"low": "fall", "fall": "low"}[w] for i, w in enumerate(said)]
    clips = [aligned(take_of(word, rng), 4_410) for word in said]
    for i, clip in enumerate(clips):
        write_clip(tmp_path / f"{i}.wav", clip, 4_410)
    done = subprocess.run(
        [str(tmp_path / "c" / "tmlcd-host"), *(f"{tmp_path / f'{i}.wav'}={w}" for i, w in enumerate(truth))],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    extractor = Extractor.at_rate(4_410)
    X0 = extractor.transform(np.stack([aligned(session.takes[t], 4_410) for t in session.labels()]))
    model = session.settings.learner("active").fit(X0, list(session.labels().values()))
    heard = np.stack([np.round(clip * 32_767) / 32_768 for clip in clips]).astype(np.float32)
    device = KeepingLearner(model, session.settings.warmup)
    found = [
        (device.observe(x, w), len(model), model.alarm_) for x, w in zip(extractor.transform(heard), truth, strict=True)
    ]
    alarms = {i: alarm.change_time - 1 for i, (*_, alarm) in enumerate(found) if alarm}
    assert alarms
    lines = [line.split(".wav: ")[1].split() for line in done.stdout.splitlines()]
    assert [(line[1], int(line[2])) for line in lines] == [(word, size) for word, size, _ in found]
    assert {i: int(line[4]) - 1 for i, line in enumerate(lines) if "alarm" in line} == alarms


@pytest.mark.parametrize("learner", ["cit", "active", "hybrid"])
def test_every_learner_of_a_session_fits_the_smallest_board(drifted, learner, tmp_path):
    project = session_project(drifted[0], "stm32f401", learner)
    assert project.firmware.budget.fits(project.firmware.board)
    with zipfile.ZipFile(io.BytesIO(project.zip())) as archive:
        assert archive.testzip() is None
        archive.extractall(tmp_path)
    make(tmp_path / "tmlcd-firmware", "check")


def test_a_word_that_was_forgotten_is_told_and_the_project_written():
    session, rng = taught(each=2)
    words = ["low", "rise"] * 8 + ["rise", "low"] * 12
    run(session, rng, words, ["low", "rise"] * 20)  # from the 17th on the two have changed places
    project = session_project(session, "stm32h743", "hybrid", "clip", sample_rate=4_410)
    assert project.firmware.samples_per_class["fall"] == 0
    assert "no “fall” (forgotten, or not met yet" in project.remark


def test_a_session_that_cannot_be_exported_says_why(tmp_path, capsys):
    with pytest.raises(DataError, match="no take yet"):
        session_project(LiveSession(["a", "b"]))
    (tmp_path / "bad").write_bytes(b"hello")
    for path, sentence in ((tmp_path / "bad", "not a session file"), (tmp_path / "nowhere", "cannot be read")):
        assert main(["export", "--model", str(path), "--out", str(tmp_path / "out")]) == 2
        assert sentence in capsys.readouterr().err
