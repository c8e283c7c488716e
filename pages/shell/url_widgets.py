"""Widgets bound to query parameters of the address, with validation on the server."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import streamlit as st

from tmlcd_core.errors import TmlcdError

NEVER_DRAWN = object()
ARRIVED, SHOWN = "page arrived", "page shown"
WORD_JOINER = "\u2060"  # invisible, prevents a line break
LINK_PARTS = re.compile(r"(?<=:)(?=//)|(?<=www)(?=\.)|(?=@)", re.IGNORECASE)  # where to break up Markdown autolinks


def checked(widget: Callable[..., Any], label: str, *args: Any, key: str, **options: Any) -> Any:
    """Draw a widget bound to the query parameter `key` and return its value, limited to the widget's range.

    If a link contains an invalid value, the widget shows the default and a toast reports it.
    """
    drop_endless(widget, key)
    st.session_state[f"usual:{key}"] = _usual(widget.__name__, args, options)
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
    """Draw a selectbox or multiselect with identifiers in the address and labels on the page; return its value.

    Streamlit's own binding writes labels. `options` maps identifier to label; `default` are the initial identifiers of
    a multiselect (a selectbox starts with its first); `old` maps values of earlier addresses to identifiers. If the
    address changes, for example by the Back button, the widget follows it.
    """
    many = widget is st.multiselect
    usual: Any = list(default) if many else next(iter(options))
    st.session_state[f"usual:{key}"] = usual
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
        st.session_state[key] = usual  # no longer offered
    if key not in st.session_state:
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


def follow_address(key: str) -> None:
    """Let the widget with this key read its value from the address again, or have its default."""
    st.session_state.pop(f"address:{key}", None)
    if (value := usual_value(key)) is not NEVER_DRAWN:
        st.session_state[key] = value
    if st.query_params.get_all(key):
        st.session_state.pop(key, None)


def usual_value(key: str) -> Any:
    """Return the default value of the widget with this key; `NEVER_DRAWN` if this session has not shown it."""
    return st.session_state.get(f"usual:{key}", NEVER_DRAWN)


def _usual(kind: str, args: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """Default value of a Streamlit widget of this kind with these arguments."""
    if "value" in options:
        return options["value"]
    if kind in ("slider", "number_input"):
        return args[2] if len(args) > 2 else None
    if kind == "multiselect":
        return []
    if kind in ("selectbox", "select_slider"):
        return args[0][0]
    return args[0] if args else ""


def note_arrival(page: str) -> None:
    """Record whether this run shows a new page: then an empty address does not reset the widgets."""
    st.session_state[ARRIVED] = st.session_state.get(SHOWN) not in (None, page)
    st.session_state[SHOWN] = page


def drop_endless(widget: Callable[..., Any], key: str) -> None:
    """Remove an infinite number like 1e999 from the address: Streamlit's number_input would raise OverflowError."""
    if widget is not st.number_input or key not in st.query_params:
        return
    try:
        endless = abs(float(st.query_params[key])) == float("inf")
    except ValueError:
        return
    if endless:
        st.toast("A number in the link is too large. The default is shown.", icon=":material/link_off:")
        del st.query_params[key]
        st.rerun()


def limited(value: Any, *args: Any, free: bool = False) -> Any:
    """Return the value limited to the widget's range, which only the browser enforces; `free` allows new options."""
    if value is None:  # an empty field
        return None
    if args and isinstance(args[0], list | tuple):
        if isinstance(value, list):
            return [one for one in value if free or one in args[0]]
        return value if value in args[0] else args[0][0]
    if len(args) >= 2:
        low, high = args[:2]
        return min(max(value, low), high)
    return value


def says(asked: list[str], value: Any) -> bool:
    """True if the texts of a query parameter mean this value."""
    if isinstance(value, list):
        return [text for text in asked if text] == value
    text = asked[-1]
    if value is None:
        return text in ("", "0")
    if isinstance(value, bool):
        return text.lower() == str(value).lower()
    try:
        return float(text) == float(value)
    except ValueError:
        return text == str(value)


def table(rows: Any, *numbers: str) -> None:
    """Show a table with the columns `numbers` right-aligned: Streamlit treats numbers with comma or unit as text."""
    import pandas as pd

    frame = pd.DataFrame(rows)
    places = (f".col{frame.columns.get_loc(name)}" for name in numbers)
    right = [{"selector": place, "props": "text-align: right !important"} for place in places]
    st.table(frame.style.set_table_styles(right), border="horizontal", hide_index=True)


def as_text(text: str) -> str:
    """Return text with Markdown escaped and autolinks (https://…, www.…, …@…), which escaping does not stop, broken up.

    >>> as_text("*a*"), as_text("a@b.c") == "a" + WORD_JOINER + r"@b\\.c"
    ('\\\\*a\\\\*', True)
    """
    text = LINK_PARTS.sub(WORD_JOINER, text)
    return re.sub(r"([\\`*_{}\[\]()<>#+\-.!|$:~^=&])", r"\\\1", text)


def show_fault(fault: TmlcdError | str, place: Any = st) -> None:
    """Show an error message."""
    place.error(as_text(str(fault)), icon=":material/error:")


@contextmanager
def faults_as_messages() -> Iterator[None]:
    """Show a `TmlcdError` raised inside as an error message instead of a traceback."""
    try:
        yield
    except TmlcdError as fault:
        show_fault(fault)
