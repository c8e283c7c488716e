"""Panel of a lesson above the page: read, predict, watch, check, explanation, next."""

import html
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import streamlit as st

from pages.classroom import ADDRESSES
from pages.shell.computation import visitor
from pages.shell.presenter import PRESENTER
from pages.shell.url_widgets import as_text, faults_as_messages
from pages.shell.visitor import is_local_visitor
from pages.views.lessons import LESSONS, lesson_of
from pages.views.lessons.lesson import UNSURE, Found, Lesson
from pages.views.lessons.own import TASK, Task, banner, unpacked
from pages.views.lessons.own import measured as own_measured
from pages.views.lessons.predictions import PREDICTIONS, Prediction

REFRESH = 2.0  # s between two counts of the class
STEPS = ("Predict", "Watch", "Check")


@dataclass(frozen=True)
class Sheet:
    """Content of the panel, in Markdown: a part of a lesson, or a teacher's task.

    `measure` returns what the run says (None: no right answer), `explain` the explanation; `onwards` are links to what
    comes next.
    """

    key: str
    title: str
    read: str
    question: str
    options: Mapping[str, str]
    watch: tuple[str, ...]
    measure: Callable[[], Found | None]
    explain: Callable[[Found | None], str]
    onwards: Mapping[str, str]


def lesson_panel(page: str) -> bool:
    """Draw the lesson of the address, if any; return False while it waits for a prediction: then hide the page."""
    sheet = sheet_of(page)
    if sheet is None:
        banner()
        return True
    mine = PREDICTIONS.of(visitor()).get(sheet.key)
    with st.container(border=True, key="lesson"):
        step = 0 if mine is None else 2 if mine.checked else 1
        names = [f"**{name}**" if i == step else name for i, name in enumerate(STEPS)]
        st.markdown(f"{sheet.title}  \n{' → '.join(names)}")
        if mine is None:
            predict(sheet)
        else:
            watch_and_check(sheet, mine)
        class_counts(sheet)
    if mine is None:
        st.caption("The page appears after your prediction.")
    return mine is not None


def sheet_of(page: str) -> Sheet | None:
    """Return the sheet of the address; None if it names no lesson of this page."""
    lesson = lesson_of(st.query_params.get("lesson", ""))
    if lesson is not None:
        step = st.query_params.get("step", "1")
        number = min(int(step[:2]), len(lesson.parts)) if step.isdecimal() and int(step[:2]) else 1
        return guided(lesson, number) if lesson.parts[number - 1].page == page else None
    task = unpacked(st.query_params.get(TASK, ""))
    return custom(task, page) if task is not None else None


def guided(lesson: Lesson, number: int) -> Sheet:
    """Return the sheet of a part of a lesson; parts count from 1."""
    part = lesson.parts[number - 1]
    onwards = {}
    if number < len(lesson.parts):
        onwards["Next question"] = lesson.link(number + 1)
    elif (after := LESSONS.index(lesson) + 1) < len(LESSONS):
        onwards[f"Next lesson: {LESSONS[after].title}"] = LESSONS[after].link()
    onwards["All lessons"] = "lessons"
    return Sheet(
        lesson.key(number),
        f"**{lesson.title}** · question {number} of {len(lesson.parts)}",
        part.text(part.read),
        part.text(part.question),
        {name: part.text(text) for name, text in part.options.items()},
        part.watch,
        lambda: measured(lesson.name, number),
        lambda found: part.text(part.explain, found.facts if found else None),
        onwards,
    )


@st.cache_resource(max_entries=64, show_spinner="Reading the run …")
def measured(name: str, number: int) -> Found:
    """Return what the run of a lesson's part says."""
    lesson = lesson_of(name)
    assert lesson is not None
    part = lesson.parts[number - 1]
    return part.measure(part.settings)


def custom(task: Task, page: str) -> Sheet | None:
    """Return the sheet of a teacher's task; None without options, after showing title and question."""
    asked = {key: st.query_params.get_all(key) for key in st.query_params if key != TASK}
    options = {str(i): as_text(text) for i, text in enumerate(task.options)}
    if task.metric and page == "drift-lab":
        from pages.views.drift_lab.linked import linked_experiment
        from tmlcd_core.viz.palette import styles

        with faults_as_messages():
            options = {name: look.name for name, look in styles(linked_experiment(asked).learner_names).items()}
    if len(options) < 2:
        with st.container(key="banner", horizontal=True, gap="small"):
            for text in filter(None, (task.title, task.question)):
                st.text(text, width="content")
        return None
    return Sheet(
        task.key,
        f"**{as_text(task.title)}**" if task.title else "**A lesson of your teacher**",
        "",
        as_text(task.question),
        options,
        (),
        lambda: own_measured(task, asked),
        lambda found: as_text(task.explanation),
        {"All lessons": "lessons"},
    )


def predict(sheet: Sheet) -> None:
    """Draw the text, the question, and a button for each option."""
    if sheet.read:
        st.markdown(sheet.read)
    st.markdown(f"**{sheet.question}**")
    with st.container(horizontal=True, gap="small", key="options"):
        for name, text in sheet.options.items():
            st.button(text, key=f"predict {name}", on_click=PREDICTIONS.predict, args=(visitor(), sheet.key, name))
        st.button(
            "I do not know", key=f"predict {UNSURE}", type="tertiary",
            on_click=PREDICTIONS.predict, args=(visitor(), sheet.key, UNSURE),
        )  # fmt: skip


def watch_and_check(sheet: Sheet, mine: Prediction) -> None:
    """Draw the prediction, what to watch and the button Check; after it, what the run says and the explanation."""
    said = sheet.options.get(mine.option)
    st.markdown(f"**{sheet.question}** " + (f"You predicted: {said}." if said else "You did not predict."))
    if not mine.checked:
        if sheet.watch:
            st.markdown("\n".join(f"- {line}" for line in sheet.watch))
        st.button("Check", key="check", type="primary", icon=":material/fact_check:", on_click=check, args=(sheet,))
        return
    with faults_as_messages():
        found = sheet.measure()
        verdict(sheet, mine, found)
        st.markdown(sheet.explain(found))
    links = "".join(
        f'<a class="lesson-link" href="{html.escape(with_presenter(address))}">{html.escape(text)}</a>'
        for text, address in sheet.onwards.items()
    )
    st.html(links)


def check(sheet: Sheet) -> None:
    """Compare the prediction with the run and remember the result."""
    mine = PREDICTIONS.of(visitor()).get(sheet.key)
    if mine is None:
        return
    with faults_as_messages():
        found = sheet.measure()
        known = found is not None and mine.option != UNSURE
        PREDICTIONS.check(visitor(), sheet.key, mine.option == found.answer if known and found else None)


def verdict(sheet: Sheet, mine: Prediction, found: Found | None) -> None:
    """Show whether the prediction was right, and the value of each option in the run."""
    if found is None:
        st.info("This question has no single right answer: compare your prediction with the run.")
        return
    values = [f"{sheet.options[name]}: {value}" for name, value in found.values.items() if name in sheet.options]
    source = "In this run" if found.values or found.facts else "The right answer"
    told = f"{source}: **{sheet.options.get(found.answer, found.answer)}**."
    lines = told + ("  \n" + " · ".join(values) if values else "")
    if mine.option == found.answer:
        st.success(f"You were right. {lines}", icon=":material/check_circle:")
    elif mine.option == UNSURE:
        st.info(lines, icon=":material/fact_check:")
    else:
        st.warning(
            f"{'The run says something else' if found.facts or found.values else 'Not this one'}. {lines}",
            icon=":material/fact_check:",
        )


def with_presenter(address: str) -> str:
    """Return an address that keeps the presenter's view."""
    if not st.session_state.get(PRESENTER):
        return address
    return f"{address}{'&' if '?' in address else '?'}{PRESENTER}=true"


def is_teacher() -> bool:
    """True in a classroom (`make classroom`) for the browser on the server's machine."""
    return bool(os.environ.get(ADDRESSES)) and is_local_visitor()


def class_counts(sheet: Sheet) -> None:
    """Draw the teacher's switch and, if it is on, how the class predicted."""
    if is_teacher() and st.toggle("Show how the class predicted", key="class", help="Only you see this switch."):
        st.fragment(counted, run_every=REFRESH)(sheet.key, dict(sheet.options))


def counted(key: str, options: dict[str, str]) -> None:
    """Draw the number of predictions of each option, without names and without the teacher's own."""
    counts = PREDICTIONS.counts(key, without=visitor())
    total = sum(counts.values())
    st.markdown(f"{total} prediction{'s' * (total != 1)} so far")
    for name, text in (options | {UNSURE: "I do not know"}).items():
        st.progress(counts[name] / max(total, 1), text=f"{text}: {counts[name]}")
