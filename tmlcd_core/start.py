"""Settings with which Home and the Drift lab start, as URL parameters.

They differ from the defaults of `Experiment`, which are those of the paper: two labels swap, so that every learner with
a test raises an alarm, and the static kNN shows what happens without learning. The Drift lab writes them into the
address, so a link with settings never depends on them.
"""

START: dict[str, tuple[str, ...]] = {
    "drift": ("labels-swapped",),
    "per_class": ("750",),
    "seed": ("1",),
    "learners": ("static", "cit", "active", "hybrid"),
}
