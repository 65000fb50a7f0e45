"""Repair repeats, malformed options and golds at one letter without changing a gold; make items with fewer options.
Only distractors and exact repeats are removed, and options move only where no text depends on their order.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
import numpy as np

from eyetest.benchmarks import Benchmark
from eyetest.benchmarks.folder import write_items
from eyetest.curate.selection import draw
from eyetest.errors import InputError, heading
from eyetest.probes.duplicates import item_key
from eyetest.probes.option_order import can_reorder, empty_options, lost_options, repeated_options
from eyetest.probes.subject import Subject, by_option_count, has_its_images
from eyetest.records import MAX_CHOICES, Item, Lineage, letter


class Repair(msgspec.Struct, frozen=True, kw_only=True):
    """One change to one item."""

    item: str
    change: str
    detail: str


def repair_benchmark(
    benchmark: Benchmark, to: Path, *, rebalance: Iterable[int] = (), seed: int = 0, overwrite: bool = False
) -> list[Repair]:
    """Write a repaired copy; ``rebalance`` names the numbers of options for which golds are spread anew."""
    repairs: list[Repair] = []
    kept = _without_repeats(list(benchmark), repairs)
    cleaned = [_without_bad_options(item, repairs) for item in kept]
    final = _spread_golds(cleaned, set(rebalance), Subject(benchmark, seed=seed).rng("repair"), repairs)
    changed: dict[str, list[Repair]] = {}
    for repair in repairs:
        changed.setdefault(repair.item, []).append(repair)
    old = benchmark.manifest
    counts = Counter(repair.change for repair in repairs)
    note = ", ".join(f"{count} {change}" for change, count in counts.items()) or "nothing to repair"
    manifest = old.derived("repair", note, version=f"{old.version}+fixed", seed=seed)

    def noted(item: Item) -> Item:
        note = "; ".join(f"{repair.change}: {repair.detail}" for repair in changed.get(item.id, ()))
        made = Lineage(step="repair", source=old.name, item=item.id, note=note, seed=seed)
        return msgspec.structs.replace(item, lineage=(*item.lineage, made)) if note else item

    write_items(to, map(noted, final), benchmark, manifest, overwrite=overwrite)
    return repairs


def _without_repeats(items: Sequence[Item], repairs: list[Repair]) -> list[Item]:
    first: dict[tuple[object, ...], str] = {}
    kept = []
    for item in items:
        original = first.setdefault(item_key(item), item.id) if has_its_images(item) else item.id
        if original == item.id or item.group:
            kept.append(item)
        else:
            repairs.append(Repair(item=item.id, change="removed", detail=f"repeats {original}"))
    return kept


def _without_bad_options(item: Item, repairs: list[Repair]) -> Item:
    bad = {*lost_options(item), *empty_options(item), *repeated_options(item)} - set(item.gold)
    rest = [choice for i, choice in enumerate(item.choices) if i not in bad]
    if not bad or len(rest) < 2 or not item.gold or not can_reorder(item):
        return item
    dropped = ", ".join(f"{letter(i)}: {item.choices[i].text!r}" for i in sorted(bad))
    repairs.append(Repair(item=item.id, change="options dropped", detail=dropped))
    return msgspec.structs.replace(item, choices=tuple(rest))


def _spread_golds(
    items: list[Item], option_counts: set[int], rng: np.random.Generator, repairs: list[Repair]
) -> list[Item]:
    """Move golds so that, for these numbers of options, all positions are equally frequent, or differ by one."""
    placed = {item.id: item for item in items}
    single = [item for item in items if len(item.gold) == 1]
    for options, group in by_option_count(single).items():
        if options not in option_counts:
            continue
        movable = [item for item in group if can_reorder(item)]
        counts = Counter(item.gold[0] for item in group if not can_reorder(item))
        for i in rng.permutation(len(movable)):
            item = movable[int(i)]
            least = min(counts[position] for position in range(options))
            free = [position for position in range(options) if counts[position] == least]
            target = item.gold[0] if item.gold[0] in free else int(rng.choice(free))
            counts[target] += 1
            if target != item.gold[0]:
                choices = list(item.choices)
                choices.insert(target, choices.pop(item.gold[0]))
                placed[item.id] = msgspec.structs.replace(item, choices=tuple(choices))
                moved = f"gold {letter(item.gold[0])} → {letter(target)}"
                repairs.append(Repair(item=item.id, change="options reordered", detail=moved))
    return [placed[item.id] for item in items]


FEWER_OPTIONS = "fewer options"  # the step in the lineage of items that were made so
_FEWEST = 2


def fewer_options(item: Item, count: int, seed: int = 0) -> Item | None:
    """The item with so many options; None where it has fewer, not just one gold, or options tied to their order."""
    if not _FEWEST <= count <= MAX_CHOICES:
        raise InputError(f"{heading('option_count')}: found {count}, expected {_FEWEST} to {MAX_CHOICES}")
    if len(item.choices) < count or len(item.gold) != 1 or not can_reorder(item):
        return None
    if len(item.choices) == count:
        return item
    choices = [choice for choice in item.choices if not choice.correct][: count - 1]
    choices.insert(draw(seed, item.id, str(count)) % count, item.choices[item.gold[0]])
    made = Lineage(step=FEWER_OPTIONS, item=item.id, note=f"{len(item.choices)} → {count}", seed=seed)
    return msgspec.structs.replace(item, choices=tuple(choices), lineage=(*item.lineage, made))
