"""Scripts run in turns with a limited waiting time."""

import threading

import pytest

from pages.shell import run_limiter


def test_no_more_run_at_once_than_are_served():
    inside, most, lock = 0, 0, threading.Lock()

    def visit():
        nonlocal inside, most
        with run_limiter.run_slot():
            with lock:
                inside += 1
                most = max(most, inside)
            threading.Event().wait(0.01)
            with lock:
                inside -= 1

    visitors = [threading.Thread(target=visit) for _ in range(12)]
    for visitor in visitors:
        visitor.start()
    for visitor in visitors:
        visitor.join()
    assert most <= run_limiter.SERVED


def test_a_long_computation_of_others_holds_nobody_up(monkeypatch):
    monkeypatch.setattr(run_limiter, "PATIENCE", 0.01)
    with (
        run_limiter.run_slot(),
        run_limiter.run_slot(),
        run_limiter.run_slot(),
    ):  # the third one has no turn of its own, and runs
        pass
    assert run_limiter._slots._value == run_limiter.SERVED


def test_a_script_that_fails_gives_its_turn_back():
    for _ in range(run_limiter.SERVED + 1):
        with pytest.raises(ZeroDivisionError), run_limiter.run_slot():
            _ = 1 / 0
    assert run_limiter._slots._value == run_limiter.SERVED


def test_no_script_runs_while_scripts_are_kept_out(monkeypatch):
    monkeypatch.setattr(run_limiter, "PATIENCE", 0.01)
    order = []

    def visit():
        with run_limiter.run_slot():
            order.append("script")

    visitors = [threading.Thread(target=visit) for _ in range(4)]
    with run_limiter.no_scripts():
        for visitor in visitors:
            visitor.start()
        threading.Event().wait(0.1)  # far longer than anyone's patience
        order.append("alone")
    for visitor in visitors:
        visitor.join()
    assert order == ["alone", *["script"] * 4]
    assert run_limiter._slots._value == run_limiter.SERVED
