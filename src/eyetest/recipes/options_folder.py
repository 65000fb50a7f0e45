"""More options for the items of a benchmark, with the decisions of reviewers about them, in one folder."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from eyetest.benchmarks import Benchmark, BenchmarkWriter, is_benchmark
from eyetest.benchmarks.folder import refuse_to_replace
from eyetest.errors import InputError, damaged, heading, param
from eyetest.harden.options import GrownOptions, OptionAuthors, OptionSettings, OptionsRecord, grow_options
from eyetest.harden.options.learners import families, judge
from eyetest.recipes.hardening import OPTIONS_RECORD
from eyetest.records import Recipe, Review, Stage, Verdict
from eyetest.records.recipe import BENCHMARK, REVIEW, RUN
from eyetest.store import replacing_file
from eyetest.store.urls import refuse_remote
from eyetest.studio.decisions import Rounds
from eyetest.studio.forms import edited
from eyetest.studio.project import decisions_in
from eyetest.studio.queue import DECISIONS, QUEUE, write_queue

_GROWN = "grown"
ROUNDS = Recipe(
    stages=(
        Stage(name="options: round 1", review=Review(reviewers=1, form="mmmu-pro")),
        Stage(name="options: round 2", review=Review(reviewers=2, form="mmmu-pro")),
    )
)
"""One reviewer, then two others, as in MMMU-Pro."""


class HardenedOptions(msgspec.Struct, frozen=True):
    """The benchmark after review, the record of its options, and the items that wait for people."""

    benchmark: Benchmark
    record: OptionsRecord
    dropped: int
    repaired: int
    waiting: tuple[Verdict, ...]
    notes: tuple[str, ...] = ()


def write_options(
    benchmark: Benchmark,
    folder: Path,
    settings: OptionSettings,
    authors: OptionAuthors | None = None,
    *,
    probe: bool = True,
    tell: Callable[[str], None] = lambda line: None,
) -> HardenedOptions:
    """Give items more options in a folder, or go on with its review; ``tell`` reports work that takes a while."""
    refuse_remote(folder, "writing options")
    ours = {BENCHMARK, _GROWN, OPTIONS_RECORD, REVIEW, RUN}
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; expected a folder")
    names = [entry.name for entry in folder.iterdir()] if folder.exists() else []
    if foreign := [name for name in names if name not in ours and not name.startswith(".")]:
        raise InputError(f'{folder} holds "{foreign[0]}", which this command did not write; choose another folder')
    for name in (BENCHMARK, _GROWN):
        if is_benchmark(folder / name):
            refuse_to_replace(folder / name, overwrite=True)
    if benchmark.path.resolve().is_relative_to(folder.resolve()):
        raise InputError(f"{heading('to')}: {folder} holds the benchmark itself; name another folder")
    path, notes = folder / OPTIONS_RECORD, list[str]()
    try:
        before = msgspec.json.decode(path.read_bytes(), type=OptionsRecord) if path.is_file() else None
    except msgspec.DecodeError as error:
        raise damaged(path, error) from None
    decisions = decisions_in(folder / REVIEW, {item.id for item in benchmark}, notes.append)
    tell("choosing options")
    grown = grow_options(benchmark, folder / _GROWN, settings, authors=authors, overwrite=True)
    record = grown.record
    if decisions and before is not None and before.grown != record.grown:
        other = f"{folder / REVIEW / DECISIONS} is about other options than this command makes"
        raise InputError(f"{other}; take the same {param('seed')}, settings and models, or another folder")
    if probe and before is not None and (before.grown, before.fingerprint) == (record.grown, record.fingerprint):
        known = {"probes_before": before.probes_before, "probes_after": before.probes_after}
        record = msgspec.structs.replace(record, **known)
    elif probe:
        tell("judging options before and after")
        record = _judged(record, benchmark, grown.benchmark)
    with replacing_file(path) as file:
        file.write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")
    return _reviewed(folder, grown, record, Rounds(ROUNDS, decisions), notes)


def _judged(record: OptionsRecord, given: Benchmark, grown: Benchmark) -> OptionsRecord:
    """The record with the judge's accuracy before and after."""
    changed = {one.item for one in record.items if one.outcome != "left alone"}
    _, family = families(record.settings.seed)
    before, after = (
        judge([item for item in benchmark if item.id in changed], family, record.settings.seed)
        for benchmark in (given, grown)
    )
    probes = {"probes_before": (before,) if before else (), "probes_after": (after,) if after else ()}
    return msgspec.structs.replace(record, **probes)


def _reviewed(
    folder: Path, grown: GrownOptions, record: OptionsRecord, rounds: Rounds, notes: list[str]
) -> HardenedOptions:
    """The benchmark after the decisions of reviewers, and the queue of items that are open."""
    reviewed = {verdict.item: verdict for verdict in grown.verdicts}
    shown, waiting = {item.id: item for item in grown.benchmark}, list[Verdict]()
    dropped = repaired = 0
    manifest = grown.benchmark.manifest
    with BenchmarkWriter(folder / BENCHMARK, manifest, overwrite=True, gold_required=False) as writer:
        for item in grown.benchmark:
            now, verdict = item, ""
            for stage in ROUNDS.stages if item.id in reviewed else ():
                decided = rounds.decided(stage, item.id)
                verdict = decided.verdict
                if verdict == "review":
                    before = reviewed[item.id]
                    reason = f"{before.reason}; {decided.reason}" if decided.n else before.reason
                    waiting.append(msgspec.structs.replace(before, stage=stage.title, reason=reason))
                if verdict in ("review", "drop"):
                    break
                now = edited(now, decided.edits) if verdict == "fix" else now
            if verdict == "drop":
                dropped += 1
                continue
            repaired += now != item
            shown[now.id] = now
            writer.adopt(now, grown.benchmark)
    benchmark = Benchmark(folder / BENCHMARK)
    if changed := write_queue(folder / REVIEW, waiting, shown, benchmark, rounds.asked):
        notes.append(f"{QUEUE} was edited by hand: kept as {changed}; decisions are read from {DECISIONS}")
    shutil.rmtree(folder / _GROWN)
    return HardenedOptions(benchmark, record, dropped, repaired, tuple(waiting), tuple(notes))


def option_notes(done: HardenedOptions) -> Iterator[str]:
    """Notes for the user: authors of options, rejections, accuracy without images, decisions of reviewers."""
    record = done.record
    if record.authors:
        yield "new options: " + ", ".join(f"{count:,} by {author}" for author, count in record.authors.items())
    if record.turned_down:
        yield "rejected: " + ", ".join(f"{why} {count:,}" for why, count in record.turned_down.items())
    yield from (f"{what}: {count:,}" for what, count in record.unread.items())
    if risk := record.pool_risk:
        share, low, high = (f"{100 * value:.2g}" for value in (risk.hits / risk.drawn, risk.low, risk.high))
        yield (
            f"{share} % of texts from other items would have been correct, had the answer key not been known "
            f"({risk.hits:,} of {risk.drawn:,}; 95 % interval {low} to {high} %)"
        )
    for when, figures in (("before", record.probes_before), ("after", record.probes_after)):
        for one in figures:
            yield (
                f"{when}: without images {one.learner}, which did not choose the options, finds "
                f"{100 * one.accuracy:.1f} % of {one.n:,} keys, {one.accuracy / one.chance:.2f} times chance; "
                f"with random keys {100 * one.null_mean:.1f} ± {100 * one.null_sd:.1f} %"
            )
    if done.dropped or done.repaired:
        yield f"reviewers: {done.dropped:,} dropped, {done.repaired:,} repaired"
    yield from done.notes
