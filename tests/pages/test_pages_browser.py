"""Features and STM32 pages in a real Chromium: sound, sliders, uploads, downloads."""

import io
import re
import zipfile

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import TimeoutError, expect

from tests.pages.test_app_browser import WAIT, browser, frames, server, settle, visit  # noqa: F401
from tmlcd_core.mcu.qemu import missing_tools

pytestmark = pytest.mark.browser


def charts(page, count):
    """Wait until so many charts are drawn."""
    page.wait_for_function(f"() => document.querySelectorAll('.js-plotly-plot .main-svg').length >= {count}")
    settle(page)


def choose(page, label, option):
    """Open the menu, again if a late rerun of the page has closed it, and select the option."""
    entry = page.get_by_role("option", name=option, exact=True)
    for patience in (5_000, 5_000, 5_000, 20_000):  # ms
        page.get_by_role("combobox", name=label).click()
        try:
            entry.click(timeout=patience)
            break
        except TimeoutError:
            continue
    else:
        pytest.fail(f"the menu {label!r} did not stay open")
    settle(page)


# ---------------------------------------------------------------- from sound to features


def test_a_drift_at_the_source_from_the_menu_to_the_link(server, visit):  # noqa: F811
    page = visit(f"{server}/features")
    charts(page, 8)
    ranges = page.evaluate(
        "() => [...document.querySelectorAll('.js-plotly-plot')].slice(1, 3).map(p => p._fullLayout.yaxis.range)"
    )
    assert ranges == [[0, 11025], [0, 11025]], "low frequencies are at the bottom of both pictures"
    expect(page.locator("audio")).to_have_count(1, timeout=WAIT)
    choose(page, "Compare with", "A drift at the source")
    page.wait_for_url("**beside=*")
    page.get_by_text("distance between the two vectors").first.wait_for()
    expect(page.locator("audio")).to_have_count(2, timeout=WAIT)
    slider = page.get_by_role("slider", name="Strength")
    before = page.get_by_text("distance between the two vectors").inner_text()
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**amount=0.55*")
    page.wait_for_function("before => !document.body.innerText.includes(before)", arg=before)
    settle(page)
    distance = page.get_by_text("distance between the two vectors")
    after = distance.inner_text()
    page.goto(page.url)  # a new session
    expect(distance).to_have_text(after, timeout=WAIT)


def test_uploads_of_a_picture_and_of_garbage(server, visit):  # noqa: F811
    page = visit(f"{server}/features?medium=Your+file")
    pixels = np.random.default_rng(0).integers(0, 256, (120, 90, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(png := io.BytesIO(), "PNG")
    give = page.locator("[data-testid=stFileUploaderDropzoneInput], input[type=file]").first
    give.set_input_files({"name": "a.png", "mimeType": "image/png", "buffer": png.getvalue()})
    page.get_by_text("120 × 90 × 3 → 224 × 224 × 3").first.wait_for()
    give.set_input_files({"name": "b.wav", "mimeType": "audio/wav", "buffer": b"<script>alert(1)</script>" * 9})
    page.locator("[data-testid=stSidebar]").get_by_text("cannot be decoded").first.wait_for()
    assert page.get_by_text("120 × 90 × 3 → 224 × 224 × 3").count() == 1, "the last good one stays"


# ---------------------------------------------------------------- STM32


def test_a_button_takes_the_page_to_the_papers_other_table(server, visit):  # noqa: F811
    page = visit(f"{server}/stm32")
    number = page.get_by_role("cell", name="370,744")
    assert number.evaluate("cell => getComputedStyle(cell).textAlign") == "right"
    page.get_by_role("button", name=re.compile(r"Table 2 \(b\)")).click()
    page.get_by_role("cell", name="77,140").wait_for()
    page.wait_for_url("**hz=4410*")
    page.goto(page.url)  # a new session
    page.get_by_role("cell", name="77,140").wait_for()


def test_bad_numbers_are_named_beside_the_widget(server, visit):  # noqa: F811
    page = visit(f"{server}/stm32?own=true")
    sidebar = page.locator("[data-testid=stSidebar]")
    for label, value, said in (("Hop", "0", "hop=0"), ("|T|", "1000000000", "samples=1000000000")):
        box = sidebar.get_by_role("spinbutton", name=label)
        good = box.input_value()
        box.fill(value)
        box.press("Enter")
        sidebar.get_by_text(said).first.wait_for()
        page.get_by_role("cell", name="370,744").wait_for()
        box.fill(good)
        box.press("Enter")
        sidebar.get_by_text(said).wait_for(state="detached")
    sidebar.get_by_role("spinbutton", name="RAM (KB)").fill("0")
    sidebar.get_by_role("spinbutton", name="RAM (KB)").press("Enter")
    sidebar.get_by_text("ram=0").first.wait_for()
    assert page.locator("[data-testid=stException]").count() == 0


def test_the_zip_comes_down_and_opens(server, visit):  # noqa: F811
    page = visit(f"{server}/stm32?layout=streamed&store=uint8&target=STM32F401")
    page.get_by_role("button", name="Create C project").click()
    with page.expect_download() as download:
        page.get_by_role("button", name=re.compile("tmlcd-stm32f401.zip")).click()
    archive = zipfile.ZipFile(download.value.path())
    assert archive.testzip() is None
    needed = page.locator("tr", has_text="with all that is marked").locator("td").nth(2).inner_text()
    assert needed in archive.read("tmlcd-firmware/README.md").decode()
    assert {"tmlcd-firmware/Makefile", "tmlcd-firmware/model.c"} <= set(archive.namelist())


def test_the_firmware_comes_down_as_a_page(server, visit):  # noqa: F811
    page = visit(f"{server}/stm32?target=STM32F401")
    page.get_by_role("button", name="Create web page").click()
    with page.expect_download() as download:
        page.get_by_role("button", name=re.compile("words.html")).click()
    text = download.value.path().read_text("utf-8")
    assert "My words: yes, no, up, stop" in text and "What the STM32F401 would do" in text


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_emulated_board_is_a_click_away(server, visit):  # noqa: F811
    """The button starts QEMU; board and twin grow on the player, every decision is equal, and the drift is noticed."""
    if missing := missing_tools():
        pytest.skip(missing)
    page = visit(f"{server}/stm32")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_role("button", name="Cancel", exact=True)).to_be_enabled(timeout=WAIT)
    shown = page.locator("section.player[aria-label*='beside its Python twin']")
    shown.first.wait_for(timeout=300_000)  # while the board runs, or after it on a fast machine
    samples = page.get_by_test_id("stMetric").filter(has_text="Samples").get_by_test_id("stMetricValue")
    expect(samples).to_have_text("120", timeout=500_000)
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_enabled(timeout=WAIT)
    found = page.get_by_test_id("stMetric").filter(has_text="Decisions that differ from Python")
    expect(found.get_by_test_id("stMetricValue")).to_have_text("0", timeout=WAIT)
    alarms = page.get_by_test_id("stMetric").filter(has_text="Alarms")
    expect(alarms.get_by_test_id("stMetricValue")).not_to_have_text("0", timeout=WAIT)
    expect(shown).to_have_count(1, timeout=WAIT)
    expect(shown.locator(".clock")).to_contain_text("11", timeout=WAIT)  # the cursor is at the end
    expect(shown.locator(".story")).to_contain_text("swapped their meaning", timeout=WAIT)
    expect(page.get_by_role("columnheader", name="Alarm, Python")).to_be_visible(timeout=WAIT)
