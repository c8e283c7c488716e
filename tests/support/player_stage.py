"""Test page of the player: a generated run whose size is given in the address (see bench_app.py)."""

import numpy as np
import streamlit as st

from pages.components.player import player
from tmlcd_core.metrics import accuracy_curve
from tmlcd_core.viz.player import Panel, PlayerRun

KEYS = ("cit", "active", "hybrid", "a", "b", "c", "d", "e")


def generated(length: int, learners: int, threshold: float) -> PlayerRun:
    """Return a run of learners that lose accuracy half-way and recover at different speeds."""
    time = np.arange(length)
    after = np.maximum(time - length // 2, 0)
    correct, memory, statistic, alarms, points = {}, {}, {}, {}, {}
    for j, key in enumerate(KEYS[:learners]):
        rng = np.random.default_rng(j)
        ability = np.where(after > 0, 0.95 - 0.4 * np.exp(-after / (200 + 100 * j)), 0.93)
        correct[key] = rng.random(length) < ability
        memory[key] = np.minimum(30 + time * 0.02 * (j + 1), 200)
        values = np.where((after > 0) & (after < 150 + 20 * j), after // 50 * 9.0, rng.random(length) * 3)
        statistic[key] = np.where(time < 100, np.nan, values)
        alarms[key], points[key] = [length // 2 + 150 + 20 * j], [length // 2 - 10 * j]
    panels = (
        Panel("Accuracy", "accuracy", {k: accuracy_curve(c) for k, c in correct.items()}, low=None, high=1.0),
        Panel("Memory", "|T|", memory, digits=0),
        Panel("Statistic", "g", statistic, threshold=threshold, threshold_label=f"h = {threshold:g}"),
    )
    changes = (length // 2,)
    return PlayerRun("Stage", panels, KEYS[:learners], changes, alarms, points, correct)


if __name__ == "__main__":
    st.title("Stage")
    size = int(st.query_params.get("length", 7500)), int(st.query_params.get("learners", 3))
    level = st.slider("Threshold", 5, 60, 25)
    player(generated(*size, level), "stage", speed=250)
