"""Guided lessons: what each opens, what to watch, a question, what to change, and the answer.

Numbers stand in `facts` and nowhere else; tests/pages/test_lessons.py measures each of them again on what the
links open.
"""

from dataclasses import dataclass, field
from urllib.parse import urlencode

Settings = dict[str, str | list[str]]


def link(page: str, settings: Settings, title: str, question: str) -> str:
    """The address, relative to any page, that opens `page` with these settings and a question above them."""
    words = {key: text for key, text in (("title", title), ("question", question)) if text}
    return f"{page}?{urlencode(settings | words, doseq=True)}"


@dataclass(frozen=True)
class Lesson:
    """Five minutes with one page.

    Texts may name a fact in braces. `open` and `changed` are the settings of `page`, by the keys of its widgets.
    """

    title: str
    about: str
    page: str
    open: Settings
    watch: tuple[str, ...]
    question: str
    change: str
    changed: Settings
    answer: str
    facts: dict[str, str] = field(default_factory=dict)

    def with_facts(self, text: str) -> str:
        """Return a text with the facts filled in."""
        return text.format(**self.facts)

    @property
    def first_link(self) -> str:
        """Address of the experiment, with title and question."""
        return link(self.page, self.open, self.title, self.with_facts(self.question))

    @property
    def second_link(self) -> str:
        """Address of the variation."""
        return link(self.page, self.changed, self.title, self.with_facts(self.change))


SAME_AS_HOME: Settings = {"data": "pack", "per_class": "750", "seed": "1"}
ALL_BUT_STATIC = ["cit", "active", "hybrid", "incremental"]
# The seed is chosen: no test notices the voices at 30 %, and Active clearly does at full strength.
YES_NO: Settings = {
    "data": "speech", "words": ["yes", "no"], "drift": "noise", "effect": "babble",
    "per_class": "400", "train": "50", "seed": "5",
}  # fmt: skip
FULL_RATE: Settings = {"hz": "22050", "n_fft": "512", "hop": "512", "size": "50"}

LESSONS = (
    Lesson(
        title="Passive against active",
        about="Learn from every mistake, or wait for an alarm and start afresh?",
        page="drift-lab",
        open={**SAME_AS_HOME, "drift": "labels-swapped"},
        watch=(
            "Up to the grey line all three learners are right about nine times in ten. At the line the two words swap "
            "their names.",
            "Accuracy: who falls lowest, and who is back first?",
            "The statistic *g* of Active and Hybrid, and what happens to |T| where it reaches *h*.",
        ),
        question="Condensing-in-Time learns from every single mistake. Why is it the last to recover?",
        change="Now a word is replaced by another one. Who makes the most mistakes after this change, and why do two "
        "learners do the same?",
        changed={**SAME_AS_HOME, "drift": "class-change"},
        answer="Each sample that was stored before the swap now votes for the wrong word, and Condensing-in-Time "
        "forgets none of them: it takes {cit_back} samples until it is nearly as good as before. The two tests raise "
        "an alarm {delay} samples after the swap, place the change at the right sample and drop what is older: Active "
        "is back after {active_back} samples, Hybrid after {hybrid_back}.\n\nWhere a word is merely replaced, most of "
        "the past stays true. Condensing-in-Time learns the new word one mistake at a time; so does Hybrid, for the "
        "drop is too small for its test, and without an alarm it is Condensing-in-Time. Active learns nothing before "
        "its alarm: in these {wait} samples it is right in {active_wait} of the cases, the other two in {cit_wait}. "
        "Afterwards it is as good as they are, but over all samples after the change it has {active_after} and they "
        "have {cit_after}. Forgetting pays where the past is wrong. Where it is merely incomplete, the wait for the "
        "alarm costs more than forgetting brings.",
        facts={
            "cit_back": "386",
            "delay": "49",
            "active_back": "145",
            "hybrid_back": "144",
            "wait": "200",
            "active_wait": "72 %",
            "cit_wait": "80 %",
            "active_after": "86 %",
            "cit_after": "87 %",
        },
    ),
    Lesson(
        title="The price of memory",
        about="How much accuracy does a sample in memory buy?",
        page="drift-lab",
        open={"data": "pack", "drift": "class-change", "learners": ALL_BUT_STATIC},
        watch=(
            "|T| of the four learners: one stores everything it sees.",
            "“Detailed results” below the charts: |T| at the end, and the bytes of the largest T.",
            "Accuracy after the change, in the same table.",
        ),
        question="The kNN that stores everything is the most accurate in the end. What does its lead cost?",
        change="All but one may keep {bound} samples now: the window ϖ and the bound p are {bound}. Who suffers most "
        "from it, and who least?",
        changed={
            "data": "pack",
            "drift": "class-change",
            "learners": ALL_BUT_STATIC,
            "window": "50",
            "p": "50",
        },
        answer="It stores {all_size} samples, {all_bytes} bytes, and is right in {all_after} of the cases after the "
        "change. Condensing-in-Time reaches {cit_after} with {cit_size} samples, {cit_bytes} bytes: only mistakes are "
        "worth storing.\n\nWith {bound} samples Condensing-in-Time and Hybrid fall to {cit_small} and {hybrid_small}: "
        "they push out good old samples to make room for each new mistake. Active falls only from {active_after} to "
        "{active_small}: it stores nothing between alarms, and what it keeps is condensed. But its window costs as "
        "much again, {window_bytes} bytes.",
        facts={
            "bound": "50",
            "all_size": "3,200",
            "all_bytes": "9,177,600",
            "all_after": "91 %",
            "cit_after": "89 %",
            "cit_size": "314",
            "cit_bytes": "900,552",
            "cit_small": "82 %",
            "hybrid_small": "82 %",
            "active_after": "87 %",
            "active_small": "83 %",
            "window_bytes": "143,400",
        },
    ),
    Lesson(
        title="The threshold",
        about="A nervous test cries wolf, a calm one sleeps through the fire.",
        page="inside-cusum",
        open={"h": "5", "sim_seed": "0"},
        watch=(
            "At the grey line, sample {at}, the accuracy drops from {before} to {after}.",
            "The page stands at the first alarm; play on to the end. How many alarms are there, and which comes too "
            "early?",
            "Beside the slider: false alarms and mean delay, from {streams} simulated streams.",
        ),
        question="There is an alarm before anything has happened. Should h be raised until that is rare?",
        change="With h = {high} at most one quiet stream in a hundred gives a false alarm. What has it cost?",
        changed={"h": "74", "sim_seed": "0"},
        answer="With *h* = {low} an alarm comes at sample {early} already, and {rate_low} of all quiet streams give a "
        "false one within {horizon} samples; a true change is noticed after {delay_low} samples on average. With "
        "*h* = {high} it is {rate_high} and {delay_high} samples, and {missed} of the changes are missed; this one is. "
        "The authors' *h* = {usual} lies between: {rate_usual} and {delay_usual} samples.\n\nWhy must *h* be so high? "
        "The test knows υ₀ only from its warm-up of {warmup} samples, and takes the error of that estimate for a "
        "change. With ξ = {longer} the *h* for one false alarm in a hundred streams falls from {calibrated} to "
        "{calibrated_longer}, and the mean delay from {delay_high} to {delay_longer} samples: a longer look at the "
        "calm before pays.",
        facts={
            "at": "700",
            "before": "0.9",
            "after": "0.7",
            "streams": "10,000",
            "low": "5",
            "high": "74",
            "usual": "25",
            "early": "499",
            "horizon": "1,000",
            "rate_low": "53 %",
            "delay_low": "64",
            "rate_high": "0.8 %",
            "delay_high": "379",
            "missed": "3.6 %",
            "rate_usual": "6.3 %",
            "delay_usual": "161",
            "warmup": "100",
            "longer": "300",
            "calibrated": "73.8",
            "calibrated_longer": "20.9",
            "delay_longer": "129",
        },
    ),
    Lesson(
        title="Noise that nobody notices",
        about="You hear it, the test does not. Who is right?",
        page="drift-lab",
        open={**YES_NO, "strength": "30"},
        watch=(
            "At the grey line other voices set in behind the words. Pause on either side of it and listen to the "
            "sample.",
            "Accuracy of the three learners after the line.",
            "The statistic *g*: how near does it come to *h*?",
        ),
        question="The voices are plain to hear, and Active makes more mistakes. Why is there no alarm?",
        change="The same voices at full strength. Who notices, how late, and does it help?",
        changed={**YES_NO, "strength": "100"},
        answer="The test never hears the sound: it counts hits and misses. Active falls from {active_before} to "
        "{active_after} of right answers, and {batches} batches of that are not evidence enough: *g* gets to "
        "{active_g}, and *h* is {h}. Condensing-in-Time hardly suffers ({cit_before} to {cit_after}), for it learns "
        "the noisy words one mistake at a time, which is also why nothing stands out for a test.\n\nAt full strength "
        "Active gives alarm after {active_delay} samples; Hybrid, which also learns from its mistakes, gives none. And "
        "yet Condensing-in-Time, which has no test, is right most often after the change: {cit_loud}, Hybrid "
        "{hybrid_loud}, Active {active_loud}. The clean words are still true. Active threw them away, and Hybrid "
        "pushed some of them out, for it may keep only {bound} samples.\n\nOther seeds give other alarms. Of {seeds} "
        "seeds, Active notices the soft voices with {active_soft_alarms} and the loud ones with {active_loud_alarms}, "
        "Hybrid with {hybrid_soft_alarms} and {hybrid_loud_alarms}. With every one of them Condensing-in-Time is right "
        "most often among the loud voices.",
        facts={
            "active_before": "83 %",
            "active_after": "71 %",
            "batches": "8",
            "active_g": "21",
            "h": "25",
            "cit_before": "84 %",
            "cit_after": "84 %",
            "active_delay": "199",
            "cit_loud": "76 %",
            "hybrid_loud": "72 %",
            "active_loud": "64 %",
            "bound": "100",
            "seeds": "20",
            "active_soft_alarms": "4",
            "active_loud_alarms": "13",
            "hybrid_soft_alarms": "1",
            "hybrid_loud_alarms": "6",
        },
    ),
    Lesson(
        title="Fit it on the chip",
        about="The learner needs {needed_kb}, and the smallest board has {ram_kb}.",
        page="stm32",
        open={**FULL_RATE, "layout": "paper", "store": "float32"},
        watch=(
            "The table: which two rows are by far the largest beside T?",
            "The bars: which of the three boards is too small?",
            "“Accuracy”: how much is lost with |T| = {size}, and against what?",
        ),
        question="The paper fits the STM32F401 by lowering the sampling rate. Is there a way to keep the full rate?",
        change="The sound is streamed window by window now, and each number of T takes one byte. What has shrunk, and "
        "what did it cost in accuracy?",
        changed={**FULL_RATE, "layout": "streamed", "store": "uint8"},
        answer="As the paper lays it out {needed} bytes are needed, and the STM32F401 has {ram}. A second of sound "
        "need never be in memory at once, the colours can be looked up on the way, and a feature in T can be one "
        "byte: {needed_small} bytes, with room for |T| = {largest}.\n\nThe loss of accuracy hardly changes: "
        "{lost_small} points (± {error}; {lost} before). What costs is |T| = {size} instead of {reference}, not the "
        "bytes. The paper's own way, {slow} Hz, needs {needed_slow} bytes.",
        facts={
            "needed_kb": "368 KB",
            "ram_kb": "96 KB",
            "size": "50",
            "needed": "376,824",
            "ram": "98,304",
            "needed_small": "68,907",
            "largest": "90",
            "lost": "7.1",
            "lost_small": "7.3",
            "error": "0.2",
            "reference": "200",
            "slow": "4,410",
            "needed_slow": "81,684",
        },
    ),
)
