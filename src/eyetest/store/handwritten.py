"""Hand-written YAML as typed values or an error of one line; duplicate names and unbounded expansion are refused."""

import re
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml

from eyetest.errors import InputError, nearest, short

Value = TypeVar("Value")
MAX_BYTES = 2**20  # the largest file. The largest that people write, models.yaml, has a few kilobytes
MAX_DEPTH = 50
MAX_VALUES = 50_000  # the most values in a file, each counted as often as it is referred to
MAX_NUMBER = 100  # the longest number or date, in characters
_NUMBERS = tuple(f"tag:yaml.org,2002:{kind}" for kind in ("int", "float", "timestamp"))
_UNKNOWN = re.compile(r"unknown field `(?P<name>[^`]*)`(?: - at `\$?(?P<path>[^`]*)`)?")
_STEPS = re.compile(r"\.(\w+)|\[(\d+)\]")
_LONGEST_EXAMPLE = 30
_PATH = re.compile(r" - at `\$?(?P<path>[^`]*)`$")


class _BoundedLoader(yaml.composer.Composer, yaml.CSafeLoader):
    """Plain values only, within the limits; every error has its line. Events come from libyaml, ten times faster."""

    depth = 0
    values = 0

    def __init__(self, text: str) -> None:
        yaml.CSafeLoader.__init__(self, text)
        yaml.composer.Composer.__init__(self)

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        self.depth += 1
        self.values += 1
        if self.depth > MAX_DEPTH or self.values > MAX_VALUES:
            is_deep = self.depth > MAX_DEPTH
            problem = f"nested more than {MAX_DEPTH} deep" if is_deep else f"more than {MAX_VALUES:,} values"
            raise _complaint(problem, self.peek_event())
        node: yaml.Node | None = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def get_single_node(self) -> yaml.Node | None:
        node: yaml.Node | None = super().get_single_node()
        if node is not None:
            _measure(node, {})
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        if node.tag in _NUMBERS and len(node.value) > MAX_NUMBER:
            raise _complaint(f"a number of {len(node.value):,} characters", node)
        if isinstance(node, yaml.ScalarNode) and "\0" in node.value:
            raise _complaint(f"{short(node.value)} is no text", node)
        try:
            return super().construct_object(node, deep)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError):
            kind = node.tag.rpartition(":")[2]
            raise _complaint(f"{short(node.value)} is no {kind}; put texts in quotes", node) from None

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Refuse a duplicate name, of which plain YAML would silently take the last."""
        names = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in names:
                    raise _complaint(f'"{_one_line(key.value, 60)}" stands there twice', key)
                names.add(key.value)
        return super().construct_mapping(node, deep)


def read_yaml(path: Path) -> Any:
    """The content of a YAML file."""
    return parse_yaml(read_text(path), str(path))


def read_text(path: Path) -> str:
    """A YAML file as text."""
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is no file")
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {getattr(error, 'strerror', '') or error}") from None
    if len(data) > MAX_BYTES:
        raise InputError(f"{path} is larger than {MAX_BYTES // 2**20} MB, too large for a settings file")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path} is not YAML: bytes that are not UTF-8 (line {line})") from None


def parse_yaml(text: str, where: str) -> Any:
    """The content of a YAML text; ``where`` names it in errors."""
    try:
        return _BoundedLoader(text).get_single_data()
    except yaml.reader.ReaderError as error:
        before = text.encode()[: error.position]
        problem, line = f"{short(chr(error.character))} in a text", before.count(b"\n") + 1
    except UnicodeEncodeError as error:
        problem, line = f"{short(text[error.start])} in a text", text.count("\n", 0, error.start) + 1
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem, line = error.problem or error.context or "", mark.line + 1 if mark else 1
    raise InputError(f"{where} is not YAML: {_one_line(problem)} (line {line})")


def _complaint(problem: str, node: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)


def _one_line(problem: str, longest: int = 200) -> str:
    line = " ".join(problem.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def _measure(node: yaml.Node, known: dict[int, int]) -> int:
    """The number of values a node expands into; each node is visited once, however often it is referred to."""
    size = known.get(id(node))
    if size == 0:
        raise _complaint("a value that refers to itself", node)
    if size is None:
        known[id(node)] = 0
        parts = node.value if isinstance(node, yaml.CollectionNode) else ()
        inner = (value for part in parts for value in (part if isinstance(part, tuple) else (part,)))
        size = 1 + sum(_measure(value, known) for value in inner)
        if size > MAX_VALUES:
            raise _complaint(f"more than {MAX_VALUES:,} values, references unfolded", node)
        known[id(node)] = size
    return size


def convert(
    value: Any, kind: type[Value], where: str, *, is_one_setting: bool = False, is_text: bool = False
) -> Value:
    """Convert a value to a type; an unknown key is refused, with the nearest known one.

    ``is_one_setting``: ``where`` names the setting that was changed, so that no path inside the value is shown.
    ``is_text``: numbers are given as texts, as on a command line.
    """
    content = _named(value)
    try:
        return msgspec.convert(content, kind, strict=not is_text)
    except msgspec.ValidationError as error:
        message = str(error)
        if unknown := _UNKNOWN.search(message):
            name, path = unknown["name"], unknown["path"] or ""
            at = where if is_one_setting else f"{where}{_readable(path)}"
            raise InputError(f'{at}: no setting "{name}"; {nearest(name, _names(kind, path))}') from None
        match = _PATH.search(message)
        path = match["path"] if match else ""
        at = where if is_one_setting else f"{where}{_readable(path)}"
        raise InputError(f"{at}: {_in_words(_PATH.sub('', message), content, kind, path)}") from None


_EXPECTED = re.compile(
    r"Expected `(?P<forms>[^`]*)`(?P<bound> [<>]=? \S+)?(?: of length (?P<length>\d+))?(?:, got .*)?"
)
_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "bool": "true or false",
    "object": "names with values, such as {name: value}",
    "null": "nothing",
}
_BOUNDS = {">=": "of at least", "<=": "of at most", ">": "above", "<": "below"}


def _in_words(message: str, content: Any, kind: Any, path: str) -> str:
    """A message of the converter as a person says it: what was found, and which form is expected."""
    is_seen = "[...]" not in path  # the converter does not say which key of a mapping it means
    found = _value_at(content, path) if is_seen else None
    if message.startswith("Invalid enum value"):
        choices = _choices(_info_at(kind, path))
        name = short(found) if is_seen else message.removeprefix("Invalid enum value ")
        return f"no value {name}; {nearest(name.strip(chr(39)), choices)}" if choices else message
    match = _EXPECTED.fullmatch(message)
    if match is None:
        return message
    forms = [form for form in match["forms"].split(" | ") if form != "null"] or ["null"]
    if "float" in forms and "int" in forms:
        forms.remove("int")
    words = [_list_form(found, match["length"]) if form == "array" else _WORDS.get(form, form) for form in forms]
    expected = " or ".join(words)
    if match["bound"]:
        sign, _, bound = match["bound"].strip().partition(" ")
        expected = f"{expected} {_BOUNDS[sign]} {bound}"
    return f"found {_written(found)}, expected {expected}" if is_seen else f"expected {expected}"


def _list_form(found: Any, length: str | None) -> str:
    """A list in words, with the value that stands in its place as an example."""
    if length is not None:
        return f"a list of {length} values"
    is_plain = isinstance(found, str | int | float) and not isinstance(found, bool)
    example = f"[{found}]" if is_plain and len(str(found)) <= _LONGEST_EXAMPLE else "[a, b]"
    return f"a list, such as {example}"


def _written(found: Any) -> str:
    """A value as YAML has it."""
    if found is None:
        return "nothing"
    if isinstance(found, bool):
        return str(found).lower()
    if isinstance(found, list | tuple | dict):
        return "names with values" if isinstance(found, dict) else "a list"
    return short(found) if isinstance(found, str) else str(found)


def _value_at(content: Any, path: str) -> Any:
    """The value at a path such as ``.stages[0].keep``; inside a mapping without a named key the mapping itself."""
    for name, index in _STEPS.findall(path):
        if name and isinstance(content, dict) and name in content:
            content = content[name]
        elif index and isinstance(content, list | tuple):
            content = content[int(index)]
        else:
            return content
    return content


def _choices(info: Any) -> list[str]:
    """The texts that a type allows; empty where it allows any."""
    return [str(value) for value in getattr(_present(info), "values", ())]


def _named(value: Any) -> Any:
    """A value in which every key is a text: YAML reads ``7:`` as a number."""
    if isinstance(value, dict):
        return {str(key): _named(inner) for key, inner in value.items()}
    return [_named(inner) for inner in value] if isinstance(value, list) else value


def _readable(path: str) -> str:
    """A path inside a value, readable: ``.stages[0]`` is ``, stages 1``."""
    words = re.sub(r"\[(\d+)\]", lambda match: f" {int(match[1]) + 1}", path).replace("[...]", "").strip(".")
    return f", {words.replace('.', ', ')}" if words else ""


def _names(kind: Any, path: str) -> list[str]:
    """The settings of a type at a path inside it, such as ``.stages[0].keep[...]``."""
    return [field.encode_name for field in getattr(_present(_info_at(kind, path)), "fields", ())]


def _info_at(kind: Any, path: str) -> Any:
    """The type at a path inside a type."""
    info: Any = msgspec.inspect.type_info(kind)
    for name, inside in re.findall(r"\.(\w+)|(\[)", path):
        current = _present(info)
        if inside:
            info = getattr(current, "value_type", None) or getattr(current, "item_type", None)
        else:
            info = next((field.type for field in getattr(current, "fields", ()) if field.encode_name == name), None)
    return info


def _present(info: Any) -> Any:
    types = getattr(info, "types", (info,))
    return next((kind for kind in types if not isinstance(kind, msgspec.inspect.NoneType)), info)
