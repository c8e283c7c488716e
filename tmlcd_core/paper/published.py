"""Published values of Table 1: mean and standard deviation over 20 runs, for 2, 3 and 5 classes."""

from __future__ import annotations

from typing import NamedTuple


class Published(NamedTuple):
    """Published accuracy and number of stored samples, each with its standard deviation."""

    accuracy: float
    accuracy_std: float
    size: float
    size_std: float = 0.0


NAMES = {
    "svm": "SVM",
    "nn-fc1-static": "NN-FC1",
    "static": "kNN",
    "condensed": "kNN + C",
}

TABLE_1: dict[str, dict[str, dict[int, Published]]] = {
    "speech": {
        "svm": {
            2: Published(0.93, 0.05, 138, 17),
            3: Published(0.88, 0.04, 244, 16),
            5: Published(0.81, 0.05, 447, 18),
        },
        "nn-fc1-static": {
            2: Published(0.71, 0.14, 2),
            3: Published(0.75, 0.06, 3),
            5: Published(0.49, 0.12, 5),
        },
        "static": {2: Published(0.89, 0.06, 200), 3: Published(0.82, 0.06, 300), 5: Published(0.74, 0.07, 500)},
        "condensed": {
            2: Published(0.88, 0.06, 64, 20),
            3: Published(0.81, 0.04, 128, 22),
            5: Published(0.73, 0.06, 255, 33),
        },
    },
    "images": {
        "svm": {2: Published(0.73, 0.07, 188, 9), 3: Published(0.61, 0.05, 292, 6), 5: Published(0.46, 0.05, 496, 4)},
        "nn-fc1-static": {2: Published(0.60, 0.08, 2), 3: Published(0.45, 0.05, 3), 5: Published(0.29, 0.05, 5)},
        "static": {2: Published(0.66, 0.07, 200), 3: Published(0.49, 0.07, 300), 5: Published(0.33, 0.06, 500)},
        "condensed": {
            2: Published(0.66, 0.07, 119, 18),
            3: Published(0.51, 0.06, 214, 19),
            5: Published(0.35, 0.04, 414, 16),
        },
    },
}
