"""A benchmark is put to models under chosen conditions, and every answer is kept."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, get_args

from eyetest.benchmarks import ReadOptions
from eyetest.errors import InputError, heading, nearest, param, short
from eyetest.jobs.opening import SILENT, Bench, Observer, open_bench
from eyetest.prompts.wording import FEWEST_TEMPLATES
from eyetest.records import REVERSED, Condition, ModelEntry, order_word
from eyetest.records.tables import Ask, History, Marks, Method, Shots, Sight
from eyetest.running import Asking, Estimate, Limits, Progress, Session
from eyetest.scoring import is_hit, looks_refused

Said = str | Sequence[str] | None
_MAX_DIGITS = 18
"""Longer numbers do not fit the columns that hold templates and orders."""


def prepare(
    bench: Bench,
    entries: Mapping[str, ModelEntry],
    asking: Asking,
    read: ReadOptions | None = None,
    observer: Observer = SILENT,
) -> Session:
    """A session that can be looked at before it is carried out."""
    refuse_unpriced(asking.limits, entries)
    return Session(open_bench(bench, read, observer), dict(entries), asking, hit=is_hit)


def carry_out(session: Session, to: Path, observer: Observer = SILENT) -> Progress:
    """Ask everything that has no answer yet; whatever ends it, the same call goes on from there."""

    def planned(estimate: Estimate) -> None:
        observer.planned("", estimate)
        said, trials = session.asking.sampling, session.asking.trials
        cold = [m.name for m in session.models if not said.get("temperature", m.settings.get("temperature"))]
        if trials > 1 and cold:
            again = f"ask {cold[0]} the same again; see {param('temperature')}"
            observer.note(f"{trials} trials at temperature 0 {again}")

    return session.run(to, progress=Progress(looks_refused), watch=observer.watch, planned=planned)


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
