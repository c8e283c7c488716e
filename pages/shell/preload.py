"""Background preloading of the learners, so that the first visitor of a fresh server does not wait."""

import importlib
import threading
import time

HEAD_START = 1.0  # s after server start: Home, which needs no learner, loads first
MODULES = ("numba", "sklearn.neighbors", "tmlcd_core.experiments", "tmlcd_core.viz.lab", "pages.views.drift_lab.page")


def preload() -> None:
    """Import the modules of the Drift lab and run every learner once, to load the compiled numba loops."""
    for name in MODULES:
        importlib.import_module(name)
    from tmlcd_core.experiments import Experiment

    Experiment("points", per_class=100, train=20).run()


def start_preloading() -> threading.Thread:
    """Start a thread that preloads after HEAD_START seconds, and return it."""

    def wait_and_preload() -> None:
        time.sleep(HEAD_START)
        preload()

    thread = threading.Thread(target=wait_and_preload, name="preload", daemon=True)
    thread.start()
    return thread
