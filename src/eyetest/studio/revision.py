"""A revision: the decisions about a benchmark's items, applied as a new version of the benchmark."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.benchmarks.folder import CHANGES
from eyetest.errors import InputError, param, short
from eyetest.prompts.building import SCREENSHOT_STEP
from eyetest.records import REVISE, Decision, Item, Lineage, Manifest, Revision, gold_text, letter, tag_word
from eyetest.studio.decisions import Decided, standing
from eyetest.studio.forms import Form, edited
from eyetest.tabular.sheets import sheet_text
from eyetest.wording import counted, listed

_LAST_NUMBER = re.compile(r"(\d+)(\D*)$")
_LISTED = 5


@dataclass(frozen=True)
class ReviewedItems:
    """The outcomes of some items of a benchmark, all decisions, and the forms."""

    outcomes: Mapping[str, Decided]
    decisions: Sequence[Decision]
    forms: Sequence[Form] = ()


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
    ties: Sequence[ItemChange]  # tags with a tie between reviewers' answers; they are unchanged


def revise_benchmark(
    benchmark: Benchmark, reviewed: ReviewedItems, to: Path, *, complete: bool = False, overwrite: bool = False
) -> RevisedBenchmark:
    """Write the revised benchmark; with ``complete``, only if every item is decided."""
    _refuse(benchmark, reviewed, to, complete=complete)
    revising = _Revising(reviewed)
    items = [now for item in benchmark if (now := revising.revised(item)) is not None]
    counts = {kind: revising.counts[kind] for kind in ("keep", "fix", "drop", "open", "not asked")}
    if not items:
        raise InputError(f"people dropped all {counted(counts['drop'], 'item')}; nothing is left to write")
    with BenchmarkWriter(to, _manifest(benchmark, reviewed, counts), overwrite=overwrite, gold_required=False) as new:
        for item in items:
            new.adopt(item, benchmark)
        new.adopt_tables(benchmark)
        sheet = sheet_text(ItemChange._fields, [*revising.changes, *revising.ties])
        (new.folder / CHANGES).write_bytes(sheet.encode("utf-8", "replace"))
    return RevisedBenchmark(Benchmark(to), counts, revising.changes, revising.ties)


def _refuse(benchmark: Benchmark, reviewed: ReviewedItems, to: Path, *, complete: bool) -> None:
    if benchmark.path.resolve() == to.resolve():
        raise InputError(f"{to} is the benchmark itself; a revision needs a folder of its own")
    if not standing(reviewed.decisions):
        raise InputError("no item has a decision yet")
    known = {item.id for item in benchmark}
    if unknown := [name for name in reviewed.outcomes if name not in known]:
        problem = f"{counted(len(unknown), 'item')} of the review, {short(unknown[0])} among them"
        raise InputError(f"{problem}, not in {benchmark.manifest.name}; a revision is of one benchmark")
    open_ = [name for name, outcome in reviewed.outcomes.items() if outcome.verdict == "review"]
    if complete and open_:
        problem = f"{counted(len(open_), 'item')} of {len(reviewed.outcomes):,} not decided yet"
        raise InputError(f"{problem}: {listed(open_, _LISTED)}; without {param('complete')} they stay as they are")


class _Revising:
    def __init__(self, reviewed: ReviewedItems) -> None:
        self._outcomes = reviewed.outcomes
        self._words: dict[str, list[Decision]] = {}
        for one in standing(reviewed.decisions):
            self._words.setdefault(one.item, []).append(one)
        self._forms = reviewed.forms
        self._tags = {field.name: field.tag for form in reviewed.forms for field in form.fields if field.tag}
        self.counts: Counter[str] = Counter()
        self.changes: list[ItemChange] = []
        self.ties: list[ItemChange] = []

    def revised(self, item: Item) -> Item | None:
        outcome = self._outcomes.get(item.id)
        if outcome is None:
            self.counts["not asked"] += 1
            return item
        if outcome.verdict == "review":
            self.counts["open"] += 1
            self.changes.append(ItemChange(item.id, "open", "", "", "", self._who(item.id), outcome.reason))
            return item
        self.counts[outcome.verdict] += 1
        who = self._who(item.id, outcome.verdict)
        if outcome.verdict == "drop":
            self.changes.append(ItemChange(item.id, "drop", "", "", "", who, outcome.reason))
            return None
        now = edited(self._tagged(item, outcome), outcome.edits if outcome.verdict == "fix" else {})
        changes = [
            ItemChange(item.id, outcome.verdict, *parts, who, outcome.reason) for parts in _differences(item, now)
        ]
        if not changes:
            return item
        _refuse_drawn(item, now)
        self.changes += changes
        note = ", ".join(change.field for change in changes)
        return msgspec.structs.replace(now, lineage=(*now.lineage, Lineage(step=REVISE, item=item.id, note=note)))

    def _tagged(self, item: Item, outcome: Decided) -> Item:
        """An item with the reviewers' most frequent answers as tags; unchanged in a tie."""
        tags = {tag: value for form in self._forms for tag, value in form.tags(outcome.labels).items()}
        for name, tag in self._tags.items():
            answers = [one.labels[name] for one in self._deciding(item.id, outcome.verdict) if name in one.labels]
            if answers and tag not in tags:
                tie = f"tie: {listed(sorted(set(map(str, answers))))}"
                was = _as_text(item.tags.get(tag))
                who = self._who(item.id, outcome.verdict)
                self.ties.append(ItemChange(item.id, "tie", f"tags.{tag}", was, was, who, tie))
        return msgspec.structs.replace(item, tags={**item.tags, **tags})

    def _deciding(self, item: str, verdict: str) -> list[Decision]:
        """The last decisions that decided an item: the adjudicator's, or those that agree with the outcome."""
        words = self._words.get(item, [])
        settled = [one for one in words if one.adjudicates][-1:]
        return settled or [one for one in words if one.decision == verdict]

    def _who(self, item: str, verdict: str = "") -> str:
        words = self._deciding(item, verdict) if verdict else self._words.get(item, [])
        return ", ".join(sorted({one.reviewer for one in words}))


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


def _refuse_drawn(old: Item, new: Item) -> None:
    """Refuse an edit of texts that are drawn in the image, since the image would not change."""
    texts = ((item.question, [one.text for one in item.choices]) for item in (old, new))
    if any(step.step == SCREENSHOT_STEP for step in old.lineage) and next(texts) != next(texts):
        drawn = f"item {short(old.id)} is an image of its question and options"
        raise InputError(f"{drawn}: repair the benchmark it was drawn from, and draw it again")


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
