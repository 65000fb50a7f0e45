"""The two sides of a reconciliation as accounts: a run read by a rule set, or the file of another tool."""

import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError, nearest, param, short
from eyetest.measures.results import PROTOCOL, READ, TESTS
from eyetest.records import GIVEN, Asked, Choice, Condition, Item, columns, letter
from eyetest.records.notices import failure_notice
from eyetest.results.reconcile import Account, Credit, Reader
from eyetest.results.scores import answers_of, holds, provenance, read_provenance, scores_of, table_path
from eyetest.runs import Run
from eyetest.runs.importing import AnswerFile, FieldMap
from eyetest.runs.importing.bringing import items_by_position
from eyetest.runs.importing.layouts import as_rows, at
from eyetest.runs.importing.values import is_absent, plain, score
from eyetest.runs.stored import one_line_if_damaged
from eyetest.scoring import Said, Scorer
from eyetest.scoring.scorer import score_table
from eyetest.tabular.excel import was_cut
from eyetest.tabular.files import is_excel, read_rows
from eyetest.tabular.table import Values, parse_pairs, refuse_unknown_field

_KEY = columns(Asked)
_NO_REPLY = ("failed", "blocked")
_GIVEN_COLUMNS = (
    *(pl.lit(None, pl.String).alias(name) for name in ("reading", "choice")),
    *(pl.lit(GIVEN).alias(name) for name in ("rule", "metric")),
    pl.col("given").alias("score"),
)  # given scores, as columns of scores; the reading is unknown
_IS_UNREAD = ~pl.col("reading").is_in(READ)
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
    """The selected answers of a run, and its items: read once for all rule sets."""

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
        """The answers as counted by a rule set, or by given scores (``given``)."""
        with one_line_if_damaged(self._run.path):
            return Account(f"{self._run.path.name} by {rules}", _credits(self._rows(rules), self._golds))

    @cached_property
    def _golds(self) -> pl.DataFrame:
        """Each item's gold and number of options."""
        rows = [(name, gold_word(item) or None, len(item.choices)) for name, item in self.items.items()]
        return pl.DataFrame(rows, {"item": pl.String, "gold": pl.String, "options": pl.Int64}, orient="row")

    def _rows(self, rules: str) -> pl.DataFrame:
        """Answers with their scores; the run's own table of scores is used, or made, where all of it is wanted."""
        answers = self._answers
        if rules == GIVEN:
            return answers.with_columns(_GIVEN_COLUMNS).cast({pl.Categorical: pl.String})
        scorer = Scorer(rules, rescore_given=answers.get_column("given").is_not_null().any())
        made = read_provenance(table_path(self._run, self._benchmark, scorer)) if self._wanted else None
        is_scored = made and holds(made, provenance(self._run, self._benchmark, scorer), self._run.path)
        if self._wanted and not is_scored:  # for a part of a run, not all of it is scored
            scores = score_table(answers.lazy(), self.items.values(), scorer)
        else:
            scores = scores_of(self._run, self._benchmark, scorer, self._tell)[0].filter(*self._wanted)
        said = answers.select(*_KEY, "text").cast({pl.Categorical: pl.String})
        return scores.collect().join(said, on=_KEY, how="left", maintain_order="left")


def gold_word(item: Item) -> str:
    """The gold in a word: letters, or the reference texts."""
    return " ".join(map(letter, item.gold)) if item.choices else " | ".join(item.references)


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
    columns_["score"] = [None if score is None else exact(score) for score in columns_["score"]]
    return tuple(map(Credit, *columns_.values()))


@lru_cache(maxsize=1_000)
def exact(score: float) -> Fraction:
    """A score as a fraction; equal ones are one object, for fast counting."""
    return Fraction(score)


def only_these(model: Sequence[str], where: Sequence[tuple[str, Sequence[str]]], run: Run) -> list[pl.Expr]:
    """The selected answers of a run, as conditions on its columns."""
    known = list(run.manifest.models)
    for name in model:
        if name not in known:
            raise InputError(f"{run.path} has no answers of {short(name)}; {nearest(name, known)}")
    for column, _ in where:
        if column not in _KEY:
            raise InputError(f"{param('where')}: {short(column)} is no axis of a run; {nearest(column, _KEY)}")
    wanted = [*([("model", model)] if model else []), *where]
    return [pl.col(column).cast(pl.String).is_in(list(values)) for column, values in wanted]


FIELDS: dict[str, tuple[str, ...]] = {
    "item": ("item", "index", "id", "question_id", "doc_id", "pid", "item_id"),
    "model": ("model",),
    "text": ("text", "prediction", "response", "raw_output", "output"),
    "given": ("given", "hit", "score", "correct", "if_right", "is_correct", "true_false"),
    "reading": ("reading", "extracted", "extracted_answer", "parsed_pred", "pred_indexs", "choice"),
    "gold": ("gold", "answer", "target"),
    "log": ("log",),
}
"""What an account needs of a row, and the names of its columns in tools."""
_LMMS_OWN = frozenset(
    {"doc_id", "doc", "target", "arguments", "input", "resps", "filtered_resps", "filter", "metrics"}
    | {"doc_hash", "prompt_hash", "target_hash", "item", "text", "sample", "token_counts"}
)  # what lmms-eval's log says of a row besides its metrics
_GUESSED = "randomly generate"
_NOT_MATCHED = "Failed in Prefetch"
_MATCHED = "Match Log: "
_NO_OPTION = ("Z", "")  # what VLMEvalKit writes where a reply names no option


class FileSide(NamedTuple):
    """A file, and the user's settings for it."""

    path: Path
    letter: str = "a"  # the side, as in its options' names
    fields: Sequence[str] = ()
    where: Sequence[tuple[str, Sequence[str]]] = ()
    model: Sequence[str] = ()
    rules: str | None = None

    @property
    def option(self) -> str:
        """The parameter that names its columns."""
        return f"map_{self.letter}"


def account_of_file(side: FileSide, items: Mapping[str, Item] | None = None) -> Account:
    """The file's own scores where it has them and no rules are named; else the rules' scores of its replies."""
    source = AnswerFile(path=side.path, fields=FieldMap(columns={"given": ("",)}))
    ids = None if items is None else dict.fromkeys(items, ())
    rows = as_rows(read_rows(side.path), source, items_by_position(ids))
    credits_, columns = [], _FileColumns(side)
    for location, row in rows:
        if not columns.wants(row):
            continue
        try:
            credits_.append(_FileRow(columns, row, items or {}, is_excel(side.path)).credit())
        except InputError as error:
            raise InputError(f"{side.path.name} {at(location)}: {error}") from None
    if not credits_:
        raise InputError(f"{side.path} has no rows of that kind; see {param('model')} and {param('where')}")
    name = side.path.name if columns.scorer is None else f"{side.path.name} by {columns.scorer.rules.name}"
    return Account(name, tuple(credits_))


class _FileColumns:
    """Which column of a file holds what; found at its first row."""

    def __init__(self, side: FileSide) -> None:
        self._side = side
        self._named = dict(parse_pairs(side.fields, f"{param(side.option)} takes FIELD=COLUMN, such as given=hit"))
        for field in self._named:
            refuse_unknown_field(field, side.option, FIELDS)
        self.at: dict[str, str] = {}
        self.scorer: Scorer | None = None

    def wants(self, row: Values) -> bool:
        """Whether a row counts for the account."""
        if not self.at:
            self._find(row)
        side = self._side
        for column, values in side.where:
            if column in row and plain(row[column]) not in values:
                return False
        return not side.model or "model" not in self.at or plain(row.get(self.at["model"])) in side.model

    def value(self, row: Values, field: str) -> Any:
        """A row's value in a field; None where it is empty."""
        value = row.get(self.at[field]) if field in self.at else None
        return None if is_absent(value) else value

    def _find(self, row: Values) -> None:
        option, rules = self._side.option, self._side.rules
        for column in self._named.values():
            if column not in row:
                raise InputError(f'{self._side.path}: no column "{column}"; {nearest(column, list(row))}')
        for field, names in FIELDS.items():
            found = [self._named[field]] if field in self._named else [name for name in names if name in row]
            if found:
                self.at[field] = found[0]
        if "item" not in self.at:
            raise InputError(f"{self._side.path}: no column for the item; say {param(option, 'item=COLUMN')}")
        if "given" not in self.at and "doc_id" in row:
            self._find_metric(row)
        if rules == GIVEN and "given" not in self.at:
            raise InputError(f"{self._side.path}: no column for its scores; say {param(option, 'given=COLUMN')}")
        if rules not in (None, GIVEN) or "given" not in self.at:
            self.scorer = Scorer(rules or "eyetest")

    def _find_metric(self, row: Values) -> None:
        """The only metric of a log of samples; of several, the user has to name one."""
        metrics = [name for name, value in row.items() if name not in _LMMS_OWN and _verdict(value) is not None]
        if len(metrics) > 1:
            names, fix = ", ".join(metrics[:5]), param(self._side.option, f"given={metrics[0]}")
            raise InputError(f"{self._side.path} has several metrics ({names}); say {fix}")
        if metrics:
            self.at["given"] = metrics[0]


class _FileRow:
    """A row of a file, in our terms."""

    def __init__(self, columns: _FileColumns, row: Values, items: Mapping[str, Item], excel: bool) -> None:
        self._columns, self._row, self._excel = columns, row, excel
        self._id = plain(columns.value(row, "item")) or short(row.get("item"))
        self._item = items.get(self._id) or _item_in(row, self._id, plain(columns.value(row, "gold")))

    def credit(self) -> Credit:
        """The row as the file or the rules count it."""
        value = self._columns.value
        text = value(self._row, "text")
        text = None if text is None else str(text)
        credit = Credit(
            item=self._id,
            group=plain(value(self._row, "model")),
            text=text,
            failed=text is not None and failure_notice(text) != "",
            truncated=self._excel and text is not None and was_cut(text),
            gold=gold_word(self._item) or None,
            options=len(self._item.choices),
        )
        return self._given(credit) if self._columns.scorer is None else self._read(credit, self._columns.scorer)

    def _read(self, credit: Credit, scorer: Scorer) -> Credit:
        if credit.text is None or credit.failed:
            return credit._replace(failed=True)
        scored = scorer.score(self._item, Condition(), Said("answered", credit.text))
        is_read = scored.reading in ("chosen", "text")
        return credit._replace(
            reading=scored.choice,
            reader="rules" if is_read else "nobody",
            kind="" if is_read else scored.reading or "",
            score=None if scored.score is None else exact(scored.score),
            by_text=scored.reading == "text",
        )

    def _given(self, credit: Credit) -> Credit:
        given = self._columns.value(self._row, "given")
        worth, read, gold = _verdict(given) or (None, None, None)
        read = self._columns.value(self._row, "reading") if read is None else read
        gold = gold if gold is not None else self._columns.value(self._row, "gold")
        word = None if read is None else self._letter(read)
        reader, word = self._reader(credit.text, word)
        right = credit.gold if gold is None else self._letter(gold)
        if word is None and worth == 1 and len(right or "") == 1:
            word = right  # a hit without a reading was read as the gold
        return credit._replace(reading=word, reader=reader, gold=right, score=worth)

    def _reader(self, text: str | None, word: str | None) -> tuple[Reader, str | None]:
        """What decided: VLMEvalKit's log says so, other tools' readings are by their rules."""
        log = self._columns.value(self._row, "log")
        if log is None:
            return ("unknown" if word is None else "nobody" if word in _NO_OPTION else "rules"), word or None
        words = str(log)
        if _GUESSED in words:
            return "guess", word
        if _NOT_MATCHED in words or word in _NO_OPTION:
            return "nobody", None
        matched = words.removeprefix(_MATCHED).removesuffix(". ").removesuffix(".").strip()
        own = (text or "").strip().removesuffix(".")
        return ("rules" if not words.startswith(_MATCHED) or matched == own else "judge"), word

    def _letter(self, value: Any) -> str:
        """An answer as a letter: alone, in brackets, as an option's text or its position."""
        choices = self._item.choices
        if type(value) is int and 0 <= value < len(choices):
            return letter(value)
        word = plain(value).strip()
        bare = word.strip("().")
        if len(bare) == 1 and bare.upper() in string.ascii_uppercase:
            return bare.upper()
        texts = [choice.text.casefold() for choice in choices]
        return letter(texts.index(word.casefold())) if word.casefold() in texts else word


def _verdict(value: Any) -> tuple[Fraction | None, Any, Any] | None:
    """A score, with reading and gold where present: a number, or an object of lmms-eval's."""
    if isinstance(value, dict):
        read, gold = value.get("parsed_pred", value.get("pred")), value.get("answer", value.get("gt"))
        for name in ("score", "correct", "hit", "acc"):
            if name in value:
                worth = _verdict(value[name])
                return None if worth is None else (worth[0], read, gold)
        if read is None or gold is None:
            return None
        return exact(str(read) == str(gold)), read, gold
    try:
        number = score(value)
    except InputError:
        return None
    return None if number is None else (exact(number), None, None)


def _item_in(row: Values, id_: str, gold: str) -> Item:
    """The item from the row itself: options in the columns A, B …, the gold as a letter or a text."""
    letters = [mark for mark in string.ascii_uppercase if not is_absent(row.get(mark))]
    texts = [str(row[mark]) for mark in letters] or list(_options_in(row))
    letters = letters or list(string.ascii_uppercase[: len(texts)])
    bare = gold.strip().strip("().")
    choices = tuple(Choice(text, mark == bare or text == gold) for mark, text in zip(letters, texts, strict=True))
    return Item(id=id_, question="", choices=choices, references=() if choices or not gold else (gold,))


def _options_in(row: Values) -> Iterable[str]:
    """A list of options, also inside the ``doc`` of a log."""
    doc = row.get("doc")
    for place in (row, doc if isinstance(doc, dict) else {}):
        for name in ("options", "choices"):
            if isinstance(place.get(name), list):
                return [str(option) for option in place[name]][: len(string.ascii_uppercase)]
    return ()
