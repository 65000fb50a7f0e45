"""Another tool's file as an account: its own readings and scores, or its replies read by one of our rule sets."""

import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from eyetest.errors import InputError, nearest, param, short
from eyetest.records import GIVEN, Choice, Condition, Item, letter
from eyetest.results.reconcile.credits import Account, Credit, Reader
from eyetest.results.reconcile.from_run import exact, gold_word
from eyetest.runs.importing import AnswerFile, FieldMap
from eyetest.runs.importing.bringing import items_by_position
from eyetest.runs.importing.layouts import as_rows, at
from eyetest.runs.importing.values import is_absent, is_failure_notice, plain, score
from eyetest.scoring import Said, Scorer
from eyetest.tabular.excel import was_cut
from eyetest.tabular.files import is_excel, read_rows
from eyetest.tabular.table import Values, parse_pairs, refuse_unknown_field

FIELDS: dict[str, tuple[str, ...]] = {
    "item": ("item", "index", "id", "question_id", "doc_id", "pid", "item_id"),
    "model": ("model",),
    "text": ("text", "prediction", "response", "raw_output", "output"),
    "given": ("given", "hit", "score", "correct", "if_right", "is_correct", "true_false"),
    "reading": ("reading", "extracted", "extracted_answer", "parsed_pred", "pred_indexs", "choice"),
    "gold": ("gold", "answer", "target"),
    "log": ("log",),
}
"""What an account needs of a row, and the columns in which tools have it."""
_LMMS_OWN = frozenset(
    {"doc_id", "doc", "target", "arguments", "input", "resps", "filtered_resps", "filter", "metrics"}
    | {"doc_hash", "prompt_hash", "target_hash", "item", "text", "trial", "token_counts"}
)
"""What lmms-eval's log says of a row besides its metrics."""
_GUESSED = "randomly generate"
_NOT_MATCHED = "Failed in Prefetch"
_MATCHED = "Match Log: "
_NO_OPTION = ("Z", "")
"""What VLMEvalKit writes where a reply names no option."""


class FileSide(NamedTuple):
    """A file, and what the user said about it."""

    path: Path
    letter: str = "a"
    """Which of the two it is, as its options are called."""
    fields: Sequence[str] = ()
    where: Sequence[tuple[str, Sequence[str]]] = ()
    model: Sequence[str] = ()
    rules: str | None = None

    @property
    def option(self) -> str:
        """The parameter that names its columns."""
        return f"map_{self.letter}"


def account_of_file(side: FileSide, items: Mapping[str, Item] | None = None) -> Account:
    """The file's own scores where it has them and no rules are named; else what rules make of its replies."""
    named = dict(_named(side))
    source = AnswerFile(path=side.path, fields=FieldMap(columns={"given": ("",)}))
    ids = None if items is None else dict.fromkeys(items, ())
    rows = as_rows(read_rows(side.path), source, items_by_position(ids))
    credits_, columns = [], _FileColumns(named, side)
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


def _named(side: FileSide) -> Iterator[tuple[str, str]]:
    takes = f"{param(side.option)} takes FIELD=COLUMN, such as given=hit"
    for field, column in parse_pairs(side.fields, takes):
        refuse_unknown_field(field, side.option, FIELDS)
        yield field, column


class _FileColumns:
    """Which column of a file holds what; found at its first row."""

    def __init__(self, named: Mapping[str, str], side: FileSide) -> None:
        self._named, self._side = named, side
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
        """What a row has in a field; None where it has nothing."""
        value = row.get(self.at[field]) if field in self.at else None
        return None if is_absent(value) else value

    def _find(self, row: Values) -> None:
        for column in self._named.values():
            if column not in row:
                raise InputError(f'{self._side.path}: no column "{column}"; {nearest(column, list(row))}')
        for field, names in FIELDS.items():
            found = [self._named[field]] if field in self._named else [name for name in names if name in row]
            if found:
                self.at[field] = found[0]
        if "item" not in self.at:
            raise InputError(f"{self._side.path}: no column for the item; say {self._mend('item=COLUMN')}")
        if "given" not in self.at and "doc_id" in row:
            self._find_metric(row)
        rules = self._side.rules
        if rules == GIVEN and "given" not in self.at:
            raise InputError(f"{self._side.path}: no column for its scores; say {self._mend('given=COLUMN')}")
        if rules not in (None, GIVEN) or "given" not in self.at:
            self.scorer = Scorer(rules or "eyetest")

    def _mend(self, word: str) -> str:
        return param(self._side.option, word)

    def _find_metric(self, row: Values) -> None:
        """The one metric of a log of samples; where there are several, the user has to say which."""
        metrics = [name for name, value in row.items() if name not in _LMMS_OWN and _verdict(value) is not None]
        if len(metrics) > 1:
            names = ", ".join(metrics[:5])
            mend = self._mend(f"given={metrics[0]}")
            raise InputError(f"{self._side.path} has several metrics ({names}); say {mend}")
        if metrics:
            self.at["given"] = metrics[0]


class _FileRow:
    """One row of a file, in our words."""

    def __init__(self, columns: _FileColumns, row: Values, items: Mapping[str, Item], excel: bool) -> None:
        self._columns, self._row, self._excel = columns, row, excel
        self._id = plain(columns.value(row, "item")) or short(row.get("item"))
        self._item = items.get(self._id) or _item_in(row, self._id, plain(columns.value(row, "gold")))

    def credit(self) -> Credit:
        """What the file counts this row as, or what rules do."""
        value = self._columns.value
        text = value(self._row, "text")
        text = None if text is None else str(text)
        credit = Credit(
            item=self._id,
            group=plain(value(self._row, "model")),
            text=text,
            failed=text is not None and is_failure_notice(text),
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
            word = right  # a hit that does not say what was read was read as the gold
        return credit._replace(reading=word, reader=reader, gold=right, score=worth)

    def _reader(self, text: str | None, word: str | None) -> tuple[Reader, str | None]:
        """Who decided: VLMEvalKit's log says so, other tools' readings are their rules'."""
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
        """An answer as a letter: by itself, in brackets, as an option's text or its position."""
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
    """A score, and what was read and held to be right where it is said: a number, or an object of lmms-eval's."""
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
    """The item as the row itself tells it: options in the columns A, B …, the gold as a letter or a text."""
    marks = [mark for mark in string.ascii_uppercase if not is_absent(row.get(mark))]
    texts = [str(row[mark]) for mark in marks] or list(_options_in(row))
    marks = marks or list(string.ascii_uppercase[: len(texts)])
    bare = gold.strip().strip("().")
    choices = tuple(Choice(text, mark == bare or text == gold) for mark, text in zip(marks, texts, strict=True))
    return Item(id=id_, question="", choices=choices, references=() if choices or not gold else (gold,))


def _options_in(row: Values) -> Iterable[str]:
    """A list of options, also inside the ``doc`` of a log."""
    doc = row.get("doc")
    for place in (row, doc if isinstance(doc, dict) else {}):
        for name in ("options", "choices"):
            if isinstance(place.get(name), list):
                return [str(option) for option in place[name]][: len(string.ascii_uppercase)]
    return ()
