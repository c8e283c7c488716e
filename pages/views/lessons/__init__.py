"""Guided lessons in the order of the page Lessons: one file each.

A text contains no number: numbers come from the settings or from `measure`, which computes them from the run.
tests/pages/test_lessons.py computes each of them again.
"""

from pages.views.lessons import (
    chip,
    equal_bytes,
    forgetting,
    late_labels,
    noise,
    passive_active,
    price_of_memory,
    threshold,
    two_networks,
)
from pages.views.lessons.lesson import Lesson

MODULES = (passive_active, price_of_memory, threshold, noise, forgetting, equal_bytes, late_labels, chip, two_networks)
LESSONS = tuple(one.LESSON for one in MODULES)
BY_NAME = {lesson.name: lesson for lesson in LESSONS}
OLD_TITLES = {lesson.old_title or lesson.title: lesson.name for lesson in LESSONS}  # in addresses of earlier versions


def lesson_of(named: str) -> Lesson | None:
    """Return the lesson of this name or earlier title; None if there is none."""
    return BY_NAME.get(OLD_TITLES.get(named, named))
