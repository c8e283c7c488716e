"""Custom lesson: a question with options in the address, with the settings of the page."""

import base64
import binascii
import json
import zlib
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from pages.views.lessons.lesson import Found, Settings

LIMITS = {"title": 80, "question": 300}  # characters; also applied when a link is opened, since anyone can write one
LONGEST_EXPLANATION, LONGEST_OPTION, MOST_OPTIONS = 600, 80, 6
LONGEST_TASK = 8000  # bytes of a task as JSON
TASK = "task"  # parameter of the address; packed, so that the answer is not read in passing
RUN_DECIDES, NO_CHECK = "The run decides", "No check"
# Metric of the Drift lab by which the run decides -> its name on the page.
METRICS = {
    "accuracy": "accuracy",
    "accuracy_after": "accuracy after the change",
    "recovery": "samples until recovered",
    "alarms": "alarms",
    "delay": "samples until the alarm",
    "final_size": "|T| at the end",
    "mean_bytes": "bytes, mean over time",
}
ENDS = {"highest": max, "lowest": min}
PRIVATE = ("lesson", "step", TASK, *LIMITS)  # parameters that a new lesson does not take over


@dataclass(frozen=True)
class Task:
    """Lesson of a teacher: title, question, options, the right one, and an explanation.

    `answer` is the number of the right option, from 0; -1 without a check. With `metric`, the options are the learners
    of the run, and the one with the highest or lowest value (`end`) is right.
    """

    title: str = ""
    question: str = ""
    options: tuple[str, ...] = ()
    answer: int = -1
    metric: str = ""
    end: str = "highest"
    explanation: str = ""

    @property
    def key(self) -> str:
        """Key of its predictions."""
        return "own-" + blake2b(json.dumps(asdict(self)).encode(), digest_size=8).hexdigest()

    def packed(self) -> str:
        """Return the task as text for an address."""
        given = {name: value for name, value in asdict(self).items() if value != getattr(Task, name, None)}
        return base64.urlsafe_b64encode(zlib.compress(json.dumps(given).encode(), 9)).decode().rstrip("=")


def unpacked(text: str) -> Task | None:
    """Return the task of an address; None if it is damaged. Every text is plain and limited."""
    try:
        packed = base64.urlsafe_b64decode(text[:LONGEST_TASK] + "=" * (-len(text[:LONGEST_TASK]) % 4))
        found = json.loads(zlib.decompressobj().decompress(packed, LONGEST_TASK))
        options = [plain(one, LONGEST_OPTION) for one in found.get("options", ())][:MOST_OPTIONS]
        answer, metric, end = found.get("answer", -1), found.get("metric", ""), found.get("end", "highest")
        return Task(
            plain(found.get("title", ""), LIMITS["title"]),
            plain(found.get("question", ""), LIMITS["question"]),
            tuple(dict.fromkeys(filter(None, options))),
            answer if isinstance(answer, int) and 0 <= answer < len(options) else -1,
            metric if metric in METRICS else "",
            end if end in ENDS else "highest",
            plain(found.get("explanation", ""), LONGEST_EXPLANATION),
        )
    except (ValueError, TypeError, AttributeError, binascii.Error, zlib.error):
        return None


def plain(text: Any, limit: int) -> str:
    """Return the text as one line of at most `limit` characters."""
    if not isinstance(text, str):
        raise TypeError("not a text")
    return " ".join(text.split())[:limit]


def link(page: str, settings: Settings, task: Task) -> str:
    """Return the address, relative to any page, that opens `page` with these settings and a task above them."""
    return f"{page}?{urlencode(settings | {TASK: task.packed()}, doseq=True)}"


def measured(task: Task, parameters: dict[str, list[str]]) -> Found | None:
    """Return what the run of these parameters of the Drift lab says about a task; None without a right answer."""
    if not task.metric:
        return None if task.answer < 0 else Found(str(task.answer), {}, {})
    from pages.views.drift_lab.linked import linked_run

    run = linked_run(parameters)
    numbers = {name: float(getattr(one, task.metric)) for name, one in run.metrics.items()}
    known = {name: value for name, value in numbers.items() if value == value}
    if not known:
        return None
    values = {name: f"{METRICS[task.metric]}: {shown(value)}" for name, value in known.items()}
    return Found(ENDS[task.end](known, key=lambda name: known[name]), values, {})


def shown(value: float) -> str:
    """Return a metric as text: whole numbers without decimals.

    >>> shown(0.5), shown(1200.0)
    ('0.500', '1,200')
    """
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.3f}"


def banner() -> None:
    """Show title and question of a link of earlier versions as plain text: no markup, no links."""
    said = [plain(st.query_params.get(key, ""), limit) for key, limit in LIMITS.items()]
    if any(said):
        with st.container(key="banner", horizontal=True, gap="small"):
            for text in filter(None, said):
                st.text(text, width="content")


def make_lesson(page: str) -> None:
    """An expander that turns the settings of this page into a link with a question, options and an answer."""
    with st.expander("Make a lesson of these settings", icon=":material/school:"):
        title = plain(st.text_input("Title", max_chars=LIMITS["title"], key="own title"), LIMITS["title"])
        asked = st.text_area("Question", max_chars=LIMITS["question"], height=80, key="own question")
        question = plain(asked, LIMITS["question"])
        decides = page == "drift-lab" and st.toggle(
            RUN_DECIDES, key="own run", help="The options are the learners. The best or the worst in this run is right."
        )
        task = Task(title, question, *(by_run() if decides else by_teacher()))
        if not (title or question):
            st.caption("Set this page as the class should see it, then give it a title or a question.")
            return
        settings: Settings = {key: st.query_params.get_all(key) for key in st.query_params if key not in PRIVATE}
        here = (st.context.url or page).split("?")[0].removesuffix(page)
        st.code(here + link(page, settings, task), language=None, wrap_lines=True)
        st.caption(
            "People who open this link read the question and predict. Then the page appears; they watch and check."
            if task.options or task.metric
            else "People who open this link see this page with these settings, below the title and the question."
        )


def by_teacher() -> tuple[tuple[str, ...], int, str, str, str]:
    """Draw options, right answer and explanation; return the fields of `Task` after the question."""
    lines = st.text_area("Options, one per line", height=100, key="own options", help=f"At most {MOST_OPTIONS}.")
    options = tuple(dict.fromkeys(filter(None, (plain(one, LONGEST_OPTION) for one in lines.splitlines()))))
    options = options[:MOST_OPTIONS]
    if len(options) == 1:
        st.caption("Give at least two options.")
    if len(options) < 2:
        return (), -1, "", "highest", ""
    right = st.selectbox("Right answer", (NO_CHECK, *options), key="own answer")
    explanation = st.text_area("Explanation", max_chars=LONGEST_EXPLANATION, height=80, key="own explanation")
    answer = options.index(right) if right in options else -1
    return options, answer, "", "highest", plain(explanation, LONGEST_EXPLANATION)


def by_run() -> tuple[tuple[str, ...], int, str, str, str]:
    """Draw the metric by which the run decides; return the fields of `Task` after the question."""
    with st.container(horizontal=True):
        end = st.selectbox("Right is the learner with the", tuple(ENDS), key="own end", width=200)
        metric = st.selectbox("Metric", tuple(METRICS), format_func=METRICS.__getitem__, key="own metric", width=260)
    explanation = st.text_area("Explanation", max_chars=LONGEST_EXPLANATION, height=80, key="own explanation")
    return (), -1, metric, end, plain(explanation, LONGEST_EXPLANATION)
