"""The page about reformed datasets: questions and distractors, quick checks of the options, items of each task."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.pages.item_view import Album, in_turns, lot, show_item
from eyetest.pages.page import clip, p_value
from eyetest.probes import PROBES, Subject
from eyetest.probes.audit import gravest_first, run_audit
from eyetest.probes.subject import load_thresholds
from eyetest.records import Item, OptionProvenance, tag_word
from eyetest.reform.building import MISSING
from eyetest.reform.catalog import DIMENSIONS
from eyetest.reports.material import Material, unanswered
from eyetest.reports.report import tell
from eyetest.reports.report_page import ReportDetails, Section, write_report_page
from eyetest.results.gather import items_table
from eyetest.wording import counted, percent

_IN_SHEET, _MOST_SHOWN, _MOST_FINDINGS = 6, 90, 80
# Checks of options without a trained learner; ``eyetest audit`` has those with one
_QUICK_PROBES = ("malformed", "option-order", "positions", "looks", "named-answer")


def write_reform_page(benchmarks: Sequence[Benchmark], to: Path, *, seed: int = 0, overwrite: bool = False) -> None:
    """Write the page about one reformed dataset or several."""
    statistics, album = gather_statistics(benchmarks), Album(*benchmarks)
    tasks = statistics.get_column("task").n_unique()
    counts = f"{counted(len(statistics), 'dataset')}, {counted(tasks, 'task')}"
    tables = [items_table(one.manifest.name, one) for one in benchmarks]
    alone = benchmarks[0].manifest.name if len(benchmarks) == 1 else f"{len(statistics)} reformed datasets"
    about = ReportDetails(
        title=alone,
        benchmarks=benchmarks,
        method=[("seed", str(seed)), *(_source(one) for one in benchmarks)],
        album=album,
        verdict=f"{counted(int(statistics.get_column('items').sum()), 'item')} of {counts}.",
        sections=[
            Section("Questions and distractors", statistics),
            Section("Quick checks of the options", pl.DataFrame(list(_findings(benchmarks, seed)))),
            *_contact_sheets(benchmarks, album),
        ],
    )
    report = tell(Material(unanswered(pl.concat(tables, how="diagonal"))))
    write_report_page(report, about, to, overwrite=overwrite)


def _source(benchmark: Benchmark) -> tuple[str, str]:
    manifest = benchmark.manifest
    last = [manifest.lineage[-1].source, manifest.lineage[-1].note] if manifest.lineage else []
    return manifest.name, " · ".join(filter(None, [*last, manifest.licence, manifest.source]))


def gather_statistics(benchmarks: Iterable[Benchmark]) -> pl.DataFrame:
    """A row per dataset, in the order of the dimensions: questions, options, images, authors of the distractors."""
    rows: list[dict[str, Any]] = []
    sizes: dict[str, dict[str, tuple[int, int]]] = {}
    authors: dict[str, Counter[str]] = {}
    for benchmark in benchmarks:
        for item in benchmark:
            row = _row(item, benchmark)
            rows.append(row)
            there = {image.sha256: (image.width, image.height) for image in item.images}
            sizes.setdefault(row["dataset"], {}).update(there)
            authors.setdefault(row["dataset"], Counter()).update(
                choice.provenance.author if isinstance(choice.provenance, OptionProvenance) else "the dataset itself"
                for choice in item.choices
                if not choice.correct
            )
    chosen = pl.col("options") > 0
    table = pl.DataFrame(rows, infer_schema_length=None).group_by("dataset", "dimension", "task").agg(
        pl.len().cast(pl.Int64).alias("items"),
        pl.col("options").filter(chosen).unique().sort().cast(pl.String).str.join(" ").alias("options"),
        pl.col("question").mean().round(1).alias("words a question"),
        (pl.col("words").sum() / pl.col("texts").sum()).round(1).alias("words an option or answer"),
        pl.col("longest").mean().alias("gold is longest"),
        pl.col("expected").mean().alias("longest by chance"),
        pl.col("missing").sum().cast(pl.Int64).alias("images missing"),
    )  # fmt: skip
    ordered = sorted(table.to_dicts(), key=lambda row: (_rank(row["dimension"]), row["task"], row["dataset"]))
    for row in ordered:
        there, made = sizes[row["dataset"]], authors[row["dataset"]]
        width, height = (sum(side) / len(there) for side in zip(*there.values(), strict=True)) if there else (0, 0)
        row |= {"images": len(there), "mean size": f"{width:.0f} × {height:.0f}" if there else "–"}
        total = made.total()
        row["distractors by"] = ", ".join(f"{name} {percent(count / total)}" for name, count in made.most_common())
    return pl.DataFrame(ordered, infer_schema_length=None)


def _row(item: Item, benchmark: Benchmark) -> dict[str, Any]:
    texts = [choice.text for choice in item.choices] or list(item.references)
    row: dict[str, Any] = dict(zip(("dataset", "dimension", "task"), _key(item, benchmark), strict=True))
    row |= {"question": len(item.question.split()), "options": len(item.choices), "missing": MISSING in item.tags}
    row |= {"words": sum(len(text.split()) for text in texts), "texts": len(texts), "longest": None, "expected": None}
    if item.choices:
        most = max(map(len, texts))
        longest = {position for position, text in enumerate(texts) if len(text) == most}
        row["longest"] = len(longest & set(item.gold)) / len(longest)
        row["expected"] = len(item.gold) / len(item.choices)
    return row


def _key(item: Item, benchmark: Benchmark) -> tuple[str, str, str]:
    dataset, dimension, task = (tag_word(item.tags.get(tag)) or "" for tag in ("dataset", "dimension", "task"))
    return dataset or benchmark.manifest.name, dimension, task


def _rank(dimension: str) -> tuple[int, str]:
    known = list(DIMENSIONS)
    return (known.index(dimension) if dimension in DIMENSIONS else len(known), dimension)


def _findings(benchmarks: Sequence[Benchmark], seed: int) -> Iterator[dict[str, Any]]:
    names = [name for name in _QUICK_PROBES if name in PROBES]
    for benchmark in benchmarks:
        audit = run_audit(Subject(benchmark, load_thresholds(None), seed=seed), names)
        for finding in sorted(audit.findings, key=gravest_first)[:_MOST_FINDINGS]:
            p = "–" if finding.p is None else p_value(finding.p)
            row = {"severity": finding.severity, "finding": finding.title, "p": p}
            yield row | {"probe": finding.probe, "benchmark": audit.benchmark}


def _contact_sheets(benchmarks: Sequence[Benchmark], album: Album) -> Iterator[Section]:
    """A few random items of every task, of its datasets in turns."""
    drawn: dict[tuple[str, str], dict[str, list[tuple[bytes, int, int]]]] = {}
    for number, benchmark in enumerate(benchmarks):
        for position, item in enumerate(benchmark):
            dataset, dimension, task = _key(item, benchmark)
            sample = drawn.setdefault((dimension, task), {}).setdefault(dataset, [])
            sample.append((lot(item.id), number, position))
            sample.sort()
            del sample[_IN_SHEET:]
    each = max(2, min(_IN_SHEET, _MOST_SHOWN // max(1, len(drawn))))
    for dimension, task in sorted(drawn, key=lambda key: (_rank(key[0]), key[1])):
        chosen = in_turns(drawn[dimension, task].values(), each)
        items = [benchmarks[number].take([position])[0] for _, number, position in chosen]
        last = [f"record {one.lineage[-1].item}: {one.lineage[-1].note}" if one.lineage else "" for one in items]
        views = [show_item(item.id, clip(of, 200), [], item, album) for item, of in zip(items, last, strict=True)]
        title = ": ".join(filter(None, [DIMENSIONS.get(dimension, dimension), task]))
        yield Section(title or "Items", views=views)
