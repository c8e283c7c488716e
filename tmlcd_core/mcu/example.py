"""A fitted learner to export when nobody has brought one: commands of speech, in a given configuration."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tmlcd_core.errors import DataError
from tmlcd_core.knn.class_balance import in_turns
from tmlcd_core.mcu.boards import Board
from tmlcd_core.mcu.budget import Configuration
from tmlcd_core.progress import Progress, silent

if TYPE_CHECKING:
    from tmlcd_core.datasets import Pack
    from tmlcd_core.features import Extractor
    from tmlcd_core.learners import HybridTinyKNN
    from tmlcd_core.mcu.export import Firmware

WORDS = ("yes", "no")
CLIPS = 50  # per word that is spoken on the spot
PACKED = Configuration()  # the pack's features: 22,050 Hz, n_fft = hop = 512, one filter


@dataclass(frozen=True)
class Example:
    """A Hybrid Tiny kNN, the extractor of its features, words it may meet later, and where its data come from."""

    model: HybridTinyKNN
    extractor: Extractor
    later: tuple[str, ...]
    about: str


def fit_example(configuration: Configuration, progress: Progress = silent) -> Example:
    """Fit on the ready-made pack where its features are of this configuration, else on words spoken by eSpeak NG."""
    from tmlcd_core.datasets import load_pack

    c = configuration
    if (c.sample_rate, c.n_fft, c.hop, c.filters) == (PACKED.sample_rate, PACKED.n_fft, PACKED.hop, PACKED.filters):
        try:
            return _from_pack(c, load_pack())
        except DataError:
            pass
    return _spoken(c, progress)


def export_example(configuration: Configuration, board: Board, progress: Progress = silent) -> tuple[Firmware, str]:
    """The example as a C project in exactly this configuration, and where its data come from."""
    from tmlcd_core.mcu.export import export_firmware

    example = fit_example(configuration, progress)
    layout, store = configuration.layout, configuration.store
    firmware = export_firmware(
        example.model, example.extractor, board=board, layout=layout, store=store, classes=example.later
    )
    return firmware, example.about


def _from_pack(c: Configuration, pack: Pack) -> Example:
    from tmlcd_core.features import Extractor
    from tmlcd_core.learners import HybridTinyKNN

    data = pack.data
    rows = np.concatenate([np.flatnonzero(data.y == word)[: pack.train] for word in pack.words])
    rows = rows[in_turns(data.y[rows])]
    model = HybridTinyKNN(max_size=c.samples).fit(data.X[rows], data.y[rows])
    about = f"the ready-made pack: {', '.join(pack.words)}, {pack.train} clips each"
    return Example(model, Extractor(), (pack.new,), about)


def _spoken(c: Configuration, progress: Progress) -> Example:
    from tmlcd_core.datasets import load
    from tmlcd_core.datasets.speech import SAMPLE_RATE, SpeechSource
    from tmlcd_core.features import Extractor, select_filters
    from tmlcd_core.features.audio import make_clip
    from tmlcd_core.learners import HybridTinyKNN

    source = SpeechSource(WORDS)
    extractor = Extractor(sample_rate=c.sample_rate, n_fft=c.n_fft, hop=c.hop)
    if c.filters > 1:
        clips = [make_clip(clip, SAMPLE_RATE, c.sample_rate) for clip in source.media(WORDS[0], range(16))]
        extractor = replace(extractor, filters=select_filters(np.stack(clips), c.filters, extractor=extractor))
    data = load(source, WORDS, CLIPS, extractor, progress=progress)
    rows = in_turns(data.y)
    model = HybridTinyKNN(max_size=c.samples).fit(data.X[rows], data.y[rows])
    return Example(model, extractor, (), f"words spoken by eSpeak NG: {', '.join(WORDS)}, {CLIPS} clips each")
