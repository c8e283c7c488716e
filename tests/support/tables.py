"""A table in the order of time with a change in the middle: numbers, a category, missing values, a label."""

from __future__ import annotations

import numpy as np
import pandas as pd


def drifting_frame(n: int = 900, seed: int = 0) -> pd.DataFrame:
    """Rows with two numbers, a category and the label "class"; two classes swap places after half of the rows."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    place = np.where((np.arange(n) >= n // 2) & (y < 2), 1 - y, y)
    frame = pd.DataFrame({
        "size": rng.normal(size=n) + 3.0 * place,
        "weight": 1000 * (rng.normal(size=n) - 2.0 * place),
        "colour": rng.choice(["red", "blue", "green"], n),
        "class": np.array(["x", "y", "z"])[y],
    })  # fmt: skip
    frame.loc[rng.random(n) < 0.05, "size"] = np.nan
    frame.loc[rng.random(n) < 0.05, "colour"] = None
    return frame


ARFF = """% a comment
@relation things
@attribute size numeric
@attribute 'weight' real
@attribute colour {red, blue, green}
@attribute class {x, y, z}
@data
"""


def arff_text(frame: pd.DataFrame) -> str:
    """The frame of `drifting_frame` as an ARFF file."""
    lines = [
        ",".join(
            "?" if value is None or value != value else repr(value) if isinstance(value, str) else str(value)
            for value in row
        )
        for row in frame.astype(object).where(frame.notna(), None).values.tolist()
    ]
    return ARFF + "\n".join(lines) + "\n"
