"""Colour palette: colour and dashes of each learner in the player, Plotly figures and exports."""

from collections.abc import Iterable
from dataclasses import dataclass

# After Okabe & Ito (2008) and Tol (2021), colours that stay apart for colour-blind readers, with yellow, sky
# blue and purple moved until each has a contrast of 3:1 to Streamlit's two backgrounds (WCAG 2.1, 1.4.11).
BLUE, VERMILLION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#B23A7D"
GREY, OLIVE, SKY, PINK = "#7F7F7F", "#8C8C00", "#3D9BD9", "#CC79A7"

# Sequential scale of heat maps: "Cividis" of Plotly, made for colour-blind readers.
SEQUENTIAL = "Cividis"


@dataclass(frozen=True)
class Style:
    """Style of one learner's curve: names, colour and dashes.

    The dashes distinguish curves for colour-blind readers and in print.

    Parameters
    ----------
    name
        Name in a legend.
    short
        Name in the head of a narrow column.
    colour
        `#RRGGBB`.
    dash
        Lengths of dashes and gaps in pixels; empty for a solid line.

    Examples
    --------
    >>> from tmlcd_core.viz.palette import learner_style
    >>> learner_style("hybrid").colour, len(learner_style("hybrid").dash)
    ('#009E73', 0)

    References
    ----------
    Okabe, M. and Ito, K. (2008). Color universal design.
    """

    name: str
    short: str
    colour: str
    dash: tuple[int, ...] = ()

    @property
    def plotly_dash(self) -> str:
        """Dashes in Plotly's notation."""
        return ",".join(f"{length}px" for length in self.dash) or "solid"


# Learners offered by the Drift lab.
LEARNER_STYLES = {
    "cit": Style("Condensing-in-Time", "CIT", BLUE, (5, 3)),
    "active": Style("Active Tiny kNN", "Active", VERMILLION, (11, 4)),
    "hybrid": Style("Hybrid Tiny kNN", "Hybrid", GREEN),
    "tandem": Style("Tandem learner", "Tandem", "#783CE4", (14, 3, 4, 3)),
    "static": Style("Static kNN", "Static", PINK, (2, 3)),
    "incremental": Style("Incremental kNN", "Incremental", PURPLE, (18, 3)),
}
# Other learners, seldom in one chart: as distinct from all colours above as possible, also for colour-blind readers.
COMPARED = {
    "condensed": Style("Condensed kNN", "Condensed", "#8778FF", (4, 4)),
    "window": Style("kNN over a window", "Window", "#A55A3C", (9, 3, 2, 3)),
    "cit-bounded": Style("CIT, bounded", "CIT bounded", "#785AA5", (3, 4)),
    "hybrid-unbounded": Style("Hybrid, unbounded", "Hybrid unbounded", "#FF0000", (15, 4)),
    "known-change": Style("Hybrid, perfect alarm", "Perfect alarm", "#FF0096", (10, 2)),
    "svm": Style("SVM", "SVM", "#FF0F5A", (14, 3)),
    "nn-fc1": Style("NN-FC1", "NN-FC1", "#870FFF", (3, 2)),
    "nn-fc1-static": Style("NN-FC1, trained once", "NN-FC1 once", "#FF1EE1", (6, 2, 2, 2)),
    "sam-knn": Style("SAM-kNN", "SAM-kNN", "#00A50F", (8, 2)),
    "knn-adwin": Style("kNN + ADWIN", "kNN + ADWIN", "#4B782D", (5, 2, 1, 2)),
    "river-softmax": Style("Online softmax (river)", "Softmax", "#A53CB4", (6, 4)),
    "river-tree": Style("Hoeffding adaptive tree (river)", "Tree", "#0096A5", (13, 2)),
    "river-forest": Style("Adaptive random forest (river)", "Forest", "#78693C", (4, 2, 4, 5)),
}
SPARE = ((GREY, (12, 3, 3, 3)), (OLIVE, (7, 3)), (SKY, (2, 2, 7, 2)))


def styles(learners: Iterable[str]) -> dict[str, Style]:
    """Return the `Style` of each learner by name; an unknown learner gets the next unused colour.

    >>> [s.colour for s in styles(["cit", "my learner"]).values()]
    ['#0072B2', '#7F7F7F']
    """
    spare = 0
    found: dict[str, Style] = {}
    for learner in learners:
        known = LEARNER_STYLES.get(learner) or COMPARED.get(learner)
        if known:
            found[learner] = known
        elif learner not in found:
            colour, dash = SPARE[spare % len(SPARE)]
            found[learner] = Style(learner, learner, colour, dash)
            spare += 1
    return found


def learner_style(learner: str) -> Style:
    """Return the `Style` of one learner."""
    return styles([learner])[learner]
