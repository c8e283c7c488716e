"""A class at once: 30 phones with a learner each, results without names, and no recording in the class."""

import re
import shutil
import threading
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from pages.classroom.voice_class import KEPT, LETTERS, MOST_CLASSES, MOST_PHONES, PhoneResult, VoiceClass, VoiceClasses
from tests.support.hummed_words import take_of
from tmlcd_core.errors import ConfigError
from tmlcd_core.features.voice import Take
from tmlcd_core.live import LiveSession

WORDS = ("low", "rise", "fall")
PHONES = 30


def phone(lesson: VoiceClass, number: int, judged: list[int], alarmed: list[bool], meet: threading.Barrier) -> None:
    """A student: teaches each word once, answers, and follows the teacher's swap; reports after each answer."""
    rng = np.random.default_rng(number)
    session = LiveSession(lesson.words, learners=("hybrid",), seed=number)
    for word in session.words:
        session.teach(word, take_of(word, rng))
    began = None
    for turn in range(34):
        if turn == 14:
            meet.wait()  # the teacher swaps between the two
            meet.wait()
        word = session.words[turn % 3]
        truth = word
        if lesson.swapped is not None:
            if began is None:
                first, second = lesson.swapped
                session.begin_drift("swap", first=first, second=second)
                began = session.judged
            truth = {first: second, second: first}.get(word, word)
        session.judge(session.say(take_of(word, rng)).id, truth)
        curve = session.curves()["hybrid"]
        fired = began is not None and any(at >= began for at in curve.alarms)
        lesson.report(f"phone {number}", PhoneResult(session.judged, float(curve.accuracy[-1]), fired))
    judged[number], alarmed[number] = session.judged, fired


def parts(thing: Any) -> list[Any]:
    """Everything that an object holds, at any depth."""
    inside = list(thing.values()) if isinstance(thing, dict) else list(thing) if isinstance(thing, tuple | list) else []
    inside += list(vars(thing).values()) if hasattr(thing, "__dict__") else []
    return [thing, *(part for one in inside for part in parts(one))]


def test_thirty_phones_at_once_are_counted_and_nobody_gets_a_recording():
    classes = VoiceClasses()
    lesson = classes.open(WORDS)
    meet = threading.Barrier(PHONES + 1)
    judged, alarmed = [0] * PHONES, [False] * PHONES
    phones = [threading.Thread(target=phone, args=(lesson, i, judged, alarmed, meet)) for i in range(PHONES)]
    for one in phones:
        one.start()
    meet.wait()
    before = lesson.summary()
    lesson.swap("low", "rise")
    meet.wait()
    for one in phones:
        one.join()
    after = lesson.summary()
    assert len(before.phones) == len(after.phones) == PHONES
    assert before.alarms == 0 and before.accuracy > 0.9
    assert after.answers == sum(judged) == PHONES * 34
    assert after.alarms == sum(alarmed) >= 0.9 * PHONES
    kept = parts(lesson)
    assert not any(isinstance(part, Take | np.ndarray | bytes | LiveSession) for part in kept)
    assert all({*asdict(result)} == {"judged", "accuracy", "alarmed"} for result in after.phones), "numbers only"
    lesson.end()
    assert lesson.summary().alarms == 0 and lesson.summary().swapped is None


def test_a_code_is_easy_to_type_and_a_class_is_led_by_its_key_only():
    classes = VoiceClasses()
    one, two = classes.open(WORDS), classes.open(WORDS)
    assert one.code != two.code and set(one.code + two.code) <= set(LETTERS)
    assert classes.find(f" {one.code.lower()} ") is one
    assert classes.led_by(one.key) is one and classes.led_by(one.code) is None and classes.led_by("") is None
    for first, second in (("low", "low"), ("low", "other")):
        with pytest.raises(ConfigError, match="two different words"):
            one.swap(first, second)
    classes.close(one)
    assert classes.find(one.code) is None and classes.find(two.code) is two


def test_classes_and_phones_are_limited_and_old_classes_go():
    now = [0.0]
    classes = VoiceClasses(lambda: now[0])
    lesson = classes.open(WORDS)
    for number in range(MOST_PHONES):
        lesson.report(str(number), PhoneResult())
    with pytest.raises(ConfigError, match="already"):
        lesson.report("one more", PhoneResult())
    lesson.leave("0")
    lesson.report("one more", PhoneResult(3, 1.0))
    lesson.used = 0.0
    for _ in range(MOST_CLASSES - 1):
        classes.open(WORDS)
    with pytest.raises(ConfigError, match="classes already"):
        classes.open(WORDS)
    now[0] = KEPT + 1
    assert classes.open(WORDS) and classes.find(lesson.code) is None


@pytest.mark.browser
@pytest.mark.skipif(shutil.which("chromium") is None, reason="*** NO CHROMIUM ***")
def test_teacher_and_student_in_two_browsers():
    from tests.pages.test_app_browser import WAIT, settle
    from tests.pages.test_microphone_browser import others, ready
    from tests.support.appserver import chromium, serve

    with serve() as address, chromium() as running:
        teacher = running.new_context(viewport={"width": 1440, "height": 900}).new_page()
        student = running.new_context(viewport={"width": 390, "height": 844}).new_page()
        for page in (teacher, student):
            page.set_default_timeout(WAIT)
        teacher.goto(f"{address}/microphone")
        settle(teacher)
        teacher.get_by_text("Class", exact=True).click()
        teacher.get_by_role("button", name="Start a class").click()
        code = teacher.get_by_role("heading", name=re.compile("^[A-Z]{5}$")).inner_text()
        assert "lead=" in teacher.url
        teacher.get_by_role("img", name=re.compile(f"QR code of .*class={code}")).wait_for()

        student.goto(f"{address}/microphone?class={code}")
        settle(student)
        student.wait_for_selector(".recorder")
        teacher.locator(".phone").first.wait_for()
        others(student)
        ready(student, "3 of each word", "Every word has enough takes")
        student.get_by_role("button", name="Say words").click()
        others(student)
        ready(student, "10 random words", "more words (warm-up)")
        ready(student, "10 random words", "change something")
        teacher.locator(".phone", has_text="20 answers").wait_for()
        teacher.get_by_role("button", name="Now everybody swaps").click()
        student.get_by_text("Two words swap").first.wait_for()  # without touching the phone
        settle(student)
        for _ in range(3):
            others(student)
            student.get_by_role("button", name="10 random words").click()
            settle(student)
        teacher.locator(".phone.alarm").wait_for()
        assert teacher.locator("audio").count() == teacher.locator(".gallery").count() == 0
        student.reload()
        settle(student)
        student.wait_for_selector(".recorder")
        assert teacher.locator(".phone").count() == 1, "the same phone after a reload"
        teacher.get_by_role("button", name="Close the class").click()
        teacher.wait_for_selector(".recorder")
