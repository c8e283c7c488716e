"""Step 2: say words. The prediction, its votes and neighbours, and the buttons to judge it."""

from collections import Counter
from collections.abc import Mapping, Sequence

import streamlit as st

from pages.components.take_gallery import Card, Group, take_gallery
from pages.shell.url_widgets import as_text
from pages.views.microphone.actions import say as actions
from pages.views.microphone.step_state import AlarmMessage
from pages.views.microphone.tab_state import TabState
from pages.views.microphone.thumbnails import card
from tmlcd_core.live import Answer, LiveSession, Outcome
from tmlcd_core.viz.live import curves_in_words, live_figure
from tmlcd_core.viz.palette import styles

SHOWN = 5  # nearest takes shown
LEAST = 0.005  # smallest share of the votes shown: less is 0 %
MOST_GONE = 12  # forgotten takes shown, the newest
CONFIG = {"displaylogo": False, "displayModeBar": False}
KEYS = "1234567890"
ASKS = "mic:asks"


def ask_toggle(tab: TabState) -> None:
    """Draw a toggle: the page says which word to say, and judges the answer without a click."""
    st.session_state[ASKS] = tab.say.prompting
    st.toggle(
        "Tell me what to say", key=ASKS, on_change=switch_asks, args=(tab,),
        help="The page asks for words in random order and assumes that you say them: you need not judge the answers.",
    )  # fmt: skip


def switch_asks(tab: TabState) -> None:
    """Apply the toggle."""
    actions.set_prompting(tab, st.session_state[ASKS])


def answer(tab: TabState) -> None:
    """Draw the last answer, large, with the buttons that judge it."""
    if tab.say.answer is None:
        with st.container(border=True):
            st.markdown("### …")
            st.caption("The prediction appears here after you say a word.")
        return
    with st.container(border=True, key="mic-answer"):
        if tab.say.answer.unknown and tab.say.outcome is None:
            unknown(tab.say.answer)
        else:
            predictions(tab.say.answer, tab.say.outcome)
        if tab.say.outcome is None:
            judge(tab, tab.say.answer)
        else:
            judged(tab, tab.say.outcome)


def unknown(given: Answer) -> None:
    """Draw the answer "unknown", and the nearest word."""
    st.metric("Not one of the taught words", "unknown")
    st.caption(f"The nearest word is “{as_text(nearest_word(given))}”, but it is too far away. Nothing was learned.")


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


def judge(tab: TabState, given: Answer) -> None:
    """Draw a button for each word, with a number key, to say which word was said."""
    guess = None if given.unknown else nearest_word(given)
    st.markdown(
        "**It was …** Click the word or press its number, or ignore the take."
        if given.unknown
        else "**What did you say?** Click the word or press its number."
    )
    with st.container(horizontal=True):
        for number, word in zip(KEYS, tab.session.words, strict=False):
            st.button(
                as_text(word), key=f"mic:judge:{word}", on_click=tab.run_action, args=(actions.judge, tab, word),
                shortcut=number, type="primary" if word == guess else "secondary",
            )  # fmt: skip
        if given.unknown:
            st.button(
                "Ignore", key="mic:ignore", icon=":material/close:", on_click=tab.run_action, args=(actions.ignore, tab)
            )


def judged(tab: TabState, outcome: Outcome) -> None:
    """Draw whether the answer was right, and a button to undo the judgement."""
    right = sum(verdict.right for verdict in outcome.verdicts.values())
    verdict = ":green[Right]" if right == len(outcome.verdicts) else ":red[Wrong]" if right == 0 else "Partly right"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{verdict}**: the word was “{as_text(outcome.word)}”, and it was learned. Say the next word.")
        st.button(
            "Undo", key="mic:undo", icon=":material/undo:", on_click=tab.run_action, args=(tab.apply, LiveSession.undo)
        )


def why(tab: TabState) -> None:
    """Draw the votes and the nearest takes of the last answer."""
    given = tab.say.answer
    if given is None:
        return
    looks = styles(given.ballots)
    with st.expander("Why? The votes and the nearest takes", icon=":material/help:", expanded=True):
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


def alarms(tab: TabState) -> None:
    """Draw the alarms since the last drift began or ended."""
    looks = styles(tab.session.learners)
    for alarm in tab.drift.alarms(tab.session):
        st.success(alarm_in_words(tab, alarm, looks[alarm.learner].name), icon=":material/notifications_active:")


def forgotten(tab: TabState) -> None:
    """Draw the takes that the learners have removed at these alarms."""
    looks = styles(tab.session.learners)
    gone: dict[str, list[str]] = {}
    for alarm in tab.drift.alarms(tab.session):
        gone.setdefault(alarm.learner, []).extend(alarm.forgotten)
    groups = [
        Group(f"Forgotten by {looks[name].short}", stored(tab, name, ids[-MOST_GONE:], {}), f"{len(ids)} takes")
        for name, ids in gone.items()
        if ids
    ]
    if groups:
        heard(tab, "mic:forgotten", groups)


def alarm_in_words(tab: TabState, alarm: AlarmMessage, name: str) -> str:
    """Return an alarm as a sentence; `name` is the shown name of the learner."""
    text = f"**Alarm** of {name}"
    if tab.drift.guide is not None:
        text += f", {alarm.at - tab.drift.started_at} answers after the drift began"
    text += f". Estimated change point: answer {alarm.change}."
    return f"{text} Older takes forgotten: {len(alarm.forgotten)}." if alarm.forgotten else text


def curves(tab: TabState) -> None:
    """Draw accuracy, |T| and the CUSUM statistic over the judged answers."""
    found = tab.session.curves()
    if not found or not any(len(curve.answers) for curve in found.values()):
        st.caption("The curves of accuracy, memory and the CUSUM test appear here after you judge an answer.")
        return
    st.plotly_chart(live_figure(found), key="mic:curves", config=CONFIG, alt=curves_in_words(found))
    st.caption("▼ alarm, × estimated change point, dotted line: start or end of a drift.")
