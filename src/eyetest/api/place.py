"""A new model's place among recorded ones."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from eyetest.api.run import NOTEBOOK, warn_of
from eyetest.api.views import card, words_of
from eyetest.jobs import place as job
from eyetest.jobs.opening import AnyPath, AnyRun, Bench, Models, model_entries, open_bench, several
from eyetest.jobs.run import conditions, sampling
from eyetest.running import Asking, Limits
from eyetest.runs import Run
from eyetest.store.urls import local_path


@dataclass(frozen=True, repr=False)
class PlaceResult:
    """Between which ranks and scores a model lies (None: nothing is known yet), the ranking, and the run."""

    ranks: tuple[int, int] | None
    score: tuple[float, float] | None
    frame: pl.DataFrame
    verdict: str
    notes: tuple[str, ...]
    run: Run

    def __repr__(self) -> str:
        return "\n".join([self.verdict, *(f"note: {line}" for line in self.notes)])

    def _repr_html_(self) -> str:
        return card("place", words_of(self.frame), self.notes, sentences=[self.verdict])


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
    down. The interval is as wide as the curves of items need it, which is tried on recorded models that are left out.
    Interrupt it whenever you like and call it again.

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
    session, goal = job.start(open_bench(bench), model_entries(model), asking, several(answers), within, NOTEBOOK)
    placed = job.finish(session, goal, local_path(to), NOTEBOOK)
    warn_of(placed.progress)
    now = placed.standing
    ranks, score = ((now.best, now.worst), (now.low, now.high)) if now else (None, None)
    return PlaceResult(ranks, score, placed.table, placed.told, placed.notes, Run(local_path(to)))
