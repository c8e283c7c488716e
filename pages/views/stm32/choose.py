"""Settings of the STM32 page: widgets in, a FirmwareConfiguration and Boards out."""

from dataclasses import astuple

import streamlit as st

from pages.shell.url_widgets import checked, chosen
from tmlcd_core.mcu import BOARDS, FULL_RATE_F401, LAYOUTS, PAPER_CONFIGURATIONS, Board, FirmwareConfiguration, board
from tmlcd_core.mcu.boards import CORES, KB
from tmlcd_core.mcu.budget import BUDGET_LEARNERS, STORE_BYTES

KEYS = ("hz", "n_fft", "hop", "filters", "size", "layout", "store")  # in the order of FirmwareConfiguration
PRESETS = {
    "Paper, Table 2 (a): 22,050 Hz": PAPER_CONFIGURATIONS[0],
    "Paper, Table 2 (b): 4,410 Hz": PAPER_CONFIGURATIONS[1],
    "Beyond the paper: 22,050 Hz on 96 KB": FULL_RATE_F401,
}
CLIP, VECTOR = "clip", "vectors"
INPUTS = {
    CLIP: "Clips, the paper's filter",
    "filter": "Words, the paper's filter",
    "word": "Words, cepstra",
    "speech": "Words, speech network",
    VECTOR: "Vectors",
}
RATES = (4_410, 8_000, 11_025, 16_000, 22_050, 32_000, 44_100, 48_000)
WINDOWS = (64, 128, 256, 512, 1024, 2048)


def _take(preset: FirmwareConfiguration) -> None:
    st.session_state.update(zip(KEYS, astuple(preset), strict=False))
    st.session_state.update(input=CLIP, on_chip=preset.learner)


def presets() -> None:
    """Show a button for each preset configuration."""
    for cell, (label, preset) in zip(st.columns(len(PRESETS)), PRESETS.items(), strict=True):
        cell.button(label, on_click=_take, args=(preset,), width="stretch")


def choose_configuration() -> FirmwareConfiguration:
    """Draw the widgets of the firmware and return its configuration."""
    helps = {
        "hz": "Audio samples per second.",
        "n_fft": "Samples per window of the spectrogram.",
        "hop": "Samples from one window to the next.",
        "filters": "Number of filters used, of 64.",
        "size": "Largest number of stored samples (paper: 50).",
        "input": "What the chip computes from sound; vectors come from other sensors.",
        "vector": "Length of a feature vector.",
        "learner": "Only the learner's memory differs; the accuracy below is that of hybrid.",
    }
    given = chosen(st.selectbox, "Input", INPUTS, key="input", help=helps["input"])
    vector = None
    if given == VECTOR:
        vector = checked(st.number_input, "Numbers per sample", value=10, key="vector", help=helps["vector"])
    if given != CLIP:
        size, store, learner = _learner(helps)
        front_end = CLIP if given == VECTOR else given
        return FirmwareConfiguration(samples=size, store=store, learner=learner, vector=vector, front_end=front_end)
    rate = checked(st.select_slider, "Sampling rate (Hz)", RATES, value=22_050, key="hz", help=helps["hz"])
    n_fft = checked(st.select_slider, "Window (n_fft)", WINDOWS, value=512, key="n_fft", help=helps["n_fft"])
    hop = checked(st.number_input, "Hop", value=512, step=16, key="hop", help=helps["hop"])
    filters = checked(st.slider, "Filters", 1, 64, 1, key="filters", help=helps["filters"])
    layout = checked(st.selectbox, "Layout", tuple(LAYOUTS), key="layout", help="How audio and spectrogram are stored.")
    st.caption(LAYOUTS[layout].capitalize() + ".")
    size, store, learner = _learner(helps)
    return FirmwareConfiguration(rate, n_fft, hop, filters, size, layout, store, learner)


def _learner(helps: dict[str, str]) -> tuple[int, str, str]:
    """Draw the widgets of the learner; return the limit of |T|, the number type of its features, and its name."""
    size = checked(st.number_input, "Stored samples (|T|)", value=50, step=5, key="size", help=helps["size"])
    store = checked(st.selectbox, "Features in T", tuple(STORE_BYTES), key="store", help="Number type of the features.")
    learner = checked(st.selectbox, "Learner", BUDGET_LEARNERS, key="on_chip", help=helps["learner"])
    return size, store, learner


def choose_boards() -> list[Board]:
    """Return the paper's boards, and the visitor's own board if there is one."""
    boards = list(BOARDS.values())
    if checked(st.toggle, "Add your own board", False, key="own"):
        name = checked(st.text_input, "Name", "stm32g474", key="board", help="Lower-case letters, digits and dashes.")
        core = checked(st.selectbox, "Core", CORES, key="core")
        mhz = checked(st.number_input, "Clock (MHz)", value=170.0, key="mhz")
        ram = checked(st.number_input, "RAM (KB)", value=128, key="ram")
        flash = checked(st.number_input, "Flash (KB)", value=512, key="flash")
        boards.append(board(name, core=core, mhz=mhz, ram=ram * KB, flash=flash * KB))
    return boards
