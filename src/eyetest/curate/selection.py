"""Choose items: by quota, so many of each kind; or those that are fair to some models, or of use to somebody.

How many are taken of a cell depends on the sizes of the pool and the seed; which ones, on the seed and their ids
alone, never on the order of the pool. So a pool that changes a little changes the selection a little.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple
from unicodedata import normalize

import msgspec

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.curate.quotas import Nesting, Values, draw, even, proportional
from eyetest.errors import InputError, nearest, short
from eyetest.records import Item, Lineage, ModelEntry, Select, tag_word

_SEPARATORS = re.compile(r"[\s_\-\u2010-\u2015]+")


class Candidate(msgspec.Struct, frozen=True):
    """What a selection sees of an item."""

    id: str
    tags: Mapping[str, str]


class QuotaCell(msgspec.Struct, frozen=True, kw_only=True):
    """Items of one quota that are alike in every tag of ``balance`` and ``proportional``; these are its values."""

    values: tuple[str, ...]
    available: int
    taken: int


class Quota(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked of one value of ``per``, and what became of it. ``cells`` is empty where nothing is spread."""

    value: str
    asked: int
    available: int
    taken: int
    cells: tuple[QuotaCell, ...] = ()


class Unmet(NamedTuple):
    """A quota for which there were too few items."""

    quota: str
    missing: int


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """The items that were taken, in the order of the pool, and why so many of each kind."""

    ids: tuple[str, ...]
    quotas: tuple[Quota, ...]
    unmet: tuple[Unmet, ...]
    untagged: dict[str, int]
    """How many items lack a tag that was looked at. They count as having the value ""."""
    seed: int


class CannotMeet(InputError):  # noqa: N818 (says what is missing; nothing went wrong)
    """The pool is too small for a quota."""

    def __init__(self, message: str, unmet: Iterable[Unmet]) -> None:
        super().__init__(message)
        self.unmet = tuple(unmet)


def candidate(item: Item, more: Mapping[str, str] | None = None) -> Candidate:
    """An item by its tags that hold one value, and by ``more`` that was found out since, such as its difficulty."""
    words = {tag: tag_word(value) for tag, value in item.tags.items()}
    own = {tag: word for tag, word in words.items() if word is not None}
    return Candidate(item.id, own | dict(more or {}))


def select(
    items: Sequence[Candidate], selection: Select, seed: int, worth: Mapping[str, float] | None = None
) -> Chosen:
    """Choose, or raise `CannotMeet` where there are too few items and the selection does not keep all then.

    ``worth``, by item: the best of each cell are taken instead of any.
    """
    if selection.fraction is not None:
        selection = msgspec.structs.replace(
            selection, fraction=None, total=max(1, round(selection.fraction * len(items)))
        )
    _refuse_twice(items)
    check_tags(items, selection.tags)
    pools = _pools(items, selection)
    asked = _asked({value: len(pool) for value, pool in pools.items()}, selection, seed)
    unmet = list(_unmet(pools, asked, selection, known=items))
    if unmet and selection.short == "refuse":
        others = f"; and {len(unmet) - 1} more" if len(unmet) > 1 else ""
        raise CannotMeet(f"{unmet[0][1]}{others}", (short_of for short_of, _ in unmet))
    nesting = Nesting([even] * len(selection.balance) + [proportional] * len(selection.proportional), seed)
    taken: set[str] = set()
    quotas = []
    for value, pool in pools.items():
        count = min(asked[value], len(pool))
        cells = _cells(pool, (*selection.balance, *selection.proportional))
        sizes = nesting.split({path: len(ids) for path, ids in cells.items()}, count, inside=(value,))
        for path, ids in cells.items():
            taken.update(_drawn(ids, sizes[path], seed, worth or {}))
        made_of = [
            QuotaCell(values=path, available=len(ids), taken=sizes[path]) for path, ids in cells.items() if path
        ]
        quotas.append(Quota(value=value, asked=asked[value], available=len(pool), taken=count, cells=tuple(made_of)))
    return Chosen(
        ids=tuple(item.id for item in items if item.id in taken),
        quotas=tuple(quotas),
        unmet=tuple(short_of for short_of, _ in unmet),
        untagged=_untagged(pools.values(), selection.tags),
        seed=seed,
    )


def by_value(items: Iterable[Candidate], tag: str) -> dict[str, list[Candidate]]:
    """Items by their value of a tag, sorted; ``""`` for those that lack it."""
    pools: dict[str, list[Candidate]] = {}
    for item in items:
        pools.setdefault(item.tags.get(tag, ""), []).append(item)
    return dict(sorted(pools.items()))


def check_tags(items: Sequence[Candidate], tags: Iterable[str]) -> None:
    """Refuse a tag that no item has: it is more likely misspelt than meant."""
    for tag in tags:
        if items and not any(tag in item.tags for item in items):
            known = {name for item in items for name in item.tags}
            raise InputError(f"no item has a tag {short(tag)}; {nearest(tag, known) if known else 'none has any'}")


def _pools(items: Sequence[Candidate], selection: Select) -> dict[str, list[Candidate]]:
    if not selection.per:
        return {"": list(items)}
    pools = by_value(items, selection.per)
    return {value: pools.get(value, []) for value in selection.values} if selection.values else pools


def _asked(capacities: Mapping[str, int], selection: Select, seed: int) -> dict[str, int]:
    """The size of each quota. Of a total, one that is empty gets nothing but is missed as if it had a usual share."""
    if selection.total is None or not selection.per:
        return dict.fromkeys(capacities, selection.count or selection.total or 0)
    divide = even if selection.share == "even" else proportional
    shares = divide(capacities, selection.total, lambda value: (draw(seed, value),))
    usual = max(1, selection.total // max(1, len(capacities)))
    return {value: shares[value] if capacities[value] else usual for value in capacities}


def _unmet(
    pools: Mapping[str, Sequence[Candidate]], asked: Mapping[str, int], selection: Select, known: Sequence[Candidate]
) -> Iterator[tuple[Unmet, str]]:
    """What cannot be met, each with the line that says so."""
    there = sum(map(len, pools.values()))
    if selection.per and selection.total is not None and there < selection.total:
        yield _too_few("all items", selection.total, there)
    elif not pools:
        yield _too_few(f"each {selection.per}", selection.count or 0, 0)
    for value, pool in pools.items():
        if len(pool) < asked[value]:
            name = f"{selection.per} {_quoted(value)}" if selection.per else "all items"
            unmet, line = _too_few(name, asked[value], len(pool))
            close = [] if pool else get_close_matches(value, by_value(known, selection.per), n=1)
            yield unmet, f"{line} (did you mean {_quoted(close[0])}?)" if close else line


def _too_few(quota: str, asked: int, left: int) -> tuple[Unmet, str]:
    are = "is" if left == 1 else "are"
    line = f"cannot take {asked:,} of {quota}: {left:,} {are} left, {asked - left:,} short"
    return Unmet(quota, asked - left), line


def _quoted(value: str) -> str:
    text = repr(value)[1:-1]
    return f'"{text if len(text) <= 60 else text[:59] + "…"}"'


def _cells(pool: Iterable[Candidate], tags: Sequence[str]) -> dict[Values, list[str]]:
    cells: dict[Values, list[str]] = {}
    for item in pool:
        cells.setdefault(tuple(item.tags.get(tag, "") for tag in tags), []).append(item.id)
    return dict(sorted(cells.items()))


def _drawn(ids: Sequence[str], count: int, seed: int, worth: Mapping[str, float]) -> Iterable[str]:
    if count == len(ids):
        return ids
    return sorted(ids, key=lambda one: (-worth.get(one, 0.0), draw(seed, one), one))[:count]


def _untagged(pools: Iterable[Sequence[Candidate]], tags: Sequence[str]) -> dict[str, int]:
    lacking = Counter(tag for pool in pools for item in pool for tag in tags if not item.tags.get(tag))
    return {tag: lacking[tag] for tag in tags if lacking[tag]}


def _refuse_twice(items: Sequence[Candidate]) -> None:
    for item, times in Counter(item.id for item in items).most_common(1):
        if times > 1:
            raise InputError(f"item {short(item)} is in the pool {times} times")


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A dataset that went, how many items it had, and the models that were trained on it."""

    dataset: str
    items: int
    models: tuple[str, ...]


class Unmatched(msgspec.Struct, frozen=True, kw_only=True):
    """Something that models were trained on and that is no dataset here. ``near`` has a name like it, if any has."""

    name: str
    models: tuple[str, ...]
    near: str = ""


class HeldOut(msgspec.Struct, frozen=True, kw_only=True):
    """Items that no compared model is known to have trained on, and what this rests on."""

    ids: tuple[str, ...]
    left_out: tuple[LeftOut, ...]
    unmatched: tuple[Unmatched, ...]
    undeclared: tuple[str, ...]
    """Models of which nothing says what they were trained on: nothing was left out because of them."""
    untagged: int
    """Items that were kept although nothing says which dataset they are from."""


def user_oriented(items: Sequence[Candidate], wanted: Mapping[str, Collection[str]]) -> tuple[str, ...]:
    """The items that have, of each of these tags, one of these values: ``{"dimension": ["CG"], "task": […]}``."""
    check_tags(items, wanted)
    for tag, values in wanted.items():
        known = set(by_value(items, tag)) - {""}
        for value in values:
            if value not in known:
                raise InputError(f"no item has the {tag} {short(value)}; {_nearest(value, known)}")
    kept = tuple(item.id for item in items if all(item.tags.get(tag, "") in wanted[tag] for tag in wanted))
    if not kept:
        asked = " and ".join(f"{tag} {' or '.join(map(short, values)) or 'none'}" for tag, values in wanted.items())
        raise InputError(f"no item has {asked or 'anything'}")
    return kept


def model_oriented(items: Sequence[Candidate], entries: Mapping[str, ModelEntry], tag: str = "source") -> HeldOut:
    """The items whose dataset, named by ``tag``, none of these models was trained on."""
    check_tags(items, [tag])
    pools = by_value(items, tag)
    untagged = len(pools.pop("", ()))
    trained: dict[str, dict[str, str]] = {}
    for model, entry in entries.items():
        for name in entry.trained_on:
            trained.setdefault(plain_name(name), {})[model] = name
    here = {plain_name(dataset): dataset for dataset in pools}
    left_out = [
        LeftOut(dataset=dataset, items=len(pool), models=tuple(trained[plain_name(dataset)]))
        for dataset, pool in pools.items()
        if plain_name(dataset) in trained
    ]
    gone = {dropped.dataset for dropped in left_out}
    return HeldOut(
        ids=tuple(item.id for item in items if item.tags.get(tag, "") not in gone),
        left_out=tuple(left_out),
        unmatched=tuple(
            Unmatched(name=next(iter(by.values())), models=tuple(by), near=_near(plain, here))
            for plain, by in trained.items()
            if plain not in here
        ),
        undeclared=tuple(model for model, entry in entries.items() if not entry.trained_on),
        untagged=untagged,
    )


def plain_name(name: str) -> str:
    """A dataset's name however it is written: ``OK-VQA``, ``ok_vqa`` and ``OK VQA`` are one."""
    folded = normalize("NFKC", name).casefold()
    return _SEPARATORS.sub("", folded) or folded


def _nearest(value: str, known: Collection[str]) -> str:
    alike = [name for name in sorted(known) if plain_name(name) == plain_name(value)]
    return f'did you mean "{alike[0]}"?' if alike else nearest(value, known)


def _near(plain: str, here: Mapping[str, str]) -> str:
    close = get_close_matches(plain, here, n=1)
    return here[close[0]] if close else ""


def write_part(
    benchmark: Benchmark, items: Iterable[Item], to: Path, about: tuple[str, str], *, overwrite: bool
) -> int:
    """Write some items as a benchmark with a name and a word on how they were chosen; gives how many there are."""
    old, (name, how) = benchmark.manifest, about
    made = Lineage(step="subset", source=f"{old.name} {old.version}", note=how)
    manifest = msgspec.structs.replace(old, name=name, lineage=(*old.lineage, made))
    with BenchmarkWriter(to, manifest, overwrite=overwrite, gold_required=False) as writer:
        for item in items:
            writer.adopt(item, benchmark)
    return writer.counts.items
