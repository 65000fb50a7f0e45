"""A new model is asked only until its place among recorded ones is known well enough."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.curate.placing import FEWEST_ITEMS, AdaptiveDraw, ModelStanding, RecordedPanel
from eyetest.curate.separation import FEWEST_MODELS
from eyetest.errors import InputError, heading
from eyetest.jobs.opening import SILENT, AnyRun, Observer
from eyetest.jobs.run import carry_out, refuse_unpriced
from eyetest.jobs.subset import answered_by_others
from eyetest.measures.stats.intervals import one_thread
from eyetest.records import Item, ModelEntry
from eyetest.running import Asking, Progress, Session
from eyetest.running.planning import Plan
from eyetest.running.race import Hits
from eyetest.scoring import is_hit
from eyetest.wording import counted

_SIDES = {1: "abler", -1: "less able"}


class Placing:
    """What a run is after that places a model: items by lot, the likelier the more they tell about it by now."""

    def __init__(self, model: str, models: Sequence[str], panel: RecordedPanel, within: float) -> None:
        """``within``: half the width of the score's interval, in points, at which it ends."""
        self.words, self._model, self.panel = f"{model} within {within:g} points", model, panel
        self.models, self._within = list(models), within / 100
        self._draw = AdaptiveDraw(panel.fitted, panel.estimator, 1, panel.seed)
        self._waiting, self._asked, self._scores = deque[int](), list[int](), list[float]()
        self.standing: ModelStanding | None = None

    def items(self, plan: Plan) -> Iterator[Item]:
        """Each item when it is needed, by what was heard until then."""
        positions = plan.benchmark.positions(self.panel.items)
        for _ in positions:
            with one_thread():
                place = int(self._draw.next()[0])
            self._waiting.append(place)
            yield from plan.taking([positions[place]])

    def heard(self, hits: Hits) -> None:
        """What came of the next item; one without a score counts as not asked."""
        place, hit = self._waiting.popleft(), hits.get(self._model)
        score = np.nan if hit is None else float(hit)
        self._draw.hear(np.array([place]), np.array([score]))
        self._asked.append(place)
        self._scores.append(score)
        if self.known >= FEWEST_ITEMS or len(self._asked) == self.items_in_all:
            self.standing = self.panel.standing(self._asked, self._scores)

    @property
    def known(self) -> int:
        """How many items have a score."""
        return int((~np.isnan(self._scores)).sum())

    @property
    def items_in_all(self) -> int:
        """How many items the recorded models answered."""
        return len(self.panel.items)

    @property
    def is_over(self) -> bool:
        """Whether the score is known well enough, or nothing is left to ask."""
        now = self.standing
        is_known = now is not None and (now.high - now.low) / 2 <= self._within
        return is_known or len(self._asked) == self.items_in_all

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


class Placed(NamedTuple):
    """Where a model stands: a row for it and for each recorded one, by score, and what has to be said beside it."""

    table: pl.DataFrame
    standing: ModelStanding | None
    told: str
    notes: tuple[str, ...]
    progress: Progress


def start(
    bench: Benchmark,
    entries: Mapping[str, ModelEntry],
    asking: Asking,
    answers: Sequence[AnyRun],
    within: float,
    observer: Observer = SILENT,
) -> tuple[Session, Placing]:
    """A session that places a model, to be looked at before it is carried out."""
    if len(entries) != 1:
        raise InputError(f"{heading('models')}: one model is placed, not {len(entries)}")
    refuse_unpriced(asking.limits, entries)
    model, sight = next(iter(entries)), asking.conditions[0].sight
    ids = bench.table(["id"]).column("id").to_pylist()[: asking.limit]
    table, names, recorded = answered_by_others(answers, ids, sight, [model], FEWEST_MODELS)
    title = f"trying the curves of {counted(len(names), 'item')} on {counted(len(recorded), 'recorded model')}"
    with observer.steps(title) as step:
        panel = RecordedPanel(names, recorded, table, asking.seed, lambda share: step(title, share))
    goal = Placing(model, recorded, panel, within)
    asking = msgspec.structs.replace(asking, items=tuple(names))
    return Session(bench, dict(entries), asking, hit=is_hit, goal=goal), goal


def finish(session: Session, goal: Placing, to: Path, observer: Observer = SILENT) -> Placed:
    """Ask until the place is known; whatever ends it, the same call goes on from there."""
    progress, model, panel = carry_out(session, to, observer), next(iter(session.entries)), goal.panel
    rows = [{"model": name, "score": score} for name, score in zip(goal.models, panel.scores.tolist(), strict=True)]
    notes = []
    if (now := goal.standing) is not None:
        rows.append({"model": model, "score": now.score, "score_low": now.low, "score_high": now.high})
        ratio = panel.misfit.within(goal.known)
        tried = f"{counted(panel.misfit.models, 'recorded model')} left out of the curves"
        notes.append(f"the interval is {ratio:.1f} stated errors to either side: so far off were {tried}")
        if now.beyond:
            notes.append(
                f"{model} seems {_SIDES[now.beyond]} than every recorded model, where the curves are a guess; better "
                "ask it the whole benchmark"
            )
    schema = {"model": pl.String, "score": pl.Float64, "score_low": pl.Float64, "score_high": pl.Float64}
    table = pl.DataFrame(rows, schema).sort("score", descending=True, maintain_order=True)
    ranks = table.with_columns(pl.col("score").rank("min", descending=True).cast(pl.Int64).alias("rank"))
    return Placed(ranks.select("rank", pl.exclude("rank")), now, goal.told, tuple(notes), progress)
