"""Example learner for the export: fitted on spoken words, in a given configuration."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tmlcd_core.errors import DataError
from tmlcd_core.knn.class_balance import in_turns
from tmlcd_core.mcu.boards import Board
from tmlcd_core.mcu.budget import FirmwareConfiguration
from tmlcd_core.progress import Progress, silent
from tmlcd_core.validation import one_of

if TYPE_CHECKING:
    from tmlcd_core.datasets import Dataset, Pack
    from tmlcd_core.features import Extractor
    from tmlcd_core.mcu.firmware import Firmware

Labelled = tuple[Any, NDArray]  # clips (n, sample_rate), or recordings of int16 at 16 kHz, and their labels (n,)

WORDS = ("yes", "no")
EXPORTED = ("hybrid", "cit", "active", "tandem")
CLIPS = 50  # clips per word that eSpeak NG speaks
TO_CHECK = 6  # clips per class for stream.bin
PACKED = FirmwareConfiguration()  # the pack's features: 22,050 Hz, n_fft = hop = 512, one filter


@dataclass(frozen=True)
class Example:
    """Example learner, the extractor or front end of its features, words that may appear later, and its source.

    `check` are samples and their labels (n,) for the project's `stream.bin`; None if there are none.
    """

    model: Any
    extractor: Extractor | str
    later: tuple[str, ...]
    about: str
    check: Labelled | None


def fit_example(configuration: FirmwareConfiguration, progress: Progress = silent) -> Example:
    """Return an `Example` fitted on the ready-made pack if it has these features, else on words of eSpeak NG."""
    from tmlcd_core.datasets import load_pack

    c = configuration
    if c.front_end != "clip":
        return _heard(c)
    if (c.sample_rate, c.n_fft, c.hop, c.filters) == (PACKED.sample_rate, PACKED.n_fft, PACKED.hop, PACKED.filters):
        try:
            return _from_pack(c, load_pack())
        except DataError:
            pass
    return _spoken(c, progress)


def export_example(
    configuration: FirmwareConfiguration, board: Board, progress: Progress = silent
) -> tuple[Firmware, str]:
    """Return the example as a C project (`Firmware`) in exactly this configuration, and the source of its data."""
    from tmlcd_core.mcu.export import export_firmware

    example = fit_example(configuration, progress)
    layout, store = configuration.layout, configuration.store
    firmware = export_firmware(
        example.model,
        example.extractor,
        board=board,
        layout=layout,
        store=store,
        classes=example.later,
        check=example.check,
    )
    return firmware, example.about


def fit_in_turns(X: NDArray[np.float32], y: NDArray, max_size: int, learner: str = "hybrid", **settings: Any) -> Any:
    """Return a learner fitted on X (n, d) and y (n,), with the classes in turns in T.

    `learner` is "hybrid", "cit", "active" (window of `max_size` samples) or "tandem" (within the bytes of `max_size`
    samples as the paper counts them); `settings` are more of its parameters.

    T drops its oldest samples first, so in this order it loses samples of all classes alike. Hart's algorithm keeps
    many of the first samples and few of an easy class; therefore the samples that it keeps are reordered too. No class
    is lost while T has at least as many initial samples as classes.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["a", "b", "c"], 100)
    >>> X = rng.normal(size=(300, 5)) + np.repeat([0, 0.3, 5], 100)[:, None]
    >>> "".join(fit_in_turns(X, y, 15).labels_)
    'cabcbacbacbacba'
    """
    from tmlcd_core.knn import condense
    from tmlcd_core.learners import ActiveTinyKNN, CondensingInTime, HybridTinyKNN, Tandem

    one_of("learner", learner, EXPORTED)
    rows = in_turns(y)
    if learner == "tandem":
        return Tandem(max_size, **settings).fit(X[rows], y[rows])
    rows = rows[condense(X[rows], y[rows])]
    rows = rows[in_turns(y[rows])]
    if learner == "active":
        model = ActiveTinyKNN(window=max_size, condense=False, **settings).fit(X[rows[-max_size:]], y[rows[-max_size:]])
        return model.set_params(condense=True)  # W after an alarm
    make = HybridTinyKNN if learner == "hybrid" else CondensingInTime
    return make(max_size=max_size, condense=False, **settings).fit(X[rows], y[rows])


def clips_of(data: Dataset, sample_rate: int) -> Labelled:
    """Return the first clips of each class of a dataset, shape (n, sample_rate), and their labels (n,)."""
    from tmlcd_core.features.audio import make_clip

    source = data.source
    if source is None or source.sample_rate is None:
        raise DataError(f"{data.name} has no clips: load a dataset of sound")
    rows = np.concatenate([np.flatnonzero(data.y == label)[:TO_CHECK] for label in data.classes])
    clips = [
        make_clip(source.media(label, [index])[0], source.sample_rate, sample_rate)
        for label, index in zip(data.y[rows].tolist(), data.index[rows].tolist(), strict=True)
    ]
    return np.stack(clips), data.y[rows]


def _from_pack(c: FirmwareConfiguration, pack: Pack) -> Example:
    from tmlcd_core.features import Extractor
    from tmlcd_core.features.audio import load_clip

    data = pack.data
    rows = np.concatenate([np.flatnonzero(data.y == word)[: pack.train] for word in pack.words])
    model = fit_in_turns(data.X[rows], data.y[rows], c.samples, c.learner)
    about = f"the ready-made pack: {', '.join(pack.words)}, {pack.train} clips each"
    heard = [(load_clip(file, c.sample_rate), word) for word, files in pack.clips.items() for file in files]
    check = (np.stack([clip for clip, _ in heard]), np.array([word for _, word in heard])) if heard else None
    return Example(model, Extractor(), (pack.new,), about, check)


def _spoken(c: FirmwareConfiguration, progress: Progress) -> Example:
    from tmlcd_core.datasets import load
    from tmlcd_core.datasets.speech import SAMPLE_RATE, SpeechSource
    from tmlcd_core.features import Extractor, select_filters
    from tmlcd_core.features.audio import make_clip

    source = SpeechSource(WORDS)
    extractor = Extractor(sample_rate=c.sample_rate, n_fft=c.n_fft, hop=c.hop)
    if c.filters > 1:
        clips = [make_clip(clip, SAMPLE_RATE, c.sample_rate) for clip in source.media(WORDS[0], range(16))]
        extractor = replace(extractor, filters=select_filters(np.stack(clips), c.filters, extractor=extractor))
    data = load(source, WORDS, CLIPS, extractor, progress=progress)
    model = fit_in_turns(data.X, data.y, c.samples, c.learner)
    about = f"words spoken by eSpeak NG: {', '.join(WORDS)}, {CLIPS} clips each"
    return Example(model, extractor, (), about, clips_of(data, c.sample_rate))


def _heard(c: FirmwareConfiguration) -> Example:
    """The clips of the ready-made pack as a front end hears them in a stream."""
    from tmlcd_core.datasets import load_pack
    from tmlcd_core.features.voice import open_take
    from tmlcd_core.mcu.front_ends import FRONT_ENDS
    from tmlcd_core.mcu.sound import as_int16

    clips = load_pack().clips
    takes = [open_take(file) for files in clips.values() for file in files]
    y = np.array([word for word, files in clips.items() for _ in files])
    model = fit_in_turns(FRONT_ENDS[c.front_end].hear_takes(takes), y, c.samples, c.learner)
    about = f"the clips of the ready-made pack: {', '.join(clips)}, {len(takes)} in all"
    return Example(model, c.front_end, (), about, ([as_int16(take.samples) for take in takes], y))
