"""JSON Lines, or one JSON document: a list of objects, such a list under a key, or objects or texts under keys.

Read as Python's own writer makes it, which other tools use: also NaN, Infinity and halves of surrogate pairs.
"""

import codecs
import json
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from eyetest.errors import InputError, short
from eyetest.tabular.table import Row, kind_of, open_plain, plain_size

MAX_LINE = 256 * 2**20
MAX_DOCUMENT = 2**31
_BLANK = b"\xef\xbb\xbf \t\r\n"
_decode = msgspec.json.Decoder().decode


class JsonTable:
    """The objects of a file as rows. Columns are those of all objects, in order of appearance."""

    def __init__(self, path: Path) -> None:
        self.path, self.done = path, 0.0

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the values that any object has."""
        return tuple(dict.fromkeys(name for row in self for name in row.values))

    def __iter__(self) -> Iterator[Row]:
        position = number = 0
        size = plain_size(self.path)
        with open_plain(self.path) as file:
            line_number = 0
            while line := file.readline(MAX_LINE):
                line_number += 1
                position += len(line)
                self.done = position / size
                where = f"{self.path.name} line {line_number}"
                if len(line) >= MAX_LINE:
                    raise InputError(f"{where} is longer than {MAX_LINE // 2**20} MB")
                text = line.strip(_BLANK) if line_number == 1 else line.strip()
                if line_number == 1 and self._is_document(text, where, more=bool(file.peek(1))):
                    yield from self._document()
                    return
                if text:
                    values = decode(text, where)
                    if not isinstance(values, dict):
                        raise InputError(f"{where}: found {short(values)}, expected a JSON object")
                    yield Row(number, where, values, line_number)
                    number += 1

    def _is_document(self, first_line: bytes, where: str, *, more: bool) -> bool:
        """Whether the whole file is one JSON value, judged by its first line and whether there are others."""
        if kind_of(self.path) == ".json":
            return not (more and first_line.endswith(b"}") and isinstance(_decoded(first_line), dict))
        if not first_line.startswith(b"["):
            return False
        rows = decode(first_line, where) if not more else None
        if isinstance(rows, list) and not all(isinstance(row, dict) for row in rows):
            raise InputError(f"{where}: found {short(rows)}, expected an object")
        return True

    def _document(self) -> Iterator[Row]:
        with open_plain(self.path) as file:
            data = file.read(MAX_DOCUMENT + 1)
        if len(data) > MAX_DOCUMENT:
            raise InputError(f"{self.path} is one JSON value of more than 2 GB; write it as JSON Lines")
        content = decode(data.removeprefix(codecs.BOM_UTF8), str(self.path))
        if isinstance(content, dict) and len(lists := [part for part in content.values() if _are_objects(part)]) == 1:
            content = lists[0]
        elif (
            isinstance(content, dict) and content and all(isinstance(v, str | float | int) for v in content.values())
        ):
            content = [{"key": key, "value": value} for key, value in content.items()]
        elif isinstance(content, dict):
            content = [{"key": key, **value} if isinstance(value, dict) else value for key, value in content.items()]
        if content != [] and not _are_objects(content):
            raise InputError(
                f"{self.path}: expected a list of objects, one such list under a key, or objects or texts under keys"
            )
        self.done = 1.0
        for number, values in enumerate(content):
            yield Row(number, f"{self.path.name} object {number + 1}", values, number + 1)


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def _decoded(text: bytes) -> Any:
    try:
        return _decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def decode(data: bytes, where: str) -> Any:
    """The value; half a pair becomes U+FFFD, since no file of ours could hold it."""
    try:
        return _decode(data)
    except RecursionError:
        raise InputError(f"{where} is nested too deeply") from None
    except UnicodeDecodeError:
        raise InputError(f"{where} is not JSON: it is not UTF-8") from None
    except msgspec.DecodeError as error:
        return _leniently(data, where, str(error))


def _leniently(data: bytes, where: str, why: str) -> Any:
    try:
        return _mended(json.loads(data.decode()))
    except RecursionError:
        raise InputError(f"{where} is nested too deeply") from None
    except ValueError:  # also what is not UTF-8
        raise InputError(f"{where} is not JSON: {why}") from None


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_mended(part) for part in value]
    if isinstance(value, dict):
        return {_mended(key): _mended(part) for key, part in value.items()}
    return value
