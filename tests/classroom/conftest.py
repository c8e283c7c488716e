"""Run app.py around every page, as the server does."""

from tests.support.whole_app import app_py_runs_around_every_page

__all__ = ["app_py_runs_around_every_page"]
