"""A run as an account: read by a rule set, or with the scores that others gave."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache

import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError, nearest, param, short
from eyetest.measures.results import PROTOCOL, TESTS
from eyetest.records import GIVEN, Asked, Item, columns, letter
from eyetest.results.provenance import holds, provenance, read_provenance
from eyetest.results.reconcile.credits import Account, Credit
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
_IS_UNREAD = pl.col("reading").is_in(_UNREAD)
_READER = (
    pl.when(pl.col("rule").is_null() | (pl.col("rule") == GIVEN))
    .then(pl.lit("unknown"))
    .when(pl.col("rule").str.ends_with(" judge"))
    .then(pl.lit("judge"))
    .when(_IS_UNREAD)
    .then(pl.lit("nobody"))
    .otherwise(pl.lit("rules"))
)


class RunSide:
    """The answers of a run that are wanted, and its items: read once, however many rule sets count them."""

    def __init__(
        self,
        run: Run,
        benchmark: Benchmark,
        wanted: Sequence[pl.Expr] = (),
        tell: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._run, self._benchmark, self._wanted, self._tell = run, benchmark, wanted, tell
        self.items = {item.id: item for item in benchmark}
        with one_line_if_damaged(run.path):
            self._answers = answers_of(run, benchmark).filter(*wanted).collect()
        if self._answers.is_empty():
            raise InputError(f"{run.path} has no answers of that kind; see {param('model')} and {param('where')}")

    def account(self, rules: str) -> Account:
        """What a rule set, or whoever gave the scores (``given``), counts the answers as."""
        with one_line_if_damaged(self._run.path):
            return Account(f"{self._run.path.name} by {rules}", _credits(self._rows(rules), self._golds))

    @cached_property
    def _golds(self) -> pl.DataFrame:
        """Of each item what is right, and how many options it has."""
        rows = [(name, gold_word(item) or None, len(item.choices)) for name, item in self.items.items()]
        return pl.DataFrame(rows, {"item": pl.String, "gold": pl.String, "options": pl.Int64}, orient="row")

    def _rows(self, rules: str) -> pl.DataFrame:
        """Answers with their scores; the run's own table of scores is taken, or made, where all of it is wanted."""
        answers = self._answers
        if rules == GIVEN:
            return answers.with_columns(_GIVEN_COLUMNS).cast({pl.Categorical: pl.String})
        scorer = Scorer(rules, rescore_given=answers.get_column("given").is_not_null().any())
        if self._wanted and not self._is_scored(scorer):
            scores = score_table(answers.lazy(), self.items.values(), scorer)
        else:
            scores = scores_of(self._run, self._benchmark, scorer, self._tell)[0].filter(*self._wanted)
        said = answers.select(*_KEY, "text").cast({pl.Categorical: pl.String})
        return scores.collect().join(said, on=_KEY, how="left", maintain_order="left")

    def _is_scored(self, scorer: Scorer) -> bool:
        """Whether the run holds these scores as it is now; a part of a run is not worth scoring all of it."""
        made = read_provenance(table_path(self._run, self._benchmark, scorer))
        return made is not None and holds(made, provenance(self._run, self._benchmark, scorer), self._run.path)


def gold_word(item: Item) -> str:
    """The gold in one word: letters, or the reference texts."""
    return " ".join(map(letter, item.gold)) if item.choices else " | ".join(item.references)


def _credits(rows: pl.DataFrame, golds: pl.DataFrame) -> tuple[Credit, ...]:
    """Rows of scores, with their texts, as credits; made by columns, as there may be many."""
    found = rows.join(golds, on="item", how="left", maintain_order="left").select(
        "item",
        pl.concat_str(_telling_axes(rows), separator=" ").alias("group"),
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
    columns_["score"] = [None if score is None else exact(score) for score in columns_["score"]]
    return tuple(map(Credit, *columns_.values()))


def _telling_axes(rows: pl.DataFrame) -> list[str]:
    """What a model and condition is called by: the words in which they differ."""
    return ["model", *(axis for axis in PROTOCOL if rows.get_column(axis).n_unique() > 1)]


@lru_cache(maxsize=1_000)
def exact(score: float) -> Fraction:
    """A score as a fraction; equal ones are one object, which makes counting them quick."""
    return Fraction(score)


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
