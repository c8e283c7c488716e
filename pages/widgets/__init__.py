"""Widgets whose value stands in the address and is checked again on the server."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import streamlit as st

from tmlcd_core.errors import TmlcdError

WORD_JOINER = "\u2060"  # is not shown and allows no line break
LINK_PARTS = re.compile(r"(?<=:)(?=//)|(?<=www)(?=\.)|(?=@)", re.IGNORECASE)  # where links of GitHub's Markdown part


def checked(widget: Callable[..., Any], label: str, *args: Any, key: str, **options: Any) -> Any:
    """A widget bound to the address under its key, with its value kept within the widget's own limits.

    A link that asks for something the widget cannot show gets the default, and a notice when it is opened.
    """
    drop_endless(widget, key)
    asked = st.query_params.get_all(key)
    value = widget(label, *args, key=key, bind="query-params", persist_state="session", **options)
    value = limited(value, *args, free=bool(options.get("accept_new_options")))
    opened = f"opened:{key}"
    if opened not in st.session_state:
        st.session_state[opened] = True
        if asked and not says(asked, value):
            shown = ", ".join(value) or "nothing" if isinstance(value, list) else value
            notice = f"The link's value for **{label}** cannot be used; {as_text(str(shown))} is shown."
            st.toast(notice, icon=":material/link_off:", duration="long")
    return value


def drop_endless(widget: Callable[..., Any], key: str) -> None:
    """Open a link anew without a number like 1e999: Streamlit's number_input would stop with an OverflowError."""
    if widget is not st.number_input or key not in st.query_params:
        return
    try:
        endless = abs(float(st.query_params[key])) == float("inf")
    except ValueError:
        return
    if endless:
        st.toast("The link asks for a number that is too large; the default is shown.", icon=":material/link_off:")
        del st.query_params[key]
        st.rerun()


def limited(value: Any, *args: Any, free: bool = False) -> Any:
    """The value within the widget's limits: those hold only in the browser. `free`: new options may be typed."""
    if args and isinstance(args[0], list | tuple):
        if isinstance(value, list):
            return [one for one in value if free or one in args[0]]
        return value if value in args[0] else args[0][0]
    if len(args) >= 2:
        low, high = args[:2]
        return min(max(value, low), high)
    return value


def says(asked: list[str], value: Any) -> bool:
    """Whether the texts of an address mean this value."""
    if isinstance(value, list):
        return [text for text in asked if text] == value
    text = asked[-1]
    if isinstance(value, bool):
        return text.lower() == str(value).lower()
    try:
        return float(text) == float(value)
    except ValueError:
        return text == str(value)


def table(rows: Any, *numbers: str) -> None:
    """A table with these columns to the right: Streamlit takes a number with a comma or a unit for a word."""
    import pandas as pd

    frame = pd.DataFrame(rows)
    places = (f".col{frame.columns.get_loc(name)}" for name in numbers)
    right = [{"selector": place, "props": "text-align: right !important"} for place in places]
    st.table(frame.style.set_table_styles(right), border="horizontal", hide_index=True)


def as_text(text: str) -> str:
    """Escape Markdown, and part what Markdown would make a link of, though escaped: https://…, www.…, …@….

    >>> as_text("*a*"), as_text("a@b.c") == "a" + WORD_JOINER + r"@b\\.c"
    ('\\\\*a\\\\*', True)
    """
    text = LINK_PARTS.sub(WORD_JOINER, text)
    return re.sub(r"([\\`*_{}\[\]()<>#+\-.!|$:~^=&])", r"\\\1", text)


def show_fault(fault: TmlcdError | str, place: Any = st) -> None:
    """What is wrong, as a message."""
    place.error(as_text(str(fault)), icon=":material/error:")


@contextmanager
def faults_as_messages() -> Iterator[None]:
    """Show what tmlcd_core complains about as a message, never as a traceback."""
    try:
        yield
    except TmlcdError as fault:
        show_fault(fault)
