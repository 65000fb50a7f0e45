"""Conditions by name: how a question is asked, from words such as ``no-image+cot`` or ``image+order=7``.

A condition is a list of overlays joined by ``+``. An overlay is a name of ``conditions.yaml`` or of the project file,
or ``AXIS=VALUE``; several values of an axis (``template=0/1/2``) stand for all combinations. ``perturb`` repeats
every condition in several tests, in which the instruction, the option order or the option letters vary.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec

from eyetest.errors import InputError, heading, nearest, short
from eyetest.prompts.building import FEWEST_TEMPLATES
from eyetest.records import REVERSED, Condition, order_word
from eyetest.store.handwritten import parse_yaml, read_yaml
from eyetest.wording import counted, listed

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


class Perturbation(msgspec.Struct, frozen=True, kw_only=True):
    """What varies over how many tests of every item: all sources together, or one of them at a time."""

    sources: tuple[str, ...] = ()
    tests: int = USUAL_TESTS
    seed: int = 0
    one_at_a_time: bool = False

    def __post_init__(self) -> None:
        for source in self.sources:
            if source not in SOURCES:
                raise _wrong(f"perturb: no source {short(source)}; {nearest(source, SOURCES)}")
        if not 2 <= self.tests <= MOST_TESTS:
            raise _wrong(f"tests: found {self.tests}, expected 2 to {MOST_TESTS:,}")


def _wrong(why: str) -> InputError:
    return InputError(f"{heading('condition')}: {why}")


Conditions = str | Condition | Iterable[str | Condition] | Mapping[str, Any]
"""Words that name conditions, conditions themselves, or axes with their values."""


def read_conditions(
    words: Conditions, seed: int = 0, project: Path = PROJECT, also: Mapping[str, Any] | None = None
) -> tuple[tuple[Condition, ...], list[str]]:
    """The conditions that some words name, none twice, and notes on tests that cannot differ.

    Words are separated by commas; no words mean the usual condition. ``also`` is an overlay for all of them.
    """
    if isinstance(words, Mapping):
        return _combined([words, also or {}], seed)
    given = [words] if isinstance(words, str | Condition) else list(words)
    found: list[Condition] = []
    notes: list[str] = []
    for word in given or [""]:
        if isinstance(word, Condition):
            found.append(word)
            continue
        for part in word.split(","):
            conditions, more = _combined([*_overlays(part.strip(), project), also or {}], seed)
            found += conditions
            notes += [note for note in more if note not in notes]
    return tuple(dict.fromkeys(found)), notes


def condition_names(project: Path = PROJECT) -> dict[str, dict[str, Any]]:
    """Every named condition: those that come with eyetest, then those of the project file."""
    content = (read_yaml(project) if project.is_file() else None) or {}
    own = (content.get("conditions") if isinstance(content, dict) else None) or {}
    if not isinstance(own, dict) or not all(isinstance(overlay, dict) for overlay in own.values()):
        raise InputError(f"{project}: conditions: expected names, each with axes and values")
    return _shipped() | {str(name): overlay for name, overlay in own.items()}


@cache
def _shipped() -> dict[str, dict[str, Any]]:
    text = files("eyetest.prompts").joinpath("conditions.yaml").read_text("utf-8")
    known: dict[str, dict[str, Any]] = parse_yaml(text, "conditions.yaml")
    return known


def _overlays(word: str, project: Path) -> Iterator[Mapping[str, Any]]:
    """The overlays joined by ``+``."""
    known = condition_names(project)
    for name in filter(None, (part.strip() for part in word.split("+"))):
        key, equals, value = name.partition("=")
        if not equals and name not in known:
            raise _wrong(f"no condition {short(name)}; {nearest(name, known)}")
        yield {key: value.split("/") if "/" in value else value} if equals else known[name]


def _combined(overlays: Iterable[Mapping[str, Any]], seed: int) -> tuple[tuple[Condition, ...], list[str]]:
    """The conditions of overlays: a later one replaces an axis of an earlier one; sources of ``perturb`` add up."""
    axes: dict[str, list[Any]] = {}
    how: dict[str, Any] = {}
    for overlay in overlays:
        for axis, given in overlay.items():
            values = list(given) if isinstance(given, list | tuple) else [given]
            if axis == "perturb":
                sources = [source.strip() for value in values for source in str(value).split(",")]
                how[axis] = tuple(dict.fromkeys((*how.get(axis, ()), *sources)))
            elif axis in ("tests", "one_at_a_time"):
                how[axis] = given
            else:
                axes[axis] = list(dict.fromkeys(_value(axis, str(value)) for value in values))
    points = [Condition(**dict(zip(axes, point, strict=True))) for point in product(*axes.values())]
    if not how:
        return tuple(points), []
    if "perturb" not in how:
        raise _wrong(f"{next(iter(how))} needs perturb: what varies ({', '.join(SOURCES)})?")
    tests = _number("tests", str(how.get("tests", USUAL_TESTS)))
    alone = str(how.get("one_at_a_time")).lower() == "true"
    perturbation = Perturbation(sources=how["perturb"], tests=tests, seed=seed, one_at_a_time=alone)
    return perturbed(points, perturbation), fewer_tests(points, perturbation)


def _value(axis: str, word: str) -> Any:
    """A value of an axis, checked."""
    if axis in _NUMBERS:
        if axis == "order" and word == order_word(REVERSED):
            return REVERSED
        if axis == "template" and word.startswith("-"):
            raise _wrong(f"{axis}: found {short(word)}, expected a number from 0")
        return _number(axis, word)
    if axis not in _WORDS:
        known = (*_WORDS, *_NUMBERS, "perturb", "tests", "one_at_a_time")
        raise _wrong(f"no axis {short(axis)}; {nearest(axis, known)}")
    if word not in _WORDS[axis]:
        raise _wrong(f"{axis}: no value {short(word)}; {nearest(word, _WORDS[axis])}")
    return word


def _number(axis: str, word: str) -> int:
    if not re.fullmatch(_DIGITS, word):
        raise _wrong(f"{axis}: found {short(word)}, expected a whole number")
    return int(word)


def perturbed(conditions: Sequence[Condition], how: Perturbation) -> tuple[Condition, ...]:
    """Every condition in all of its tests, none twice."""
    for condition, source in product(conditions, how.sources):
        if getattr(condition, axis := SOURCES[source]) != getattr(Condition(), axis):
            raise _wrong(f"perturb={source} starts from the usual {axis}; leave out {axis}, or {source}")
    tests = ((condition, test) for condition in conditions for test in _tests(how, condition))
    return tuple(dict.fromkeys(msgspec.structs.replace(condition, **test) for condition, test in tests))


def fewer_tests(conditions: Sequence[Condition], how: Perturbation) -> list[str]:
    """Notes on sources that cannot vary, or that vary in fewer ways than there are tests."""
    notes = []
    shown = [condition for condition in conditions if condition.method != "likelihood"]
    idle = [source for source in how.sources if SOURCES[source] != "template"]
    if idle and len(shown) < len(conditions):
        notes.append(f"under likelihood no options are shown: {listed(idle)} cannot vary there")
    for group in [(source,) for source in how.sources] if how.one_at_a_time else [how.sources]:
        alone = msgspec.structs.replace(how, sources=group, one_at_a_time=False)
        for condition in (shown if group else [])[:1]:
            ways = len({tuple(test.items()) for test in _tests(alone, condition) if test})
            if ways < how.tests:
                notes.append(f"{' with '.join(group)} can vary in {counted(ways, 'way')}: {ways} tests")
    return notes


def _tests(how: Perturbation, condition: Condition) -> Iterator[Mapping[str, Any]]:
    """What each test changes of a condition; the first changes nothing."""
    yield {}
    axes = [SOURCES[source] for source in how.sources]
    if condition.method == "likelihood":  # only the instruction of what is sent can change
        axes = [axis for axis in axes if axis == "template"]
    others = (_draw(how.seed, "order", number) % _LARGEST_ORDER for number in range(2 * how.tests))
    orders = list(dict.fromkeys((0, *others)))  # the order as written, then others, none twice
    cycle = [0, *sorted(range(1, FEWEST_TEMPLATES), key=lambda template: _draw(how.seed, "template", template))]
    letters = _WORDS["letters"]
    for test in range(how.tests):
        turn, index = divmod(test, len(cycle))
        other = letters[(test + turn) % len(letters)]  # other letters for a repeated template
        values = {"template": cycle[index], "order": orders[test], "letters": other}
        for group in [[axis] for axis in axes] if how.one_at_a_time else [axes]:
            yield {axis: values[axis] for axis in group}


def _draw(seed: int, axis: str, number: int) -> int:
    """A pseudo-random number of a key and a seed."""
    return int.from_bytes(blake2b(f"{seed}\x1f{axis}\x1f{number}".encode(), digest_size=8).digest())
