"""Looking into a run: how far it is, what became of an item, what other rules would read; and at the machine."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import polars as pl

from eyetest.api.run import NOTEBOOK
from eyetest.api.views import card, item_card, lines_of, words_of
from eyetest.jobs import diff_rules as rules_job
from eyetest.jobs import doctor as examining
from eyetest.jobs import look as job
from eyetest.jobs.opening import AnyPath, AnyRun, Bench, Models, model_entries, open_run, path_of, several
from eyetest.records import Item
from eyetest.results.cases import ItemCase
from eyetest.scoring import Scorer
from eyetest.wording import counted


@dataclass(frozen=True, repr=False)
class RunStatus:
    """How far a run is, by model and by how it was asked.

    >>> status = et.status("run")
    >>> status.left
    0
    >>> status.frame.columns[:5]
    ['model', 'sight', 'ask', 'order', 'planned']
    """

    frame: pl.DataFrame
    """A row for each model and way of asking: calls by what became of them; ``missing`` items have no answer."""
    failures: pl.DataFrame
    """What was said of calls that failed, and of how many."""
    writer: int | str | None
    """The process that is writing to it meanwhile."""

    @property
    def left(self) -> int:
        """Planned calls that have no answer yet."""
        return int(self.frame["open"].sum())

    def __repr__(self) -> str:
        going = f"being written by process {self.writer}" if self.writer else "nobody is writing to it"
        failed = [f"{row['calls']:,} × {row['reason']}" for row in self.failures.to_dicts()]
        return "\n".join([going, *lines_of(self.frame), *failed])

    def _repr_html_(self) -> str:
        failed = [f"{row['calls']:,} × {row['reason']}" for row in self.failures.to_dicts()]
        return card("status", words_of(self.frame), failed)


_OUTCOMES = ("answered", "truncated", "blocked", "failed", "open")


def status(run: AnyRun) -> RunStatus:
    """Say how far a run is: what was answered, what failed and why, what is left. It may be going on meanwhile.

    >>> et.status("run").frame["answered"].sum()
    720
    """
    state = job.survey(open_run(run))
    counts = ("planned", *_OUTCOMES, "missing")
    rows = [
        [group[name] for name in state["axes"]] + [group.get(name, 0) for name in counts] for group in state["groups"]
    ]
    schema: dict[str, Any] = dict.fromkeys(state["axes"], pl.String) | dict.fromkeys(counts, pl.Int64)
    failures = pl.DataFrame(state["failures"], schema={"reason": pl.String, "calls": pl.Int64}, orient="row")
    return RunStatus(pl.DataFrame(rows, schema=schema, orient="row"), failures, state["writer"])


@dataclass(frozen=True, repr=False)
class Explained:
    """An item of a run, and every answer to it with how it is read."""

    item: Item
    frame: pl.DataFrame
    """A row an answer: who was asked how, the ``reply``, how it was read, by which rule, what it scored."""
    unanswered: int
    """Calls about it that have no answer yet."""

    def __repr__(self) -> str:
        told = [f"{counted(self.unanswered, 'call')} without an answer yet"] if self.unanswered else []
        return "\n".join([f"{self.item.id}: {self.item.question}", *lines_of(self.frame), *told])

    def _repr_html_(self) -> str:
        return item_card(self.item) + card("answers", words_of(self.frame))


def explain(
    run: AnyRun,
    item: str,
    *,
    model: str | None = None,
    sight: str | None = None,
    bench: Bench | None = None,
    rules: str = "eyetest",
    metric: str | None = None,
) -> Explained:
    """Show an item, what each model said to it, how that is read, by which rule, and its score.

    ``model`` and ``sight`` keep to some answers; ``bench`` gives other golds. A score that others gave counts.

    >>> told = et.explain("run", "q07", model="seer", sight="image")
    >>> told.frame.select("model", "sight").unique().rows()
    [('seer', 'image')]
    """
    story = job.explain(run, item, Scorer(rules, metric), bench=bench, model=model, sight=sight, observer=NOTEBOOK)
    return Explained(story.item, pl.DataFrame(map(_answer, story.cases), infer_schema_length=None), story.unanswered)


def _answer(case: ItemCase) -> dict[str, Any]:
    said, scored = case.response, case.scored
    read = {name: getattr(scored, name) for name in ("reading", "choice", "rule", "why", "metric", "score")}
    return msgspec.structs.asdict(case.asked) | {"reply": said.text, "outcome": said.outcome} | read


@dataclass(frozen=True, repr=False)
class RuleDifference:
    """Where two rule sets read replies differently, and what that does to scores.

    >>> differing = et.diff_rules("run", "eyetest", "mmmu")
    >>> differing.frame.columns[-4:]
    ['score_b', 'reply', 'given', 'request']
    """

    frame: pl.DataFrame
    """The answers that are read differently: readings, choices and scores by the one, and by the other (``_b``)."""
    effect: pl.DataFrame
    """Both mean scores of each model and way of asking, and how many answers differ."""
    answers: int
    """How many were read."""

    def __repr__(self) -> str:
        return "\n".join([self._title, *lines_of(self.effect)])

    def _repr_html_(self) -> str:
        return card(self._title, words_of(self.effect))

    @property
    def _title(self) -> str:
        return f"{len(self.frame):,} of {counted(self.answers, 'answer')} are read differently"


def diff_rules(
    run: AnyRun, a: str = "eyetest", b: str = "mmmu", *, bench: Bench | None = None, metric: str | None = None
) -> RuleDifference:
    """Find the answers that two rule sets read differently, and what it does to each model's score.

    Scores that others gave say nothing about either: only what the texts say counts.

    >>> et.diff_rules("run", "eyetest", "mmmu").effect["n"].sum()
    720
    """
    read = rules_job.diff_rules(run, a, b, bench=bench, metric=metric, observer=NOTEBOOK)
    frame = read.different.rename({"text": "reply"})
    last = [name for name in frame.columns if name != "request"]
    return RuleDifference(frame.select(*last, "request"), read.effect, len(read.both))


@dataclass(frozen=True, repr=False)
class Doctored:
    """What was found: a row each, and what mends what does not work."""

    frame: pl.DataFrame
    """``about``, ``name``, ``state`` (ok, note, missing or wrong), ``told`` and ``mend``."""

    @property
    def ok(self) -> bool:
        """Whether all that was named works."""
        return "wrong" not in self.frame["state"]

    def __repr__(self) -> str:
        return "\n".join(lines_of(self.frame))

    def _repr_html_(self) -> str:
        return card("doctor", words_of(self.frame))


def doctor(places: AnyPath | Sequence[AnyPath] = (), *, models: Models | None = None, call: bool = False) -> Doctored:
    """Say what is installed, what is missing and how to get it, which endpoints answer, and where things lie.

    ``places`` are runs, benchmarks or folders to look at. Keys are told by the names of their variables and never
    shown. Only with ``call`` is each model asked two short questions and for likelihoods, which may cost a little.

    >>> et.doctor("run", models={"seer": "scripted:right=0.9"}).ok
    True
    """
    named: list[AnyPath] = several(places)
    folders = [path_of(place, "places") for place in named]
    lines = examining.doctor(model_entries(models) if models is not None else {}, folders, call=call)
    schema = dict.fromkeys(examining.DoctorLine.__struct_fields__, pl.String)
    return Doctored(pl.DataFrame([msgspec.structs.asdict(line) for line in lines], schema=schema))
