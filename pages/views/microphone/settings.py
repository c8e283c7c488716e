"""Settings of a session as widgets in the sidebar; the widgets and the session are kept equal."""

from dataclasses import replace
from typing import Any

import streamlit as st

from pages.shell.url_widgets import as_text
from pages.views.microphone.tab_state import TabState
from tmlcd_core.errors import TmlcdError
from tmlcd_core.features.voice import BEST_VOICE, VOICE_EXTRACTORS
from tmlcd_core.live import LIVE_LEARNERS, RANGES, LiveSession, LiveSettings
from tmlcd_core.viz.palette import styles

SHOWN = "mic:settings"
ACCURACIES = (0.9, 0.8)  # for which the rate of false alarms is shown
CALIBRATED = RANGES["threshold"][0]  # this threshold means: calibrate it from the rate of false alarms
FALSE_ALARMS = (RANGES["false_alarms"][0], 0.02, 0.05, 0.1, RANGES["false_alarms"][1])


def settings(tab: TabState) -> None:
    """Draw extractor, learners and settings of the CUSUM test; change the session when a widget has changed."""
    session = tab.session
    shown = values(session)
    # The session was opened or changed in another tab, or Streamlit dropped the values while another page was shown.
    if st.session_state.get(SHOWN) != stamp(session) or not all(key in st.session_state for key in shown):
        st.session_state.update(shown)
        st.session_state[SHOWN] = stamp(session)
        if offered(session.settings) != session.settings:
            tab.messages.info("Some settings of this session are not available here: the nearest values are used.")
    with st.expander("Features", icon=":material/graphic_eq:"):
        extractor = st.selectbox(
            "Extractor", list(VOICE_EXTRACTORS), key="mic:extractor", format_func=title,
            help="How a take becomes a feature vector. After a change, the features of all takes are computed again.",
        )  # fmt: skip
        st.caption(f"{VOICE_EXTRACTORS[extractor].explain} {VOICE_EXTRACTORS[extractor].n_features:,} features.")
    with st.expander("Learners", icon=":material/school:"):
        looks = styles(LIVE_LEARNERS)
        chosen = st.multiselect(
            "Learners to compare", LIVE_LEARNERS, key="mic:learners", format_func=lambda name: looks[name].name,
            help="CIT learns from its errors; Active and Hybrid also detect changes.",
        )  # fmt: skip
        k = st.number_input("Neighbours (k)", *RANGES["k"], key="mic:k", help="Number of nearest takes that vote.")
        votes = st.selectbox(
            "Votes", ["distance", "uniform"], key="mic:votes", help="Weight of a vote: 1/distance, or 1 (uniform)."
        )
        size = st.number_input(
            "Bound (largest |T|)", *RANGES["max_size"], key="mic:size", help="Most takes that Hybrid stores."
        )
        window = st.number_input(
            "Window (ϖ)", *RANGES["window"], key="mic:window", help="Number of newest takes that Active keeps in W."
        )
    with st.expander("Change detection", icon=":material/query_stats:"):
        batch = st.slider("Batch (n)", *RANGES["batch"], key="mic:n", help="Answers per batch of the test.")
        warmup = st.slider(
            "Warm-up (ξ)", *RANGES["warmup"], key="mic:xi", help="Answers used to estimate the accuracy υ₀."
        )
        h = st.slider(
            "Alarm level (h)", *RANGES["threshold"], step=0.5, key="mic:h",
            help="The alarm is raised when the statistic g reaches h. 0 = computed from the rate of false alarms.",
        )  # fmt: skip
        alarms = st.select_slider(
            "False alarms", FALSE_ALARMS, key="mic:false", format_func=lambda p: f"{p:.0%}",
            help="Probability of a false alarm within 100 answers at an accuracy of 90 %; h is computed from it.",
        )  # fmt: skip
        place = st.empty()
    learners = tuple(name for name in LIVE_LEARNERS if name in chosen)  # always in this order
    if not learners:
        st.error("Choose at least one learner.", icon=":material/error:")
        return
    old = session.settings
    try:
        wanted = replace(
            old, batch=batch, warmup=warmup, threshold=h or None, false_alarms=alarms, k=int(k), weights=votes,
            max_size=int(size), window=int(window),
        )  # fmt: skip
        if (extractor, learners, wanted) != stamp(session):
            with tab.exclusive(), st.spinner("Applying the settings to all takes …"):
                session.change(extractor, learners, wanted)
                if session.takes:
                    tab.handle.mark_changed()
                tab.refresh()
                st.session_state[SHOWN] = stamp(session)
        test = session.settings
        rates = " and ".join(
            f"{test.false_alarm_rate(accuracy):.0%} at an accuracy of {accuracy:.0%}" for accuracy in ACCURACIES
        )
        place.caption(f"h = {test.h:.1f}. Probability of a false alarm within {test.horizon} answers: {rates}.")
    except TmlcdError as error:
        st.error(as_text(str(error)), icon=":material/error:")


def title(name: str) -> str:
    """Return the title of an extractor for the selection."""
    mark = {"paper": " (reference)", BEST_VOICE: " (best)"}.get(name, "")
    return f"{VOICE_EXTRACTORS[name].title}{mark}"


def stamp(session: LiveSession) -> tuple[str, tuple[str, ...], LiveSettings]:
    """Return the extractor, learners and settings of a session, all of which the widgets set."""
    return session.extractor, session.learners, session.settings


def offered(settings: LiveSettings) -> LiveSettings:
    """Return the nearest settings that the widgets can show."""
    k = 3 if settings.k == "sqrt" else settings.k
    nearest = min(FALSE_ALARMS, key=lambda share: abs(share - settings.false_alarms))
    return replace(settings, k=k, threshold=settings.threshold or None, false_alarms=nearest)


def values(session: LiveSession) -> dict[str, Any]:
    """Return the value of each widget by key."""
    s = offered(session.settings)
    return {
        "mic:extractor": session.extractor,
        "mic:learners": list(session.learners),
        "mic:k": s.k,
        "mic:votes": s.weights,
        "mic:size": s.max_size,
        "mic:window": s.window,
        "mic:n": s.batch,
        "mic:xi": s.warmup,
        "mic:h": s.threshold or CALIBRATED,
        "mic:false": s.false_alarms,
    }
