"""Head of the Paper page: number of claims that hold, and the findings."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from pages.shell.url_widgets import as_text
from pages.views.paper.forgetting import shipped_study
from tmlcd_core.paper.findings import claim_counts, findings


def show_findings(found: Mapping[str, Any]) -> None:
    """Show the findings of a reproduction as a numbered list: a bold title, and its numbers below."""
    st.subheader("The most interesting findings")
    for number, one in enumerate(findings(found, shipped_study()), 1):
        st.markdown(f"{number}. **{as_text(one.title)}.**  \n{as_text(one.text)}")
    st.markdown(as_text(claim_counts(found)))
