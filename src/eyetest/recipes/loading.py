"""A recipe by its name or its file, checked before anything is asked."""

from collections import Counter
from importlib import resources
from pathlib import Path

import yaml

from eyetest.errors import InputError, nearest
from eyetest.handwritten import convert, read_yaml
from eyetest.probes import PROBES
from eyetest.records import Recipe, Stage
from eyetest.screens import SCREENS
from eyetest.screens.base import refuse_unused

_ENDING = ".yaml"


def recipe_names() -> list[str]:
    """The recipes that come with eyetest."""
    files = resources.files("eyetest.recipes").iterdir()
    return sorted(file.name.removesuffix(_ENDING) for file in files if file.name.endswith(_ENDING))


def recipe_text(name: str) -> str:
    """A recipe as it is written, to be read and changed."""
    if name not in recipe_names():
        if Path(name).is_file():
            return Path(name).read_text(encoding="utf-8")
        raise InputError(f'no recipe "{name}"; {nearest(name, recipe_names())}, or a file')
    return (resources.files("eyetest.recipes") / f"{name}{_ENDING}").read_text(encoding="utf-8")


def load_recipe(name: str) -> Recipe:
    """The recipe of this name, or in this file."""
    text = recipe_text(name)
    content = read_yaml(Path(name)) if name not in recipe_names() else yaml.safe_load(text)
    recipe = convert(content or {}, Recipe, name)
    check_recipe(recipe, name)
    return recipe


def check_recipe(recipe: Recipe, where: str) -> None:
    """Refuse a recipe that cannot work, in one line that says where and why."""
    if not recipe.stages:
        raise InputError(f"{where}: no stages")
    for name, times in Counter(stage.title for stage in recipe.stages).items():
        if times > 1:
            raise InputError(f'{where}: {times} stages are called "{name}"; give them names')
    for name in recipe.rescale:
        if name not in recipe.panels:
            raise InputError(f'{where}, rescale: no panel "{name}"; {nearest(name, recipe.panels)}')
    for stage in recipe.stages:
        _check_stage(stage, recipe, f"{where}, {stage.title}")


def _check_stage(stage: Stage, recipe: Recipe, where: str) -> None:
    for panel in (stage.panel, stage.judge):
        if panel is not None and panel not in recipe.panels:
            raise InputError(f'{where}: no panel "{panel}"; {nearest(panel, recipe.panels)}')
    if stage.probe is not None:
        PROBES[stage.probe]
    name = stage.screen or stage.grade
    if name is None:
        return
    screen = SCREENS[name]
    refuse_unused(screen, stage)
    if stage.panel is None and name != "probe":
        raise InputError(f"{where}: it does not say which panel answers")
    if stage.panel:
        panel_ = recipe.panels[stage.panel]
        screen.rule(stage, panel_.size, panel_.size, panel_.trials * panel_.orders)
