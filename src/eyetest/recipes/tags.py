"""The tags that a recipe looks at, and which of a benchmark's own they are: every benchmark calls them otherwise."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from eyetest.errors import InputError, heading, nearest, param
from eyetest.records import Item, Recipe, Select, Stage
from eyetest.review.forms import load_form
from eyetest.screens import SCREENS
from eyetest.tabular.table import parse_pairs

_TASK = "task"
"""The tag that screens take for an item's task where a recipe names none."""


class NeededTag(NamedTuple):
    """A tag that a selection spreads its items over."""

    name: str
    stage: str
    asked: bool
    """Whether people are asked for it in a review before, where no item has it."""


def needed_tags(recipe: Recipe) -> list[NeededTag]:
    """The tags that items have to have, but for those that the recipe gives them itself by grading."""
    graded: set[str] = set()
    asked: set[str] = set()
    needed: dict[str, NeededTag] = {}
    for stage in recipe.stages:
        graded |= {stage.title} if stage.grade else set()
        if stage.review is not None:
            form = load_form(stage.review.form or recipe.form)
            asked |= {field.tag for field in form.fields if field.tag}
        for tag in stage.select.tags if stage.select else ():
            if tag not in graded:
                needed.setdefault(tag, NeededTag(tag, stage.title, tag in asked))
    return list(needed.values())


def told_tags(recipe: Recipe) -> str:
    """``core, axis (or people are asked for them)``; empty where it needs none."""
    needed = needed_tags(recipe)
    asked = " (or people are asked for them)" if needed and all(tag.asked for tag in needed) else ""
    return ", ".join(tag.name for tag in needed) + asked


def parse_map_tags(words: Iterable[str]) -> dict[str, str]:
    """``core=category,axis=l2`` as the recipe's tags, each with the benchmark's own."""
    return dict(parse_pairs(words, f"{param('map_tags')} takes TAG=TAG pairs, such as core=category"))


def map_tags(recipe: Recipe, own: Mapping[str, str]) -> Recipe:
    """The recipe with the benchmark's own names in the place of the tags that it speaks of."""
    used = {tag for stage in recipe.stages if stage.select for tag in stage.select.tags}
    used |= {stage.task or _TASK for stage in recipe.stages if _looks_at_tasks(stage)}
    for name, tag in own.items():
        if name not in used:
            known = nearest(name, sorted(used)) if used else "it uses none"
            raise InputError(f'{heading("map_tags")}: the recipe uses no tag "{name}"; {known}')
        if not tag.strip():
            raise InputError(f"{heading('map_tags')}: {name} is which tag of the benchmark? {name}=TAG")
    try:
        return msgspec.structs.replace(recipe, stages=tuple(_renamed(stage, own) for stage in recipe.stages))
    except ValueError as error:
        raise InputError(f"{heading('map_tags')}: {error}") from None


def _looks_at_tasks(stage: Stage) -> bool:
    """Whether a stage makes use of what task an item is of, which no item has to say."""
    return stage.screen is not None and "task" in SCREENS[stage.screen].uses


def _renamed(stage: Stage, own: Mapping[str, str]) -> Stage:
    if _looks_at_tasks(stage):
        return msgspec.structs.replace(stage, task=own.get(stage.task or _TASK, stage.task))
    if stage.select is None:
        return stage
    old = stage.select
    spread = {name: tuple(own.get(tag, tag) for tag in getattr(old, name)) for name in ("balance", "proportional")}
    fields = {name: getattr(old, name) for name in old.__struct_fields__}
    select = Select(**{**fields, **spread, "per": own.get(old.per, old.per)})
    return msgspec.structs.replace(stage, select=select)


def refuse_missing_tags(recipe: Recipe, items: Iterable[Item]) -> None:
    """Stop where a selection looks at a tag that no item has and nobody gives: say which there are."""
    there = {name for item in items for name in item.tags}
    missing = [tag for tag in needed_tags(recipe) if not tag.asked and tag.name not in there]
    if not missing:
        return
    first, names = missing[0], ", ".join(tag.name for tag in missing)
    word = "tag" if len(missing) == 1 else "tags"
    own = f"its tags are {', '.join(sorted(there)[:20])}" if there else "no item has any"
    mend = f"; say which of them is meant with {param('map_tags', f'{first.name}=TAG')}" if there else ""
    raise InputError(f"the stage {first.stage} needs the {word} {names}, which the benchmark has not; {own}{mend}")
