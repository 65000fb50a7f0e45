"""Which column holds what, and what its values mean in our words.

``--map item=item_id,model=model+setting`` names columns, several joined by ``+`` giving one value.
``--map-values sight=condition:text>blind,image>image`` renames values, and may name the column as well; a value that
is mapped to nothing (``pot>``) leaves its rows out. A value that is not mentioned stays as it is.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from eyetest.errors import InputError, heading, nearest, param
from eyetest.records import Answer
from eyetest.records.tables import COLUMNS_SINCE
from eyetest.runs.importing.values import FIELDS, WORDS, assemble, is_absent, own_order, plain, read_shown, typed
from eyetest.tabular.table import Values, listed_columns, nearest_column, parse_pairs, refuse_unknown_field

Options = Mapping[str, Sequence[str]]
"""The texts of each item's options, as written."""
_JOINED_BY = " "
_OWN = ("item", "text", "given", "order")
"""Fields that differ from row to row; the others repeat, so that each combination of them is converted once."""
_ALL = frozenset(FIELDS) - COLUMNS_SINCE.keys()
_MOST_KEPT = 50_000


class FieldMap(msgspec.Struct, frozen=True, kw_only=True):
    """How rows become answers."""

    columns: dict[str, tuple[str, ...]] = {}
    """Our field → the columns that make it up."""
    values: dict[str, dict[str, str]] = {}
    """Our field → their value → our value."""
    constants: dict[str, str] = {}
    """Our field → the value of every row."""
    only: dict[str, tuple[str, ...]] = {}
    """Column → the values of which a row must have one to come in."""

    def wants(self, row: Values) -> bool:
        """Whether a row is to come in at all."""
        return all(plain(row.get(column)) in values for column, values in self.only.items())

    def check(self, known: Iterable[str]) -> None:
        """Refuse columns that the file does not have."""
        known = list(known)
        wanted = [*self.only, *(name for names in self.columns.values() for name in names)]
        for name in wanted:
            if name not in known:
                raise InputError(f'no column "{name}"; {nearest_column(name, known)}')
        has = {*known, *self.columns, *self.constants}
        for field in ("item", "model"):
            if field not in has:
                mend = f"{param('model', 'NAME')}, or " if field == "model" else ""
                mend += param("columns", f"{field}=COLUMN")
                raise InputError(f"no column for the {field} among {listed_columns(known)}; say {mend}")
        if not has & {"text", "given"}:
            mends = f"{param('columns', 'text=COLUMN')}, or {param('columns', 'given=COLUMN')}"
            raise InputError(
                f"no column for the text of an answer among {listed_columns(known)}; "
                f"say {mends} where there is only a verdict"
            )


class AnswerFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of answers, and what the user said about it."""

    path: Path
    fields: FieldMap = FieldMap()
    matrix: str = ""
    """What a row of a matrix of verdicts is, item or model; empty where there is one row an answer."""
    header: str | None = None
    """What the names of a matrix's columns say."""
    names: str = ""
    """Which files of a folder are meant, and what their names say."""
    number_trials: bool = False
    """Whether a repeated answer is another trial rather than a mistake."""

    @property
    def name(self) -> str:
        """The file's name as text that any of our files can hold."""
        return self.path.name.encode("utf-8", "replace").decode()

    @property
    def label(self) -> str | None:
        """The column that names the rows of a matrix, where the user says which."""
        names = self.fields.columns.get(self.matrix, ())
        if len(names) > 1:
            raise InputError(f"{heading('columns', self.matrix)}: the rows of a matrix are named by one column")
        return names[0] if names else None

    @property
    def cell_fields(self) -> FieldMap:
        """The mapping as it applies to a matrix's cells, whose row has its name already."""
        columns = {field: names for field, names in self.fields.columns.items() if field != self.matrix}
        return msgspec.structs.replace(self.fields, columns=columns)


class AnswerReader:
    """A mapping put to work on the rows of one file."""

    def __init__(self, fields: FieldMap, options: Options | None = None, *, sheet: bool, excel: bool) -> None:
        self._fields, self._options = fields, options or {}
        self._constants = {field: value for field, value in fields.constants.items() if field != "order"}
        self._sheet, self._excel = sheet, excel
        self._sources: dict[tuple[str, ...], list[tuple[str, tuple[str, ...]]]] = {}
        self._known: dict[tuple[Any, ...], dict[str, Any] | None] = {}
        self.notice = ""
        """What the row that was read last says in place of an answer: some tool's notice that the call failed."""

    def answer(self, row: Values) -> Answer | None:
        """The answer in a row; None where the row is not wanted or one of its values was mapped to nothing."""
        if self._fields.only and not self._fields.wants(row):
            return None
        names = tuple(row)
        sources = self._sources.get(names)
        if sources is None:
            sources = self._sources[names] = self._find(row)
        own: dict[str, Any] = {}
        repeated: list[Any] = [names]
        for field, from_ in sources:
            value = row[from_[0]] if len(from_) == 1 else self._joined(field, row, from_)
            if field in _OWN:
                own[field] = value
            else:
                repeated.append(value)
        common = self._common(tuple(repeated), sources)
        mine = self._renamed(own)
        if common is None or mine is None:
            return None
        order = mine.pop("order", self._fields.constants.get("order"))
        values = common | typed(mine)
        if not is_absent(order):
            values["order"] = self._order(order, values.get("item", ""), row)
        answer = assemble(dict(values), sheet=self._sheet, excel=self._excel)
        self.notice = (values.get("text") or "").strip() if answer.text is None and answer.outcome == "failed" else ""
        return answer

    def _order(self, value: Any, item: str, row: Values) -> int:
        """What was shown; a table with all of our columns is our own, and a number there is a seed of ours."""
        said = "order" in self._fields.columns or "order" in self._fields.constants
        if not said and row.keys() >= _ALL:
            return own_order(value)
        if self._options and item not in self._options:
            return 0  # it is going to be left out
        return read_shown(value, self._options.get(item))

    def _find(self, row: Values) -> list[tuple[str, tuple[str, ...]]]:
        """For each field the columns that make it up, in rows with these columns."""
        sources = []
        for field in FIELDS:
            names = self._fields.columns.get(field)
            if names is None:
                names = (field,) if field in row and field not in self._fields.constants else ()
            names = tuple(name for name in names if name in row)
            if names:
                sources.append((field, names))
        return sources

    def _joined(self, field: str, row: Values, names: tuple[str, ...]) -> str | list[Any]:
        """One name out of several; of an order, the options as they were shown."""
        if field == "order":
            return [row[name] for name in names if not is_absent(row[name])]
        return _JOINED_BY.join(filter(None, (plain(row[name]) for name in names)))

    def _common(self, key: tuple[Any, ...], sources: list[tuple[str, tuple[str, ...]]]) -> dict[str, Any] | None:
        try:
            return self._known[key]
        except KeyError:
            pass
        except TypeError:  # a list or an object, which is told below
            self._known.clear()
        fields = [field for field, _ in sources if field not in _OWN]
        renamed = self._renamed(dict(zip(fields, key[1:], strict=True)))
        common = None if renamed is None else typed(self._constants | renamed)
        if len(self._known) >= _MOST_KEPT:
            self._known.clear()
        self._known[key] = common
        return common

    def _renamed(self, values: dict[str, Any]) -> dict[str, Any] | None:
        if not self._fields.values:
            return values
        renamed = {}
        for field, value in values.items():
            renames = self._fields.values.get(field)
            ours = renames.get("" if is_absent(value) else plain(value)) if renames else None
            if ours == "":
                return None
            renamed[field] = value if ours is None else ours
        return renamed


def parse_field_map(
    pairs: Iterable[str] = (), values: Iterable[str] = (), constants: Iterable[str] = (), only: Iterable[str] = ()
) -> FieldMap:
    """The user's words, checked."""
    columns: dict[str, tuple[str, ...]] = {}
    for field, column in _fields(pairs, "columns", "item=item_id"):
        _once(columns, field, tuple(column.split("+")), "columns")
    renamed: dict[str, dict[str, str]] = {}
    for text in values:
        field, column, renames = _renames(text)
        if column:
            _once(columns, field, (column,), "values")
        renamed.setdefault(field, {}).update(renames)
    fixed: dict[str, str] = {}
    for field, value in _fields(constants, "constants", "sight=blind"):
        if field in columns:
            raise InputError(
                f"{heading('constants', field)}: {field} is mapped to a column as well; say one of the two"
            )
        _once(fixed, field, _allowed(field, value, "constants"), "constants")
    filters: dict[str, tuple[str, ...]] = {}
    for column, value in _pairs(_one_value_each(only), "where", "setting=zero-shot"):
        filters[column] = (*filters.get(column, ()), value)
    return FieldMap(columns=columns, values=renamed, constants=fixed, only=filters)


def _one_value_each(texts: Iterable[str]) -> Iterator[str]:
    """``COLUMN=A,B`` as ``COLUMN=A`` and ``COLUMN=B``, as ``where`` is understood everywhere."""
    for text in texts:
        column = ""
        for part in text.split(","):
            column = part.partition("=")[0] if "=" in part else column
            yield part if "=" in part or not column else f"{column}={part}"


def _renames(text: str) -> tuple[str, str, dict[str, str]]:
    """``FIELD=[COLUMN:]THEIRS>OURS,…``: the field, the column if one is named, and what becomes of which value."""
    field, equals, rest = text.partition("=")
    field = field.strip()
    if not equals or ">" not in rest:
        raise InputError(f'{param("values")} takes FIELD=VALUE>OURS,…, such as sight=text>blind; found "{text}"')
    refuse_unknown_field(field, "values", FIELDS)
    column, colon, after = rest.partition(":")
    if not colon or ">" in column:
        column, after = "", rest
    renames: dict[str, str] = {}
    for pair in after.split(","):
        theirs, arrow, ours = (part.strip() for part in pair.rpartition(">"))
        if not arrow:
            raise InputError(f'{heading("values", field)}: "{pair}" has no >; write VALUE>OURS')
        renames[theirs] = _allowed(field, ours, "values") if ours else ""
    return field, column.strip(), renames


def _pairs(texts: Iterable[str], parameter: str, example: str) -> Iterator[tuple[str, str]]:
    return parse_pairs(texts, f"{param(parameter)} takes NAME=VALUE pairs, such as {example}")


def _fields(texts: Iterable[str], parameter: str, example: str) -> Iterator[tuple[str, str]]:
    for field, value in _pairs(texts, parameter, example):
        refuse_unknown_field(field, parameter, FIELDS)
        yield field, value


def _once(settings: dict[str, Any], field: str, value: Any, parameter: str) -> None:
    if settings.get(field, value) != value:
        raise InputError(f"{heading(parameter)}: {field} is said twice, differently")
    settings[field] = value


def _allowed(field: str, word: str, parameter: str) -> str:
    if field == "order":
        read_shown(word, None)
    if field in WORDS and word not in WORDS[field]:
        raise InputError(f'{heading(parameter, field)}: no {field} "{word}"; {nearest(word, WORDS[field])}')
    return word
