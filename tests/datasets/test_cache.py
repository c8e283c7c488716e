"""Feature cache: killed writers, flipped bytes, truncated files, full disks, two processes."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tmlcd_core.datasets import CacheWarning, FeatureCache, cache_folder, load
from tmlcd_core.datasets.arrayfile import TEMPORARY, read_arrays, write_arrays
from tmlcd_core.errors import ConfigError, DataError
from tmlcd_core.progress import Progress


class Vectors:
    """Source of numbers computed from label and index, which records the requests."""

    name, kind, sample_rate = "vectors", "vector", None

    def __init__(self, key: str = "1", size: int = 1000) -> None:
        self.key, self.size, self.asked = key, size, []

    @property
    def classes(self) -> tuple[str, ...]:
        return ("a", "b")

    def count(self, label: str) -> int:
        if label not in self.classes:
            raise DataError(f"no class {label!r}")
        return self.size

    def media(self, label: str, indices: Sequence[int]) -> NDArray:
        self.asked += [(label, i) for i in indices]
        return np.array([[ord(label), i, float(self.key)] for i in indices], np.float32)


@pytest.fixture
def cache(tmp_path: Path) -> FeatureCache:
    return FeatureCache(tmp_path / "cache")


def files(cache: FeatureCache) -> list[Path]:
    return sorted(p for p in cache.folder.rglob("*") if p.is_file())


def test_arrays_come_back_bit_by_bit(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    arrays = {
        "empty": np.empty((0, 7), np.float32),
        "scalar": np.array(3.5),
        "half": rng.standard_normal((3, 5)).astype(np.float16),
        "big": rng.integers(0, 255, 70_001).astype(np.uint8),
        "turned": rng.standard_normal((4, 6)).T,
        "text": np.array(["ja", "nöin", ""]),
        "flags": np.array([True, False]),
    }
    write_arrays(tmp_path / "x", arrays, {"of": "née\n"})
    back, meta = read_arrays(tmp_path / "x")
    assert meta == {"of": "née\n"}
    for name, a in arrays.items():
        assert back[name].dtype == a.dtype
        assert back[name].flags.aligned
        np.testing.assert_array_equal(back[name], a)


def test_objects_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="dtype object"):
        write_arrays(tmp_path / "x", {"X": np.array([{}, []], dtype=object)})
    assert not list(tmp_path.iterdir())


def test_second_load_computes_nothing(cache: FeatureCache) -> None:
    first, second = Vectors(), Vectors()
    a = load(first, ["a", "b"], 30, None, cache=cache)
    b = load(second, ["a", "b"], 30, None, cache=cache)
    assert len(first.asked) == 60 and not second.asked
    np.testing.assert_array_equal(a.X, b.X)
    np.testing.assert_array_equal(a.y, np.repeat(["a", "b"], 30))
    np.testing.assert_array_equal(b.index, np.tile(np.arange(30), 2))


def test_more_clips_and_words_cost_only_what_is_new(cache: FeatureCache) -> None:
    load(Vectors(), ["a"], 10, None, cache=cache)
    more = Vectors()
    data = load(more, ["b", "a"], 25, None, cache=cache)
    assert more.asked == [("b", i) for i in range(25)] + [("a", i) for i in range(10, 25)]
    np.testing.assert_array_equal(data.X[data.y == "a"][:, 1], np.arange(25))
    fewer = Vectors()
    assert len(load(fewer, ["a"], 7, None, cache=cache).X) == 7
    assert not fewer.asked


def test_only_classes_that_are_short_are_prepared_and_before_any_is_read(cache: FeatureCache) -> None:
    class Prepared(Vectors):
        def prepare(self, labels: Sequence[str], progress: Progress) -> None:
            self.asked.append(tuple(labels))
            progress(1, 1, "prepared")

    asked = []
    for classes, per_class in ((["a"], 10), (["b", "a"], 10), (["b", "a"], 5), (["a", "b"], 11)):
        source, told = Prepared(), []
        load(source, classes, per_class, None, cache=cache, progress=lambda *what: told.append(what[2]))  # noqa: B023
        asked.append(source.asked[0] if source.asked else None)
        assert source.asked.count(asked[-1]) <= 1 and ("prepared" in told) == bool(source.asked)
    assert asked == [("a",), ("b",), None, ("a", "b")]


def test_another_key_is_another_file(cache: FeatureCache) -> None:
    load(Vectors("1"), ["a"], 5, None, cache=cache)
    other = Vectors("2")
    assert (load(other, ["a"], 5, None, cache=cache).X[:, 2] == 2).all()
    assert len(other.asked) == 5 and len(cache.entries()) == 2


def test_media_come_in_bounded_chunks(cache: FeatureCache) -> None:
    sizes: list[int] = []

    class Watched(Vectors):
        def media(self, label: str, indices: Sequence[int]) -> NDArray:
            sizes.append(len(indices))
            return super().media(label, indices)

    told: list[tuple[int, int]] = []
    load(
        Watched(),
        ["a"],
        900,
        None,
        cache=cache,
        progress=lambda done, total, what: told.append((done, total)),
    )
    assert sum(sizes) == 900 and max(sizes) <= 256
    assert told[-1] == (900, 900) and told == sorted(told)


def test_what_was_done_before_a_cancel_is_kept(cache: FeatureCache) -> None:
    class Cancel(Exception):
        pass

    def cancel(done: int, total: int, what: str) -> None:
        if done >= 512:
            raise Cancel

    with pytest.raises(Cancel):
        load(Vectors(), ["a", "b"], 900, None, cache=cache, progress=cancel)
    again = Vectors()
    data = load(again, ["a"], 900, None, cache=cache)
    assert again.asked == [("a", i) for i in range(512, 900)]
    np.testing.assert_array_equal(data.X[:, 1], np.arange(900))


@pytest.mark.parametrize("harm", ["flip header", "flip digest", "flip number", "cut", "empty", "foreign"])
def test_damage_is_noticed_told_and_repaired(cache: FeatureCache, harm: str) -> None:
    good = load(Vectors(), ["a"], 40, None, cache=cache)
    (path,) = files(cache)
    raw = bytearray(path.read_bytes())
    if harm.startswith("flip"):
        raw[{"flip header": 70, "flip digest": 20, "flip number": -9}[harm]] ^= 0x10
    elif harm == "foreign":
        raw = bytearray(b"PK\x03\x04 something else altogether" * 9)
    else:
        del raw[{"cut": len(raw) // 2, "empty": 0}[harm] :]
    path.write_bytes(raw)
    again = Vectors()
    with pytest.warns(CacheWarning, match="computed again"):
        data = load(again, ["a"], 40, None, cache=cache)
    assert len(again.asked) == 40
    np.testing.assert_array_equal(data.X, good.X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(Vectors(), ["a"], 40, None, cache=cache)


def test_every_single_byte_matters(tmp_path: Path) -> None:
    path = tmp_path / "x"
    write_arrays(path, {"X": np.arange(4, dtype=np.float32)}, {"k": 1})
    raw = path.read_bytes()
    for i in range(len(raw)):
        path.write_bytes(raw[:i] + bytes([raw[i] ^ 1]) + raw[i + 1 :])
        with pytest.raises(DataError):
            read_arrays(path)
        path.write_bytes(raw[:i])
        with pytest.raises(DataError):
            read_arrays(path)


KILLED = """
import os, signal, sys, numpy as np
from tmlcd_core.datasets import FeatureCache
os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)
FeatureCache(sys.argv[1]).store("vectors", "a", ("k",), {"X": np.ones((500, 700))}, {"rows": 500})
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_killed_writer_leaves_the_old_file(cache: FeatureCache) -> None:
    cache.store("vectors", "a", ("k",), {"X": np.zeros((2, 2))}, {"rows": 2})
    done = subprocess.run([sys.executable, "-c", KILLED, str(cache.folder)], cwd=Path(__file__).parents[2])
    assert done.returncode == -signal.SIGKILL
    left = [p for p in files(cache) if p.name.startswith(TEMPORARY)]
    assert len(left) == 1 and left[0].stat().st_size > 1_000_000
    found = cache.fetch("vectors", "a", ("k",))
    assert found is not None and found[1]["rows"] == 2
    assert cache.size() == sum(p.stat().st_size for p in files(cache))
    # A writer an hour later clears it away, a writer at once does not: the other might still be at work.
    cache.store("vectors", "b", ("k",), {"X": np.zeros(1)}, {})
    assert left[0].exists()
    os.utime(left[0], (0, 0))
    cache.store("vectors", "b", ("k",), {"X": np.zeros(1)}, {})
    assert not left[0].exists()


WRITER = """
import sys, warnings, numpy as np
from tmlcd_core.datasets import FeatureCache
warnings.simplefilter("error")
cache, me = FeatureCache(sys.argv[1]), int(sys.argv[2])
for turn in range(60):
    cache.store("vectors", "a", ("k",), {"X": np.full((200 + 50 * me, 300), me, np.float32)}, {"rows": me})
    arrays, meta = cache.fetch("vectors", "a", ("k",))
    assert arrays["X"].shape == (200 + 50 * meta["rows"], 300) and (arrays["X"] == meta["rows"]).all()
"""


def test_two_processes_at_once(cache: FeatureCache) -> None:
    root = Path(__file__).parents[2]
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(cache.folder), str(me)], cwd=root, stderr=subprocess.PIPE)
        for me in (1, 2)
    ]
    for writer in writers:
        assert writer.communicate(timeout=120)[1] == b"" and writer.returncode == 0
    assert len(files(cache)) == 1


def test_full_disk_goes_on_without_a_cache(cache: FeatureCache, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.warns(CacheWarning, match=r"No space left.*TMLCD_CACHE"):
        data = load(Vectors(), ["a"], 5, None, cache=cache)
    assert len(data.X) == 5 and not files(cache)


def test_unwritable_folder_goes_on_without_a_cache(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")  # works for root too, unlike permissions
    with pytest.warns(CacheWarning, match="cannot be"):
        assert len(load(Vectors(), ["a"], 5, None, cache=FeatureCache(tmp_path / "file" / "cache")).X) == 5


def test_a_closed_folder_counts_as_empty(cache: FeatureCache, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    cache.store("a", "b", ("c",), {"X": np.ones(3)}, {"rows": 3})
    with monkeypatch.context() as locked:
        locked.setattr(Path, "glob", closed)
        assert cache.size() == 0 and cache.entries() == [] and cache.clear() == 0
    assert cache.size() > 0


def test_size_listing_and_clearing(cache: FeatureCache) -> None:
    assert cache.size() == 0 and cache.clear() == 0 and cache.entries() == []
    for source in ("../../evil", "speech", "speech, noisy"):
        for label in ("yes", "no/../../x", "ä" * 300):
            cache.store(source, label, ("k",), {"X": np.zeros((3, 3))}, {"rows": 3})
    assert len(files(cache)) == 9 and len(cache.entries()) == 9
    assert {e.source for e in cache.entries()} == {"../../evil", "speech", "speech, noisy"}
    total = cache.size()
    assert total == sum(p.stat().st_size for p in cache.folder.parent.rglob("*") if p.is_file())
    freed = cache.clear("speech")
    assert {e.source for e in cache.entries()} == {
        "../../evil",
        "speech, noisy",
    } and cache.size() == total - freed
    assert cache.clear() == total - freed and not files(cache)


def test_clear_touches_nothing_else(cache: FeatureCache) -> None:
    cache.store("speech", "yes", ("k",), {"X": np.zeros(3)}, {})
    mine = [cache.folder / "thesis.txt", files(cache)[0].parent / "thesis.txt"]
    for path in mine:
        path.write_text("mine")
    cache.clear()
    assert all(path.exists() for path in mine)


def test_folder_follows_the_platform(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(Path, "home", lambda: Path("/home/ada"))
    for name in ("TMLCD_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    expected = {
        "linux": "/home/ada/.cache/tmlcd",
        "darwin": "/home/ada/Library/Caches/tmlcd",
        "win32": "/home/ada/AppData/Local/tmlcd",
    }
    for platform, folder in expected.items():
        monkeypatch.setattr(sys, "platform", platform)
        assert cache_folder() == Path(folder)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == Path("/home/ada/.cache/tmlcd")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert cache_folder() == Path("/xdg/tmlcd")
    monkeypatch.setenv("TMLCD_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path and FeatureCache().folder == tmp_path / "features"


@pytest.mark.parametrize(
    ("classes", "per_class", "match"),
    [
        (["a"], 0, "per_class=0"),
        (["a"], 1.5, "per_class=1.5"),
        ([], 5, r"\[\].*at least one"),
        (["a", "a"], 5, "no class twice"),
        ("ab", 5, "a list with"),
    ],
)
def test_bad_requests(cache: FeatureCache, classes: list[str], per_class: int, match: str) -> None:
    with pytest.raises(ConfigError, match=match):
        load(Vectors(), classes, per_class, None, cache=cache)


def test_what_a_class_does_not_have(cache: FeatureCache) -> None:
    assert len(load(Vectors(size=3), ["a"], 10, None, cache=cache).X) == 3
    with pytest.raises(DataError, match="no class 'z'"):
        load(Vectors(), ["z"], 10, None, cache=cache)
    with pytest.raises(DataError, match="no usable clip"):
        load(Vectors("9", size=0), ["a"], 10, None, cache=cache)


KB = np.zeros(125, np.float64)  # 1,000 bytes


def keep(cache: FeatureCache, name: str, kilobytes: int = 1) -> Path:
    cache.store("words", name, ("key",), {"X": np.tile(KB, kilobytes)}, {"rows": kilobytes})
    return cache.path("words", name, ("key",))


def used_at(path: Path, second: int) -> None:
    os.utime(path, (second, second))


def test_the_entries_used_longest_ago_go_first(tmp_path: Path) -> None:
    cache = FeatureCache(tmp_path, limit_mb=0.0115)
    paths = {name: keep(cache, name) for name in "abcdefg"}
    for second, path in enumerate(paths.values(), 1_000):
        used_at(path, second)
    assert cache.fetch("words", "a", ("key",)) is not None  # used now: "b" is the oldest
    new = keep(cache, "new", 4)
    assert cache.size() <= cache.limit
    left = set(files(cache))
    assert new in left and paths["a"] in left and paths["b"] not in left
    gone = [name for name, path in paths.items() if path not in left]
    assert gone == list("bcdefg")[: len(gone)]


def test_many_small_entries_stay_below_the_limit(tmp_path: Path) -> None:
    cache = FeatureCache(tmp_path, limit_mb=0.05)
    for number in range(200):
        keep(cache, f"word {number}")
        assert cache.size() <= cache.limit
        assert cache.fetch("words", f"word {number}", ("key",)) is not None, "the newest stays"
    assert 20 <= len(cache.entries()) <= 50


def test_what_no_cache_can_hold_is_not_stored(tmp_path: Path) -> None:
    cache = FeatureCache(tmp_path, limit_mb=0.01)
    path = keep(cache, "small")
    with pytest.warns(CacheWarning, match=r"0 MB of features are more than the cache may hold \(0.01 MB\)"):
        keep(cache, "large", 11)
    assert files(cache) == [path]


def test_the_limit_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TMLCD_CACHE_MB", raising=False)
    assert FeatureCache(tmp_path).limit == 2e9
    monkeypatch.setenv("TMLCD_CACHE_MB", "0.5")
    assert FeatureCache(tmp_path).limit == 5e5 and FeatureCache(tmp_path, 3).limit == 3e6
    monkeypatch.setenv("TMLCD_CACHE_MB", "0")
    keep(FeatureCache(tmp_path), "nothing")
    assert not list(tmp_path.rglob("*.features"))
    for bad in ("lots", "-1", "nan"):
        monkeypatch.setenv("TMLCD_CACHE_MB", bad)
        with pytest.raises(ConfigError, match=f"TMLCD_CACHE_MB is '{bad}'"):
            FeatureCache(tmp_path)


EVICTING = """
import sys, warnings
import numpy as np
from tmlcd_core.datasets import FeatureCache
warnings.simplefilter("error")
cache, me = FeatureCache(sys.argv[1], limit_mb=0.03), sys.argv[2]
hits = 0
for number in range(150):
    cache.store("words", f"{me} {number}", ("key",), {"X": np.full(125, number, np.float64)}, {"rows": 1})
    for other in ("one", "two"):
        found = cache.fetch("words", f"{other} {number}", ("key",))
        if found is not None:
            assert (found[0]["X"] == number).all()
            hits += 1
print(hits)
"""


def test_two_processes_that_evict_each_others_entries(tmp_path: Path) -> None:
    command = [sys.executable, "-c", EVICTING, str(tmp_path)]
    both = [subprocess.Popen([*command, name], stdout=subprocess.PIPE) for name in ("one", "two")]
    hits = [int(process.communicate()[0]) for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert min(hits) >= 100, "what a process has just written is there"
    assert FeatureCache(tmp_path).size() <= 0.03e6 + 2_000, "one entry of each may come at the same time"
