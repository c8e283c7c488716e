"""The extractor against the plain pipeline of librosa, matplotlib and torch, one clip at a time."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from dataclasses import FrozenInstanceError, fields, replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tmlcd_core.errors import AudioError, ConfigError, DataError
from tmlcd_core.features import Extractor, fit_image, load_stem, rebuild_stem, select_filters, torch_stem
from tmlcd_core.features.stem import IMAGENET_MEAN, IMAGENET_STD

RATE = 22_050
SMALL = Extractor(sample_rate=4_410, n_fft=128, hop=128)  # the paper's STM32F401
PAIRS = [
    Extractor(),
    SMALL,
    Extractor(filters=(45, 51, 2), n_fft=400, hop=160),
    Extractor(n_fft=511, hop=300),
]
CONV1_SHA256 = "3b3965901bdef70e4818b71aa892c3f1a58844e659b39e0bff24d57ef3270b20"


def plain(extractor: Extractor, clip: NDArray) -> dict[str, NDArray]:
    """The same pipeline in librosa, matplotlib and torch; only settings and weights are shared with the extractor."""
    import librosa
    import torch
    from matplotlib import colormaps
    from torch.nn import functional as F

    spectrum = librosa.stft(clip, n_fft=extractor.n_fft, hop_length=extractor.hop)
    db = librosa.amplitude_to_db(np.abs(spectrum), ref=np.max, top_db=80)
    span = db.max() - db.min()
    plane = (db - db.min()) / span if span else np.zeros_like(db)
    coloured = colormaps["viridis"](plane)[..., :3].astype(np.float32)
    stem, index = load_stem(), list(extractor.filters)
    image = torch.from_numpy(coloured.transpose(2, 0, 1)[None].copy())
    response = F.conv2d(image, torch.tensor(stem.conv1[index]), stride=2, padding=3)
    norm = [torch.tensor(getattr(stem, name)[index]) for name in ("running_mean", "running_var", "weight", "bias")]
    maps = F.max_pool2d(F.relu(F.batch_norm(response, *norm, eps=1e-5)), 3, 2, 1)[0].numpy()
    return {"decibels": db, "plane": plane, "coloured": coloured, "maps": maps}


def tone(frequency: float, rate: int) -> NDArray:
    return 0.3 * np.sin(2 * np.pi * frequency * np.arange(rate) / rate)


def speech_like(rng: np.random.Generator, rate: int) -> NDArray:
    """A gliding harmonic voice with syllables and pauses."""
    time = np.arange(rate) / rate
    phase = 2 * np.pi * np.cumsum(rng.uniform(90, 220) * (1 + 0.2 * np.sin(2 * np.pi * 2 * time))) / rate
    voice = sum(np.sin(k * phase) / k for k in range(1, 20))
    return 0.2 * voice * np.clip(np.sin(2 * np.pi * 3 * time), 0, None) ** 2


KINDS: dict[str, Callable[[np.random.Generator, int], NDArray]] = {
    "noise": lambda rng, rate: rng.normal(0, 0.1, rate),
    "16-bit noise": lambda rng, rate: np.round(rng.normal(0, 0.1, rate) * 32768) / 32768,
    "tone": lambda rng, rate: tone(rng.uniform(50, rate / 2), rate),
    "speech": speech_like,
    "speech then silence": lambda rng, rate: speech_like(rng, rate) * (np.arange(rate) < rate // 3),
    "click": lambda rng, rate: np.eye(1, rate, int(rng.integers(rate)))[0],
    "loud": lambda rng, rate: 1e6 * rng.normal(size=rate),
    "below the floor": lambda rng, rate: 1e-9 * rng.normal(size=rate),
    "just above the floor": lambda rng, rate: 1e-6 * rng.normal(size=rate),
    "silence": lambda rng, rate: np.zeros(rate),
    "constant": lambda rng, rate: np.full(rate, 0.5),
}


@pytest.mark.parametrize("extractor", PAIRS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_equals_the_plain_pipeline(kind: str, extractor: Extractor) -> None:
    """Features within 1e-5; a colour that differs must be one whose value stands between two colours."""
    rng = np.random.default_rng(sum(kind.encode()))
    clips = np.stack([KINDS[kind](rng, extractor.sample_rate) for _ in range(6)]).astype(np.float32)
    features = extractor.transform(clips).reshape(6, *extractor.shape)
    for clip, maps in zip(clips, features, strict=True):
        expected, stages = plain(extractor, clip), extractor.stages(clip)
        # Two units in the last place of 10 log10 of the power, which reaches 190 in the loud clips; numpy's logarithm
        # differs from processor to processor, ours does not.
        error = 2 * np.spacing(np.float32(190))
        np.testing.assert_allclose(stages.decibels, expected["decibels"], atol=error)
        span = np.ptp(expected["decibels"]) or 1
        np.testing.assert_allclose(stages.plane, expected["plane"], atol=2 * error / span + 1e-6)
        np.testing.assert_array_equal(stages.maps, maps)
        flipped = (stages.coloured != expected["coloured"]).any(axis=-1)
        boundary = np.abs(expected["plane"] * 256 - np.round(expected["plane"] * 256)) < 1e-3
        assert not (flipped & ~boundary).any()
        assert flipped.sum() <= 3 + flipped.size * error * 256 / span
        if not flipped.any():
            np.testing.assert_allclose(maps, expected["maps"], atol=1e-5)


def test_few_colours_differ_in_two_million() -> None:
    """What the 1e-5 rests on: the colours of librosa and matplotlib, pixel for pixel, on ordinary sound."""
    rng = np.random.default_rng(1)
    makers = [KINDS["noise"], KINDS["16-bit noise"], KINDS["tone"], KINDS["speech"]]
    clips = np.stack([makers[i % 4](rng, RATE) for i in range(200)]).astype(np.float32)
    flips = sum(int((Extractor().stages(c).coloured != plain(Extractor(), c)["coloured"]).any(-1).sum()) for c in clips)
    assert flips <= 25  # of 2.26 million; measured: 9, from the last bit of numpy's logarithm


def test_shapes_of_the_paper() -> None:
    assert (Extractor().shape, Extractor().n_features) == ((1, 65, 11), 715)
    assert (SMALL.shape, SMALL.n_features) == ((1, 17, 9), 153)
    assert Extractor(filters=(1, 2)).image_shape == (2, 56, 56)
    clip = np.random.default_rng(0).normal(size=RATE).astype(np.float32)
    stages = Extractor().stages(clip)
    assert (stages.decibels.shape, stages.coloured.shape) == ((257, 44), (257, 44, 3))  # paper, Table 2
    assert SMALL.stages(clip[:4410]).decibels.shape == (65, 35)


@pytest.mark.parametrize("batch_size", [1, 3, 7, 64])
def test_batching_changes_nothing(batch_size: int) -> None:
    clips = np.random.default_rng(2).normal(0, 0.1, (10, RATE)).astype(np.float32)
    one_by_one = np.concatenate([Extractor().transform(clip) for clip in clips])
    np.testing.assert_array_equal(Extractor().transform(clips, batch_size=batch_size), one_by_one)


def test_other_dtypes_layouts_and_read_only() -> None:
    clips = np.random.default_rng(3).normal(0, 0.1, (4, RATE)).astype(np.float32)
    expected = Extractor().transform(clips)
    locked = clips.copy()
    locked.setflags(write=False)
    for same in (locked, clips.astype(np.float64), np.asfortranarray(clips), clips.tolist()):
        np.testing.assert_array_equal(Extractor().transform(same), expected)
    assert Extractor().transform(clips[:0]).shape == (0, 715)


def test_short_clips_repeat_and_long_ones_are_cut() -> None:
    clip = np.random.default_rng(4).normal(0, 0.1, 9_000).astype(np.float32)
    repeated = np.concatenate([clip, clip, clip])
    np.testing.assert_array_equal(Extractor().transform(clip), Extractor().transform(repeated[:RATE]))
    np.testing.assert_array_equal(Extractor().transform(repeated), Extractor().transform(repeated[:RATE]))


def test_memory_is_bounded() -> None:
    """Whatever the number of clips, even where each is repeated: the features, and one batch's arrays."""
    clips = np.random.default_rng(13).normal(0, 0.1, (3_000, 1_500)).astype(np.float32)
    SMALL.transform(clips[:16])
    tracemalloc.start()
    features = SMALL.transform(clips)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak - features.nbytes < 2e6  # all of them repeated to a second: 53 MB


def test_workspace_follows_changing_settings_and_threads() -> None:
    """The buffers kept between calls belong to one thread and one shape."""
    from concurrent.futures import ThreadPoolExecutor

    rng = np.random.default_rng(5)
    jobs = [
        (e, rng.normal(0, 0.1, (5, e.sample_rate)).astype(np.float32)) for e in (Extractor(), SMALL) for _ in range(8)
    ]
    expected = [e.transform(clips) for e, clips in jobs]
    with ThreadPoolExecutor(4) as pool:
        for got, want in zip(pool.map(lambda job: job[0].transform(job[1]), jobs), expected, strict=True):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    "extractor",
    [Extractor(), SMALL, Extractor(filters=tuple(range(64))), Extractor((51, 3), norm="clip")],
    ids=["1", "small", "64", "clip"],
)
def test_the_torch_engine_gives_the_same(extractor: Extractor) -> None:
    rng = np.random.default_rng(6)
    clips = rng.normal(0, 0.1, (3, extractor.sample_rate)).astype(np.float32)
    images = rng.integers(0, 256, (2, 224, 224, 3), dtype=np.uint8)
    by_torch = replace(extractor, engine="torch")
    assert by_torch.key == extractor.key
    np.testing.assert_allclose(by_torch.transform(clips), extractor.transform(clips), atol=1e-5)
    np.testing.assert_allclose(by_torch.transform_images(images), extractor.transform_images(images), atol=1e-5)


def in_training_mode(filters: tuple[int, ...], image: NDArray) -> NDArray:
    """Maps of one coloured image (3, rows, columns) by torch's own layers, which were never put into eval mode."""
    import torch
    from torch import nn

    stem, index = load_stem(), list(filters)
    norm = nn.BatchNorm2d(len(index), eps=1e-5).train()
    with torch.no_grad():
        norm.weight.copy_(torch.tensor(stem.weight[index]))
        norm.bias.copy_(torch.tensor(stem.bias[index]))
        response = nn.functional.conv2d(torch.from_numpy(image[None]), torch.tensor(stem.conv1[index]), None, 2, 3)
        return nn.functional.max_pool2d(torch.relu(norm(response)), 3, 2, 1)[0].numpy()


@pytest.mark.parametrize("filters", [(51,), tuple(range(64))])
def test_norm_clip_is_torch_s_batch_norm_in_training_mode_with_batches_of_one(filters) -> None:
    extractor = Extractor(filters, norm="clip")
    rng = np.random.default_rng(3)
    clips = np.stack([speech_like(rng, RATE), tone(500, RATE), rng.normal(0, 0.1, RATE), np.zeros(RATE)])
    found = extractor.transform(clips.astype(np.float32)).reshape(4, *extractor.shape)
    for clip, maps in zip(clips, found, strict=True):
        stages = extractor.stages(clip)
        np.testing.assert_array_equal(stages.maps, maps)  # a clip does not depend on its batch
        expected = in_training_mode(filters, np.ascontiguousarray(stages.coloured.transpose(2, 0, 1)))
        np.testing.assert_allclose(maps, expected, atol=1e-5)
    image = rng.integers(0, 256, (230, 250, 3)).astype(np.uint8)
    steps = extractor.image_stages(image)
    expected = in_training_mode(filters, np.ascontiguousarray(steps.normalised.transpose(2, 0, 1)))
    np.testing.assert_allclose(steps.maps, expected, atol=2e-5)


def test_norm_changes_the_key_and_the_default_keeps_it() -> None:
    assert Extractor(norm="clip").key != Extractor().key == Extractor(norm="imagenet").key
    with pytest.raises(ConfigError, match="norm='batch': choose 'imagenet' or 'clip'"):
        Extractor(norm="batch")


def test_torch_threads_are_left_alone() -> None:
    import torch

    before = torch.get_num_threads()
    Extractor(engine="torch").transform(np.random.default_rng(7).normal(size=(2, RATE)))
    assert torch.get_num_threads() == before


def test_images_as_torchvision_prepares_them() -> None:
    import torch
    from PIL import Image

    from tmlcd_core.features.torchvision_ops import import_torchvision

    transforms = import_torchvision().transforms
    prepare = transforms.Compose(
        [
            transforms.Resize(224),
            transforms.CenterCrop(224),
            transforms.ToTensor(),
            transforms.Normalize(IMAGENET_MEAN, IMAGENET_STD),
        ]
    )
    rng = np.random.default_rng(8)
    sizes = [(224, 224), (224, 300), (500, 375), (64, 32), (33, 47), (1, 1), (1000, 225), (28, 28)]
    images = [rng.integers(0, 256, (*size, 3), dtype=np.uint8) for size in sizes]
    batch = torch.stack([prepare(Image.fromarray(image)) for image in images])
    with torch.inference_mode():
        expected = torch_stem((51, 3))(batch).numpy()
    extractor = Extractor(filters=(51, 3))
    features = extractor.transform_images(images, batch_size=3)
    np.testing.assert_allclose(features.reshape(expected.shape), expected, atol=1e-5)
    stages = extractor.image_stages(images[2])
    np.testing.assert_allclose(stages.normalised, batch[2].numpy().transpose(1, 2, 0), atol=1e-6)
    np.testing.assert_allclose(stages.maps, expected[2], atol=1e-5)


def test_grey_images() -> None:
    grey = np.random.default_rng(9).integers(0, 256, (30, 40), dtype=np.uint8)
    np.testing.assert_array_equal(fit_image(grey), fit_image(np.dstack([grey] * 3)))


def test_select_filters_ranks_mean_activation() -> None:
    rng = np.random.default_rng(10)
    images = [rng.integers(0, 256, (60, 80, 3), dtype=np.uint8) for _ in range(20)]
    every = Extractor(filters=tuple(range(64)))
    activity = every.transform_images(images).reshape(20, 64, -1).mean(axis=(0, 2))
    chosen = select_filters(images, 5)
    assert set(chosen) == set(np.argsort(activity)[-5:])
    assert list(activity[list(chosen)]) == sorted(activity, reverse=True)[:5]
    clips = rng.normal(0, 0.1, (4, RATE)).astype(np.float32)
    activity = every.transform(clips).reshape(4, 64, -1).mean(axis=(0, 2))
    assert select_filters(clips, 1) == (int(activity.argmax()),)
    assert select_filters(clips[0], 3) == select_filters(clips[:1], 3)


def test_one_image_is_a_set_of_one() -> None:
    image = np.random.default_rng(11).integers(0, 256, (60, 80, 3), dtype=np.uint8)
    np.testing.assert_array_equal(Extractor().transform_images(image), Extractor().transform_images([image]))
    assert select_filters(image, 3) == select_filters([image], 3)


def test_the_shipped_stem() -> None:
    stem = load_stem()
    assert hashlib.sha256(stem.conv1.astype("<f4").tobytes()).hexdigest() == CONV1_SHA256
    dead = {2, 4, 7, 9, 13, 36, 38, 48}  # filters whose normalisation weight training drove to nothing
    assert set(np.flatnonzero(np.abs(stem.weight) < 1e-3)) == dead
    from matplotlib import colormaps

    np.testing.assert_array_equal(stem.viridis, colormaps["viridis"](np.arange(256))[:, :3].astype(np.float32))
    with pytest.raises(ValueError, match="read-only"):
        stem.conv1[0] = 0


def test_config_is_a_value() -> None:
    assert Extractor() == Extractor(filters=(51,))
    assert len({Extractor(), Extractor(filters=[51]), SMALL}) == 2  # type: ignore[arg-type]
    keys = {e.key for e in [*PAIRS, Extractor(filters=(51, 45)), Extractor(filters=(45, 51)), Extractor(hop=256)]}
    assert len(keys) == 7
    with pytest.raises(FrozenInstanceError):
        Extractor().hop = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"filters": ()}, "filters"),
        ({"filters": (64,)}, "64"),
        ({"filters": (-1,)}, "-1"),
        ({"filters": (3, 3)}, "3, 3"),
        ({"sample_rate": 0}, "sample_rate=0"),
        ({"sample_rate": 2**31 - 1}, "2147483647"),
        ({"n_fft": 0}, "n_fft=0"),
        ({"n_fft": 30_000}, "n_fft=30000"),
        ({"hop": 0}, "hop=0"),
        ({"hop": 63}, "hop=63"),
        ({"engine": "jax"}, "jax"),
    ],
)
def test_bad_settings_are_named(settings: dict, named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        Extractor(**settings)


def test_bad_media_are_named() -> None:
    clips = np.random.default_rng(11).normal(0, 0.1, (9, RATE)).astype(np.float32)
    for bad in (np.nan, np.inf, 3e38):
        clips[6, 100] = bad
        with pytest.raises(AudioError, match="clip 6"):
            Extractor().transform(clips)
    for shape in [(2, 0), (1, 2, 3)]:
        with pytest.raises(AudioError, match="shape"):
            Extractor().transform(np.zeros(shape))
    with pytest.raises(AudioError, match="one clip"):
        Extractor().stages(np.zeros((2, RATE)))
    for image in (np.zeros((4, 4, 4), np.uint8), np.zeros((4, 4, 3)), np.zeros((0, 4, 3), np.uint8)):
        with pytest.raises(DataError, match="image of"):
            Extractor().transform_images([image])
    with pytest.raises(DataError, match="10000x2"):
        fit_image(np.zeros((2, 10_000, 3), np.uint8))
    with pytest.raises(ConfigError, match="batch_size=0"):
        Extractor().transform(clips[:1], batch_size=0)
    for f in (65, 1.5):
        with pytest.raises(ConfigError, match=f"f={f}"):
            select_filters(clips, f)
    with pytest.raises(DataError, match="empty"):
        select_filters([], 1)


def test_progress_is_told() -> None:
    seen: list[tuple[int, int, str]] = []
    clips = np.random.default_rng(12).normal(size=(5, RATE))
    Extractor().transform(clips, batch_size=2, progress=lambda *told: seen.append(told))
    assert seen == [(2, 5, "clips"), (4, 5, "clips"), (5, 5, "clips")]


def run_python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_features_need_no_torch() -> None:
    heavy = "{'torch', 'torchvision', 'librosa', 'sklearn', 'soundfile', 'soxr', 'PIL', 'matplotlib'}"
    assert run_python(f"import sys, tmlcd_core.features; print({heavy} & set(sys.modules))") == "set()"
    code = "import sys; from tmlcd_core.features import Extractor; Extractor().transform([0.1] * 99);"
    assert run_python(code + "print('torch' in sys.modules)") == "False"


def test_torchvision_imports_beside_any_torch() -> None:
    """A fresh process each: an operator can be declared only once."""
    code = "from tmlcd_core.features.torchvision_ops import import_torchvision as load;"
    assert (
        run_python(
            code + "load(); load(); from torchvision.models import resnet18; print(len(resnet18().conv1.weight))"
        )
        == "64"
    )


def test_torchvision_operators_that_load_are_left_alone() -> None:
    code = """
import sys, types
sys.modules["torchvision"] = fake = types.ModuleType("torchvision")
from tmlcd_core.features import torchvision_ops
assert torchvision_ops.import_torchvision() is fake
print(torchvision_ops._declared, "torch" in sys.modules)
"""
    assert run_python(code) == "[] False"


def test_rebuilding_the_stem(
    server: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """torchvision's own code fetches a whole ResNet-18 from a server on this machine and checks its digest."""
    import torch

    from tmlcd_core.features.torchvision_ops import import_torchvision

    models, stem = import_torchvision().models, load_stem()
    network = models.resnet18(weights=None).state_dict()
    network |= {f"bn1.{name}": torch.tensor(getattr(stem, name)) for name in rebuild_stem.NORM}
    network["conv1.weight"] = torch.tensor(stem.conv1)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))

    def serve(digest: str | None = None) -> None:
        torch.save(network, path := tmp_path / "served" / "network.pth")
        digest = digest or hashlib.sha256(path.read_bytes()).hexdigest()[:8]
        path = path.rename(path.with_name(f"resnet18-{digest}.pth"))
        monkeypatch.setattr(models.ResNet18_Weights.IMAGENET1K_V1.value, "url", server + path.name)

    serve()
    assert rebuild_stem.main(["--write", str(tmp_path / "stem.npz")]) == 0
    assert "identical" in capsys.readouterr().out
    with np.load(tmp_path / "stem.npz") as rebuilt:
        assert {name: rebuilt[name].tobytes() for name in rebuilt.files} == {
            field.name: getattr(load_stem(), field.name).tobytes() for field in fields(load_stem())
        }
    network["bn1.bias"][5] += 1
    serve()
    assert rebuild_stem.main([]) == 1
    assert "bias: 1 of 64" in capsys.readouterr().out
    serve("00000000")
    assert rebuild_stem.main([]) == 2
    message = capsys.readouterr().err.strip()
    assert "resnet18-00000000.pth" in message and "hash" in message and "\n" not in message
    (tmp_path / "hub" / "checkpoints" / "resnet18-00000000.pth").write_bytes(b"put there by hand")
    assert rebuild_stem.main([]) == 2


def test_rebuilding_offline_says_what_is_needed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    import socket

    def unreachable(*_: object, **__: object) -> None:
        raise OSError("network is unreachable")

    monkeypatch.setenv("TORCH_HOME", str(tmp_path))  # an empty cache
    monkeypatch.setattr(socket.socket, "connect", unreachable)
    monkeypatch.setattr(socket, "getaddrinfo", unreachable)
    assert rebuild_stem.main([]) == 2
    message = capsys.readouterr().err.strip()
    assert "resnet18-f37072fd.pth" in message
    assert str(tmp_path) in message
    assert "\n" not in message


def test_the_clip_s_own_statistics_have_no_c_code() -> None:
    from tmlcd_core.mcu.budget import FirmwareConfiguration
    from tmlcd_core.mcu.sound import sound_tables

    with pytest.raises(ConfigError, match="norm='clip' has no C code: export with norm='imagenet'"):
        sound_tables(FirmwareConfiguration(), Extractor(norm="clip"), fused=False)
