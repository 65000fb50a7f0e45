"""Which column holds what, what its values mean, and which columns look like unmapped conditions."""

import re
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

import msgspec

from eyetest.errors import InputError, heading, listed, nearest, param, short
from eyetest.grammar import (
    OpenFilter,
    filtered_columns,
    read_open_filters,
    refuse_no_filter,
    refuse_repeated,
    refuse_unknown,
    split_parts,
)
from eyetest.records.tables import Modality
from eyetest.runs.answer_values import FIELDS, WORDS, plain, read_shown
from eyetest.tabular.table import (
    Values,
    listed_columns,
    named_columns,
    parse_fields,
    refuse_unknown_field,
    set_once,
    split_columns,
    unknown_columns,
    usual_columns,
)

_CONDITIONS = (
    "modality condition blind vision ask cot mode setting settings strategy prompting reasoning thinking shot shots "
    "fewshot template prompt instruction order shuffle shuffled permutation rotation sample seed repeat attempt run "
    "temperature variant augment decoding language"
)  # words in the name of a column that may hold a condition
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_MOST_SEEN = 24


def like_conditions(names: Iterable[str]) -> list[str]:
    """The columns that may hold a condition, by their names."""
    words = {*_CONDITIONS.split()}
    return [name for name in names if any(word.lower() in words for word in _WORDS.findall(name))]


ALIASES = {
    "item": ("item_id", "id", "index", "question_id"),
    "model": ("model_name", "model_id"),
    "text": ("response", "prediction", "output", "answer"),
}
"""Column names that other tools use for our fields, best first."""
_CALLED = {"text": "reply"}
_NEEDED: dict[str, Callable[[], str]] = {
    "item": lambda: param("columns", "item=COLUMN"),
    "model": lambda: f"{param('model', 'NAME')} or {param('columns', 'model=COLUMN')}",
    "text": lambda: f"{param('columns', 'text=COLUMN')}, or {param('columns', 'given=COLUMN')} for a score alone",
}


class FieldMap(msgspec.Struct, frozen=True, kw_only=True):
    """How rows become answers."""

    columns: dict[str, str] = {}  # our field → its column, or several joined by +
    values: dict[str, dict[str, str]] = {}  # our field → their value → our value
    constants: dict[str, str] = {}  # our field → the value of every row
    where: tuple[str, ...] = ()  # the filters of rows, in a user's words

    def columns_of(self, field: str, row: Collection[str]) -> tuple[str, ...]:
        """The columns of a field, in rows with these columns."""
        names = self.columns.get(field, "" if field in self.constants else field)
        return tuple(name for name in split_columns(names) if name in row)

    def completed(self, known: Collection[str]) -> "FieldMap":
        """The mapping with columns that other tools usually have for a field without a column."""
        used = {*filtered_columns(self.where, known), *named_columns(self.columns)}
        unknown = {field: names for field, names in ALIASES.items() if self._lacks(field, known)}
        found = usual_columns(unknown, {name: name for name in known if name not in used})
        return msgspec.structs.replace(self, columns=self.columns | found) if found else self

    def _lacks(self, field: str, known: Collection[str]) -> bool:
        """Whether a needed field has no column and no value; a score can stand in for a text."""
        has = {*known, *self.columns, *self.constants}
        return field not in has and not (field == "text" and "given" in has)

    def check(self, row: Values) -> None:
        """Refuse columns that the file does not have, and fields without a column; all of them in one line."""
        known = list(row)
        mapped = (*filtered_columns(self.where, known), *named_columns(self.columns))
        problems = unknown_columns(mapped, known)
        free = [name for name in known if name not in mapped and name not in FIELDS]
        for field, fix in _NEEDED.items():
            if self._lacks(field, known):
                words = [name for name in free if field != "text" or isinstance(row[name], str)]
                maybe = f", perhaps {listed([short(name, 40)[1:-1] for name in words], 3)}" if words else ""
                problems.append(f"no column for the {_CALLED.get(field, field)}: {fix()}{maybe}")
        if not {*known, *self.columns, *self.constants} & {"model", "text", "given"}:
            problems.append(f"a matrix of scores needs {param('matrix', 'item')} or {param('matrix', 'model')}")
        if problems:
            raise InputError(f"{'; '.join(problems)} (the columns are {listed_columns(known)})")


class AnswerFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of answers, and the user's settings for it."""

    path: Path
    fields: FieldMap = FieldMap()
    matrix: str = ""  # the rows of a matrix of verdicts, item or model; empty for one row per answer
    modalities: dict[str, Modality] = {}  # of answers about items, where the file names none
    media: dict[str, tuple[str, ...]] = {}  # kinds of what items show, by item, where they show something
    header: str | None = None  # the pattern of a matrix's column names
    is_part: bool = False  # of several files, whose use of the mapping `refuse_unused` has checked together
    skip_bad: bool = False  # whether rows that cannot be used are left out

    @property
    def name(self) -> str:
        """The file's name as text that any of our files can hold."""
        return self.path.name.encode("utf-8", "replace").decode()


def parse_field_map(
    pairs: Iterable[str] = (), values: Iterable[str] = (), constants: Iterable[str] = (), only: Iterable[str] = ()
) -> FieldMap:
    """The user's mapping, checked."""
    columns = parse_fields(pairs, "columns", FIELDS, "item=item_id")
    renamed: dict[str, dict[str, str]] = {}
    for text in values:
        field, column, renames = _renames(text)
        if column:
            set_once(columns, field, column, "values")
        before = renamed.setdefault(field, {})
        refuse_repeated([*before, *renames], "values")
        before.update(renames)
    refuse_no_filter(filters := list(only), "where")
    fixed = parse_fields(constants, "constants", FIELDS, "modality=no-image", "FIELD=VALUE")
    for field, value in fixed.items():
        if field in columns:
            where = heading("constants", field)
            raise InputError(f"{where}: {field} is mapped to a column as well; say one of the two")
        _refuse_unknown_word(field, value, "constants")
    return FieldMap(columns=columns, values=renamed, constants=fixed, where=tuple(filters))


class MappingUse:
    """Which parts of a mapping some row has used, over one file or several; a part that no row uses is refused."""

    def __init__(self, fields: FieldMap) -> None:
        self._fields = fields
        self._filters: list[OpenFilter] | None = None
        self._renamed: set[tuple[str, str]] = set()
        self._seen: dict[str, set[str]] = {}

    def begin(self, columns: Collection[str]) -> list[OpenFilter]:
        """The filters for a file with these columns; those of all files count together."""
        if self._filters is None:
            self._filters = read_open_filters(self._fields.where, "where", columns)
        for condition in self._filters:
            refuse_unknown(condition.column, "where", columns, "column")
        return self._filters

    def wants(self, row: Values) -> bool:
        """Whether a row is selected; a filter is used by a row that all of them select."""
        values = [(condition, plain(row.get(condition.column))) for condition in self._filters or ()]
        is_selected = all(condition.is_met(value) for condition, value in values)
        for condition, value in values:
            condition.note(value, is_selected=is_selected)
        return is_selected

    def renamed(self, field: str, value: str) -> str | None:
        """Our value for one of a file's; None where it is not renamed."""
        ours = self._fields.values[field].get(value)
        if ours is not None:
            self._renamed.add((field, value))
        elif len(seen := self._seen.setdefault(field, set())) < _MOST_SEEN:
            seen.add(value)
        return ours

    def notes(self) -> list[str]:
        """Values of filters that rows have only where another filter leaves them out."""
        left_out = [(each.column, value) for each in self._filters or () for value in each.unselected]
        either = f"{heading('where')}: no row has this together with the other conditions"
        return [f"{either}: {listed(f'{column}={value}' for column, value in left_out)}"] if left_out else []

    def refuse_unused(self) -> None:
        """Raise where no row has a value that a filter names, or one that is renamed."""
        for condition in self._filters or ():
            condition.refuse_unmet()
        for field, renames in self._fields.values.items():
            used = {value for renamed, value in self._renamed if renamed == field}
            for theirs in renames:
                if theirs not in used:
                    near = nearest(theirs, self._seen.get(field, set()) | used)
                    raise InputError(f"{heading('values', field)}: no row has the value {short(theirs)}; {near}")


def _renames(text: str) -> tuple[str, str, dict[str, str]]:
    """``FIELD=[COLUMN:]THEIRS>OURS,…``: the field, the column if named, and the renamed values."""
    field, equals, rest = text.partition("=")
    field = field.strip()
    if not equals or ">" not in rest:
        raise InputError(f'{param("values")} takes FIELD=VALUE>OURS, such as modality=text>no-image; found "{text}"')
    refuse_unknown_field(field, "values", FIELDS)
    column, colon, after = rest.partition(":")
    if not colon or ">" in column:
        column, after = "", rest
    renames: dict[str, str] = {}
    for pair in split_parts(after, "values"):
        theirs, arrow, ours = (part.strip() for part in pair.rpartition(">"))
        if not arrow:
            raise InputError(f'{heading("values", field)}: "{pair}" has no >; write VALUE>OURS')
        if theirs in renames:
            raise InputError(f"{heading('values', field)}: {short(theirs)} is given twice; leave one of the two out")
        if ours:
            _refuse_unknown_word(field, ours, "values")
        renames[theirs] = ours
    return field, column.strip(), renames


def _refuse_unknown_word(field: str, word: str, parameter: str) -> None:
    if field == "order":
        read_shown(word, None)
    if field in WORDS and word not in WORDS[field]:
        raise InputError(f'{heading(parameter, field)}: no {field} "{word}"; {nearest(word, WORDS[field])}')
