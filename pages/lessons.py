"""Lessons page: all guided lessons with the visitor's progress, the glossary, and how to make a lesson."""

import html

import streamlit as st

from pages.shell.computation import visitor
from pages.views.lessons import LESSONS, lesson_of
from pages.views.lessons.lesson import Lesson
from pages.views.lessons.panel import with_presenter
from pages.views.lessons.predictions import PREDICTIONS, Prediction
from tmlcd_core.glossary import markdown_table

COLUMNS = 2


def card(lesson: Lesson, mine: dict[str, Prediction]) -> None:
    """Show a lesson with the visitor's progress and a link to its next open question."""
    keys = [lesson.key(i + 1) for i in range(len(lesson.parts))]
    checked = [key for key in keys if key in mine and mine[key].checked]
    with st.container(border=True, height="stretch"):
        st.markdown(f"**{LESSONS.index(lesson) + 1} · {lesson.title}**  \n{lesson.about}")
        begun = any(key in mine for key in keys)
        first = next((i + 1 for i, key in enumerate(keys) if key not in checked), 1)
        text = "Look again" if len(checked) == len(keys) else "Continue" if begun else "Start"
        marks = [
            "✓ right" if mine[key].right else "✗ not right" if mine[key].right is False else "checked"
            for key in checked
        ]
        done = f"{len(checked)} of {len(keys)} questions" + (f" ({', '.join(marks)})" if marks else "")
        name = f"{text}: {lesson.title}"
        st.html(
            f'<a class="lesson-link" href="{html.escape(with_presenter(lesson.link(first)))}" '
            f'aria-label="{html.escape(name)}">{text}</a> <span class="lesson-done">{done}</span>'
        )


st.title("Lessons")
st.markdown(
    "Five minutes each. Every lesson opens the page it is about: read, **predict**, watch the run, and **check** your "
    "prediction against it."
)
mine = PREDICTIONS.of(visitor())
keys = [lesson.key(i + 1) for lesson in LESSONS for i in range(len(lesson.parts))]
checked = [mine[key] for key in keys if key in mine and mine[key].checked]
right = sum(bool(one.right) for one in checked)
st.progress(len(checked) / len(keys), text=f"{len(checked)} of {len(keys)} questions checked, {right} predicted right")
named = lesson_of(st.query_params.get("lesson", ""))  # links of earlier versions name a lesson
ordered = sorted(LESSONS, key=lambda lesson: lesson is not named)
for start in range(0, len(ordered), COLUMNS):
    for cell, lesson in zip(st.columns(COLUMNS), ordered[start : start + COLUMNS], strict=False):
        with cell:
            card(lesson, mine)
if mine:
    st.button(
        "Forget my predictions", icon=":material/restart_alt:", on_click=PREDICTIONS.forget, args=(visitor(),),
        help="Predictions are kept in the memory of this server, without a name.",
    )  # fmt: skip
with st.expander("Glossary", icon=":material/menu_book:"):
    st.markdown(markdown_table())
st.caption(
    "To make your own lesson, choose settings in Drift lab, Inside CUSUM or STM32 and open “Make a lesson of these "
    "settings” at the end of that page. In a classroom (`make classroom`), the teacher sees how the class predicted."
)
