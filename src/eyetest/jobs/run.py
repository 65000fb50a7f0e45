"""A benchmark is put to models under chosen conditions, and every answer is kept."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, get_args

import msgspec

from eyetest.benchmarks import ReadOptions
from eyetest.curate.selection import draw
from eyetest.errors import InputError, heading, nearest, param, short
from eyetest.jobs.opening import (
    AnyPath,
    Bench,
    Models,
    model_entries,
    observer,
    open_bench,
    several,
)
from eyetest.measures.instability import SOURCES
from eyetest.prompts.building import FEWEST_TEMPLATES
from eyetest.records import REVERSED, Condition, ModelEntry, order_word
from eyetest.records.tables import Ask, History, Marks, Method, Shots, Sight
from eyetest.running import Asking, Cluster, Estimate, Limits, Progress, Session
from eyetest.running.limits import INTERRUPTED
from eyetest.runs import Run
from eyetest.runs.stored import served_notes
from eyetest.scoring import is_hit, looks_refused
from eyetest.store.handwritten import convert
from eyetest.store.urls import local_path
from eyetest.wording import counted, listed

Said = str | Sequence[str] | None
_MAX_DIGITS = 18  # longer numbers do not fit the columns that hold templates and orders


def prepare(
    bench: Bench, entries: Mapping[str, ModelEntry], asking: Asking, read: ReadOptions | None = None
) -> Session:
    """A session that can be looked at before it is carried out."""
    refuse_unpriced(asking.limits, entries)
    return Session(open_bench(bench, read), dict(entries), asking, hit=is_hit)


def carry_out(session: Session, to: Path) -> Progress:
    """Ask everything that has no answer yet; whatever ends it, the same call goes on from there."""

    def planned(estimate: Estimate) -> None:
        observer().planned("", estimate)
        said, trials = session.asking.sampling, session.asking.trials
        cold = [m.name for m in session.models if not said.get("temperature", m.settings.get("temperature"))]
        if trials > 1 and cold:
            again = f"ask {cold[0]} the same again; see {param('temperature')}"
            observer().note(f"{trials} trials at temperature 0 {again}")

    progress = session.run(to, progress=Progress(looks_refused), watch=observer().watch, planned=planned)
    for line in served_notes(to, session.entries):
        observer().note(line)
    return progress


def refuse_unpriced(limits: Limits, entries: Mapping[str, ModelEntry]) -> None:
    """A limit in money needs somebody who has a price."""
    if limits.money is not None and not any(entry.price for entry in entries.values()):
        mend = f"give models a price in {param('models')}, in money per million tokens"
        raise InputError(f"{param('max_cost')} needs prices: {mend}")


def sampling(temperature: float | None, max_tokens: int | None) -> dict[str, Any]:
    """How models answer, as far as somebody said it."""
    said = {"temperature": temperature, "max_tokens": max_tokens}
    return {name: value for name, value in said.items() if value is not None}


def one_condition(**words: Said) -> Condition:
    """The condition that words about its axes mean; what is not said is as usual."""
    return Condition(**{axis: _READERS[axis](axis, word) for axis, word in _joined(words).items()})


def conditions(**words: Said) -> tuple[Condition, ...]:
    """Every combination of what the words name: ``image,blind`` with ``0,7`` makes four. None comes twice."""
    axes = {
        axis: dict.fromkeys(_READERS[axis](axis, part.strip()) for part in word.split(","))
        for axis, word in _joined(words).items()
    }
    return tuple(Condition(**dict(zip(axes, point, strict=True))) for point in product(*axes.values()))


def first_templates(number: int | None, named: Said = None) -> str | None:
    """The first so many instructions, as words about that axis; None where nothing was said."""
    if named:
        raise InputError(f"{param('templates')} and {param('template')}: one of both says which instructions")
    if number is not None and not 0 < number <= FEWEST_TEMPLATES:
        raise InputError(f"{heading('templates', number)}: there are {FEWEST_TEMPLATES} of every kind")
    return None if number is None else ",".join(map(str, range(number)))


def _joined(words: Mapping[str, Said]) -> dict[str, str]:
    """What was said of each axis; what was said several times is a list like one with commas."""
    return {axis: said if isinstance(said, str) else ",".join(said) for axis, said in words.items() if said}


def _one_of(known: Iterable[str]) -> Callable[[str, str], str]:
    def read(axis: str, word: str) -> str:
        if word not in known:
            raise InputError(f"{heading(axis)}: no such thing as {short(word)}; {nearest(word, known)}")
        return word

    return read


def _seed(axis: str, word: str) -> int:
    digits = word.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _MAX_DIGITS):
        raise InputError(f"{heading(axis)}: found {short(word)}, expected a whole number")
    return int(word)


def _order(axis: str, word: str) -> int:
    return REVERSED if word == order_word(REVERSED) else _seed(axis, word)


def _index(axis: str, word: str) -> int:
    if word.startswith("-"):
        raise InputError(f"{heading(axis)}: found {short(word)}, expected a number from 0")
    return _seed(axis, word)


_READERS: dict[str, Callable[[str, str], Any]] = {
    "sight": _one_of(get_args(Sight)),
    "ask": _one_of(get_args(Ask)),
    "shots": _one_of(get_args(Shots)),
    "template": _index,
    "order": _order,
    "marks": _one_of(get_args(Marks)),
    "method": _one_of(get_args(Method)),
    "history": _one_of(get_args(History)),
}


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


def perturbed(conditions: Sequence[Condition], how: Perturbation) -> tuple[Condition, ...]:
    """Every condition in all of its tests, none twice. Where there are fewer than wanted, the observer hears why."""
    for condition in conditions:
        for source in how.sources:
            axis = SOURCES[source]
            if getattr(condition, axis) != getattr(_USUAL, axis):
                both = f"{param('perturb', source)} starts from the usual {axis}"
                raise InputError(f"{both}; leave out {param(axis)}, or {source}")
    _tell_of_fewer(conditions, how)
    return tuple(
        dict.fromkeys(
            msgspec.structs.replace(condition, **test) for condition in conditions for test in _tests(how, condition)
        )
    )


def _tell_of_fewer(conditions: Sequence[Condition], how: Perturbation) -> None:
    shown = [one for one in conditions if one.method != "likelihood"]
    idle = [source for source in how.sources if SOURCES[source] != "template"]
    if idle and len(shown) < len(conditions):
        observer().note(f"under likelihood no options are shown: {listed(idle)} cannot vary there")
    for group in [(source,) for source in how.sources] if how.one_at_a_time else [how.sources]:
        alone = msgspec.structs.replace(how, sources=group, one_at_a_time=False)
        for condition in (shown if group else [])[:1]:
            ways = len({tuple(test.items()) for test in _tests(alone, condition) if test})
            if ways < how.tests:
                observer().note(f"{' with '.join(group)} can be put in {counted(ways, 'way')}: {ways} tests of it")


def _tests(how: Perturbation, condition: Condition) -> Iterator[dict[str, Any]]:
    """What each test changes of a condition; the first changes nothing."""
    yield {}
    axes = [SOURCES[source] for source in how.sources]
    if condition.method == "likelihood":  # of what is sent only the instruction can change
        axes = [axis for axis in axes if axis == "template"]
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


def run(
    bench: Bench,
    models: Models,
    *,
    to: AnyPath,
    sights: str | Sequence[str] | None = None,
    methods: str | Sequence[str] | None = None,
    templates: int | None = None,
    conditions: Condition | Sequence[Condition] = _USUAL,
    perturb: str | Sequence[str] | None = None,
    tests: int | None = None,
    one_at_a_time: bool = False,
    trials: int = 1,
    temperature: float | None = None,
    max_tokens: int | None = None,
    seed: int = 0,
    limit: int | None = None,
    items: str | Sequence[str] = (),
    stop: str = "",
    until: str = "",
    retry_failed: bool = False,
    limits: Limits | None = None,
    on: str = "",
    workers: int | None = None,
) -> Run:
    """Put a benchmark to models and keep every answer in the folder ``to``; waits until all are there.

    Interrupt it whenever you like and call it again: nothing is lost, nothing is asked twice. ``sights`` says what is
    seen (``"image,blind"``), ``methods`` how answers are had (``"likelihood,generate"``), ``templates`` how many of
    the six instructions are used; each of the ``conditions`` (how else a question is put) is asked with all of them.
    ``perturb`` names what varies over ``tests`` tests of every item (``"instruction,order,marks"``), all together or
    ``one_at_a_time``. ``limit`` keeps to the first items, ``items`` to some; ``stop`` is a stopping rule in words;
    ``until="A>B"`` draws items at random until one of two models leads for certain; ``limits`` bounds calls, tokens
    and money; with ``on="ray"`` (or ``"ray://HOST:PORT"``) so many ``workers`` on a cluster make the calls. It works
    the same in a script and in a notebook, where an event loop is running already.

    >>> run = et.run("world/benchmark", {"seer": "scripted:right=0.9,blind=0.3"}, sights="image,blind", to="asked")
    >>> run.responses().num_rows
    120
    >>> run = et.run("world/benchmark", {"seer": "scripted:right=0.9,blind=0.3"}, sights="image,blind", to="asked")
    >>> run.responses().num_rows  # everything was there already
    120
    """
    how = read_perturbation(perturb, tests, seed, one_at_a_time=one_at_a_time)
    axes = {"sight": sights, "method": methods, "template": first_templates(templates)}
    asking = Asking(
        conditions=perturbed(_combined(several(conditions), axes), how),
        trials=trials,
        sampling=sampling(temperature, max_tokens),
        seed=seed,
        limit=limit,
        items=tuple(several(items)),
        limits=limits or Limits(),
        retry_failed=retry_failed,
        stop=stop,
        until=until,
        cluster=Cluster.parse(on, workers),
    )
    session = prepare(bench, model_entries(models), asking)
    warn_of(carry_out(session, local_path(to)))
    if session.race is not None:
        observer().note(session.race.told)
    return Run(local_path(to))


def warn_of(progress: Progress) -> None:
    """Warn of what is missing; an interrupt also stops the cells that follow."""
    if progress.stopped == INTERRUPTED:
        raise KeyboardInterrupt(f"{counted(progress.left, 'call')} left; the same call goes on from here")
    told = [f"{name} was given up: {why}" for name, why in progress.abandoned.items()]
    if progress.left and progress.stopped and not told:
        told.append(f"{progress.stopped}; {counted(progress.left, 'call')} left, the same call goes on from here")
    if failed := progress.outcomes["failed"]:
        told.append(f"{counted(failed, 'call')} failed; retry_failed=True asks them again")
    for words in told:
        warnings.warn(words, stacklevel=3)


def _combined(given: Sequence[Condition], axes: Mapping[str, Said]) -> tuple[Condition, ...]:
    """Every condition with all that was named of some axes; where nothing was, the conditions as they are."""
    named = {axis: said for axis, said in axes.items() if said is not None}
    ways = [
        msgspec.to_builtins(condition) | {axis: getattr(point, axis) for axis in named}
        for condition in given
        for point in conditions(**named)
    ]
    return tuple(dict.fromkeys(convert(way, Condition, "conditions") for way in ways))
