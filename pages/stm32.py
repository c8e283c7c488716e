"""STM32: what fits on a microcontroller, to the byte, what it costs, and the fitted model as C."""

import streamlit as st

from pages.shell.computation import one_at_a_time
from pages.shell.url_widgets import checked, faults_as_messages, table
from pages.views.lessons.own import make_lesson, show_lesson
from pages.views.stm32.choose import choose_boards, choose_configuration, presets
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
from tmlcd_core.mcu.example import export_example
from tmlcd_core.progress import silent
from tmlcd_core.viz import mcu as viz

PRINTED = {
    PAPER_CONFIGURATIONS[0]: "This is the paper's Table 2 (a), to the byte.",
    PAPER_CONFIGURATIONS[1]: "This is the paper's Table 2 (b), to the byte. The paper prints 64x35x3 for the "
    "spectrogram, and 588 bytes for the output in its text; its sums are of 65x35x3 and 612.",
    FULL_RATE_F401: "The paper lowers the sampling rate to fit the STM32F401; streamed, and with one byte per feature, "
    "the full rate fits.",
}  # fmt: skip
CASE_NAMES = {f"{case.board.upper()}: {case.name}": case for case in CASES}
CONFIG = {"displaylogo": False, "displayModeBar": False}


@st.cache_data(max_entries=32, show_spinner="Fitting a Hybrid Tiny kNN and writing it as C …")
def project(configuration: FirmwareConfiguration, target: Board) -> tuple[bytes, str]:
    with one_at_a_time("a C project", silent) as tell:
        firmware, about = export_example(configuration, target, tell)
    return firmware.zip(), f"Fitted on {about}. {firmware.in_words()}."


# What follows depends on its arguments alone: Streamlit sends the same elements again without making them anew. The
# text, which is hashed in no time, stands for the values.
@st.cache_data(max_entries=64, show_spinner=False)
def memory(text: str, _c: FirmwareConfiguration, _boards: list[Board]) -> None:
    """What is needed, what fits, and what that costs in accuracy."""
    left, right = st.columns([5, 4])
    with left:
        st.caption(f"{PRINTED.get(_c, '')} Marked +: what a program that runs needs, and the paper's sum leaves out.")
        table(viz.budget_table(budget(_c)), "Bytes")
    with right:
        bars = ram_bars(_c, _boards)
        st.plotly_chart(viz.ram_figure(bars), key="ram-bars", config=CONFIG, alt=viz.in_words(bars))
    table(viz.fit_table(what_fits(_c, _boards)), "RAM", "Bytes free", "Largest |T|")
    flash = flash_bytes(_c, fused=_c.layout != "paper")
    st.caption(f"Flash: at most {viz.in_kb(flash)} for code, tables and the T that it starts with.")

    st.subheader("What it costs in accuracy")
    measured = accuracy_of(_c)
    left, right = st.columns([4, 5])
    with left:
        if measured is None:
            st.info("Nothing like this configuration has been measured: both rates of the paper with one filter have.")
        else:
            near = f"|T| = {measured.samples}" + (
                ", the nearest that was measured" if measured.samples != _c.samples else ""
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
    """Instructions and milliseconds of each stage."""
    rows = viz.stage_table(CASE_NAMES[case])
    table(rows, *list(rows)[1:])
    st.caption(
        "Instructions are counted under emulation at -O2. Milliseconds are estimates, not measured on a board: "
        "at one cycle per instruction, and at the cycles that would give the paper's times."
    )


@st.cache_data(max_entries=1, show_spinner=False)
def paper_times() -> None:
    st.caption("The paper's Table 3 as printed, in milliseconds; the STM32F401 at 4,410 Hz.")
    rows = viz.paper_times()
    table(rows, *list(rows)[1:])


st.title("STM32")
show_lesson()
st.markdown("What the Hybrid Tiny kNN needs of a microcontroller's memory, to the byte, and what that costs.")
presets()
with st.sidebar:  # what was good last stays on the page while a number is bad
    with faults_as_messages():
        st.session_state["stm32:configuration"] = choose_configuration()
    with faults_as_messages():
        st.session_state["stm32:boards"] = choose_boards()
c = st.session_state.get("stm32:configuration", PAPER_CONFIGURATIONS[0])
boards = st.session_state.get("stm32:boards", list(BOARDS.values()))

memory(repr((c, boards)), c, boards)

st.subheader("What it costs in time")
paper_times()
case = checked(st.selectbox, "This project's C code, measured", tuple(CASE_NAMES), key="case", width=360)
times(case)

st.subheader("Take it along")
with st.container(horizontal=True, vertical_alignment="bottom"):
    names = tuple(b.title for b in boards)
    chosen = boards[names.index(checked(st.selectbox, "Board", names, key="target", width=200))]
    if st.button("Write the C project", icon=":material/memory:"):
        st.session_state["stm32:wanted"] = (c, chosen)
with faults_as_messages():
    if st.session_state.get("stm32:wanted") == (c, chosen):
        archive, about = project(c, chosen)
        st.download_button(f"tmlcd-{chosen.name}.zip, {len(archive) / 1000:.0f} kB", archive,
                           f"tmlcd-{chosen.name}.zip", "application/zip", icon=":material/download:")  # fmt: skip
        st.caption(f"{about} Its README says how to check, build, flash and feed it.")
make_lesson("stm32")
