"""Load the learners in the background, so that the first visitor of a fresh server does not wait for them."""

import importlib
import threading
import time

HEAD_START = 1.0  # s after the server's start: the first page, which needs no learner, goes first
MODULES = ("numba", "sklearn.neighbors", "tmlcd_core.experiments", "tmlcd_core.viz.lab", "pages.views.drift_lab.page")


def preload() -> None:
    """Import what the Drift lab needs, and let every learner run once: compiled loops are read from their cache."""
    for name in MODULES:
        importlib.import_module(name)
    from tmlcd_core.experiments import Experiment

    Experiment("points", per_class=100, train=20).run()


def start_preloading() -> threading.Thread:
    """Preload in a thread of its own, a moment from now."""

    def wait_and_preload() -> None:
        time.sleep(HEAD_START)
        preload()

    thread = threading.Thread(target=wait_and_preload, name="preload", daemon=True)
    thread.start()
    return thread
