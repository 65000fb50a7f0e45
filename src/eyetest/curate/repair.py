"""Mend what can be mended without touching a gold: repeats, malformed options, golds that crowd at one letter.

Nothing is invented and no gold is changed. An option goes only if it is a distractor and the item survives it; an
item goes only if it repeats another to the letter and shows the same pictures, so none goes where pictures are not
here; options change places only where no text depends on their order.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
import numpy as np

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.benchmarks.formats.support.vlmevalkit_cells import OPTIONS_UNIT
from eyetest.probes.duplicate_items import comparable, item_key
from eyetest.probes.option_order import can_reorder, empty_options, lost_options, repeated_options
from eyetest.probes.subject import Subject, by_option_count
from eyetest.records import Choice, Item, Lineage, letter


class Repair(msgspec.Struct, frozen=True, kw_only=True):
    """One change to one item."""

    item: str
    change: str
    detail: str


def repair_benchmark(
    benchmark: Benchmark, to: Path, *, rebalance: Iterable[int] = (), seed: int = 0, overwrite: bool = False
) -> list[Repair]:
    """Write a mended copy; ``rebalance`` names the numbers of options for which golds are spread anew."""
    repairs: list[Repair] = []
    kept = _without_repeats(list(benchmark), repairs)
    mended = [_without_bad_options(item, repairs) for item in kept]
    final = _spread_golds(mended, set(rebalance), Subject(benchmark, seed=seed).rng("repair"), repairs)
    changed = _by_item(repairs)
    if any(repair.change.startswith("options") for repair in repairs):
        final = [_in_our_spelling(item) for item in final]
    old = benchmark.manifest
    step = Lineage(step="repair", source=f"{old.name} {old.version}", note=_summary(repairs), seed=seed)
    manifest = msgspec.structs.replace(old, version=f"{old.version}+fixed", lineage=(*old.lineage, step))
    with BenchmarkWriter(to, manifest, overwrite=overwrite, gold_required=False) as writer:
        for item in final:
            if item.id in changed:
                note = "; ".join(f"{r.change}: {r.detail}" for r in changed[item.id])
                made = Lineage(step="repair", source=old.name, item=item.id, note=note, seed=seed)
                item = msgspec.structs.replace(item, lineage=(*item.lineage, made))  # noqa: PLW2901
            writer.adopt(item, benchmark)
    return repairs


def _without_repeats(items: Sequence[Item], repairs: list[Repair]) -> list[Item]:
    known = {item.id for item in comparable(items)}
    first: dict[tuple[object, ...], str] = {}
    kept = []
    for item in items:
        original = first.setdefault(item_key(item), item.id) if item.id in known else item.id
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
    """Move golds so that, for these numbers of options, every position has as many as the others, or one more."""
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
                placed[item.id] = _with_gold_at(item, target)
                moved = f"gold {letter(item.gold[0])} → {letter(target)}"
                repairs.append(Repair(item=item.id, change="options reordered", detail=moved))
    return [placed[item.id] for item in items]


def _with_gold_at(item: Item, target: int) -> Item:
    """The item with its gold at another position and the other options in their old order."""
    choices: list[Choice] = list(item.choices)
    choices.insert(target, choices.pop(item.gold[0]))
    return msgspec.structs.replace(item, choices=tuple(choices))


def _in_our_spelling(item: Item) -> Item:
    """Without the source's own way to write options: it would tell the items that were moved from the others."""
    rest = {unit: spelling for unit, spelling in item.spellings.items() if unit != OPTIONS_UNIT}
    return msgspec.structs.replace(item, spellings=rest)


def _by_item(repairs: Iterable[Repair]) -> dict[str, list[Repair]]:
    by_item: dict[str, list[Repair]] = {}
    for repair in repairs:
        by_item.setdefault(repair.item, []).append(repair)
    return by_item


def _summary(repairs: Sequence[Repair]) -> str:
    counted = Counter(repair.change for repair in repairs)
    return ", ".join(f"{count} {change}" for change, count in counted.items()) or "nothing to mend"
