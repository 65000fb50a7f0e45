"""A run as an account: read by a rule set, or with the scores that others gave."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError, nearest, param, short
from eyetest.measures.results import PROTOCOL, TESTS
from eyetest.records import GIVEN, Asked, Item, columns, letter
from eyetest.results.provenance import holds, provenance, read_provenance
from eyetest.results.reconcile.credits import Account, Credit, Reader
from eyetest.results.scores import answers_of, scores_of, table_path
from eyetest.runs import Run
from eyetest.runs.stored import one_line_if_damaged
from eyetest.scoring import Scorer
from eyetest.scoring.scorer import score_table

_KEY = columns(Asked)
_UNREAD = ("refused", "ambiguous", "unparsed")
_NO_REPLY = ("failed", "blocked")
_GIVEN_COLUMNS = (
    *(pl.lit(None, pl.String).alias(name) for name in ("reading", "choice")),
    *(pl.lit(GIVEN).alias(name) for name in ("rule", "metric")),
    pl.col("given").alias("score"),
)
"""Scores that others gave, as columns of scores; what was read is not known."""
Golds = Mapping[str, tuple[str, int]]
"""Of each item what is right, and how many options it has."""


def accounts_of_run(
    run: Run,
    benchmark: Benchmark,
    rules: Sequence[str],
    wanted: Sequence[pl.Expr] = (),
    tell: Callable[[str], None] = lambda line: None,
) -> list[Account]:
    """What each rule set, or whoever gave the scores (``given``), counts the answers of a run as."""
    golds = golds_of(benchmark)
    with one_line_if_damaged(run.path):
        answers = answers_of(run, benchmark).filter(*wanted).collect()
        if answers.is_empty():
            raise InputError(f"{run.path} has no answers of that kind; see {param('model')} and {param('where')}")
        return [
            Account(name, tuple(credits_of(_rows(run, benchmark, name, (answers, wanted), tell), golds)))
            for name in rules
        ]


def _rows(
    run: Run,
    benchmark: Benchmark,
    rules: str,
    those: tuple[pl.DataFrame, Sequence[pl.Expr]],
    tell: Callable[[str], None],
) -> pl.DataFrame:
    """Answers with their scores; the run's own table of scores is taken, or made, where all of it is wanted."""
    answers, wanted = those
    if rules == GIVEN:
        return answers.with_columns(_GIVEN_COLUMNS).cast({pl.Categorical: pl.String})
    scorer = Scorer(rules, rescore_given=answers.get_column("given").is_not_null().any())
    if wanted and not _is_scored(run, benchmark, scorer):
        scores = score_table(answers.lazy(), benchmark, scorer)
    else:
        scores = scores_of(run, benchmark, scorer, tell)[0].filter(*wanted)
    said = answers.select(*_KEY, "text").cast({pl.Categorical: pl.String})
    return scores.collect().join(said, on=_KEY, how="left", maintain_order="left")


def _is_scored(run: Run, benchmark: Benchmark, scorer: Scorer) -> bool:
    """Whether the run holds these scores as it is now; a part of a run is not worth scoring all of it."""
    made = read_provenance(table_path(run, benchmark, scorer))
    return made is not None and holds(made, provenance(run, benchmark, scorer), run.path)


def golds_of(items: Iterable[Item]) -> Golds:
    """What is right, as letters, or as the reference texts."""
    return {item.id: (gold_word(item), len(item.choices)) for item in items}


def gold_word(item: Item) -> str:
    """The gold in one word: letters, or the reference texts."""
    return " ".join(map(letter, item.gold)) if item.choices else " | ".join(item.references)


def credits_of(rows: pl.DataFrame, golds: Golds) -> Iterable[Credit]:
    """Rows of scores, with their texts, as credits."""
    groups = rows.select("model", *PROTOCOL).unique().rows()
    names = _group_names(groups)
    for row in rows.iter_rows(named=True):
        gold, options = golds.get(row["item"], (None, 0))
        yield Credit(
            item=row["item"],
            group=names[tuple(row[axis] for axis in ("model", *PROTOCOL))],
            text=row["text"],
            failed=row["outcome"] in _NO_REPLY,
            truncated=row["outcome"] == "truncated",
            reading=row["choice"],
            reader=_reader(row),
            kind=row["reading"] if row["reading"] in _UNREAD else "",
            gold=gold or None,
            score=None if row["score"] is None else exact(row["score"]),
            options=options,
            test=" ".join(str(row[axis]) for axis in TESTS),
            by_text=row["reading"] == "text",
        )


@lru_cache(maxsize=1_000)
def exact(score: float) -> Fraction:
    """A score as a fraction; equal ones are one object, which makes counting them quick."""
    return Fraction(score)


def _reader(row: Mapping[str, Any]) -> Reader:
    if row["rule"] == GIVEN or row["rule"] is None:
        return "unknown"
    if row["rule"].endswith(" judge"):
        return "judge"
    return "nobody" if row["reading"] in _UNREAD else "rules"


def _group_names(groups: Sequence[tuple[Any, ...]]) -> dict[tuple[Any, ...], str]:
    """A name for each model and condition: the words in which they differ."""
    telling = [0, *(i for i in range(1, len(PROTOCOL) + 1) if len({group[i] for group in groups}) > 1)]
    return {group: " ".join(str(group[i]) for i in telling) for group in groups}


def only_these(model: Sequence[str], where: Sequence[tuple[str, Sequence[str]]], run: Run) -> list[pl.Expr]:
    """Which answers of a run are wanted, as conditions on its columns."""
    known = list(run.manifest.models)
    for name in model:
        if name not in known:
            raise InputError(f"{run.path} has no answers of {short(name)}; {nearest(name, known)}")
    for column, _ in where:
        if column not in _KEY:
            raise InputError(f"{param('where')}: {short(column)} is no axis of a run; {nearest(column, _KEY)}")
    wanted = [*([("model", model)] if model else []), *where]
    return [pl.col(column).cast(pl.String).is_in(list(values)) for column, values in wanted]
