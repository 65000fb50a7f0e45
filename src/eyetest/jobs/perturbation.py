"""The same question put otherwise, again and again: what ReForm-Eval calls tests of a sample.

A test changes the instruction, the order of the options, their marks, or all of them, and never what is asked. Test 0
is the question as usual, so that whoever asks for more tests later asks only what is new.
"""

from collections.abc import Iterator, Sequence
from typing import Any, get_args

import msgspec

from eyetest.curate.quotas import draw
from eyetest.errors import InputError, heading, nearest, param, short
from eyetest.jobs.opening import SILENT, Observer
from eyetest.measures.instability import SOURCES
from eyetest.prompts.wording import FEWEST_TEMPLATES
from eyetest.records import Condition
from eyetest.records.tables import Marks
from eyetest.wording import counted, listed

PERTURBED = tuple(source for source in SOURCES if source != "trial")
"""What can be varied: a further trial is the same question once more, and has an option of its own."""
USUAL_TESTS = 5
"""The fewest that ReForm-Eval takes for enough."""
MOST_TESTS = 1_000
_MARKS: tuple[str, ...] = get_args(Marks)
_LARGEST_ORDER = 10**6
_USUAL = Condition()


class Perturbation(msgspec.Struct, frozen=True, kw_only=True):
    """What varies over how many tests of every item: all sources together, or one of them at a time."""

    sources: tuple[str, ...] = ()
    tests: int = USUAL_TESTS
    seed: int = 0
    one_at_a_time: bool = False

    def __post_init__(self) -> None:
        for source in self.sources:
            if source not in PERTURBED:
                raise InputError(f"{heading('perturb')}: no source {short(source)}; {nearest(source, PERTURBED)}")
        if not 2 <= self.tests <= MOST_TESTS:
            raise InputError(f"{heading('tests')}: found {self.tests}, expected 2 to {MOST_TESTS:,}")


def read_perturbation(
    perturb: str | Sequence[str] | None, tests: int | None = None, seed: int = 0, *, one_at_a_time: bool = False
) -> Perturbation:
    """What a user's words mean; without any, nothing varies."""
    words = [perturb] if isinstance(perturb, str) else perturb or ()
    sources = tuple(dict.fromkeys(part.strip() for word in words for part in word.split(",")))
    if not sources and (tests is not None or one_at_a_time):
        said = param("tests", tests) if tests is not None else param("one_at_a_time", True)
        raise InputError(
            f"{said} needs {param('perturb')}: what varies from test to test ({', '.join(PERTURBED)})? "
            f"{param('trials')} asks the very same again"
        )
    return Perturbation(
        sources=sources, tests=USUAL_TESTS if tests is None else tests, seed=seed, one_at_a_time=one_at_a_time
    )


def perturbed(
    conditions: Sequence[Condition], how: Perturbation, observer: Observer = SILENT
) -> tuple[Condition, ...]:
    """Every condition in all of its tests, none twice. Where there are fewer than wanted, the observer hears why."""
    for condition in conditions:
        for source in how.sources:
            axis = SOURCES[source]
            if getattr(condition, axis) != getattr(_USUAL, axis):
                both = f"{param('perturb', source)} starts from the usual {axis}"
                raise InputError(f"{both}; leave out {param(axis)}, or {source}")
    _tell_of_fewer(conditions, how, observer)
    return tuple(
        dict.fromkeys(
            msgspec.structs.replace(condition, **test) for condition in conditions for test in _tests(how, condition)
        )
    )


def _tell_of_fewer(conditions: Sequence[Condition], how: Perturbation, observer: Observer) -> None:
    shown = [one for one in conditions if one.method != "likelihood"]
    idle = [source for source in how.sources if SOURCES[source] != "template"]
    if idle and len(shown) < len(conditions):
        observer.note(f"under likelihood no options are shown: {listed(idle)} cannot vary there")
    for group in [(source,) for source in how.sources] if how.one_at_a_time else [how.sources]:
        alone = msgspec.structs.replace(how, sources=group, one_at_a_time=False)
        for condition in (shown if group else [])[:1]:
            ways = len({tuple(test.items()) for test in _tests(alone, condition) if test})
            if ways < how.tests:
                observer.note(f"{' with '.join(group)} can be put in {counted(ways, 'way')}: {ways} tests of it")


def _acts(condition: Condition, axis: str) -> bool:
    """Whether an axis changes anything of what is sent."""
    return condition.method != "likelihood" or axis == "template"


def _tests(how: Perturbation, condition: Condition) -> Iterator[dict[str, Any]]:
    """What each test changes of a condition; the first changes nothing."""
    yield {}
    axes = [SOURCES[source] for source in how.sources if _acts(condition, SOURCES[source])]
    orders = _orders(how.seed)
    cycle = [0, *sorted(range(1, FEWEST_TEMPLATES), key=lambda template: draw(how.seed, "template", str(template)))]
    for test in range(how.tests):
        round_, index = divmod(test, len(cycle))
        values = {
            "template": cycle[index],
            "order": next(orders),
            "marks": _MARKS[(test + round_) % len(_MARKS)],  # so that a template meets other marks the next time
        }
        for group in [[axis] for axis in axes] if how.one_at_a_time else [axes]:
            yield {axis: values[axis] for axis in group}


def _orders(seed: int) -> Iterator[int]:
    """The order as written, then seeds of other orders, none twice."""
    known = {0}
    yield 0
    for number in range(_LARGEST_ORDER):
        order = draw(seed, "order", str(number)) % _LARGEST_ORDER
        if order not in known:
            known.add(order)
            yield order
