"""Which column holds what, and what its values mean in our words.

``--map item=item_id,model=model+setting`` names columns, several joined by ``+`` giving one value.
``--map-values sight=condition:text>blind,image>image`` renames values, and may name the column as well; a value that
is mapped to nothing (``pot>``) leaves its rows out. A value that is not mentioned stays as it is.
"""

from collections.abc import Iterable, Mapping
from typing import Any, get_args, get_origin

import msgspec

from eyetest.errors import InputError, nearest, short
from eyetest.records import Answer, columns
from eyetest.runs.importing.files import Row

FIELDS = columns(Answer)
_TRUE = {"true": 1.0, "yes": 1.0, "right": 1.0, "correct": 1.0}
_FALSE = {"false": 0.0, "no": 0.0, "wrong": 0.0, "incorrect": 0.0}
_ABSENT = ("", "none", "null", "nan", "na")
_JOINED_BY = " "
_ALLOWED = {
    field.name: get_args(field.type)
    for field in msgspec.structs.fields(Answer)
    if get_origin(field.type) is not None and all(isinstance(value, str) for value in get_args(field.type))
}


class FieldMap(msgspec.Struct, frozen=True, kw_only=True):
    """How rows become answers."""

    columns: dict[str, tuple[str, ...]] = {}
    """Our field → the columns that make it up."""
    values: dict[str, dict[str, str]] = {}
    """Our field → their value → our value."""
    constants: dict[str, str] = {}
    """Our field → the value of every row."""
    only: dict[str, str] = {}
    """Column → the value that a row must have to come in."""

    def wants(self, row: Row) -> bool:
        """Whether a row is to come in at all."""
        return all(_text(row.get(column)) == value for column, value in self.only.items())

    def answer(self, row: Row, where: str) -> Answer | None:
        """The answer in a row; None where one of its values was mapped to nothing."""
        found: dict[str, Any] = dict(self.constants)
        for field in FIELDS:
            value = self._value(field, row)
            if value is None:
                continue
            renamed = self.values.get(field, {}).get(_text(value))
            if renamed == "":
                return None
            found[field] = renamed if renamed is not None else value
        return convert(found, where)

    def _value(self, field: str, row: Row) -> Any:
        names = self.columns.get(field, (field,) if field in row and field not in self.constants else ())
        if not names:
            return None
        if len(names) == 1:
            return row.get(names[0])
        return _JOINED_BY.join(_text(row.get(name)) for name in names if _text(row.get(name)))

    def check(self, known: Iterable[str], where: str) -> None:
        """Refuse columns that the file does not have."""
        known = list(known)
        wanted = [*self.only, *(name for names in self.columns.values() for name in names)]
        for name in wanted:
            if name not in known:
                raise InputError(f'{where}: no column "{name}"; {nearest(name, known)}')
        for field in ("item", "model"):
            if field not in self.columns and field not in known and field not in self.constants:
                mend = "--model NAME, or --map model=COLUMN" if field == "model" else "--map item=COLUMN"
                raise InputError(f"{where}: no column for the {field} among {_listed(known)}; say {mend}")


def convert(found: Mapping[str, Any], where: str) -> Answer:
    """An answer out of values of any type, or an error that says which value is not one of ours."""
    values: dict[str, Any] = {}
    for field, value in found.items():
        if field in ("item", "model"):
            values[field] = _text(value)
        elif field == "given":
            values[field] = _score(value, where)
        elif field in ("template", "order", "trial"):
            values[field] = _whole(value, field, where)
        elif field in _ALLOWED:
            word = _text(value)
            if word not in _ALLOWED[field]:
                raise InputError(
                    f"{where}: {field}: found {short(word)}, expected one of {', '.join(_ALLOWED[field])}; "
                    f"rename it with --map-values {field}={word}>{_ALLOWED[field][0]}"
                )
            values[field] = word
        else:
            values[field] = None if value is None else _text(value)
    if not values.get("item") or not values.get("model"):
        raise InputError(f"{where}: neither item nor model may be empty")
    return Answer(**values)


def parse_field_map(
    pairs: Iterable[str] = (), values: Iterable[str] = (), constants: Iterable[str] = (), only: Iterable[str] = ()
) -> FieldMap:
    """The user's words, checked."""
    found = {field: tuple(column.split("+")) for field, column in _pairs(pairs, "--map", "item=item_id")}
    renamed: dict[str, dict[str, str]] = {}
    for text in values:
        field, equals, rest = text.partition("=")
        field = field.strip()
        if not equals or ">" not in rest:
            raise InputError(f'--map-values takes FIELD=VALUE>OURS,…, such as sight=text>blind; found "{text}"')
        _known_field(field, "--map-values")
        column, colon, after = rest.partition(":")
        if colon and ">" not in column:
            found.setdefault(field, (column.strip(),))
            rest = after
        for pair in rest.split(","):
            theirs, arrow, ours = pair.rpartition(">")
            if not arrow:
                raise InputError(f'--map-values {field}: "{pair}" has no >; write VALUE>OURS')
            if ours and field in _ALLOWED and ours not in _ALLOWED[field]:
                raise InputError(f'--map-values {field}: no {field} "{ours}"; {nearest(ours, _ALLOWED[field])}')
            renamed.setdefault(field, {})[theirs] = ours
    fixed = dict(_pairs(constants, "--set", "sight=blind"))
    for field, value in fixed.items():
        if field in _ALLOWED and value not in _ALLOWED[field]:
            raise InputError(f'--set {field}: no {field} "{value}"; {nearest(value, _ALLOWED[field])}')
    filters = dict(_pairs(only, "--where", "setting=zero-shot", ours=False))
    return FieldMap(columns=found, values=renamed, constants=fixed, only=filters)


def _pairs(texts: Iterable[str], option: str, example: str, *, ours: bool = True) -> Iterable[tuple[str, str]]:
    for pair in (part for text in texts for part in text.split(",")):
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise InputError(f'{option} takes NAME=VALUE pairs, such as {example}; found "{pair}"')
        if ours:
            _known_field(name.strip(), option)
        yield name.strip(), value.strip()


def _known_field(field: str, option: str) -> None:
    if field not in FIELDS:
        raise InputError(f'{option}: no field "{field}"; {nearest(field, FIELDS)}')


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else str(value)


def _score(value: Any, where: str) -> float | None:
    word = _text(value).strip().lower()
    if value is None or word in _ABSENT:
        return None
    if word in _TRUE or word in _FALSE:
        return (_TRUE | _FALSE)[word]
    try:
        score = float(word)
    except ValueError:
        score = -1.0
    if not 0 <= score <= 1:
        raise InputError(f"{where}: given: found {short(value)}, expected a score from 0 to 1")
    return score


def _whole(value: Any, field: str, where: str) -> int:
    try:
        return int(_text(value) or 0)
    except ValueError:
        raise InputError(f"{where}: {field}: found {short(value)}, expected a whole number") from None


def _listed(names: list[str]) -> str:
    shown = ", ".join(name[:40] for name in names[:12])
    return f"{shown} … ({len(names)} columns)" if len(names) > 12 else shown
