"""Every measure as a function: ``et.measure.gain(run, by="task")``.

The functions are made from the registry of measures, so a measure that is added there is here as well, with its own
settings as keywords.

>>> table = et.measure.accuracy("run", by="core", where={"sight": "image"})
>>> table.frame.height > 3
True
"""

from collections.abc import Callable, Sequence
from functools import cache
from inspect import Parameter, Signature
from textwrap import fill
from typing import Any

from eyetest.errors import as_keyword, nearest
from eyetest.jobs import measure as job
from eyetest.jobs.measure import Measurable, Where
from eyetest.jobs.views import MeasureTable
from eyetest.measures import MEASURES, Measure
from eyetest.measures.printed import plain

_SHARED = """\
runs: a run folder, several of them, or what `et.results` gave
by: a row for each value of a tag, or of several
where: only these scores: {"sight": "image", "model": ["A", "B"]}, or "sight=image" as on the command line
level: of the intervals
seed: of all drawing
resamples: for bootstrapped intervals
"""
_EXAMPLES = {
    "correlation": 'by="core", where={"sight": "image"}',
    "flips": 'from_="sight=blind", to="sight=image"',
    "linked": 'from_="sight=blind", to="sight=image"',
    "human": 'model="seer"',
    "difficulty": 'bands="easy:2-3,hard:0-1"',
}  # what a measure has to be told before it can measure anything
_RUNS = {
    "blind-steps": '["run", "ten"]',
    "leak-by-twin": '"twins"',
    "looks": '"screens"',
    "ocr-accuracy": '"screens"',
    "three-settings": '["run", "ten"]',
    **dict.fromkeys(("generation-likelihood", "image-use", "normalisations", "option-prior"), '"weighed"'),
}  # what measures of hardened benchmarks and of weighed choices are made of, where it is no plain run
_READ_ONLY = {"sentences"}  # measures whose examples would need a judge


def __getattr__(name: str) -> Callable[..., MeasureTable]:
    if name.startswith("_") or name.replace("_", "-") not in MEASURES:
        raise AttributeError(f"no measure {name!r}; {nearest(name, __dir__())}")
    return _function(name.replace("_", "-"))


def __dir__() -> list[str]:
    return [name.replace("-", "_") for name in MEASURES]


@cache
def _function(name: str) -> Callable[..., MeasureTable]:
    chosen = MEASURES[name]
    keys = {as_keyword(key): key for key in chosen.own}

    def compute(
        runs: Measurable,
        *,
        by: str | Sequence[str] = (),
        where: Where = (),
        level: float = 0.95,
        seed: int = 0,
        resamples: int = 2_000,
        **own: Any,
    ) -> MeasureTable:
        said = {keys.get(key, key): value for key, value in own.items()}
        how = job.settings(by, level, seed, resamples, job.own_words(name, said))
        measured = job.measure(name, runs, how, where=where)
        return MeasureTable(name, plain(measured.table), measured.notes, how)

    compute.__name__ = compute.__qualname__ = name.replace("-", "_")
    compute.__doc__ = _about(chosen)
    compute.__signature__ = _signature(compute, chosen)  # type: ignore[attr-defined]
    return compute


def _signature(compute: Any, chosen: Measure) -> Signature:
    """The shared keywords, then the measure's own, with their defaults."""
    known = [one for one in Signature.from_callable(compute).parameters.values() if one.kind != one.VAR_KEYWORD]
    short = [one.replace(annotation=one.empty) for one in known]
    kind = Parameter.KEYWORD_ONLY
    own = [Parameter(as_keyword(key), kind, default=value) for key, (value, _) in chosen.own.items()]
    return Signature([*short, *own], return_annotation=MeasureTable)


def _about(chosen: Measure) -> str:
    """What a measure says, and what may be said to it."""
    name = chosen.name.replace("-", "_")
    idea = fill(" ".join((chosen.measure.__doc__ or "").split()), 100)
    own = "".join(f"{as_keyword(key)}: {about}\n" for key, (_, about) in chosen.own.items())
    keywords = "".join(f"    {line}\n" for line in f"{_SHARED}{own}".splitlines())
    told = ", ".join([_RUNS.get(chosen.name, '"run"'), *filter(None, [_EXAMPLES.get(chosen.name, "")])])
    summary = chosen.summary[0].upper() + chosen.summary[1:]
    call = f">>> table = et.measure.{name}({told})"
    shown = f"{call}  # doctest: +SKIP" if chosen.name in _READ_ONLY else f"{call}\n>>> len(table) > 0\nTrue"
    return f"{summary}.\n\n{idea}\n\n{keywords}\n{shown}\n"
