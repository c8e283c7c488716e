"""The sample under the cursor: to see, to hear, and what each learner made of it."""

import base64
import io
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.lab.runs import LabRun
from pages.widgets import as_text, faults_as_messages
from tmlcd_core.experiments.closeup import Closeup, Neighbour
from tmlcd_core.experiments.scenario import Origin
from tmlcd_core.viz.lab import origin_in_words, plane_figure
from tmlcd_core.viz.medium import picture, wav
from tmlcd_core.viz.palette import styles

SHOWN = 5  # neighbours
THUMBNAIL = 64  # px
RATE = 22_050  # Hz, of every clip


def sample_view(found: LabRun, sample: int) -> None:
    """Everything about one sample."""
    stream = found.stream
    label, origin = str(stream.y[sample]), stream.origins[stream.origin[sample]]
    st.subheader(f"Sample {sample}: {as_text(origin_in_words(label, origin))}")
    with faults_as_messages(), st.spinner("Looking at what each learner knew …"):
        known = {name: found.closeup(name, sample) for name in found.trial.learners}
        medium = None if stream.X.shape[1] == 2 else found.material.medium(origin, int(stream.index[sample]))
        columns = st.columns(len(known) + (medium is not None))
        if medium is not None:
            with columns[0]:
                show_medium(medium, label)
        looks = styles(known)
        for column, (name, view) in zip(columns[medium is not None :], known.items(), strict=True):
            with column:
                opinion(found, sample, looks[name].short, view, label)


@st.cache_data(max_entries=256, show_spinner=False)
def thumbnail(data: str, origin: Origin, index: int, _medium: NDArray) -> str:
    """A small picture as an address that holds it."""
    from PIL import Image

    image = Image.fromarray(picture(_medium)).resize((THUMBNAIL, THUMBNAIL))
    image.save(buffer := io.BytesIO(), format="PNG")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


def show_medium(medium: NDArray, label: str) -> None:
    """A picture or a spectrogram, and the sound."""
    heard = medium.ndim == 1
    what = "Spectrogram: time to the right, frequency upwards." if heard else "The image."
    st.image(picture(medium), caption=what, width="stretch")
    if heard:
        st.audio(wav(medium, RATE), format="audio/wav")


def opinion(found: LabRun, sample: int, name: str, view: Closeup, label: str) -> None:
    """What one learner said, and the neighbours that made it say so."""
    right = view.said == label
    icon = ":material/check_circle:" if right else ":material/cancel:"
    word = as_text(view.said)
    st.markdown(f"{icon} **{name}** said “{word}”" + ("" if right else f" instead of “{as_text(label)}”"))
    st.caption(f"{len(view.neighbours)} of |T| = {view.size} voted; the nearest:")
    rows: dict[str, Any] = {}
    near = view.neighbours[:SHOWN]
    if found.stream.X.shape[1] != 2:
        pictures = [neighbour_picture(found, one) for one in near]
        if all(pictures):
            rows["sample"] = pictures
    rows["label"] = [one.label for one in near]
    rows["age"] = ["initial" if one.age is None else str(one.age) for one in near]
    config = {
        "sample": st.column_config.ImageColumn("", width=60),
        "age": st.column_config.TextColumn("age", help="Samples since it was learned"),
    }
    st.dataframe(rows, hide_index=True, column_config=config, row_height=44 if "sample" in rows else 30)
    if view.plane is not None:
        here = found.stream.X[sample]
        figure = plane_figure(view.plane, view.labels, here, view.plane[list(view.voters)], name)
        st.plotly_chart(figure, key=f"plane {name}", config={"displayModeBar": False})


def neighbour_picture(found: LabRun, one: Neighbour) -> str | None:
    medium = found.material.medium(one.origin, one.index)
    return None if medium is None else thumbnail(found.trial.data, one.origin, one.index, np.asarray(medium))
