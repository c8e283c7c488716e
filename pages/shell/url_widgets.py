"""Widgets whose value stands in the address and is checked again on the server."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import streamlit as st

from tmlcd_core.errors import TmlcdError

ARRIVED, SHOWN = "page arrived", "page shown"
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


def chosen(
    widget: Callable[..., Any],
    label: str,
    options: Mapping[str, str],
    *,
    key: str,
    default: Sequence[str] = (),
    old: Mapping[str, str] | None = None,
    **shown: Any,
) -> Any:
    """A selectbox or multiselect whose identifiers stand in the address, and whose labels stand on the page.

    Streamlit's own binding writes labels. `options` are labels by identifier; `default` are the identifiers that a
    multiselect begins with (a selectbox begins with its first); `old` are values of earlier addresses, by what they
    are called now. Where the address changes by itself, as when Back is pressed, it is followed.
    """
    many = widget is st.multiselect
    usual: Any = list(default) if many else next(iter(options))
    asked = st.query_params.get_all(key)
    written = f"address:{key}"
    followed = st.session_state.get(written, [])
    if asked != followed and (asked or not st.session_state.get(ARRIVED)):
        names = [(old or {}).get(name, name) for name in asked if name]
        known = [name for name in names if name in options]
        st.session_state[key] = known or usual if many else ([usual, *known][-1])
        if known != names:
            kept = ", ".join(options[name] for name in known) or (
                ", ".join(map(options.get, default)) or options[usual]
            )
            notice = f"The link's value for **{label}** cannot be used; {as_text(kept)} is shown."
            st.toast(notice, icon=":material/link_off:", duration="long")
    if key in st.session_state and not many and st.session_state[key] not in options:
        st.session_state[key] = usual  # not offered any more
    if many and key not in st.session_state:
        st.session_state[key] = usual
    value = widget(label, list(options), key=key, format_func=options.__getitem__, persist_state="session", **shown)
    wanted = [] if value == usual else list(value) if many else [value]
    if wanted != asked:
        if wanted:
            st.query_params[key] = wanted
        else:
            st.query_params.pop(key, None)
    st.session_state[written] = wanted
    return value


def note_arrival(page: str) -> None:
    """Remember whether this run shows another page than the last one: then an empty address asks for nothing."""
    st.session_state[ARRIVED] = st.session_state.get(SHOWN) not in (None, page)
    st.session_state[SHOWN] = page


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
