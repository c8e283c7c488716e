"""Memory budget of a learner on a microcontroller in bytes, as in the paper's Table 2."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tmlcd_core.knn.storage import STORAGE_BYTES
from tmlcd_core.mcu.boards import BOARDS, Board
from tmlcd_core.mcu.front_ends import FRONT_ENDS, LISTENING
from tmlcd_core.validation import one_of, whole_number

LAYOUTS = {
    "paper": "32-bit audio and a coloured 32-bit spectrogram, as in the paper",
    "compact": "int16 audio and one int16 decibel plane, coloured inside the convolution",
    "streamed": "the same plane, filled frame by frame: no second of audio is stored",
}
FRONT_END_NAMES = ("clip", *FRONT_ENDS)
STORE_BYTES = STORAGE_BYTES  # bytes of one feature in T
BUDGET_LEARNERS = ("hybrid", "cit", "active", "static", "incremental", "tandem")

TAPS = 7 * 7 * 3  # weights of one filter of the stem
MAX_FILTERS = 64  # ResNet-18's first layer
MAX_SAMPLES = 65_535  # the C code indexes T with 16 bits
STACK = 2048  # bytes the linker script reserves; the deepest use under emulation is well below (tests)

# Bytes the linker may add to the sum: the driver's file handle, gaps for alignment, the stack's own alignment (tests).
LINKER_SLACK = 32

# Bytes of C structures that the paper does not count; tests compare them with the linker map.
CUSUM_STATE = 1232
LEARNER_STATE = 12
SETTINGS = 40
TANDEM_STATE = 44
SERIAL_STATE = 521  # frames received and sent, clock rates, place in the flash
MICROPHONE_STATE = 520  # buffer of the DMA, and two places in the ring
MICROPHONE_RING = {"stm32f401": 4_096, "stm32f767": 16_384, "stm32h743": 16_384}  # samples, as in microphone.h
SPECTROGRAM_STATE = {"paper": 4, "compact": 4, "streamed": 16}
# Distance to each sample of T and its rank; for float32 an approximate and an exact distance.
DISTANCE_BYTES = {"float32": 14, "int16": 10, "uint8": 6}
# Flash: tables and code; the code size is an upper bound for both compilers (tests).
CODE = 16_384
LISTENING_CODE = 8_192  # word finder and front end, more than that of clips
TANDEM_CODE = 4_096  # more than the code of a kNN
FUSED_TABLE = 4 * 49 * 256


@dataclass(frozen=True)
class FirmwareConfiguration:
    """Configuration of a firmware: audio, features, training set and learner.

    Parameters
    ----------
    sample_rate, n_fft, hop
        Spectrogram of the one-second clip (Hz, samples, samples).
    filters
        Number of the stem's 64 filters in use; the paper uses one.
    samples
        Bound of |T|: the maximum number of stored samples.
    layout
        `paper`, `compact` or `streamed`: buffers of audio and spectrogram, see `LAYOUTS`.
    store
        Data type of the features in T: `float32`, `int16` or `uint8`.
    learner
        `hybrid`, `active` (T and a history window W of the same size), or a learner without CUSUM test: `cit`,
        `static`, `incremental`; or `tandem`, whose T is a ring of bytes.
    vector
        Length of the feature vector if the input is vectors; None for sound.
    front_end
        `clip` for the paper's filter on clips of one second; `word` or `speech` hear words in a stream at 16 kHz, and
        the settings of clips do not apply.
    classes
        Number of classes; only Tandem's memory depends on it.

    Examples
    --------
    >>> FirmwareConfiguration().features, FirmwareConfiguration(4410, 128, 128).features
    (715, 153)
    """

    sample_rate: int = 22_050
    n_fft: int = 512
    hop: int = 512
    filters: int = 1
    samples: int = 50
    layout: str = "paper"
    store: str = "float32"
    learner: str = "hybrid"
    vector: int | None = None
    front_end: str = "clip"
    classes: int = 3

    def __post_init__(self) -> None:
        one_of("front_end", self.front_end, FRONT_END_NAMES)
        if self.front_end != "clip":
            for name, value in (LISTENING | {"filters": 1, "layout": "streamed", "vector": None}).items():
                object.__setattr__(self, name, value)
        for name, low, high in (
            ("sample_rate", 100, 192_000),
            ("n_fft", 8, 65_536),
            ("hop", 1, 192_000),
            ("filters", 1, MAX_FILTERS),
            ("samples", 1, MAX_SAMPLES),
            ("classes", 1, 255),
        ):
            object.__setattr__(self, name, whole_number(name, getattr(self, name), low, high))
        if self.vector is not None:
            object.__setattr__(self, "vector", whole_number("vector", self.vector, 1, 1_000_000))
        one_of("layout", self.layout, LAYOUTS)
        one_of("store", self.store, STORE_BYTES)
        one_of("learner", self.learner, BUDGET_LEARNERS)
        if self.learner == "tandem":
            object.__setattr__(self, "store", "uint8")

    @property
    def clips(self) -> bool:
        """True if the input is clips for the paper's filter."""
        return self.vector is None and self.front_end == "clip"

    @property
    def bins(self) -> int:
        """Frequency bins of the spectrogram."""
        return self.n_fft // 2 + 1

    @property
    def frames(self) -> int:
        """Frames of the centred spectrogram: the clip is padded with half a window on both sides."""
        return 1 + (self.sample_rate + 2 * (self.n_fft // 2) - self.n_fft) // self.hop

    @property
    def map_shape(self) -> tuple[int, int]:
        """Height and width after the convolution and the pooling, both of stride 2."""
        return _halved(_halved(self.bins)), _halved(_halved(self.frames))

    @property
    def features(self) -> int:
        """Length of the feature vector."""
        if self.vector is not None:
            return self.vector
        if self.front_end != "clip":
            return FRONT_ENDS[self.front_end].n_features
        return self.filters * self.map_shape[0] * self.map_shape[1]


def _halved(n: int) -> int:
    return (n - 1) // 2 + 1


@dataclass(frozen=True)
class Row:
    """Row of the memory table; `in_paper` is True if the paper counts it."""

    name: str
    size: str
    bytes: int
    in_paper: bool = True
    note: str = ""


@dataclass(frozen=True)
class Budget:
    """Memory table of a configuration; `total` is the paper's sum, `needed` adds the rows that it does not count.

    Examples
    --------
    >>> budget(FirmwareConfiguration()).total, budget(FirmwareConfiguration(4410, 128, 128)).total
    (370744, 77140)
    """

    configuration: FirmwareConfiguration
    rows: tuple[Row, ...]

    @property
    def total(self) -> int:
        """Bytes as counted in the paper."""
        return sum(r.bytes for r in self.rows if r.in_paper)

    @property
    def static(self) -> int:
        """Bytes that the linker reports as .data + .bss: everything except the stack."""
        return sum(r.bytes for r in self.rows if r.name != "Stack")

    @property
    def needed(self) -> int:
        """Bytes of RAM in all."""
        return sum(r.bytes for r in self.rows)

    def fits(self, board: Board) -> bool:
        """Return True if it fits the RAM, including the linker's alignment."""
        return self.needed + LINKER_SLACK <= board.ram


def budget(configuration: FirmwareConfiguration) -> Budget:
    """Return the memory `Budget` of a configuration, with rows in the order of the paper's Table 2."""
    c = configuration
    rows: list[Row] = []
    shape = str(c.features)
    if c.clips:
        rows += _sound_rows(c)
        height, width = c.map_shape
        shape = f"{height}x{width}" if c.filters == 1 else f"{c.filters}x{height}x{width}"
    elif c.vector is None:
        rows += [Row(*row) for row in FRONT_ENDS[c.front_end].memory()]
    rows.append(Row("Features", shape, 4 * c.features))
    if c.learner == "tandem":
        return Budget(c, tuple(rows + _tandem_rows(c)))
    label = 4 if c.layout == "paper" and c.store == "float32" else 1
    sample = c.features * STORE_BYTES[c.store] + label + 4
    note = f"{c.store} features, {8 * label}-bit label, 32-bit time: {sample:,} bytes per sample"
    rows.append(Row("Training set T", f"{c.samples:,}", c.samples * sample, note=note))
    if c.learner == "active":
        rows.append(Row("History window W", f"{c.samples:,}", c.samples * sample, note="as large as T"))
    return Budget(c, tuple(rows + _extra_rows(c)))


def _sound_rows(c: FirmwareConfiguration) -> list[Row]:
    audio = {"paper": (c.sample_rate, 4), "compact": (c.sample_rate, 2), "streamed": (c.n_fft, 2)}[c.layout]
    pixels = c.bins * c.frames
    coloured = c.layout == "paper"
    return [
        Row("Audio", f"1x{audio[0]}", audio[0] * audio[1],
            note="one window" if c.layout == "streamed" else "one second"),
        Row("Spectrogram", f"{c.bins}x{c.frames}" + "x3" * coloured, pixels * (12 if coloured else 2),
            note="coloured" if coloured else "decibels; the colour is looked up by the convolution"),
        Row("Filter", "7x7x3" if c.filters == 1 else f"{c.filters}x7x7x3", 4 * TAPS * c.filters * coloured,
            note="" if coloured else "in flash"),
    ]  # fmt: skip


def _tandem_rows(c: FirmwareConfiguration) -> list[Row]:
    """Tandem's memory: the mean of the first samples is in flash, and times are not stored."""
    d, n = c.features, c.classes
    scratch = [_fft_row(c)]
    return [
        Row("Ring of samples T", f"{c.samples:,}", c.samples * (d + 2),
            note=f"uint8 features, 16-bit label: {d + 2:,} bytes per sample"),
        Row("Layers F and A", f"2x{n}x{d + 1}", 8 * n * (d + 1), False, "float32 weights and biases of each class"),
        Row("Confusion matrix", f"{n}x{n}", 4 * n * n, False, "what each class recently meant, float32"),
        *(scratch if c.vector is None else []),
        Row("Query", f"{d}", d, False, "the features in bytes"),
        Row("Experts", f"7x{n}", 28 * n, False, "probabilities of the fast layer and six experts"),
        Row("Change test", "100", CUSUM_STATE, False, "a sum and its start for each candidate accuracy"),
        Row("Settings", "", SETTINGS, False, "h, n, ξ: they may change at run time"),
        Row("Learner state", "", TANDEM_STATE + n, False, "clock, ring, evidence of the experts, order of the classes"),
        Row("Stack", "", STACK, False, "reserved by the linker script"),
    ]  # fmt: skip


def _fft_row(c: FirmwareConfiguration) -> Row:
    state = SPECTROGRAM_STATE[c.layout] if c.clips else 0
    return Row("FFT scratch", f"{c.n_fft}", 4 * c.n_fft + state, False, "in place, one window")


def _extra_rows(c: FirmwareConfiguration) -> list[Row]:
    extras = []
    if c.vector is None:
        extras.append(_fft_row(c))
    if c.store != "float32":
        extras.append(
            Row("Query", f"{c.features}", c.features * STORE_BYTES[c.store], False, "the features in T's type")
        )
    distances = c.samples * DISTANCE_BYTES[c.store]
    extras.append(Row("Distances", f"{c.samples:,}", distances, False, "and the order of the nearest"))
    if c.learner in ("hybrid", "active"):
        extras.append(Row("Change test", "100", CUSUM_STATE, False, "a sum and its start for each candidate accuracy"))
    if c.learner == "active":
        extras.append(Row("Condensing", f"{c.samples:,}", c.samples, False, "which samples of W are kept"))
    extras.append(Row("Settings", "", SETTINGS, False, "learner, |T|, k, h, n, ξ: they may change at run time"))
    extras.append(Row("Learner state", "", LEARNER_STATE, False, "clock, labels, head and length of the queue"))
    extras.append(Row("Stack", "", STACK, False, "reserved by the linker script"))
    return extras


def serial_bytes(configuration: FirmwareConfiguration) -> int:
    """Return the RAM in bytes that the firmware of the serial line needs more than the budget.

    Two frames and, for sound, the features of the last word.
    """
    c = configuration
    return SERIAL_STATE + (4 * c.features if c.vector is None else 0)


def board_bytes(configuration: FirmwareConfiguration, board: Board) -> int:
    """Return the RAM in bytes that the firmware of a Nucleo board needs more than the budget.

    It is that of the serial line and, if the front end hears words, of a microphone.
    """
    needed = serial_bytes(configuration)
    if configuration.vector is None and configuration.front_end != "clip" and board.name in MICROPHONE_RING:
        needed += MICROPHONE_STATE + 2 * MICROPHONE_RING[board.name]
    return needed


def flash_bytes(configuration: FirmwareConfiguration, fused: bool) -> int:
    """Return an upper bound of the flash in bytes: tables, a full initial T and code."""
    c = configuration
    total = CODE + c.samples * (c.features * STORE_BYTES[c.store] + 1)
    if c.learner == "tandem":
        total += TANDEM_CODE + 8 * c.classes * (c.features + 1) + 4 * c.classes**2 + 4 * c.features
    if c.front_end != "clip":
        total += LISTENING_CODE + FRONT_ENDS[c.front_end].table_bytes
    if c.clips:
        total += 8 * c.n_fft + 4 * c.filters
        total += c.filters * FUSED_TABLE if fused else 4 * (TAPS * c.filters + 256 * 3)
    return total


def largest_store(configuration: FirmwareConfiguration, board: Board) -> int:
    """Return the largest |T| with which a configuration fits a board; 0 if none does.

    Examples
    --------
    >>> full_rate = FirmwareConfiguration(layout="streamed", store="uint8")
    >>> largest_store(full_rate, BOARDS["stm32f401"]) > 50
    True
    """
    low, high = 0, MAX_SAMPLES
    while low < high:
        middle = (low + high + 1) // 2
        if budget(replace(configuration, samples=middle)).fits(board):
            low = middle
        else:
            high = middle - 1
    return low


@dataclass(frozen=True)
class Fit:
    """Fit of a configuration on a board; `largest` is the largest |T| that fits.

    `free` are the bytes left; negative if it does not fit: the missing bytes, including the linker's alignment.
    """

    board: Board
    needed: int
    free: int
    fits: bool
    largest: int


def what_fits(configuration: FirmwareConfiguration, boards: Iterable[Board] = tuple(BOARDS.values())) -> list[Fit]:
    """Return the `Fit` of a configuration on each board."""
    table = budget(configuration)
    rows = []
    for b in boards:
        fits, free = table.fits(b), b.ram - table.needed
        rows.append(Fit(b, table.needed, free if fits else free - LINKER_SLACK, fits, largest_store(configuration, b)))
    return rows


@dataclass(frozen=True)
class Bar:
    """Stacked bar of a chart: parts as (name, bytes) from the bottom, and the board's RAM as limit."""

    board: str
    parts: tuple[tuple[str, int], ...]
    limit: int


def ram_bars(configuration: FirmwareConfiguration, boards: Sequence[Board] = tuple(BOARDS.values())) -> list[Bar]:
    """Return the bars of the RAM chart: the configuration's rows and each board's RAM."""
    parts = tuple((r.name, r.bytes) for r in budget(configuration).rows if r.bytes)
    return [Bar(b.title, parts, b.ram) for b in boards]


# The paper's two configurations, Table 2 (a) and (b).
PAPER_CONFIGURATIONS = (FirmwareConfiguration(), FirmwareConfiguration(4_410, 128, 128))
# Beyond the paper: its full sampling rate on the smallest board.
FULL_RATE_F401 = FirmwareConfiguration(layout="streamed", store="uint8")
