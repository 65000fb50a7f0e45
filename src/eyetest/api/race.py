"""Two models asked only until one of them leads for certain."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from eyetest.api.run import NOTEBOOK, warn_of
from eyetest.api.views import card, words_of
from eyetest.jobs import race as job
from eyetest.jobs.opening import AnyPath, AnyRun, Bench, Models, model_entries, open_bench, several
from eyetest.jobs.run import conditions, sampling
from eyetest.running import Asking, Limits
from eyetest.runs import Run
from eyetest.store.urls import local_path


@dataclass(frozen=True, repr=False)
class RaceResult:
    """Who leads (nobody: ``""``), between what the lead lies, both scores, the verdict in words, and the run."""

    leader: str
    lead: tuple[float, float]
    frame: pl.DataFrame
    verdict: str
    run: Run

    def __repr__(self) -> str:
        return self.verdict

    def _repr_html_(self) -> str:
        return card("race", words_of(self.frame), sentences=[self.verdict])


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
    """Ask two models about items drawn by lot until one leads for certain, and keep every answer in ``to``.

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
    asking = Asking(
        conditions=conditions(sight=sight, method=method),
        sampling=sampling(temperature, max_tokens),
        seed=seed,
        limit=limit,
        limits=limits or Limits(),
        retry_failed=retry_failed,
    )
    session = job.start(open_bench(bench), model_entries(models), asking, several(answers), NOTEBOOK)
    raced = job.finish(session, local_path(to), NOTEBOOK)
    warn_of(raced.progress)
    return RaceResult(raced.leader, raced.lead, raced.scores, raced.told, Run(local_path(to)))
