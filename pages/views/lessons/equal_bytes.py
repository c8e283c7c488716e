"""Lesson: who makes the most of the same memory?"""

from pages.views.lessons.lesson import Found, Lesson, Part, Settings
from pages.views.lessons.measuring import NAMES, percent, run_of

FOUR = ("cit", "active", "hybrid", "tandem")
SMALL: Settings = {
    "data": "pack", "drift": "class-change", "per_class": "750", "seed": "1", "learners": [*FOUR],
    "max_bytes": "143400",
}  # fmt: skip
LARGE: Settings = {**SMALL, "max_bytes": "573600"}
# Measured over other seeds, too long for the page: tests/pages/test_lessons.py measures them again.
SEEDS = {"seeds": "20", "tandem_best": "20", "active_gains": "20"}
OPTIONS = {name: NAMES[name] for name in FOUR}


def best(settings: Settings) -> Found:
    """Return who is most accurate with few bytes."""
    run = run_of(settings)
    share = {name: float(run.metrics[name].accuracy) for name in FOUR}
    facts = {name: percent(share[name]) for name in FOUR}
    facts |= {f"{name}_size": f"{run.metrics[name].final_size:,}" for name in FOUR}
    facts |= {f"{name}_bytes": f"{run.metrics[name].peak_bytes:,}" for name in ("cit", "tandem")}
    facts |= SEEDS
    values = {name: f"{percent(value, 1)} right" for name, value in share.items()}
    return Found(max(share, key=lambda name: share[name]), values, facts)


def gains(settings: Settings) -> Found:
    """Return who gains most from four times the memory."""
    small, large = run_of(SMALL), run_of(settings)
    gain = {name: 100 * (large.metrics[name].accuracy - small.metrics[name].accuracy) for name in FOUR}
    facts = {f"{name}_small": percent(small.metrics[name].accuracy) for name in FOUR}
    facts |= {f"{name}_large": percent(large.metrics[name].accuracy) for name in FOUR}
    facts |= SEEDS | {"active_size": str(small.traces["active"].sizes[0])}
    values = {name: f"{points:+.1f} points" for name, points in gain.items()}
    return Found(max(gain, key=lambda name: gain[name]), values, facts)


LESSON = Lesson(
    "bytes",
    "The same bytes for all",
    "A board has so many bytes, whatever the learner does with them. Who makes the most of them?",
    (
        Part(
            "drift-lab",
            SMALL,
            "Every learner gets {bytes} bytes, and half-way one of two words is replaced. The kNN learners store "
            "samples of four bytes a feature. *Active* needs half of its bytes for the window that it starts again "
            "from. *Tandem*, a learner of this project, keeps two small linear layers, which are trained all the time, "
            "and samples of one byte a feature.",
            "Who is right most often over the whole stream?",
            OPTIONS,
            ("Memory: which curves reach the limit?", "Accuracy before and after the grey line."),
            best,
            "Tandem {tandem}, Condensing-in-Time {cit}, Hybrid {hybrid}, Active {active}. In the same bytes "
            "Condensing-in-Time stores {cit_size} samples and Tandem {tandem_size} beside its layers. Active has only "
            "{active_size}: too few to tell the words apart. Comparing learners at the same number of samples would "
            "hide all this. With {tandem_best} of {seeds} seeds Tandem is right most often.",
        ),
        Part(
            "drift-lab",
            LARGE,
            "The same stream with four times the memory, {bytes} bytes for each learner.",
            "Who gains the most accuracy?",
            OPTIONS,
            ("Memory: does everybody use the new room?", "“Detailed results”: accuracy and bytes."),
            gains,
            "Active rises from {active_small} to {active_large}: with {active_size} samples it was starved. "
            "Condensing-in-Time rises from {cit_small} to {cit_large}, Hybrid from {hybrid_small} to {hybrid_large}, "
            "Tandem from {tandem_small} to {tandem_large}. The less a learner needs, the less it gains. "
            "With {active_gains} of {seeds} seeds Active gains most.",
        ),
    ),
)
