"""Ask two models until one leads for certain, or a new model until its rank among recorded ones is known."""

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.curate.placing import ModelStanding, PlacedModel, RecordedPanel
from eyetest.curate.separation import FEWEST_MODELS
from eyetest.errors import InputError, heading, param
from eyetest.jobs.opening import AnyPath, AnyRun, Bench, Models, model_entries, open_bench, several
from eyetest.jobs.run import carry_out, conditions, prepare, refuse_unpriced, sampling, warn_of
from eyetest.jobs.subset import answered_by_others
from eyetest.jobs.views import card, words_of
from eyetest.measures.printed import plain
from eyetest.measures.stats.intervals import one_thread
from eyetest.measures.stats.sequential import likely_to_differ
from eyetest.records import Item, ModelEntry
from eyetest.running import Asking, Limits, Progress, Session
from eyetest.running.planning import Plan
from eyetest.running.race import Hits
from eyetest.runs import Run
from eyetest.scoring import is_hit
from eyetest.store.urls import local_path
from eyetest.wording import counted

_RANK = re.compile(r"rank of (?P<model>.+) within (?P<points>\d+(?:\.\d+)?)(?: points?)?")
_WIDEST = 50
_NEIGHBOURS = 2  # recorded models that are shown above and below those that a new one may lie among
_FEWEST_OTHERS = 3  # two say of an item only whether they differ on it, which is hardly more than chance knows


@dataclass(frozen=True, repr=False)
class RaceResult:
    """The leader (``""`` for none), between what the lead lies, both scores, the verdict in words, and the run."""

    leader: str
    lead: tuple[float, float]
    frame: pl.DataFrame
    verdict: str
    run: Run
    progress: Progress
    notes: tuple[str, ...] = ()

    @property
    def shown(self) -> pl.DataFrame:
        """What a terminal shows: both models."""
        return self.frame

    def as_dict(self) -> dict[str, Any]:
        """The result for other programs."""
        low, high = self.lead
        rows = plain(self.frame).to_dicts()
        return {
            "leader": self.leader or None,
            "lead_low": low,
            "lead_high": high,
            "told": self.verdict,
            "scores": rows,
        }

    def __repr__(self) -> str:
        return self.verdict

    def _repr_html_(self) -> str:
        return card("race", words_of(self.frame), sentences=[self.verdict])


def named_in(until: str) -> list[str]:
    """The models that a goal names: ``A>B``, or ``rank of A within 5``."""
    return [match["model"]] if (match := _RANK.fullmatch(until)) else [name.strip() for name in until.split(">")]


def start(
    bench: Benchmark, entries: Mapping[str, ModelEntry], asking: Asking, answers: Sequence[AnyRun] = ()
) -> tuple[Session, "Placing | None"]:
    """A session that ends when its goal, ``asking.until``, is reached, to be looked at before it is carried out.

    ``answers``: runs in which other models answered the items; a rank is among these.
    """
    if answers and not asking.until:
        raise InputError(f"{param('answers')} needs {param('until')}: a lead, or a rank among the recorded models")
    if match := _RANK.fullmatch(asking.until):
        if [*entries] != [match["model"]]:
            raise InputError(f"{heading('until')}: {match['model']} alone is asked; name it with {param('model')}")
        within, asking = float(match["points"]), msgspec.structs.replace(asking, until="")
        return start_placing(bench, entries, asking, answers, within)
    if answers:
        ids, sight = bench.table(["id"]).column("id").to_pylist(), asking.conditions[0].sight
        table, names, _ = answered_by_others(answers, ids, sight, list(entries), _FEWEST_OTHERS)
        worth = dict(zip(names, likely_to_differ(table).tolist(), strict=True))
        asking = msgspec.structs.replace(asking, worth=worth)
    return prepare(bench, entries, asking), None


def finish(session: Session, to: Path) -> RaceResult:
    """Ask until one of both leads for certain; whatever ends it, the same call goes on from there."""
    assert session.race is not None, "what was started is a race"
    progress, race = carry_out(session, to), session.race
    observed, items = race.observed_of
    rows = [
        {"model": name, "score": score, "score_low": low, "score_high": high, "n": observed, "of": items}
        for name, score, low, high in race.scores
    ]
    return RaceResult(race.leader, race.lead, pl.DataFrame(rows), race.told, Run(to), progress)


class Placing:
    """The goal of a run that places a model: items at random, the likelier the less certain their answer is."""

    def __init__(self, model: str, models: Sequence[str], panel: RecordedPanel, within: float) -> None:
        """``within``: half the width of the score's interval, in points, at which it ends."""
        self.words, self._model, self.panel = f"{model} within {within:g} points", model, panel
        self.models, self._within = list(models), within / 100
        self._placed, self._waiting = PlacedModel(panel, self._within), deque[int]()
        self.standing: ModelStanding | None = None

    def items(self, plan: Plan) -> Iterator[Item]:
        """Each item when it is needed, by the answers until then."""
        positions = plan.benchmark.positions(self.panel.items)
        for _ in positions:
            with one_thread():
                place = self._placed.next()
            self._waiting.append(place)
            yield from plan.taking([positions[place]])

    def observed(self, hits: Hits) -> None:
        """What came of the next item."""
        hit = hits.get(self._model)
        self._placed.observe(self._waiting.popleft(), None if hit is None else float(hit))
        self.standing = self._placed.standing

    @property
    def known(self) -> int:
        """How many items have a score."""
        return self._placed.observed - self._placed.unknown

    @property
    def items_in_all(self) -> int:
        """How many items the recorded models answered."""
        return len(self.panel.items)

    @property
    def is_over(self) -> bool:
        """Whether the score is known well enough, or nothing is left to ask."""
        now = self.standing
        is_known = now is not None and (now.high - now.low) / 2 <= self._within
        return is_known or self._placed.observed == self.items_in_all

    @property
    def told(self) -> str:
        """Between which ranks the model lies, and how many items that took."""
        of_all = f"{self.known:,} of {counted(self.items_in_all, 'item')}"
        now, others = self.standing, len(self.models)
        if now is None:
            return f"{of_all} say nothing yet of where {self._model} stands"
        score = f"a score between {100 * now.low:.1f} and {100 * now.high:.1f}"
        rank = f"{now.best:,}" if now.best == now.worst else f"{now.best:,} to {now.worst:,}"
        told = f"{self._model} has rank {rank} of {others + 1:,}: {score}, from {of_all}"
        if now.worst == 1 or now.best == others + 1:
            word = "best" if now.worst == 1 else "worst"
            told += f"; it lies beyond the recorded models: {'better' if now.worst == 1 else 'worse'} than the {word}"
        return told

    @property
    def notes(self) -> tuple[str, ...]:
        """What has to be known beside the score."""
        if not (unknown := self._placed.unknown):
            return ()
        return (f"{counted(unknown, 'item')} without a score count as the mean of the recorded models on them",)


@dataclass(frozen=True, repr=False)
class PlaceResult:
    """Between which ranks and scores a model lies (None: nothing is known yet), the ranking, and the run."""

    standing: ModelStanding | None
    frame: pl.DataFrame
    verdict: str
    notes: tuple[str, ...]
    run: Run
    progress: Progress

    @property
    def shown(self) -> pl.DataFrame:
        """What a terminal shows: the recorded models that it may lie among, and their neighbours."""
        first = max(0, self.standing.best - 1 - _NEIGHBOURS) if self.standing else 0
        length = self.standing.worst + _NEIGHBOURS - first if self.standing else 0
        return self.frame.slice(first, length).with_columns(pl.col("rank").cast(pl.String))

    def as_dict(self) -> dict[str, Any]:
        """The result for other programs."""
        now, rows = self.standing._asdict() if self.standing else None, plain(self.frame).to_dicts()
        return {"standing": now, "told": self.verdict, "ranking": rows, "notes": list(self.notes)}

    @property
    def ranks(self) -> tuple[int, int] | None:
        """The best and the worst rank that it may have."""
        return (self.standing.best, self.standing.worst) if self.standing else None

    @property
    def score(self) -> tuple[float, float] | None:
        """Between what its score lies."""
        return (self.standing.low, self.standing.high) if self.standing else None

    def __repr__(self) -> str:
        return "\n".join([self.verdict, *(f"note: {line}" for line in self.notes)])

    def _repr_html_(self) -> str:
        return card("place", words_of(self.frame), self.notes, sentences=[self.verdict])


def start_placing(
    bench: Benchmark, entries: Mapping[str, ModelEntry], asking: Asking, answers: Sequence[AnyRun], within: float
) -> tuple[Session, Placing]:
    """A session that places a model, to be looked at before it is carried out."""
    if len(entries) != 1:
        raise InputError(f"{heading('models')}: one model is placed, not {len(entries)}")
    if not 0 < within <= _WIDEST:
        raise InputError(f"{heading('within', within)}: expected more than 0 and at most {_WIDEST} points")
    refuse_unpriced(asking.limits, entries)
    model, sight = next(iter(entries)), asking.conditions[0].sight
    ids = bench.table(["id"]).column("id").to_pylist()[: asking.limit]
    table, names, recorded = answered_by_others(answers, ids, sight, [model], FEWEST_MODELS)
    goal = Placing(model, recorded, RecordedPanel(names, table, asking.seed), within)
    asking = msgspec.structs.replace(asking, items=tuple(names))
    return Session(bench, dict(entries), asking, hit=is_hit, goal=goal), goal


def finish_placing(session: Session, goal: Placing, to: Path) -> PlaceResult:
    """Ask until the place is known; whatever ends it, the same call goes on from there."""
    progress, model, panel = carry_out(session, to), next(iter(session.entries)), goal.panel
    rows = [{"model": name, "score": score} for name, score in zip(goal.models, panel.scores.tolist(), strict=True)]
    if (now := goal.standing) is not None:
        rows.append({"model": model, "score": now.score, "score_low": now.low, "score_high": now.high})
    schema = {"model": pl.String, "score": pl.Float64, "score_low": pl.Float64, "score_high": pl.Float64}
    table = pl.DataFrame(rows, schema).sort("score", descending=True, maintain_order=True)
    ranks = table.with_columns(pl.col("score").rank("min", descending=True).cast(pl.Int64).alias("rank"))
    frame = ranks.select("rank", pl.exclude("rank"))
    return PlaceResult(now, frame, goal.told, goal.notes, Run(to), progress)


def race(
    bench: Bench,
    models: Models,
    *,
    to: AnyPath,
    answers: AnyRun | Sequence[AnyRun] = (),
    sight: str = "image",
    method: str = "generate",
    temperature: float | None = None,
    max_tokens: int | None = None,
    seed: int = 0,
    limit: int | None = None,
    retry_failed: bool = False,
    limits: Limits | None = None,
) -> RaceResult:
    """Ask two models about items drawn at random until one leads for certain, and keep every answer in ``to``.

    With ``answers``, runs in which other models answered the benchmark, items on which those differ come sooner.
    However often one looks, the lead and both scores lie outside their intervals in at most 5 % of cases. Interrupt
    it whenever you like and call it again.

    >>> duel = {"new": "scripted:right=0.95,seed=1", "old": "scripted:right=0.3,seed=2"}
    >>> raced = et.race("world/benchmark", duel, to="duel")
    >>> raced.leader
    'new'
    >>> raced
    new leads old on the whole benchmark, by between ...
    """
    entries = model_entries(models)
    if len(entries) != 2:
        raise InputError(f"{heading('models')}: two models race, not {len(entries)}")
    asking = Asking(
        conditions=conditions(sight=sight, method=method),
        sampling=sampling(temperature, max_tokens),
        seed=seed,
        limit=limit,
        limits=limits or Limits(),
        retry_failed=retry_failed,
        until=">".join(entries),
    )
    raced = finish(start(open_bench(bench), entries, asking, several(answers))[0], local_path(to))
    warn_of(raced.progress)
    return raced


def place(
    bench: Bench,
    model: Models,
    *,
    answers: AnyRun | Sequence[AnyRun],
    to: AnyPath,
    within: float = 5.0,
    sight: str = "image",
    method: str = "generate",
    temperature: float | None = None,
    max_tokens: int | None = None,
    seed: int = 0,
    limit: int | None = None,
    retry_failed: bool = False,
    limits: Limits | None = None,
) -> PlaceResult:
    """Say where a new model ranks among those that ``answers`` holds, and ask it only as much as that takes.

    What is asked next depends on its answers so far. It ends when the score is known ``within`` so many points, up or
    down. However often one looks, the score lies outside its interval in at most 5 % of cases, also for models unlike
    the recorded ones. Interrupt it whenever you like and call it again.

    >>> panel = {f"m{n}": f"scripted:right={0.3 + n / 20},seed={n}" for n in range(10)}
    >>> recorded = et.run("world/benchmark", panel, to="recorded")
    >>> placed = et.place("world/benchmark", {"new": "scripted:right=0.6,seed=99"}, answers=recorded, to="placed")
    >>> best, worst = placed.ranks
    >>> 1 <= best <= worst <= 11
    True
    """
    asking = Asking(
        conditions=conditions(sight=sight, method=method),
        sampling=sampling(temperature, max_tokens),
        seed=seed,
        limit=limit,
        limits=limits or Limits(),
        retry_failed=retry_failed,
    )
    session, goal = start_placing(open_bench(bench), model_entries(model), asking, several(answers), within)
    placed = finish_placing(session, goal, local_path(to))
    warn_of(placed.progress)
    return placed
