"""A recipe by its name or its file, checked before anything is asked."""

from collections import Counter
from importlib import resources
from pathlib import Path
from typing import Any

from eyetest.errors import InputError, nearest
from eyetest.probes import PROBES
from eyetest.recipes.hardening import check_hardening, refuse_late_panels
from eyetest.recipes.selecting import refuse_small_panel
from eyetest.records import Condition, Panel, Recipe, Stage
from eyetest.records.recipe import OWN_AXES
from eyetest.review.forms import load_form
from eyetest.screens import SCREENS
from eyetest.screens.base import refuse_unused
from eyetest.store.handwritten import convert, parse_yaml, read_text

_ENDING = ".yaml"


def recipe_names() -> list[str]:
    """The recipes that come with eyetest."""
    files = resources.files("eyetest.recipes").iterdir()
    return sorted(file.name.removesuffix(_ENDING) for file in files if file.name.endswith(_ENDING))


def recipe_text(name: str) -> str:
    """A recipe as it is written, to be read and changed."""
    if name in recipe_names():
        return (resources.files("eyetest.recipes") / f"{name}{_ENDING}").read_text(encoding="utf-8")
    if not Path(name).is_file():
        raise InputError(f'no recipe "{name}"; {nearest(name, recipe_names())}, or a file')
    return read_text(Path(name))


def load_recipe(name: str) -> Recipe:
    """The recipe of this name, or in this file."""
    recipe = convert(parse_yaml(recipe_text(name), name) or {}, Recipe, name)
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
    for name, panel in recipe.panels.items():
        for model, axes in panel.models.items():
            _check_axes(axes, f"{where}, panels {name}, {model}")
    _check_form(recipe.form, where)
    for stage in recipe.stages:
        try:
            refuse_late_panels(stage, recipe)
            _check_stage(stage, recipe)
        except InputError as error:
            raise InputError(f"{where}: {error}") from None


def _check_form(form: str, where: str) -> None:
    try:
        load_form(form)
    except InputError as error:
        raise InputError(f"{where}, form: {error}") from None


def _check_axes(axes: dict[str, Any], where: str) -> None:
    """How one model is asked may differ from its panel, but not in what tells its answers apart."""
    for axis in axes:
        if axis not in OWN_AXES:
            raise InputError(f'{where}: no setting "{axis}"; {nearest(axis, OWN_AXES)}')
    convert(axes, Condition, where)


def _check_stage(stage: Stage, recipe: Recipe) -> None:
    for name in (stage.panel, stage.judge, stage.writer, stage.checker):
        if name is not None and name not in recipe.panels:
            raise InputError(f'the stage {stage.title}: no panel "{name}"; {nearest(name, recipe.panels)}')
    if stage.probe is not None:
        PROBES[stage.probe]
    panel = recipe.panels[stage.panel] if stage.panel else None
    if stage.select is not None:
        _check_select(stage, panel)
    elif stage.review is not None:
        refuse_unused(stage, "review", ())
        load_form(stage.review.form)
    elif stage.harden is not None:
        check_hardening(stage, recipe)
    else:
        _check_screen(stage, panel, recipe)


def _check_select(stage: Stage, panel: Panel | None) -> None:
    assert stage.select is not None
    informed = stage.select.by == "information"
    refuse_unused(stage, "select", ("panel", "right") if informed else ())
    refuse_small_panel(stage, panel.size if panel else 0)


def _check_best_cut(stage: Stage, recipe: Recipe) -> None:
    """A cut-off is chosen by a grade, which hears every answer; a stage that may stop early takes one over."""
    if twice := [metric for metric in stage.best_cut if metric in stage.right]:
        raise InputError(f"the stage {stage.title}: {twice[0]} stands under right and under best_cut; keep one")
    before = [one for one in recipe.stages[: recipe.stages.index(stage)] if one.grade and one.panel == stage.panel]
    chosen = {metric for one in before for metric in one.best_cut}
    if not stage.grade and (unknown := [metric for metric in stage.best_cut if metric not in chosen]):
        raise InputError(
            f"the stage {stage.title}: best_cut {unknown[0]} has to be chosen by a grade of {stage.panel} before it"
        )


def _check_screen(stage: Stage, panel: Panel | None, recipe: Recipe) -> None:
    name = stage.screen or stage.grade or ""
    screen = SCREENS[name]
    kind = "grade" if "bands" in screen.uses else "screen"
    if stage.kind != kind:
        raise InputError(f"the stage {stage.title}: {name} is a {kind}; write {kind}: {name}")
    if name == "probe" and panel is not None:
        raise InputError(f"the stage {stage.title}: a probe looks at the items alone; no model is asked")
    refuse_unused(stage, name, {"panel", "full_counts", *screen.uses})
    if panel is None and name != "probe":
        raise InputError(f"the stage {stage.title}: it does not say which panel answers")
    _check_best_cut(stage, recipe)
    size, tests = (panel.size, panel.trials * panel.orders) if panel else (0, 0)
    screen.rule(stage, size, size, tests)
