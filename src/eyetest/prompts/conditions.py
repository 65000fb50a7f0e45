"""Conditions by name: how a question is asked, from words such as ``no-image+cot`` or ``image+order=7``.

A condition is a list of overlays joined by ``+``. An overlay is a name of ``conditions.yaml`` or of the project file,
or ``AXIS=VALUE``; several values of an axis (``template=0/1/2``) stand for all combinations. ``perturb`` repeats
every condition in several tests, in which the instruction, the option order or the option letters vary.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec

from eyetest.errors import InputError, heading, nearest, short
from eyetest.prompts.sets import load_prompts
from eyetest.records import REVERSED, Condition, order_word
from eyetest.store.handwritten import read_yaml

PROJECT = Path("eyetest.yaml")
SOURCES = {"instruction": "template", "order": "order", "letters": "letters"}
"""What can vary from test to test, and the axis it changes."""
USUAL_TESTS = 5
"""The fewest that ReForm-Eval takes for enough."""
MOST_TESTS = 1_000
_DIGITS = r"-?[0-9]{1,18}"  # longer numbers do not fit the columns that hold templates and orders
_WORDS = {axis: get_args(kind) for axis, kind in get_type_hints(Condition).items() if get_args(kind)}
_NUMBERS = ("template", "order")
_LARGEST_ORDER = 10**6
_TEMPLATES = 6  # in every list of ours


def _wrong(why: str) -> InputError:
    return InputError(f"{heading('condition')}: {why}")


Conditions = str | Condition | Iterable[str | Condition] | Mapping[str, Any]
"""Words that name conditions, conditions themselves, or axes with their values."""


def read_conditions(words: Conditions, seed: int = 0, project: Path = PROJECT) -> tuple[Condition, ...]:
    """The conditions that some words, separated by commas, name, none twice; no words mean the usual condition."""
    if isinstance(words, Mapping):
        return _combined([words], seed)
    given = [words] if isinstance(words, str | Condition) else list(words)
    found: list[Condition] = []
    for word in given or [""]:
        if isinstance(word, Condition):
            found.append(word)
            continue
        for part in word.split(","):
            found += _combined(_overlays(part.strip(), project), seed)
    return tuple(dict.fromkeys(found))


def condition_names(project: Path = PROJECT) -> dict[str, dict[str, Any]]:
    """Every named condition: those that come with eyetest, then those of the project file."""
    content = (read_yaml(project) if project.is_file() else None) or {}
    own = (content.get("conditions") if isinstance(content, dict) else None) or {}
    if not isinstance(own, dict) or not all(isinstance(overlay, dict) for overlay in own.values()):
        raise InputError(f"{project}: conditions: expected names, each with axes and values")
    return _shipped() | {str(name): overlay for name, overlay in own.items()}


@cache
def _shipped() -> dict[str, dict[str, Any]]:
    text = files(__package__).joinpath("conditions.yaml").read_bytes()
    return msgspec.yaml.decode(text, type=dict[str, dict[str, Any]])


def _overlays(word: str, project: Path) -> Iterator[Mapping[str, Any]]:
    """The overlays joined by ``+``."""
    known = condition_names(project)
    for name in filter(None, (part.strip() for part in word.split("+"))):
        key, equals, value = name.partition("=")
        if not equals and name not in known:
            raise _wrong(f"no condition {short(name)}; {nearest(name, known)}")
        is_list = "/" in value and not (key == "prompts" and Path(value).is_file())
        yield {key: value.split("/") if is_list else value} if equals else known[name]


def _combined(overlays: Iterable[Mapping[str, Any]], seed: int) -> tuple[Condition, ...]:
    """The conditions of overlays: a later one replaces an axis of an earlier one; sources of ``perturb`` add up."""
    axes: dict[str, list[Any]] = {}
    sources: list[str] = []
    tests: Any = None
    for overlay in overlays:
        for axis, given in overlay.items():
            values = list(given) if isinstance(given, list | tuple) else [given]
            if axis == "perturb":
                sources += [source.strip() for value in values for source in str(value).split(",")]
            elif axis == "tests":
                tests = given
            else:
                axes[axis] = list(dict.fromkeys(_value(axis, str(value)) for value in values))
    points = [Condition(**dict(zip(axes, point, strict=True))) for point in product(*axes.values())]
    if tests is not None and not sources:
        raise _wrong(f"tests needs perturb: what varies ({', '.join(SOURCES)})?")
    for source in sources:
        if source not in SOURCES:
            raise _wrong(f"perturb: no source {short(source)}; {nearest(source, SOURCES)}")
        if (axis := SOURCES[source]) in axes and axes[axis] != [getattr(Condition(), axis)]:
            raise _wrong(f"perturb={source} starts from the usual {axis}; leave out {axis}, or {source}")
    number = USUAL_TESTS if tests is None else _number("tests", str(tests))
    if not 2 <= number <= MOST_TESTS:
        raise _wrong(f"tests: found {number}, expected 2 to {MOST_TESTS:,}")
    varied = [SOURCES[source] for source in sources]
    changed = (
        msgspec.structs.replace(point, **test) for point in points for test in _tests(point, varied, number, seed)
    )
    return tuple(dict.fromkeys(changed))


def _value(axis: str, word: str) -> Any:
    """A value of an axis, checked."""
    if axis == "prompts":
        return load_prompts(word).label
    if axis in _NUMBERS:
        if axis == "order" and word == order_word(REVERSED):
            return REVERSED
        if axis == "template" and word.startswith("-"):
            raise _wrong(f"{axis}: found {short(word)}, expected a number from 0")
        return _number(axis, word)
    if axis not in _WORDS:
        known = (*_WORDS, *_NUMBERS, "prompts", "perturb", "tests")
        raise _wrong(f"no axis {short(axis)}; {nearest(axis, known)}")
    if word not in _WORDS[axis]:
        raise _wrong(f"{axis}: no value {short(word)}; {nearest(word, _WORDS[axis])}")
    return word


def _number(axis: str, word: str) -> int:
    if not re.fullmatch(_DIGITS, word):
        raise _wrong(f"{axis}: found {short(word)}, expected a whole number")
    return int(word)


def _tests(point: Condition, varied: list[str], number: int, seed: int) -> Iterator[Mapping[str, Any]]:
    """What each test changes of a condition; the first changes nothing."""
    others = (_draw(seed, "order", test) % _LARGEST_ORDER for test in range(2 * number))
    orders = list(dict.fromkeys((0, *others)))  # the order as written, then others, none twice
    cycle = [0, *sorted(range(1, _TEMPLATES), key=lambda template: _draw(seed, "template", template))]
    letters = _WORDS["letters"]
    for test in range(number if varied else 1):
        turn, index = divmod(test, len(cycle))
        other = letters[(test + turn) % len(letters)]  # other letters for a repeated template
        values = {"template": cycle[index], "order": orders[test], "letters": other}
        # likelihood shows no options: only the instruction of what is sent can change
        yield {axis: values[axis] for axis in varied if axis == "template" or point.method != "likelihood"}


def _draw(seed: int, axis: str, number: int) -> int:
    """A pseudo-random number of a key and a seed."""
    return int.from_bytes(blake2b(f"{seed}\x1f{axis}\x1f{number}".encode(), digest_size=8).digest())
