"""Glossary: words and symbols shared by pages, documentation and code, each with one meaning."""

from __future__ import annotations

from typing import NamedTuple


class Term(NamedTuple):
    """A word, the paper's symbol if there is one, and its meaning in one sentence."""

    word: str
    symbol: str
    meaning: str


GLOSSARY: tuple[Term, ...] = (
    Term("class", "", "One of the categories to recognise: a word, a kind of image, a cluster of points."),
    Term("label", "", "The class assigned to a sample. After a drift the same content may have another label."),
    Term("number of classes", "λ", "Number of classes at the start of a stream."),
    Term("concept", "", "The class of the data behind each label, and the disturbance of the samples."),
    Term("drift", "", "The change from one concept to the next, abrupt or gradual."),
    Term("learner", "", "A classifier that learns from a stream: it predicts each sample, then learns its label."),
    Term("initial samples", "", "Labelled samples on which a learner is fitted before the stream starts."),
    Term("training set", "T", "The labelled samples that a kNN stores; |T| is their number."),
    Term(
        "bound",
        "p, ϖ",
        "Largest |T| (`max_size`): p for Condensing-in-Time, ϖ for Hybrid. The oldest samples leave first.",
    ),
    Term("history window", "W", "The newest samples, from which Active rebuilds T after an alarm."),
    Term("window size", "ϖ", "Number of samples in W."),
    Term("neighbours", "k", "Number of stored samples that vote on a prediction; by default √|T|, rounded up."),
    Term("detector", "", "A change-detection test on correct and wrong predictions, such as the CUSUM test."),
    Term(
        "CUSUM test", "", "The paper's detector: it compares the accuracy before and after each possible change point."
    ),
    Term("batch", "n", "Number of predictions that the CUSUM test counts at a time."),
    Term("warm-up", "ξ", "Number of predictions used to estimate the accuracy before a change."),
    Term("statistic", "g", "Strength of the evidence that the accuracy has changed."),
    Term("alarm level", "h", "Value of g that raises the alarm; `threshold` in the code."),
    Term("alarm", "", "The moment at which a detector reports a change."),
    Term("change point", "", "Time of the change, as estimated at the alarm."),
    Term("condensing", "", "Keeping only the samples of T that are needed to classify the others (Hart's algorithm)."),
    Term("take", "", "One recording of one spoken word."),
)


def markdown_table() -> str:
    """Return the glossary as a Markdown table.

    >>> markdown_table().splitlines()[2]
    '| class | | One of the categories to recognise: a word, a kind of image, a cluster of points. |'
    """
    rows = [f"| {term.word} | {term.symbol and term.symbol + ' '}| {term.meaning} |" for term in GLOSSARY]
    return "\n".join(["| word | symbol | meaning |", "|---|---|---|", *rows]).replace("|T|", r"\|T\|")
