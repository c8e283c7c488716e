"""Custom lesson: a title and a question in the address, with the settings of the page."""

import streamlit as st

from pages.views.lessons import link

LIMITS = {"title": 80, "question": 300}  # characters; also applied when a link is opened, since anyone can write one


def plain(text: str, limit: int) -> str:
    """Return the text as one line of at most `limit` characters."""
    return " ".join(text.split())[:limit]


def show_lesson() -> None:
    """Show the title and question of the address, if any, as plain text: no markup, no links."""
    said = [plain(st.query_params.get(key, ""), limit) for key, limit in LIMITS.items()]
    if any(said):
        with st.container(key="banner", horizontal=True, gap="small"):
            for text in filter(None, said):
                st.text(text, width="content")


def make_lesson(page: str) -> None:
    """An expander that turns the settings of this page into a link with a title and a question."""
    with st.expander("Make a lesson of these settings", icon=":material/school:"):
        title = st.text_input("Title", max_chars=LIMITS["title"], key="own title")
        question = st.text_area("Question", max_chars=LIMITS["question"], height=80, key="own question")
        if plain(title, 1) or plain(question, 1):
            settings = {key: st.query_params.get_all(key) for key in st.query_params if key not in LIMITS}
            here = (st.context.url or page).split("?")[0].removesuffix(page)
            words = (plain(said, limit) for said, limit in zip((title, question), LIMITS.values(), strict=True))
            st.code(here + link(page, settings, *words), language=None, wrap_lines=True)
            st.caption("Whoever opens this link finds the title and the question above the page as it is set now.")
        else:
            st.caption("Set the page as the class is to find it, then give it a title or a question.")
