"""Lesson: a filter from photographs against a network trained on speech."""

from pages.views.lessons.lesson import Found, Lesson, Part, Settings
from pages.views.lessons.measuring import band, percent, run_of

FILTER: Settings = {
    "data": "speech", "words": ["yes", "no", "up"], "lambda": "3", "drift": "none",
    "per_class": "60", "train": "10", "seed": "1",
}  # fmt: skip


def lead(settings: Settings) -> Found:
    """Return by how many points the speech network helps Condensing-in-Time."""
    speech, photos = run_of(settings), run_of(FILTER)
    share, other = (float(run.metrics["cit"].accuracy) for run in (speech, photos))
    points = 100 * (share - other)
    facts = {
        "speech": percent(share), "photos": percent(other), "points": f"{points:+.1f}",
        "speech_numbers": f"{speech.features:,}", "photos_numbers": f"{photos.features:,}",
        "speech_bytes": f"{speech.metrics['cit'].largest_bytes:,}",
        "photos_bytes": f"{photos.metrics['cit'].largest_bytes:,}",
    }  # fmt: skip
    answer = band(points, -5, 5)
    return Found(answer, {answer: f"{percent(share)} with the network, {percent(other)} with the filter"}, facts)


LESSON = Lesson(
    "networks",
    "Photographs against speech",
    "Before a learner sees a sound, a network turns it into numbers. Does it matter what that network was trained on?",
    (
        Part(
            "drift-lab",
            {**FILTER, "extractor": "speech"},
            "The paper draws a sound as a picture and takes one filter of a network that was trained on photographs. "
            "Here the same three spoken words go through a network that was trained on speech. The words come from a "
            "speech synthesiser, and nothing changes on the way. Each word has {train} samples to begin with.",
            "How often is Condensing-in-Time right with the network trained on speech, compared with the filter?",
            {
                "0": "Less often: a filter for pictures is better",
                "1": "About as often, within five points in a hundred",
                "2": "More often, by more than five points",
            },
            (
                "Accuracy at the beginning: how good are few samples?",
                "“Features” in the sidebar: choose the filter for photographs and compare.",
            ),
            lead,
            "{speech} against {photos}: {points} points. The network keeps what matters for telling words apart, "
            "in {speech_numbers} numbers instead of {photos_numbers}. So the largest T "
            "takes {speech_bytes} bytes instead of {photos_bytes}. The price: the network itself is much larger than "
            "one filter and has to fit the chip, too.",
        ),
    ),
)
