"""Lesson: does a test notice the noise that you hear?"""

import numpy as np

from pages.views.lessons.lesson import Found, Lesson, Part, Settings
from pages.views.lessons.measuring import NAMES, percent, run_of

# The seed is chosen: no test notices the voices at 30 %, and Active clearly does at full strength.
YES_NO: Settings = {
    "data": "speech", "words": ["yes", "no"], "drift": "noise", "effect": "babble",
    "per_class": "400", "train": "50", "seed": "5",
}  # fmt: skip
THREE = ("cit", "active", "hybrid")
# Measured over other seeds, too long for the page: tests/pages/test_lessons.py measures them again.
SEEDS = {
    "seeds": "20", "active_soft_alarms": "4", "active_loud_alarms": "13",
    "hybrid_soft_alarms": "1", "hybrid_loud_alarms": "6",
}  # fmt: skip


def soft(settings: Settings) -> Found:
    """Return who raises an alarm when soft voices set in."""
    run = run_of(settings)
    raised = [name for name in ("active", "hybrid") if (run.traces[name].detections >= run.change).any()]
    answer = "both" if len(raised) == 2 else raised[0] if raised else "nobody"
    test = run.settings("active")
    facts = {
        "active_before": percent(run.right("active", 0, run.change)),
        "active_after": percent(run.right("active")),
        "batches": str((len(run.y) - run.change) // test["batch"]),
        "active_g": f"{np.nanmax(run.traces['active'].statistic):.0f}",
        "h": f"{test['threshold']:g}",
        "cit_before": percent(run.right("cit", 0, run.change)),
        "cit_after": percent(run.right("cit")),
    }
    highest = {name: np.nanmax(run.traces[name].statistic) for name in ("active", "hybrid")}
    return Found(answer, {name: f"highest *g* {g:.0f}, *h* is {facts['h']}" for name, g in highest.items()}, facts)


def loud(settings: Settings) -> Found:
    """Return who is right most often among loud voices."""
    run = run_of(settings)
    after = {name: run.right(name) for name in THREE}
    facts = {f"{name}_after": percent(share) for name, share in after.items()}
    facts |= {"active_delay": f"{run.metrics['active'].delay:.0f}", "bound": str(run.settings("hybrid")["max_size"])}
    values = {name: f"{percent(share, 1)} right after the change" for name, share in after.items()}
    return Found(max(after, key=lambda name: after[name]), values, facts | SEEDS)


LESSON = Lesson(
    "noise",
    "Voices in the background",
    "You hear the difference. Does the test?",
    (
        Part(
            "drift-lab",
            {**YES_NO, "strength": "30"},
            "Half-way other voices set in behind the words “yes” and “no”, at {strength} % of their full strength. "
            "You can hear them clearly.",
            "Who raises an alarm?",
            {
                "active": "Only Active",
                "hybrid": "Only Hybrid",
                "both": "Active and Hybrid",
                "nobody": "Neither of them",
            },
            (
                "Pause on either side of the grey line and listen to the sample.",
                "The statistic *g*: how near does it come to *h*?",
            ),
            soft,
            "The test never hears the sound: it counts hits and misses. Active falls from {active_before} to "
            "{active_after} of right answers, and {batches} batches of that are not evidence enough: *g* gets to "
            "{active_g}, and *h* is {h}. Condensing-in-Time hardly suffers ({cit_before} to {cit_after}): it learns "
            "the noisy words one mistake at a time, which is also why nothing stands out for a test.",
        ),
        Part(
            "drift-lab",
            {**YES_NO, "strength": "100"},
            "The same voices at full strength. Now Active raises an alarm and starts again.",
            "Who is right most often after the change?",
            {name: NAMES[name] for name in THREE},
            ("Who notices, and how late?", "Does it help?"),
            loud,
            "Active raises its alarm after {active_delay} samples. But Condensing-in-Time, which has no test, is right "
            "most often after the change: {cit_after}, Hybrid {hybrid_after}, Active {active_after}. The clean words "
            "are still true. Active threw them away, and Hybrid pushed some of them out, because it may keep only "
            "{bound} samples.\n\nOther seeds give other alarms. Of {seeds} seeds, Active notices the soft voices with "
            "{active_soft_alarms} and the loud ones with {active_loud_alarms}, Hybrid with {hybrid_soft_alarms} and "
            "{hybrid_loud_alarms}. With every one of them Condensing-in-Time is right most often among the loud "
            "voices.",
        ),
    ),
    old_title="Noise that nobody notices",
)
