"""The Drift lab in a real Chromium: settings, links, the sample under the cursor, many runs, exports, uploads."""

import csv
import io
import re
import shutil

import pytest
from playwright.sync_api import expect

from tests.pages.test_app_browser import (  # noqa: F401
    WAIT,
    browser,
    data,
    drawn_time,
    paused,
    pixels,
    row,
    settle,
    visit,
    with_player,
)
from tests.pages.test_drift_lab import BAD, pictures, zipped
from tests.support.appserver import serve
from tmlcd_core.experiments import Experiment
from tmlcd_core.viz.lab import figures

pytestmark = pytest.mark.browser
if shutil.which("chromium") is None:
    pytest.skip("*** NO CHROMIUM: the browser tests are skipped ***", allow_module_level=True)

QUICK = "drift-lab?data=Points+in+the+plane&per_class=150&train=20"
ENDLESS = """
import time
from tmlcd_core.learners import CondensingInTime, LearnerEntry, register_learner
from tmlcd_core.progress import report_step

class Endless(CondensingInTime):
    def run(self, X, y=None):
        while len(self.classes_) > 2:
            report_step(0, 1, "samples")
            time.sleep(0.01)
        return super().run(X, y)

class Slow(CondensingInTime):
    def run(self, X, y=None):
        for _ in range(30):
            report_step(0, 1, "samples")
            time.sleep(0.01)
        return super().run(X, y)

register_learner(LearnerEntry("endless", "never ends with three classes", Endless, in_lab=True))
register_learner(LearnerEntry("slow", "takes its time", Slow, in_lab=True))
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The app with a learner that never ends and one that takes its time."""
    (plugin := tmp_path_factory.mktemp("plugin") / "endless.py").write_text(ENDLESS)
    with serve(options=["--", "--plugin", str(plugin)]) as address:
        yield address


def redrawn(page, digest):
    """Wait for another run in the player; its digest."""
    player = page.locator(".player").first.element_handle()
    page.wait_for_function(f"player => player.dataset.digest !== {digest!r}", arg=player)
    settle(page)
    return data(page, "digest")


def move(page, name, key="ArrowRight"):
    page.get_by_role("slider", name=name).focus()
    page.keyboard.press(key)


def test_settings_change_the_curves_keep_the_place_and_make_a_link(server, visit):  # noqa: F811
    page = with_player(visit, f"{server}/{QUICK}")
    paused(page, 250)
    page.get_by_role("heading", name="Sample 250").wait_for()
    first, picture = data(page, "digest"), pixels(page, 2)
    move(page, "Alarm level (h)")
    second = redrawn(page, first)
    assert pixels(page, 2) != picture, "the threshold is drawn"
    move(page, "Classes (λ)")
    third = redrawn(page, second)
    assert len({first, second, third}) == 3
    assert drawn_time(page) == 250
    expect(page.locator(".player [aria-live]")).to_contain_text("Sample 250 of 450.", timeout=WAIT)
    assert "h=26" in page.url and "lambda=3" in page.url
    page.goto(page.url)  # a new session
    page.wait_for_selector(".player[data-time]")
    settle(page)
    assert data(page, "digest") == third


def test_the_inspector_follows_the_player_to_the_end_of_a_longer_run(server, visit):  # noqa: F811
    page = with_player(visit, f"{server}/{QUICK}")
    page.locator(".player").first.focus()
    page.keyboard.press("End")
    page.get_by_role("heading", name="Sample 299: a point of").wait_for()
    digest = data(page, "digest")
    for last in (449, 599, 749):
        move(page, "Classes (λ)")
        digest = redrawn(page, digest)
        page.get_by_role("heading", name=f"Sample {last}: a point of").wait_for()
        assert drawn_time(page) == last
        expect(page.get_by_role("heading", name=re.compile("^Sample"))).to_have_count(1, timeout=WAIT)
    move(page, "Classes (λ)", "ArrowLeft")
    redrawn(page, digest)
    page.get_by_role("heading", name="Sample 599: a point of").wait_for()


def test_the_live_table_at_the_end_shows_the_figures_of_the_run(server, visit):  # noqa: F811
    """A gradual change, during which the Active raises more than one alarm."""
    experiment = Experiment("points", drift="labels-swapped", over=0.8, seed=2)
    stream = experiment.stream()
    runs = experiment.run_stream(stream).learners
    figured = figures({name: one.metrics for name, one in runs.items()})
    page = with_player(visit, f"{server}/drift-lab?data=points&drift=labels-swapped&over=80&seed=2")
    paused(page, len(stream) - 1)
    for name, words in {
        "false alarms": "false alarms", "delay": "samples until the alarm", "recovery": "samples until recovered",
    }.items():  # fmt: skip
        assert row(page, name) == [[cells[figured[""].index(words)] for key, cells in figured.items() if key]], name
    assert len(runs["active"].detections) > 1 and runs["active"].metrics.false_alarms == 0
    assert runs["active"].metrics.unrecovered == 1, "it ends far below where it was"


def test_the_sample_under_the_cursor_and_a_session_of_ones_own(server, visit):  # noqa: F811
    one, other = (with_player(visit, f"{server}/drift-lab?data=Handwritten+digits") for _ in range(2))
    digest = data(other, "digest")
    paused(one, 40)
    one.get_by_role("heading", name="Sample 40").wait_for()
    one.locator("[data-testid=stImage] img").first.wait_for()
    one.get_by_test_id("stMain").get_by_text("Hybrid Tiny kNN").first.wait_for(state="attached")
    move(one, "Alarm level (h)")
    redrawn(one, digest)
    assert data(other, "digest") == digest
    assert other.get_by_role("heading", name="Sample 40").count() == 0


def test_a_sound_and_its_neighbours_can_be_heard(server, visit):  # noqa: F811
    page = with_player(visit, f"{server}/drift-lab?per_class=150&train=20&learners=Hybrid+Tiny+kNN")
    paused(page, 40)
    page.get_by_role("heading", name="Sample 40").wait_for()
    page.locator("audio").first.wait_for(state="attached")
    expect(page.locator("audio")).to_have_count(1, timeout=WAIT)
    page.get_by_role("radio", name="2", exact=True).click()
    page.wait_for_function("() => document.querySelectorAll('audio').length === 2")
    sources = page.locator("audio").evaluate_all("all => all.map(audio => audio.src)")
    assert len(set(sources)) == 2
    for source in sources:
        assert page.request.get(source).body().startswith(b"RIFF")


def test_twenty_runs_with_bands_and_a_cancel_that_works(server, visit):  # noqa: F811
    page = with_player(visit, f"{server}/{QUICK}&learners=slow")
    digest = data(page, "digest")
    page.get_by_role("radio", name="20 runs").click()
    page.get_by_text(re.compile(r"^Run \d+ of 20")).first.wait_for()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0, timeout=WAIT)
    settle(page)
    page.wait_for_function("() => !location.search.includes('bands')")
    assert data(page, "digest") == digest
    page.goto(f"{server}/{QUICK}&learners=hybrid")
    page.wait_for_selector(".player[data-time]")
    settle(page)
    single = data(page, "digest")
    page.get_by_role("radio", name="20 runs").click()
    page.wait_for_url("**bands=true**")
    redrawn(page, single)
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0, timeout=WAIT)
    page.get_by_text("Detailed results").click()
    page.locator("[data-testid=stDataFrame]").first.wait_for()


def test_exports_hold_what_the_screen_shows(server, visit):  # noqa: F811
    page = with_player(visit, f"{server}/{QUICK}&seed=4")
    paused(page, 299)
    shown = row(page, "accuracy")[-1]
    with page.expect_download() as download:
        page.get_by_role("button", name="Trace as CSV").click()
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text(encoding="utf-8"))))
    assert len(rows) == int(data(page, "length")) == 300
    for name, accuracy in zip(("cit", "active", "hybrid"), shown, strict=True):
        assert float(accuracy) == pytest.approx(sum(int(row[f"{name}_correct"]) for row in rows) / 300, abs=6e-4)
    page.get_by_text("Run as Python").click()
    names: dict = {}
    exec(page.get_by_test_id("stCode").filter(has_text="import Experiment").inner_text(), names)
    for name in ("cit", "active", "hybrid"):
        predictions = names["outcome"].learners[name].trace.predictions
        assert predictions.tolist() == [row[f"{name}_predicted"] for row in rows]
    for kind in ("PNG", "SVG"):
        with page.expect_download() as download:
            page.get_by_role("button", name=f"Save the charts as {kind}").click()
        assert download.value.path().stat().st_size > 1000


def test_bad_and_good_uploads(server, visit, tmp_path):  # noqa: F811
    page = visit(f"{server}/drift-lab?data=Upload+a+zip&per_class=100")
    field = page.locator("[data-testid=stFileUploaderDropzoneInput]")
    reasons = {"traversal": "leads out of its folder", "wrong types": "no clips or images", "bomb": "unpacks to more"}
    for name, reason in reasons.items():
        field.set_input_files({"name": f"{name}.zip", "mimeType": "application/zip", "buffer": BAD[name]})
        page.locator("[data-testid=stAlert]", has_text=reason).wait_for()
        settle(page)
        expect(page.locator("[data-testid=stAlert]")).to_have_count(1, timeout=WAIT)
        assert page.locator("[data-testid=stException]").count() == page.locator(".player").count() == 0
    field.set_input_files({"name": "mine.zip", "mimeType": "application/zip", "buffer": zipped(pictures(50))})
    page.wait_for_selector(".player[data-time]")
    expect(page.locator("[data-testid=stAlert]", has_text="unpacks")).to_have_count(0, timeout=WAIT)
    expect(page.get_by_text("mine.zip contains image of 3 classes")).to_have_count(1, timeout=WAIT)


def test_hostile_words_are_text(server, visit):  # noqa: F811
    words = "words=%22%27%3Cimg+src%3Dx%3E&words=![a](http://example.com/x.png)"
    page = with_player(visit, f"{server}/drift-lab?data=Spoken+words&per_class=100&train=5&{words}")
    assert page.locator("img[src*=example]").count() == 0
    assert page.locator("[data-testid=stException]").count() == 0


STORY = re.compile("Hybrid noticed after 49 samples, dropped 110 of 148")


def test_the_start_tells_its_story_and_its_address_holds_it(server, visit):  # noqa: F811
    page = with_player(visit, f"{server}/drift-lab", reduced_motion="reduce")  # it does not play by itself
    assert drawn_time(page) == 500, "shortly before the change"
    page.wait_for_url("**per_class=750**")
    assert Experiment.from_link(page.url) == Experiment.from_link("/drift-lab")
    assert page.locator(".player .card").count() == 4
    paused(page, 700)
    expect(page.locator(".player .story")).to_have_text("Nothing has changed yet.")
    expect(page.locator(".player .chip:visible")).to_have_text(["Change 750"])
    page.locator(".player .jump", has_text="Change 750").click()
    assert drawn_time(page) == 750
    place = page.locator(".player .body").evaluate("body => body.offsetTop")
    paused(page, 1499)
    expect(page.locator(".player .story")).to_have_text(STORY)
    expect(page.locator(".player .chip:visible")).to_have_count(6)
    assert page.locator(".player .body").evaluate("body => body.offsetTop") == place, "longer texts move nothing"
    expect(page.locator(".player .story")).to_contain_text("At 750 “up” and “yes” swapped. Static never recovered.")
    metrics = Experiment.from_link(page.url).run().learners["hybrid"].metrics
    page.locator(".player .jump", has_text="Hybrid recovered").click()
    assert drawn_time(page) == 750 + metrics.recovery - 1
    link = page.locator(".player .chip", has_text="Hybrid alarm").locator("a")
    link.click()
    page.wait_for_url("**/inside-cusum?**sample=799**")
    page.get_by_text("After sample 799").first.wait_for()


def test_undo_reset_and_a_drift_at_the_cursor(server, visit):  # noqa: F811
    page = with_player(visit, f"{server}/{QUICK}&drift=none&learners=hybrid&learners=static")
    paused(page, 101)
    first, cards = data(page, "digest"), page.locator(".player .card").all_text_contents()
    page.locator(".player .world").select_option("labels-swapped")
    second = redrawn(page, first)
    assert drawn_time(page) == 102
    page.wait_for_url("**added=labels-swapped%40102**")
    assert "drift=none" in page.url
    expect(page.locator(".player .story")).to_contain_text("At 102")
    paused(page, 101)
    expect(page.locator(".player .card")).to_have_text(cards)  # what was seen stays as it was
    page.get_by_role("button", name="Undo").click()
    page.wait_for_url(lambda url: "added" not in url)
    assert redrawn(page, second) == first
    page.get_by_role("button", name="Keep this run").click()
    move(page, "Classes (λ)")
    redrawn(page, first)
    expect(page.locator(".player .kept").first).to_contain_text("kept: ")
    page.get_by_role("button", name="Reset").click()
    page.wait_for_url(lambda url: Experiment.from_link(url) == Experiment.from_link("/drift-lab"))


def test_tandem_is_one_click_away(server, visit):  # noqa: F811
    page = with_player(visit, f"{server}/{QUICK}")
    first, button = data(page, "digest"), page.get_by_role("button", name="Compare with Tandem too")
    button.click()
    second = redrawn(page, first)
    page.wait_for_url("**learners=tandem**")
    expect(page.locator(".player .card", has_text="Tandem learner")).to_have_count(1)
    expect(button).to_be_hidden()
    page.get_by_role("button", name="Undo").click()
    assert redrawn(page, second) == first


def test_a_run_that_does_not_end_can_be_cancelled(server, visit):  # noqa: F811
    page = with_player(visit, f"{server}/{QUICK}&learners=endless")
    first = data(page, "digest")
    for number in range(2):  # a second time too: nothing of the first run is in the way
        move(page, "Classes (λ)")
        page.wait_for_url("**lambda=3**")
        page.get_by_role("button", name="Cancel").click()
        page.wait_for_url(lambda url: "lambda" not in url)
        expect(page.get_by_role("button", name="Cancel")).to_have_count(0, timeout=WAIT)
        settle(page)
        assert data(page, "digest") == first, number
    page.goto(f"{server}/{QUICK}&learners=endless&lambda=4")  # no earlier run to go back to
    page.get_by_role("button", name="Cancel").click()
    page.wait_for_url(lambda url: "endless" not in url and "drift=labels-swapped" in url)
    page.wait_for_selector(".player[data-time]")


def test_the_picture_shows_t_and_its_samples(server, visit):  # noqa: F811
    page = with_player(visit, f"{server}/{QUICK}&drift=labels-swapped&learners=hybrid&learners=static")
    paused(page, 140)
    planes = page.locator("canvas.plane")
    assert planes.count() == 2
    draw = "canvas => canvas.toDataURL()"
    before = [planes.nth(one).evaluate(draw) for one in range(2)]
    paused(page, 299)
    assert all(planes.nth(one).evaluate(draw) != before[one] for one in range(2))
    box = page.locator("canvas.chart").first.bounding_box()
    assert box["height"] >= 280
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
    expect(page.locator(".player .tip")).to_contain_text(re.compile(r"Sample 1\d\d: accuracy.*Hybrid.*Static"))


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1920, 1080)])
def test_the_presenters_view_fills_the_screen(width, height, server, visit):  # noqa: F811
    page = with_player(visit, f"{server}/drift-lab?presenter=true", width, height)
    paused(page, 900)
    settle(page)
    bottom = page.locator(".player .controls").evaluate("one => one.parentElement.getBoundingClientRect().bottom")
    assert 0.9 * height < bottom <= height + 2


def test_a_sample_of_the_picture_can_be_seen_and_heard(server, visit):  # noqa: F811
    page = with_player(visit, f"{server}/drift-lab?per_class=150&train=20&learners=hybrid&data=speech")
    paused(page, 40)
    page.locator("canvas.plane").first.evaluate(
        """canvas => {
            const box = canvas.getBoundingClientRect();
            for (let x = 4; x < box.width; x += 6) for (let y = 4; y < box.height; y += 6) {
                canvas.dispatchEvent(new MouseEvent("click", { clientX: box.left + x, clientY: box.top + y }));
                if (!canvas.getRootNode().querySelector(".tip").hidden) return;
            }
        }"""
    )
    page.locator(".player[data-media='1']").wait_for()
    assert page.locator(".player .tip img").get_attribute("src").startswith("data:image/png")
    page.locator(".player[data-played='1']").wait_for()
