"""The last step of a recipe: which of the remaining items are taken."""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from eyetest.curate.selection import candidate, check_tags, select
from eyetest.errors import InputError
from eyetest.measures.stats.item_analysis import expected_information, fit
from eyetest.records import Item, Recipe, Stage, Verdict, VerdictKind
from eyetest.review.forms import load_form
from eyetest.screens import Evidence
from eyetest.wording import counted

FEWEST_MODELS = 5
"""Fewer models say too little about which items tell models apart."""


def refuse_hopeless(recipe: Recipe, items: Sequence[Item]) -> None:
    """Refuse a selection that not even the whole benchmark could meet, before anybody is asked."""
    pool = [candidate(item) for item in items]
    given: set[str] = set()
    for stage in recipe.stages:
        given |= {stage.title} if stage.grade else set()
        if stage.review is not None:
            form = load_form(stage.review.form or recipe.form)
            asked_for = {field.tag for field in form.fields if field.tag}
            given |= asked_for - {tag for item in items for tag in item.tags}
        if stage.select is None:
            continue
        try:
            check_tags(pool, [tag for tag in stage.select.tags if tag not in given])
            if stage.select.per not in given:
                select(pool, msgspec.structs.replace(stage.select, balance=(), proportional=()), recipe.seed)
        except InputError as error:
            raise InputError(f"the stage {stage.title}: {error}") from None


def selected(stage: Stage, items: Sequence[Item], evidence: Evidence, seed: int, notes: list[str]) -> list[Verdict]:
    """A verdict for each item: taken or not."""
    assert stage.select is not None
    worth = information(stage, items, evidence) if stage.select.by == "information" else None
    chosen = select([candidate(item) for item in items], stage.select, seed, worth)
    for tag, count in chosen.untagged.items():
        notes.append(f"{stage.title}: {counted(count, 'item')} without the tag {tag}")
    for unmet in chosen.unmet:
        notes.append(f"{stage.title}: {counted(unmet.missing, 'item')} fewer than asked of {unmet.quota}")
    said: dict[bool, tuple[VerdictKind, str]] = {True: ("keep", "taken"), False: ("drop", "not needed for its quota")}
    taken, verdicts = set(chosen.ids), []
    for item in items:
        verdict, reason = said[item.id in taken]
        reason += "" if worth is None else f", information {worth[item.id]:.3f}"
        verdicts.append(Verdict(item=item.id, stage=stage.title, verdict=verdict, reason=reason, seed=seed))
    return verdicts


def information(stage: Stage, items: Sequence[Item], evidence: Evidence) -> Mapping[str, float]:
    """How well each item tells the panel's models apart (2PL), by item."""
    if len(evidence.seats) < FEWEST_MODELS:
        raise InputError(f"the stage {stage.title}: information takes a panel of at least {FEWEST_MODELS} models")
    table = np.full((len(items), len(evidence.seats)), np.nan)
    for row, item in enumerate(items):
        for column, said in enumerate(evidence.of(item.id)):
            known = [one.is_right(stage.right) for one in said if one is not None]
            judged = [right for right in known if right is not None]
            if judged:
                table[row, column] = float(np.mean(judged) > 0.5)
    return dict(zip((item.id for item in items), map(float, expected_information(fit(table))), strict=True))
