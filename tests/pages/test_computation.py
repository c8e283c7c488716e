"""Long computations: a visitor has one at a time, and short ones are never held up."""

import threading

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.web.server.starlette.starlette_app_utils import generate_xsrf_token_string

from pages.shell import computation
from pages.shell.computation import Busy, Computation, InSteps, claim, one_at_a_time


class Clock:
    """Clock that the test advances."""

    now = 100.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(computation, "time", clock)
    return clock


@pytest.fixture(autouse=True)
def at(monkeypatch):
    """Set the visitor and the tab of the following calls."""
    here = {"visitor": "a", "tab": "1"}
    monkeypatch.setattr(computation, "visitor", lambda: here["visitor"])
    monkeypatch.setattr(computation, "_tab", lambda: here["tab"])
    computation.close_all()
    yield lambda visitor, tab: here.update(visitor=visitor, tab=tab)
    computation.close_all()


def going(what="a run", **options):
    return Computation(what, lambda: True, **options)


def test_a_second_tab_is_told_what_still_runs(at):
    claim(going("twenty runs"))
    at("a", "2")
    with pytest.raises(Busy, match=r"^You already have a computation running \(twenty runs\)"):
        claim(going())
    at("b", "3")
    claim(going())


def test_a_finished_one_leaves_the_place(at):
    claim(Computation("done", lambda: False))
    at("a", "2")
    claim(going())


def test_the_script_of_a_tab_replaces_what_it_did_before(at):
    claim(going("old settings"))
    claim(going("new settings"))
    at("a", "2")
    with pytest.raises(Busy, match="new settings"):
        claim(going())


def test_a_process_is_replaced_by_nothing_while_it_runs(at):
    claim(going("the paper", is_process=True))
    with pytest.raises(Busy, match="the paper"):
        claim(going())


def test_short_computations_need_no_place(at, clock):
    claim(going("the paper", is_process=True))
    seen = []
    with one_at_a_time("a run", lambda *now: seen.append(now)) as tell:
        clock.now += computation.LONG - 0.1
        tell(1, 2, "half")
        clock.now += 0.2
        with pytest.raises(Busy):
            tell(2, 2, "too long")
    assert seen == [(1, 2, "half")]


def test_a_long_one_has_the_place_until_its_script_ends(at, clock):
    with pytest.raises(KeyError), one_at_a_time("a run", lambda *now: None) as tell:
        clock.now += 10
        tell(1, 2, "long")
        at("a", "2")
        with pytest.raises(Busy):
            claim(going())
        raise KeyError  # whatever ends it, also Streamlit's own exceptions
    claim(going())


def test_steps_keep_the_place_between_ticks_and_lose_it_when_the_tab_stops_ticking(at, clock):
    runs = InSteps("twenty runs")
    with runs.step():
        clock.now += 60  # however long a step takes
        at("a", "2")
        with pytest.raises(Busy):
            claim(going())
        at("a", "1")
    clock.now += 1
    at("a", "2")
    with pytest.raises(Busy):
        claim(going())
    clock.now += computation.RESTED
    claim(going())


def test_finished_steps_leave_the_place_at_once(at, clock):
    runs = InSteps("twenty runs")
    with runs.step():
        pass
    runs.finish()
    at("a", "2")
    claim(going())


def test_one_of_many_tabs_gets_the_place(at):
    got, start = [], threading.Barrier(8)

    def tab(number):
        start.wait()
        try:
            claim(going(is_process=True))
            got.append(number)
        except Busy:
            pass

    threads = [threading.Thread(target=tab, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 1


def test_objects_are_kept_for_all_tabs_and_closed_after_the_last(at, clock):
    class Thing:
        closed = 0

        def close(self):
            self.closed += 1

    thing = computation.keep("thing", Thing)
    at("a", "2")
    assert computation.keep("thing", Thing) is thing
    at("b", "3")
    other = computation.keep("thing", Thing)
    assert other is not thing
    for open_tabs, patience in (({"2", "3"}, 0), ({"3"}, 60), ({"3"}, 60)):
        computation.close_left(open_tabs.__contains__, patience)
        assert not thing.closed
    clock.now += 60
    computation.close_left({"3"}.__contains__, 60)
    assert thing.closed == 1 and not other.closed
    computation.close_all()
    assert thing.closed == other.closed == 1


def test_tabs_of_a_browser_are_one_visitor(monkeypatch):
    """Streamlit masks the token of its cookie anew with every page that it sends."""
    monkeypatch.undo()
    token = bytes(range(16))

    def script():
        import streamlit as st

        from pages.shell.computation import visitor

        st.text(visitor())

    def tab(cookie):
        context = type("Context", (), {"cookies": {computation.COOKIE: cookie} if cookie else {}})()
        monkeypatch.setattr(computation.st, "context", context)
        return AppTest.from_function(script).run().text[0].value

    assert tab(generate_xsrf_token_string(token, 1)) == tab(generate_xsrf_token_string(token, 2)) == token.hex()
    assert tab(generate_xsrf_token_string(token[::-1], 1)) != token.hex()
    assert len({tab(None), tab(None), tab("not a token"), tab("2|x|y|z")}) == 4
