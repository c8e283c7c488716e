"""Python twin of a connected board: a learner built from the board's own memory, and the comparison of both."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.detectors import GeneralizedCusum
from tmlcd_core.errors import BoardError
from tmlcd_core.knn.storage import STORAGE_BYTES, quantise
from tmlcd_core.learners import ActiveTinyKNN, CondensingInTime, HybridTinyKNN
from tmlcd_core.learners.baselines import IncrementalKNN, StaticKNN
from tmlcd_core.mcu import board_tandem
from tmlcd_core.mcu.keeping import KeepingLearner
from tmlcd_core.mcu.link import LEARNER_CODES, BoardLink, BoardSilent, Decision
from tmlcd_core.mcu.unknown import is_unknown

T_PART, SCALE_PART, MEAN_PART, TEST_PART, LIMIT_PART, KEEP_PART, NAMED_PART = 0, 16, 17, 18, 19, 20, 21
STORED_AS = {"float32": "<f4", "int16": "<i2", "uint8": "u1"}
LIKELIHOODS = {0.5: "normal", 1.0: "authors", 0.0: "binomial"}
CLOSE = 1e-9  # relative difference allowed between the statistics of the test, in float64
RETRY = 1.0  # seconds between attempts to reach a board


@dataclass(frozen=True)
class Comparison:
    """One sample on the board and in Python; `equal` if prediction, |T|, alarm, change point, "unknown" and g agree."""

    label: int
    board: Decision
    prediction: int
    size: int
    change: int
    unknown: bool
    statistic: float
    equal: bool


class Twin:
    """Learner in Python with the state of a board that was just reset; class codes are its labels.

    Parameters
    ----------
    link
        Connection to the board. T and settings are read from it.
    """

    def __init__(self, link: BoardLink):
        self._link = link
        self.settings = link.settings()
        self._store = link.info.store
        self._offset, self._scale = (float(v) for v in np.frombuffer(link.memory(SCALE_PART), "<f4"))
        self._farthest = next(iter(np.frombuffer(link.memory(LIMIT_PART), "<f8").tolist()), None)
        kind = STORED_AS[link.info.store]
        self._named = np.frombuffer(link.memory(NAMED_PART), kind).reshape(-1, link.info.features).astype(np.float32)
        self.learner = self._tandem() if link.info.learner == "tandem" else self._knn()
        self._device = KeepingLearner(self.learner, int.from_bytes(link.memory(KEEP_PART), "little"))

    def _detector(self) -> GeneralizedCusum:
        s = self.settings
        constants = np.frombuffer(self._link.memory(TEST_PART), "<f8").tolist()
        if len(constants) != 3 or constants[2] not in LIKELIHOODS:
            raise BoardError("The board's change test is not one of this version: export and flash it again")
        gap, margin, logarithm = constants
        return GeneralizedCusum(
            s["threshold"], int(s["batch"]), int(s["warmup"]), "down" if s["down"] else "both",
            LIKELIHOODS[logarithm], gap=round(gap, 9), margin=margin,
        )  # fmt: skip

    def _knn(self) -> Any:
        X, labels = stored_samples(self._link)
        s, size = self.settings, int(self.settings["max_size"])
        votes: dict[str, Any] = {"k": int(s["k"]) or "sqrt", "weights": "distance" if s["by_distance"] else "uniform"}
        name = LEARNER_CODES[int(s["learner"])]
        learner: Any
        if name == "active":
            learner = ActiveTinyKNN(window=size, condense=False, detector=self._detector(), **votes)
        elif name == "hybrid":
            learner = HybridTinyKNN(max_size=size, condense=False, detector=self._detector(), **votes)
        elif name == "static":
            learner = StaticKNN(**votes)
        else:
            learner = (CondensingInTime if name == "cit" else IncrementalKNN)(max_size=size, **votes)
            learner.condense = False
        learner.fit(X, labels)
        learner.condense = bool(s["condense"])
        return learner

    def _tandem(self) -> Any:
        info = self._link.info
        memory, mean = self._link.memory(T_PART), np.frombuffer(self._link.memory(MEAN_PART), "<f4")
        return board_tandem.from_memory(memory, mean, (self._offset, self._scale), info, self._detector())

    def observe(self, x: NDArray[np.float32], label: int) -> tuple[int, int, int, bool, float]:
        """Predict x (features,) and learn its label unless it is -1.

        Returns prediction, |T|, change time or 0, whether the answer is "unknown", and g.
        """
        if self.settings["learner"] != LEARNER_CODES.index("tandem"):
            x = quantise(x, self._store, self._offset, self._scale)
        unknown = is_unknown(self.learner, x, self._farthest, self._named)
        predicted = self._device.observe(x, None if label < 0 else label)
        alarm = self.learner.alarm_
        statistic = getattr(self.learner, "statistic_", math.nan)
        return int(predicted), len(self.learner), alarm.change_time if alarm else 0, unknown, float(statistic)

    def compare(self, x: NDArray[np.float32], label: int, board: Decision) -> Comparison:
        """Let the twin observe x (features,); return its `Comparison` with the board's decision."""
        predicted, size, change, unknown, statistic = self.observe(x, label)
        found = (board.prediction, board.size, board.change, board.unknown)
        same = (predicted, size, change, unknown) == found
        # Without a batch since the start or the last alarm, the board has 0; Python has nan or that alarm's value.
        near = board.statistic == 0 or math.isclose(statistic, board.statistic, rel_tol=CLOSE, abs_tol=CLOSE)
        return Comparison(label, board, predicted, size, change, unknown, statistic, same and near)


def stored_samples(link: BoardLink) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    """Return T of a board with a kNN, oldest first: features as stored, float32 (n, d), and class codes (n,)."""
    info, memory = link.info, link.memory(T_PART)
    n, d, width = info.capacity, info.features, STORAGE_BYTES[link.info.store]
    labels_at = 4 * n + n * d * width
    for label_width in (1, 4):
        end = labels_at + n * label_width
        end += end % 2
        if len(memory) == -(-(end + 4) // 4) * 4:
            break
    else:
        raise BoardError(f"The board's T has {len(memory):,} bytes, which do not fit its model: flash it again")
    X = np.frombuffer(memory, STORED_AS[info.store], n * d, 4 * n)
    codes = np.frombuffer(memory, "u1", n * label_width, labels_at)[::label_width]
    head, size = np.frombuffer(memory, "<u2", 2, end).tolist()
    order = (head + np.arange(size)) % n
    return X.reshape(n, d)[order].astype(np.float32), codes[order]


class BoardLoop:
    """Board and twin side by side; after a lost connection it waits for the same board and goes on.

    Parameters
    ----------
    connect
        Opens the connection; raises BoardSilent while there is none.
    say
        Receives sentences for the user.
    patience
        Seconds to wait for a board that has gone.
    settings
        Settings to change on the board before the start: the fields of tml_settings.
    """

    def __init__(
        self,
        connect: Callable[[], BoardLink],
        say: Callable[[str], Any] = print,
        patience: float = 60.0,
        settings: Mapping[str, float] | None = None,
    ):
        self._settings = dict(settings or {})
        self._connect = connect
        self._say = say
        self._patience = patience
        self.restarts = 0
        self.link = self._reach()
        self.model = self.link.info.model
        self._start()

    def _start(self) -> None:
        if self._settings:
            self.link.configure(**self._settings)
        self.link.reset()
        self.twin = Twin(self.link)
        self.names = self.link.class_names()

    def _reach(self) -> BoardLink:
        until = time.monotonic() + self._patience
        said = ""
        while True:
            try:
                return self._connect()
            except BoardSilent as error:
                if time.monotonic() + RETRY > until:
                    raise
                if str(error) != said:
                    said = str(error)
                    self._say(f"{said}. Waiting for the board …")
            time.sleep(RETRY)

    def _again(self, error: BoardSilent) -> None:
        """Wait for the board; go on if it has kept its state, else let both start again."""
        self._say(f"{error}. Waiting for the board …")
        self.link.close()
        until = time.monotonic() + self._patience
        while True:
            self.link = self._reach()
            if self.link.info.model == self.model:
                break
            if time.monotonic() > until:
                raise BoardError(f"Another board or firmware answers at {self.link.name}: connect the first one")
            self._say(f"Another board or firmware answers at {self.link.name}: connect the first one")
            self.link.close()
            time.sleep(RETRY)
        if self.link.info.time == self.twin.learner.time_:
            self._say("The board is back and has kept its state.")
            self.twin._link = self.link
            return
        self.restarts += 1
        self._say("The board is back, but has restarted: both begin again with the exported samples.")
        self._start()

    def _present(self, sample: NDArray) -> Iterator[NDArray[np.float32]]:
        """Features of a vector (features,) or of each word in a clip, int16 (n,), as the board has them."""
        if sample.dtype == np.int16:
            for _ in self.link.hear(sample):
                yield self.link.features()
        else:
            self.link.send_features(sample)
            yield np.asarray(sample, np.float32)

    def step(self, sample: NDArray, label: int = -1) -> list[Comparison]:
        """Give a vector (features,) or sound, int16 (n,), to the board; return a `Comparison` for each word of it."""
        found: list[Comparison] = []
        while True:
            try:
                for x in self._present(sample):
                    found.append(self.twin.compare(x, label, self.link.observe(label)))
                return found
            except BoardSilent as error:
                self._again(error)
                if found:
                    return found

    def listen(self, seconds: float) -> Iterator[Comparison]:
        """Yield a `Comparison` for each word that the board's microphone hears within some seconds."""
        for _ in self.link.listen(seconds):
            x = self.link.features()
            yield self.twin.compare(x, -1, self.link.observe())
