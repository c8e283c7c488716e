"""Widgets of a notebook: the player with a static figure for readers without a kernel, and the recorder."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from tmlcd_core.errors import TmlcdError
from tmlcd_core.experiments.experiment import Experiment
from tmlcd_core.experiments.runs import LearnerRun, Run
from tmlcd_core.features.voice import Take, open_take
from tmlcd_core.learners.trace import Trace
from tmlcd_core.optional_packages import require
from tmlcd_core.viz.lab import picture_of_experiment, run_of
from tmlcd_core.viz.matplotlib_figures import timeline
from tmlcd_core.viz.player import Panel, PlayerRun, player_script, player_style
from tmlcd_core.viz.recorder import REMEMBERED, recorder_script, recorder_style, sent_take

LEARNER = "learner"  # name of a learner that has none
# Jupyter's colours for the player, which is styled in a shadow root, so that no style leaks into the notebook.
THEME = """
:host {
  --st-text-color: var(--jp-ui-font-color1, #31333f); --st-background-color: var(--jp-layout-color0, #ffffff);
  --st-secondary-background-color: var(--jp-layout-color2, #f0f2f6);
  --st-border-color: var(--jp-border-color1, #d3d6de);
  --st-primary-color: var(--jp-brand-color1, #0068c9); --st-font: var(--jp-ui-font-family, sans-serif);
  display: block; padding: 4px;
}
"""
PLAYER = """
function render({ model, el }) {
  const root = el.attachShadow({ mode: "open" });
  root.appendChild(document.createElement("style")).textContent = STYLE;
  const setStateValue = (name, value) => {
    if (name !== "position") return;
    model.set("position", value);
    model.save_changes();
  };
  let close;
  const show = () => {
    const { buffer, byteOffset, byteLength } = model.get("data");
    close = main({ data: new Uint8Array(buffer, byteOffset, byteLength), parentElement: root, setStateValue });
  };
  model.on("change:data", show);
  show();
  return () => close();
}
export default { render };
"""
RECORDER = """
function render({ model, el }) {
  const root = el.attachShadow({ mode: "open" });
  root.appendChild(document.createElement("style")).textContent = STYLE;
  const setTriggerValue = (name, value) => {
    model.set("sent", value);
    model.save_changes();
  };
  let close;
  const show = () => {
    close = main({ data: model.get("shown"), parentElement: root, setTriggerValue });
  };
  model.on("change:shown", show);
  show();
  return () => close();
}
export default { render };
"""


def as_player_run(what: Run | LearnerRun | Trace | PlayerRun, title: str = "") -> PlayerRun:
    """Return the charts of a run, of one learner's result, or of a trace (whose accuracy is unknown) for the player."""
    if isinstance(what, PlayerRun):
        return what
    if isinstance(what, Run):
        name = title or f"{', '.join(what.names)}"
        return _of_learners(name, what.learners, what.scenario.known_changes, what.ends)
    if isinstance(what, LearnerRun):
        return _of_learners(title or "Result", {LEARNER: what}, None, None)
    panels = (
        Panel("Memory: samples in T", "|T|", {LEARNER: what.sizes}, digits=0),
        Panel("CUSUM statistic g", "g", {LEARNER: what.statistic}, digits=1),
    )
    shown = panels if not np.isnan(what.statistic).all() else panels[:1]
    alarms, points = {LEARNER: what.detections.tolist()}, {LEARNER: what.change_points.tolist()}
    return PlayerRun(title or "Trace", shown, (LEARNER,), None, alarms, points)


def _of_learners(
    title: str, learners: Mapping[str, LearnerRun], changes: tuple[int, ...] | None, ends: tuple[int, ...] | None
) -> PlayerRun:
    unknown = {name: np.full(len(one.correct), np.nan) for name, one in learners.items()}
    traces = {
        name: SimpleNamespace(
            predictions=one.correct,
            sizes=one.sizes,
            statistic=unknown[name] if one.trace is None else one.trace.statistic,
            detections=one.detections,
            change_points=one.change_points,
        )
        for name, one in learners.items()
    }
    tested = [name for name, one in learners.items() if one.has_test]
    length = len(next(iter(unknown.values())))
    shown = PlayerRun.from_traces(title, traces, np.ones(length, bool), tested=tested, changes=changes, ends=ends)
    statistic = shown.panels[-1]
    return shown if statistic.curves else replace(shown, panels=shown.panels[:-1])


def figure_of(what: Any) -> Any:
    """Return the matplotlib figure of a run, result or trace."""
    return timeline(as_player_run(what))


def widget_module(script: str, style: str, adapter: str) -> str:
    """Return a component of the app as an anywidget module (ESM)."""
    text = re.sub(r"^export default function", "const main = function", script, flags=re.M)
    text = re.sub(r"^export \{[^}]*\};.*$", "", text, flags=re.M)
    sheet = (THEME + style).replace("\\", "\\\\").replace("`", "\\`")
    return f"const STYLE = `{sheet}`;\n{text}\n{adapter}"


def player_widget(what: Any, **options: Any) -> Any:
    """Return the player of a run, result or trace as a Jupyter widget (anywidget).

    Its trait `position` is the sample at the cursor, if the option `reports` is set. The display has a static figure
    too, for notebooks that are read without a kernel.

    Parameters
    ----------
    what : Run, LearnerRun, Trace or PlayerRun
        What to play.
    **options
        Options of the player, such as `start`, `autoplay`, `speed` or `reports`.
    """
    require("anywidget")
    import anywidget
    import traitlets

    run = as_player_run(what)

    class PlayerWidget(anywidget.AnyWidget):
        _esm = widget_module(player_script(), player_style(), PLAYER)
        data = traitlets.Bytes().tag(sync=True)
        position = traitlets.Int(None, allow_none=True).tag(sync=True)

        def _repr_mimebundle_(self, **given: Any) -> Any:
            found = super()._repr_mimebundle_(**given)
            if found is None:
                return None
            bundle, about = found if isinstance(found, tuple) else (found, {})
            return {**bundle, "image/png": png_of(run)}, about

    return PlayerWidget(data=run.pack(**({"start": run.length - 1} | options)))


def experiment_widget(experiment: Experiment, **options: Any) -> Any:
    """Run an experiment once and return its player with the living picture of T as a widget; see `player_widget`."""
    stream = experiment.stream(experiment.feature_pool())
    run = experiment.run_stream(stream)
    traces = {name: one.trace for name, one in run.learners.items() if one.trace is not None}
    tested = [name for name, one in run.learners.items() if one.has_test]
    threshold = float(dict(experiment.settings).get("threshold", 25.0))
    picture = picture_of_experiment(experiment, stream, traces)
    in_bytes = experiment.max_bytes is not None
    return player_widget(run_of(", ".join(run.names), stream, traces, threshold, tested, picture, in_bytes), **options)


def recorder_widget(
    on_take: Callable[[Take], Mapping[str, float] | None] = lambda take: None, prompt: str = "", long: bool = False
) -> Any:
    """Return the recorder of the page Microphone as a Jupyter widget (anywidget).

    It listens in the browser; every word that ends there becomes a `Take` in the list `takes` of the widget. The
    browser gives a microphone only to a notebook on this computer or over https.

    Parameters
    ----------
    on_take : callable, optional
        Called with every new take. If it returns votes, share 0..1 by word, the bars show them; the message of a
        `TmlcdError` stands in place of the prompt.
    prompt : str
        What to say.
    long : bool
        Offer takes of ten seconds.

    Examples
    --------
    ::

        session = LiveSession(["yes", "no"])
        recorder_widget(lambda take: session.teach("yes", take), prompt="Say “yes”")
        recorder_widget(lambda take: session.say(take).shares(), prompt="Say a word")
    """
    require("anywidget")
    import anywidget
    import traitlets

    asked = {"prompt": prompt, "word": "", "blocked": "", "long": long, "hearing": "", "keys": False}

    class RecorderWidget(anywidget.AnyWidget):
        _esm = widget_module(recorder_script(), recorder_style(), RECORDER)
        shown = traitlets.Dict().tag(sync=True)
        sent = traitlets.Dict().tag(sync=True)

        def __init__(self) -> None:
            super().__init__(shown=asked | {"answer": "", "bars": [], "done": []})
            self.takes: list[Take] = []
            self.observe(lambda change: self._receive(change.new), "sent")

        def _receive(self, value: Any) -> None:
            take = sent_take(value)
            if take is None or take.id in self.shown["done"]:
                return
            told, votes = prompt, None
            try:
                self.takes.append(open_take(take.wav))
                votes = on_take(self.takes[-1])
            except TmlcdError as error:
                told = str(error)
            finally:
                done = [*self.shown["done"], take.id][-REMEMBERED:]
                bars = list(votes.items()) if isinstance(votes, Mapping) else []
                self.shown = asked | {"prompt": told, "answer": take.id, "bars": bars, "done": done}

    return RecorderWidget()


def png_of(what: Any) -> str:
    """Return the figure of a run, result or trace as a PNG in base64."""
    require("matplotlib")
    from matplotlib import pyplot

    figure = figure_of(what)
    figure.savefig(buffer := io.BytesIO(), format="png", dpi=80, bbox_inches="tight")
    pyplot.close(figure)
    return base64.b64encode(buffer.getvalue()).decode()
