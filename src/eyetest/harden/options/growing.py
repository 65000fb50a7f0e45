"""Add options to the items of a benchmark: proposed by models or rules, checked, chosen for the batch, ordered."""

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np

from eyetest.benchmarks import Benchmark
from eyetest.benchmarks.folder import write_items
from eyetest.harden.options.dealing import deal, exchangeable
from eyetest.harden.options.guards import Guard, sort_item
from eyetest.harden.options.record import FOUND, OPTIONS_STEP, GrownItem, OptionSettings, OptionsRecord
from eyetest.harden.options.writers import SCENES, WRITERS, Cases, Numbers, read_written
from eyetest.probes.option_order import closing_options
from eyetest.records import Choice, Item, Lineage, OptionProvenance, Verdict
from eyetest.records.tables import USUAL_PROMPTS
from eyetest.reform.distractors.written import Case, OptionAuthors, TurnedDown, WrittenDistractors, write_distractors
from eyetest.tabular.record_files import read_parquet
from eyetest.text import Level, same
from eyetest.version import __version__

_SPARE = 3  # passed proposals beyond what is needed that are kept to choose from
_LEAST_OPEN = 3  # an open question with fewer distractors than this is harder as it is


class GrownOptions(msgspec.Struct, frozen=True):
    """A benchmark with more options, the record of each item, and the verdicts for review."""

    benchmark: Benchmark
    record: OptionsRecord
    verdicts: tuple[Verdict, ...]


class _Batch:
    """State of a batch while options are added."""

    def __init__(self, items: Sequence[Item], settings: OptionSettings) -> None:
        self.settings = settings
        self.left_alone: dict[str, str] = {}
        cases = []
        for item in items:
            sorted_ = sort_item(item, settings)
            if isinstance(sorted_, Case):
                cases.append(sorted_)
            else:
                self.left_alone[item.id] = sorted_
        self.known = Cases(cases)
        self.refused: dict[str, list[TurnedDown]] = {case.item.id: [] for case in cases}
        self.written = WrittenDistractors()
        self._order = self.chance("order")
        self._positions: dict[int, list[int]] = defaultdict(list)  # of golds to come, by number of options

    def chance(self, *key: object) -> random.Random:
        """Random generator of a purpose, the same at every run with this seed."""
        return random.Random("\x1f".join(map(str, (OPTIONS_STEP, self.settings.seed, *key))))

    def ordered(self, gold: Choice, wrong: Sequence[Choice]) -> list[Choice]:
        """Order options such that positions of golds, per number of options, occur equally often, or once more."""
        order, count = self._order.sample(wrong, len(wrong)), len(wrong) + 1
        if not self._positions[count]:
            self._positions[count] = self._order.sample(range(count), count)
        order.insert(self._positions[count].pop(), gold)
        return order


def grow_options(
    benchmark: Benchmark,
    to: Path,
    settings: OptionSettings,
    *,
    authors: OptionAuthors | None = None,
    overwrite: bool = False,
) -> GrownOptions:
    """Write a copy of a benchmark whose items have as many options as can be found for them."""
    items = list(benchmark)
    batch = _Batch(items, settings)
    table = benchmark.path.parent / SCENES  # of a synthetic benchmark alone
    if table.is_file():
        truths = {row["item"]: row for row in read_parquet(table).to_pylist()}
        batch.known.truth.update(truths if all(item.id in truths for item in items) else {})
    if authors is not None:
        _have_written(batch, authors)
    dealt = _dealt(batch)
    _abstain(batch, dealt)
    cases = {case.item.id: case for case in batch.known.cases}
    made: list[tuple[Item, GrownItem]] = []
    for item in items:
        if (reason := batch.left_alone.get(item.id)) is not None:
            made.append((item, _untouched(item, reason)))
        else:
            grown_item, entry = _grown(cases[item.id], dealt[item.id], batch)
            made.append((item if entry.outcome == "left alone" else grown_item, entry))
    old, count = benchmark.manifest, sum(entry.outcome != "left alone" for _, entry in made)
    note = f"{count} of {len(made)} items grown to {settings.options} options"
    manifest = old.derived(OPTIONS_STEP, note, name=f"{old.name}-{settings.options}-options", seed=settings.seed)
    grown = write_items(to, (item for item, _ in made), benchmark, manifest, overwrite=overwrite)
    record = OptionsRecord(
        eyetest=__version__,
        benchmark=old.name,
        fingerprint=old.fingerprint,
        grown=grown.manifest.fingerprint,
        settings=settings,
        writer=authors.writer if authors else "",
        checker=authors.checker if authors else "",
        prompts=authors.prompts.roles if authors else USUAL_PROMPTS,
        items=tuple(entry for _, entry in made),
        unread=dict(batch.written.unread),
    )
    return GrownOptions(grown, record, tuple(_verdicts(record)))


def _have_written(batch: _Batch, authors: OptionAuthors) -> None:
    guards = {case.item.id: Guard(case) for case in batch.known.cases}

    def guard(wanted: Case, text: str, others: Sequence[str]) -> tuple[str, str]:
        own = guards[wanted.item.id]
        repaired = own.repaired(text)
        if any(same(repaired, other, Level.UNITS) for other in others):
            return repaired, "says the same as another option"
        return repaired, own.refusal(repaired)

    cases, rounds = batch.known.cases, batch.settings.rounds
    batch.written = write_distractors(cases, authors, rounds=rounds, spare=_SPARE, guard=guard)
    for name, refused in batch.written.refused.items():
        batch.refused[name] += refused


def _proposals(batch: _Batch) -> Iterator[tuple[Case, dict[str, OptionProvenance], dict[str, float]]]:
    """Proposals by item (of models; for numbers, and where these are too few, of rules), and their weights."""
    writers = sorted(WRITERS.values(), key=lambda writer: writer.place)
    started = [(writer, writer.start(batch.known)) for writer in writers]
    for case in batch.known.cases:
        guard, kept = Guard(case), dict(batch.written.by_item.get(case.item.id, ()))
        weights = dict.fromkeys(kept, 1.0)
        if len(kept) < case.need or read_written(case.gold) is not None:
            for writer, propose in started:
                new = propose(case, batch.chance(writer.name, case.item.id))
                weighted = new if isinstance(new, Mapping) else dict.fromkeys(new, 1.0)
                author = OptionProvenance(author=writer.name, checked_by=(writer.checker,) if writer.checker else ())
                for proposed, weight in weighted.items():
                    text = guard.repaired(proposed)
                    if text in kept or any(same(text, other, Level.UNITS) for other in kept):
                        continue
                    if reason := guard.refusal(text):
                        batch.refused[case.item.id].append(TurnedDown(text=text, reason=reason, by="rule"))
                    else:
                        kept[text], weights[text] = author, weight
                if weighted:
                    break
        yield case, kept, weights


def _dealt(batch: _Batch) -> dict[str, dict[str, OptionProvenance]]:
    """By item the texts that it is given."""
    proposals = list(_proposals(batch))
    dealt = deal([(case, weights) for case, _, weights in proposals], batch.chance("deal"))
    return {
        case.item.id: {text: kept[text] for text in texts}
        for (case, kept, _), texts in zip(proposals, dealt, strict=True)
    }


def _abstain(batch: _Batch, dealt: Mapping[str, Mapping[str, OptionProvenance]]) -> None:
    """Leave alone those items with numbers by rule whose gold learners would find too often among them."""
    by_rule = [
        case
        for case in batch.known.cases
        if any(made.author == Numbers.name for made in dealt[case.item.id].values())
    ]
    sets = [(case.item.question, [*case.options, *dealt[case.item.id]]) for case in by_rule]
    rng = np.random.default_rng(batch.chance("abstain").getrandbits(64))
    kept = exchangeable(sets, rng)
    found = (case.item.id for case, is_kept in zip(by_rule, kept, strict=True) if not is_kept)
    batch.left_alone.update(dict.fromkeys(found, FOUND))


def _untouched(item: Item, reason: str) -> GrownItem:
    position = item.gold[0] if len(item.gold) == 1 else None
    count = len(item.choices)
    return GrownItem(item=item.id, outcome="left alone", before=count, after=count, reason=reason, position=position)


def _grown(case: Case, dealt: Mapping[str, OptionProvenance], batch: _Batch) -> tuple[Item, GrownItem]:
    """Build an item with its chosen options, and the record of it."""
    item = case.item
    if not dealt:
        return item, _untouched(item, "nothing to offer")
    if not item.is_choice and len(dealt) < min(_LEAST_OPEN, case.need):
        return item, _untouched(item, "an open question with too few distractors")
    closing = [item.choices[index] for index in closing_options(item)]
    gold = item.choices[item.gold[0]] if item.is_choice else Choice(case.gold, correct=True)
    old = [choice for choice in item.choices if choice not in closing and not choice.correct]
    new = [Choice(text, provenance=made) for text, made in dealt.items()]
    choices = (*batch.ordered(gold, [*old, *new]), *closing)
    note = f"{len(item.choices)} → {len(choices)} options"
    step = Lineage(step=OPTIONS_STEP, item=item.id, note=note, seed=batch.settings.seed)
    grown = msgspec.structs.replace(item, choices=choices, references=(), lineage=(*item.lineage, step))
    return grown, GrownItem(
        item=item.id,
        outcome="short" if len(dealt) < case.need else "grown",
        before=len(item.choices),
        after=len(choices),
        authors=dict(Counter(made.author for made in dealt.values())),
        turned_down=tuple(batch.refused[item.id]),
        position=grown.gold[0],
    )


def _verdicts(record: OptionsRecord) -> Iterator[Verdict]:
    """Send every item with new options to review; reasons name those that are short."""
    wanted = record.settings.options
    for entry in record.items:
        if entry.outcome == "left alone":
            continue
        new = ", ".join(f"{count} by {author}" for author, count in entry.authors.items())
        missing = f"; {wanted - entry.after} short of {wanted}" if entry.outcome == "short" else ""
        down = Counter(refused.reason for refused in entry.turned_down)
        yield Verdict(
            item=entry.item,
            stage=OPTIONS_STEP,
            verdict="review",
            reason=f"{entry.before} → {entry.after} options: {new}{missing}",
            evidence="; ".join(f"{count} turned down: {why}" for why, count in down.most_common()),
            seed=record.settings.seed,
        )
