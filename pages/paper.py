"""Paper page: numbers, figures and claims of the paper's Section 7 compared with our results."""

import json

import pandas as pd
import streamlit as st

from pages.shell.background_command import BackgroundCommand
from pages.shell.start_options import start_options
from pages.shell.url_widgets import as_text, checked, faults_as_messages, table
from pages.shell.visitor import is_local_visitor
from tmlcd_core.shipped_data import PLACE
from tmlcd_core.viz.paper import chart, from_json, in_words

SHIPPED = PLACE / "paper" / "reproduction.json"
TABS = ["Table 1", "Figures", "Claims", "Run it here"]
FIGURES = {"The three learners and NN-FC1": "algorithms", "What a small memory and a low rate cost": "approximation"}


@st.cache_resource(max_entries=4, show_spinner=False)
def read(text: str) -> dict:
    return json.loads(text)


@st.cache_data(max_entries=8, show_spinner="Drawing the figures …")
def show_figures(text: str, which: str) -> None:
    """Show accuracy and memory of each configuration, one row each; stacked on a narrow screen."""
    for row, pair in enumerate(from_json(read(text)["curves"][which])):
        for cell, panel in zip(st.columns(2), pair, strict=True):
            key = f"{which} {row} {panel.unit}"
            cell.plotly_chart(chart(panel), key=key, alt=in_words(panel), config={"displaylogo": False})


def table_1(rows: list[dict]) -> pd.DataFrame:
    """Return Table 1 with our results and the paper's side by side."""
    measured = pd.DataFrame(rows)
    shown = pd.DataFrame(
        {
            "data": measured["data"],
            "λ": measured["classes"],
            "classifier": measured["classifier"],
            "accuracy": measured["accuracy"].map("{:.3f}".format)
            + " ± "
            + measured["accuracy std"].map("{:.3f}".format),
            "paper": measured["paper"].map("{:.2f}".format),
            "difference": measured["difference"].map("{:+.3f}".format).str.replace("-0.000", "+0.000"),
            "samples": measured["samples"].round().astype(int),
            "paper's samples": measured["paper's samples"],
        }
    )
    return shown.sort_values(["data", "λ"], ascending=[False, True], kind="stable")


def show_claim(claim: dict) -> None:
    """Show a claim of the paper and its verdict, and beside it the rule and the measured values."""
    said, found = st.columns([2, 3])
    icon = ":material/check_circle:" if claim["verdict"] == "holds" else ":material/cancel:"
    said.markdown(
        f"{icon} **{as_text(claim['statement'])}** {claim['verdict'].capitalize()} (Sec. {claim['section']})."
    )
    measured = "; ".join(f"{name.replace('-', ' ')}: {spread(**v)}" for name, v in claim["measured"].items())
    rule = claim["rule"].replace(" - ", " − ")
    found.caption(f"Rule: {as_text(rule)}.  \nMeasured: {as_text(measured)}.")


def spread(mean: float, std: float, n: int) -> str:
    """Return mean ± standard deviation with equal digits."""
    digits = 1 if max(abs(mean), std) >= 1 else 3
    return f"{mean:.{digits}f} ± {std:.{digits}f}"


st.title("The paper, measured again")
st.markdown(
    "Table 1, both figures and every testable claim of Section 7, computed by "
    "`python -m tmlcd_core reproduce all --runs 20`. The speech is synthesised, and handwritten digits replace "
    "ImageNet: rows about images are marked as another dataset. No rule was tuned to make a claim pass."
)
work = BackgroundCommand.of_visitor("the paper's experiments")
text = work.result() or SHIPPED.read_text(encoding="utf-8")
found = read(text)
holding = sum(claim["verdict"] == "holds" for claim in found["claims"])
source = "computed on this server" if work.result() else "shipped with the app"
runs = f"{found['runs']} run{'s' * (found['runs'] > 1)}"
st.caption(f"{runs} of each experiment, {source}; {holding} of {len(found['claims'])} claims hold.")

# Only the open tab is drawn; the address names it.
numbers, figures, claims, again = st.tabs(TABS, key="tab", bind="query-params")
if numbers.open:
    numbers.caption(
        "Accuracy ± standard deviation over runs, and stored samples. λ is the number of classes. kNN + C is a kNN on "
        "a condensed training set, the SVM stores its support vectors, and NN-FC1 is one fully connected layer whose "
        "weights need the memory of λ samples. Digits are an easier dataset than ImageNet; the paper's column shows "
        "its ImageNet results. NN-FC1 stays near chance on our speech: the features vary little around a common "
        "offset, and plain SGD does not learn past it in 3 epochs. “Centred” is our own row: with the offset "
        "subtracted, NN-FC1 is closer to the paper's numbers."
    )
    with numbers:
        table(table_1(found["table1"]), "accuracy", "paper", "difference")
if figures.open:
    with figures:
        which = FIGURES[checked(st.selectbox, "Figure", tuple(FIGURES), key="figure")]
        show_figures(text, which)
        st.caption("Mean and standard deviation over runs against samples seen. The dotted line marks the change.")
if claims.open:
    with claims:
        wanted = checked(
            st.segmented_control, "Show", ("all", "holds", "does not hold"), key="show", default="all", required=True
        )
        st.caption("Measured: mean ± standard deviation over runs. A number in a name is the number of classes (λ).")
        for claim in found["claims"]:
            if wanted not in ("holds", "does not hold") or claim["verdict"] == wanted:
                show_claim(claim)
if again.open:
    with again, faults_as_messages():
        if is_local_visitor() or start_options().reproduce:
            runs = checked(st.slider, "Runs", 1, 20, 2, key="runs", help="Repetitions of each experiment (paper: 20).")
            st.caption("Twenty runs take about ten minutes on two cores. They stop soon after you close your last tab.")
            work.controls(["reproduce", "all", "--runs", str(runs)])
        else:
            st.info("This server does not run the experiments for visitors. Run them on your own computer:")
            st.code("python -m tmlcd_core reproduce all --runs 20", language="sh")
