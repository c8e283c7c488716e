"""Front ends in C: words out of a stream of sound, in blocks of any size."""

from __future__ import annotations

import numpy as np
import pytest

from tmlcd_core import HybridTinyKNN
from tmlcd_core.features import Extractor
from tmlcd_core.mcu import export_firmware
from tmlcd_core.mcu.device import HostLibrary

SMALL = Extractor(sample_rate=1000, n_fft=64, hop=64)


@pytest.mark.parametrize("layout", ["paper", "compact", "streamed"])
def test_a_stream_of_clips_is_cut_every_second(layout, tmp_path):
    d = SMALL.n_features
    model = HybridTinyKNN(max_size=5).fit(np.eye(2, d), [0, 1])
    library = HostLibrary(export_firmware(model, SMALL, layout=layout).write(tmp_path))
    sound = np.random.default_rng(0).normal(0, 3000, 3500).astype(np.int16)
    expected = [library.features(clip, d) for clip in sound[:3000].reshape(3, -1)]
    for block in (0, 1, 7, 64, 999, 1000, 1001, 2500):
        library.listen()
        words = library.hear(sound, d, block)
        assert [(word.start, word.stop) for word in words] == [(0, 1000), (1000, 2000), (2000, 3000)]
        assert np.array_equal([word.x for word in words], expected)
