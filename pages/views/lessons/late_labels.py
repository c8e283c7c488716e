"""Lesson: what if the right answer comes late?"""

from pages.views.lessons.lesson import Found, Lesson, Part, Settings
from pages.views.lessons.measuring import NAMES, number, percent, run_of

AT_ONCE: Settings = {"data": "pack", "per_class": "750", "seed": "1", "drift": "labels-swapped"}
THREE = ("cit", "active", "hybrid")
# Measured over other seeds, too long for the page: tests/pages/test_lessons.py measures them again.
SEEDS = {"seeds": "20", "as_late": "20", "hybrid_best": "19", "active_best": "1"}


def at_once(settings: Settings) -> Settings:
    """Return the settings with labels that come at once."""
    return {name: value for name, value in settings.items() if name != "label_delay"}


def alarm_later(settings: Settings) -> Found:
    """Return how much later the alarm of Hybrid comes."""
    late, once = run_of(settings), run_of(at_once(settings))
    delay, usual = late.metrics["hybrid"].delay, once.metrics["hybrid"].delay
    more, asked = delay - usual, int(str(settings["label_delay"]))
    distances = {"0": abs(more), "1": abs(more - asked), "3": abs(more - 3 * asked)}
    nearest = min(distances, key=lambda name: distances[name])
    answer = "never" if delay != delay else nearest
    facts = {"late": number(delay), "once": number(usual), "more": number(more)}
    facts |= {f"{name}_late": percent(late.right(name)) for name in THREE}
    facts |= {f"{name}_once": percent(once.right(name)) for name in THREE} | SEEDS
    return Found(
        answer, {answer: f"alarm {number(delay)} samples after the change, {number(usual)} with labels at once"}, facts
    )


def best(settings: Settings) -> Found:
    """Return who is right most often after the change with very late labels."""
    late, once = run_of(settings), run_of(at_once(settings))
    after = {name: late.right(name) for name in THREE}
    facts = {f"{name}_late": percent(after[name]) for name in THREE}
    facts |= {f"{name}_once": percent(once.right(name)) for name in THREE}
    facts |= {"size_late": str(late.traces["cit"].sizes[-1]), "size_once": str(once.traces["cit"].sizes[-1])}
    facts |= SEEDS
    values = {name: f"{percent(share, 1)} right after the change" for name, share in after.items()}
    return Found(max(after, key=lambda name: after[name]), values, facts)


LESSON = Lesson(
    "late",
    "Labels that come late",
    "The device predicts now. It learns the right answer later.",
    (
        Part(
            "drift-lab",
            {**AT_ONCE, "label_delay": "100"},
            "Two words swap their names half-way, as in the first lesson. But now the right answer to each sample "
            "comes only after {label_delay} more samples, as if a person had to look at it first.",
            "How much later than with labels at once does Hybrid raise its alarm?",
            {
                "0": "Not later",
                "1": "About {label_delay} samples later",
                "3": "Several times as late",
                "never": "It raises no alarm",
            },
            ("Where does *g* begin to climb?", "Accuracy between the grey line and the alarm."),
            alarm_later,
            "{more} samples later: {late} samples after the change instead of {once}. The test sees the same hits and "
            "misses, only later. But meanwhile the learner goes on making mistakes. After the change Hybrid is right "
            "in {hybrid_late} of the cases instead of {hybrid_once}, Condensing-in-Time in {cit_late} instead of "
            "{cit_once}. With {as_late} of {seeds} seeds the alarm comes later by just the delay of the labels.",
        ),
        Part(
            "drift-lab",
            {**AT_ONCE, "label_delay": "200", "seed": "0"},
            "Another draw of the same words, and the labels take twice as long, {label_delay} samples. With labels at "
            "once, Hybrid was the best of the three. But a passive update stores its mistakes, and now each of them "
            "is corrected late.",
            "Who is right most often after the change now?",
            {name: NAMES[name] for name in THREE},
            ("|T| of Condensing-in-Time and Hybrid after the change.", "Accuracy at the end of the stream."),
            best,
            "Still Hybrid: {hybrid_late} ({hybrid_once} with labels at once), Active {active_late} ({active_once}), "
            "Condensing-in-Time {cit_late} ({cit_once}). Late labels cost all of them a lot. The passive update stores "
            "each mistake, and by the time the first correction arrives, the same mistake has been made over and over: "
            "Condensing-in-Time ends with {size_late} samples instead of {size_once}. Hybrid's alarm at least drops "
            "what is older than the change.\n\nOf {seeds} seeds, Hybrid is the best with {hybrid_best} and Active with "
            "{active_best}.",
        ),
    ),
)
