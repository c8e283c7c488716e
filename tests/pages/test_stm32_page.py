"""The STM32 page: the paper's tables as printed, boards and configurations as the core counts them, the zip."""

import io
import json
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qs

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.shell.navigation import PAGES
from pages.views.drift_lab.toolbar import chip_settings
from pages.views.stm32 import board_in_the_loop
from pages.views.stm32.choose import INPUTS
from tmlcd_core.datasets import Dataset, Pack
from tmlcd_core.errors import DataError
from tmlcd_core.mcu import (
    BOARDS,
    CASES,
    FULL_RATE_F401,
    PAPER_CONFIGURATIONS,
    FirmwareConfiguration,
    budget,
    ram_bars,
    recorded,
)
from tmlcd_core.mcu.board_choices import board_choices
from tmlcd_core.mcu.device import make
from tmlcd_core.mcu.example import export_example, fit_example
from tmlcd_core.mcu.front_ends import FRONT_ENDS
from tmlcd_core.viz import mcu as viz

ROOT = Path(__file__).parents[2]
PAGE = next(page for page in PAGES if page.url == "stm32")
# Table 2 of the paper, as printed but for the two slips: the spectrogram of (b) is printed as 64x35x3.
TABLE_2A = {
    "Audio": ("1x22050", 88_200),
    "Spectrogram": ("257x44x3", 135_696),
    "Filter": ("7x7x3", 588),
    "Features": ("65x11", 2_860),
    "Training set T": ("50", 143_400),
    "Total, as the paper counts": ("", 370_744),
}
TABLE_2B = {
    "Audio": ("1x4410", 17_640),
    "Spectrogram": ("65x35x3", 27_300),
    "Filter": ("7x7x3", 588),
    "Features": ("17x9", 612),
    "Training set T": ("50", 31_000),
    "Total, as the paper counts": ("", 77_140),
}


def open_page(**asked: str) -> AppTest:
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).run()
    for key, value in asked.items():
        at.query_params[key] = value
    return at.switch_page(PAGE.file).run()


def shown(at: AppTest, table: int = 0) -> dict[str, list[str]]:
    """The cells of a table, row by row; the first table of the page is that of the front ends."""
    frame = at.table[table + 1].value
    return {str(row[0]): [str(cell) for cell in row[1:]] for row in frame.to_numpy()}


def bytes_of(at: AppTest) -> dict[str, tuple[str, int]]:
    return {name: (size, int(count.replace(",", ""))) for name, (size, count, _) in shown(at).items()}


def preset(at: AppTest, name: str) -> AppTest:
    return next(button for button in at.button if name in button.label).click().run()


# ---------------------------------------------------------------- the paper's tables


@pytest.mark.parametrize(("name", "printed"), [("Table 2 (a)", TABLE_2A), ("Table 2 (b)", TABLE_2B)])
def test_table_2_to_the_byte(name, printed):
    at = preset(open_page(hz="8000", size="7", layout="streamed", store="int16", filters="3"), name)
    assert not at.exception and not at.error
    assert printed.items() <= bytes_of(at).items()
    assert any(f"the paper's {name}" in caption.value for caption in at.caption)


def test_what_the_papers_sum_leaves_out_is_marked_and_added():
    found = bytes_of(open_page())
    extras = {name: size for name, (_, size) in found.items() if name.endswith(" +")}
    assert {"FFT scratch +", "Distances +", "Change test +", "Stack +"} <= set(extras)
    assert found["Needed"][1] == 370_744 + sum(extras.values())


def test_table_3_as_printed():
    times = shown(open_page(), table=2)
    assert times == {
        "STM32H743": ["22.9", "18.6", "2.0", "2.9–6.2"],
        "STM32F767": ["53.8", "41.5", "2.2", "4.0–12.1"],
        "STM32F401": ["34.6", "43.1", "2.2", "4.6–136.0"],
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.board} {case.name}")
def test_times_of_our_own_are_called_estimates(case):
    table = viz.stage_table(case)
    assert all("estimate" in name for name in table if name.startswith("ms at"))
    assert ("ms in the paper" in table) is case.name.startswith("paper")


# ---------------------------------------------------------------- boards


def test_the_largest_store_is_the_largest_that_fits():
    at = preset(open_page(), "on 96 KB")
    largest = int(shown(at, table=1)["STM32F401"][-1])
    assert largest > 50
    for size, verdict in ((largest, "yes"), (largest + 1, "no")):
        at.number_input(key="size").set_value(size).run()
        assert shown(at, table=1)["STM32F401"][2] == verdict


def test_a_board_of_ones_own():
    at = open_page(own="true", board="tiny-1", ram="64", mhz="48")
    assert not at.exception and not at.error
    assert shown(at, table=1)["TINY-1"][:3] == ["M4, 48 MHz", "64 KB", "no"]
    assert "TINY-1" in at.selectbox(key="target").options


def test_the_bar_adds_up_to_the_table():
    c = FirmwareConfiguration(layout="compact", store="int16", samples=80)
    bars = ram_bars(c)
    figure = viz.ram_figure(bars)
    heights = sum(np.asarray(trace.y) for trace in figure.data)
    np.testing.assert_allclose(heights * 1024, budget(c).needed)
    assert [shape.y0 * 1024 for shape in figure.layout.shapes] == [board.ram for board in BOARDS.values()]
    assert f"{budget(c).needed:,}" in viz.bars_in_words(bars)


# ---------------------------------------------------------------- accuracy


def test_only_measured_accuracies_are_shown():
    at = open_page()
    row = next(a for a in recorded() if (a.sample_rate, a.store, a.samples) == (22_050, "float32", 50))
    assert at.metric[0].value == f"{row.accuracy:.1%}"
    at.select_slider(key="n_fft").set_value(256).run()
    assert not at.metric
    assert "no measurement" in at.info[0].value
    lines = viz.accuracy_figure(FirmwareConfiguration(), row).data
    assert {line.name: len(line.x) for line in lines[:2]} == {"22,050 Hz": 5, "4,410 Hz": 5}


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("key", "value", "named"),
    [
        ("hop", 0, "0"),
        ("hop", -5, "-5"),
        ("size", 10**9, "1000000000"),
        ("size", 0, "0"),
        ("ram", 0, "0"),
        ("ram", -1, "-1024"),
        ("mhz", 0.0, "0"),
        ("flash", 2**40, "at most 1073741824"),
    ],
)
def test_bad_numbers_get_a_message_and_the_last_table_stays(key, value, named):
    at = open_page(own="true")
    at.number_input(key=key).set_value(value).run()
    assert not at.exception
    assert len(at.sidebar.error) == 1
    assert named in at.sidebar.error[0].value.replace("\\", "")
    assert bytes_of(at)["Needed"][1] > 370_744


def test_broken_links_fall_back():
    at = open_page(hop="nan", hz="7", layout="<b>", own="true", ram="nan", board="../x")
    assert not at.exception
    assert bytes_of(at)["Total, as the paper counts"][1] == 370_744
    assert len(at.sidebar.error) == 1, "the board's name"
    assert len(at.toast) == 4


def test_an_endless_size_falls_back():
    at = open_page(size="1e999")
    assert not at.exception and not at.error
    assert at.number_input(key="size").value == 50


# ---------------------------------------------------------------- the zip


def no_pack() -> Pack:
    raise DataError("there is no pack")


def small_pack() -> Pack:
    """Three words of 20 clips whose features lie apart."""
    y = np.repeat(["no", "stop", "up", "yes"], 20)
    noise = np.random.default_rng(0).random((80, 715), dtype=np.float32)
    X = noise + np.unique(y, return_inverse=True)[1][:, None].astype(np.float32)
    return Pack(Dataset("toy", X, y, np.arange(80)), ("yes", "no", "up"), "up", "stop", 20, 40, {})


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    """Nothing that an earlier test fitted."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    st.cache_data.clear()


@pytest.mark.parametrize(("pack", "said"), [(small_pack, "the ready-made pack"), (no_pack, "eSpeak NG")])
def test_the_page_says_what_the_exported_model_was_fitted_on(pack, said, monkeypatch, fresh):
    monkeypatch.setattr("tmlcd_core.datasets.load_pack", pack)
    at = preset(open_page(target="STM32F401"), "on 96 KB")
    preset(at, "Create C project")
    assert not at.exception and not at.error
    assert any(said in caption.value for caption in at.caption)
    assert "tmlcd-stm32f401.zip" in at.get("download_button")[0].label


@pytest.mark.parametrize("pack", [small_pack, no_pack])
def test_the_zip_holds_the_configuration(pack, monkeypatch, fresh):
    monkeypatch.setattr("tmlcd_core.datasets.load_pack", pack)
    firmware, _ = export_example(FULL_RATE_F401, BOARDS["stm32f401"])
    archive = zipfile.ZipFile(io.BytesIO(firmware.zip()))
    assert archive.testzip() is None
    assert replace(firmware.configuration, classes=FULL_RATE_F401.classes) == FULL_RATE_F401
    assert f"{budget(FULL_RATE_F401).needed:,}" in archive.read("tmlcd-firmware/README.md").decode()
    assert {"yes", "no"} < set(firmware.classes) if pack is small_pack else {"yes", "no"} == set(firmware.classes)


@pytest.mark.parametrize("c", [FULL_RATE_F401, PAPER_CONFIGURATIONS[1]], ids=["pack", "spoken"])
def test_the_example_holds_every_word_and_checks_itself(c, fresh, tmp_path):
    firmware, _ = export_example(c, BOARDS["stm32f401"])
    words = ("yes", "no", "up") if c is FULL_RATE_F401 else ("yes", "no")
    counts = [firmware.samples_per_class[word] for word in words]
    assert min(counts) >= 16 and sum(counts) == sum(firmware.samples_per_class.values()) <= 50
    assert max(counts) - min(counts) <= 1 or sum(counts) < 50  # a start within the bound is not cut
    with zipfile.ZipFile(io.BytesIO(firmware.zip())) as archive:
        archive.extractall(tmp_path)
    folder = tmp_path / "tmlcd-firmware"
    assert {"LICENSE", "NOTICE", "stream.bin", "expected.txt"} <= {path.name for path in folder.iterdir()}
    assert (folder / "stream.bin").stat().st_size <= 300_000
    done = subprocess.run(["make", "-C", str(folder), "check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(("front_end", "learner"), [("word", "cit"), ("filter", "active")])
def test_the_example_has_the_front_end_and_the_learner_of_its_configuration(front_end, learner, tmp_path):
    c = FirmwareConfiguration(front_end=front_end, learner=learner, store="uint8", classes=4)
    firmware, _ = export_example(c, BOARDS["stm32f767"])
    assert firmware.configuration == c and set(firmware.samples_per_class.values()) == {2}
    make(firmware.write(tmp_path), "check")


def test_every_front_end_can_be_chosen_and_only_examples_are_exported():
    at = open_page(input="filter", on_chip="static")
    assert at.selectbox(key="input").options == list(INPUTS.values()) and set(FRONT_ENDS) < set(INPUTS)
    assert next(button for button in at.button if button.label == "Create C project").disabled
    assert any("There is no example" in caption.value for caption in at.caption)
    needed = budget(FirmwareConfiguration(front_end="filter", learner="static")).needed
    assert any(f"{needed:,}" in str(one) for one in shown(at).values())


def test_the_page_tells_the_samples_of_each_word(fresh):
    at = preset(open_page(target="STM32F401"), "on 96 KB")
    preset(at, "Create C project")
    assert not at.exception and not at.error
    told = next(caption.value for caption in at.caption if "T holds" in caption.value)
    assert "“yes”" in told and "“no”" in told and "no “stop” (forgotten, or not met yet" in told
    assert told.split(" Its README")[0].endswith("it has room for 50.")


def test_what_does_not_fit_is_a_message():
    at = open_page(target="STM32F401")
    preset(at, "Create C project")
    assert not at.exception
    assert "STM32F401" in at.error[0].value
    assert not at.get("download_button")


def test_another_configuration_takes_the_old_zip_away():
    at = preset(open_page(target="STM32F401"), "Table 2 (b)")
    preset(at, "Create C project")
    assert at.get("download_button")
    at.number_input(key="size").set_value(20).run()
    assert not at.get("download_button")


@pytest.mark.parametrize("c", [PAPER_CONFIGURATIONS[1], replace(FirmwareConfiguration(), filters=2, samples=5)])
def test_an_example_has_the_features_of_its_configuration(c, monkeypatch, fresh):
    monkeypatch.setattr("tmlcd_core.datasets.load_pack", no_pack)
    example = fit_example(c)
    assert example.extractor.n_features == c.features == example.model.n_features_in_
    assert len(example.model) <= c.samples


# ---------------------------------------------------------------- board in the loop


def board_steps(folder: Path, different: int | None = None) -> None:
    """Write the file of a run of 40 samples, as `tmlcd board --live` does; the decision `different` is not equal."""
    head = {"board": "stm32f401", "emulated": True, "learner": "hybrid", "classes": ["no", "yes"], "samples": 120,
            "threshold": 6.0, "change": 20}  # fmt: skip
    lines = [head]
    for i in range(40):
        board = {"prediction": i % 2, "time": i + 1, "size": 5 + i % 3, "alarm": int(i == 30), "change": 22 * (i == 30),
                 "unknown": 0, "cycles": 1_344, "stack": 400, "statistic": 0.1 * i}  # fmt: skip
        twin = {name: board[name] for name in ("prediction", "size", "change", "unknown", "statistic")}
        if i == different:
            twin["prediction"] = 1 - twin["prediction"]
        lines.append(
            {
                "sample": i,
                "cost": 1_000,
                "label": -1 if i == 0 else i % 2,
                "board": board,
                **twin,
                "equal": i != different,
            }
        )
    text = "\n".join(json.dumps(line) for line in lines)
    (folder / board_in_the_loop.LIVE).write_text(text + '\n{"half a li')


def test_without_qemu_the_board_in_the_loop_names_what_to_install(monkeypatch):
    monkeypatch.setattr(board_in_the_loop, "missing_tools", lambda: "QEMU is not installed: apt-get install it")
    monkeypatch.setattr(board_in_the_loop, "offers_server_devices", lambda: False)
    at = open_page()
    assert not at.exception and any("QEMU is not installed" in one.value for one in at.info)
    assert any("board --port" in code.value for code in at.code)


@pytest.mark.parametrize("different", [None, 12])
def test_a_board_and_its_twin_are_shown_on_the_player(different, monkeypatch, tmp_path):
    """The player has the board's and the twin's curves; the table compares the decisions line by line."""
    board_steps(tmp_path, different)
    shown = []
    monkeypatch.setattr(board_in_the_loop, "missing_tools", lambda: None)
    monkeypatch.setattr(board_in_the_loop, "is_local_visitor", lambda: True)
    monkeypatch.setattr(board_in_the_loop, "player", lambda run, key: shown.append(run))
    work = board_in_the_loop.BackgroundCommand("a run that has ended")
    work.process = SimpleNamespace(poll=lambda: 0, returncode=0)
    work._folder = SimpleNamespace(name=str(tmp_path))
    monkeypatch.setattr(board_in_the_loop.BackgroundCommand, "of_visitor", lambda *_: work)
    at = open_page()
    assert not at.exception
    metrics = {metric.label: metric.value for metric in at.metric}
    assert metrics["Decisions that differ from Python"] == ("0" if different is None else "1")
    assert (metrics["Samples"], metrics["Alarms"]) == ("40", "1")
    (run,) = shown
    assert run.learners == ("Board", "Python twin") and run.length == 39  # the first sample has no label
    assert run.alarms["Board"] == (29,) == run.alarms["Python twin"] and run.change_points["Board"] == (20,)
    assert run.changes == (19,)
    accuracy = {name: hits.mean() for name, hits in run.correct.items()}
    assert accuracy["Board"] == 1 and (accuracy["Python twin"] == 1) == (different is None)
    differing = next(panel for panel in run.panels if panel.short == "different").curves["Board"]
    assert differing[-1] == (different is not None)
    assert run.pack()
    table = next(one.value for one in at.table if "Python" in one.value)
    assert list(table["Board"]) == list(table["Python"]) == ["yes", "no", "yes", "no", "yes"]


def test_the_command_of_the_page_is_one_that_the_command_line_takes(tmp_path):
    from tmlcd_core.cli.board import register
    from tmlcd_core.cli.command import _Parser

    parser = _Parser()
    register(parser.add_subparsers())
    for device in (["--emulate"], ["--port=/dev/ttyACM0", f"--project={tmp_path}"]):
        arguments = ["board", *device, *board_in_the_loop.DRIFT, "--live=x", "--out", "y"]
        options = parser.parse_args(arguments)
        assert options.swap and options.live == Path("x") and options.emulate == (options.port is None)


def test_a_connected_board_needs_the_folder_of_its_project(monkeypatch, tmp_path):
    monkeypatch.setattr(board_in_the_loop, "missing_tools", lambda: "QEMU is not installed: apt-get install it")
    monkeypatch.setattr(board_in_the_loop, "offers_server_devices", lambda: True)
    at = open_page()
    assert not at.exception and any("There is no stream.bin in" in one.value for one in at.info)
    assert not any(button.label == "Run" for button in at.button)
    (tmp_path / "stream.bin").write_bytes(b"")
    at.text_input(key="board:project").set_value(str(tmp_path)).run()
    assert not at.exception and any(button.label == "Run" for button in at.button)


def test_the_page_says_what_each_board_can_do():
    at = open_page()
    said = next(m.value for m in at.markdown if "right with your voice" in m.value)
    for choice in board_choices():
        assert (f"**{choice.board.title}**: {choice.title}. {choice.accuracy.same_voice:.1%}" in said) == choice.best
    assert len(at.table[0].value) == len(board_choices()) == 12
    assert any(board_choices()[0].accuracy.how in caption.value for caption in at.caption)
    told = next(caption.value for caption in at.caption if caption.value.startswith("Page and chip"))
    for one in {choice.front_end: choice for choice in board_choices() if choice.front_end != "clip"}.values():
        assert f"{one.accuracy.page_same:.1%} and {one.accuracy.same_voice:.1%}" in told
        assert f"{one.accuracy.different:,} predictions differ" in told


@pytest.mark.parametrize(
    "link", ["data=points&lambda=3", "data=digits&lambda=2", "data=pack&h=20", "data=pack&set=storage=uint8"]
)
def test_the_drift_lab_s_links_open_the_memory_of_that_run(link):
    """A sample in T has as many bytes here as in the lab, and T as many samples."""
    at = open_lab(f"{link}&per_class=60&train=10&learners=hybrid&learners=active&learners=static")
    good = at.session_state["lab good"]
    for learner in good.experiment.learner_names:
        trace = good.trace(learner)
        size = int(trace.sizes[-1])
        page = open_page(**{key: str(value) for key, value in chip_settings(good, learner).items()}, size=str(size))
        assert not page.exception and not page.error and not page.toast
        found = page.session_state["stm32:configuration"]
        assert (found.learner, found.samples, found.features) == (learner, size, good.stream.X.shape[1])
        row = next(item for item in budget(found).rows if item.name == "Training set T")
        assert row.bytes == size * trace.memory.sample_bytes


def open_lab(link: str) -> AppTest:
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).run()
    for key, values in parse_qs(link).items():
        at.query_params[key] = values
    return at.switch_page("pages/drift_lab.py").run()
