"""The `data` command: list data sources, compute features, check a folder, manage the cache, build the pack."""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

from tmlcd_core.cli.command import Report, add_command
from tmlcd_core.errors import ConfigError, DataError
from tmlcd_core.progress import terminal_bar

CLIPS = 1600  # per word: 100 for training and 1,500 for the stream (paper, Sec. 7.3)
SHOWN = 20  # skipped files listed in the text; --json lists them all


def register(commands: Any) -> None:
    """Add the command `data`."""
    parser = commands.add_parser("data", help="data sources, features and the cache", description=__doc__)
    actions = parser.add_subparsers(metavar="ACTION", required=True)

    add_command(actions, "list", "list the data sources, and what is missing for those not installed", _list)

    make = add_command(actions, "make", "compute and cache the features of a source or a folder", _make)
    make.add_argument("source", help="name from `data list`, or a folder")
    make.add_argument("--words", nargs="+", metavar="WORD", help="class names (default: all)")
    make.add_argument("--clips", type=int, default=CLIPS, help="clips or images per class (%(default)s)")
    make.add_argument("--download", action="store_true", help="download the source if it is missing")

    check = add_command(actions, "check", "decode every file of a folder and report unusable files", _check)
    check.add_argument("folder", type=Path, help="folder with one subfolder per class")

    cache = add_command(actions, "cache", "show the cached features, or remove them", _cache)
    cache.add_argument(
        "--clear",
        nargs="?",
        const="",
        metavar="SOURCE",
        help="remove the features of one source, or all",
    )

    pack = add_command(actions, "pack", "write the small prepared dataset (pack) for the app's first page", _pack)
    pack.add_argument("--out", type=Path, default=Path("data"), help="folder to write to (%(default)s)")
    pack.add_argument("--words", nargs="+", metavar="WORD", help="words of the stream; the last one is the new word")


def _list(options: argparse.Namespace) -> Report:
    from tmlcd_core.datasets import SOURCES

    rows = [
        {"name": name, "kind": info.kind, "about": info.about, "missing": info.missing()}
        for name, info in SOURCES.items()
    ]
    wide = max(map(len, SOURCES))
    lines = [
        f"{row['name']:<{wide}} {row['about']}" + (f"\n{'':<{wide}}   {row['missing']}" if row["missing"] else "")
        for row in rows
    ]
    lines.append(f"{'FOLDER':<{wide}} your own clips or images, one subfolder per class")
    return Report({"sources": rows}, "\n".join(lines))


def _make(options: argparse.Namespace) -> Report:
    from tmlcd_core.datasets import FeatureCache, PartialSource, load, open_source
    from tmlcd_core.features import Extractor

    if options.clips < 1:
        raise ConfigError(f"--clips is {options.clips}; ask for at least 1")
    started = time.monotonic()
    source = open_source(options.source, options.words, download=options.download, progress=terminal_bar())
    words = tuple(options.words or source.classes)
    cache = FeatureCache()
    extractor = None if source.kind == "vector" else Extractor()
    data = load(source, words, options.clips, extractor, progress=terminal_bar(), cache=cache)
    rows = {word: int((data.y == word).sum()) for word in words}
    skipped = source.skipped if isinstance(source, PartialSource) else {}
    found = {
        "source": source.name,
        "rows": rows,
        "features": data.X.shape[1],
        "skipped": skipped,
        "seconds": time.monotonic() - started,
        "cache": cache.folder,
        "cache_bytes": cache.size(),
    }
    counts = ", ".join(f"{n} {word}" for word, n in rows.items())
    text = (
        f"{source.name}: {counts}; {data.X.shape[1]} features each, {found['seconds']:.1f} s\n"
        f"cache {cache.folder}: {_megabytes(cache.size())}"
    )
    return Report(found, text + _skipped(skipped))


def _check(options: argparse.Namespace) -> Report:
    from tmlcd_core.datasets import FolderSource

    source = FolderSource(options.folder, progress=terminal_bar())
    readable = source.check(terminal_bar())
    lines = [f"{source.path}: {sum(readable.values())} usable {source.kind} files in {len(readable)} classes"]
    lines += [f"  {label:<20} {n:>7}" for label, n in readable.items()]
    found = {"folder": source.path, "kind": source.kind, "classes": readable, "skipped": source.skipped}
    return Report(found, "\n".join(lines) + _skipped(source.skipped))


def _cache(options: argparse.Namespace) -> Report:
    from tmlcd_core.datasets import FeatureCache, cache_folder

    cache = FeatureCache()
    sources: dict[str, dict[str, int]] = {}
    for entry in cache.entries():
        one = sources.setdefault(entry.source, {"files": 0, "rows": 0, "bytes": 0})
        for name, more in (("files", 1), ("rows", entry.rows), ("bytes", entry.bytes)):
            one[name] += more
    if options.clear is not None:
        if options.clear and options.clear not in sources:
            raise DataError(f"the cache has no features of {options.clear!r}; it has {', '.join(sources) or 'none'}")
        freed = cache.clear(options.clear or None)
        return Report(
            {"folder": cache.folder, "freed_bytes": freed, "bytes": cache.size()},
            f"{cache.folder}: {_megabytes(freed)} freed, {_megabytes(cache.size())} left",
        )
    downloads = cache_folder() / "downloads"
    files = (os.path.join(at, name) for at, _, names in os.walk(downloads) for name in names)
    fetched = sum(os.path.getsize(path) for path in files if os.path.isfile(path))
    lines = [f"{cache.folder}: {_megabytes(cache.size())} of at most {cache.limit / 1e6:,.0f} MB (TMLCD_CACHE_MB)"]
    lines += [f"  {name:<20} {one['rows']:>8} rows {_megabytes(one['bytes']):>10}" for name, one in sources.items()]
    lines.append(f"{downloads}: {_megabytes(fetched)} (--clear keeps the downloads; delete the folder to remove them)")
    return Report(
        {
            "folder": cache.folder,
            "bytes": cache.size(),
            "limit_bytes": cache.limit,
            "sources": sources,
            "downloads_bytes": fetched,
        },
        "\n".join(lines),
    )


def _pack(options: argparse.Namespace) -> Report:
    from tmlcd_core.datasets import open_source
    from tmlcd_core.datasets.pack import WORDS, make_pack
    from tmlcd_core.features import Extractor
    from tmlcd_core.viz import showcase

    words = tuple(options.words or WORDS)
    try:
        options.out.mkdir(parents=True, exist_ok=True)  # fail before the long computation
        size = make_pack(options.out, open_source("speech", words), Extractor(), words, progress=terminal_bar())
        size += showcase.write(options.out)
    except OSError as error:
        raise DataError(f"{options.out} cannot be written ({error.strerror}); choose another --out") from error
    return Report({"folder": options.out, "bytes": size}, f"{options.out}: {_megabytes(size)}")


def _skipped(skipped: dict[str, str]) -> str:
    if not skipped:
        return ""
    lines = [f"\n{len(skipped)} files skipped:"]
    lines += [f"  {name}: {reason}" for name, reason in list(skipped.items())[:SHOWN]]
    if len(skipped) > SHOWN:
        lines.append(f"  and {len(skipped) - SHOWN} more (--json lists them all)")
    return "\n".join(lines)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"
