"""STM32: what fits on a microcontroller, to the byte, what it costs, and the fitted model as C."""

from dataclasses import astuple

import streamlit as st

from pages.widgets import checked, faults_as_messages
from tmlcd_core.mcu import (
    BOARDS,
    CASES,
    FULL_RATE_F401,
    LAYOUTS,
    PAPER_CONFIGURATIONS,
    Board,
    Configuration,
    accuracy_of,
    board,
    budget,
    ram_bars,
    what_fits,
)
from tmlcd_core.mcu.boards import CORES, KB
from tmlcd_core.mcu.budget import STORE_BYTES
from tmlcd_core.mcu.example import export_example
from tmlcd_core.viz import mcu as viz

KEYS = ("hz", "n_fft", "hop", "filters", "size", "layout", "store")  # in the order of Configuration
PRESETS = {
    "Paper, Table 2 (a): 22,050 Hz": PAPER_CONFIGURATIONS[0],
    "Paper, Table 2 (b): 4,410 Hz": PAPER_CONFIGURATIONS[1],
    "Beyond the paper: 22,050 Hz on 96 KB": FULL_RATE_F401,
}
PRINTED = {
    PAPER_CONFIGURATIONS[0]: "This is the paper's Table 2 (a), to the byte.",
    PAPER_CONFIGURATIONS[1]: "This is the paper's Table 2 (b), to the byte. The paper prints 64x35x3 for the "
    "spectrogram, and 588 bytes for the output in its text; its sums are of 65x35x3 and 612.",
    FULL_RATE_F401: "The paper lowers the sampling rate to fit the STM32F401; streamed, and with one byte per feature, "
    "the full rate fits.",
}  # fmt: skip
RATES = (4_410, 8_000, 11_025, 16_000, 22_050, 32_000, 44_100, 48_000)
WINDOWS = (64, 128, 256, 512, 1024, 2048)
CASE_NAMES = {f"{case.board.upper()}: {case.name}": case for case in CASES}
CONFIG = {"displaylogo": False, "displayModeBar": False}


def take(preset: Configuration) -> None:
    st.session_state.update(zip(KEYS, astuple(preset), strict=False))


def choose_configuration() -> Configuration:
    told = {
        "hz": "Samples of sound a second.",
        "n_fft": "Window of the spectrogram, in samples.",
        "hop": "Step from one window to the next, in samples.",
        "filters": "How many of the 64 filters are kept.",
        "size": "|T|: the most samples that are stored (the paper: 50).",
    }
    rate = checked(st.select_slider, "Sampling rate, Hz", RATES, value=22_050, key="hz", help=told["hz"])
    n_fft = checked(st.select_slider, "n_fft", WINDOWS, value=512, key="n_fft", help=told["n_fft"])
    hop = checked(st.number_input, "Hop", value=512, step=16, key="hop", help=told["hop"])
    filters = checked(st.slider, "Filters", 1, 64, 1, key="filters", help=told["filters"])
    size = checked(st.number_input, "|T|", value=50, step=5, key="size", help=told["size"])
    layout = checked(st.selectbox, "Layout", tuple(LAYOUTS), key="layout", help="How sound and spectrogram are held.")
    st.caption(LAYOUTS[layout].capitalize() + ".")
    store = checked(st.selectbox, "Features in T", tuple(STORE_BYTES), key="store", help="Type of the stored numbers.")
    return Configuration(rate, n_fft, hop, filters, size, layout, store)


def choose_boards() -> list[Board]:
    boards = list(BOARDS.values())
    if checked(st.toggle, "A board of your own", False, key="own"):
        name = checked(st.text_input, "Name", "stm32g474", key="board", help="Small letters, digits, dashes.")
        core = checked(st.selectbox, "Core", CORES, key="core")
        mhz = checked(st.number_input, "Clock, MHz", value=170.0, key="mhz")
        ram = checked(st.number_input, "RAM, KB", value=128.0, key="ram")
        flash = checked(st.number_input, "Flash, KB", value=512.0, key="flash")
        boards.append(board(name, core=core, mhz=mhz, ram=ram * KB, flash=flash * KB))
    return boards


@st.cache_data(max_entries=32, show_spinner="Fitting a Hybrid Tiny kNN and writing it as C …")
def project(configuration: Configuration, target: Board) -> tuple[bytes, str]:
    firmware, about = export_example(configuration, target)
    return firmware.zip(), about


st.title("STM32")
st.markdown("What the Hybrid Tiny kNN needs of a microcontroller's memory, to the byte, and what that costs.")
with st.container(horizontal=True):
    for label, preset in PRESETS.items():
        st.button(label, on_click=take, args=(preset,))
with st.sidebar, faults_as_messages():
    st.session_state["stm32:last"] = choose_configuration(), choose_boards()
c, boards = st.session_state.get("stm32:last", (PAPER_CONFIGURATIONS[0], list(BOARDS.values())))

left, right = st.columns([5, 4])
with left:
    st.table(viz.budget_table(budget(c)), border="horizontal", hide_index=True)
    st.caption(f"{PRINTED.get(c, '')} Marked +: what a program that runs needs, and the paper's sum leaves out.")
with right:
    bars = ram_bars(c, boards)
    st.plotly_chart(viz.ram_figure(bars), key="ram-bars", config=CONFIG, alt=viz.in_words(bars))
st.table(viz.fit_table(what_fits(c, boards)), border="horizontal", hide_index=True)

st.subheader("What it costs in accuracy")
measured = accuracy_of(c)
left, right = st.columns([4, 5])
with left:
    if measured is None:
        st.info("Nothing like this configuration has been measured: both rates of the paper with one filter have.")
    else:
        near = f"|T| = {measured.samples}" + (
            ", the nearest that was measured" if measured.samples != c.samples else ""
        )
        st.metric(f"Accuracy, {near}", f"{measured.accuracy:.1%}", width="content")
        st.markdown(
            f"{100 * measured.lost:.1f} ± {100 * measured.error:.1f} points less than with |T| = 200 in float32 at "
            f"22,050 Hz: Hybrid Tiny kNN, mean of {measured.streams} streams of speech with a class change. "
            "The layouts differ by less than this error."
        )
with right:
    st.plotly_chart(viz.accuracy_figure(c, measured), key="accuracy", config=CONFIG, alt="Accuracy against |T|.")

st.subheader("What it costs in time")
left, right = st.columns([4, 5])
with left:
    st.caption("The paper's Table 3 as printed, in milliseconds; the STM32F401 at 4,410 Hz.")
    st.table(viz.paper_times(), border="horizontal", hide_index=True)
with right:
    case = checked(st.selectbox, "This project's C code, measured", tuple(CASE_NAMES), key="case")
    st.table(viz.stage_table(CASE_NAMES[case]), border="horizontal", hide_index=True)
    st.caption("Instructions are counted under emulation at -O2. Milliseconds are estimates, not measured on a board: "
               "at one cycle per instruction, and at the cycles that would give the paper's times.")  # fmt: skip

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
        st.caption(f"Fitted on {about}. Its README says how to build, flash and feed it.")
