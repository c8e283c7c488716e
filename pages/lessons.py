"""Lessons page: guided lessons of five minutes, each with links, a question and a hidden answer."""

import streamlit as st

from pages.shell.url_widgets import checked
from pages.views.lessons import LESSONS, Lesson
from tmlcd_core.glossary import markdown_table

TITLES = tuple(lesson.title for lesson in LESSONS)


def guide(lesson: Lesson) -> None:
    """Show a lesson: experiment, what to watch, question, variation and answer."""
    st.markdown(f"*{lesson.with_facts(lesson.about)}*")
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader("Watch", anchor=False)
        st.link_button("Start experiment", lesson.first_link, icon=":material/open_in_new:")
        st.markdown("\n".join(f"1. {lesson.with_facts(line)}" for line in lesson.watch))
        st.subheader("Question", anchor=False)
        st.markdown(f"**{lesson.with_facts(lesson.question)}**")
    with right:
        st.subheader("Change", anchor=False)
        st.link_button("Start variation", lesson.second_link, icon=":material/open_in_new:")
        st.markdown(lesson.with_facts(lesson.change))
        st.subheader("Answer", anchor=False)
        with st.expander("Show answer", icon=":material/lightbulb:", key=f"answer {lesson.title}"):
            st.markdown(lesson.with_facts(lesson.answer))


st.title("Lessons")
chosen = checked(st.segmented_control, "Five minutes each", TITLES, default=TITLES[0], required=True, key="lesson")
guide(LESSONS[TITLES.index(chosen)])
with st.expander("Glossary", icon=":material/menu_book:"):
    st.markdown(markdown_table())
st.caption(
    "Each button opens a page in a new tab with the settings of the lesson and the question above it. To make your own "
    "lesson, choose settings in Drift lab, Inside CUSUM or STM32 and open “Make a lesson of these settings” at the end "
    "of that page."
)
