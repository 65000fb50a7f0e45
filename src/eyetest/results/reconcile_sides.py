"""The sides of a reconciliation as accounts: runs by a rule set, and other tools' files, imported as runs."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError, counted, listed, nearest, param, short
from eyetest.grammar import Filter, Filterable, read_filters, read_names, refuse_unknown
from eyetest.measures.results import PROTOCOL, READ, TESTS
from eyetest.records import GIVEN, Asked, columns, letter
from eyetest.records.notices import failure_notice
from eyetest.results.joining import bring_answers
from eyetest.results.reconcile import (
    Account,
    Credit,
    Published,
    Reckoning,
    Reconciled,
    explained,
    paired_by_order,
    reconciled,
)
from eyetest.results.scores import answers_of, benchmark_of, chosen_benchmark, scores_of
from eyetest.runs import Run
from eyetest.runs.importing import AnswerFile, FieldMap
from eyetest.runs.layouts import first_rows
from eyetest.runs.mapping import ALIASES
from eyetest.runs.stored import one_line_if_damaged
from eyetest.scoring import RULE_SETS, Scorer

_KEY = columns(Asked)
_NO_REPLY = ("failed", "blocked")
_IS_NOTICE = pl.col("text").map_elements(failure_notice, pl.String) != ""
_GIVEN_COLUMNS = (
    *(pl.lit(None, pl.String).alias(name) for name in ("reading", "choice")),
    *(pl.lit(GIVEN).alias(name) for name in ("rule", "metric")),
    pl.col("given").alias("score"),
    pl.when(_IS_NOTICE).then(pl.lit("failed")).otherwise("outcome").alias("outcome"),
)  # given scores, as columns of scores; the reading is unknown, and a notice of a failed call may have a score
_IS_UNREAD = ~pl.col("reading").is_in(READ)
_READER = (
    pl.when(pl.col("rule").is_null() | (pl.col("rule") == GIVEN))
    .then(pl.lit("unknown"))
    .when(pl.col("rule").str.ends_with(" judge"))
    .then(pl.lit("judge"))
    .when(_IS_UNREAD)
    .then(pl.lit("none"))
    .otherwise(pl.lit("rules"))
)


class Selection(NamedTuple):
    """Which answers of a run count: of some models, and with some values of other columns."""

    models: Sequence[str] = ()
    where: Sequence[str] | Mapping[str, Any] = ()
    """Words of a user, or columns with their values."""

    def conditions(self, run: Run, answers: pl.DataFrame) -> list[pl.Expr]:
        """The selection as conditions on the columns of a run; a value that no answer has is refused."""
        names = read_names(self.models, "model", run.manifest.models)
        for name in names:
            if name not in run.manifest.models:
                near = nearest(name, run.manifest.models)
                raise InputError(f"{run.path} has no answers of {short(name)}; {near}")
        filters = [*([Filter("model", names, "model")] if names else []), *self._filters(answers)]
        return [pl.col(column).cast(pl.String).is_in(list(values)) for column, values, _ in filters]

    def _filters(self, answers: pl.DataFrame) -> list[Filter]:
        if not isinstance(self.where, Mapping):
            return read_filters(self.where, Filterable(_KEY, cache(partial(_values, answers)), "where", "axis"))
        filters = []
        for column, given in self.where.items():
            refuse_unknown(column, "where", _KEY, "axis")
            words = [str(value) for value in (given if isinstance(given, list | tuple | set) else [given])]
            for word in words:
                refuse_unknown(word, "where", _values(answers, column), column)
            filters.append(Filter(column, words))
        return filters


def _values(answers: pl.DataFrame, column: str) -> set[str]:
    """The values of a column, as a user writes them."""
    return {*answers.get_column(column).cast(pl.String).drop_nulls()}


class RunSide:
    """The selected answers of a run, and the golds of its items: read once for all rule sets."""

    def __init__(
        self, run: Run, benchmark: Benchmark, only: Selection, tell: Callable[[str], None] = lambda line: None
    ) -> None:
        self._run, self._benchmark, self._tell = run, benchmark, tell
        with one_line_if_damaged(run.path):
            answers = answers_of(run, benchmark).collect().cast({pl.Categorical: pl.String})
        self._wanted = only.conditions(run, answers)
        self._answers = answers.filter(*self._wanted)
        if self._answers.is_empty():
            raise InputError(f"{run.path} has no answers of that kind; see {param('model')} and {param('where')}")
        rows = [
            (item.id, " ".join(map(letter, item.gold)) or " | ".join(item.references) or None, len(item.choices))
            for item in benchmark
        ]
        schema = {"item": pl.String, "gold": pl.String, "options": pl.Int64}
        self._golds = pl.DataFrame(rows, schema=schema, orient="row")

    def account(self, rules: str) -> Account:
        """The answers as counted by a rule set, or by given scores (``given``)."""
        with one_line_if_damaged(self._run.path):
            return Account(f"{self._run.path.name} by {rules}", _credits(self._rows(rules), self._golds))

    def _rows(self, rules: str) -> pl.DataFrame:
        """Answers with their scores."""
        answers = self._answers
        if rules == GIVEN:
            return answers.with_columns(_GIVEN_COLUMNS)
        scorer = Scorer(rules, rescore_given=answers.get_column("given").is_not_null().any())
        scores = scores_of(self._run, self._benchmark, scorer, self._tell)[0].filter(*self._wanted)
        return scores.collect().join(answers.select(*_KEY, "text"), on=_KEY, how="left", maintain_order="left")


def _credits(rows: pl.DataFrame, golds: pl.DataFrame) -> tuple[Credit, ...]:
    """Rows of scores, with their texts, as credits; groups are named by the axes in which they differ."""
    axes = ["model", *(axis for axis in PROTOCOL if rows.get_column(axis).n_unique() > 1)]
    found = rows.join(golds, on="item", how="left", maintain_order="left").select(
        "item",
        pl.concat_str(axes, separator=" ").alias("group"),
        "text",
        pl.col("outcome").is_in(_NO_REPLY).alias("failed"),
        (pl.col("outcome") == "truncated").alias("truncated"),
        pl.col("choice").alias("reading"),
        _READER.alias("reader"),
        "gold",
        "score",
        pl.col("options").fill_null(0),
        pl.concat_str(TESTS, separator=" ").alias("test"),
        pl.when(_IS_UNREAD).then("reading").otherwise(pl.lit("")).alias("kind"),
        pl.col("reading").eq_missing("text").alias("by_text"),
    )
    columns_ = {name: found.get_column(name).to_list() for name in Credit._fields}
    columns_["score"] = [None if score is None else Fraction(score) for score in columns_["score"]]
    return tuple(map(Credit, *columns_.values()))


VERDICTS = (GIVEN, "hit", "score", "correct", "is_correct", "if_right", "true_false", "exact_match", "acc")
"""The columns in which tools write their scores."""


@dataclass
class Sides:
    """What is compared, and how files are read; ``folder`` takes the runs that are made of files."""

    places: Sequence[Run | Path]
    bench: Benchmark | None
    only: Selection
    fields: dict[str, str]
    folder: Path
    tell: Callable[[str], None]
    _opened: dict[tuple[Path, bool], RunSide] = field(default_factory=dict)

    def _account(self, side: int, rules: str | None) -> Account:
        """One side by a rule set or by given scores; where none is named, a file by its own scores."""
        place = self.places[side]
        rules = rules or ("eyetest" if isinstance(place, Run) else GIVEN)
        own = rules == GIVEN
        key = (place.path, True) if isinstance(place, Run) else (place, own)
        if key not in self._opened:
            run = place if isinstance(place, Run) else self._imported(place, own=own)
            benchmark = self._benchmark(place if isinstance(place, Run) else None)
            self._opened[key] = RunSide(run, benchmark, self.only, self.tell)
        return self._opened[key].account(rules)

    def _benchmark(self, run: Run | None) -> Benchmark:
        """The benchmark of a run; for a file the one that was named, or that of the run on the other side."""
        run = run or next((place for place in self.places if isinstance(place, Run)), None)
        if run is not None:
            return benchmark_of(run, self.bench or chosen_benchmark(run))
        if self.bench is None:
            raise InputError(
                f"{self.places[0]} does not say what benchmark it is about; name it with {param('bench')}"
            )
        return self.bench

    def _imported(self, path: Path, *, own: bool) -> Run:
        """The answers of another tool's file as a run: with its own scores, also of failed calls, or without them."""
        names = {name for row in first_rows(path) for name in row}
        verdict = self.fields.get(GIVEN) or next((name for name in VERDICTS if name in names), "")
        if own and not verdict:
            hint = f"name it with {param('map', f'{GIVEN}=COLUMN')}, or name the rules that count"
            raise InputError(f"{path}: no column for its scores; {hint}")
        mapped = {**self.fields, GIVEN: verdict if own else ""}
        constants = {"outcome": "answered"} if own and "outcome" not in names else {}
        if "model" not in mapped and not {"model", *ALIASES["model"]} & {*names}:
            constants["model"] = self.only.models[0] if self.only.models else path.stem
        to = self.folder / ("own" if own else "read") / path.name
        source = AnswerFile(path=path, fields=FieldMap(columns=mapped, constants=constants))
        bring_answers(source, to, self._benchmark(None))
        return Run(to)

    def explain(self, *rules: str | None) -> tuple[Reconciled, tuple[str, ...]]:
        """The gap between both sides, over the models that both have; one each is the same one, whatever its name."""
        a, b = (self._account(side, name) for side, name in enumerate(rules))
        if len(a.groups) == len(b.groups) == 1:
            b = b._replace(credits=tuple(row._replace(group=a.groups[0]) for row in b.credits))
        shared = {*a.groups} & {*b.groups}
        if not shared:
            ours, theirs = (listed(map(short, side.groups)) for side in (a, b))
            choice = f"choose one with {param('model', 'NAME')}"
            raise InputError(f"{a.name} has {ours}; {b.name} has {theirs}: nothing in common; {choice}")
        left = sorted({*a.groups, *b.groups} - shared)
        a, b = (side._replace(credits=tuple(row for row in side.credits if row.group in shared)) for side in (a, b))
        notes = [f"only one side has {listed(left)}, which is left out"] if left else []
        if several := paired_by_order(a, b):
            notes.append(f"several replies to {counted(several, 'question')} are paired in the order of their files")
        return reconciled(a, b), tuple(notes)

    def explain_number(
        self, number: Published, usual: str | None, named: str | None
    ) -> tuple[Reconciled, list[Reckoning], tuple[str, ...]]:
        """The gap between the first side and a published number, by the named rule set or by any."""
        ours = self._account(0, usual)
        if len(groups := ours.groups) > 1:
            choice = f"choose one with {param('model', 'NAME')} or {param('where', 'ask=cot')}"
            raise InputError(f"{number.text} is one score, and here are {len(groups)}: {listed(groups)}; {choice}")
        has_options = any(credit.options for credit in ours.credits)
        every = [*RULE_SETS] if has_options else ["eyetest"]  # a metric compares texts, whatever the rules
        accounts = {rules: self._account(0, rules) for rules in ([named] if named else every)}
        if named is None and (given := self._given()) is not None:
            accounts[GIVEN] = given
        accounts = {rules: account for rules, account in accounts.items() if account.counted}
        if not accounts:
            raise InputError(f"{ours.name}: nothing to count: neither options to read replies by, nor scores")
        found, ways = explained(ours, accounts, number)
        giving, of = sum(bool(way.reached) for way in ways), f"of {len(ways)} ways of counting"
        several = f"{giving} {of} give {number.text}: the number alone does not show which it was"
        none = f"none {of} gives {number.text}; the nearest is shown"
        return found, ways, () if giving == 1 else (several if giving else none,)

    def _given(self) -> Account | None:
        """The scores that came along, where every answer has one."""
        with suppress(InputError):  # a file without scores
            given = self._account(0, GIVEN)
            return given if given.counted == len(given.credits) else None
        return None
