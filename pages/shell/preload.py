"""Background preloading of learners and speech network, so that the first visitor of a server does not wait."""

import importlib
import threading

from pages.shell.run_limiter import no_scripts

PATIENCE = 3.0  # s to wait for the first page, which needs no learner and goes first
# plotly looks pandas up in sys.modules, where another thread finds it half imported: no script may run meanwhile.
LOOKED_UP = "pandas"
MODULES = ("numba", "sklearn.neighbors", "tmlcd_core.experiments", "tmlcd_core.viz.lab", "pages.views.drift_lab.page")
page_shown = threading.Event()  # set by app.py


def preload() -> None:
    """Import what the Drift lab needs, let every learner run once, then load the Microphone's speech network.

    The matrix products of the server use one thread. The run reads the compiled loops from their cache.
    """
    with no_scripts():
        importlib.import_module(LOOKED_UP)
    for name in MODULES:
        importlib.import_module(name)
    from threadpoolctl import threadpool_limits

    from tmlcd_core.experiments import Experiment
    from tmlcd_core.features.voice import load_best_voice

    threadpool_limits(1, "blas")  # as `make run` sets it: the threads of several visitors wait for each other
    Experiment("points", per_class=100, train=20).run()
    load_best_voice()


def start_preloading() -> threading.Thread:
    """Preload in a new thread, after the first page; return the thread."""

    def wait_and_preload() -> None:
        page_shown.wait(PATIENCE)
        preload()

    thread = threading.Thread(target=wait_and_preload, name="preload", daemon=True)
    thread.start()
    return thread
