"""Conditions by name: how a question is asked, from words such as ``no-image+cot`` or ``image+order=7``.

A condition is a list of overlays joined by ``+``. An overlay is a name of ``conditions.yaml`` or of the project file,
or ``AXIS=VALUE``; several values of an axis (``template=0/1/2``) stand for all combinations. ``perturb`` repeats
every condition in several tests, in which the instruction, the option order or the option letters vary.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec

from eyetest.errors import InputError, heading, listed, nearest, short
from eyetest.grammar import refuse_repeated, split_parts
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
    conditions: list[Condition] = []
    by_name: dict[str, tuple[Condition, ...]] = {}
    for word in given or [""]:
        if isinstance(word, Condition):
            conditions.append(word)
            continue
        for name in split_parts(word, "condition") if word else [""]:
            refuse_repeated([*by_name, name], "condition")
            by_name[name] = _combined(_overlays(name, project), seed)
            conditions += by_name[name]
    _refuse_needless(by_name)
    return tuple(dict.fromkeys(conditions))


def _refuse_needless(by_name: Mapping[str, tuple[Condition, ...]]) -> None:
    """Refuse a name that asks nothing which the other names together do not ask."""
    times = Counter(condition for conditions in by_name.values() for condition in set(conditions))
    for name in reversed(list(by_name)):
        conditions = by_name[name]
        if all(times[condition] > 1 for condition in conditions):
            others = [other for other in by_name if other != name and {*by_name[other]} & {*conditions}]
            raise _wrong(f"{short(name)} asks nothing that {listed(others)} does not ask; leave one of them out")


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
    if not word:
        return
    names = split_parts(word, "condition", "+")
    refuse_repeated(names, "condition")
    for name in names:
        key, equals, value = name.partition("=")
        if not equals and name not in known:
            raise _wrong(f"no condition {short(name)}; {nearest(name, known)}")
        is_list = "/" in value and not (key == "prompts" and Path(value).is_file())
        values = split_parts(value, "condition", "/") if is_list else [value]
        refuse_repeated(values, "condition")
        yield {key: values} if equals else known[name]


def _combined(overlays: Iterable[Mapping[str, Any]], seed: int) -> tuple[Condition, ...]:
    """The conditions of overlays: no two may set the same axis; sources of ``perturb`` add up."""
    axes: dict[str, list[Any]] = {}
    sources: list[str] = []
    tests: Any = None
    for overlay in overlays:
        for axis, given in overlay.items():
            values = list(given) if isinstance(given, list | tuple) else [given]
            if axis == "perturb":
                sources += [source.strip() for value in values for source in str(value).split(",")]
            elif axis == "tests":
                _refuse_second(axis, [] if tests is None else [tests], values)
                tests = values[0]
            else:
                checked = list(dict.fromkeys(_value(axis, str(value)) for value in values))
                _refuse_second(axis, axes.get(axis, []), checked)
                axes[axis] = checked
    points = [Condition(**dict(zip(axes, point, strict=True))) for point in product(*axes.values())]
    _refuse_unseen_options(points)
    if tests is not None and not sources:
        raise _wrong(f"tests needs perturb: what varies ({', '.join(SOURCES)})?")
    refuse_repeated(sources, "condition")
    for source in sources:
        if source not in SOURCES:
            raise _wrong(f"perturb: no source {short(source)}; {nearest(source, SOURCES)}")
        if (axis := SOURCES[source]) in axes and axes[axis] != [getattr(Condition(), axis)]:
            raise _wrong(f"perturb={source} starts from the usual {axis}; leave out {axis}, or {source}")
    number = USUAL_TESTS if tests is None else _number("tests", str(tests))
    if not 2 <= number <= MOST_TESTS:
        raise _wrong(f"tests: found {number}, expected 2 to {MOST_TESTS:,}")
    varied = [SOURCES[source] for source in sources]
    if varied and "template" not in varied and all(point.method == "likelihood" for point in points):
        raise _wrong(f"perturb={'/'.join(sources)} changes nothing under likelihood, which shows no options")
    changed = (
        msgspec.structs.replace(point, **test) for point in points for test in _tests(point, varied, number, seed)
    )
    return tuple(dict.fromkeys(changed))


def _refuse_unseen_options(points: Sequence[Condition]) -> None:
    """Refuse letters and orders of options where each method is ``likelihood``, which shows none."""
    if any(point.method != "likelihood" for point in points):
        return
    usual = Condition()
    for axis, point in product(("letters", "order"), points):
        value = getattr(point, axis)
        if value != getattr(usual, axis):
            word = order_word(value) if axis == "order" else value
            raise _wrong(f"{axis}={word} changes nothing under likelihood, which shows no options")


def _refuse_second(axis: str, values: Sequence[Any], others: Sequence[Any]) -> None:
    """Refuse an axis that is set a second time: one of the two would be dropped."""
    if values:
        first, second = ("/".join(_spelled(axis, value) for value in some) for some in (values, others))
        again = f"{first} is given twice" if first == second else f"{first} and {second} contradict each other"
        raise _wrong(f"{axis}: {again}; several values of an axis are written {axis}=A/B")


def _spelled(axis: str, value: Any) -> str:
    """A value of an axis as users write it."""
    return order_word(value) if axis == "order" else str(value)


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
