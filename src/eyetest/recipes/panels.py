"""Who sits on a recipe's panels, where what they said is found, and what they still answer blind."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
import polars as pl

from eyetest.errors import InputError, heading, nearest, param
from eyetest.measures import Results
from eyetest.measures.hits import strictest_sights
from eyetest.measures.results import PROTOCOL
from eyetest.measures.stats.intervals import mean
from eyetest.records import BLIND_SIGHTS, GIVEN, Condition, Cut, Item, ModelEntry, Panel, Recipe
from eyetest.reports.refinements import Interval, Residual
from eyetest.screens import Evidence, Seat
from eyetest.wording import counted, listed


@dataclass(frozen=True)
class Seated:
    """A panel with the models on it: those who decide, and those who are held out."""

    name: str
    panel: Panel
    seats: tuple[Seat, ...]
    held_out: tuple[Seat, ...] = ()

    @property
    def tests(self) -> int:
        """How often each is asked about an item."""
        return self.panel.trials * self.panel.orders

    @property
    def everybody(self) -> tuple[Seat, ...]:
        """Who is asked."""
        return (*self.seats, *self.held_out)

    def conditions(self) -> tuple[Condition, ...]:
        """How the panel is asked: one condition for each order of the options."""
        usual = self.panel.condition()
        return tuple(msgspec.structs.replace(usual, order=order) for order in range(self.panel.orders))


def seat(
    recipe: Recipe, models: Mapping[str, ModelEntry], named: Mapping[str, Sequence[str]], held_out: Sequence[str] = ()
) -> dict[str, Seated]:
    """Seat models on every panel of a recipe.

    A panel is the models that the user named for it, or those that the recipe names, or all there are. The held-out
    ones of a panel are those that the user named, or the last ones. A panel of another size than the recipe's is
    refused, unless the recipe says how its thresholds change.
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
        seated[name] = Seated(name, panel, _seats(seats, models), _seats(out, models))
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
    """Panels out of who answered: those named, or all that answered with a panel's sight."""
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
            raise InputError(f"panel {name}: nobody answered with sight {_named(panel.sight)}")
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


def _seats(names: Sequence[str], models: Mapping[str, ModelEntry]) -> tuple[Seat, ...]:
    return tuple(Seat(name, models[name].base) for name in names)


def answering(results: Results, panel: Panel) -> list[str]:
    """The models that answered with a panel's sight in recorded answers; if nobody did, with one of its kind."""
    for sights in ((panel.sight,), _alike(panel.sight)):
        sighted = results.scores.filter(pl.col("sight").is_in(sights)).select(pl.col("model").unique())
        if models := sorted(sighted.collect(engine="streaming").to_series()):
            return models
    return []


def recorded(results: Results, seated: Seated) -> pl.DataFrame:
    """What a panel said in recorded answers, each seat under one protocol.

    That is the panel's, or the seat's own; a seat that never answered so is heard as it did answer with that sight,
    if there is only one such way. Who was never asked with that sight, but without the picture in another way, is
    heard as that was, in the strictest of several.
    """
    wanted = [member.model for member in seated.everybody]
    frame = results.scores.filter(pl.col("model").is_in(wanted)).collect(engine="streaming")
    parts = []
    for model in wanted:
        condition = seated.panel.condition(model)
        theirs = frame.filter((pl.col("model") == model) & pl.col("sight").is_in(_alike(condition.sight)))
        mine = theirs.filter(pl.col("sight") == condition.sight)
        if mine.is_empty() and len(theirs):
            sight = strictest_sights(theirs.drop_nulls("score") if theirs["score"].count() else theirs, ["model"])
            mine = theirs.join(sight, on=["model", "sight"], how="semi")
            condition = msgspec.structs.replace(condition, sight=mine.item(0, "sight"))
        if mine.is_empty():
            raise InputError(f"panel {seated.name}: {model} answered nothing with sight {_named(condition.sight)}")
        exact = mine.filter(pl.all_horizontal(pl.col(axis) == getattr(condition, axis) for axis in PROTOCOL))
        ways = mine.select(PROTOCOL).unique()
        if exact.is_empty() and len(ways) > 1:
            told = listed([" ".join(row) for row in sorted(ways.rows())])
            told = f"{model} was asked in {len(ways)} ways ({told}); the recipe has to say which"
            raise InputError(f"panel {seated.name}: {told}")
        parts.append(_tests(exact if len(exact) else mine, seated))
    return pl.concat(parts) if parts else frame.head(0)


def told_of(seated: Seated, scores: pl.DataFrame) -> list[str]:
    """What has to be said of what a panel said: who was asked with another sight, and whose scores they are."""
    given = scores.filter(pl.col("rule") == GIVEN).height
    theirs = [f"panel {seated.name}: {given:,} of {len(scores):,} answers were scored by others"] if given else []
    others: dict[tuple[str, str], list[str]] = {}
    for model, sight in scores.select("model", "sight").unique(maintain_order=True).iter_rows():
        if sight != (wanted := seated.panel.condition(model).sight):
            others.setdefault((sight, wanted), []).append(model)
    return theirs + [
        f"panel {seated.name}: {listed(models)} heard as asked {sight}, for want of answers {wanted}"
        for (sight, wanted), models in others.items()
    ]


def _alike(sight: str) -> Sequence[str]:
    """The sights that may stand for one: without the picture is without the picture."""
    return BLIND_SIGHTS if sight in BLIND_SIGHTS else (sight,)


def _named(sight: str) -> str:
    return " or ".join((sight, *(other for other in _alike(sight) if other != sight)))


def _tests(rows: pl.DataFrame, seated: Seated) -> pl.DataFrame:
    """The first tests of each item, as many as the panel makes, whatever they vary."""
    order = ["item", "template", "order", "marks", "trial"]
    ranked = rows.sort(order).with_columns(pl.int_range(pl.len()).over("item").alias("test"))
    return ranked.filter(pl.col("test") < seated.tests).drop("test")


def asked_of_all(evidence: Evidence, seats: Sequence[Seat], items: Sequence[Item]) -> dict[int, int]:
    """By the number of each seat, how many of its tests every item got. Where no item lacks any, that is all."""
    wanted = {seat.model for seat in seats}
    numbers = [number for number, model in enumerate(evidence.seats) if model in wanted]
    heard = [[sum(said is not None for said in evidence.of(item.id)[number]) for number in numbers] for item in items]
    fewest = np.array(heard).min(axis=0).tolist() if heard else [0] * len(numbers)
    return dict(zip(numbers, fewest, strict=True))


def residual(
    told: tuple[str, str, str], evidence: Evidence, tests: Mapping[int, int], items: Sequence[Item]
) -> Residual:
    """What is still answered blind. Items are what varies, so each item's models are averaged first.

    A screened benchmark looks cleaner to its own panel than to anybody else, so the held-out figure is honest.
    A panel that stopped early was asked on where it was wrong and spared where it was right, or the other way round:
    only the answers that every item got, whatever was said, are counted.
    ``told``: the panel, who of it, and when. ``tests``: how many tests of each seat count (`asked_of_all`).
    """
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
