"""The small languages of options: lists ``A,B``, pairs ``KEY=VALUE`` and filters ``COLUMN=A,B``.

Every option that takes more than one word is read here, so that all of them follow one rule: each part takes effect,
or one line says which part does not. An empty part (also a comma at the end), a part that is given twice, a pair
without ``=``, an unknown key and an unknown value are refused; where something is unknown, the nearest name or those
that are there are listed.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from eyetest.errors import InputError, heading, nearest, param, short

_MOST_SHOWN = 12
_MOST_JOINED = 40
"""Pieces between commas of which every run may be one value; of longer lists a value is one piece, or all of it."""


class Filter(NamedTuple):
    """A condition on a column: one of these values stands there."""

    column: str
    values: Sequence[str]
    option: str = "where"


def words_of(given: Any) -> list[Any]:
    """One thing, or several of them, as a list. A word is one thing; a mapping is pairs in words."""
    if isinstance(given, Mapping):
        return [f"{key}={value}" for key, value in given.items()]
    return [given] if isinstance(given, str) or not isinstance(given, Sequence) else list(given)


def refuse_idle(given: Mapping[str, Any], why: str) -> None:
    """Raise where an option is given that has no effect beside the others; ``why`` says what makes it idle."""
    for option, value in given.items():
        if value not in (None, False, "", (), []):
            raise InputError(f"{heading(option)}: {why}; leave it out")


def split_parts(text: str, option: str, between: str = ",") -> list[str]:
    """The parts of a text; an empty one is refused, because a part that says nothing is probably a slip."""
    parts = [part.strip() for part in text.split(between)]
    if "" in parts:
        raise _empty(text, option, between)
    return parts


def refuse_repeated(names: Iterable[str], option: str) -> None:
    """Raise where one name is given twice, because the second changes nothing."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"{heading(option)}: {short(name)} is given twice; leave one of the two out")
        seen.add(name)


def read_names(words: Iterable[str] | str, option: str, present: Collection[str] = ()) -> list[str]:
    """The names of a repeated option, each word of which may hold several between commas.

    A name that has commas itself is recognised where it is among those that are ``present``.
    """
    names: list[str] = []
    for word in words_of(words):
        names += split_values(word, present, option)
    refuse_repeated(names, option)
    return names


def choose_names(words: Iterable[str] | str, option: str, present: Collection[str], kind: str) -> list[str]:
    """The same; a name that is not ``present`` is refused with the nearest one."""
    names = read_names(words, option, present)
    for name in names:
        refuse_unknown(name, option, present, kind)
    return names


def refuse_unknown(name: str, option: str, present: Collection[str], kind: str) -> None:
    """Raise where a name is not among those that are there."""
    if name not in present:
        raise InputError(f"{heading(option)}: no {kind} {short(name)}; {nearest(name, present, _MOST_SHOWN)}")


def split_values(text: str, present: Collection[str], option: str) -> list[str]:
    """The values between commas; the longest run of pieces that is a ``present`` value is one value."""
    pieces, values = text.split(","), list[str]()
    while pieces:
        value, length = _first_value(pieces, present)
        if not value and len(text.split(",")) > 1:
            raise _empty(text, option, ",")
        values.append(value)
        pieces = pieces[length:]
    if values == [""]:
        raise _empty(text, option, ",")
    return values


def read_pairs(
    words: Iterable[str] | str, option: str, example: str, *, between: str = "", form: str = "KEY=VALUE"
) -> dict[str, str]:
    """The values of ``KEY=VALUE`` words by their keys; with ``between`` each word may hold several pairs.

    A value may be empty and may contain ``=``. A key that is given twice is refused: one of the two would be lost.
    """
    pairs: dict[str, str] = {}
    for word in words_of(words):
        for part in split_parts(word, option, between) if between else [word]:
            key, equals, value = part.partition("=")
            key = key.strip()
            if not equals or not key:
                raise InputError(f"{heading(option)}: found {short(part)}, expected {form}, such as {example}")
            if key in pairs:
                raise InputError(f"{heading(option)}: {short(key)} is given twice; leave one of the two out")
            pairs[key] = value
    return pairs


def refuse_joined_pairs(pairs: Mapping[str, str], option: str, keys: Collection[str]) -> None:
    """Raise where the text of a pair goes on with another known key: ``licence=MIT,version=2`` is two pairs."""
    for key, text in pairs.items():
        for piece in text.split(",")[1:]:
            name, equals, _ = piece.partition("=")
            if equals and name.strip().partition(".")[0] in keys:
                repeat = f"{param(option, f'{key}=…')} {param(option, f'{name.strip()}=…')}"
                raise InputError(
                    f"{heading(option)}: {short(name.strip())} stands in the text of {key}; write {repeat}"
                )


def refuse_no_filter(words: Iterable[str], option: str) -> None:
    """Raise where a word cannot be a filter, before anything is read."""
    for word in words:
        column, equals, _ = word.partition("=")
        if not equals or not column.strip():
            form = "COLUMN=VALUE, or COLUMN=A,B for either value"
            raise InputError(f"{heading(option)}: found {short(word)}, expected {form}")


def filtered_columns(words: Iterable[str], columns: Collection[str]) -> list[str]:
    """The columns that filters name, known or not."""
    starts = [(word, _next_column(word, columns)) for word in words]
    names = [word.partition("=")[0].strip() if start is None else start for word, start in starts]
    more = [_next_column(piece, columns) for word in words for piece in word.split(",")[1:]]
    return list(dict.fromkeys([*names, *filter(None, more)]))


class Filterable(NamedTuple):
    """What filters can be about: columns, and the values that stand in each."""

    columns: Collection[str]
    values_of: Callable[[str], Collection[str]]
    option: str = "where"
    kind: str = "column"

    def refuse_value(self, column: str, value: str, word: str) -> None:
        """Raise where a value is not there: as an empty part, as an unknown column, or as an unknown value."""
        present = self.values_of(column)
        if value in present:
            return
        if not value:
            raise _empty(word, self.option, ",")
        name, equals, _ = value.partition("=")
        if equals:
            refuse_unknown(name, self.option, self.columns, self.kind)
        near = nearest(value, present, _MOST_SHOWN)
        raise InputError(f"{heading(self.option)}: no {column} {short(value)}; {near}")


def read_filters(words: Iterable[str], table: Filterable) -> list[Filter]:
    """The filters ``COLUMN=A,B``, also several between commas (``COLUMN=A,B,OTHER=C``); all of them have to hold.

    A value that does not stand in its column is refused, also beside one that does.
    """
    words = list(words)
    refuse_no_filter(words, table.option)
    filters: dict[str, list[str]] = {}
    for word in words:
        column, rest = _column_of(word, table.columns, table.option, table.kind)
        values = _begin_filter(filters, column, table.option)
        pieces = rest.split(",")
        while pieces:
            present = table.values_of(column)
            value, length = _first_value(pieces, present)
            following = None if value in present else _next_column(pieces[0], table.columns)
            if following is None:
                table.refuse_value(column, value, word)
                values.append(value)
                pieces = pieces[length:]
            else:
                if not values:
                    raise _empty(word, table.option, ",")
                column = following
                values = _begin_filter(filters, column, table.option)
                pieces[0] = pieces[0].lstrip()[len(column) + 1 :]
    for values in filters.values():
        refuse_repeated(values, table.option)
    return [Filter(column, values, table.option) for column, values in filters.items()]


class OpenFilter:
    """A filter on rows that are still to be read: it keeps which of its values some row has, and is selected by."""

    def __init__(self, column: str, pieces: Sequence[str], option: str = "where") -> None:
        """``pieces``: what stands between commas; a value may be several of them with their commas."""
        self.column, self.option = column, option
        self._pieces = [piece.strip() for piece in pieces]
        if "" in self._pieces and len(self._pieces) > 1:
            raise _empty(f"{column}={','.join(pieces)}", option, ",")
        refuse_repeated(self._pieces, option)
        self._runs = dict(_runs(pieces))
        self._present: set[int] = set()
        self._matched: set[int] = set()
        self._seen: set[str] = set()

    def is_met(self, value: str) -> bool:
        """Whether this value is one of those that the filter names."""
        return value.strip() in self._runs

    def note(self, value: str, *, is_selected: bool) -> None:
        """Keep what a row shows: the part of the filter that selects it, or a value that none of them names."""
        run = self._runs.get(value.strip())
        if run is None:
            if len(self._seen) < _MOST_SHOWN:
                self._seen.add(value)
            return
        self._present.update(run)
        if is_selected:
            self._matched.update(run)

    def refuse_unmet(self) -> None:
        """Raise where no row has one of the values."""
        for place, piece in enumerate(self._pieces):
            if place not in self._present:
                present = {self._pieces[index] for index in self._present}
                near = nearest(piece, self._seen | present, _MOST_SHOWN)
                raise InputError(f"{heading(self.option)}: no row has the {self.column} {short(piece)}; {near}")

    @property
    def unselected(self) -> list[str]:
        """Values that some rows have, all of which another condition leaves out."""
        return [piece for place, piece in enumerate(self._pieces) if place not in self._matched]


def read_open_filters(words: Iterable[str], option: str, columns: Collection[str]) -> list[OpenFilter]:
    """The filters of a file whose columns are known and whose values are not yet."""
    refuse_no_filter(words := list(words), option)
    pieces_of: dict[str, list[str]] = {}
    for word in words:
        column, rest = _column_of(word, columns, option, "column")
        pieces = _begin_filter(pieces_of, column, option)
        for piece in rest.split(","):
            if start := _next_column(piece, columns):
                piece = piece.lstrip()[len(start) + 1 :]  # noqa: PLW2901 (the rest of it is a value of that column)
                pieces = _begin_filter(pieces_of, start, option)
            pieces.append(piece)
    return [OpenFilter(column, pieces, option) for column, pieces in pieces_of.items()]


def _runs(pieces: Sequence[str]) -> Iterator[tuple[str, range]]:
    """Every text that some consecutive pieces may be, with their places; a single piece comes last and wins."""
    count = len(pieces)
    lengths = range(count, 0, -1) if count <= _MOST_JOINED else (count, 1)
    for length in lengths:
        for start in range(count - length + 1):
            yield ",".join(pieces[start : start + length]).strip(), range(start, start + length)


def _first_value(pieces: Sequence[str], present: Collection[str]) -> tuple[str, int]:
    """The longest present value at the head of some pieces, and how many of them it is; else the first piece."""
    most = max((value.count(",") for value in present), default=0) + 1
    for length in range(min(most, len(pieces)), 1, -1):
        value = ",".join(pieces[:length]).strip()
        if value in present:
            return value, length
    return pieces[0].strip(), 1


def _column_of(word: str, columns: Collection[str], option: str, kind: str) -> tuple[str, str]:
    """The column at the head of a filter and what follows its ``=``; an unknown column is refused."""
    start = _next_column(word, columns)
    if start is None:
        name = word.partition("=")[0].strip()
        refuse_unknown(name, option, columns, kind)
        start = name
    return start, word.lstrip()[len(start) :].partition("=")[2]


def _next_column(piece: str, columns: Collection[str]) -> str | None:
    """The longest known column before a ``=`` at which a piece begins; a name may contain ``=`` itself."""
    text = piece.lstrip()
    ends = [place for place, sign in enumerate(text) if sign == "="]
    return next((text[:end] for end in reversed(ends) if text[:end] in columns), None)


def _begin_filter(filters: dict[str, list[str]], column: str, option: str) -> list[str]:
    if column in filters:
        raise InputError(f"{heading(option)}: {short(column)} is given twice; write {column}=A,B for either value")
    filters[column] = []
    return filters[column]


def _empty(text: str, option: str, between: str) -> InputError:
    hint = f'leave out the extra "{between}"' if between in text else "a value is missing"
    return InputError(f"{heading(option)}: found an empty part in {short(text)}; {hint}")
