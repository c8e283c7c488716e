"""The memory budget against the paper's tables, typed in here by hand, and against plain arithmetic."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmlcd_core.cli import main
from tmlcd_core.errors import ConfigError
from tmlcd_core.mcu import (
    BOARDS,
    CASES,
    FULL_RATE_F401,
    MEASURED,
    PAPER_CONFIGURATIONS,
    PAPER_TIMES,
    FirmwareConfiguration,
    accuracy_of,
    board,
    budget,
    count_instructions,
    find_board,
    largest_store,
    ram_bars,
    recorded,
    time_rows,
    what_fits,
)
from tmlcd_core.mcu.board_choices import voice_accuracies
from tmlcd_core.mcu.timing import PER_WORD, count_word_instructions

FULL = FirmwareConfiguration()
SLOW = FirmwareConfiguration(4410, 128, 128)


@pytest.mark.parametrize(
    ("configuration", "expected", "total"),
    [
        (
            FULL,
            [("1x22050", 88_200), ("257x44x3", 135_696), ("7x7x3", 588), ("65x11", 2_860), ("50", 143_400)],
            370_744,
        ),
        (
            SLOW,
            [("1x4410", 17_640), ("65x35x3", 27_300), ("7x7x3", 588), ("17x9", 612), ("50", 31_000)],
            77_140,
        ),
    ],
)
def test_every_row_of_table_2(configuration, expected, total):
    table = budget(configuration)
    assert [(r.size, r.bytes) for r in table.rows if r.in_paper] == expected
    assert table.total == total == sum(b for _, b in expected)


def test_table_3_as_printed():
    printed = {
        "stm32h743": (22.9, 18.6, 2.0, 2.9, 6.2),
        "stm32f767": (53.8, 41.5, 2.2, 4.0, 12.1),
        "stm32f401": (34.6, 43.1, 2.2, 4.6, 136.0),
    }
    for t in PAPER_TIMES:
        assert (t.spectrogram, t.features, t.knn_10, t.knn_50, t.knn_50_worst) == printed[t.board]
    assert {t.board for t in PAPER_TIMES} == set(BOARDS)


def test_the_boards_of_the_paper():
    assert [(b.mhz, b.ram, b.flash) for b in BOARDS.values()] == [
        (480, 512 * 1024, 2048 * 1024),
        (216, 512 * 1024, 2048 * 1024),
        (84, 96 * 1024, 512 * 1024),
    ]
    assert find_board("STM32F401") is BOARDS["stm32f401"]


def test_the_paper_fits_where_the_paper_says():
    fits = {f.board.name: f.fits for f in what_fits(FULL)}
    assert fits == {"stm32h743": True, "stm32f767": True, "stm32f401": False}
    assert all(f.fits for f in what_fits(SLOW))


def test_the_full_rate_fits_the_smallest_board_when_streamed():
    full_rate = FirmwareConfiguration(layout="streamed", store="uint8")
    assert budget(full_rate).fits(BOARDS["stm32f401"])
    assert not budget(replace(full_rate, store="float32")).fits(BOARDS["stm32f401"])


def test_what_the_paper_leaves_out_is_listed_and_counted():
    table = budget(FULL)
    left_out = {r.name: r.bytes for r in table.rows if not r.in_paper}
    assert {"FFT scratch", "Stack", "Change test", "Distances"} <= set(left_out)
    assert table.needed == table.total + sum(left_out.values())
    assert table.static == table.needed - left_out["Stack"]


configurations = st.builds(
    FirmwareConfiguration,
    sample_rate=st.integers(100, 48_000),
    n_fft=st.integers(8, 4096),
    hop=st.integers(1, 4096),
    filters=st.integers(1, 64),
    samples=st.integers(1, 500),
    layout=st.sampled_from(["paper", "compact", "streamed"]),
    store=st.sampled_from(["float32", "int16", "uint8"]),
    learner=st.sampled_from(["hybrid", "cit", "active"]),
)


@given(configurations, st.sampled_from(list(BOARDS.values())))
def test_the_largest_store_fits_and_one_more_does_not(configuration, b):
    n = largest_store(configuration, b)
    if n:
        assert budget(replace(configuration, samples=n)).fits(b)
    assert not budget(replace(configuration, samples=n + 1)).fits(b)


def test_a_board_a_few_bytes_too_small_is_short_of_them():
    needed = budget(SLOW).needed
    for ram, fits, free in ((needed, False, -32), (needed + 31, False, -1), (needed + 32, True, 32)):
        (row,) = what_fits(SLOW, [board("mine", core="cortex-m4", mhz=84, ram=ram, flash=512 * 1024)])
        assert (row.fits, row.free) == (fits, free)


@given(configurations)
def test_shapes_follow_a_sliding_window(c):
    """Count window positions one by one instead of using a formula."""
    padded = c.sample_rate + 2 * (c.n_fft // 2)
    assert c.frames == len(range(0, padded - c.n_fft + 1, c.hop))

    def strided(n, size, pad):
        return len(range(0, n + 2 * pad - size + 1, 2))

    height, width = (strided(strided(n, 7, 3), 3, 1) for n in (c.bins, c.frames))
    assert c.features == c.filters * height * width


def test_smaller_layouts_are_smaller():
    sizes = [budget(replace(FULL, layout=layout)).needed for layout in ("paper", "compact", "streamed")]
    assert sizes == sorted(sizes, reverse=True)
    sizes = [budget(replace(FULL, store=store)).needed for store in ("float32", "int16", "uint8")]
    assert sizes == sorted(sizes, reverse=True)


def test_active_keeps_a_window_as_large_as_its_store():
    rows = {r.name: r.bytes for r in budget(replace(FULL, learner="active")).rows}
    assert rows["History window W"] == rows["Training set T"]


def test_the_bars_stack_up_to_the_budget():
    for bar, b in zip(ram_bars(FULL), BOARDS.values(), strict=True):
        assert sum(size for _, size in bar.parts) == budget(FULL).needed
        assert bar.limit == b.ram


@pytest.mark.parametrize(
    "bad",
    [
        {"hop": 0},
        {"hop": -5},
        {"n_fft": 0},
        {"samples": 10**9},
        {"samples": 0},
        {"samples": math.nan},
        {"sample_rate": math.inf},
        {"sample_rate": "fast"},
        {"filters": 65},
        {"filters": 1.5},
        {"filters": True},
        {"layout": "large"},
        {"store": "float16"},
        {"learner": "svm"},
        {"vector": 0},
        {"hop": None},
    ],
)
def test_bad_settings_are_one_sentence(bad):
    with pytest.raises(ConfigError) as caught:
        FirmwareConfiguration(**bad)
    message = str(caught.value)
    assert repr(next(iter(bad.values()))) in message
    assert not message.endswith(".") and "\n" not in message


@pytest.mark.parametrize(
    "bad",
    [
        {"ram": 0},
        {"ram": -1},
        {"ram": math.nan},
        {"flash": 0},
        {"mhz": 0},
        {"mhz": math.nan},
        {"mhz": math.inf},
        {"mhz": "84"},
        {"core": "risc-v"},
        {"name": "../x"},
        {"name": ""},
    ],
)
def test_bad_boards_are_one_sentence(bad):
    good = {"name": "mine", "core": "cortex-m4", "mhz": 100.0, "ram": 65536, "flash": 262144}
    assert board(**good).ram == 65536
    with pytest.raises(ConfigError, match=r"^[^\n]+[^.\n]$"):
        board(**{**good, **bad})


def test_an_unknown_board_names_the_known_ones():
    with pytest.raises(ConfigError, match="stm32f401"):
        find_board("stm8")


# -- times -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "case",
    [pytest.param(c, marks=[] if i in (2, 5) else pytest.mark.slow) for i, c in enumerate(CASES)],
    ids=lambda c: f"{c.board}-{c.name}",
)
def test_the_recorded_instructions_are_measured_again(case):
    pytest.importorskip("unicorn")
    assert count_instructions(case) == MEASURED[case]


@pytest.mark.parametrize("board", [BOARDS["stm32f401"], BOARDS["stm32f767"]], ids=lambda b: b.core)
@pytest.mark.parametrize("front_end", ["clip", "filter", "word", pytest.param("speech", marks=pytest.mark.slow)])
def test_the_recorded_instructions_of_a_word_are_counted_again(front_end, board):
    pytest.importorskip("unicorn")
    found, expected = count_word_instructions(front_end, board), PER_WORD[front_end, board.core]
    assert found.second == pytest.approx(expected.second, rel=0.05)
    assert found.word == pytest.approx(expected.word, rel=0.05)


def test_the_paper_pace_is_fitted_to_the_paper():
    """With its cycles per instruction a board's two audio stages together take Table 3's time."""
    for t in PAPER_TIMES:
        rows = {r.stage: r for r in time_rows() if r.board == t.board.upper() and r.case.startswith("paper")}
        together = rows["spectrogram"].paper_pace_ms + rows["features"].paper_pace_ms
        assert together == pytest.approx(t.spectrogram + t.features, rel=0.002)
        # which it was not fitted to: each of the two alone comes out within 15 %
        assert rows["spectrogram"].paper_pace_ms == pytest.approx(t.spectrogram, rel=0.15)
        assert rows["features"].paper_pace_ms == pytest.approx(t.features, rel=0.15)
        assert rows["worst"].paper == str(t.knn_50_worst)


# -- accuracy ----------------------------------------------------------------------------------------


def test_the_recorded_accuracies_cover_the_papers_cases():
    """|T| = 50, 4,410 Hz, and the full rate streamed on the smallest board; the reference loses nothing."""
    for c in (*PAPER_CONFIGURATIONS, FULL_RATE_F401):
        found = accuracy_of(c)
        assert found is not None
        assert (found.sample_rate, found.store, found.samples) == (c.sample_rate, c.store, c.samples)
        assert 0.5 < found.accuracy < 1
        assert found.streams >= 20
    reference = accuracy_of(FirmwareConfiguration(samples=200))
    assert (reference.lost, reference.error) == (0, 0)
    for a in recorded():
        assert a.accuracy + a.lost == pytest.approx(reference.accuracy, abs=2e-5)


def test_what_was_not_measured_has_no_accuracy():
    for c in (
        FirmwareConfiguration(8000, 256, 256),
        FirmwareConfiguration(filters=2),
        FirmwareConfiguration(learner="cit"),
        FirmwareConfiguration(vector=3),
    ):
        assert accuracy_of(c) is None


# -- the command -------------------------------------------------------------------------------------


def test_the_command_prints_the_papers_tables(capsys):
    assert main(["budget"]) == 0
    text = capsys.readouterr().out
    for number in ("370,744", "77,140", "135,696", "143,400", "22.9", "136.0"):
        assert number in text
    assert f"accuracy: {voice_accuracies()['clip'].how}\n" in text
    assert main(["budget", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [t["total"] for t in found["tables"][:2]] == [370_744, 77_140]
    assert {b["board"]: b["fits"] for b in found["tables"][0]["boards"]} == {
        "stm32h743": True,
        "stm32f767": True,
        "stm32f401": False,
    }


def test_the_command_takes_a_configuration_and_a_board(capsys):
    arguments = (
        "budget --sample-rate 8000 --n-fft 256 --hop 128 --samples 20 --layout streamed --store uint8 --ram 20 --json"
    )
    assert main(arguments.split()) == 0
    found = json.loads(capsys.readouterr().out)["tables"][0]
    expected = budget(FirmwareConfiguration(8000, 256, 128, 1, 20, "streamed", "uint8"))
    assert found["needed"] == expected.needed
    assert found["boards"][0]["ram"] == 20 * 1024
    assert main(["budget", "--board", "STM32F401", "--json"]) == 0
    assert {b["board"] for b in json.loads(capsys.readouterr().out)["tables"][0]["boards"]} == {"stm32f401"}


def test_a_board_of_ones_own_without_ram_is_told_what_is_missing(capsys):
    assert main(["budget", "--mhz", "168"]) == 2
    assert "give --ram" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        "--hop 0",
        "--ram 0",
        "--ram nan",
        "--samples 1e9",
        "--samples nan",
        "--board stm8",
        "--layout x",
        "--mhz -1 --ram 1",
    ],
)
def test_bad_arguments_are_one_line_and_exit_code_2(arguments, capsys):
    try:
        code = main(["budget", *arguments.split()])
    except SystemExit as left:  # argparse leaves at once
        code = left.code
    assert code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
