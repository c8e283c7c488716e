"""Sample at the cursor: picture, sound, and prediction and neighbours of each learner."""

import base64
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.components.player import give_medium
from pages.shell.url_widgets import as_text, faults_as_messages
from pages.views.drift_lab.runs import LabRun
from tmlcd_core.experiments.inspection import Inspection, Neighbour
from tmlcd_core.streams.scenario import Origin
from tmlcd_core.viz.lab import plane_figure, sample_in_words
from tmlcd_core.viz.medium import picture, wav
from tmlcd_core.viz.palette import styles

SHOWN = 5  # neighbours
ROW = 3  # learners per row: more would cut their tables
THUMBNAIL = 64  # px
ORDER = "1 is the nearest neighbour, the first row of the table."
MEDIUM_SHARE = 0.7  # of a learner's column: the width of the sample's picture
RATE = 22_050  # Hz, of every clip
LOOKED = "lab looked"  # place in the picture of the sample to show


def sample_view(found: LabRun, sample: int) -> None:
    """Show a sample of the stream and how each learner classified it."""
    stream = found.stream
    label, origin = str(stream.y[sample]), stream.origins[stream.origin[sample]]
    told = sample_in_words(label, origin, found.experiment.data, found.feature_pool.kind)
    st.subheader(f"Sample {sample:,}: {as_text(told)}")
    with faults_as_messages(), st.spinner("Finding the neighbours of each learner …"):
        known = {name: found.inspection(name, sample) for name in found.experiment.learner_names}
        medium = None if stream.X.shape[1] == 2 else found.feature_pool.medium(origin, int(stream.index[sample]))
        looks, left = styles(known), list(known.items())
        shares = [MEDIUM_SHARE] * (medium is not None) + [1] * min(ROW, len(known))
        while left:
            columns = st.columns(shares, gap="small")
            if medium is not None and len(left) == len(known):
                with columns[0]:
                    show_medium(medium, label)
            for column, (name, view) in zip(columns[medium is not None :], left, strict=False):
                with column:
                    opinion(found, sample, looks[name].short, view, label)
            left = left[ROW:]


def look() -> None:
    """Callback of the player: remember the place of the sample in the picture that the visitor points at."""
    place = st.session_state.lab.get("look")
    st.session_state[LOOKED] = int(place) if isinstance(place, int | float) and place >= 0 else None


def show_looked(found: LabRun) -> None:
    """Give the player the picture and the sound of the sample that the visitor points at, if it has them."""
    place = st.session_state.get(LOOKED)  # kept: a rerun that interrupts this one must give it too
    stream, initial = found.stream, len(found.stream.y0)
    if place is None or place >= initial + len(stream):
        return
    first = place < initial
    number = int(stream.origin0[place] if first else stream.origin[place - initial])
    index = int(stream.index0[place] if first else stream.index[place - initial])
    origin = stream.origins[number]
    medium = found.feature_pool.medium(origin, index)
    if medium is None:
        return
    picture = thumbnail(found.experiment.data, origin, index, np.asarray(medium))
    heard = medium.ndim == 1
    sound = "data:audio/wav;base64," + base64.b64encode(wav(medium, RATE)).decode() if heard else None
    give_medium(place, picture, sound)


@st.cache_data(max_entries=256, show_spinner=False)
def thumbnail(data: str, origin: Origin, index: int, _medium: NDArray) -> str:
    """Return a small picture of a clip (samples,) or image (height, width, 3) as a data URL (PNG)."""
    from PIL import Image

    image = Image.fromarray(picture(_medium)).resize((THUMBNAIL, THUMBNAIL))
    image.save(buffer := io.BytesIO(), format="PNG")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


def show_medium(medium: NDArray, label: str) -> None:
    """Show a picture (height, width, 3), or spectrogram and sound of a clip (samples,)."""
    heard = medium.ndim == 1
    what = "Spectrogram: time to the right, frequency upwards." if heard else "The image."
    st.image(picture(medium), caption=what, width="stretch", alt=f"{what} The sample is labelled “{label}”.")
    if heard:
        st.audio(wav(medium, RATE), format="audio/wav", alt=f"Sound of the sample, “{label}”")


def opinion(found: LabRun, sample: int, name: str, view: Inspection, label: str) -> None:
    """Show a learner's prediction and its nearest neighbours."""
    right = view.said == label
    icon = ":material/check_circle:" if right else ":material/cancel:"
    word = as_text(view.said)
    st.markdown(f"{icon} **{name}** predicted “{word}”" + ("" if right else f" instead of “{as_text(label)}”"))
    near = view.neighbours[:SHOWN]
    if not near:
        st.caption("This learner does not vote by nearest neighbours.")
        return
    st.caption(f"{len(view.neighbours)} of {view.size} stored samples voted. The {len(near)} nearest:")
    in_plane = view.plane is not None
    media = [None if in_plane else found.feature_pool.medium(one.origin, one.index) for one in near]
    rows: dict[str, Any] = {}
    if near and not any(medium is None for medium in media):
        rows["sample"] = [
            thumbnail(found.experiment.data, one.origin, one.index, np.asarray(medium))
            for one, medium in zip(near, media, strict=True)
        ]
    rows["label"] = [one.label for one in near]
    rows["age"] = ["initial" if one.age is None else f"{one.age:,}" for one in near]
    rows["distance"] = [one.distance for one in near]
    config = {
        "sample": st.column_config.ImageColumn("", width=48),
        "label": st.column_config.TextColumn("label", width=56),
        "age": st.column_config.TextColumn(
            "age",
            width=50,
            alignment="right",
            help="Samples since it was stored. Initial: stored before the stream.",
        ),
        "distance": st.column_config.NumberColumn(
            "distance", width=70, format="%.3g", help="Euclidean distance between features."
        ),
    }
    st.dataframe(rows, hide_index=True, column_config=config, row_height=44 if "sample" in rows else 30)
    hear(name, sample, near, media)
    if view.plane is not None:
        here = found.stream.X[sample]
        classes = np.union1d(found.stream.y0, found.stream.y)
        figure = plane_figure(view.plane, view.labels, classes, here, view.plane[list(view.voters)], name)
        told = f"T of {name}: {view.size} points of {len(set(view.labels))} classes, the sample and its neighbours."
        st.plotly_chart(figure, key=f"plane {name}", config={"displayModeBar": False}, alt=told)


def hear(name: str, sample: int, near: Sequence[Neighbour], media: Sequence[NDArray | None]) -> None:
    """Show a control that plays one of the neighbours, if their `media` are clips (samples,)."""
    sounds = {place: medium for place, medium in enumerate(media, 1) if medium is not None and medium.ndim == 1}
    if not sounds:
        return
    chosen = st.segmented_control(f"Play a neighbour ({name})", list(sounds), key=f"hear {name} {sample}", help=ORDER)
    if chosen in sounds:
        said = f"Neighbour {chosen} of {name}: {near[chosen - 1].label}"
        st.audio(wav(sounds[chosen], RATE), format="audio/wav", autoplay=True, alt=said)
