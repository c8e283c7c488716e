"""Lesson: what does the alarm level of the CUSUM test cost?"""

from pages.views.lessons.lesson import Found, Lesson, Part, Settings
from pages.views.lessons.measuring import percent

LOW: Settings = {"h": "5", "sim_seed": "0"}
HIGH: Settings = {"h": "74", "sim_seed": "0"}
BEFORE, AFTER, CHANGE, BATCH, WARMUP = 0.9, 0.7, 700, 50, 100  # defaults of the page
LONGER = 300  # warm-up of the last paragraph, samples
USUAL = 25.0  # h of the authors


def alarms(h: str, seed: str) -> list[int]:
    """Return the samples with an alarm in the page's simulated stream."""
    from pages.views.inside_cusum.inside_test import simulated
    from tmlcd_core.viz import cusum

    correct = simulated(BEFORE, AFTER, CHANGE, int(seed))
    return cusum.replay(correct, threshold=float(h), batch=BATCH, warmup=WARMUP).alarms


def first_alarm(settings: Settings) -> Found:
    """Return when the first alarm comes with a low level."""
    from pages.views.inside_cusum.inside_test import nearest, trade_off

    h = str(settings["h"])
    found = alarms(h, str(settings["sim_seed"]))
    row = nearest(trade_off(BEFORE, AFTER, BATCH, WARMUP, "both"), float(h))
    first = found[0] if found else -1
    answer = "never" if not found else "early" if first < CHANGE else "soon" if first < CHANGE + 100 else "late"
    facts = {
        "first": f"{first:,}", "change": f"{CHANGE:,}", "rate": percent(row.false_alarm_rate),
        "delay": f"{row.mean_delay:.0f}", "horizon": "1,000",
    }  # fmt: skip
    return Found(answer, {answer: f"first alarm at sample {first:,}, change at {CHANGE:,}"}, facts)


def high_level(settings: Settings) -> Found:
    """Return what a high level does to the alarm."""
    from pages.views.inside_cusum.inside_test import calibrated, nearest, trade_off
    from tmlcd_core.detectors import threshold_table

    h = str(settings["h"])
    found = [alarm for alarm in alarms(h, str(settings["sim_seed"])) if alarm >= CHANGE]
    rows = trade_off(BEFORE, AFTER, BATCH, WARMUP, "both")
    row, usual = nearest(rows, float(h)), nearest(rows, USUAL)
    longer = calibrated(BEFORE, BATCH, LONGER, "both")
    [calm] = threshold_table(BEFORE, AFTER, BATCH, LONGER, 1000, (longer,))
    answer = "never" if not found else "soon" if found[0] < CHANGE + 100 else "late"
    facts = {
        "rate": percent(row.false_alarm_rate, 1), "delay": f"{row.mean_delay:.0f}", "missed": percent(row.missed, 1),
        "usual": f"{USUAL:g}", "rate_usual": percent(usual.false_alarm_rate, 1),
        "delay_usual": f"{usual.mean_delay:.0f}", "warmup": str(WARMUP), "longer": str(LONGER),
        "calibrated": f"{calibrated(BEFORE, BATCH, WARMUP, 'both'):.1f}", "calibrated_longer": f"{longer:.1f}",
        "delay_longer": f"{calm.mean_delay:.0f}",
    }  # fmt: skip
    value = f"alarm at sample {found[0]:,}" if found else "no alarm after the change in this stream"
    return Found(answer, {answer: value}, facts)


LESSON = Lesson(
    "threshold",
    "The threshold",
    "How sure must the test be before it raises the alarm?",
    (
        Part(
            "inside-cusum",
            LOW,
            "The test counts right and wrong predictions and raises an alarm when its evidence *g* reaches the alarm "
            "level *h*. In this stream the accuracy drops once, at the grey line. The alarm level is low: *h* = {h}.",
            "When does the first alarm come?",
            {
                "early": "Before the change",
                "soon": "Soon after the change",
                "late": "Much later than the change",
                "never": "Never",
            },
            ("Where is the first alarm, and where the grey line?", "Beside the slider: false alarms and mean delay."),
            first_alarm,
            "At sample {first}; the change is at {change}. With *h* = {h}, {rate} of all quiet streams give a false "
            "alarm within {horizon} samples. In return, a true change is noticed after only {delay} samples on "
            "average.",
        ),
        Part(
            "inside-cusum",
            HIGH,
            "The same stream with a high alarm level, *h* = {h}: at most one quiet stream in a hundred gives a false "
            "alarm.",
            "What happens to the change in this stream?",
            {
                "soon": "It is noticed as soon as before",
                "late": "It is noticed, but later",
                "never": "It is not noticed",
            },
            ("The statistic *g* and the dotted line of *h*.", "Beside the slider: what has happened to the delay?"),
            high_level,
            "With *h* = {h} the share of false alarms is {rate}, the mean delay {delay} samples, and {missed} of the "
            "changes are missed. The authors' *h* = {usual} lies between: {rate_usual} and {delay_usual} samples."
            "\n\nWhy must *h* be so high? The test knows the accuracy before the change only from its warm-up of "
            "{warmup} samples, and takes the error of that estimate for a change. With a warm-up of {longer} samples "
            "the *h* for one false alarm in a hundred streams falls from {calibrated} to {calibrated_longer}, and the "
            "mean delay from {delay} to {delay_longer} samples: a longer look at the calm before pays.",
        ),
    ),
    old_title="The threshold",
)
