"""A report as one HTML file: protocols, models, results, removed items, and how to repeat it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.errors import counted, listed
from eyetest.measures.printed import score_counts
from eyetest.pages.item_links import NOWHERE, ItemCount, ItemsAt, Query, reason_kind
from eyetest.pages.item_view import Album, ItemView, in_turns, lot, show_verdict
from eyetest.pages.page import clip, write_page
from eyetest.pages.plots import for_page
from eyetest.prompts import SCREENSHOT_STEP
from eyetest.records import GIVEN, Item, ModelEntry, RunStep, Verdict
from eyetest.records.tables import PROPERTIES
from eyetest.reports.answer import cautions, details, first_sentence, lacks, nothing_scored, protocol_words
from eyetest.reports.leaderboard import VIEWS, board_of
from eyetest.reports.leaderboard import first_sentence as leaders
from eyetest.reports.refinements import ranking_shift, together
from eyetest.reports.report import MOST_ROWS, Material, Report, ReportItems, laid_out
from eyetest.runs import Run
from eyetest.runs.stored import answers_frame
from eyetest.scoring import Scorer

_MOST_REPLIES, _LONGEST_REPLY = 6, 240
Reply = tuple[str, str, str, bool | None]
"""The model and its condition, its text, the extracted answer, and whether that is right."""


class Reason(NamedTuple):
    """Why items were removed, how many, and some of them."""

    verdict: str
    stage: str
    reason: str
    number: ItemCount
    items: list[tuple[ItemView, list[Reply]]]


class Section(NamedTuple):
    """A further section of the page: a table."""

    title: str
    table: pl.DataFrame
    note: str = ""
    digits: int = 3


@dataclass(frozen=True)
class ReportDetails:
    """Origin of the results and settings, for the page."""

    title: str
    benchmarks: Sequence[Benchmark] = ()
    steps: Sequence[tuple[str, str]] = ()
    method: Sequence[tuple[str, str]] = ()
    command: str = ""
    removed: Sequence[Reason] = ()
    album: Album = field(default_factory=Album)
    at: ItemsAt = NOWHERE
    left: Benchmark | None = None
    """The refined benchmark, if the one that it was made from is there as well."""
    ranking: Sequence[Section] = ()
    """The ranking before and after a refinement."""


def write_report_page(report: Report, about: ReportDetails, to: Path, *, overwrite: bool = False) -> None:
    """Write the page."""
    material, asked = report.material, report.asked
    items = ReportItems(material, [bench for bench in about.benchmarks if bench is not about.left], about.at)
    asked = asked if asked.get_column("benchmark").n_unique() > 1 else asked.drop("benchmark")
    drawn = []
    for each in report.drawn:
        counts = each.figure.counts(each.numbers.head(MOST_ROWS), items) if each.figure.counts else {}
        table = laid_out(each.numbers, counts)
        drawn.append((each.figure, each.numbers, for_page(each.svg, each.figure.title), table))
    board = None if report.headline is None else board_of(material, about.at)
    contents = {
        "at": about.at,
        "benchmarks": [(bench.manifest, _counts(bench, items, about.left)) for bench in about.benchmarks],
        "drawn": drawn,
        "head": None if report.headline is None else laid_out(report.headline),
        "notes": material.notes(),  # of figures and headline, not of tiles
        "about": about,
        "report": report,
        "board": board,
        "views": VIEWS,
        "answer": first_sentence(report) or (nothing_scored(report, items) if board is None else leaders(board)),
        "details": details(report),
        "lacks": lacks(report),
        "every": items.count(len(material.results.every_item())),
        "sections": [*about.ranking, *_linked(material, about.benchmarks)],
        "cautions": cautions(report),
        "given": score_counts(material.results.scores).filter(metric=GIVEN).get_column("score").sum(),
        "models": list(_models(report)) if material.is_answered else [],
        "asked": laid_out(asked),
        "usual": "; ".join(map(protocol_words, material.usual_protocols)) if material.is_answered else "",
        "table": laid_out,
        "album": about.album.images,
    }
    write_page("report.html.j2", contents, to, overwrite=overwrite)


def _counts(benchmark: Benchmark, items: ReportItems, left: Benchmark | None) -> dict[str, ItemCount]:
    """Number of items of a benchmark, with options and without; of a refinement, those kept."""
    name = benchmark.manifest.name if len(items.benchmarks) > 1 else None
    counts = {}
    for kind, span in (("items", None), ("choice_items", (1, inf)), ("text_items", (0, 0))):
        number = getattr(benchmark.manifest.counts, kind)
        kept = items.at.count(number, Query(verdict="kept", options=span))
        counts[kind] = kept if benchmark is left else items.count(number, name, options=span)
    return counts


def _linked(material: Material, benchmarks: Sequence[Benchmark]) -> Iterator[Section]:
    """Scores and differences where a benchmark was made of another with more options, or as screenshots."""
    steps = {step.step for benchmark in benchmarks for step in benchmark.manifest.lineage}
    if len(benchmarks) > 1 and steps & {"options", SCREENSHOT_STEP}:
        note = "Few options, ten options and screenshots of the same items, and what each step costs."
        if (table := material.known("linked", scope="all")) is not None:
            yield Section("Linked settings", table, note)


def _models(report: Report) -> Iterator[tuple[str, str]]:
    """The models asked and their known properties, without their addresses."""
    known = report.material.results
    for name in known.scores.select(pl.col("model").cast(pl.String).unique().sort()).collect().to_series():
        entry = known.models.get(name, ModelEntry(spec=""))
        facts: dict[str, Any] = {name: entry.fact(name) for name in (*PROPERTIES, *entry.facts)}
        facts |= {"trained on": listed(entry.trained_on)}
        yield name, "; ".join(f"{fact} {value}" for fact, value in facts.items() if value)


def run_steps(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """Processing steps of the runs, in order, each with its settings."""
    return [
        (f"{run.path.resolve().name}: {step.what}" + (f", {step.time}" if step.time else ""), "; ".join(_how(step)))
        for run in runs
        for step in run.manifest.steps
    ]


def report_settings(
    material: Material, scorer: Scorer, cluster: str, benchmarks: Sequence[Benchmark]
) -> list[tuple[str, str]]:
    """Names and values of the settings that decide the result."""
    values = {"rules": scorer.rules.version, "metric": scorer.metric or "by the item", "clusters": cluster}
    values |= {"level": f"{material.settings.level:g}", "resamples": f"{material.settings.resamples:,}"}
    values |= {"seed": str(material.settings.seed), "measures": ", ".join(material.measures())}
    fingerprints = [(f"fingerprint of {bench.manifest.name}", bench.manifest.fingerprint) for bench in benchmarks]
    return [*values.items(), *fingerprints]


def _how(step: RunStep) -> Iterator[str]:
    if step.planned:
        different = f", {step.requests:,} of them different" if step.requests < step.planned else ""
        yield f"{counted(step.planned, 'call')} planned{different}"
    if step.saved:
        yield f"{step.saved:,} not needed"
    yield from (f"{name} {value}" for name, value in step.options.items())
    yield from (f"likelihoods of {model}: {way}" for model, way in step.ways.items())
    yield f"seed {step.seed}"
    if step.eyetest:
        yield f"eyetest {step.eyetest}"


def removed_items(
    verdicts: Sequence[Verdict], about: ReportDetails, runs: Sequence[Run], scores: pl.LazyFrame, most: int
) -> list[Reason]:
    """Some of the removed items, spread over the reasons; their images go into the album."""
    by_reason: dict[tuple[str, str, str], list[Verdict]] = {}
    for verdict in sorted(verdicts, key=lambda verdict: lot(verdict.item)):
        if verdict.verdict in ("drop", "review"):
            by_reason.setdefault((verdict.verdict, verdict.stage, reason_kind(verdict.reason)), []).append(verdict)
    chosen = in_turns(by_reason.values(), max(0, most))
    wanted, items = {verdict.item for verdict in chosen}, dict[str, Item]()
    for benchmark in about.benchmarks:
        items |= {item.id: item for item in benchmark if item.id in wanted - items.keys()}
    replies = replies_to(chosen, runs, scores)
    reasons: list[Reason] = []
    for key, fallen in sorted(by_reason.items(), key=lambda reason: (reason[0][0], -len(reason[1]), reason[0])):
        shown = [
            (show_verdict(verdict, items.get(verdict.item), about.album), replies.get(verdict.item, []))
            for verdict in fallen
            if verdict in chosen
        ]
        count, why = about.at.named(verdict.item for verdict in fallen), together([row.reason for row in fallen])
        reasons.append(Reason(*key[:2], why, count, shown))
    return reasons


def ranking_sections(material: Material, verdicts: Sequence[Verdict]) -> list[Section]:
    """The section on the ranking before and after a refinement, if models were ranked."""
    gone = {row.item for row in verdicts if row.verdict in ("drop", "review")}
    shift = ranking_shift(material, gone) if gone else None
    return [Section("Ranking before and after", shift[1], shift[0], digits=1)] if shift else []


def replies_to(verdicts: Sequence[Verdict], runs: Sequence[Run], scores: pl.LazyFrame) -> dict[str, list[Reply]]:
    """Replies to some items: preferably those behind their verdicts, one per model first."""
    evidence = {request for verdict in verdicts for request in verdict.responses}
    about = pl.col("item").is_in(list({verdict.item for verdict in verdicts}))
    words = pl.col("model", "modality", "outcome", "reading", "choice").cast(pl.String)
    rows = (
        scores.filter(about)
        .with_columns(pl.col("request").is_in(list(evidence)).alias("counts"), pl.int_range(pl.len()).alias("row"))
        .with_columns(pl.col("row").rank("ordinal").over("item", "model", "counts").alias("turn"))
        .sort("item", "counts", "turn", "model", descending=[False, True, False, False])
        .group_by("item", maintain_order=True)
        .head(_MOST_REPLIES)
        .select("item", "request", "score", words)
        .collect()
    )
    texts: dict[str, str | None] = {}
    for run in runs:
        answers = answers_frame(run.path).filter(pl.col("request").is_in(rows.get_column("request").to_list()))
        texts |= dict(answers.select("request", "text").collect().iter_rows())
    replies: dict[str, list[Reply]] = {}
    for row in rows.iter_rows(named=True):
        read = row["choice"] or row["reading"] or row["outcome"]
        right = None if row["score"] is None else row["score"] > 0.5
        text = clip((texts.get(row["request"]) or "").strip(), _LONGEST_REPLY)
        replies.setdefault(row["item"], []).append((f"{row['model']}, {row['modality']}", text, read, right))
    return replies
