"""The recipes that come with eyetest, and the tags that a recipe needs; light, for lists and completion."""

import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from eyetest.errors import InputError, nearest
from eyetest.records import Recipe, Stage
from eyetest.store.handwritten import convert, parse_yaml, read_text
from eyetest.studio.forms import load_form

_ENDING = ".yaml"


def recipe_names() -> list[str]:
    """The recipes that come with eyetest."""
    files = resources.files("eyetest.recipes").iterdir()
    return sorted(file.name.removesuffix(_ENDING) for file in files if file.name.endswith(_ENDING))


def recipe_text(name: str) -> str:
    """The text of a recipe, to be read and changed."""
    if name in recipe_names():
        return (resources.files("eyetest.recipes") / f"{name}{_ENDING}").read_text(encoding="utf-8")
    if not Path(name).is_file():
        raise InputError(f'no recipe "{name}"; {nearest(name, recipe_names())}, or a file')
    return read_text(Path(name))


def read_recipe(name: str) -> Recipe:
    """The recipe of this name, or in this file, unchecked."""
    return convert(parse_yaml(recipe_text(name), name) or {}, Recipe, name)


def list_recipes() -> list[tuple[str, str, str]]:
    """The recipes that come with eyetest: the name, the first sentence about it, and the tags that it needs."""
    loaded = {name: read_recipe(name) for name in recipe_names()}
    return [(name, re.split(r"[.;]\s", known.about)[0], describe_tags(known)) for name, known in loaded.items()]


class NeededTag(NamedTuple):
    """A tag that a selection spreads its items over, or that names clusters of items."""

    name: str
    stage: str
    asked: bool  # whether people are asked for it in a review before, where no item has it


def needed_tags(recipe: Recipe) -> list[NeededTag]:
    """The tags that items have to have, but for those that the recipe gives them itself by grading."""
    needed: dict[str, NeededTag] = {}
    for stage, graded, asked in given_tags(recipe):
        for tag in stage.select.tags if stage.select else (stage.cluster,) if stage.cluster else ():
            if tag not in graded:
                needed.setdefault(tag, NeededTag(tag, stage.title, tag in asked))
    return list(needed.values())


def given_tags(recipe: Recipe) -> Iterator[tuple[Stage, set[str], set[str]]]:
    """Each stage with the tags that stages up to it give by grading, and those that they ask reviewers for."""
    graded: set[str] = set()
    asked: set[str] = set()
    for stage in recipe.stages:
        graded |= {stage.title} if stage.grade else set()
        if stage.review is not None:
            asked |= {field.tag for field in load_form(stage.review.form or recipe.form).fields if field.tag}
        yield stage, graded, asked


def describe_tags(recipe: Recipe) -> str:
    """``core, axis (or people are asked for them)``; empty where none is needed."""
    needed = needed_tags(recipe)
    asked = " (or people are asked for them)" if needed and all(tag.asked for tag in needed) else ""
    return ", ".join(tag.name for tag in needed) + asked
