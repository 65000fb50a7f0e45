"""Two scores of one run, opened and compared: by rule sets, with another tool's scores, with a published number."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError, param, short
from eyetest.measures.results import Wanted
from eyetest.records import GIVEN, Item, tag_word
from eyetest.results.reconcile import Account, Reconciled, reconciled
from eyetest.results.reconcile_published import Categories, ExplainedNumber, Published, categories_of, explained
from eyetest.results.reconcile_sides import FileSide, RunSide, account_of_file, only_these
from eyetest.results.scores import benchmark_of, chosen_benchmark
from eyetest.runs import Run
from eyetest.scoring.rules import RULE_SETS
from eyetest.wording import listed

Explanation = tuple[Reconciled | ExplainedNumber, tuple[tuple[str, Reconciled], ...], tuple[str, ...]]
"""A gap and its causes; by model and condition, where there are several; and notes."""


class Sides:
    """The two sides, runs or files of answers, scored when they are needed."""

    def __init__(
        self,
        places: Sequence[Run | Path],
        rules: Sequence[str | None],
        fields: Sequence[Sequence[str]],
        only: tuple[Sequence[str], list[Wanted]],
        bench: Benchmark | None,
        tell: Callable[[str], None],
    ) -> None:
        for name in rules:
            if name not in (None, GIVEN):
                RULE_SETS[name]  # an unknown name ends here, before anything is scored
        self._places, self._rules, self._fields, self._named, self._tell = places, rules, fields, bench, tell
        self._models, self._where = only
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
            benchmark = benchmark_of(run, self._named or chosen_benchmark(run))
            those = only_these(self._models, self._where, run)
            self._runs[run.path] = RunSide(run, benchmark, those, self._tell)
        return self._runs[run.path]

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

    def explain(self) -> Explanation:
        """The gap between both sides."""
        ours, theirs, notes = _same_groups(self.account(0), self.account(1))
        names = list(dict.fromkeys(credit.group for credit in ours.credits))
        groups = [(name, reconciled(ours.only(name), theirs.only(name))) for name in names] if len(names) > 1 else []
        return reconciled(ours, theirs), tuple(groups), notes

    def explain_number(self, number: Published) -> Explanation:
        """The gap between the first side and a published number."""
        accounts = self.by_rules()
        usual = self._rules[0] or ("eyetest" if isinstance(self._places[0], Run) else "")
        ours = accounts[usual] if usual in accounts else self.account(0)
        groups = list(dict.fromkeys(credit.group for credit in ours.credits))
        if len(groups) > 1:
            choice = f"choose one with {param('model', 'NAME')} or {param('where', 'ask=cot')}"
            raise InputError(f"{number.text} is one score, and here are {len(groups)}: {listed(groups)}; {choice}")
        here = [credit.item for credit in ours.credits]
        found = explained(ours, accounts, _categories(self.items or {}, here), number)
        giving, ways = sum(bool(way.reached) for way in found.ways), f"of {len(found.ways)} ways of counting"
        if giving == 1:
            return found, (), ()
        several = f"{giving} {ways} give {number.text}: the number alone does not show which it was"
        none = f"none {ways} gives {number.text}; the nearest is shown"
        return found, (), (several if giving else none,)


def _categories(items: Mapping[str, Item], here: Sequence[str]) -> Categories:
    tags: dict[str, dict[str, str]] = {}
    for name in here:
        if name not in items:
            return {}
        for tag, value in items[name].tags.items():
            if (word := tag_word(value)) is not None:
                tags.setdefault(tag, {})[name] = word
    return categories_of(tags, here)


def _same_groups(ours: Account, theirs: Account) -> tuple[Account, Account, tuple[str, ...]]:
    """Both accounts with the models that both have; one each is the same one, whatever it is called."""
    names = [list(dict.fromkeys(credit.group for credit in side.credits)) for side in (ours, theirs)]
    if len(names[0]) == len(names[1]) == 1:
        renamed = tuple(credit._replace(group=names[0][0]) for credit in theirs.credits)
        return ours, theirs._replace(credits=renamed), ()
    shared = set(names[0]) & set(names[1])
    if not shared:
        a, b = (listed(map(short, of)) for of in names)
        choice = f"choose one with {param('model', 'NAME')}"
        raise InputError(f"{ours.name} has {a}; {theirs.name} has {b}: nothing in common; {choice}")
    ours, theirs = (
        side._replace(credits=tuple(credit for credit in side.credits if credit.group in shared))
        for side in (ours, theirs)
    )
    left = sorted({*names[0], *names[1]} - shared)
    return ours, theirs, (f"only one side has {listed(left)}, which is left out",) if left else ()
