"""Lesson: learn from every mistake, or wait for an alarm?"""

from pages.views.lessons.lesson import Found, Lesson, Part, Settings
from pages.views.lessons.measuring import NAMES, dropped, most, number, percent, run_of

HOME_RUN: Settings = {"data": "pack", "per_class": "750", "seed": "1"}
THREE = ("cit", "active", "hybrid")
OPTIONS = {name: NAMES[name] for name in THREE}


def swap(settings: Settings) -> Found:
    """Return who recovers last after the swap."""
    run = run_of(settings)
    back = {name: float(run.metrics[name].recovery) for name in THREE}
    facts = {f"{name}_back": number(back[name]) for name in THREE}
    facts |= {f"{name}_delay": number(run.metrics[name].delay) for name in ("active", "hybrid")}
    lost, stored = dropped(run.traces["hybrid"])
    facts |= {"stored": str(stored), "lost": str(lost)}
    values = {name: f"recovered after {number(back[name])} samples" for name in THREE}
    return Found(most(back), values, facts)


def replaced(settings: Settings) -> Found:
    """Return who makes the most mistakes after a word was replaced."""
    run = run_of(settings)
    after = {name: run.right(name) for name in THREE}
    alarm = int(run.traces["active"].detections[0]) + 1
    facts = {"wait": str(alarm - run.change)}
    facts |= {f"{name}_wait": percent(run.right(name, run.change, alarm)) for name in ("active", "cit")}
    facts |= {f"{name}_later": percent(run.right(name, alarm)) for name in ("active", "cit")}
    values = {name: f"{percent(share, 1)} right after the change" for name, share in after.items()}
    return Found(min(after, key=lambda name: after[name]), values, facts)


LESSON = Lesson(
    "passive",
    "Passive against active",
    "Learn from every mistake, or wait for an alarm and start again?",
    (
        Part(
            "drift-lab",
            {**HOME_RUN, "drift": "labels-swapped"},
            "Three learners hear two words. Half-way the two words swap their names. *Condensing-in-Time* stores every "
            "mistake and never forgets. *Active* changes nothing until its test raises an alarm. *Hybrid* stores "
            "mistakes, and after an alarm drops what is older than the change.",
            "Who is the last to recover?",
            OPTIONS,
            (
                "Accuracy: who falls lowest, and who is back first?",
                "The statistic *g* of Active and Hybrid, and what happens to |T| where it reaches *h*.",
            ),
            swap,
            "Each sample that was stored before the swap now votes for the wrong word, and Condensing-in-Time forgets "
            "none of them: it takes {cit_back} samples until it is nearly as good as before. The tests of Active and "
            "Hybrid raise an alarm {active_delay} and {hybrid_delay} samples after the swap. Hybrid then drops {lost} "
            "of its {stored} samples. Active is back after {active_back} samples, Hybrid after {hybrid_back}.",
        ),
        Part(
            "drift-lab",
            {**HOME_RUN, "drift": "class-change"},
            "The same three learners. Now only one of the two words is replaced by another one; the other word stays "
            "as it was.",
            "Who makes the most mistakes after this change?",
            OPTIONS,
            ("Accuracy after the grey line.", "Which curves lie on top of each other, and why?"),
            replaced,
            "Where a word is merely replaced, most of the past stays true. Condensing-in-Time learns the new word one "
            "mistake at a time. So does Hybrid: the drop is too small for its test, and without an alarm it is "
            "Condensing-in-Time. Active learns nothing before its alarm: in these {wait} samples it is right in "
            "{active_wait} of the cases, Condensing-in-Time in {cit_wait}. Afterwards they have {active_later} and "
            "{cit_later}. Forgetting pays where the past is wrong. Where it is merely incomplete, the wait for the "
            "alarm costs more than forgetting brings.",
        ),
    ),
)
