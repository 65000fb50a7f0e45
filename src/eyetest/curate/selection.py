"""Choose items by quota, tags or models' training data, from seed and ids alone, never the pool's order. Quotas are
exact (fractions); ties go by rank, then by name.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache, partial
from hashlib import blake2b
from typing import NamedTuple
from unicodedata import normalize

import msgspec

from eyetest.errors import InputError, counted, heading, listed, nearest, short
from eyetest.grammar import Filterable, read_filters
from eyetest.records import VALUES_BETWEEN, Item, ModelEntry, Select, joined_words

Rank = Callable[[str], tuple[int, ...]]  # which of several equal claims comes first: the one with the smallest rank
Values = tuple[str, ...]  # a cell of a table of several tags: its value of each
Rule = Callable[[Mapping[str, int], int, Rank], dict[str, int]]  # how to split a total: `even` or `proportional`


def largest_remainder(
    weights: Mapping[str, int], total: int, capacity: Mapping[str, int] | None = None, rank: Rank | None = None
) -> dict[str, int]:
    """Split ``total`` in proportion to ``weights``; what a pool cannot hold goes to the others."""
    limit = {name: min(total, capacity[name]) if capacity is not None else total for name in weights}
    taken = dict.fromkeys(weights, 0)
    rest = sorted((name for name in weights if weights[name]), key=lambda name: Fraction(limit[name], weights[name]))
    left, weight = min(total, sum(limit[name] for name in rest)), sum(weights.values())
    full = 0
    for name in rest:
        if left * weights[name] < limit[name] * weight:
            break
        taken[name] = limit[name]
        left, weight, full = left - limit[name], weight - weights[name], full + 1
    remainder = {}
    for name in rest[full:]:
        taken[name], remainder[name] = divmod(left * weights[name], weight)
    still_to_give = left - sum(taken[name] for name in remainder)
    first = sorted(remainder, key=lambda name: (-remainder[name], rank(name) if rank else (), name))
    for name in first[:still_to_give]:
        taken[name] += 1
    return taken


def even(capacities: Mapping[str, int], total: int, rank: Rank | None = None) -> dict[str, int]:
    """Equal numbers from each pool, or one more; pools that hold fewer are emptied."""
    return largest_remainder(dict.fromkeys(capacities, 1), total, capacities, rank)


def proportional(capacities: Mapping[str, int], total: int, rank: Rank | None = None) -> dict[str, int]:
    """Numbers from each pool in proportion to its size."""
    return largest_remainder(capacities, total, capacities, rank)


def draw(seed: int, *key: str) -> int:
    """A pseudo-random number of a key that depends on the seed, and never on other keys."""
    text = "\x1f".join((str(seed), *key))
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest())


class Nesting:
    """Splits totals over cells, tag by tag; remainders go to the value with least around and before, then by seed."""

    def __init__(self, rules: Sequence[Rule], seed: int) -> None:
        self._rules, self._seed = rules, seed
        self._given: Counter[tuple[Values, int, str]] = Counter()

    def split(self, capacities: Mapping[Values, int], total: int, inside: Values = ()) -> dict[Values, int]:
        """Numbers from each cell; ``inside`` is the cell that contains this table, such as ``("math",)``."""
        taken: dict[Values, int] = {}
        self._split(dict(sorted(capacities.items())), total, inside, taken)
        return taken

    def _split(
        self, cells: Mapping[Values, int], total: int, inside: Values, taken: dict[Values, int], depth: int = 0
    ) -> None:
        if depth == len(self._rules):
            taken.update({cell: min(total, capacity) for cell, capacity in cells.items()})
            return
        parts: dict[str, dict[Values, int]] = {}
        for cell, capacity in cells.items():
            parts.setdefault(cell[depth], {})[cell] = capacity
        around = [inside[:length] for length in range(len(inside) - 1, -1, -1)]

        def rank(value: str) -> tuple[int, ...]:
            return (*(self._given[outer, depth, value] for outer in around), draw(self._seed, *inside, value))

        sizes = self._rules[depth]({value: sum(part.values()) for value, part in parts.items()}, total, rank)
        for value, part in parts.items():
            for outer in around:
                self._given[outer, depth, value] += sizes[value]
            self._split(part, sizes[value], (*inside, value), taken, depth + 1)


_SEPARATORS = re.compile(r"[\s_\-\u2010-\u2015]+")


class Candidate(msgspec.Struct, frozen=True):
    """An item as a selection sees it."""

    id: str
    tags: Mapping[str, str]

    def values(self, tag: str) -> list[str]:
        """The values of a tag, several where it is a list; an empty one where the item lacks it."""
        return self.tags.get(tag, "").split(VALUES_BETWEEN)


class Unmet(NamedTuple):
    """A quota for which there were too few items."""

    quota: str
    asked: int
    left: int

    @property
    def line(self) -> str:
        """What is missing."""
        are = "is" if self.left == 1 else "are"
        short_of = f"{self.left:,} {are} left, {self.asked - self.left:,} short"
        return f"cannot take {self.asked:,} of {self.quota}: {short_of}"


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """The items taken, in the order of the pool, and the reasons for their numbers."""

    ids: tuple[str, ...]
    unmet: tuple[Unmet, ...]
    untagged: dict[str, int]  # how many items lack a tag that is used. They count as having the value ""


class CannotMeet(InputError):  # noqa: N818 (says what is missing; nothing went wrong)
    """The pool is too small for a quota."""


def candidate(item: Item) -> Candidate:
    """An item by its tags."""
    return Candidate(item.id, joined_words(item.tags))


def select(items: Sequence[Candidate], selection: Select, seed: int) -> Chosen:
    """Choose at random, or raise `CannotMeet`."""
    if selection.fraction is not None:
        total = max(1, round(selection.fraction * len(items)))
        selection = msgspec.structs.replace(selection, fraction=None, total=total)
    for name, times in Counter(item.id for item in items).most_common(1):
        if times > 1:
            raise InputError(f"item {short(name)} is in the pool {times} times")
    check_tags(items, selection.tags)
    pools = by_value(items, selection.per) if selection.per else {"": list(items)}
    asked = _asked({value: len(pool) for value, pool in pools.items()}, selection, seed)
    unmet = list(_unmet(pools, asked, selection))
    if unmet and selection.short == "refuse":
        others = f"; and {len(unmet) - 1} more" if len(unmet) > 1 else ""
        raise CannotMeet(f"{unmet[0].line}{others}")
    nesting = Nesting([even] * len(selection.balance) + [proportional] * len(selection.proportional), seed)
    taken: set[str] = set()
    for value, pool in pools.items():
        cells: dict[Values, list[str]] = {}
        for item in pool:
            path = tuple(item.values(tag)[0] for tag in (*selection.balance, *selection.proportional))
            cells.setdefault(path, []).append(item.id)
        counts = {path: len(ids) for path, ids in cells.items()}
        sizes = nesting.split(counts, min(asked[value], len(pool)), inside=(value,))
        for path, ids in cells.items():
            taken.update(sorted(ids, key=lambda name: (draw(seed, name), name))[: sizes[path]])
    lacking = Counter(
        tag for pool in pools.values() for item in pool for tag in selection.tags if not item.tags.get(tag)
    )
    return Chosen(
        ids=tuple(item.id for item in items if item.id in taken),
        unmet=tuple(unmet),
        untagged={tag: lacking[tag] for tag in selection.tags if lacking[tag]},
    )


def by_value(items: Iterable[Candidate], tag: str, *, every: bool = False) -> dict[str, list[Candidate]]:
    """Items by their value of a tag, of a list the first or ``every``, sorted; ``""`` for those that lack it."""
    pools: dict[str, list[Candidate]] = {}
    for item in items:
        for value in item.values(tag)[: None if every else 1]:
            pools.setdefault(value, []).append(item)
    return dict(sorted(pools.items()))


def check_tags(items: Sequence[Candidate], tags: Iterable[str]) -> None:
    """Refuse a tag that no item has: it is probably misspelt."""
    for tag in tags:
        if items and not any(tag in item.tags for item in items):
            known = {name for item in items for name in item.tags}
            raise InputError(f"no item has a tag {short(tag)}; {nearest(tag, known) if known else 'none has any'}")


def _asked(capacities: Mapping[str, int], selection: Select, seed: int) -> dict[str, int]:
    """The size of each quota; a total is spread evenly over them."""
    if selection.total is None or not selection.per:
        return dict.fromkeys(capacities, selection.count or selection.total or 0)
    return even(capacities, selection.total, lambda value: (draw(seed, value),))


def _unmet(pools: Mapping[str, Sequence[Candidate]], asked: Mapping[str, int], selection: Select) -> Iterator[Unmet]:
    """Quotas that cannot be met."""
    there = sum(map(len, pools.values()))
    if selection.per and selection.total is not None and there < selection.total:
        yield Unmet("all items", selection.total, there)
    elif not pools:
        yield Unmet(f"each {selection.per}", selection.count or 0, 0)
    for value, pool in pools.items():
        if len(pool) < asked[value]:
            text = repr(value)[1:-1]
            quoted = f'{selection.per} "{text if len(text) <= 60 else text[:59] + "…"}"'
            yield Unmet(quoted if selection.per else "all items", asked[value], len(pool))


def only_with(items: Sequence[Candidate], words: Sequence[str]) -> list[Candidate]:
    """The items that have, for each tag that ``TAG=A,B`` names, one of the values."""
    tags = {tag for item in items for tag in item.tags}
    filters = read_filters(words, Filterable(tags, cache(partial(_values, items)), "only", "tag"))
    kept = [item for item in items if all({*item.values(tag)} & {*values} for tag, values, _ in filters)]
    for tag, values, _ in filters:
        for value in values:
            if value not in _values(kept, tag):
                rest = [f"{other}={','.join(names)}" for other, names, _ in filters if other != tag]
                beside = f" and {listed(rest)}" if rest else ""
                raise InputError(f"{heading('only')}: no item has {tag}={value}{beside}; leave one of the two out")
    return kept


def _values(items: Sequence[Candidate], tag: str) -> set[str]:
    """The values of a tag among some items."""
    return {*by_value(items, tag, every=True)} - {""}


def unseen(
    items: Sequence[Candidate], entries: Mapping[str, ModelEntry], tag: str
) -> tuple[list[Candidate], list[str]]:
    """The items whose dataset, named by ``tag``, none of these models was trained on; and notes on the basis."""
    check_tags(items, [tag])
    pools = by_value(items, tag, every=True)
    untagged = len(pools.pop("", ()))
    trained: dict[str, dict[str, str]] = {}
    for model, entry in entries.items():
        for name in entry.trained_on:
            trained.setdefault(plain_name(name), {})[model] = name
    gone = {dataset: trained[plain_name(dataset)] for dataset in pools if plain_name(dataset) in trained}
    notes = [
        f"{counted(len(pools[dataset]), 'item')} of {dataset} left out: {listed(list(by))} trained on it"
        for dataset, by in gone.items()
    ]
    here = {plain_name(dataset): dataset for dataset in pools}
    for plain, by in trained.items():
        if plain not in here:
            notes.append(f"{listed(list(by))} trained on {next(iter(by.values()))}, which is not in this benchmark")
    if undeclared := [model for model, entry in entries.items() if not entry.trained_on]:
        notes.append(f"{listed(undeclared)}: nothing is known of what they were trained on (trained_on:)")
    if untagged:
        notes.append(f"{counted(untagged, 'item')} without the tag {tag} kept")
    return [item for item in items if gone.keys().isdisjoint(item.values(tag))], notes


def plain_name(name: str) -> str:
    """A dataset's name in any spelling: ``OK-VQA``, ``ok_vqa`` and ``OK VQA`` are one."""
    folded = normalize("NFKC", name).casefold()
    return _SEPARATORS.sub("", folded) or folded
