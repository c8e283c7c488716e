"""The serial protocol: the C side compiled for this computer, the Python side, and noise between them."""

from __future__ import annotations

import binascii
import ctypes
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.mcu.test_firmware import SLOW, clips, drifting, hide, sound_model
from tests.mcu.test_front_ends import firmware_of, sounds
from tmlcd_core import ActiveTinyKNN, BoardError, CondensingInTime, GeneralizedCusum, HybridTinyKNN, Tandem
from tmlcd_core.mcu import export_firmware
from tmlcd_core.mcu.board_twin import BoardLoop, Twin, stored_samples
from tmlcd_core.mcu.device import HostLibrary
from tmlcd_core.mcu.front_ends import FRONT_ENDS, lay_out
from tmlcd_core.mcu.link import PAYLOAD, BoardLink, BoardSilent, checksum, decode, encode

SHIM = Path(__file__).parent / "serial_shim.c"
X, Y = drifting()
START = 60
TEST = {"threshold": 8, "batch": 20, "warmup": 40}


class HostLine:
    """The compiled protocol as a serial line; `spoil` changes the bytes on their way."""

    def __init__(self, folder: Path, spoil=lambda data: data):
        shutil.copy(SHIM, folder / SHIM.name)
        self._c = HostLibrary(folder, sources=("protocol.c", SHIM.name))._c
        self.spoil = spoil
        self._buffer = (ctypes.c_uint8 * 100_000)()
        self._waiting = b""
        self.plugged = True
        self.restart()

    def restart(self):
        self._c.tml_reset()
        self._c.tml_link_start()

    def write(self, data):
        if not self.plugged:
            raise OSError("pulled")
        for byte in self.spoil(data):
            self._c.tml_link_byte(ctypes.c_uint8(byte))
        count = self._c.shim_take(self._buffer)
        self._waiting += self.spoil(bytes(self._buffer[:count]))

    def read(self, size):
        part, self._waiting = self._waiting[:size], self._waiting[size:]
        return part

    @property
    def in_waiting(self):
        return len(self._waiting)

    def close(self):
        self._waiting = b""


def link(line, **more):
    return BoardLink(line, "the test", **{"silence": 0.02, "tries": 60} | more)


MODELS = {
    "hybrid": (lambda: HybridTinyKNN(max_size=50, **TEST), "float32"),
    "hybrid, bytes, 1/d": (lambda: HybridTinyKNN(max_size=50, weights="distance", k=5, **TEST), "uint8"),
    "hybrid, binomial": (
        lambda: HybridTinyKNN(
            max_size=50, detector=GeneralizedCusum(8, 20, 40, "down", likelihood="binomial", gap=0.05)
        ),
        "int16",
    ),
    "active": (lambda: ActiveTinyKNN(window=80, **TEST), "uint8"),
    "cit": (lambda: CondensingInTime(max_size=64), "int16"),
    "tandem": (lambda: Tandem(max_bytes=3_000, **TEST), "auto"),
}


# -- frames ----------------------------------------------------------------------------------------


def test_the_checksum_is_the_standard_one():
    """binascii's crc_hqx is the same polynomial; CCITT-FALSE starts with 0xFFFF."""
    for data in (b"", b"123456789", bytes(range(256))):
        assert checksum(data) == binascii.crc_hqx(data, 0xFFFF)


@given(st.sampled_from("abcio"), st.integers(0, 255), st.binary(max_size=PAYLOAD))
def test_frames_round_trip_without_zeros_inside(kind, sequence, payload):
    frame = encode(kind, sequence, payload)
    assert frame.count(0) == 1 and frame[-1] == 0
    assert decode(frame[:-1]) == (kind, sequence, payload)


@given(st.binary(max_size=PAYLOAD), st.data())
def test_damaged_frames_are_refused(payload, data):
    frame = bytearray(encode("o", 9, payload)[:-1])
    at = data.draw(st.integers(0, len(frame) - 1))
    frame[at] ^= data.draw(st.integers(1, 255))
    assert decode(bytes(frame)) is None
    assert decode(encode("o", 9, payload)[:-1][:at]) is None


# -- board and twin --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_the_twin_of_a_board_decides_alike(name, tmp_path):
    """T, settings and test are read from the board; then 500 samples, some without a label."""
    make, store = MODELS[name]
    firmware = export_firmware(make().fit(X[:START], Y[:START]), store=store)
    loop = BoardLoop(lambda: link(HostLine(firmware.write(tmp_path))))
    assert loop.names == firmware.classes
    _, codes = hide(Y[START:560], 0.1)
    found = [one for x, c in zip(X[START:560], codes, strict=True) for one in loop.step(x, int(c))]
    assert len(found) == 500 and all(one.equal for one in found)
    assert name == "cit" or any(one.board.alarm and one.change == one.board.change for one in found)
    assert name == "cit" or sum(one.board.statistic != 0 for one in found) > 200
    assert (found[0].board.cycles, found[0].board.stack) == (1234, 56)


def test_a_twin_that_differs_is_noticed(tmp_path):
    firmware = export_firmware(HybridTinyKNN(max_size=50, **TEST).fit(X[:START], Y[:START]))
    loop = BoardLoop(lambda: link(HostLine(firmware.write(tmp_path))))
    loop.link.configure(k=1)  # the twin does not know
    found = [one for x, y in zip(X[START:200], Y[START:200], strict=True) for one in loop.step(x, int(y))]
    assert not all(one.equal for one in found)


def test_sound_goes_in_and_features_come_out(tmp_path):
    firmware = export_firmware(sound_model(SLOW), SLOW, store="uint8")
    loop = BoardLoop(lambda: link(HostLine(firmware.write(tmp_path))))
    library = HostLibrary(firmware.write(tmp_path / "other"))
    heard, y = clips(4410, 6, seed=1)
    for clip, label in zip(heard, y, strict=True):
        (one,) = loop.step(clip, 1 - int(label))
        assert one.equal and np.array_equal(loop.link.features(), library.features(clip, 153))
    assert one.board.size > 16


def test_words_of_the_boards_microphone_are_sent_unasked(tmp_path):
    """A word is announced between two answers without spoiling them; board and twin answer alike."""
    firmware = firmware_of("word")
    line = HostLine(firmware.write(tmp_path))
    loop = BoardLoop(lambda: link(line))
    heard = FRONT_ENDS["word"].hear(np.concatenate(lay_out(sounds()[8:14])))
    found = []
    original, pieces = line.read, iter(np.array_split(np.concatenate(lay_out(sounds()[8:14])), 40))

    def read(size):
        piece = next(pieces, None)  # sound comes while the computer waits
        if piece is not None:
            block = np.ascontiguousarray(piece, np.int16)
            line._c.tml_link_hear(ctypes.c_void_p(block.ctypes.data), ctypes.c_uint32(len(block)))
            line.write(b"")
        return original(size)

    line.read = read
    for word in loop.link.listen(1.0):
        line.read = original  # a request is answered before the next sound comes
        x = loop.link.features()
        found.append((word.start, word.stop, word.decibels, x.tobytes()))
        comparison = loop.twin.compare(x, -1, loop.link.observe())
        assert comparison.equal and comparison.board.prediction == word.prediction
        line.read = read
    assert found == [(w.start, w.stop, w.decibels, w.x.tobytes()) for w in heard]


def test_samples_of_the_paper_layout_are_read(tmp_path):
    """Labels of 32 bits, a queue that has turned round."""
    model = HybridTinyKNN(max_size=16, condense=False).fit(X[:16], Y[:16])
    firmware = export_firmware(model, layout="paper", store="float32")
    one = link(HostLine(firmware.write(tmp_path)))
    stored, labels = stored_samples(one)
    assert np.array_equal(stored, model.samples_) and labels.tolist() == model.labels_.tolist()
    for x, y in zip(X[16:60], Y[16:60], strict=True):
        one.send_features(x)
        assert one.observe(int(y)).prediction == model.observe(x, int(y))
    stored, labels = stored_samples(one)
    assert np.array_equal(stored, model.samples_) and labels.tolist() == model.labels_.tolist()


def test_teaching_predicting_settings_and_refusals(tmp_path):
    one = link(HostLine(export_firmware(HybridTinyKNN(max_size=50).fit(X[:START], Y[:START])).write(tmp_path)))
    with pytest.raises(BoardError, match="no sample yet"):
        one.predict()
    one.send_features(X[100])
    before = one.predict()
    assert one.teach(2) and not one.teach(7)
    assert one.observe(-1).prediction in (before, 2)
    one.configure(threshold=3.5, max_size=20)
    assert one.settings()["threshold"] == 3.5 and one.settings()["max_size"] == 20
    with pytest.raises(BoardError, match="refuses the settings"):
        one.configure(max_size=51)
    with pytest.raises(BoardError, match="wrong length"):
        one.request("o", b"\0")
    with pytest.raises(BoardError, match="does not know"):
        one.request("q")
    with pytest.raises(BoardError, match="shape"):
        one.send_features(np.zeros(3))
    with pytest.raises(BoardError, match="wrong length"):
        one.request("x", (10).to_bytes(2, "little") + bytes(12))  # behind the last feature
    assert one.memory(1) == b"" and one.memory(9) == b""


# -- noise -----------------------------------------------------------------------------------------


def noise(rng, share):
    """Bytes flipped, lost, repeated and made up."""

    def spoil(data):
        out = bytearray()
        for byte in data:
            kind = rng.random()
            if kind < share:
                out.append(byte ^ int(rng.integers(1, 256)))
            elif kind < 2 * share:
                continue
            else:
                out.append(byte)
            if rng.random() < share:
                out += rng.bytes(int(rng.integers(1, 9)))
        return bytes(out)

    return spoil


def test_noise_on_the_line_changes_no_decision(tmp_path):
    """Requests are repeated until they are answered, and each sample is learned once."""
    firmware = export_firmware(HybridTinyKNN(max_size=50, **TEST).fit(X[:START], Y[:START]))
    line = HostLine(firmware.write(tmp_path), noise(np.random.default_rng(0), 0.0025))
    loop = BoardLoop(lambda: link(line))
    found = [one for x, y in zip(X[START:360], Y[START:360], strict=True) for one in loop.step(x, int(y))]
    assert len(found) == 300 and all(one.equal for one in found)
    assert [one.board.time for one in found] == list(range(1, 301))
    assert loop.link.repeated > 50
    assert ctypes.c_uint32.in_dll(line._c, "shim_learned").value == 300


# -- a board that goes and comes back ---------------------------------------------------------------


class Plug:
    """Connects to one of several boards; the plug can be pulled."""

    def __init__(self, line):
        self.line = line

    def __call__(self):
        if not self.line.plugged:
            raise BoardSilent("There is no board")
        return link(self.line, tries=2)


def test_a_pulled_plug_is_said_and_the_board_goes_on(tmp_path, monkeypatch):
    firmware = export_firmware(HybridTinyKNN(max_size=50, **TEST).fit(X[:START], Y[:START]))
    line = HostLine(firmware.write(tmp_path / "a"))
    plug, said = Plug(line), []

    def back(_):
        plug.line.plugged = True

    monkeypatch.setattr("tmlcd_core.mcu.board_twin.time.sleep", back)
    loop = BoardLoop(plug, said.append)
    found = []
    for i, (x, y) in enumerate(zip(X[START:160], Y[START:160], strict=True)):
        if i == 30:
            line.plugged = False  # for a moment: the board keeps its state
        if i == 60:
            line.plugged = False
            line.restart()  # without power: T is lost
        found += loop.step(x, int(y))
    assert all(one.equal for one in found) and len(found) == 100
    assert loop.restarts == 1 and [one.board.time for one in found] == [*range(1, 61), *range(1, 41)]
    text = " ".join(said)
    assert "broke" in text and "kept its state" in text and "restarted" in text


def test_another_board_is_said_and_waited_out(tmp_path, monkeypatch):
    model = HybridTinyKNN(max_size=50, **TEST).fit(X[:START], Y[:START])
    mine = HostLine(export_firmware(model).write(tmp_path / "a"))
    another = HybridTinyKNN(max_size=50, threshold=9).fit(X[:START], Y[:START])
    other = HostLine(export_firmware(another).write(tmp_path / "b"))
    plug, said = Plug(mine), []
    loop = BoardLoop(plug, said.append)
    loop.step(X[START], int(Y[START]))
    mine.plugged, plug.line = False, other

    def back(_):
        mine.plugged, plug.line = True, mine

    monkeypatch.setattr("tmlcd_core.mcu.board_twin.time.sleep", back)
    (one,) = loop.step(X[START + 1], int(Y[START + 1]))
    assert one.equal and one.board.time == 2
    assert any("Another board or firmware" in text for text in said)
    mine.plugged, plug.line = False, other
    monkeypatch.setattr("tmlcd_core.mcu.board_twin.time.sleep", lambda _: None)
    loop._patience = 0
    with pytest.raises(BoardError, match="Another board"):
        loop.step(X[START + 2], 0)


class Deaf:
    """A line whose other end says something else."""

    in_waiting = 0

    def __init__(self, answer=b""):
        self.answer = answer

    def write(self, data):
        pass

    def read(self, size):
        return self.answer

    def close(self):
        pass


def test_no_answer_and_a_wrong_firmware_are_sentences():
    with pytest.raises(BoardSilent, match="does not answer"):
        link(Deaf(), tries=2)
    with pytest.raises(BoardSilent, match="does not answer"):
        link(Deaf(b"Hello, I am a modem\r\n"), tries=2)
    with pytest.raises(BoardError, match="version 07"):
        link(Deaf(encode("I", 0, b"\7")), tries=2)


def test_a_port_that_is_not_there_is_a_sentence():
    from tmlcd_core.mcu.link import open_line

    for port in ("/dev/there-is-none", "socket://127.0.0.1:1", "no-such-scheme://x"):
        with pytest.raises(BoardSilent, match="cannot be opened"):
            open_line(port)


def test_a_twin_needs_the_test_of_this_version(tmp_path, monkeypatch):
    one = link(HostLine(export_firmware(HybridTinyKNN(max_size=50).fit(X[:START], Y[:START])).write(tmp_path)))
    real = one.memory
    monkeypatch.setattr(one, "memory", lambda part: b"" if part == 18 else real(part))
    with pytest.raises(BoardError, match="flash it again"):
        Twin(one)
