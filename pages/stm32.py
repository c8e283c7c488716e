"""STM32 page: memory budget of the firmware to the byte, accuracy, run time, and export as a C project."""

import streamlit as st

from pages.shell.computation import one_at_a_time
from pages.shell.url_widgets import checked, faults_as_messages, table
from pages.views.lessons.own import make_lesson
from pages.views.lessons.panel import lesson_panel
from pages.views.stm32.board_in_the_loop import show_board_in_the_loop
from pages.views.stm32.choose import choose_boards, choose_configuration, presets
from tmlcd_core.live.example import example_session
from tmlcd_core.mcu import (
    BOARDS,
    CASES,
    FULL_RATE_F401,
    PAPER_CONFIGURATIONS,
    Board,
    FirmwareConfiguration,
    accuracy_of,
    budget,
    flash_bytes,
    ram_bars,
    what_fits,
)
from tmlcd_core.mcu.board_choices import board_choices
from tmlcd_core.mcu.example import EXPORTED, export_example
from tmlcd_core.progress import silent
from tmlcd_core.viz import mcu as viz
from tmlcd_core.web.words_page import words_page

PRINTED = {
    PAPER_CONFIGURATIONS[0]: "This is the paper's Table 2 (a), to the byte.",
    PAPER_CONFIGURATIONS[1]: "This is the paper's Table 2 (b), to the byte. The paper prints 64x35x3 for the "
    "spectrogram and 588 bytes for the output in its text; its totals use 65x35x3 and 612 bytes.",
    FULL_RATE_F401: "The paper lowers the sampling rate to fit the STM32F401. With the streamed layout and one byte "
    "per feature, the full rate fits.",
}  # fmt: skip
WEB_PAGE = "The firmware in one HTML file: it hears words in your browser, answers and learns, without a server."
CASE_NAMES = {f"{case.board.upper()}: {case.name}": case for case in CASES}
CONFIG = {"displaylogo": False, "displayModeBar": False}


@st.cache_data(max_entries=32, show_spinner="Fitting the learner and writing it as C …")
def project(configuration: FirmwareConfiguration, target: Board) -> tuple[bytes, str]:
    """Return the example's C project as a zip, and a sentence about it."""
    with one_at_a_time("a C project", silent) as tell:
        firmware, about = export_example(configuration, target, tell)
    return (
        firmware.zip(),
        f"Fitted on {about}. {firmware.in_words()}; it has room for {firmware.configuration.samples}.",
    )


@st.cache_data(max_entries=8, show_spinner="Writing a page that hears four words …")
def example_page(target: Board) -> bytes:
    """Return the shipped words in one HTML file, with the code of the board."""
    with one_at_a_time("a web page", silent):
        return words_page(example_session(), target, front_end="word").encode()


# The functions below depend only on their arguments, so Streamlit replays their elements from its cache. `text` is the
# cache key: hashing it is fast.
@st.cache_data(max_entries=64, show_spinner=False)
def memory(text: str, _c: FirmwareConfiguration, _boards: list[Board]) -> None:
    """Show memory budget, boards that fit, and accuracy."""
    left, right = st.columns([5, 4])
    with left:
        st.caption(f"{PRINTED.get(_c, '')} \\+ = needed by a real program, not counted in the paper.")
        table(viz.budget_table(budget(_c)), "Bytes")
    with right:
        bars = ram_bars(_c, _boards)
        st.plotly_chart(viz.ram_figure(bars), key="ram-bars", config=CONFIG, alt=viz.bars_in_words(bars))
    table(viz.fit_table(what_fits(_c, _boards)), "RAM", "Bytes free", "Largest |T|")
    flash = flash_bytes(_c, fused=_c.layout != "paper")
    st.caption(f"Flash: at most {viz.in_kb(flash)} for code, tables and the initial training set T.")

    st.subheader("Accuracy")
    measured = accuracy_of(_c)
    left, right = st.columns([4, 5])
    with left:
        if measured is None:
            st.info("There is no measurement for these settings. Choose a preset above; you can change |T| and layout.")
        else:
            near = f"|T| = {measured.samples}" + (
                ", the nearest measured size" if measured.samples != _c.samples else ""
            )
            st.metric(f"Accuracy, {near}", f"{measured.accuracy:.1%}", width="content")
            st.markdown(
                f"{100 * measured.lost:.1f} ± {100 * measured.error:.1f} points less than with |T| = 200 in float32 at "
                f"22,050 Hz: Hybrid Tiny kNN, mean of {measured.streams} streams of speech with a class change. "
                "The layouts differ by less than this error."
            )
    with right:
        figure = viz.accuracy_figure(_c, measured)
        st.plotly_chart(figure, key="accuracy", config=CONFIG, alt="Accuracy against |T|.")


@st.cache_data(max_entries=16, show_spinner=False)
def times(case: str) -> None:
    """Show instructions and milliseconds of each stage."""
    rows = viz.stage_table(CASE_NAMES[case])
    table(rows, *list(rows)[1:])
    st.caption(
        "Instructions are counted in an emulator at -O2. Milliseconds are estimates, not measured on a board: "
        "once with one cycle per instruction, once with the cycles per instruction that match the paper's times."
    )


@st.cache_data(max_entries=1, show_spinner=False)
def paper_times() -> None:
    """Show the paper's Table 3."""
    st.caption("The paper's Table 3 as printed, in milliseconds. The STM32F401 runs at 4,410 Hz.")
    rows = viz.paper_times()
    table(rows, *list(rows)[1:])


@st.cache_data(max_entries=16, show_spinner=False)
def voices(text: str, _boards: list[Board]) -> None:
    """Show the best front end of each board for spoken words, and all of them in a table."""
    choices = board_choices(_boards)
    st.subheader("What can my board do?")
    st.markdown(viz.best_in_words(choices))
    with st.expander("All front ends on all boards"):
        rows = viz.choices_table(choices)
        table(rows, *list(rows)[2:])
        st.caption(
            f"T in uint8, |T| = 50. Accuracy: {choices[0].accuracy.how}. ★ = the most accurate that fits and answers "
            "in two seconds. Instructions are counted in an emulator; times assume one cycle per instruction and were "
            "not measured on a board. A clip of one second must begin with the word; the other front ends find it."
        )
        st.caption(f"Page and chip on the same sound. {viz.page_and_chip(choices)}.")


def show() -> None:
    """Draw the page below its title."""
    st.markdown(
        "The memory that a learner needs on a microcontroller, to the byte; accuracy and run time of Hybrid Tiny kNN."
    )
    presets()
    with st.sidebar:  # with an invalid number, the page keeps the last valid values
        with faults_as_messages():
            st.session_state["stm32:configuration"] = choose_configuration()
        with faults_as_messages():
            st.session_state["stm32:boards"] = choose_boards()
    c = st.session_state.get("stm32:configuration", PAPER_CONFIGURATIONS[0])
    boards = st.session_state.get("stm32:boards", list(BOARDS.values()))

    voices(repr(boards), boards)
    st.subheader("Memory")
    memory(repr((c, boards)), c, boards)

    st.subheader("Run time")
    paper_times()
    case = checked(st.selectbox, "This project's C code, measured", tuple(CASE_NAMES), key="case", width=360)
    times(case)

    st.subheader("Export")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        names = tuple(b.title for b in boards)
        chosen = boards[names.index(checked(st.selectbox, "Board", names, key="target", width=200))]
        has_example = c.vector is None and c.learner in EXPORTED
        if st.button("Create C project", icon=":material/memory:", disabled=not has_example):
            st.session_state["stm32:wanted"] = (c, chosen)
        if st.button("Create web page", icon=":material/smartphone:", help=WEB_PAGE):
            st.session_state["stm32:page"] = chosen
    if not has_example:
        st.caption("There is no example for this input or learner. Export your own: `tmlcd export`, `export_firmware`.")
        st.session_state.pop("stm32:wanted", None)
    with faults_as_messages():
        if st.session_state.get("stm32:wanted") == (c, chosen):
            archive, about = project(c, chosen)
            st.download_button(f"tmlcd-{chosen.name}.zip, {len(archive) / 1000:.0f} kB", archive,
                               f"tmlcd-{chosen.name}.zip", "application/zip", icon=":material/download:")  # fmt: skip
            st.caption(f"{about} Its README explains how to test, build, flash and use it.")
        if st.session_state.get("stm32:page") == chosen:
            page = example_page(chosen)
            st.download_button(f"words.html, {len(page) / 1000:.0f} kB", page, "words.html", "text/html",
                               icon=":material/download:", on_click="ignore")  # fmt: skip
            st.caption("It knows the four shipped words. For your own words, teach them on the page Microphone.")
    st.subheader("Board in the loop")
    show_board_in_the_loop()
    make_lesson("stm32")


st.title("STM32")
if lesson_panel("stm32"):
    show()
