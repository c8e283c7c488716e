"""A student and a teacher take lessons in a browser."""

import shutil

import pytest

from pages.classroom import ADDRESSES
from pages.views.lessons.own import Task, link
from tests.pages.test_app_browser import browser, settle, visit  # noqa: F401
from tests.support.appserver import serve

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(shutil.which("chromium") is None, reason="*** NO CHROMIUM ***"),
]
HOSTILE = "<script>alert(1)</script> **bold** [x](http://example.org) $x$ :red[y] " + "long" * 30


@pytest.fixture(scope="module")
def server():
    """The app in a classroom."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ADDRESSES, "https://192.168.1.5:8501")
        with serve() as address:
            yield address


def test_a_student_takes_a_lesson_with_the_keyboard_alone(server, visit):  # noqa: F811
    page = visit(f"{server}/lessons")
    start = page.get_by_role("link", name="Start: Passive against active")
    start.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/drift-lab?lesson=passive*")
    option = page.get_by_role("button", name="Active", exact=True)
    option.wait_for()
    settle(page)
    assert page.locator("canvas").count() == 0 and page.get_by_text("386").count() == 0, "nothing gives it away"
    option.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".player[data-time]")
    page.get_by_text("You predicted: Active").first.wait_for()
    assert "drift=labels-swapped" in page.url and "seed=1" in page.url, "the settings came through the wait"
    check = page.get_by_role("button", name="Check")
    check.focus()
    page.keyboard.press("Enter")
    told = page.get_by_role("alert").filter(has_text="The run says something else")
    told.wait_for()
    assert "386" in told.inner_text()
    page.reload()
    told.wait_for()
    page.get_by_role("link", name="Next question").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**step=2*drift=class-change*")
    page.get_by_text("question 2 of 2").first.wait_for()
    page.get_by_role("button", name="I do not know").wait_for()
    settle(page)
    page.goto(f"{server}/lessons")
    page.get_by_text("1 of 17 questions checked, 0 predicted right").first.wait_for()
    page.get_by_role("link", name="Continue: Passive against active").wait_for()
    other = visit(f"{server}/lessons")
    other.get_by_text("0 of 17 questions checked").first.wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_panel_fits_a_phone(scheme, server, visit):  # noqa: F811
    task = Task(HOSTILE, HOSTILE, (HOSTILE, "Two"), 1, explanation=HOSTILE)
    page = visit(f"{server}/{link('stm32', {}, task)}", 390, 844, color_scheme=scheme)
    panel = page.locator(".st-key-lesson")
    panel.get_by_role("button", name="Two").click()
    panel.get_by_role("button", name="Check").click()
    panel.get_by_role("status").filter(has_text="You were right. The right answer: Two").wait_for()
    settle(page)
    assert panel.locator("a:not(.lesson-link), script, .katex").count() == 0
    assert "**bold**" in panel.inner_text()
    main = page.locator("[data-testid=stMain]")
    assert main.evaluate("main => main.scrollWidth - main.clientWidth") <= 0, "long text wraps"


def test_the_teacher_sees_how_the_class_predicts_while_it_does(server, visit):  # noqa: F811
    teacher = visit(f"{server}/stm32?lesson=chip")
    teacher.get_by_text("Show how the class predicted").click()
    teacher.get_by_text("0 predictions so far").first.wait_for()
    student = visit(f"{server}/stm32?lesson=chip")
    for said in ("On all of them", "Only on the larger ones", "Only on the larger ones"):
        student.context.clear_cookies()  # another student
        student.goto(f"{server}/stm32?lesson=chip")
        student.get_by_role("button", name=said).click()
        student.get_by_text(f"You predicted: {said}").first.wait_for()
    teacher.get_by_text("3 predictions so far").first.wait_for()
    for counted in ("On all of them: 1", "Only on the larger ones: 2", "On none of them: 0"):
        teacher.get_by_text(counted, exact=True).first.wait_for()
    assert teacher.get_by_role("button", name="On all of them").is_visible(), "the teacher has not predicted"
