"""Gallery cards of takes, with a spectrogram."""

import base64
import io
from collections.abc import Iterable

import streamlit as st

from pages.components.take_gallery import Card
from tmlcd_core.features.voice import Take
from tmlcd_core.viz.live import thumbnail

SIZE = (192, 128)  # px: twice the size on the page, for high-resolution screens


@st.cache_data(max_entries=1000, show_spinner=False)
def picture(digest: str, _take: Take) -> str:
    """Return the spectrogram of a take as a data URL (JPEG)."""
    from PIL import Image

    image = Image.fromarray(thumbnail(_take)).resize(SIZE)
    image.save(buffer := io.BytesIO(), format="JPEG", quality=80)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()


def card(name: str, take: Take, alt: str, label: str = "", note: str = "") -> Card:
    """Return the card of one take."""
    return Card(name, picture(take.digest, take), alt, label, note)


def cards(takes: Iterable[tuple[str, Take]], word: str) -> list[Card]:
    """Return numbered cards of takes of one word, given as (id, take)."""
    return [card(name, take, f"take {i} of “{word}”") for i, (name, take) in enumerate(takes, 1)]
