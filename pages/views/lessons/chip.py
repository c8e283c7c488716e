"""Lesson: does the learner fit the smallest board?"""

from dataclasses import replace

from pages.views.lessons.lesson import Found, Lesson, Part, Settings
from pages.views.lessons.measuring import band

FULL_RATE: Settings = {"hz": "22050", "n_fft": "512", "hop": "512", "size": "50"}
SMALLEST = "stm32f401"


def boards(settings: Settings) -> Found:
    """Return on how many boards the paper's layout fits."""
    from tmlcd_core.mcu import BOARDS, PAPER_CONFIGURATIONS, budget, what_fits

    configuration = PAPER_CONFIGURATIONS[0]  # equal to `settings`: a test compares them
    fits = what_fits(configuration)
    sizes = {row.name: row.bytes for row in budget(configuration).rows if row.name != "Training set T"}
    one, two = sorted(sizes, key=lambda name: sizes[name])[:-3:-1]
    facts = {
        "needed": f"{budget(configuration).needed:,}", "ram": f"{BOARDS[SMALLEST].ram:,}", "largest": one.lower(),
        "second": two.lower(), "largest_bytes": f"{sizes[one]:,}", "second_bytes": f"{sizes[two]:,}",
    }  # fmt: skip
    few = [fit.board.title for fit in fits if fit.fits]
    answer = {0: "none", len(fits): "all"}.get(len(few), "some")
    return Found(answer, {answer: f"fits on {', '.join(few) or 'no board'}"}, facts)


def bytes_cost(settings: Settings) -> Found:
    """Return how much accuracy the small layout costs."""
    from tmlcd_core.mcu import PAPER_CONFIGURATIONS, accuracy_of, budget, what_fits

    plain = PAPER_CONFIGURATIONS[0]
    small = replace(plain, layout="streamed", store="uint8")
    before, after = accuracy_of(plain), accuracy_of(small)
    assert before is not None and after is not None
    more = 100 * (after.lost - before.lost)
    [fit] = [fit for fit in what_fits(small) if fit.board.name == SMALLEST]
    facts = {
        "needed": f"{budget(small).needed:,}", "largest": str(fit.largest), "lost": f"{100 * before.lost:.1f}",
        "lost_small": f"{100 * after.lost:.1f}", "error": f"{100 * after.error:.1f}", "reference": "200",
        "slow": f"{PAPER_CONFIGURATIONS[1].sample_rate:,}",
        "needed_slow": f"{budget(PAPER_CONFIGURATIONS[1]).needed:,}",
    }  # fmt: skip
    answer = band(more, 1, 5)
    return Found(answer, {answer: f"{more:+.1f} points lost"}, facts)


LESSON = Lesson(
    "chip",
    "Fit it on the chip",
    "A second of sound, a filter and a memory of samples must fit into the RAM of a microcontroller.",
    (
        Part(
            "stm32",
            {**FULL_RATE, "layout": "paper", "store": "float32"},
            "The paper keeps a second of sound, its picture and {size} samples in memory at the same time. The page "
            "knows three boards, from small to large.",
            "On which of the three boards does that fit?",
            {"all": "On all of them", "some": "Only on the larger ones", "none": "On none of them"},
            ("The table: which two rows are by far the largest beside T?", "The bars: which boards are too small?"),
            boards,
            "{needed} bytes are needed, and the smallest board, the STM32F401, has {ram}. Beside T, the {largest} "
            "({largest_bytes} bytes) and the {second} ({second_bytes} bytes) take most. The paper lowers the sampling "
            "rate to fit. The next question keeps the full rate.",
        ),
        Part(
            "stm32",
            {**FULL_RATE, "layout": "streamed", "store": "uint8"},
            "Now the sound is processed window by window as it comes, and each number of T takes one byte instead of "
            "four. It fits the smallest board.",
            "How much more accuracy is lost because of the single bytes?",
            {"0": "Less than one point in a hundred", "1": "One to five points", "2": "More than five points"},
            ("The table: what has shrunk?", "“Accuracy”: how much is lost, and against what?"),
            bytes_cost,
            "A second of sound need never be in memory at once, the colours can be looked up on the way, and a feature "
            "in T can be one byte: {needed} bytes, with room for |T| = {largest}.\n\nThe loss of accuracy hardly "
            "changes: {lost_small} points (± {error}; {lost} before). What costs is |T| = {size} instead of "
            "{reference}, not the bytes. The paper's own way, {slow} Hz, needs {needed_slow} bytes.",
        ),
    ),
)
