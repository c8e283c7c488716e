"""Image datasets, synthetic streams, the registry and the pack, compared with known properties."""

from __future__ import annotations

import gzip
import hashlib
import io
import pickle
import struct
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tmlcd_core.datasets import (
    SOURCES,
    DigitsSource,
    DownloadedSource,
    FeatureCache,
    FolderSource,
    ImagenetteSource,
    Source,
    load,
    load_pack,
    make_pack,
    open_source,
)
from tmlcd_core.datasets.arrayfile import read_arrays
from tmlcd_core.datasets.images import CIFAR10, FASHION_MNIST, IMAGENETTE, Download
from tmlcd_core.datasets.pack import FILE, PLACE
from tmlcd_core.errors import ConfigError, DataError
from tmlcd_core.features import EFFECTS, Extractor
from tmlcd_core.streams import gaussian_stream, hyperplane_stream, sea_stream

pytest.importorskip("sklearn")
REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMLCD_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


# Digits


def test_digits_are_scikit_learns() -> None:
    from sklearn.datasets import load_digits

    data = load(DigitsSource(), [str(d) for d in range(10)], 10_000, None)
    X, y = load_digits(return_X_y=True)
    assert data.X.shape == (1797, 64) and data.X.dtype == np.float32
    for digit in range(10):
        # In the order of the file, and proportional to the original without rounding.
        np.testing.assert_allclose(data.X[data.y == str(digit)] * 17, X[y == digit], rtol=1e-6)


def test_digits_through_the_extractor() -> None:
    source = DigitsSource()
    data = load(source, ["3", "8"], 4, Extractor())
    assert data.X.shape == (8, 56 * 56)
    np.testing.assert_array_equal(data.X[4:], Extractor().transform_images(source.media("8", range(4))))
    with pytest.raises(DataError, match="no class 'ten'"):
        source.count("ten")


def test_clips_need_an_extractor_and_vectors_none() -> None:
    clips, vectors = DigitsSource(), DigitsSource()
    clips.kind, vectors.kind = "audio", "vector"
    with pytest.raises(ConfigError, match="need an extractor"):
        load(clips, ["3"], 4, None)
    with pytest.raises(ConfigError, match="need no extractor"):
        load(vectors, ["3"], 4, Extractor())


# Downloads: torchvision itself fetches small copies in the same formats, from a server on this machine.


def md5(data: bytes) -> str:
    return hashlib.md5(data).hexdigest()


@pytest.fixture
def torchvision_datasets() -> object:
    pytest.importorskip("torch")
    from tmlcd_core.features.torchvision_ops import import_torchvision

    return import_torchvision().datasets


@pytest.fixture
def small_cifar(tmp_path: Path, server: str, torchvision_datasets: object, monkeypatch: pytest.MonkeyPatch) -> NDArray:
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (50, 3, 32, 32), dtype=np.uint8)
    names = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
    files = {"batches.meta": pickle.dumps({"label_names": names})}
    for b in range(5):
        part = images[10 * b : 10 * b + 10].reshape(10, -1)
        files[f"data_batch_{b + 1}"] = pickle.dumps({"data": part, "labels": list(range(10))})
    files["test_batch"] = files["data_batch_1"]
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    served = tmp_path / "served" / "cifar-10-python.tar.gz"
    served.write_bytes(buffer.getvalue())
    kind = torchvision_datasets.CIFAR10  # type: ignore[attr-defined]
    monkeypatch.setattr(kind, "url", server + served.name)
    monkeypatch.setattr(kind, "tgz_md5", md5(buffer.getvalue()))
    monkeypatch.setattr(kind, "train_list", [[f"data_batch_{b}", md5(files[f"data_batch_{b}"])] for b in range(1, 6)])
    monkeypatch.setattr(kind, "test_list", [["test_batch", md5(files["test_batch"])]])
    monkeypatch.setattr(kind, "meta", {**kind.meta, "md5": md5(files["batches.meta"])})
    return images


def test_cifar10(small_cifar: NDArray, own_cache: Path) -> None:
    with pytest.raises(DataError, match=r"cifar10 \(163 MB\) is not on this machine.*--download"):
        open_source("cifar10")
    source = open_source("cifar10", download=True)
    assert len(source.classes) == 10 and source.count("cat") == 5
    # Image 3 of each batch of ten is a cat; torchvision stores planes, we want pixels.
    np.testing.assert_array_equal(source.media("cat", [0, 4]), small_cifar[[3, 43]].transpose(0, 2, 3, 1))
    assert load(source, ["cat"], 5, Extractor()).X.shape == (5, 3136)
    assert [p.name for p in CIFAR10.folder().iterdir()] == ["cifar-10-batches-py"]
    assert SOURCES["cifar10"].missing() is None and open_source("cifar10").count("dog") == 5
    (CIFAR10.folder() / "cifar-10-batches-py" / "data_batch_2").write_bytes(b"damaged")
    with pytest.raises(DataError, match="remove that folder"):
        open_source("cifar10").count("dog")


def test_fashion_mnist(
    tmp_path: Path, server: str, torchvision_datasets: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    images = np.random.default_rng(1).integers(0, 256, (20, 28, 28), dtype=np.uint8)
    labels = np.arange(20, dtype=np.uint8) % 10
    idx = {
        "images-idx3-ubyte": struct.pack(">4i", 0x803, 20, 28, 28) + images.tobytes(),
        "labels-idx1-ubyte": struct.pack(">2i", 0x801, 20) + labels.tobytes(),
    }
    resources = []
    for part in ("train", "t10k"):
        for name, content in idx.items():
            path = tmp_path / "served" / f"{part}-{name}.gz"
            path.write_bytes(gzip.compress(content))
            resources.append((path.name, md5(path.read_bytes())))
    kind = torchvision_datasets.FashionMNIST  # type: ignore[attr-defined]
    monkeypatch.setattr(kind, "mirrors", [server])
    monkeypatch.setattr(kind, "resources", resources)
    source = DownloadedSource(FASHION_MNIST, download=True)
    assert "T-shirt or top" in source.classes
    media = source.media("Bag", [0, 1])
    assert media.shape == (2, 28, 28, 3)
    for channel in range(3):
        np.testing.assert_array_equal(media[..., channel], images[[8, 18]])
    for path in FASHION_MNIST.folder().rglob("*ubyte"):
        path.write_bytes(b"garbage")
    with pytest.raises(DataError, match=r"damaged \(AssertionError\); remove that folder"):
        open_source("fashion-mnist").count("Bag")


def test_imagenette(tmp_path: Path, server: str, torchvision_datasets: object, monkeypatch: pytest.MonkeyPatch) -> None:
    from PIL import Image

    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for split in ("train", "val"):
            for grey, wnid in ((50, "n01440764"), (200, "n03888257")):
                Image.new("RGB", (330, 320), (grey,) * 3).save(jpeg := io.BytesIO(), "JPEG")
                info = tarfile.TarInfo(f"imagenette2-320/{split}/{wnid}/{wnid}_1.JPEG")
                info.size = len(jpeg.getvalue())
                archive.addfile(info, io.BytesIO(jpeg.getvalue()))
    served = tmp_path / "served" / "imagenette2-320.tgz"
    served.write_bytes(buffer.getvalue())
    kind = torchvision_datasets.Imagenette  # type: ignore[attr-defined]
    monkeypatch.setattr(kind, "_ARCHIVES", {"320px": (server + served.name, md5(served.read_bytes()))})
    with pytest.raises(DataError, match="imagenette2-320 exists"):
        ImagenetteSource()
    source = ImagenetteSource(download=True)
    assert source.name == "imagenette" and source.classes == ("parachute", "tench")
    assert abs(int(source.media("tench", [0]).mean()) - 50) <= 1
    assert source.count("tench") == 1  # `val` is not mixed in


def test_offline_says_what_is_missing_and_where_it_would_go(
    small_cifar: NDArray, torchvision_datasets: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torchvision_datasets.CIFAR10, "url", "http://127.0.0.1:9/cifar.tgz")  # type: ignore[attr-defined]
    with pytest.raises(DataError, match="cannot be downloaded") as caught:
        open_source("cifar10", download=True)
    assert str(CIFAR10.folder()) in str(caught.value) and "\n" not in str(caught.value)
    assert not CIFAR10.present()


def test_downloads_at_once_and_cut_short(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut_short(which: Download, root: Path, download: bool = False) -> None:
        raise EOFError("the archive ended early")

    def arrive_twice(which: Download, root: Path, download: bool = False) -> None:
        for place in (root, which.folder()):  # by us, and by another process that is a little faster
            (place / which.holds).mkdir(parents=True)
            (place / which.holds / "data").touch()

    monkeypatch.setattr(Download, "open", cut_short)
    with pytest.raises(DataError, match=r"cannot be downloaded.*ended early.*not on this machine"):
        CIFAR10.fetch()
    monkeypatch.setattr(Download, "open", arrive_twice)
    CIFAR10.fetch()
    assert [path.name for path in CIFAR10.folder().iterdir()] == [CIFAR10.holds]


def test_a_wrong_digest_is_refused(
    small_cifar: NDArray, torchvision_datasets: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torchvision_datasets.CIFAR10, "tgz_md5", "0" * 32)  # type: ignore[attr-defined]
    with pytest.raises(DataError, match="cannot be downloaded"):
        open_source("cifar10", download=True)
    assert not CIFAR10.present()


# Effects


def test_effects_go_through_the_cache_and_are_the_same_in_any_batch() -> None:
    source, cut = DigitsSource(), EFFECTS["image noise"]
    plain = load(source, ["3", "8"], 6, None)
    noisy = load(source, ["3", "8"], 6, None, cut, 0.5, seed=4)
    assert len(FeatureCache().entries()) == 4 and not np.array_equal(plain.X, noisy.X)
    longer = load(source, ["8"], 9, None, cut, 0.5, seed=4)
    np.testing.assert_array_equal(longer.X[:6], noisy.X[6:])
    full = load(source, ["8"], 9, None, cut, 1.0, seed=4)
    assert not np.array_equal(load(source, ["8"], 9, None, cut, 1.0, seed=5).X, full.X)


def test_classes_do_not_share_noise() -> None:
    class Grey(DigitsSource):
        key = "grey"

        def media(self, label: str, indices: Sequence[int]) -> NDArray[np.uint8]:
            return np.full((len(indices), 8, 8, 3), 128, np.uint8)

    data = load(Grey(), ["1", "2"], 3, None, EFFECTS["image noise"])
    assert len(np.unique(data.X, axis=0)) == 6


def test_own_effects_are_not_cached() -> None:
    own = replace(EFFECTS["darkness"], change=lambda image, strength, rng: image // 2)
    load(DigitsSource(), ["1"], 3, None, own)
    assert not FeatureCache().entries()


def test_bad_effects() -> None:
    with pytest.raises(ConfigError, match="is for audio"):
        load(DigitsSource(), ["1"], 3, None, EFFECTS["white noise"])
    with pytest.raises(ConfigError, match="strength is nan"):
        load(DigitsSource(), ["1"], 3, None, EFFECTS["darkness"], float("nan"))


# Registry


def test_registry(tmp_path: Path) -> None:
    assert {"speech", "digits", "cifar10", "fashion-mnist", "imagenette"} <= set(SOURCES)
    assert all(info.about and info.kind in ("audio", "image", "vector") for info in SOURCES.values())
    assert open_source("digits").name == "digits"
    (tmp_path / "mine" / "yes").mkdir(parents=True)
    (tmp_path / "mine" / "yes" / "1.wav").touch()
    assert isinstance(open_source(tmp_path / "mine"), FolderSource)
    with pytest.raises(DataError, match="'spech' is neither a folder nor one of speech"):
        open_source("spech")
    assert {IMAGENETTE.name, CIFAR10.name, FASHION_MNIST.name} <= set(SOURCES)


# Streams


def test_gaussian_mean_drift_moves_one_class_only() -> None:
    stream = gaussian_stream(20_000, classes=3, dim=4, drift="mean", at=8_000, strength=0.5, seed=3)
    assert stream.X.dtype == np.float32 and stream.y.dtype.kind == "U" and stream.changes == (8_000,)
    assert stream.classes == ("0", "1", "2")

    def mean(label: str, part: slice) -> NDArray:
        return stream.X[part][stream.y[part] == label].mean(axis=0)

    before, after = slice(0, 8_000), slice(8_000, None)
    gap = mean("1", before) - mean("0", before)
    assert abs(np.linalg.norm(gap) - 3) < 0.1
    np.testing.assert_allclose(mean("0", after), mean("0", before) + gap / 2, atol=0.08)
    for label in "12":
        np.testing.assert_allclose(mean(label, after), mean(label, before), atol=0.08)


def test_gaussian_covariance_drift_keeps_the_mean() -> None:
    stream = gaussian_stream(40_000, drift="covariance", seed=1)
    mine = stream.y == "0"
    before, after = stream.X[:20_000][mine[:20_000]], stream.X[20_000:][mine[20_000:]]
    np.testing.assert_allclose(after.mean(axis=0), before.mean(axis=0), atol=0.12)
    np.testing.assert_allclose(np.linalg.eigvalsh(np.cov(before.T)), [1, 1], atol=0.06)
    np.testing.assert_allclose(np.linalg.eigvalsh(np.cov(after.T)), [1, 16], rtol=0.06)


def test_gradual_drift_grows() -> None:
    sharp, slow = (gaussian_stream(4_000, drift="mean", at=1_000, width=w, seed=5) for w in (0, 2_000))
    np.testing.assert_array_equal(sharp.y, slow.y)
    lag = np.linalg.norm(sharp.X - slow.X, axis=1)[sharp.y == "0"]
    at = np.flatnonzero(sharp.y == "0")
    expected = 3 * np.clip(1 - (at - 999) / 2_000, 0, 1) * (at >= 1_000)
    np.testing.assert_allclose(lag, expected, atol=1e-5)
    assert gaussian_stream(100, drift="none").changes == () == gaussian_stream(100, strength=0).changes


def test_hyperplane_stands_still_and_then_turns() -> None:
    pytest.importorskip("river")
    stream = hyperplane_stream(8_000, dim=6, at=4_000, noise=0.0, seed=2)

    def plane(part: slice) -> NDArray:
        """The separating direction, by least squares."""
        w = np.linalg.lstsq(stream.X[part] - 0.5, 2.0 * (stream.y[part] == "1") - 1, rcond=None)[0]
        return w / np.linalg.norm(w)

    first, second, last = (plane(slice(a, a + 2_000)) for a in (0, 2_000, 6_000))
    assert first @ second > 0.99 > 0.95 > first @ last
    assert stream.changes == (4_000,) and stream.X.shape == (8_000, 6)


def test_sea_follows_its_thresholds() -> None:
    pytest.importorskip("river")
    stream = sea_stream(2_000, noise=0.0, seed=4)
    assert stream.changes == (500, 1_000, 1_500)
    for concept, threshold in enumerate((8, 9, 7, 9.5)):
        part = slice(500 * concept, 500 * concept + 500)
        np.testing.assert_array_equal(stream.X[part, :2].sum(axis=1) > threshold, stream.y[part] == "1")
    noisy = sea_stream(4_000, noise=0.1, seed=4)
    wrong = (noisy.X[:1_000, :2].sum(axis=1) > 8) != (noisy.y[:1_000] == "1")
    assert 0.06 < wrong.mean() < 0.14


@pytest.mark.parametrize("make", [gaussian_stream, hyperplane_stream, sea_stream])
def test_streams_repeat_by_seed(make: object) -> None:
    pytest.importorskip("river")
    a, b, c = (make(300, seed=seed) for seed in (7, 7, 8))  # type: ignore[operator]
    np.testing.assert_array_equal(a.X, b.X)
    np.testing.assert_array_equal(a.y, b.y)
    assert not np.array_equal(a.X, c.X)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: gaussian_stream(0), "n=0"),
        (lambda: gaussian_stream(10, seed=-1), "seed=-1"),
        (lambda: hyperplane_stream(10, seed="x"), "seed='x'"),  # type: ignore[arg-type]
        (lambda: sea_stream(10, seed=None), "seed=None"),  # type: ignore[arg-type]
        (lambda: gaussian_stream(10, at=11), "at=11"),
        (lambda: gaussian_stream(10, strength=float("nan")), "strength=nan"),
        (lambda: gaussian_stream(10, drift="up"), "drift='up'"),
        (lambda: gaussian_stream(10, classes=1), "classes=1"),
        (lambda: gaussian_stream(10, width=-1), "width=-1"),
        (lambda: hyperplane_stream(10, dim=1), "dim=1"),
        (lambda: hyperplane_stream(10, noise=2), "noise=2"),
        (lambda: sea_stream(10, concepts=5), "concepts=5"),
    ],
)
def test_bad_streams(call: object, match: str) -> None:
    with pytest.raises(ConfigError, match=match):
        call()  # type: ignore[operator]


# The pack


class Tones:
    """Clips that need no eSpeak: each word a tone over noise."""

    name, kind, key, sample_rate, classes = "tones", "audio", "1", 22_050, ("a", "b", "c", "d e!")

    def count(self, label: str) -> int:
        return 60

    def media(self, label: str, indices: Sequence[int]) -> NDArray[np.float32]:
        hz = 300 + 400 * self.classes.index(label)
        time = np.arange(22_050) / 22_050
        rngs = [np.random.default_rng((hz, i)) for i in indices]
        return np.array(
            [0.2 * np.sin(2 * np.pi * hz * time) + 0.1 * r.standard_normal(22_050) for r in rngs], np.float32
        )


def test_pack_round_trip(tmp_path: Path) -> None:
    soundfile = pytest.importorskip("soundfile")
    source: Source = Tones()
    size = make_pack(tmp_path / "data", source, Extractor(), source.classes, train=10, per_class=40)
    assert size == sum(p.stat().st_size for p in (tmp_path / "data").rglob("*") if p.is_file())
    pack = load_pack(tmp_path / "data")
    assert (pack.words, pack.old, pack.new, pack.train, pack.per_class) == (
        ("a", "b", "c"),
        "c",
        "d e!",
        10,
        40,
    )
    rows = {"a": 50, "b": 50, "c": 30, "d e!": 20}
    for word, n in rows.items():
        exact = load(source, [word], n, Extractor())
        mine = pack.data.y == word
        step = np.ptp(pack.data.X, axis=0) / 255
        assert (np.abs(pack.data.X[mine] - exact.X) <= 0.51 * step + 1e-6).all()
        np.testing.assert_array_equal(pack.data.index[mine], exact.index)
        assert len(pack.clips[word]) == 2
        heard, rate = soundfile.read(pack.clips[word][1], dtype="float32")
        assert rate == 22_050
        np.testing.assert_allclose(heard, source.media(word, [1])[0], atol=1 / 32_768)
    (tmp_path / "data" / "clips" / "somebody's.flac").touch()
    make_pack(tmp_path / "data", source, Extractor(), ("a", "b", "c"), train=10, per_class=40)
    assert set(load_pack(tmp_path / "data").clips) == {"a", "b", "c"}
    heard = {path.name for path in (tmp_path / "data" / "clips").iterdir()}
    assert heard == {"somebody's.flac", *(f"{word}-{number}.flac" for word in "abc" for number in range(2))}


def test_reading_the_pack_needs_numpy_only(tmp_path: Path) -> None:
    make_pack(tmp_path, Tones(), Extractor(), ("a", "b", "c"), train=5, per_class=10)
    code = (
        "import sys; from tmlcd_core.datasets import load_pack\n"
        f"print(len(load_pack({str(tmp_path)!r}).data.X))\n"
        "print(sorted({m.partition('.')[0] for m in sys.modules} & "
        "{'torch', 'sklearn', 'soundfile', 'librosa', 'PIL', 'soxr', 'espeakng_loader', 'river', 'numba'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["30", "[]"]


def test_the_pack_of_the_project_is_todays() -> None:
    """`data/` equals the output of the recipe; if not, create it again."""
    pytest.importorskip("espeakng_loader")
    _, meta = read_arrays(PLACE / FILE)
    pack, words = load_pack(), tuple(meta["rows"])
    source, extractor = open_source("speech", words), Extractor()
    assert (meta["source"], meta["extractor"]) == (source.key, extractor.key)
    assert (len(pack.words), pack.train, pack.per_class, len(pack.data.X)) == (3, 100, 1500, 4800)
    step = np.ptp(pack.data.X, axis=0) / 255
    for word in words:
        exact = extractor.transform(source.media(word, range(20)))
        assert (np.abs(pack.data.X[pack.data.y == word][:20] - exact) <= 0.51 * step + 1e-3).all()
        assert len(pack.clips[word]) == 2


def test_pack_failures(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="data pack --out"):
        load_pack(tmp_path)
    with pytest.raises(ConfigError, match="at least two initial words"):
        make_pack(tmp_path, Tones(), Extractor(), ("a", "b"))
    with pytest.raises(DataError, match="the pack needs 1600"):
        make_pack(tmp_path, Tones(), Extractor(), ("a", "b", "c"))
    make_pack(tmp_path, Tones(), Extractor(), ("a", "b", "c"), train=5, per_class=10)
    raw = bytearray((tmp_path / FILE).read_bytes())
    raw[len(raw) // 2] ^= 4
    (tmp_path / FILE).write_bytes(raw)
    with pytest.raises(DataError, match="damaged"):
        load_pack(tmp_path)


def test_cached_features_are_listed_by_source(own_cache: Path) -> None:
    load(DigitsSource(), ["1", "2"], 10, None)
    assert [(e.source, e.label, e.rows) for e in FeatureCache().entries()] == [
        ("digits", "1", 10),
        ("digits", "2", 10),
    ]
