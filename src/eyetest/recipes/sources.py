"""Sources of a panel's answers: models that are asked now, or recorded answers."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import msgspec
import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.errors import EyetestError, InputError
from eyetest.filters import PanelAnswer
from eyetest.measures import Results
from eyetest.models import Surroundings
from eyetest.recipes.panels import Seated, recorded
from eyetest.records import (
    Asked,
    Condition,
    Item,
    ModelEntry,
    Prompt,
    Response,
    Score,
    Stage,
    StoppingRule,
    Verdict,
    columns,
)
from eyetest.records.recipe import OWN_AXES, VERDICTS
from eyetest.results.scores import (
    Mend,
    MendedBenchmark,
    about_the_wording,
    answers_of,
    benchmark_of,
    read_mends,
    wording,
    write_mends,
)
from eyetest.running import Asking, Budget, Estimate, Hit, Limits, Progress, Session
from eyetest.running.session import Questions, Watch
from eyetest.runs import Run, is_run
from eyetest.runs.stored import answers_frame, one_line_if_damaged
from eyetest.scoring import Scorer
from eyetest.scoring.scorer import Said as SaidText
from eyetest.scoring.scorer import score_table
from eyetest.tabular.record_files import read_parquet


class StoppedEarly(EyetestError):  # noqa: N818 (nothing went wrong: the same command goes on)
    """Asking ended before everything was answered."""

    def __init__(self, progress: Progress) -> None:
        gone = [f"{model} was given up: {reason}" for model, reason in progress.abandoned.items()]
        super().__init__("; ".join(gone) or progress.stopped)
        self.progress = progress


@dataclass
class Recorded:
    """Recorded answers. With ``runs`` and ``scorer``, answers to edited items are scored again."""

    results: Results
    runs: Sequence[Run] = ()
    scorer: Scorer = field(default_factory=Scorer)

    def __post_init__(self) -> None:
        self._as_recorded = self.results

    @property
    def notes(self) -> Sequence[str]:
        """Notes on the answers, independent of their use."""
        return self.results.notes

    def hear(self, seated: Seated, items: Sequence[Item], stage: Stage, rule: StoppingRule | None) -> pl.DataFrame:
        """The recorded answers of the models."""
        return self.scores(seated, items)

    def scores(self, seated: Seated, items: Sequence[Item]) -> pl.DataFrame:
        """Recorded scores, by the golds that count now."""
        ids = pl.Series("item", [item.id for item in items], pl.String)
        return recorded(self.results, seated).filter(pl.col("item").is_in(ids.implode()))

    def mend(self, items: Sequence[Item]) -> None:
        """Score answers to these items by their new golds; a new wording has no answers."""
        self.results = self._as_recorded
        if not items or not self.runs:
            return
        by_name = {item.id: item for item in items}
        names = pl.Series([*by_name], dtype=pl.String).implode()
        key = [*columns(Asked), "request"]
        is_mended, old = pl.col("item").is_in(names), self._as_recorded.scores
        parts = [old.filter(~is_mended)]
        scorer = Scorer(self.scorer.rules.name, self.scorer.metric, rescore_given=True)
        for run in self.runs:
            asked = benchmark_of(run)
            was = asked.take(asked.positions(name for name in by_name if name in asked))
            same = [by_name[item.id] for item in was if wording(item) == wording(by_name[item.id])]
            with one_line_if_damaged(run.path):
                new = score_table(answers_of(run, asked).filter(is_mended), same, scorer).collect().lazy()
            keys = old.select("benchmark", *key)
            parts.append(keys.join(new, on=key, how="inner").select("benchmark", *columns(Score)))
        self.results = replace(self._as_recorded, scores=pl.concat(parts))


@dataclass
class Live:
    """Models asked through a run's journal, never twice; ``limits`` are for all stages together."""

    benchmark: Benchmark
    entries: dict[str, ModelEntry]
    to: Path
    scorer: Scorer
    limits: Limits = field(default_factory=Limits)
    patience: Surroundings = field(default_factory=Surroundings)
    seed: int = 0
    ask_everything: bool = False  # do not stop early. Verdicts are the same; it only costs more
    retry_failed: bool = False
    watch: Watch | None = None
    planned: Callable[[str, Estimate], None] | None = None
    saved: int = 0  # calls that stopping early has spared
    notes: Sequence[str] = ()
    _mended: dict[str, Item] = field(default_factory=dict)
    _showed: dict[str, set[str]] = field(default_factory=dict)  # by reworded item the requests with the new wording

    def __post_init__(self) -> None:
        self._budget = Budget(self.limits)

    def hear(self, seated: Seated, items: Sequence[Item], stage: Stage, rule: StoppingRule | None) -> pl.DataFrame:
        """Ask the models that are needed, then read their answers."""
        for members, stop in ((seated.seats, rule), (seated.held_out, None)):
            if members and items:
                session = self.session(seated, [seat.model for seat in members], items, stage, stop)
                told = partial(self.planned, stage.title) if self.planned else None
                progress = session.run(self.to, watch=self.watch, planned=told)
                self._refuse_gaps(progress)
                self._note_reworded(seated, [seat.model for seat in members], items, stage)
        return self.scores(seated, items)

    def mend(self, items: Sequence[Item]) -> None:
        """Record edits of reviewers beside the answers, so that every measurement of the run counts alike."""
        was = {item.id: item for item in self.benchmark.take(self.benchmark.positions(item.id for item in items))}
        self._mended = {item.id: item for item in items}
        reworded = [item.id for item in items if wording(item) != wording(was[item.id])]
        self._showed = {name: self._showed.get(name, set()) for name in reworded}
        self._write_mends()

    def _note_reworded(self, seated: Seated, models: Sequence[str], items: Sequence[Item], stage: Stage) -> None:
        """Record which requests showed items that were reworded since."""
        reworded = [item for item in items if item.id in self._showed]
        if reworded:
            self.session(seated, models, reworded, stage, None).estimate(self.to, self._note_request)
            self._write_mends()

    def _note_request(self, asked: Asked, request: str) -> None:
        if request and asked.item in self._showed:
            self._showed[asked.item].add(request)

    def _write_mends(self) -> None:
        if is_run(self.to):
            mends = [
                Mend(item=item, requests=tuple(sorted(self._showed[name])) if name in self._showed else None)
                for name, item in self._mended.items()
            ]
            write_mends(self.to, mends)

    def _refuse_gaps(self, progress: Progress) -> None:
        """Refuse missing answers: verdicts rest on everything that was to be asked."""
        self.saved += progress.saved
        if progress.abandoned or (progress.left and progress.stopped):
            raise StoppedEarly(progress)

    def session(
        self, seated: Seated, models: Sequence[str], items: Sequence[Item], stage: Stage, rule: StoppingRule | None
    ) -> Session:
        """The session that asks some of a panel; each model has its own condition, as all orders count together."""
        own = {name: seated.panel.models.get(name, {}) for name in models}
        waits = any(seated.panel.condition(name).history == "own" for name in models)
        early = rule if not (self.ask_everything or stage.full_counts or waits) else None
        asking = Asking(
            conditions=seated.conditions(),
            samples=seated.panel.samples,
            sampling=seated.panel.sampling,
            seed=self.seed,
            items=tuple(item.id for item in items),
            limits=self.limits,
            patience=self.patience,
            retry_failed=self.retry_failed,
            stop=early or "",
            own=own,
        )
        benchmark = MendedBenchmark(self.benchmark.path, {item.id: item for item in items})
        entries = {model: self.entries[model] for model in models}
        return Session(benchmark, entries, asking, hit=self._hit(stage), budget=self._budget)

    def _hit(self, stage: Stage) -> Hit:
        def hit(item: Item, condition: Condition, response: Response) -> bool | None:
            read = self.scorer.score(item, condition, SaidText.by(response))
            worth = (read.reading, read.choice, read.metric, read.score)
            return PanelAnswer(response.request, response.outcome, *worth).is_right(stage.right)

        return hit

    def scores(self, seated: Seated, items: Sequence[Item]) -> pl.DataFrame:
        """The panel's answers in the run to the items as they are worded now."""
        ids = pl.Series("item", [item.id for item in items], pl.String)
        parts = []
        for member in seated.everybody:
            condition = seated.panel.condition(member.model)
            wanted = {"model": member.model} | {axis: getattr(condition, axis) for axis in OWN_AXES}
            parts.append(pl.all_horizontal(pl.col(name).cast(pl.String) == value for name, value in wanted.items()))
        asked = pl.any_horizontal(parts) & (pl.col("template") == 0) & (pl.col("sample") < seated.panel.samples)
        orders = pl.col("order").is_between(0, seated.panel.orders - 1)
        with one_line_if_damaged(self.to):
            answers = answers_frame(self.to).filter(asked & orders & pl.col("item").is_in(ids.implode()))
            answers = answers.filter(about_the_wording(read_mends(self.to), items))
            return score_table(answers, items, self.scorer).select(columns(Score)).collect()

    def ask(self, model: str, prompts: Sequence[tuple[Item, Prompt]]) -> Iterable[Response | None]:
        """Send prompts of the caller to a model, through the same journal."""
        questions = Questions(
            *(self.to, self.benchmark, self.entries, self._budget, self.patience), retry_failed=self.retry_failed
        )
        said, progress = questions.ask(model, lambda: prompts, "judge", self.watch)
        self._refuse_gaps(progress)
        return said


AnswerSource = Recorded | Live


def read_verdicts(path: Path) -> list[Verdict]:
    """Read verdicts of a refinement or an audit: a table, or the folder of a refinement."""
    file = path / VERDICTS if path.is_dir() else path
    if not file.is_file():
        raise InputError(f"{file} does not exist")
    if file.suffix != ".parquet":
        raise InputError(f"{file}: verdicts are read from a .parquet file, or from the folder of a refinement")
    rows = [{k: v for k, v in row.items() if v is not None} for row in read_parquet(file).to_pylist()]
    try:
        return msgspec.convert(rows, list[Verdict])
    except msgspec.ValidationError as error:
        raise InputError(f"{file} is not a table of verdicts: {error}") from None
