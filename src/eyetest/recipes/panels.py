"""The models on a recipe's panels, and their answers: asked now, or recorded."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.errors import EyetestError, InputError, counted, heading, listed, nearest, param
from eyetest.filters import Evidence, PanelAnswer, Seat
from eyetest.measures import Results
from eyetest.measures.results import PROTOCOL, values_of
from eyetest.measures.stats.intervals import mean
from eyetest.models import Surroundings
from eyetest.prompts.sent import named_by_what_is_sent
from eyetest.prompts.sets import Prompts, load_prompts
from eyetest.records import (
    GIVEN,
    Asked,
    Condition,
    Item,
    ModelEntry,
    Panel,
    Prompt,
    Recipe,
    Response,
    Score,
    Stage,
    StoppingRule,
    columns,
)
from eyetest.records.recipe import AXES
from eyetest.reports.refinements import Interval, Residual
from eyetest.results.scores import (
    ItemRepair,
    RepairedBenchmark,
    about_the_wording,
    read_repairs,
    wording,
    write_repairs,
)
from eyetest.running import Asking, Budget, Estimate, Hit, Limits, Progress, Session
from eyetest.running.session import Questions, Watch
from eyetest.runs import is_run
from eyetest.runs.stored import answers_frame, is_in, one_line_if_damaged
from eyetest.scoring import Scorer
from eyetest.scoring.scorer import score_table


@dataclass(frozen=True)
class Seated:
    """A panel with its models: deciding and held-out ones."""

    name: str
    panel: Panel
    seats: tuple[Seat, ...]
    held_out: tuple[Seat, ...] = ()

    @property
    def tests(self) -> int:
        """Number of tests of each model per item."""
        return self.panel.samples * self.panel.orders

    @property
    def models(self) -> list[str]:
        """All models asked."""
        return [seat.model for seat in (*self.seats, *self.held_out)]

    def conditions(self) -> tuple[Condition, ...]:
        """Conditions of the panel: one for each order of the options."""
        usual = self.panel.condition
        return tuple(msgspec.structs.replace(usual, order=order) for order in range(self.panel.orders))


def seat(
    recipe: Recipe, models: Mapping[str, ModelEntry], named: Mapping[str, Sequence[str]], held_out: Sequence[str] = ()
) -> dict[str, Seated]:
    """Seat models on every panel: the user's, the recipe's, or all; held out are those named, or the last ones. More
    models than the recipe's panel has are refused unless they are named: mostly a part of models.yaml was meant.
    """
    _refuse_unknown(recipe, named)
    seated = {}
    absent = dict.fromkeys(held_out)
    for name, panel in recipe.panels.items():
        members = list(named.get(name) or panel.models or models)
        if unknown := [model for model in members if model not in models]:
            raise InputError(f"panel {name}: no model {listed(unknown)}; there are {listed(models, 8)}")
        if twice := [model for model in members if members.count(model) > 1]:
            raise InputError(f"panel {name}: {twice[0]} has {members.count(twice[0])} seats; a model has one")
        out = [model for model in members if model in held_out]
        absent = {model: None for model in absent if model not in out}
        if not out and panel.held_out:
            out = members[-panel.held_out :] if len(members) == panel.size + panel.held_out else []
        seats = [model for model in members if model not in out]
        if not seats or (len(seats) > panel.size and name not in named):
            raise InputError(
                f"panel {name} has {counted(panel.size, 'seat')}, not {len(seats)}: name its models with "
                f"{param('panels', f'{name}=A,B,…')}"
            )
        members_of = (tuple(Seat(model, models[model].base) for model in some) for some in (seats, out))
        seated[name] = Seated(name, panel, *members_of)
    if absent:
        first = next(iter(absent))
        how = f"name it in {param('panels', 'NAME=A,B,…')}" if first in models else nearest(first, models)
        raise InputError(f"{heading('hold_out')}: {listed(absent)} is on no panel; {how}")
    return seated


def _refuse_unknown(recipe: Recipe, named: Iterable[str]) -> None:
    if unknown := [name for name in named if name not in recipe.panels]:
        known = ", ".join(recipe.panels)
        raise InputError(f'{heading("panels")}: the recipe has no panel "{unknown[0]}"; it has {known}')


def small_panel_notes(recipe: Recipe, panels: Mapping[str, Seated]) -> list[str]:
    """Notes on panels of another size than the recipe's, and on the thresholds that apply to them."""
    notes = []
    for name, seated in panels.items():
        seats, size = len(seated.seats), seated.panel.size
        if seats in (0, size):
            continue
        hits = [(stage, cut) for stage in recipe.stages if stage.panel == name and (cut := stage.keep.get("hits"))]
        now = [f"{stage.title} keeps hits {cut.op} {cut.value * seats / size:.3g}" for stage, cut in hits]
        what = "thresholds and bands count as shares"
        notes.append(f"panel {name}: {seats} of the recipe's {size} models; {'; '.join([what, *now])}")
    return notes


def seated_on_answers(
    recipe: Recipe, results: Results, named: Mapping[str, Sequence[str]], held_out: Sequence[str]
) -> dict[str, Seated]:
    """Panels of models with answers: those named, or all with a panel's modality."""
    _refuse_unknown(recipe, named)
    known = dict(results.models)
    wanted = dict(named)
    judged = {stage.judge for stage in recipe.stages if stage.judge} - {stage.panel for stage in recipe.stages}
    answering = {name: panel for name, panel in recipe.panels.items() if name not in judged}
    if judge := next((name for name in named if name in judged), None):
        why = "recorded answers judge nothing; what a judge would check goes to people"
        raise InputError(f"{heading('panels', judge)}: {why}")
    for name, panel in answering.items():
        answered = results.scores.filter(pl.col("modality") == panel.modality)
        if panel.modality == "image":  # items without any medium are labelled by what is sent
            text_items = results.items.filter(pl.col("medium") == "").select("benchmark", "item").lazy()
            labelled = results.scores.filter(pl.col("modality") == "no-image")
            answered = pl.concat([answered, labelled.join(text_items, on=("benchmark", "item"), how="semi")])
        present = values_of(replace(results, scores=answered), "model")
        if not present and name not in named:
            raise _not_answered(name, "no model", panel.modality, results)
        known |= {model: ModelEntry(spec="replay:") for model in present if model not in known}
        wanted.setdefault(name, list(panel.models) or present)
    seated = seat(msgspec.structs.replace(recipe, panels=answering), known, wanted, held_out)
    return seated | {name: Seated(name, recipe.panels[name], ()) for name in judged}


def _not_answered(panel: str, who: str, modality: str, results: Results) -> InputError:
    there = [other for other in values_of(results, "modality") if other != modality]
    hint = f"; recorded are {listed(there)}: {param('set', f'{panel}.modality={there[0]}')}" if there else ""
    return InputError(f"panel {panel}: {who} answered with modality {modality}{hint}")


def recorded(results: Results, seated: Seated, items: Sequence[Item] = ()) -> pl.DataFrame:
    """A panel's recorded answers, each model under one protocol: the panel's, else the only one with its modality."""
    condition = seated.panel.condition
    wanted = pl.col("model").is_in(seated.models) & shown_as(condition, items)
    frame = results.scores.filter(wanted).collect(engine="streaming")
    usual = pl.lit(condition.modality).cast(frame.schema["modality"])
    frame = frame.with_columns(label=pl.col("modality"), modality=usual)
    parts = []
    for model in seated.models:
        mine = frame.filter(pl.col("model") == model)
        if mine.is_empty():
            raise _not_answered(seated.name, f"{model} never", condition.modality, results)
        exact = mine.filter(pl.all_horizontal(pl.col(axis) == getattr(condition, axis) for axis in PROTOCOL))
        ways = mine.select(PROTOCOL).unique()
        if exact.is_empty() and len(ways) > 1:
            found = listed([" ".join(row) for row in sorted(ways.rows())])
            problem = f"{model} was asked in {len(ways)} ways ({found}); the recipe has to say which"
            raise InputError(f"panel {seated.name}: {problem}")
        rows = (exact if len(exact) else mine).sort("item", "template", "order", "letters", "sample")
        parts.append(rows.filter(pl.int_range(pl.len()).over("item") < seated.tests))
    parts = [part.with_columns(modality=pl.col("label")).drop("label") for part in parts]
    frame = frame.drop("label")
    return pl.concat(parts) if parts else frame


def shown_as(condition: Condition, items: Sequence[Item]) -> pl.Expr:
    """Whether an answer's modality is that of a panel; for an item without any medium, that of its label."""
    modality = pl.col("modality").cast(pl.String)
    wanted = modality == condition.modality
    bare: dict[str, list[str]] = {}
    for item in items:
        label: str = named_by_what_is_sent(item, condition).modality
        if label != condition.modality:
            bare.setdefault(label, []).append(item.id)
    for other, names in bare.items():
        wanted |= (modality == other) & is_in("item", names)
    return wanted


def answer_notes(seated: Seated, scores: pl.DataFrame) -> list[str]:
    """Notes on a panel's answers: scores of others, and other prompts than the panel's."""
    given = scores.filter(pl.col("rule") == GIVEN).height
    notes = [f"panel {seated.name}: {given:,} of {len(scores):,} answers were scored by others"] if given else []
    for model, prompts in scores.select("model", "prompts").unique(maintain_order=True).iter_rows():
        if prompts != (wanted := seated.panel.prompts):
            notes.append(f"panel {seated.name}: {model} was asked with the prompts {prompts}, not {wanted}")
    return notes


def asked_of_all(evidence: Evidence, seats: Sequence[Seat], items: Sequence[Item]) -> dict[int, int]:
    """By seat, how many of its tests every item got; all of them where no item lacks any."""
    wanted = {seat.model for seat in seats}
    numbers = [number for number, model in enumerate(evidence.seats) if model in wanted]
    counts = [
        [sum(answer is not None for answer in evidence.of(item.id)[number]) for number in numbers] for item in items
    ]
    fewest = np.array(counts).min(axis=0).tolist() if counts else [0] * len(numbers)
    return dict(zip(numbers, fewest, strict=True))


def residual(
    labels: tuple[str, str, str], evidence: Evidence, tests: Mapping[int, int], items: Sequence[Item]
) -> Residual:
    """Blind accuracy, models averaged by item, over answers that all items got. ``labels``: panel, part and time."""
    scores = []
    for item in items:
        answers = evidence.of(item.id)
        known = [
            float(right)
            for number, count in tests.items()
            for answer in answers[number][:count]
            if answer is not None and (right := answer.is_right({})) is not None
        ]
        if known:
            scores.append(float(np.mean(known)))
    models = sum(count > 0 for count in tests.values())
    return Residual(*labels, Interval(*mean(scores)), models, sum(tests.values()), len(tests) * evidence.tests)


class StoppedEarly(EyetestError):  # noqa: N818 (nothing went wrong: the same command goes on)
    """Asking ended before everything was answered."""

    def __init__(self, progress: Progress) -> None:
        gone = [f"{model} was given up: {reason}" for model, reason in progress.abandoned.items()]
        super().__init__("; ".join(gone) or progress.stopped)
        self.progress = progress


class EarlierAnswers(NamedTuple):
    """Items that earlier stages removed, and a panel's answers to them."""

    items: Sequence[Item]
    scores: pl.DataFrame


@dataclass
class Recorded:
    """Recorded answers."""

    results: Results

    def __post_init__(self) -> None:
        self._as_recorded = self.results

    @property
    def answers(self) -> tuple[Results, Results]:
        """All answers, and those to items that are still as they were."""
        return self._as_recorded, self.results

    @property
    def notes(self) -> Sequence[str]:
        """Notes on the answers, independent of their use."""
        return self.results.notes

    def collect(self, seated: Seated, items: Sequence[Item], stage: Stage, rule: StoppingRule | None) -> pl.DataFrame:
        """The recorded answers of the models."""
        return self.scores(seated, items)

    def scores(self, seated: Seated, items: Sequence[Item]) -> pl.DataFrame:
        """Recorded scores of items that are as they were."""
        return recorded(self.results, seated, items).filter(is_in("item", [item.id for item in items]))

    def earlier(self, seated: Seated, removed: Sequence[Item], used: Mapping[str, set[str]]) -> EarlierAnswers:
        """Every removed item, with the answers that are recorded."""
        return EarlierAnswers(removed, self.scores(seated, removed))

    def apply_edits(self, items: Sequence[Item]) -> None:
        """Leave out answers to items that people changed: they were scored by another key, or to another wording."""
        left = self._as_recorded.scores.filter(~is_in("item", [item.id for item in items]))
        self.results = replace(self._as_recorded, scores=left) if items else self._as_recorded


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
    prompts: Prompts = field(default_factory=load_prompts)  # of judges, writers and checkers
    watch: Watch | None = None
    planned: Callable[[str, Estimate], None] | None = None
    saved: int = 0  # calls that stopping early has spared
    notes: Sequence[str] = ()
    _edited: dict[str, Item] = field(default_factory=dict)
    _requests: dict[str, set[str]] = field(default_factory=dict)  # by reworded item the requests with the new wording

    def __post_init__(self) -> None:
        self._budget = Budget(self.limits)

    def collect(self, seated: Seated, items: Sequence[Item], stage: Stage, rule: StoppingRule | None) -> pl.DataFrame:
        """Ask the models that are needed, then read their answers."""
        for members, stop in ((seated.seats, rule), (seated.held_out, None)):
            if members and items:
                session = self.session(seated, [seat.model for seat in members], items, stage, stop)
                planned = partial(self.planned, stage.title) if self.planned else None
                self._refuse_gaps(session.run(self.to, watch=self.watch, planned=planned))
                self._note_reworded(seated, [seat.model for seat in members], items, stage)
        return self.scores(seated, items)

    def earlier(self, seated: Seated, removed: Sequence[Item], used: Mapping[str, set[str]]) -> EarlierAnswers:
        """The removed items about which the panel was asked everything while they were there, with these answers.

        ``used`` holds, by item, the requests that verdicts rest on. An item about which asking stopped early is left
        out: which of its answers are there depends on what they were.
        """
        candidates = [item for item in removed if used.get(item.id)]
        requests = [request for item in candidates for request in used[item.id]]
        scores = self.scores(seated, candidates).filter(is_in("request", requests))
        of_panel = scores.filter(pl.col("model").is_in([seat.model for seat in seated.seats]))
        whole = of_panel.group_by("item").len().filter(pl.col("len") == len(seated.seats) * seated.tests)
        complete = set(whole.get_column("item"))
        items = [item for item in candidates if item.id in complete]
        return EarlierAnswers(items, scores.filter(is_in("item", [item.id for item in items])))

    def apply_edits(self, items: Sequence[Item]) -> None:
        """Record edits of reviewers beside the answers, so that every measurement of the run counts alike."""
        was = {item.id: item for item in self.benchmark.take(self.benchmark.positions(item.id for item in items))}
        self._edited = {item.id: item for item in items}
        reworded = [item.id for item in items if wording(item) != wording(was[item.id])]
        self._requests = {name: self._requests.get(name, set()) for name in reworded}
        self._write_edits()

    def _note_reworded(self, seated: Seated, models: Sequence[str], items: Sequence[Item], stage: Stage) -> None:
        """Record which requests showed items that were reworded since."""
        reworded = [item for item in items if item.id in self._requests]
        if reworded:
            self.session(seated, models, reworded, stage, None).estimate(self.to, self._note_request)
            self._write_edits()

    def _note_request(self, asked: Asked, request: str) -> None:
        if request and asked.item in self._requests:
            self._requests[asked.item].add(request)

    def _write_edits(self) -> None:
        if is_run(self.to):
            asked = {name: tuple(sorted(requests)) for name, requests in self._requests.items()}
            edits = [ItemRepair(item=item, requests=asked.get(name)) for name, item in self._edited.items()]
            write_repairs(self.to, edits)

    def _refuse_gaps(self, progress: Progress) -> None:
        """Refuse missing answers: verdicts rest on everything that was to be asked."""
        self.saved += progress.saved
        if progress.abandoned or (progress.left and progress.stopped):
            raise StoppedEarly(progress)

    def session(
        self, seated: Seated, models: Sequence[str], items: Sequence[Item], stage: Stage, rule: StoppingRule | None
    ) -> Session:
        """The session that asks some of a panel."""
        waits = seated.panel.history == "own"
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
            stop=early,
        )
        benchmark = RepairedBenchmark(self.benchmark.path, {item.id: item for item in items})
        entries = {model: self.entries[model] for model in models}
        remedy = f"ask without it: {param('set', f'{seated.name}.modality=no-image')}"
        return Session(benchmark, entries, asking, hit=self._hit(stage), budget=self._budget, remedy=remedy)

    def _hit(self, stage: Stage) -> Hit:
        def hit(item: Item, condition: Condition, response: Response) -> bool | None:
            read = self.scorer.score(item, condition, response)
            scored = (read.reading, read.choice, read.metric, read.score)
            return PanelAnswer(response.request, response.outcome, *scored).is_right(stage.right)

        return hit

    def scores(self, seated: Seated, items: Sequence[Item]) -> pl.DataFrame:
        """The panel's answers in the run to the items as they are worded now."""
        others = [axis for axis in AXES if axis != "modality"]
        asked = [pl.col(axis).cast(pl.String) == getattr(seated.panel, axis) for axis in others]
        asked.append(shown_as(seated.panel.condition, items))
        asked += [pl.col("model").cast(pl.String).is_in(seated.models), pl.col("template") == 0]
        asked += [pl.col("sample") < seated.panel.samples, pl.col("order").is_between(0, seated.panel.orders - 1)]
        with one_line_if_damaged(self.to):
            answers = answers_frame(self.to).filter(*asked, is_in("item", [item.id for item in items]))
            answers = answers.filter(about_the_wording(read_repairs(self.to), items))
            return score_table(answers, items, self.scorer).select(columns(Score)).collect()

    def ask(self, model: str, prompts: Sequence[tuple[Item, Prompt]]) -> Iterable[Response | None]:
        """Send prompts of the caller to a model, through the same journal."""
        questions = Questions(
            *(self.to, self.benchmark, self.entries, self._budget, self.patience), retry_failed=self.retry_failed
        )
        responses, progress = questions.ask(model, lambda: prompts, "judge", self.watch, self.prompts.recorded)
        self._refuse_gaps(progress)
        return responses


AnswerSource = Recorded | Live
