"""The tour on Home: its numbers are those of the stored run, and it can be taken, left and linked."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.test_app_browser import browser, server, settle, visit  # noqa: F401
from tmlcd_core.experiments import Experiment
from tmlcd_core.mcu import BOARDS, FULL_RATE_F401, budget
from tmlcd_core.viz.showcase import load_showcase
from tmlcd_core.viz.tour import tour_stops

ROOT = Path(__file__).parents[2]


def opened(step: str) -> AppTest:
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    at.query_params["tour"] = step
    return at.run()


def test_every_number_of_the_tour_is_measured_again():
    change, notice, chip, _ = tour_stops(load_showcase())
    outcome = Experiment.from_link("").run()  # the experiment with which the lab starts
    [at] = outcome.changes
    static, hybrid = outcome.learners["static"], outcome.learners["hybrid"]
    assert [static.correct[:at].mean(), static.correct[at:].mean()] == pytest.approx(
        [float(share) / 100 for share in re.findall(r"\*\*(\d+)%\*\*", change.text)], abs=0.005
    )
    assert f"sample {at:,}" in change.text
    alarm = hybrid.detections[0]
    lost, held = hybrid.trace.membership.dropped(int(alarm))
    said = re.findall(r"\*\*([^*]+)\*\*", notice.text)
    assert said == [f"{alarm - at}", f"{lost} of its {held}", f"{hybrid.metrics.recovery:.0f}"]
    curves = {line.name: line.y for line in notice.picture.data}
    assert len(curves) == 2 and all(len(curve) == len(hybrid.correct) for curve in curves.values())
    assert f"{budget(FULL_RATE_F401).needed:,} bytes" in chip.text
    smallest = min(BOARDS.values(), key=lambda board: board.ram)
    assert smallest.title in chip.text and budget(FULL_RATE_F401).needed <= smallest.ram
    assert np.isfinite(static.correct).all()


def test_the_tour_goes_on_back_and_ends():
    at = opened("1")
    assert not at.exception and "1 of 4 · What changes?" in [one.value for one in at.subheader]
    for heading in ("Who notices?", "Does it fit the chip?", "Your turn"):
        at.button(key="tour next").click().run()
        assert not at.exception and heading in at.subheader[0].value
    assert not [one for one in at.button if one.key == "tour skip"]
    at.button(key="tour back").click().run()
    assert at.subheader[0].value.startswith("3 of 4")
    at.button(key="tour skip").click().run()
    assert not at.subheader and at.get("bidi_component"), "Home is back"


@pytest.mark.parametrize(("step", "shown"), [("99", "4 of 4"), ("0", ""), ("x", ""), ("-1", ""), ("9" * 400, "4 of 4")])
def test_a_strange_step_opens_one_that_exists(step, shown):
    at = opened(step)
    assert not at.exception
    assert [one.value[:6] for one in at.subheader] == ([shown] if shown else [])


@pytest.mark.browser
@pytest.mark.skipif(shutil.which("chromium") is None, reason="*** NO CHROMIUM ***")
@pytest.mark.parametrize(("width", "height", "scheme"), [(1440, 900, "light"), (390, 844, "dark")])
def test_a_visitor_takes_the_tour_with_the_keyboard(width, height, scheme, server, visit):  # noqa: F811
    page = visit(server, width, height, color_scheme=scheme)
    stops = tour_stops(load_showcase())
    start = page.get_by_role("button", name="60-second tour")
    start.focus()
    page.keyboard.press("Enter")
    for step in range(1, 4):
        page.get_by_role("heading", name=f"{step} of 4").wait_for()
        page.get_by_label(stops[step - 1].alt, exact=True).wait_for()
        settle(page)
        main = page.locator("[data-testid=stMain]")
        assert main.evaluate("main => main.scrollWidth - main.clientWidth") <= 0
        following = page.get_by_role("button", name="Next")
        following.focus()
        page.keyboard.press("Enter")
    page.get_by_role("heading", name="4 of 4").wait_for()
    page.reload()
    page.get_by_role("heading", name="4 of 4").wait_for()
    page.get_by_role("link", name="Take a lesson").click()
    page.wait_for_url("**/lessons")
