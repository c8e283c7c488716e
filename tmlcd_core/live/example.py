"""Sessions of ready-made recordings, for pages and commands without a microphone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tmlcd_core.datasets import load_pack
from tmlcd_core.features.voice import DEFAULT_VOICE, open_take
from tmlcd_core.features.voice.take import TakeSource
from tmlcd_core.live.session import LiveSession


def taught_session(recordings: Mapping[str, Sequence[TakeSource]], extractor: str = DEFAULT_VOICE) -> LiveSession:
    """Return a session that was taught these recordings of each word.

    Parameters
    ----------
    recordings : mapping
        Recordings by word, as in `open_take`.
    extractor : str
        A name of `VOICE_EXTRACTORS`.
    """
    session = LiveSession(list(recordings), extractor)
    for word, sources in recordings.items():
        for source in sources:
            session.teach(word, open_take(source))
    return session


def example_session() -> LiveSession:
    """Return a session that was taught the shipped clips.

    >>> example_session().counts()
    {'yes': 2, 'no': 2, 'up': 2, 'stop': 2}
    """
    return taught_session(load_pack().clips)
