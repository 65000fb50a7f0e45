"""The models on a recipe's panels, where their answers are found, and which blind answers they still give."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
import polars as pl

from eyetest.errors import InputError, heading, nearest, param
from eyetest.filters import Evidence, Seat
from eyetest.measures import Results
from eyetest.measures.hits import strictest_modalities
from eyetest.measures.results import PROTOCOL
from eyetest.measures.stats.intervals import mean
from eyetest.records import BLIND_MODALITIES, GIVEN, Condition, Cut, Item, ModelEntry, Panel, Recipe
from eyetest.reports.refinements import Interval, Residual
from eyetest.wording import counted, listed


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
    def everybody(self) -> tuple[Seat, ...]:
        """All models asked."""
        return (*self.seats, *self.held_out)

    def conditions(self) -> tuple[Condition, ...]:
        """Conditions of the panel: one for each order of the options."""
        usual = self.panel.condition()
        return tuple(msgspec.structs.replace(usual, order=order) for order in range(self.panel.orders))


def seat(
    recipe: Recipe, models: Mapping[str, ModelEntry], named: Mapping[str, Sequence[str]], held_out: Sequence[str] = ()
) -> dict[str, Seated]:
    """Seat models on every panel: the user's, the recipe's, or all; held out are those named, or the last ones. A
    panel of another size than the recipe's is refused unless it may be rescaled.
    """
    check_names(recipe, named)
    seated = {}
    absent = dict.fromkeys(held_out)
    optional = authors(recipe)
    for name, panel in recipe.panels.items():
        members = list(named.get(name) or panel.models or ([] if name in optional else models))
        if not members and name in optional:
            seated[name] = Seated(name, panel, ())
            continue
        if unknown := [model for model in members if model not in models]:
            raise InputError(f"panel {name}: no model {listed(unknown)}; there are {listed(models, 8)}")
        if twice := [model for model in members if members.count(model) > 1]:
            raise InputError(f"panel {name}: {twice[0]} has {members.count(twice[0])} seats; a model has one")
        out = [model for model in members if model in held_out]
        absent = {model: None for model in absent if model not in out}
        if not out and panel.held_out:
            out = members[-panel.held_out :] if len(members) == panel.size + panel.held_out else []
        seats = [model for model in members if model not in out]
        if not seats or (len(seats) != panel.size and name not in recipe.rescale):
            raise InputError(
                f"panel {name} has {counted(panel.size, 'seat')}, not {len(seats)}: name its models with "
                f"{param('panels', f'{name}=A,B,…')} or say rescale: {{{name}: proportional}} in the recipe"
            )
        places = (tuple(Seat(model, models[model].base) for model in some) for some in (seats, out))
        seated[name] = Seated(name, panel, *places)
    if absent:
        near = nearest(next(iter(absent)), models)
        raise InputError(f"{heading('hold_out')}: {listed(absent)} is on no panel; {near}")
    return seated


def authors(recipe: Recipe) -> set[str]:
    """The panels that only write or check options; they may be empty."""
    writing = {name for stage in recipe.stages for name in (stage.writer, stage.checker) if name}
    return writing - {name for stage in recipe.stages for name in (stage.panel, stage.judge) if name}


def seated_on_answers(
    recipe: Recipe, results: Results, named: Mapping[str, Sequence[str]], held_out: Sequence[str]
) -> dict[str, Seated]:
    """Panels of models with answers: those named, or all with a panel's modality."""
    check_names(recipe, named)
    known = dict(results.models)
    wanted = dict(named)
    judged = {stage.judge for stage in recipe.stages if stage.judge} - {stage.panel for stage in recipe.stages}
    judged |= authors(recipe)
    heard = {name: panel for name, panel in recipe.panels.items() if name not in judged}
    if judge := next((name for name in named if name in judged), None):
        why = "recorded answers judge nothing; what a judge would look at goes to people"
        raise InputError(f"{heading('panels', judge)}: {why}")
    for name, panel in heard.items():
        present = answering(results, panel)
        if not present and name not in named:
            raise InputError(f"panel {name}: no model answered with modality {_named(panel.modality)}")
        known |= {model: ModelEntry(spec="replay:") for model in present if model not in known}
        wanted.setdefault(name, list(panel.models) or present)
    seated = seat(msgspec.structs.replace(recipe, panels=heard), known, wanted, held_out)
    return seated | {name: Seated(name, recipe.panels[name], ()) for name in judged}


def check_names(recipe: Recipe, named: Iterable[str]) -> None:
    """Refuse a panel that the recipe does not have."""
    for name in named:
        if name not in recipe.panels:
            known = ", ".join(recipe.panels)
            raise InputError(f'{heading("panels")}: the recipe has no panel "{name}"; it has {known}')


def answering(results: Results, panel: Panel) -> list[str]:
    """The models with recorded answers under a panel's modality; without any, under a modality of its kind."""
    for modalities in ((panel.modality,), _alike(panel.modality)):
        sighted = results.scores.filter(pl.col("modality").is_in(modalities)).select(pl.col("model").unique())
        if models := sorted(sighted.collect(engine="streaming").to_series()):
            return models
    return []


def recorded(results: Results, seated: Seated) -> pl.DataFrame:
    """A panel's recorded answers, each seat under one protocol: the panel's or its own, else the only one with that
    modality, else the strictest without the image.
    """
    wanted = [member.model for member in seated.everybody]
    frame = results.scores.filter(pl.col("model").is_in(wanted)).collect(engine="streaming")
    parts = []
    for model in wanted:
        condition = seated.panel.condition(model)
        theirs = frame.filter((pl.col("model") == model) & pl.col("modality").is_in(_alike(condition.modality)))
        mine = theirs.filter(pl.col("modality") == condition.modality)
        if mine.is_empty() and len(theirs):
            modality = strictest_modalities(
                theirs.drop_nulls("score") if theirs["score"].count() else theirs, ["model"]
            )
            mine = theirs.join(modality, on=["model", "modality"], how="semi")
            condition = msgspec.structs.replace(condition, modality=mine.item(0, "modality"))
        if mine.is_empty():
            raise InputError(
                f"panel {seated.name}: {model} answered nothing with modality {_named(condition.modality)}"
            )
        exact = mine.filter(pl.all_horizontal(pl.col(axis) == getattr(condition, axis) for axis in PROTOCOL))
        ways = mine.select(PROTOCOL).unique()
        if exact.is_empty() and len(ways) > 1:
            told = listed([" ".join(row) for row in sorted(ways.rows())])
            told = f"{model} was asked in {len(ways)} ways ({told}); the recipe has to say which"
            raise InputError(f"panel {seated.name}: {told}")
        rows = (exact if len(exact) else mine).sort("item", "template", "order", "letters", "sample")
        parts.append(rows.filter(pl.int_range(pl.len()).over("item") < seated.tests))
    return pl.concat(parts) if parts else frame.head(0)


def told_of(seated: Seated, scores: pl.DataFrame) -> list[str]:
    """Notes on a panel's answers: who was asked with another modality, and whose scores they are."""
    given = scores.filter(pl.col("rule") == GIVEN).height
    theirs = [f"panel {seated.name}: {given:,} of {len(scores):,} answers were scored by others"] if given else []
    others: dict[tuple[str, str], list[str]] = {}
    for model, modality in scores.select("model", "modality").unique(maintain_order=True).iter_rows():
        if modality != (wanted := seated.panel.condition(model).modality):
            others.setdefault((modality, wanted), []).append(model)
    return theirs + [
        f"panel {seated.name}: {listed(models)} without answers for {wanted}; {modality} is used"
        for (modality, wanted), models in others.items()
    ]


def _alike(modality: str) -> Sequence[str]:
    """The modalities that may stand for another: those without the image are interchangeable."""
    return BLIND_MODALITIES if modality in BLIND_MODALITIES else (modality,)


def _named(modality: str) -> str:
    return " or ".join((modality, *(other for other in _alike(modality) if other != modality)))


def asked_of_all(evidence: Evidence, seats: Sequence[Seat], items: Sequence[Item]) -> dict[int, int]:
    """By seat, how many of its tests every item got; all of them where no item lacks any."""
    wanted = {seat.model for seat in seats}
    numbers = [number for number, model in enumerate(evidence.seats) if model in wanted]
    heard = [[sum(said is not None for said in evidence.of(item.id)[number]) for number in numbers] for item in items]
    fewest = np.array(heard).min(axis=0).tolist() if heard else [0] * len(numbers)
    return dict(zip(numbers, fewest, strict=True))


def residual(
    told: tuple[str, str, str], evidence: Evidence, tests: Mapping[int, int], items: Sequence[Item]
) -> Residual:
    """Blind accuracy, models averaged by item, over answers that all items got. ``told``: panel, part and time."""
    scores = []
    for item in items:
        answers = evidence.of(item.id)
        known = [
            float(right)
            for number, count in tests.items()
            for said in answers[number][:count]
            if said is not None and (right := said.is_right({"any": Cut(op=">=", value=1)})) is not None
        ]
        if known:
            scores.append(float(np.mean(known)))
    models = sum(count > 0 for count in tests.values())
    return Residual(*told, Interval(*mean(scores)), models, sum(tests.values()), len(tests) * evidence.tests)
