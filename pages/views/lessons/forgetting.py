"""Lesson: when does it pay to forget everything that is older than a change?"""

from pages.views.lessons.lesson import Found, Lesson, Part, Settings
from pages.views.lessons.measuring import band, dropped, percent, run_of

# The seed is chosen: both runs are close to the mean over 20 runs, which the explanation also gives.
DIGITS: Settings = {
    "data": "digits", "lambda": "5", "drift": "labels-swapped", "learners": ["cit-bounded", "hybrid"], "seed": "2",
}  # fmt: skip
# Measured over other seeds, too long for the page: tests/pages/test_lessons.py measures them again.
SEEDS = {
    "5": {"seeds": "20", "hurt": "0", "same": "0", "helped": "20"},
    "2": {"seeds": "20", "hurt": "5", "same": "13", "helped": "2"},
}
OPTIONS = {
    "0": "It hurts: the learner that keeps everything is better",
    "1": "It makes no difference of more than one point in a hundred",
    "2": "It helps: Hybrid is better",
}


def gain(settings: Settings) -> Found:
    """Return whether the alarm of Hybrid helps after the change."""
    from pages.views.paper.forgetting import shipped_study

    run = run_of(settings)
    points = 100 * (run.right("hybrid") - run.right("cit-bounded"))
    affected = run.experiment.affected or 2
    study = shipped_study()
    [case] = [one for one in study.of("rotated") if (one.data, one.classes, one.affected) == ("digits", 5, affected)]
    mean = case.gain("perfect alarm")
    trace = run.traces["hybrid"]
    alarm = int(trace.detections[0])
    lost, stored = dropped(trace)
    facts = {
        "hybrid": percent(run.right("hybrid")), "bounded": percent(run.right("cit-bounded")),
        "stored": str(stored), "lost": str(lost), "delay": str(alarm - run.change),
        "mean": f"{100 * mean.mean:+.1f}", "low": f"{100 * mean.low:+.1f}", "high": f"{100 * mean.high:+.1f}",
        "runs": str(study.runs),
    } | SEEDS[str(affected)]  # fmt: skip
    answer = band(points, -1, 1)
    return Found(answer, {answer: f"Hybrid {points:+.1f} points after the change"}, facts)


LESSON = Lesson(
    "forgetting",
    "When does forgetting pay?",
    "After an alarm, Hybrid drops every sample that is older than the change. Is that wise?",
    (
        Part(
            "drift-lab",
            {**DIGITS, "affected": "5"},
            "Handwritten digits of five classes. Half-way **all five** classes pass their labels on: every stored "
            "sample is wrong now. *Hybrid* drops the samples that are older than the change. *CIT with the bound of "
            "Hybrid* is the same learner without the test: it keeps them until newer ones push them out.",
            "Does forgetting help after the change?",
            OPTIONS,
            ("|T| of Hybrid at its alarm.", "Accuracy after the grey line: which curve climbs faster?"),
            gain,
            "At its alarm, {delay} samples after the change, Hybrid drops {lost} of its {stored} samples. After the "
            "change it is right in {hybrid} of the cases, the learner that keeps everything in {bounded}: there, each "
            "stored sample outvotes new ones until it is pushed out. In the study on the Paper page, a perfect alarm "
            "changes the accuracy by {mean} points on average over {runs} runs ({low} to {high}). In this lesson, "
            "forgetting helps with {helped} of {seeds} seeds.",
        ),
        Part(
            "drift-lab",
            {**DIGITS, "affected": "2"},
            "The same digits, but only **two of the five** classes swap their labels. Hybrid notices it as fast as "
            "before, and drops all older samples.",
            "Does forgetting help now?",
            OPTIONS,
            ("|T| of Hybrid at its alarm.", "Accuracy after the grey line."),
            gain,
            "Hybrid drops {lost} of {stored} samples. What it gains on the two classes it loses on the other three, "
            "whose dropped samples were still true. After the change it is right in {hybrid} of the cases, the learner "
            "that keeps everything in {bounded}. In "
            "the study, a perfect alarm changes the accuracy by {mean} points on average over {runs} runs ({low} to "
            "{high}). Single runs differ: of {seeds} seeds, forgetting hurts with {hurt}, helps with {helped}, and "
            "makes no such difference with {same}.\n\nForgetting pays where most of T is wrong: another user, another "
            "language, all labels mixed up. The whole study is on the Paper page, “When forgetting "
            "pays”, and in notebook eight.",
        ),
    ),
)
