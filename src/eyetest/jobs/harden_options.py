"""More options for a benchmark's items, and what people make of them, in one folder."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from eyetest.benchmarks import Benchmark, BenchmarkWriter, is_benchmark
from eyetest.benchmarks.folder import refuse_gold_list, refuse_to_replace
from eyetest.errors import InputError, damaged, heading, param
from eyetest.harden.options import GrownOptions, OptionAuthors, OptionSettings, OptionsRecord, grow_options
from eyetest.harden.options.learners import families, judge
from eyetest.jobs.distractors import asking, authors_of
from eyetest.jobs.opening import AnyPath, Bench, observer, open_bench
from eyetest.records import Decision, Item, Recipe, Review, Stage, Verdict
from eyetest.review import DECISIONS, QUEUE, Rounds, edited, write_queue
from eyetest.review.project import decisions_in
from eyetest.running.session import Questions
from eyetest.store import replacing_file
from eyetest.store.urls import local_path, refuse_remote

BENCHMARK, GROWN, RECORD, REVIEW, RUN = "benchmark", "grown", "options.json", "review", "run"
ROUNDS = Recipe(
    stages=(
        Stage(name="options: round 1", review=Review(reviewers=1, form="mmmu-pro")),
        Stage(name="options: round 2", review=Review(reviewers=2, form="mmmu-pro")),
    )
)
"""One reviewer, then two others, as MMMU-Pro did it."""


class HardenedOptions(msgspec.Struct, frozen=True):
    """What came of it: the benchmark as people left it, the record, and who waits for people."""

    benchmark: Benchmark
    record: OptionsRecord
    dropped: int
    mended: int
    waiting: tuple[Verdict, ...]
    notes: tuple[str, ...] = ()


def harden_options(
    bench: Bench,
    *,
    to: AnyPath,
    option_count: int = 10,
    open_questions: bool = False,
    seed: int = 0,
    writer: str | None = None,
    checker: str | None = None,
    writer_rounds: int = 2,
    models: AnyPath | None = None,
    probe: bool = True,
) -> HardenedOptions:
    """A benchmark whose items have more options: written by a model and checked by another, or made by rule.

    ``.benchmark`` is the result, ``.record`` what was written by whom and turned down why, with what can be guessed
    before and after; ``.waiting`` is for people (``to/review/queue.csv``).

    >>> et.harden_options("mmmu", to="mmmu-10", option_count=10).benchmark  # doctest: +SKIP
    <Benchmark 'mmmu-10-options': 900 items in mmmu-10/benchmark>
    """
    settings = OptionSettings(options=option_count, rounds=writer_rounds, open=open_questions, seed=seed)
    authors = authors_of(writer, checker, models)
    folder = local_path(to)
    refuse_remote(folder, "growing options")
    _refuse_foreign(folder)
    benchmark = open_bench(bench)
    refuse_gold_list(benchmark, "write options for")
    if benchmark.path.resolve().is_relative_to(folder.resolve()):
        raise InputError(f"{heading('to')}: {folder} holds the benchmark itself; name another place")
    before = _read_record(folder)
    decisions = decisions_in(folder / REVIEW, {item.id for item in benchmark}, observer().note)
    seated = None
    if authors is not None:
        (named_writer, named_checker), entries = authors.entries
        seated = OptionAuthors(asking(Questions(folder / RUN, benchmark, entries)), named_writer, named_checker)
    observer().busy("dealing out options")
    grown = grow_options(benchmark, folder / GROWN, settings, authors=seated, overwrite=True)
    record = grown.record
    if decisions and before is not None and before.grown != record.grown:
        raise InputError(
            f"{folder / REVIEW / DECISIONS} is about other options than this command makes; "
            f"take the same {param('seed')}, settings and models, or another folder"
        )
    if probe:
        record = _probed(record, before, benchmark, grown.benchmark)
    with replacing_file(folder / RECORD) as file:
        file.write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")
    done = _reviewed(folder, grown, record, decisions)
    for line in told(done):
        observer().note(line)
    return done


def _probed(record: OptionsRecord, before: OptionsRecord | None, given: Benchmark, grown: Benchmark) -> OptionsRecord:
    """The record with what the judge gets before and after; taken over from an earlier run where nothing changed."""
    if before is not None and (before.grown, before.fingerprint) == (record.grown, record.fingerprint):
        figures = {"probes_before": before.probes_before, "probes_after": before.probes_after}
        return msgspec.structs.replace(record, **figures)
    observer().busy("judging options before and after")
    changed = {one.item for one in record.items if one.outcome != "left alone"}
    _, family = families(record.settings.seed)
    judged = [
        judge([item for item in benchmark if item.id in changed], family, record.settings.seed)
        for benchmark in (given, grown)
    ]
    earlier, now = (() if figures is None else (figures,) for figures in judged)
    return msgspec.structs.replace(record, probes_before=earlier, probes_after=now)


def _reviewed(
    folder: Path, grown: GrownOptions, record: OptionsRecord, decisions: Mapping[str, Sequence[Decision]]
) -> HardenedOptions:
    """The benchmark as people left it, and the queue of those who are still to look at it."""
    rounds = Rounds(ROUNDS, decisions)
    reviewed = {verdict.item: verdict for verdict in grown.verdicts}
    items, waiting = list(grown.benchmark), list[Verdict]()
    kept: list[Item] = []
    mended = 0
    for item in items:
        now = item
        for stage in ROUNDS.stages if item.id in reviewed else ():
            said = rounds.decided(stage, item.id)
            if said.verdict == "review":
                told = reviewed[item.id]
                reason = f"{told.reason}; {said.reason}" if said.n else told.reason
                waiting.append(msgspec.structs.replace(told, stage=stage.title, reason=reason))
                break
            if said.verdict == "drop":
                now = None  # type: ignore[assignment]
                break
            now = edited(now, said.edits) if said.verdict == "fix" else now
        if now is not None:
            mended += now != item
            kept.append(now)
    manifest = grown.benchmark.manifest
    with BenchmarkWriter(folder / BENCHMARK, manifest, overwrite=True, gold_required=False) as writer:
        for item in kept:
            writer.adopt(item, grown.benchmark)
    shown = {item.id: item for item in (*items, *kept)}
    notes = []
    benchmark = Benchmark(folder / BENCHMARK)
    if changed := write_queue(folder / REVIEW, waiting, shown, benchmark, rounds.asked):
        notes.append(f"{QUEUE} had been changed by hand: kept as {changed}; decisions are read from {DECISIONS}")
    shutil.rmtree(folder / GROWN)
    return HardenedOptions(benchmark, record, len(items) - len(kept), mended, tuple(waiting), tuple(notes))


def _refuse_foreign(folder: Path) -> None:
    """Do not write into a folder that holds something else."""
    ours = {BENCHMARK, GROWN, RECORD, REVIEW, RUN}
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; options are grown into a folder")
    names = [entry.name for entry in folder.iterdir()] if folder.exists() else []
    if foreign := [name for name in names if name not in ours and not name.startswith(".")]:
        raise InputError(f'{folder} holds "{foreign[0]}", which is no part of grown options; choose another place')
    for name in (BENCHMARK, GROWN):
        if is_benchmark(folder / name):
            refuse_to_replace(folder / name, overwrite=True)


def _read_record(folder: Path) -> OptionsRecord | None:
    path = folder / RECORD
    if not path.is_file():
        return None
    try:
        return msgspec.json.decode(path.read_bytes(), type=OptionsRecord)
    except msgspec.DecodeError as error:
        raise damaged(path, error) from None


def told(done: HardenedOptions) -> Iterator[str]:
    """What the user should know, a line each."""
    record = done.record
    down = ", ".join(f"{why} {count:,}" for why, count in record.turned_down.items())
    if record.authors:
        yield "new options: " + ", ".join(f"{count:,} by {author}" for author, count in record.authors.items())
    if down:
        yield f"turned down: {down}"
    for what, count in record.unread.items():
        yield f"{what}: {count:,}"
    if risk := record.pool_risk:
        share, low, high = (f"{100 * value:.2g}" for value in (risk.hits / risk.drawn, risk.low, risk.high))
        yield (
            f"of texts from other items {share} % would have been right, had the gold not been known "
            f"({risk.hits:,} of {risk.drawn:,}; 95 % interval {low} to {high} %)"
        )
    for when, figures in (("before", record.probes_before), ("after", record.probes_after)):
        for one in figures:
            yield (
                f"{when}: without images {one.learner}, which did not choose the options, finds "
                f"{100 * one.accuracy:.1f} % of {one.n:,} keys, {one.accuracy / one.chance:.2f} times chance; "
                f"with random keys {100 * one.null_mean:.1f} ± {100 * one.null_sd:.1f} %"
            )
    if done.dropped or done.mended:
        yield f"by people: {done.dropped:,} dropped, {done.mended:,} mended"
    yield from done.notes
