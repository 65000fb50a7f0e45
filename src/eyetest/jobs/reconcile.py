"""Two scores of one run held against each other, or one against a number that was published."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import polars as pl

from eyetest.errors import InputError, param, short
from eyetest.jobs.measure import Where, find_benchmark, wanted
from eyetest.jobs.opening import AnyRun, Bench, observer, open_bench, open_run, several
from eyetest.jobs.views import card, words_of
from eyetest.measures.results import Wanted
from eyetest.records import GIVEN, Item, tag_word
from eyetest.results.reconcile import Account, Reconciled, causes_table, groups_table, items_table, points, reconciled
from eyetest.results.reconcile_published import (
    Categories,
    ExplainedNumber,
    Published,
    categories_of,
    explained,
    read_published,
    ways_table,
)
from eyetest.results.reconcile_sides import FileSide, RunSide, account_of_file, only_these
from eyetest.runs import Run, is_run
from eyetest.scoring.rules import RULE_SETS
from eyetest.store.urls import local_path
from eyetest.wording import listed


@dataclass(frozen=True, repr=False)
class GapTable:
    """A gap between two scores, and what every point of it comes from.

    >>> told = et.reconcile("run", "run", rules_b="mmmu", model="squinter", where={"sight": "image"})
    >>> round(sum(told.frame["points"]), 9) == round(told.gap, 9)
    True
    """

    told: Reconciled | ExplainedNumber
    by_group: tuple[tuple[str, Reconciled], ...] = ()
    """Of each model and condition, where there are several."""
    notes: tuple[str, ...] = ()

    @property
    def gap(self) -> float:
        """B less A, in points."""
        return points(self.told.gap)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """One row a cause; the points sum to the gap."""
        return causes_table(self.told.causes)

    @cached_property
    def items(self) -> pl.DataFrame:
        """One row for each item and cause, with what either side read."""
        return items_table(self.told.shares)

    @cached_property
    def groups(self) -> pl.DataFrame:
        """One row a model and condition, where there are several."""
        return groups_table(self.by_group)

    @cached_property
    def ways(self) -> pl.DataFrame:
        """Against a published number: every way of counting that was tried, the likeliest first."""
        told = self.told
        return ways_table(told.ways, told.number.value) if isinstance(told, ExplainedNumber) else pl.DataFrame()

    def __repr__(self) -> str:
        head = f"gap {self.gap:+.2f} points"
        lines = [f"{row['cause']}: {row['points']:+.2f} ({row['rows']:,} rows)" for row in self.frame.to_dicts()]
        return "\n".join([head, *lines, *(f"note: {line}" for line in self.notes)])

    def _repr_html_(self) -> str:
        return card("reconciliation", words_of(self.frame), self.notes, sentences=[f"gap {self.gap:+.2f} points"])


def reconcile(
    a: AnyRun,
    b: AnyRun | float,
    *,
    rules_a: str | None = None,
    rules_b: str | None = None,
    map_a: str | Sequence[str] = (),
    map_b: str | Sequence[str] = (),
    bench: Bench | None = None,
    model: str | Sequence[str] = (),
    where: Where = (),
) -> GapTable:
    """Attribute every point between two scores of one run to items and causes.

    ``a`` and ``b`` are runs or files of other tools; ``b`` may be a published number, as ``54.0`` or ``"698/1730"``.
    ``rules_a`` and ``rules_b`` read the replies by a rule set, ``"given"`` takes the scores that came along; with a
    number, ``rules_b`` keeps to ways of counting by those rules. ``map_a`` and ``map_b`` name columns of a file
    (``"given=hit"``).

    >>> told = et.reconcile("run", "run", rules_b="mmmu")
    >>> told.groups["group"].n_unique()
    6
    """
    columns_of: list[list[str]] = [several(map_a), several(map_b)]
    sides = _Sides((a, b), (rules_a, rules_b), columns_of, several(model), wanted(where), bench)
    if not _is_there(a):
        raise InputError(f"{short(str(a))} is neither a run nor a file")
    number = None if _is_there(b) else read_published(str(b))
    if number is None and not _is_there(b):
        raise InputError(f"{short(str(b))} is neither a run, a file nor a score such as 54.0 or 698/1730")
    if number is not None:
        return _against_number(sides, number)
    ours, theirs = (sides.account(side) for side in range(2))
    ours, theirs, notes = _same_groups(ours, theirs)
    names = list(dict.fromkeys(credit.group for credit in ours.credits))
    groups = [(name, reconciled(ours.only(name), theirs.only(name))) for name in names] if len(names) > 1 else []
    return GapTable(reconciled(ours, theirs), tuple(groups), notes)


class _Sides:
    """The two things that a user points at, opened when they are needed."""

    def __init__(
        self,
        places: Sequence[AnyRun | float],
        rules: Sequence[str | None],
        fields: Sequence[Sequence[str]],
        models: Sequence[str],
        where: list[Wanted],
        bench: Bench | None,
    ) -> None:
        for name in rules:
            if name not in (None, GIVEN):
                RULE_SETS[name]  # an unknown name ends here, before anything is scored
        self._places: list[Run | Path] = [_opened(place) for place in places]
        self._rules, self._fields, self._models, self._where = rules, fields, models, where
        self._named = None if bench is None else open_bench(bench)
        self._runs: dict[Path, RunSide] = {}

    def account(self, side: int, rules: str | None = None) -> Account:
        """One side by its own rules, or by others."""
        return self.accounts(side, [rules or self._rules[side] or ""])[0]

    def accounts(self, side: int, rules: Sequence[str]) -> list[Account]:
        """One side by several rule sets; the empty name is the usual one."""
        place = self._places[side]
        if isinstance(place, Run):
            run = self._run(place)
            return [run.account(name or "eyetest") for name in rules]
        file = FileSide(place, "ab"[side], self._fields[side], self._where, self._models)
        items = self.items
        return [account_of_file(file._replace(rules=name or None), items) for name in rules]

    def _run(self, run: Run) -> RunSide:
        """A run on either side, or on both."""
        if run.path not in self._runs:
            benchmark = find_benchmark(run, self._named)
            those = only_these(self._models, self._where, run)
            self._runs[run.path] = RunSide(run, benchmark, those, observer().busy)
        return self._runs[run.path]

    def own(self, known: Mapping[str, Account]) -> Account:
        """The first side as it is usually counted, out of what is known of it already where that is in there."""
        usual = self._rules[0] or ("eyetest" if isinstance(self._places[0], Run) else "")
        return known[usual] if usual in known else self.account(0)

    @cached_property
    def items(self) -> Mapping[str, Item] | None:
        """The items, by the benchmark that was named, or by that of a run on either side."""
        run = next((place for place in self._places if isinstance(place, Run)), None)
        if run is not None:
            return self._run(run).items
        return None if self._named is None else {item.id: item for item in self._named}

    def by_rules(self) -> dict[str, Account]:
        """The first side by every rule set, or by the one that was named for the number, and as others scored it."""
        named, is_run = self._rules[1], isinstance(self._places[0], Run)
        names = [*RULE_SETS, *([GIVEN] if is_run else [])] if named is None else [named]
        accounts = dict(zip(names, self.accounts(0, names), strict=True))
        if not is_run and named is None:
            with suppress(InputError):  # a file without scores
                accounts[GIVEN] = self.account(0, GIVEN)
        given = accounts.pop(GIVEN, None)
        accounts = {name: account for name, account in accounts.items() if account.counted}
        if not any(credit.options for account in accounts.values() for credit in account.credits):
            accounts = dict(list(accounts.items())[:1])  # texts are compared by a metric, whatever the rules
        if given is not None and given.counted == len(given.credits):
            accounts[GIVEN] = given
        if not accounts:
            raise InputError(f"{self._places[0]}: nothing to count: neither options to read replies by, nor scores")
        return accounts


def _is_there(place: AnyRun | float) -> bool:
    return isinstance(place, Run) or local_path(str(place)).exists()


def _opened(place: AnyRun | float) -> Run | Path:
    if isinstance(place, Run):
        return place
    path = local_path(str(place))
    return open_run(path) if is_run(path) else path


def _against_number(sides: _Sides, number: Published) -> GapTable:
    accounts = sides.by_rules()
    ours = sides.own(accounts)
    groups = list(dict.fromkeys(credit.group for credit in ours.credits))
    if len(groups) > 1:
        mend = f"say {param('model', 'NAME')} or {param('where', 'ask=cot')}"
        raise InputError(f"{number.text} is one score, and here are {len(groups)}: {listed(groups)}; {mend}")
    items = sides.items or {}
    here = [credit.item for credit in ours.credits]
    told = explained(ours, accounts, _categories(items, here), number)
    return GapTable(told, notes=_honest(told))


def _categories(items: Mapping[str, Item], here: Sequence[str]) -> Categories:
    tags: dict[str, dict[str, str]] = {}
    for name in here:
        if name not in items:
            return {}
        for tag, value in items[name].tags.items():
            if (word := tag_word(value)) is not None:
                tags.setdefault(tag, {})[name] = word
    return categories_of(tags, here)


def _honest(told: ExplainedNumber) -> tuple[str, ...]:
    """What a number alone cannot say."""
    giving = sum(bool(way.reached) for way in told.ways)
    if not giving:
        return (f"none of {len(told.ways)} ways of counting gives {told.number.text}; the nearest is shown",)
    if giving == 1:
        return ()
    return (
        f"{giving} of {len(told.ways)} ways give {told.number.text}: the number alone does not tell which it was",
    )


def _same_groups(ours: Account, theirs: Account) -> tuple[Account, Account, tuple[str, ...]]:
    """Both accounts with the models that both have; one each is the same one, whatever it is called."""
    names = [list(dict.fromkeys(credit.group for credit in side.credits)) for side in (ours, theirs)]
    if len(names[0]) == len(names[1]) == 1:
        renamed = tuple(credit._replace(group=names[0][0]) for credit in theirs.credits)
        return ours, theirs._replace(credits=renamed), ()
    shared = set(names[0]) & set(names[1])
    if not shared:
        said = [
            f"{side.name} has {listed([short(name) for name in of])}"
            for side, of in zip((ours, theirs), names, strict=True)
        ]
        raise InputError(f"{'; '.join(said)}: nothing in common; choose one with {param('model', 'NAME')}")
    kept = [
        side._replace(credits=tuple(credit for credit in side.credits if credit.group in shared))
        for side in (ours, theirs)
    ]
    left = sorted({*names[0], *names[1]} - shared)
    notes = (f"only one side has {listed(left)}, which is left out",) if left else ()
    return kept[0], kept[1], notes
