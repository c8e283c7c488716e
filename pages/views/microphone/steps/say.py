"""Step 2: say words. The prediction, its votes and neighbours, and the buttons to judge it."""

from collections import Counter
from collections.abc import Mapping, Sequence

import streamlit as st

from pages.components.take_gallery import Card, Group, take_gallery
from pages.shell.presenter import presenting
from pages.shell.url_widgets import as_text
from pages.views.microphone.actions import say as actions
from pages.views.microphone.sources import NOISE, UNKNOWN, show_messages
from pages.views.microphone.tab_state import TabState
from pages.views.microphone.thumbnails import card
from tmlcd_core.live import Answer, Outcome
from tmlcd_core.live.expectations import expect_unknown
from tmlcd_core.viz.live import curves_in_words, live_figure
from tmlcd_core.viz.palette import styles

SHOWN = 5  # nearest takes shown
LEAST = 0.005  # smallest share of the votes shown: less is 0 %
MOST_GONE = 6  # forgotten takes shown, the newest
CONFIG = {"displaylogo": False, "displayModeBar": False}
KEYS = "1234567890"
PRESENTED = "<style>.st-key-mic-answer [data-testid=stMetricValue] { font-size: 6rem !important; }</style>"
TALL_CURVES = 460  # px, in the presenter's view
CURVES_HEIGHT = 330  # px: fits beside the recorder on a screen of 720 px
ASKS = "mic:asks"


def ask_toggle(tab: TabState) -> None:
    """Draw a toggle: the page says which word to say, and judges the answers without a click."""
    st.session_state[ASKS] = tab.say.prompting
    st.toggle(
        "Tell me what to say", key=ASKS, on_change=switch_asks, args=(tab,),
        help="The page asks for words in random order and assumes that you say them: correct it only if you said "
        "another one. Without this, say any word and select it after each answer.",
    )  # fmt: skip


def switch_asks(tab: TabState) -> None:
    """Apply the toggle."""
    actions.set_prompting(tab, st.session_state[ASKS])


def answer(tab: TabState) -> None:
    """Draw the last answer, large, with one button per word to judge or correct it: always in the same place."""
    given, outcome = tab.say.answer, tab.say.outcome
    if presenting():
        st.html(PRESENTED)
    with st.container(border=True, key="mic-answer"):
        if given is None:
            st.metric("Prediction", "…")
            if not tab.messages.shown:
                st.markdown("The prediction appears here after you say a word.")
        elif given.unknown and outcome is None:
            if given.noise:
                st.metric("Background, not a word", NOISE)
                st.markdown("Nothing was learned: it sounds like the room. If it was a word, **it was …**")
            else:
                st.metric("Not one of the taught words", UNKNOWN)
                nearest = as_text(nearest_word(given))
                st.markdown(f"Nothing was learned. The nearest word is “{nearest}”. **It was …**")
            if warning := expect_unknown(tab.session):
                st.caption(as_text(warning))
        else:
            predictions(given, outcome)
            st.markdown("**What did you say?**" if outcome is None else verdict(outcome))
        if given is None:
            show_messages(tab)
        judge(tab, given)
        if given is not None:
            show_messages(tab)


def verdict(outcome: Outcome) -> str:
    """Return whether the answer was right, in Markdown."""
    right = sum(verdict.right for verdict in outcome.verdicts.values())
    text = ":green[Right]" if right == len(outcome.verdicts) else ":red[Wrong]" if right == 0 else "Partly right"
    return f"**{text}**: the word was “{as_text(outcome.word)}”. If not, correct it:"


def nearest_word(given: Answer) -> str:
    """Return the word that most learners predict."""
    return Counter(ballot.prediction for ballot in given.ballots.values()).most_common(1)[0][0]


def predictions(given: Answer, outcome: Outcome | None) -> None:
    """Draw the prediction of each learner, or one if all agree."""
    looks = styles(given.ballots)
    words = {ballot.prediction for ballot in given.ballots.values()}
    groups = [list(given.ballots)] if len(words) == 1 else [[name] for name in given.ballots]
    for column, names in zip(st.columns(len(groups)), groups, strict=True):
        ballot = given.ballots[names[0]]
        who = looks[names[0]].short if len(names) == 1 else "All agree" if len(names) > 2 else "Both agree"
        icon = ""
        if outcome is not None:
            right = outcome.verdicts[names[0]].right
            icon = ":green[:material/check_circle:] " if right else ":red[:material/cancel:] "
        column.metric(f"{icon}{who}, {ballot.confidence:.0%} sure", as_text(ballot.prediction))


def judge(tab: TabState, given: Answer | None) -> None:
    """Draw a button for each word, with a number key, to say which word was said, and one to ignore the take."""
    told = None if given is None else nearest_word(given)
    if given is not None and given.unknown:
        told = tab.say.prompted if tab.say.prompting else None
    if tab.say.outcome is not None:
        told = tab.say.outcome.word
    with st.container(horizontal=True, key="mic-judge"):
        for number, word in zip(KEYS, tab.session.words, strict=False):
            st.button(
                as_text(word), key=f"mic:judge:{word}", on_click=tab.run_action, args=(actions.judge, tab, word),
                shortcut=number, type="primary" if word == told else "secondary", disabled=given is None,
            )  # fmt: skip
        st.button(
            "Ignore", key="mic:ignore", icon=":material/close:", on_click=tab.run_action, args=(actions.ignore, tab),
            disabled=given is None, help="Remove this take. Nothing is learned from it.",
        )  # fmt: skip


def why(tab: TabState) -> None:
    """Draw the votes and the nearest takes of the last answer."""
    given = tab.say.answer
    if given is None:
        return
    looks = styles(given.ballots)
    with st.expander("Why? The votes and the nearest takes", icon=":material/help:", expanded=False):
        for column, (name, ballot) in zip(st.columns(len(given.ballots)), given.ballots.items(), strict=True):
            column.markdown(f"**{looks[name].short}**")
            for word, share in sorted(ballot.votes.items(), key=lambda vote: -vote[1]):
                if share >= LEAST:
                    column.progress(min(1.0, share), text=f"{as_text(word)} {share:.0%}")
        groups = [Group("You said", [card(given.id, given.take, "what you said")])]
        for ids, names in same_neighbours(given).items():
            distance = dict(given.ballots[names[0]].nearest)
            notes = {take: f"distance {distance[take]:.1f}" for take in ids}
            note = "" if len(names) == len(given.ballots) else f"of {', '.join(looks[name].short for name in names)}"
            groups.append(Group("Nearest stored takes", stored(tab, names[0], ids, notes), note))
        heard(tab, "mic:near", groups)


def same_neighbours(given: Answer) -> dict[tuple[str, ...], list[str]]:
    """Return the learners grouped by their nearest takes: ids of the takes to names of learners."""
    found: dict[tuple[str, ...], list[str]] = {}
    for name, ballot in given.ballots.items():
        found.setdefault(tuple(take for take, _ in ballot.nearest[:SHOWN]), []).append(name)
    return found


def stored(tab: TabState, learner: str, ids: Sequence[str], notes: Mapping[str, str]) -> list[Card]:
    """Return cards of takes with their words; the ids hold the learner, as two learners may show the same take."""
    takes, labels = tab.session.takes, tab.session.labels()
    return [
        card(f"{learner}:{name}", takes[name], f"a take of “{labels[name]}”", labels[name], notes.get(name, ""))
        for name in ids
        if name in labels
    ]


@st.fragment
def heard(tab: TabState, key: str, groups: list[Group]) -> None:
    """Draw takes to hear; a click reruns only this fragment."""
    take_gallery(key, groups, lambda name: tab.session.takes[name.rpartition(":")[2]].wav(), flow=True)


def forgotten(tab: TabState) -> None:
    """Draw the takes that the learners have removed at the alarms since the last drift began or ended."""
    looks = styles(tab.session.learners)
    labels = tab.session.labels()
    by_learner: dict[str, list[str]] = {}
    for alarm in tab.drift.alarms(tab.session):
        by_learner.setdefault(alarm.learner, []).extend(take for take in alarm.forgotten if take in labels)
    same: dict[tuple[str, ...], list[str]] = {}
    for name, ids in by_learner.items():
        if ids:
            same.setdefault(tuple(ids), []).append(name)
    groups = []
    for ids, names in same.items():
        counts = Counter(labels[take] for take in ids)
        note = f"{len(ids)} takes: " + ", ".join(f"{count} × {word}" for word, count in counts.items())
        who = " and ".join(looks[name].short for name in names)
        groups.append(Group(f"Forgotten by {who}", stored(tab, names[0], ids[-MOST_GONE:], {}), note))
    if groups:
        heard(tab, "mic:forgotten", groups)


def curves(tab: TabState) -> None:
    """Draw accuracy, |T| and the CUSUM statistic over the judged answers."""
    found = tab.session.curves()
    if not found or not any(len(curve.answers) for curve in found.values()):
        st.caption("The curves of accuracy, memory and the CUSUM test appear here after the first judged answer.")
        return
    st.plotly_chart(
        live_figure(found, TALL_CURVES if presenting() else CURVES_HEIGHT),
        key="mic:curves",
        config=CONFIG,
        alt=curves_in_words(found),
    )
