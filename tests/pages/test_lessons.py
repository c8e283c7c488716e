"""Lessons: their links open what they name, and every number and statement of theirs is measured again."""

import re
import shutil
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.shell.navigation import PAGES
from pages.views.lessons import LESSONS, Lesson, link
from pages.views.lessons.own import LIMITS, plain
from tmlcd_core.detectors import calibrate_threshold, threshold_table
from tmlcd_core.experiments import Experiment, LearnerRun
from tmlcd_core.mcu import BOARDS, PAPER_CONFIGURATIONS, accuracy_of, budget, what_fits
from tmlcd_core.viz import cusum

ROOT = Path(__file__).parents[2]
TIMEOUT = 180
LOADED = {page.url: page.file for page in PAGES}
PASSIVE, MEMORY, THRESHOLD, NOISE, CHIP = LESSONS


def opened(address: str) -> AppTest:
    """The page that an address opens."""
    parts = urlsplit(address)
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT).run()
    for key, values in parse_qs(parts.query).items():
        at.query_params[key] = values
    return at.switch_page(LOADED[parts.path]).run()


def value_of(at: AppTest, key: str):
    found = [w.value for kind in (at.slider, at.selectbox, at.number_input, at.multiselect, at.select_slider, at.toggle)
             for w in kind if w.key == key]  # fmt: skip
    assert len(found) == 1, key
    return found[0]


LINKS = {f"{lesson.title}, {name}": (getattr(lesson, f"{name}_link"), settings)
         for lesson in LESSONS for name, settings in (("first", lesson.open), ("second", lesson.changed))}  # fmt: skip


@pytest.fixture(scope="module")
def pages() -> dict[str, AppTest]:
    """The page of each link, opened on first use."""

    class Opened(dict):
        def __missing__(self, address: str) -> AppTest:
            self[address] = opened(address)
            return self[address]

    return Opened()


@pytest.mark.parametrize("name", LINKS)
def test_a_link_opens_the_page_with_the_settings_it_names(name, pages):
    address, settings = LINKS[name]
    at = pages[address]
    assert not at.exception and not at.error and not at.toast
    for key, wanted in settings.items():
        shown = value_of(at, key)
        if isinstance(wanted, list):
            assert shown == wanted
        else:
            assert str(shown) == wanted or float(shown) == float(wanted), key
    texts = [text.value for text in at.text]
    assert texts == [parse_qs(urlsplit(address).query)[key][0] for key in LIMITS], "title and question stand on top"


# ---------------------------------------------------------------- what the answers say


def percent(share: float, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f} %"


def kilobytes(n: int) -> str:
    return f"{n / 1024:,.0f} KB"


class Run:
    """An experiment of the Drift lab, run with the core alone."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.stream = self.experiment.stream()
        self.change = self.stream.changes[0]
        self.traces = {name: one.trace for name, one in self.experiment.run_stream(self.stream).learners.items()}

    def metrics(self, name: str):
        settings = self.settings(name)
        window = int(settings.get("window", 0))
        return LearnerRun.of(self.traces[name], self.stream, window, np.nan, "detector" in settings).metrics

    def settings(self, name: str):
        return self.experiment.learner_settings(name, self.stream.scenario)

    def right(self, name: str, before: bool = False) -> float:
        return self.right_in(name, slice(0, self.change) if before else slice(self.change, None))

    def right_in(self, name: str, part: slice) -> float:
        return float((self.traces[name].predictions == self.stream.y)[part].mean())

    def delay(self, name: str) -> int:
        """Samples from the change to the first alarm after it, as the page counts them."""
        return int(self.metrics(name).delay)


def run_again(at: AppTest) -> Run:
    return Run(at.session_state["lab good"].experiment)


def test_passive_against_active(pages):
    swap, replaced = run_again(pages[PASSIVE.first_link]), run_again(pages[PASSIVE.second_link])
    names = ("cit", "active", "hybrid")
    back = {name: swap.metrics(name).recovery for name in names}
    [delay] = {swap.delay("active"), swap.delay("hybrid")}
    [alarm] = replaced.traces["active"].detections
    wait = slice(replaced.change, alarm + 1)
    assert PASSIVE.facts == {
        "cit_back": f"{back['cit']:.0f}",
        "delay": f"{delay}",
        "active_back": f"{back['active']:.0f}",
        "hybrid_back": f"{back['hybrid']:.0f}",
        "wait": f"{wait.stop - wait.start}",
        "active_wait": percent(replaced.right_in("active", wait)),
        "cit_wait": percent(replaced.right_in("cit", wait)),
        "active_after": percent(replaced.right("active")),
        "cit_after": percent(replaced.right("cit")),
    }
    assert max(back, key=back.get) == "cit"
    assert all(0.88 < swap.right(name, before=True) < 0.94 for name in names), "about nine times in ten"
    assert all(swap.traces[name].change_points.tolist() == [swap.change] for name in ("active", "hybrid"))
    np.testing.assert_array_equal(replaced.traces["hybrid"].predictions, replaced.traces["cit"].predictions)
    assert min(names, key=replaced.right) == "active"
    rest = slice(alarm + 1, None)
    assert abs(replaced.right_in("active", rest) - replaced.right_in("cit", rest)) < 0.02, "afterwards as good"


def test_the_price_of_memory(pages):
    free, bound = run_again(pages[MEMORY.first_link]), run_again(pages[MEMORY.second_link])
    everything, cit = free.metrics("incremental"), free.metrics("cit")
    assert MEMORY.facts == {
        "bound": f"{bound.traces['cit'].sizes.max()}",
        "all_size": f"{everything.final_size:,}",
        "all_bytes": f"{everything.largest_bytes:,}",
        "all_after": percent(free.right("incremental")),
        "cit_after": percent(free.right("cit")),
        "cit_size": f"{cit.final_size}",
        "cit_bytes": f"{cit.largest_bytes:,}",
        "cit_small": percent(bound.right("cit")),
        "hybrid_small": percent(bound.right("hybrid")),
        "active_after": percent(free.right("active")),
        "active_small": percent(bound.right("active")),
        "window_bytes": f"{bound.metrics('active').window_bytes:,}",
    }
    after = {name: free.right(name) for name in free.traces}
    assert max(after, key=after.get) == "incremental"
    lost = {name: after[name] - bound.right(name) for name in ("cit", "active", "hybrid")}
    assert min(lost, key=lost.get) == "active", "who suffers least"
    assert bound.traces["hybrid"].sizes.max() == bound.traces["cit"].sizes.max() == 50
    assert (np.diff(free.traces["active"].sizes) != 0).sum() == len(free.traces["active"].detections)
    window, largest = bound.metrics("active").window_bytes, bound.metrics("active").largest_bytes
    assert 0.9 < window / largest < 1.1, "the window costs as much again"


def test_the_threshold(pages):
    at = pages[THRESHOLD.first_link]
    before, after, change = (value_of(at, key) for key in ("before", "after", "at"))
    batch, warmup, seed = (int(value_of(at, key)) for key in ("n", "xi", "sim_seed"))
    low, high = value_of(at, "h"), value_of(pages[THRESHOLD.second_link], "h")
    rows = {row.threshold: row for row in threshold_table(before, after, batch, warmup, 1000, (low, 25.0, high))}
    longer = calibrate_threshold(before, batch, 300, 1000, 0.01)
    [calm] = threshold_table(before, after, batch, 300, 1000, (longer,))
    hits = np.random.default_rng(seed).random(1500) < np.where(np.arange(1500) < change, before, after)

    def replayed(h: float) -> list[int]:
        return cusum.replay(hits, threshold=h, batch=batch, warmup=warmup, direction="both").alarms

    assert THRESHOLD.facts == {
        "at": str(change),
        "before": f"{before:g}",
        "after": f"{after:g}",
        "streams": "10,000",
        "low": f"{low:g}",
        "high": f"{high:g}",
        "usual": "25",
        "early": str(replayed(low)[0]),
        "horizon": "1,000",
        "rate_low": percent(rows[low].false_alarm_rate),
        "delay_low": f"{rows[low].mean_delay:.0f}",
        "rate_high": percent(rows[high].false_alarm_rate, 1),
        "delay_high": f"{rows[high].mean_delay:.0f}",
        "missed": percent(rows[high].missed, 1),
        "rate_usual": percent(rows[25.0].false_alarm_rate, 1),
        "delay_usual": f"{rows[25.0].mean_delay:.0f}",
        "warmup": str(warmup),
        "longer": "300",
        "calibrated": f"{calibrate_threshold(before, batch, warmup, 1000, 0.01):.1f}",
        "calibrated_longer": f"{longer:.1f}",
        "delay_longer": f"{calm.mean_delay:.0f}",
    }
    assert replayed(low)[0] < change and replayed(high) == [], "one too early, and the change missed"
    assert rows[high].false_alarm_rate <= 0.01
    assert at.metric[0].value == f"{rows[low].false_alarm_rate:.1%}", "the page shows the same number"


def test_noise_that_nobody_notices(pages):
    soft, loud = run_again(pages[NOISE.first_link]), run_again(pages[NOISE.second_link])
    settings, bound = soft.settings("active"), loud.settings("hybrid")["max_size"]
    seeds = range(20)
    softs, louds = ([Run(replace(run.experiment, seed=seed)) for seed in seeds] for run in (soft, loud))

    def alarms(runs: list[Run], name: str) -> str:
        return str(sum(bool((run.traces[name].detections >= run.change).any()) for run in runs))

    assert NOISE.facts == {
        "active_before": percent(soft.right("active", before=True)),
        "active_after": percent(soft.right("active")),
        "batches": str((len(soft.stream) - soft.change) // settings["batch"]),
        "active_g": f"{np.nanmax(soft.traces['active'].statistic):.0f}",
        "h": f"{settings['threshold']:g}",
        "cit_before": percent(soft.right("cit", before=True)),
        "cit_after": percent(soft.right("cit")),
        "active_delay": str(loud.delay("active")),
        **{f"{name}_loud": percent(loud.right(name)) for name in ("cit", "hybrid", "active")},
        "bound": str(bound),
        "seeds": str(len(seeds)),
        **{f"{name}_soft_alarms": alarms(softs, name) for name in ("active", "hybrid")},
        **{f"{name}_loud_alarms": alarms(louds, name) for name in ("active", "hybrid")},
    }
    assert not any(len(trace.detections) for trace in soft.traces.values())
    assert [len(loud.traces[name].detections) for name in ("active", "hybrid")] == [1, 0]
    assert loud.traces["active"].change_points.tolist() == [loud.change], "the clean words are thrown away"
    assert loud.traces["hybrid"].sizes[-1] == bound < loud.traces["cit"].sizes[-1], "some are pushed out"
    assert all(max(run.traces, key=run.right) == "cit" for run in louds)


def test_fit_it_on_the_chip(pages):
    plain_, small = (pages[a].session_state["stm32:configuration"] for a in (CHIP.first_link, CHIP.second_link))
    chip = BOARDS["stm32f401"]
    cost, cost_small = accuracy_of(plain_), accuracy_of(small)
    fits = {fit.board.name: fit for fit in what_fits(small)}
    assert CHIP.facts == {
        "needed_kb": kilobytes(budget(plain_).needed),
        "ram_kb": kilobytes(chip.ram),
        "size": str(plain_.samples),
        "needed": f"{budget(plain_).needed:,}",
        "ram": f"{chip.ram:,}",
        "needed_small": f"{budget(small).needed:,}",
        "largest": str(fits["stm32f401"].largest),
        "lost": f"{100 * cost.lost:.1f}",
        "lost_small": f"{100 * cost_small.lost:.1f}",
        "error": f"{100 * cost.error:.1f}",
        "reference": "200",
        "slow": f"{PAPER_CONFIGURATIONS[1].sample_rate:,}",
        "needed_slow": f"{budget(PAPER_CONFIGURATIONS[1]).needed:,}",
    }
    assert [fit.board.name for fit in what_fits(plain_) if not fit.fits] == ["stm32f401"]
    assert min(BOARDS.values(), key=lambda board: board.ram) is chip and fits["stm32f401"].fits
    sizes = {row.name: row.bytes for row in budget(plain_).rows if row.name != "Training set T"}
    assert set(sorted(sizes, key=sizes.get)[-2:]) == {"Audio", "Spectrogram"}, "two rows by far the largest"
    assert abs(cost.lost - cost_small.lost) < np.hypot(cost.error, cost_small.error)
    assert plain_ == PAPER_CONFIGURATIONS[0] and small == replace(plain_, layout="streamed", store="uint8")


NAMES = re.compile(r"STM32F401|\{\w+\}")


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.title)
def test_no_number_stands_outside_the_facts_and_no_fact_is_unused(lesson: Lesson):
    texts = [lesson.about, *lesson.watch, lesson.question, lesson.change, lesson.answer]
    for text in texts:
        assert not re.search(r"\d", NAMES.sub("", text)), text
    assert set(re.findall(r"\{(\w+)\}", " ".join(texts))) == set(lesson.facts)
    assert len(lesson.with_facts(lesson.question)) <= LIMITS["question"] and len(lesson.title) <= LIMITS["title"]
    assert len(lesson.with_facts(lesson.change)) <= LIMITS["question"]


def test_the_page_keeps_the_answer_closed():
    at = opened("lessons?lesson=The+threshold")
    assert not at.exception and at.segmented_control(key="lesson").value == "The threshold"
    [answer] = [e for e in at.expander if e.label == "Show answer"]
    assert not answer.proto.expanded
    assert THRESHOLD.with_facts(THRESHOLD.answer) in [m.value for m in answer.markdown]


# ---------------------------------------------------------------- a lesson of one's own

HOSTILE = "<script>alert(1)</script> **bold** [x](http://example.org) $x$ :red[y] https://example.org " + "long " * 99


@pytest.mark.parametrize("page", ["drift-lab", "inside-cusum", "stm32"])
def test_a_lesson_of_ones_own_holds_settings_title_and_question(page):
    key, value = {"drift-lab": ("h", 31.0), "inside-cusum": ("h", 31.0), "stm32": ("filters", 3)}[page]
    asked = {"drift-lab": {"data": "points", "h": "31"}, "inside-cusum": {"h": "31"}}.get(page)
    at = opened(link(page, asked or {"filters": "3"}, "old title", "old question"))
    at.text_input(key="own title").set_value("Übung & 1=2?")
    at.text_area(key="own question").set_value("Why?\n\nReally?").run()
    [made] = [c.value for c in at.code if "title=" in c.value]
    assert made.isascii() and " " not in made
    again = opened(made)
    assert not again.exception
    assert [text.value for text in again.text] == ["Übung & 1=2?", "Why? Really?"]
    assert value_of(again, key) == value
    if page == "drift-lab":
        assert value_of(again, "data") == "points"


def test_a_hostile_title_is_text_and_short():
    at = opened(link("stm32", {}, HOSTILE, HOSTILE))
    shown = [text.value for text in at.text]
    assert [len(text) for text in shown] == list(LIMITS.values())
    assert shown[1].startswith("<script>alert(1)</script> **bold**")
    assert not any("script" in m.value for m in at.markdown)
    assert plain(" a\n\n\tb  c ", 4) == "a b "


# ---------------------------------------------------------------- in a browser


@pytest.mark.browser
@pytest.mark.skipif(shutil.which("chromium") is None, reason="*** NO CHROMIUM ***")
def test_a_student_walks_through_a_lesson():
    from tests.support.appserver import chromium, serve

    def ready(page) -> None:
        page.set_default_timeout(60_000)
        page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
        page.wait_for_selector("h1")

    with serve() as address, chromium() as browser:
        context = browser.new_context(viewport={"width": 1280, "height": 720})
        page = context.new_page()
        page.goto(f"{address}/lessons")
        ready(page)
        answer = page.get_by_text("Forgetting pays where the past is wrong")
        assert not answer.is_visible()
        for button, says in (("Start experiment", PASSIVE.question), ("Start variation", PASSIVE.change)):
            with context.expect_page() as new:
                page.get_by_role("link", name=button, exact=True).click()
            lab = new.value
            ready(lab)
            assert lab.title() == "Drift lab · TML-CD Lab"
            lab.get_by_text(says).wait_for()
            lab.wait_for_selector(".player[data-time]")
        lab.get_by_role("slider", name="Alarm level (h)").focus()
        lab.keyboard.press("ArrowRight")
        lab.wait_for_url("**h=26*")
        lab.get_by_text("Make a lesson of these settings").click()
        lab.get_by_role("textbox", name="Title").fill("Mine")
        lab.keyboard.press("Enter")
        made = lab.get_by_test_id("stCode").filter(has_text="title=Mine").inner_text().strip()
        assert made.startswith(f"{address}/drift-lab?") and "h=26" in made and "old" not in made
        mine = context.new_page()
        mine.goto(made)
        ready(mine)
        assert mine.locator(".st-key-banner").inner_text().strip() == "Mine"
        assert mine.get_by_role("slider", name="Alarm level (h)").input_value() == "26"

        page.get_by_text("Show answer").click()
        answer.wait_for()
        page.get_by_text("Fit it on the chip").click()
        page.wait_for_url("**lesson=Fit*")
        page.get_by_text(CHIP.question).wait_for()

        hostile = context.new_page()
        hostile.goto(f"{address}/{link('stm32', {}, HOSTILE, HOSTILE)}")
        ready(hostile)
        banner = hostile.locator(".st-key-banner")
        assert banner.locator("a, b, strong, script, .katex").count() == 0
        assert "**bold**" in banner.inner_text()
        main = hostile.locator("[data-testid=stMain]")
        assert main.evaluate("main => main.scrollWidth - main.clientWidth") <= 0, "long text wraps"
