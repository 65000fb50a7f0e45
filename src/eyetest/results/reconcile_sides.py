"""The two sides of a reconciliation as accounts: a run read by a rule set, or the file of another tool."""

import string
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError, listed, nearest, param, short
from eyetest.measures.results import PROTOCOL, READ, TESTS, Wanted
from eyetest.records import GIVEN, Asked, Choice, Condition, Item, Response, columns, letter, tag_word
from eyetest.records.tables import failure_notice
from eyetest.results.reconcile import Account, Credit, Reader, Reconciled, reconciled
from eyetest.results.reconcile_published import Categories, ExplainedNumber, Published, categories_of, explained
from eyetest.results.scores import (
    answers_of,
    benchmark_of,
    chosen_benchmark,
    holds,
    provenance,
    read_provenance,
    scores_of,
    table_path,
)
from eyetest.runs import Run
from eyetest.runs.answer_values import is_absent, plain, score
from eyetest.runs.importing import AnswerFile, FieldMap, items_by_position
from eyetest.runs.layouts import as_rows, at
from eyetest.runs.stored import one_line_if_damaged
from eyetest.scoring import Scorer
from eyetest.scoring.rules import RULE_SETS
from eyetest.scoring.scorer import score_table
from eyetest.tabular.files import is_excel, read_rows, was_cut
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
    .then(pl.lit("none"))
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
        texts = answers.select(*_KEY, "text").cast({pl.Categorical: pl.String})
        return scores.collect().join(texts, on=_KEY, how="left", maintain_order="left")


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
    fields: Sequence[str] = ()
    where: Sequence[tuple[str, Sequence[str]]] = ()
    model: Sequence[str] = ()
    rules: str | None = None


def account_of_file(side: FileSide, items: Mapping[str, Item] | None = None) -> Account:
    """The file's own scores where it has them and no rules are named; else the rules' scores of its replies."""
    source = AnswerFile(path=side.path, fields=FieldMap(columns={"given": ("",)}))
    ids = None if items is None else dict.fromkeys(items, ())
    credits_, columns, scorer, excel = list[Credit](), dict[str, str](), None, is_excel(side.path)
    for location, row in as_rows(read_rows(side.path), source, items_by_position(ids)):
        if not columns:
            columns = _columns(side, row)
            by_rules = side.rules not in (None, GIVEN) or "given" not in columns
            scorer = Scorer(side.rules or "eyetest") if by_rules else None
        if any(name in row and plain(row[name]) not in values for name, values in side.where):
            continue
        values = {field: row[name] for field, name in columns.items() if not is_absent(row.get(name))}
        if side.model and "model" in columns and plain(values.get("model")) not in side.model:
            continue
        try:
            name = plain(values.get("item")) or short(row.get("item"))
            item = (items or {}).get(name) or _item_in(row, name, plain(values.get("gold")))
            text = str(values["text"]) if "text" in values else None
            credit = Credit(
                item=name,
                group=plain(values.get("model")),
                text=text,
                failed=text is not None and failure_notice(text) != "",
                truncated=excel and text is not None and was_cut(text),
                gold=gold_word(item) or None,
                options=len(item.choices),
            )
            credits_.append(_given(credit, item, values) if scorer is None else _by_rules(credit, item, scorer))
        except InputError as error:
            raise InputError(f"{side.path.name} {at(location)}: {error}") from None
    if not credits_:
        raise InputError(f"{side.path} has no rows of that kind; see {param('model')} and {param('where')}")
    name = side.path.name if scorer is None else f"{side.path.name} by {scorer.rules.name}"
    return Account(name, tuple(credits_))


def _columns(side: FileSide, row: Values) -> dict[str, str]:
    """Which column of a file holds which field, by its first row."""
    named = dict(parse_pairs(side.fields, f"{param('map')} takes FIELD=COLUMN, such as given=hit"))
    for field, column in named.items():
        refuse_unknown_field(field, "map", FIELDS)
        if column not in row:
            raise InputError(f'{side.path}: no column "{column}"; {nearest(column, list(row))}')
    usual = {field: next((name for name in names if name in row), "") for field, names in FIELDS.items()}
    columns = {field: name for field, name in (usual | named).items() if name}
    if "item" not in columns:
        raise InputError(f"{side.path}: no column for the item; say {param('map', 'item=COLUMN')}")
    if "given" not in columns and "doc_id" in row:  # the only metric of a log of samples
        metrics = [name for name, value in row.items() if name not in _LMMS_OWN and _verdict(value) is not None]
        if len(metrics) > 1:
            names, fix = ", ".join(metrics[:5]), param("map", f"given={metrics[0]}")
            raise InputError(f"{side.path} has several metrics ({names}); say {fix}")
        columns = columns | ({"given": metrics[0]} if metrics else {})
    if side.rules == GIVEN and "given" not in columns:
        raise InputError(f"{side.path}: no column for its scores; say {param('map', 'given=COLUMN')}")
    return columns


def _by_rules(credit: Credit, item: Item, scorer: Scorer) -> Credit:
    """A row as rules count it."""
    if credit.text is None or credit.failed:
        return credit._replace(failed=True)
    scored = scorer.score(item, Condition(), Response(request="", outcome="answered", text=credit.text))
    is_read = scored.reading in ("chosen", "text")
    return credit._replace(
        reading=scored.choice,
        reader="rules" if is_read else "none",
        kind="" if is_read else scored.reading or "",
        score=None if scored.score is None else exact(scored.score),
        by_text=scored.reading == "text",
    )


def _given(credit: Credit, item: Item, values: Values) -> Credit:
    """A row as the file counts it."""
    worth, read, gold = _verdict(values.get("given")) or (None, None, None)
    read = values.get("reading") if read is None else read
    gold = values.get("gold") if gold is None else gold
    reader, word = _reader(values.get("log"), credit.text, None if read is None else _letter(read, item))
    right = credit.gold if gold is None else _letter(gold, item)
    if word is None and worth == 1 and len(right or "") == 1:
        word = right  # a hit without a reading was read as the gold
    return credit._replace(reading=word, reader=reader, gold=right, score=worth)


def _reader(log: Any, text: str | None, word: str | None) -> tuple[Reader, str | None]:
    """What decided: VLMEvalKit's log states it, other tools' readings are by their rules."""
    if log is None:
        return ("unknown" if word is None else "none" if word in _NO_OPTION else "rules"), word or None
    log = str(log)
    if _GUESSED in log:
        return "guess", word
    if _NOT_MATCHED in log or word in _NO_OPTION:
        return "none", None
    matched = log.removeprefix(_MATCHED).removesuffix(". ").removesuffix(".").strip()
    own = (text or "").strip().removesuffix(".")
    return ("rules" if not log.startswith(_MATCHED) or matched == own else "judge"), word


def _letter(value: Any, item: Item) -> str:
    """An answer as a letter: alone, in brackets, as an option's text or its position."""
    if type(value) is int and 0 <= value < len(item.choices):
        return letter(value)
    word = plain(value).strip()
    bare = word.strip("().")
    if len(bare) == 1 and bare.upper() in string.ascii_uppercase:
        return bare.upper()
    texts = [choice.text.casefold() for choice in item.choices]
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
    """The item from the row itself: options in the columns A, B … or in a list, the gold as a letter or a text."""
    letters = [mark for mark in string.ascii_uppercase if not is_absent(row.get(mark))]
    texts = [str(row[mark]) for mark in letters]
    if not letters:
        places = [place for place in (row, row.get("doc")) if isinstance(place, dict)]
        lists = (place.get(name) for place in places for name in ("options", "choices"))
        texts = [str(option) for option in next((found for found in lists if isinstance(found, list)), ())]
        letters = list(string.ascii_uppercase)
    bare = gold.strip().strip("().")
    choices = tuple(Choice(text, mark == bare or text == gold) for mark, text in zip(letters, texts, strict=False))
    return Item(id=id_, question="", choices=choices, references=() if choices or not gold else (gold,))


Explanation = tuple[Reconciled | ExplainedNumber, tuple[tuple[str, Reconciled], ...], tuple[str, ...]]
"""A gap and its causes; by model and condition, where there are several; and notes."""


class Sides:
    """The two sides, runs or files of answers, scored when they are needed."""

    def __init__(
        self,
        places: Sequence[Run | Path],
        rules: Sequence[str | None],
        fields: Sequence[str],
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
        file = FileSide(place, self._fields, self._where, self._models)
        items = self.items
        return [account_of_file(file._replace(rules=name or None), items) for name in rules]

    def _run(self, run: Run) -> RunSide:
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
