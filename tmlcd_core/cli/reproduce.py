"""The `reproduce` command: compute the paper's table, figures and claims into one folder, in two variants."""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tmlcd_core.cli.command import Report, add_command, plain, shortened
from tmlcd_core.cli.run import aligned_columns
from tmlcd_core.errors import ConfigError
from tmlcd_core.progress import terminal_bar

if TYPE_CHECKING:
    from tmlcd_core.experiments import Results
    from tmlcd_core.paper import Judged, PaperConfiguration

PARTS = ("table1", "figures", "claims", "all")
RUNS = 50  # the paper has 20 (Sec. 7.3), which leave more claims open
Configurations = dict[str, list["PaperConfiguration"]]  # by "table", "figure" and "boards"


def register(commands: Any) -> None:
    """Add the command `reproduce`."""
    parser = add_command(commands, "reproduce", "reproduce the paper's table, figures and claims", _reproduce)
    parser.add_argument("part", choices=PARTS, help="part of the paper to reproduce")
    parser.add_argument("--runs", type=int, default=RUNS, help="number of runs (%(default)s; the paper has 20)")
    parser.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="output folder (%(default)s)")
    parser.add_argument(
        "--images",
        type=Path,
        metavar="FOLDER",
        help="images for the experiments on images, in ImageNet's layout: one folder per class, or train/ with these "
        "(default: imagenette or cifar10 if downloaded, otherwise digits)",
    )
    work = parser.add_mutually_exclusive_group()
    work.add_argument("--jobs", type=int, default=-1, help="worker processes (default: one per core)")
    work.add_argument("--dask", metavar="ADDRESS", help="address of a Dask scheduler to run on")


def _reproduce(options: argparse.Namespace) -> Report:
    from tmlcd_core.experiments import VARIANTS, sweep
    from tmlcd_core.experiments.results import write_text
    from tmlcd_core.experiments.variants import CODE, PRINTED
    from tmlcd_core.paper import (
        CODE_HYBRID_THRESHOLDS,
        MAIN_THRESHOLD,
        at_threshold,
        crossed_configurations,
        describe_images,
        image_data,
        with_common_rates,
    )
    from tmlcd_core.paper.digests import stage_digests

    if options.runs < 1:
        raise ConfigError(f"--runs is {options.runs}; give at least 1")
    started, part, out = time.monotonic(), options.part, options.out
    seeds, images = range(options.runs), image_data(options.images)
    printed, code = (_configurations(part, images, variant) for variant in (PRINTED, CODE))
    bar = terminal_bar()
    code = {kind: with_common_rates(ones, seeds, out, options.jobs, bar) for kind, ones in code.items()}
    levels = {
        h: at_threshold([*code["figure"], *code["boards"]], h) for h in CODE_HYBRID_THRESHOLDS if h != MAIN_THRESHOLD
    }
    crossed = {
        kind: with_common_rates(ones, seeds, out, options.jobs, bar) if kind == "training" else ones
        for kind, ones in (crossed_configurations().items() if part in ("table1", "all") else ())
    }
    columns = (printed, code, levels, crossed)
    every = [one for column in columns for ones in column.values() for one in ones]
    results = sweep([one.experiment for one in every], seeds, out, options.jobs, options.dask, bar)
    found: dict[str, Any] = {
        "part": part,
        "runs": options.runs,
        "folder": out,
        "images": describe_images(images),
        "variants": [asdict(one) for one in VARIANTS.values()],
        "configurations": _links(printed, code),
    }
    lines: list[str] = []
    files: list[Path] = []
    if part in ("table1", "all"):
        files += _table(out, results, printed["table"], code["table"], found, lines)
        found["crossed"] = {kind: _accuracies(results, ones) for kind, ones in crossed.items()}
    if part in ("figures", "all"):
        files += _figures(out, results, {"": printed, "_code": code}, found)
    if part in ("claims", "all"):
        files += _claims(out, results, printed, code, levels, found, lines)
    found["digests"] = stage_digests(results)
    lines += [f"{stage:<9} {ones['all']}" for stage, ones in found["digests"].items()]
    found["files"] = files
    found["seconds"] = time.monotonic() - started
    kept = {
        **found,
        "folder": None,
        "files": [path.name for path in files],
    }  # no absolute paths, so that the folder can be copied
    write_text(out / "reproduction.json", json.dumps(shortened(plain(kept)), separators=(",", ":"), allow_nan=False))
    lines.append(f"{out}: {len(files) + 1} files, {found['seconds']:.0f} s")
    return Report(found, "\n".join(lines))


def _configurations(part: str, images: str | None, variant: str) -> Configurations:
    from tmlcd_core import paper

    return {
        "table": paper.in_variant(paper.table_configurations(images) if part != "figures" else [], variant),
        "figure": paper.in_variant(paper.figure_configurations(images) if part != "table1" else [], variant),
        "boards": paper.in_variant(paper.approximation_configurations() if part != "table1" else [], variant),
    }


def _links(printed: Configurations, code: Configurations) -> dict[str, dict[str, str]]:
    """Title of every configuration, and the link of its experiment in both variants."""
    return {
        one.name: {"title": one.title, "printed": one.experiment.link(), "code": other.experiment.link()}
        for kind in printed
        for one, other in zip(printed[kind], code[kind], strict=True)
    }


def _table(
    out: Path,
    results: Results,
    printed: list[PaperConfiguration],
    code: list[PaperConfiguration],
    found: dict[str, Any],
    lines: list[str],
) -> list[Path]:
    from tmlcd_core.paper.tables import TABLE_HEAD, table_1, write_table

    images = found["images"]
    note = images["about"] if images["imagenet"] else f"another dataset than the paper's ImageNet: {images['about']}"
    rows = table_1(results, printed, code, note)
    found["table1"] = [dict(zip(TABLE_HEAD, row, strict=True)) for row in rows]
    lines += [*aligned_columns([[str(c) for c in row[:-1]] for row in (TABLE_HEAD, *rows)]), ""]
    return write_table(out, "table1", TABLE_HEAD, rows)


def _accuracies(results: Results, configurations: list[PaperConfiguration]) -> dict[str, Any]:
    """Accuracy of the one learner of each configuration, by number of classes."""
    found = {}
    for one in configurations:
        (learner,) = one.experiment.learner_names
        found[str(one.experiment.classes)] = results.summary(one.experiment)[learner]["accuracy"]
    return found


def _figures(out: Path, results: Results, columns: dict[str, Configurations], found: dict[str, Any]) -> list[Path]:
    from tmlcd_core.viz.paper import algorithm_panels, approximation_panels, to_json, write_figure

    files: list[Path] = []
    found["curves"], found["figures"] = {}, {}
    for ending, column in columns.items():
        drawn = {
            f"algorithms{ending}": algorithm_panels(results, column["figure"]),
            f"approximation{ending}": approximation_panels(results, column["boards"]),
        }
        for name, panels in drawn.items():
            files += write_figure(out, name, panels)
            found["curves"][name] = to_json(panels)
        found["figures"] |= {f"{one.name}{ending}": _summary(results, one) for one in column["figure"]}
        found["figures"] |= {f"{one.name}{ending}": _summary(results, one) for one in column["boards"]}
    return files


def _claims(
    out: Path,
    results: Results,
    printed: Configurations,
    code: Configurations,
    levels: dict[float, list[PaperConfiguration]],
    found: dict[str, Any],
    lines: list[str],
) -> list[Path]:
    from tmlcd_core.paper import CODE_HYBRID_THRESHOLDS, MAIN_THRESHOLD, Evidence, judge_claims
    from tmlcd_core.paper.tables import claim_head, claim_rows, counted, write_table
    from tmlcd_core.paper.verdicts import INTERVAL, RESAMPLES, SEED, SURE

    as_printed = judge_claims(Evidence(results, [one for ones in printed.values() for one in ones]))
    everything = [one for ones in code.values() for one in ones]
    by_level = {h: judge_claims(Evidence(results, everything, levels.get(h, []))) for h in CODE_HYBRID_THRESHOLDS}
    rows = claim_rows(as_printed, by_level)
    found["bootstrap"] = {"resamples": RESAMPLES, "seed": SEED, "sure": SURE, "interval": INTERVAL}
    found["main_threshold"] = MAIN_THRESHOLD
    found["counts"] = {
        "printed": asdict(as_printed.count),
        "code": {f"{h:g}": asdict(judged.count) for h, judged in by_level.items()},
    }
    found["claims"] = _claims_json(as_printed, by_level, found["configurations"])
    head = claim_head(CODE_HYBRID_THRESHOLDS)
    lines += [f"{row[6]:<18}{row[7]:<18}{row[0]:<20} {row[2]}\n{'':<36}{row[4]}" for row in rows]
    lines.append(f"As printed: {counted(as_printed)}")
    lines += [f"As the authors' code runs, h = {h:g}: {counted(judged)}" for h, judged in by_level.items()]
    return write_table(out, "claims", head, rows)


def _claims_json(
    printed: Judged, by_level: dict[float, Judged], links: dict[str, dict[str, str]]
) -> list[dict[str, Any]]:
    from tmlcd_core.paper import CLAIMS, MAIN_THRESHOLD

    def column(judged: Judged, key: str) -> dict[str, Any]:
        one = judged.findings[key]
        return {"verdict": one.verdict, "true": one.true, "share": one.share, "measured": one.values}

    found = []
    for claim in CLAIMS:
        names = printed.configurations[claim.key]
        found.append(
            {
                "key": claim.key,
                "section": claim.section,
                "statement": claim.statement,
                "rule": claim.rule,
                "configurations": names,
                "printed": {**column(printed, claim.key), "link": links[names[0]]["printed"] if names else None},
                "code": {
                    **column(by_level[MAIN_THRESHOLD], claim.key),
                    "link": links[names[0]]["code"] if names else None,
                    "by_threshold": {f"{h:g}": column(judged, claim.key) for h, judged in by_level.items()},
                },
            }
        )
    return found


def _summary(results: Results, one: PaperConfiguration) -> dict[str, Any]:
    from tmlcd_core.experiments.evaluation import summary_json

    summary = results.summary(one.experiment)
    return {"title": one.title, "learners": {name: summary_json(found) for name, found in summary.items()}}
