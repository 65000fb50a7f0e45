"""A revision: the decisions about a benchmark's items, applied as a new version of the benchmark."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.benchmarks.folder import CHANGES
from eyetest.errors import InputError, counted, short
from eyetest.prompts.building import SCREENSHOT_STEP
from eyetest.records import REVISE, Decision, Item, Lineage, Manifest, Revision, gold_text, letter, tag_word
from eyetest.studio.decisions import Decided, by_item, standing
from eyetest.studio.forms import Form, edited
from eyetest.tabular.table import sheet_text

_LAST_NUMBER = re.compile(r"(\d+)(\D*)$")


class ReviewedItems(NamedTuple):
    """The outcomes of some items of a benchmark, all decisions, and the form."""

    outcomes: Mapping[str, Decided]
    decisions: Sequence[Decision]
    form: Form = Form()


class ItemChange(NamedTuple):
    """One change of an item, or an open decision: a row of ``changes.csv``."""

    item: str
    decision: str
    field: str
    before: str
    after: str
    reviewers: str
    reason: str


class RevisedBenchmark(NamedTuple):
    """A revision, and its changes."""

    benchmark: Benchmark
    counts: Mapping[str, int]  # items by outcome: keep, fix, drop, open, not asked
    changes: Sequence[ItemChange]


def revise_benchmark(
    benchmark: Benchmark, reviewed: ReviewedItems, to: Path, *, overwrite: bool = False
) -> RevisedBenchmark:
    """Write the revised benchmark."""
    if benchmark.path.resolve() == to.resolve():
        raise InputError(f"{to} is the benchmark itself; a revision needs a folder of its own")
    decided = by_item(standing(reviewed.decisions))
    if not decided:
        raise InputError("no item has a decision yet")
    items, outcomes = list(benchmark), reviewed.outcomes
    known = {item.id for item in items}
    if unknown := [name for name in outcomes if name not in known]:
        problem = f"{counted(len(unknown), 'item')} of the review, {short(unknown[0])} among them"
        raise InputError(f"{problem}, not in {benchmark.manifest.name}; a revision is of one benchmark")
    changes: list[ItemChange] = []
    revised = [_revised(item, outcomes.get(item.id), decided.get(item.id, []), reviewed, changes) for item in items]
    if not any(revised):
        raise InputError(f"people dropped all {counted(len(items), 'item')}; nothing is left to write")
    verdicts = [outcomes[item.id].verdict if item.id in outcomes else "not asked" for item in items]
    kinds = {"keep": "keep", "fix": "fix", "drop": "drop", "open": "review", "not asked": "not asked"}
    counts = {name: verdicts.count(verdict) for name, verdict in kinds.items()}
    with BenchmarkWriter(to, _manifest(benchmark, reviewed, counts), overwrite=overwrite, gold_required=False) as new:
        for item in filter(None, revised):
            new.adopt(item, benchmark)
        new.adopt_tables(benchmark)
        (new.folder / CHANGES).write_bytes(sheet_text(ItemChange._fields, changes).encode("utf-8", "replace"))
    return RevisedBenchmark(Benchmark(to), counts, changes)


def _revised(
    item: Item,
    outcome: Decided | None,
    decisions: Sequence[Decision],
    reviewed: ReviewedItems,
    changes: list[ItemChange],
) -> Item | None:
    """An item after its review; None if it is dropped. Its changes are added to ``changes``."""
    if outcome is None:
        return item
    agreeing = [one for one in decisions if outcome.verdict in ("review", one.decision)]
    settling = [one for one in decisions if one.adjudicates][-1:] if outcome.verdict != "review" else []
    deciding = settling or agreeing
    who = ", ".join(sorted({one.reviewer for one in deciding}))
    if outcome.verdict in ("review", "drop"):
        kind = "drop" if outcome.verdict == "drop" else "open"
        changes.append(ItemChange(item.id, kind, "", "", "", who, outcome.reason))
        return item if kind == "open" else None
    tagged = msgspec.structs.replace(item, tags={**item.tags, **reviewed.form.tags(outcome.labels)})
    now = edited(tagged, outcome.edits if outcome.verdict == "fix" else {})
    differences = list(_differences(item, now))
    if not differences:
        return item
    texts = [(one.question, [choice.text for choice in one.choices]) for one in (item, now)]
    if any(step.step == SCREENSHOT_STEP for step in item.lineage) and texts[0] != texts[1]:
        drawn = f"item {short(item.id)} is an image of its question and options"
        raise InputError(f"{drawn}: repair the benchmark it was drawn from, and draw it again")
    changes += [ItemChange(item.id, outcome.verdict, *parts, who, outcome.reason) for parts in differences]
    step = Lineage(step=REVISE, item=item.id, note=", ".join(field for field, _, _ in differences))
    return msgspec.structs.replace(now, lineage=(*now.lineage, step))


def _differences(old: Item, new: Item) -> Iterator[tuple[str, str, str]]:
    if old.question != new.question:
        yield "question", old.question, new.question
    for index, (before, after) in enumerate(zip(old.choices, new.choices, strict=True)):
        if before.text != after.text:
            yield letter(index), before.text, after.text
    golds = [gold_text(item) for item in (old, new)]
    if golds[0] != golds[1]:
        yield "answer", golds[0], golds[1]
    for tag in dict.fromkeys((*old.tags, *new.tags)):
        if old.tags.get(tag) != new.tags.get(tag):
            yield f"tags.{tag}", _as_text(old.tags.get(tag)), _as_text(new.tags.get(tag))


def _as_text(value: Any) -> str:
    return "" if value is None else tag_word(value) or msgspec.json.encode(value).decode()


def _manifest(benchmark: Benchmark, reviewed: ReviewedItems, counts: Mapping[str, int]) -> Manifest:
    """The manifest of the next version; its time is that of the last decision."""
    old = benchmark.manifest
    words = {"keep": "kept", "fix": "fixed", "drop": "dropped", "open": "open", "not asked": "not reviewed"}
    kept = ", ".join(f"{counts[kind]:,} {word}" for kind, word in words.items())
    by = counted(len({one.reviewer for one in standing(reviewed.decisions)}), "reviewer")
    note = f"{kept}; by {by}; of {old.fingerprint[:16]}"
    step = Lineage(step=REVISE, source=f"{old.name} {old.version}", note=note)
    time = max(one.time for one in reviewed.decisions)
    before = Revision(fingerprint=old.fingerprint, version=old.version, time=time, change=f"{REVISE}: {note}")
    return msgspec.structs.replace(
        old,
        version=next_version(old.version),
        lineage=(*old.lineage, step),
        revisions=(*old.revisions, before),
        counts=type(old.counts)(),
        fingerprint="",
    )


def next_version(version: str) -> str:
    """A version with its last number raised: 1 is 2, 1.0 is 1.1, 2024-beta is 2025-beta."""
    if not _LAST_NUMBER.search(version):
        return f"{version}-2" if version else "2"
    return _LAST_NUMBER.sub(lambda number: f"{int(number[1]) + 1}{number[2]}", version)
