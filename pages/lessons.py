"""Lessons: five minutes each, with a page opened ready, a question, and the answer when asked for."""

import streamlit as st

from pages.shell.url_widgets import checked
from pages.views.lessons import LESSONS, Lesson
from tmlcd_core.glossary import markdown_table

TITLES = tuple(lesson.title for lesson in LESSONS)


def guide(lesson: Lesson) -> None:
    """What to open and to watch, the question, what to change, and the answer."""
    st.markdown(f"*{lesson.told(lesson.about)}*")
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader("Watch", anchor=False)
        st.link_button("Open it", lesson.first_link, icon=":material/open_in_new:")
        st.markdown("\n".join(f"1. {lesson.told(line)}" for line in lesson.watch))
        st.subheader("Question", anchor=False)
        st.markdown(f"**{lesson.told(lesson.question)}**")
    with right:
        st.subheader("Change", anchor=False)
        st.link_button("Open it changed", lesson.second_link, icon=":material/open_in_new:")
        st.markdown(lesson.told(lesson.change))
        st.subheader("Answer", anchor=False)
        with st.expander("Show it", icon=":material/lightbulb:", key=f"answer {lesson.title}"):
            st.markdown(lesson.told(lesson.answer))


st.title("Lessons")
chosen = checked(st.segmented_control, "Five minutes each", TITLES, default=TITLES[0], required=True, key="lesson")
guide(LESSONS[TITLES.index(chosen)])
with st.expander("Glossary", icon=":material/menu_book:"):
    st.markdown(markdown_table())
st.caption(
    "The buttons open a page in a new tab, set for the lesson, with the question above it. For a lesson of your own "
    "set the Drift lab, Inside CUSUM or STM32 as you like and open “Make a lesson of these settings” at its end."
)
