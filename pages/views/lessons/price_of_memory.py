"""Lesson: how much accuracy does a sample in memory buy?"""

from pages.views.lessons.lesson import Found, Lesson, Part, Settings
from pages.views.lessons.measuring import NAMES, band, percent, run_of

FREE: Settings = {"data": "pack", "drift": "class-change", "learners": ["cit", "active", "hybrid", "incremental"]}
BOUND: Settings = {**FREE, "window": "50", "p": "50"}
THREE = ("cit", "active", "hybrid")


def everything(settings: Settings) -> Found:
    """Return by how many points the kNN that stores everything is better than CIT after the change."""
    run = run_of(settings)
    lead = 100 * (run.right("incremental") - run.right("cit"))
    facts = {
        "lead": f"{lead:.1f}",
        "all_size": f"{run.metrics['incremental'].final_size:,}",
        "all_bytes": f"{run.metrics['incremental'].largest_bytes:,}",
        "all_after": percent(run.right("incremental")),
        "cit_after": percent(run.right("cit")),
        "cit_size": f"{run.metrics['cit'].final_size:,}",
        "cit_bytes": f"{run.metrics['cit'].largest_bytes:,}",
    }
    return Found(band(lead, 1, 5), {}, facts)


def bounded(settings: Settings) -> Found:
    """Return who loses least when memory is small, compared with the run of the first part."""
    small, free = run_of(settings), run_of(FREE)
    lost = {name: 100 * (free.right(name) - small.right(name)) for name in THREE}
    facts = {f"{name}_free": percent(free.right(name)) for name in THREE}
    facts |= {f"{name}_small": percent(small.right(name)) for name in THREE}
    facts["window_bytes"] = f"{small.metrics['active'].window_bytes:,}"
    values = {name: f"loses {points:.1f} points" for name, points in lost.items()}
    return Found(min(lost, key=lambda name: lost[name]), values, facts)


LESSON = Lesson(
    "memory",
    "The price of memory",
    "How much accuracy does a sample in memory buy?",
    (
        Part(
            "drift-lab",
            FREE,
            "Four learners hear two words, and half-way one of the words is replaced. One of the learners is a kNN "
            "that stores every sample it hears. *Condensing-in-Time* stores its mistakes only.",
            "After the change, how much more often is the kNN that stores everything right than Condensing-in-Time?",
            {"0": "Hardly: less than one point in a hundred", "1": "One to five points", "2": "More than five points"},
            ("|T| of the four learners.", "“Detailed results” below the charts: accuracy after the change, bytes."),
            everything,
            "{lead} points: {all_after} against {cit_after}. For that it stores {all_size} samples, {all_bytes} bytes; "
            "Condensing-in-Time has {cit_size} samples, {cit_bytes} bytes. Only mistakes are worth storing.",
        ),
        Part(
            "drift-lab",
            BOUND,
            "The same stream, but *Condensing-in-Time*, *Active* and *Hybrid* may keep only {p} samples now. When T is "
            "full, the oldest sample goes.",
            "Who loses the least accuracy after the change, compared with the first run?",
            {name: NAMES[name] for name in THREE},
            ("|T| of the three learners.", "Accuracy after the change."),
            bounded,
            "Condensing-in-Time falls from {cit_free} to {cit_small} and Hybrid from {hybrid_free} to {hybrid_small}: "
            "they push out good old samples to make room for each new mistake. Active falls only from {active_free} to "
            "{active_small}: it stores nothing between alarms, and what it keeps is condensed. But its window costs "
            "{window_bytes} bytes besides.",
        ),
    ),
)
