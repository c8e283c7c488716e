"""A lesson: parts with a question to predict, a check against the run, and an explanation with its numbers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlencode

Settings = dict[str, str | list[str]]
UNSURE = "unsure"  # the prediction of somebody who does not want to guess


class Found(NamedTuple):
    """Result of the run: the right option, a value for each option that has one, and numbers of the explanation."""

    answer: str
    values: Mapping[str, str]
    facts: Mapping[str, str]


@dataclass(frozen=True)
class Part:
    """One prediction: page and settings, question and options, and what the run says.

    Texts may name a setting in braces; `explain` may also name a fact of `measure`. They contain no other numbers.

    Parameters
    ----------
    page : str
        Address of the page that the part opens.
    settings : dict
        Settings of that page, by the keys of its widgets.
    read : str
        What happens in the run.
    question : str
        Question to predict; it must not give the answer away.
    options : dict
        Identifier -> text of each answer.
    watch : tuple of str
        What to look at while the run plays.
    measure : callable
        Function of `settings` that returns what the run says, as `Found`.
    explain : str
        Explanation, in Markdown, shown after the check.
    """

    page: str
    settings: Settings
    read: str
    question: str
    options: dict[str, str]
    watch: tuple[str, ...]
    measure: Callable[[Settings], Found]
    explain: str

    def text(self, text: str, facts: Mapping[str, str] | None = None) -> str:
        """Return a text with the settings and `facts` filled in."""
        plain = {key: value for key, value in self.settings.items() if isinstance(value, str)}
        return text.format(**(plain | {"bytes": f"{int(plain.get('max_bytes', 0)):,}"} | dict(facts or {})))


@dataclass(frozen=True)
class Lesson:
    """Five minutes about one question.

    Parameters
    ----------
    name : str
        Identifier in addresses.
    title, about : str
        Title, and what it is about in one sentence; neither gives an answer away.
    parts : tuple of Part
        One prediction after the other.
    old_title : str
        Title in addresses of earlier versions.
    """

    name: str
    title: str
    about: str
    parts: tuple[Part, ...]
    old_title: str = ""

    def key(self, number: int) -> str:
        """Return the key of a part's prediction; parts count from 1."""
        return f"{self.name}-{number}"

    def link(self, number: int = 1) -> str:
        """Return the address, relative to any page, that opens a part."""
        part = self.parts[number - 1]
        named = {"lesson": self.name} | ({"step": str(number)} if number > 1 else {})
        return f"{part.page}?{urlencode(named | part.settings, doseq=True)}"
