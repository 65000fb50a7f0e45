"""Files that people write by hand: YAML that becomes typed values, or one line that says what is wrong with it."""

import re
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml

from eyetest.errors import InputError, nearest

Value = TypeVar("Value")
_UNKNOWN = re.compile(r"unknown field `(?P<name>[^`]*)`(?: - at `\$?(?P<place>[^`]*)`)?")
_PLACE = re.compile(r" - at `\$?(?P<place>[^`]*)`$")


class _NoDoubles(yaml.SafeLoader):
    """Refuses a name that stands there twice, of which plain YAML would silently take the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        for name in names:
            if names.count(name) > 1:
                raise yaml.YAMLError(f'"{name}" stands there twice')
        return super().construct_mapping(node, deep)


def read_yaml(path: Path) -> Any:
    """What a YAML file holds."""
    try:
        return yaml.load(path.read_text(encoding="utf-8"), _NoDoubles)  # noqa: S506 (a SafeLoader)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not YAML: {_problem(error)}") from None


def _problem(error: Exception) -> str:
    """What is wrong and where, without the line itself, which may hold a key."""
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        return " ".join(str(error).split())
    said = getattr(error, "problem", None) or getattr(error, "context", None) or "cannot be read"
    return f"{' '.join(said.split())} (line {mark.line + 1}, column {mark.column + 1})"


def convert(value: Any, kind: type[Value], where: str) -> Value:
    """A value of this type; a key that it does not have is refused with the nearest one that it has."""
    try:
        return msgspec.convert(_named(value), kind)
    except msgspec.ValidationError as error:
        message = str(error)
        if found := _UNKNOWN.search(message):
            at = f"{where}{_told(found['place'] or '')}"
            raise InputError(
                f'{at}: no setting "{found["name"]}"; {nearest(found["name"], _names(kind, found["place"] or ""))}'
            ) from None
        place = _PLACE.search(message)
        at = f"{where}{_told(place['place'])}" if place else where
        raise InputError(f"{at}: {_PLACE.sub('', message)}") from None


def _named(value: Any) -> Any:
    """A value in which every key is a name: YAML takes ``7:`` for a number."""
    if isinstance(value, dict):
        return {str(key): _named(inner) for key, inner in value.items()}
    return [_named(inner) for inner in value] if isinstance(value, list) else value


def _told(place: str) -> str:
    """A place inside a value, for people: ``.stages[0]`` is ``, stages 1``."""
    words = re.sub(r"\[(\d+)\]", lambda match: f" {int(match[1]) + 1}", place).replace("[...]", "").strip(".")
    return f", {words.replace('.', ', ')}" if words else ""


def _names(kind: Any, place: str) -> list[str]:
    """The settings that a type knows at a place inside it, such as ``.stages[0].keep[...]``."""
    info: Any = msgspec.inspect.type_info(kind)
    for name, inside in re.findall(r"\.(\w+)|(\[)", place):
        found = _present(info)
        if inside:
            info = getattr(found, "value_type", None) or getattr(found, "item_type", None)
        else:
            info = next((field.type for field in getattr(found, "fields", ()) if field.encode_name == name), None)
    return [field.encode_name for field in getattr(_present(info), "fields", ())]


def _present(info: Any) -> Any:
    """A type that may be absent, as it is where it is not."""
    types = getattr(info, "types", (info,))
    return next((one for one in types if not isinstance(one, msgspec.inspect.NoneType)), info)
