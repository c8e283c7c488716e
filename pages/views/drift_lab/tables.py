"""Preview of a table before it runs: columns with their kinds, and the number of rows of each class."""

import streamlit as st

from tmlcd_core.datasets.tables import LEFT_OUT, LabelCounts, Table, open_table

MOST_SHOWN = 12  # classes in a sentence
EXAMPLES = 3  # values of a column
LONGEST = 24  # characters of a value


@st.cache_resource(max_entries=16, ttl=60, show_spinner=False)
def table_of(path: str) -> Table:
    """Return an opened table; the file may change, so it is read again after a minute."""
    return open_table(path)


@st.cache_resource(max_entries=16, ttl=60, show_spinner="Counting the rows of each class …")
def counts_of(path: str, label: str) -> LabelCounts:
    """Return the number of rows of each class."""
    return table_of(path).count_labels(label)


def preview(table: Table, label: str) -> dict[str, list[str]]:
    """Return the columns of a table as columns of a preview: name, use, first values."""
    rows = table.head
    uses = ["label" if one.name == label else f"left out: {LEFT_OUT[one.kind]}" if one.kind in LEFT_OUT else one.kind
            for one in table.columns]  # fmt: skip
    values = [", ".join(str(value)[:LONGEST] for value in rows[one.name].dropna().unique()[:EXAMPLES])
              for one in table.columns]  # fmt: skip
    return {"column": [one.name for one in table.columns], "use": uses, "values": values}


def classes_in_words(counts: LabelCounts) -> str:
    """Return a sentence with the number of rows of each class."""
    shown = ", ".join(f"{name}: {n:,}" for name, n in list(counts.classes.items())[:MOST_SHOWN])
    more = f" and {len(counts.classes) - MOST_SHOWN} more" if len(counts.classes) > MOST_SHOWN else ""
    return f"{counts.rows:,} labelled rows of {len(counts.classes)} classes ({shown}{more})."
