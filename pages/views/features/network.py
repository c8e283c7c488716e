"""Features of the network trained on speech: its steps, and the channels of a layer."""

import hashlib

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from pages.shell.url_widgets import checked
from tmlcd_core.features import make_clip
from tmlcd_core.features.voice import VOICE_RATE
from tmlcd_core.viz import network_steps as viz

LAYERS = 20
CONFIG = {"displaylogo": False, "displayModeBar": False}


def show_network(clip: NDArray[np.float32], rate: int) -> None:
    """Show how the network turns a clip (samples,) into 96 numbers, and one of its layers."""
    way = extraction(hashlib.sha256(np.ascontiguousarray(clip)).hexdigest(), clip, rate)
    steps = viz.network_steps(way)
    for place, (cell, step) in enumerate(zip(st.columns(len(steps)), steps, strict=True), 1):
        with cell.container(border=True, height="stretch"):
            st.markdown(f"**{place} {step.name}** · {step.size}")
            st.caption(step.text)
            st.plotly_chart(step.figure, key=f"network{place}", config=CONFIG, alt=f"{step.name}: {step.text}")
    st.subheader("The layers between the spectrogram and the features")
    layer = checked(
        st.slider, "Layer", 1, LAYERS, 1, key="layer", help="Each layer combines what the layer before has found."
    )
    st.caption(
        f"Layer {layer} of {LAYERS}: {viz.layer_text(way, layer)}. Bright = active; each channel has its own scale."
    )
    st.plotly_chart(viz.layer_figure(way, layer), key="layer-chart", config=CONFIG, alt=f"Channels of layer {layer}.")


@st.cache_resource(max_entries=16, show_spinner="Loading the network. The first time takes a few seconds …")
def extraction(key: str, _clip: NDArray[np.float32], rate: int) -> viz.NetworkWay:
    """Return the extraction of a clip (samples,) with this digest, as `NetworkWay`."""
    return viz.network_way(make_clip(_clip, rate, VOICE_RATE))
