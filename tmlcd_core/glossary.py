"""The words and symbols that the pages, the documentation and the code share, each with one meaning."""

from __future__ import annotations

from typing import NamedTuple


class Term(NamedTuple):
    """A word, the paper's symbol for it if there is one, and what it means in one sentence."""

    word: str
    symbol: str
    meaning: str


GLOSSARY: tuple[Term, ...] = (
    Term("class", "", "What a sample is to be recognised as: a word, a kind of picture, a cloud of points."),
    Term("label", "", "The class that a sample is said to be of; after a drift it may be another one than before."),
    Term("number of classes", "λ", "How many classes a stream begins with."),
    Term("concept", "", "Which class of the data stands behind each label, and what disturbs it."),
    Term("drift", "", "The change from one concept to the next, at once or little by little."),
    Term("learner", "", "A classifier that learns from a stream: it predicts a sample, then is told its label."),
    Term("training set", "T", "The labelled samples that a kNN keeps and asks; |T| is how many they are."),
    Term("history window", "W", "The newest samples, from which Active rebuilds T after an alarm."),
    Term("window size", "ϖ", "How many samples W holds; for Hybrid the largest |T|."),
    Term("bound", "p", "The largest |T| of Condensing-in-Time; the oldest samples go first."),
    Term("neighbours", "k", "How many stored samples vote on a prediction; usually √|T|, rounded up."),
    Term("CUSUM test", "", "The change-detection test: it watches whether the predictions are correct."),
    Term("batch", "n", "How many predictions the test counts at a time."),
    Term("warm-up", "ξ", "How many predictions the test uses to estimate the accuracy before a change."),
    Term("statistic", "g", "The strength of the evidence that the accuracy has changed."),
    Term("alarm level", "h", "The alarm is raised when g reaches it; also called threshold."),
    Term("alarm", "", "The moment at which the test says that there was a change."),
    Term("change point", "", "When the change happened, as the test estimates it at the alarm."),
    Term("condensing", "", "Keeping only the samples of T that are needed to classify the others (Hart's algorithm)."),
    Term("take", "", "One recording of one spoken word."),
)


def markdown_table() -> str:
    """The glossary as a Markdown table.

    >>> markdown_table().splitlines()[2]
    '| class | | What a sample is to be recognised as: a word, a kind of picture, a cloud of points. |'
    """
    rows = [f"| {term.word} | {term.symbol and term.symbol + ' '}| {term.meaning} |" for term in GLOSSARY]
    return "\n".join(["| word | symbol | meaning |", "|---|---|---|", *rows]).replace("|T|", r"\|T\|")
