"""Every regular expression of the package, and the texts that cost each of them most, made of its own parts."""

import ast
import functools
import importlib
import pkgutil
import re
import re._constants as codes  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import eyetest
from eyetest.scoring.rules.cues import load_cues
from eyetest.store.handwritten import read_yaml

SOURCE = Path(eyetest.__file__).parent
_DEEPEST = 4
_LOOKING = frozenset(("search", "finditer", "findall", "sub", "subn", "split"))
_CALLS = frozenset((*_LOOKING, "match", "fullmatch", "compile"))
_IS_PATTERN = re.compile(r"\(\?|\\[bdswSDWB]|\[[^\]]+\][*+{]")
_NEEDS_EXTRAS = ("integrations", "checkpoint", "running.cluster")


Tree = tuple[Path, ast.Module]
Call = tuple[Path, ast.Call, str, str]


class Found(NamedTuple):
    """A pattern, where it was found, and whether it is searched for from every character of a text."""

    where: str
    pattern: re.Pattern[str]
    is_searched: bool


def every_pattern() -> list[Found]:
    """The patterns of modules, of calls inside functions, of the table of cues, and of data files; each once."""
    found = [*_of_modules(), *_of_calls(), *_of_cues(), *_of_data()]
    return list({(entry.pattern.pattern, entry.pattern.flags): entry for entry in found}.values())


def _of_modules() -> Iterator[Found]:
    everywhere = _names_searched(_trees())
    for info in pkgutil.walk_packages(eyetest.__path__, "eyetest."):
        if any(part in info.name for part in _NEEDS_EXTRAS) or info.name.endswith("__main__"):
            continue
        module = importlib.import_module(info.name)
        own = [(Path(str(module.__file__)), ast.parse(Path(str(module.__file__)).read_text("utf-8")))]
        here = _names_searched(own)
        for name, value in list(vars(module).items()):
            for pattern in _patterns_in(value, 0):
                yield Found(f"{info.name} {name}", pattern, _is_searched(name, value, here, everywhere))


def _is_searched(name: str, value: Any, here: frozenset[str], everywhere: frozenset[str]) -> bool:
    """Whether a pattern is searched for: a private one in its own module, any other in all modules."""
    return not isinstance(value, re.Pattern) or name in (here if name.startswith("_") else everywhere)


def _patterns_in(value: Any, depth: int) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        if isinstance(value.pattern, str):
            yield value
    elif depth < _DEEPEST and isinstance(value, Mapping):
        for part in value.values():
            yield from _patterns_in(part, depth + 1)
    elif depth < _DEEPEST and isinstance(value, list | tuple | frozenset):
        for part in value:
            yield from _patterns_in(part, depth + 1)


@functools.cache
def _trees() -> list[Tree]:
    return [(path, ast.parse(path.read_text("utf-8"))) for path in sorted(SOURCE.rglob("*.py"))]


def _calls(trees: Iterable[Tree]) -> list[Call]:
    """The calls of methods of patterns: the file, the call, the name before the point and the one behind it."""
    calls = []
    for path, tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CALLS:
                holder = node.func.value
                name = holder.id if isinstance(holder, ast.Name) else getattr(holder, "attr", "")
                calls.append((path, node, name, node.func.attr))
    return calls


def _methods(trees: Iterable[Tree]) -> set[tuple[str, str]]:
    """The names whose methods are used, each with the method, called or handed on."""
    nodes = (node for _, tree in trees for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    return {(getattr(node.value, "id", getattr(node.value, "attr", "")), node.attr) for node in nodes}


def _names_searched(trees: Iterable[Tree]) -> frozenset[str]:
    """The names of patterns that are not only matched at one place, and those that are handed on."""
    used = _methods(trees)
    by_call = {name for name, method in used if method in _LOOKING}
    matched = {name for name, method in used if method in ("match", "fullmatch")}
    loaded = {node.id for _, tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return frozenset(by_call | (loaded - matched))


def _of_calls() -> Iterator[Found]:
    calls = ((path, call, method) for path, call, name, method in _calls(_trees()) if name == "re")
    for path, call, method in calls:
        first = call.args[0] if call.args else None
        if method != "compile" and isinstance(first, ast.Constant) and isinstance(first.value, str):
            where = f"{path.relative_to(SOURCE)} line {call.lineno}"
            yield Found(where, re.compile(first.value), method not in ("match", "fullmatch"))


def _of_cues() -> Iterator[Found]:
    for group in load_cues().cues.values():
        for cue in group:
            for pattern in (cue.pattern, cue.after):  # tried where a word stands with which the cue begins
                if pattern:
                    yield Found(f"cue {cue.name}", pattern, False)
            if cue.foreign:
                yield Found(f"cue {cue.name}", cue.foreign, True)


def _of_data() -> Iterator[Found]:
    for path in sorted(SOURCE.rglob("*.yaml")):
        if path.name == "cues.yaml":
            continue
        for text in _texts_in(read_yaml(path)):
            if _IS_PATTERN.search(text):
                where = str(path.relative_to(SOURCE))
                try:
                    pattern = re.compile(text, re.IGNORECASE)
                except (re.error, OverflowError):
                    continue
                yield Found(where, pattern, "catalog" not in where)


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _texts_in(key)
            yield from _texts_in(part)
    elif isinstance(value, list):
        for part in value:
            yield from _texts_in(part)


class Attack(NamedTuple):
    """A text that a repeated part of a pattern accepts again and again, and that the pattern then refuses."""

    before: str
    pump: str
    behind: str

    def text(self, size: int) -> str:
        """A text of about so many characters."""
        return self.before + self.pump * (size // len(self.pump)) + self.behind


_BEHIND = ("", "\0", "x")
_LONG = 10  # a part that may be repeated more often than this is pumped
_SAMPLES = 2
_CATEGORIES = {
    codes.CATEGORY_DIGIT: "1", codes.CATEGORY_SPACE: " ", codes.CATEGORY_WORD: "a",
    codes.CATEGORY_NOT_DIGIT: "a", codes.CATEGORY_NOT_SPACE: "a", codes.CATEGORY_NOT_WORD: "-",
}  # fmt: skip
_ALPHABET = "a1 -_.,;:!?'\"()[]{}<>|/\\$%*+=~#@^é是\n\t\0AzZ9"


def attacks(pattern: re.Pattern[str]) -> list[Attack]:
    """The attacks on every repeated part of a pattern, drawn alike at each call."""
    lot = Random(ascii(pattern.pattern))
    made: dict[Attack, None] = {}
    for _ in range(_SAMPLES):
        for before, pump in _pumps(list(parser.parse(pattern.pattern, pattern.flags)), lot):
            if pump:
                made.update({Attack(before, pump, behind): None for behind in _BEHIND})
                made.update({Attack("", before + pump, behind): None for behind in _BEHIND[:2]})
    return list(made)


def _pumps(nodes: Iterable[Any], lot: Random) -> Iterator[tuple[str, str]]:
    """What stands before each repeated part, and what it repeats."""
    before = ""
    for code, argument in nodes:
        for inner in _bodies(code, argument):
            for start, pump in _pumps(inner, lot):
                yield before + start, pump
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT) and argument[1] > _LONG:
            yield before, _sample(argument[2], lot)
        before += _sample([(code, argument)], lot)


def _bodies(code: Any, argument: Any) -> list[Any]:
    """The parts inside a part."""
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        return [argument[2]]
    if code is codes.SUBPATTERN:
        return [argument[3]]
    if code is codes.BRANCH:
        return list(argument[1])
    if code in (codes.ASSERT, codes.ASSERT_NOT):
        return [argument[1]]
    if code is codes.ATOMIC_GROUP:
        return [argument]
    return []


def _sample(nodes: Iterable[Any], lot: Random) -> str:
    """A text that these parts accept."""
    return "".join(_sample_of(code, argument, lot) for code, argument in nodes)


def _sample_of(code: Any, argument: Any, lot: Random) -> str:
    if code is codes.LITERAL:
        return chr(argument)
    if code is codes.NOT_LITERAL:
        return next(sign for sign in _ALPHABET if ord(sign) != argument)
    if code is codes.ANY:
        return "a"
    if code is codes.IN:
        return _member(argument, lot)
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        return "".join(_sample(argument[2], lot) for _ in range(argument[0] or lot.choice((0, 1))))
    bodies = _bodies(code, argument)
    if not bodies or code in (codes.ASSERT, codes.ASSERT_NOT):
        return ""
    return _sample(lot.choice(bodies), lot)


def _member(members: list[Any], lot: Random) -> str:
    """A character of a class."""
    if members[0][0] is codes.NEGATE:
        fitting = [sign for sign in _ALPHABET if not any(_holds(member, sign) for member in members[1:])]
        return lot.choice(fitting or ["☃"])
    code, argument = lot.choice(members)
    if code is codes.RANGE:
        return chr(argument[0])
    return _CATEGORIES[argument] if code is codes.CATEGORY else chr(argument)


def _holds(member: tuple[Any, Any], sign: str) -> bool:
    code, argument = member
    if code is codes.RANGE:
        return bool(argument[0] <= ord(sign) <= argument[1])
    if code is codes.LITERAL:
        return bool(argument == ord(sign))
    holds = {"DIGIT": sign.isdecimal(), "SPACE": sign.isspace(), "WORD": sign.isalnum() or sign == "_"}
    kind = str(argument).removeprefix("CATEGORY_")
    return not holds[kind.removeprefix("NOT_")] if kind.startswith("NOT_") else holds.get(kind, False)
