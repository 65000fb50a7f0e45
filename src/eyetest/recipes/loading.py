"""Load and check a recipe."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from eyetest.benchmarks import is_benchmark
from eyetest.benchmarks.folder import refuse_to_replace
from eyetest.curate.selection import candidate, check_tags, select
from eyetest.errors import InputError, heading, nearest, param, short
from eyetest.filters import FILTERS
from eyetest.probes import PROBES
from eyetest.prompts.sets import Prompts, load_prompts
from eyetest.recipes.listing import given_tags, needed_tags, read_recipe
from eyetest.records import Item, Panel, Recipe, Stage, Verdict
from eyetest.records.recipe import KINDS, VERDICTS
from eyetest.records.tables import USUAL_PROMPTS
from eyetest.store.handwritten import convert, parse_yaml
from eyetest.store.urls import refuse_remote
from eyetest.studio.forms import load_form
from eyetest.tabular.record_files import read_parquet


def load_recipe(name: str) -> Recipe:
    """The recipe of this name, or in this file."""
    recipe = read_recipe(name)
    check_recipe(recipe, name)
    return recipe


def check_recipe(recipe: Recipe, where: str) -> None:
    """Refuse a recipe that cannot work, in one line that says where and why."""
    if not recipe.stages:
        raise InputError(f"{where}: no stages")
    for name, times in Counter(stage.title for stage in recipe.stages).items():
        if times > 1:
            raise InputError(f'{where}: {times} stages are called "{name}"; give them names')
    if sum(stage.review is not None for stage in recipe.stages) > 1:
        more = "review the refined benchmark again: eyetest review BENCHMARK --reviewers 2"
        raise InputError(f"{where}: a recipe has one review stage; {more}")
    try:
        load_form(recipe.form)
    except InputError as error:
        raise InputError(f"{where}, form: {error}") from None
    for stage in recipe.stages:
        try:
            _check_stage(stage, recipe)
        except InputError as error:
            raise InputError(f"{where}: {error}") from None


def _check_stage(stage: Stage, recipe: Recipe) -> None:
    for name in (stage.panel, stage.judge):
        if name is not None and name not in recipe.panels:
            raise InputError(f'the stage {stage.title}: no panel "{name}"; {nearest(name, recipe.panels)}')
    if stage.probe is not None:
        PROBES[stage.probe]
    if stage.select is not None:
        _refuse_unused(stage, "select", ())
    elif stage.review is not None:
        _refuse_unused(stage, "review", ())
        load_form(stage.review.form)
    else:
        _check_filter(stage, recipe.panels[stage.panel] if stage.panel else None)


def _check_filter(stage: Stage, panel: Panel | None) -> None:
    name = stage.filter or stage.grade or ""
    chosen = FILTERS[name]
    kind = "grade" if "bands" in chosen.uses else "filter"
    if stage.kind != kind:
        raise InputError(f"the stage {stage.title}: {name} is a {kind}; write {kind}: {name}")
    if name == "probe" and panel is not None:
        raise InputError(f"the stage {stage.title}: a probe tests the items alone; no model is asked")
    _refuse_unused(stage, name, {"panel", "full_counts", *chosen.uses})
    if panel is None and name != "probe":
        raise InputError(f"the stage {stage.title}: it does not say which panel answers")
    size, tests = (panel.size, panel.samples * panel.orders) if panel else (0, 0)
    chosen.rule(stage, size, size, tests)


def _refuse_unused(stage: Stage, name: str, uses: Collection[str]) -> None:
    """Refuse a threshold that is never used. ``name``: what the stage carries out."""
    plain = Stage(filter=name)
    for setting in stage.__struct_fields__:
        if setting not in {*KINDS, "name", *uses} and getattr(stage, setting) != getattr(plain, setting):
            known = ", ".join(sorted(uses)) or "no settings"
            raise InputError(f"the stage {stage.title}: {name} has no use for {setting} (it knows {known})")


def refuse_hopeless(recipe: Recipe, items: Sequence[Item]) -> None:
    """Refuse, before any model is asked, a selection that not even the whole benchmark could meet."""
    refuse_missing_tags(recipe, items)
    pool = [candidate(item) for item in items]
    there = {tag for item in items for tag in item.tags}
    for stage, graded, asked in given_tags(recipe):
        if stage.select is None:
            continue
        given = graded | (asked - there)
        try:
            check_tags(pool, [tag for tag in stage.select.tags if tag not in given])
            if stage.select.per not in given:
                select(pool, msgspec.structs.replace(stage.select, balance=(), proportional=()), recipe.seed)
        except InputError as error:
            raise InputError(f"the stage {stage.title}: {error}") from None


_SIZES = ("count", "total", "fraction")  # of a selection, which has exactly one


def with_settings(recipe: Recipe, settings: Mapping[str, Any]) -> Recipe:
    """The recipe with some values replaced, by path: ``select.count``, ``inspectors.samples``."""
    whole = msgspec.to_builtins(recipe)
    named = dict(zip((stage.title for stage in recipe.stages), whole.get("stages", ()), strict=True))
    named = whole.get("panels", {}) | named
    sized: dict[str, str] = {}
    for path, value in settings.items():
        first, *keys = path.split(".")
        if first not in named:
            raise InputError(f"{heading('set', path)}: no stage or panel {short(first)}; {nearest(first, named)}")
        node: Any = named[first]
        if keys and keys[0] not in node and (inner := node.get("select") or node.get("review")):
            node = inner
        for key in keys[:-1]:
            node = node.setdefault(key, {}) if isinstance(node, dict) else None
        if not isinstance(node, dict) or not keys:
            raise InputError(f"{heading('set', path)}: that is no value; expected STAGE.KEY=VALUE")
        if (last := keys[-1]) in _SIZES:
            if first in sized:
                both = f"{sized[first]} and {path}"
                raise InputError(f"{heading('set')}: {both} contradict each other; a selection has one size")
            sized[first] = path
            for size in _SIZES:
                node.pop(size, None)
        new = parse_yaml(value, path) if isinstance(value, str) else value
        is_cut = isinstance(node.get(last), dict) and "op" in node[last] and not isinstance(new, dict)
        node[last] = {**node[last], "value": new} if is_cut else new
        convert(whole, Recipe, heading("set", path), is_one_setting=True)
    return convert(whole, Recipe, heading("set")) if settings else recipe


def with_prompts(recipe: Recipe, word: str | None) -> tuple[Recipe, Prompts]:
    """The recipe, checked, with the labels of prompts, of a set for panels without their own; and that set."""
    usual = load_prompts(word)
    panels = {}
    for name, panel in recipe.panels.items():
        chosen = usual if panel.prompts == USUAL_PROMPTS else load_prompts(panel.prompts)
        panels[name] = msgspec.structs.replace(panel, prompts=chosen.label)
    labelled = msgspec.structs.replace(recipe, panels=panels)
    check_recipe(labelled, "recipe")
    return labelled, usual


def refuse_missing_tags(recipe: Recipe, items: Iterable[Item]) -> None:
    """Refuse a selection by a tag that no item has and no stage gives, with the tags there are."""
    there = {name for item in items for name in item.tags}
    missing = [tag for tag in needed_tags(recipe) if not tag.asked and tag.name not in there]
    if not missing:
        return
    first, names = missing[0], ", ".join(tag.name for tag in missing)
    word = "tag" if len(missing) == 1 else "tags"
    own = f"its tags are {', '.join(sorted(there)[:20])}" if there else "no item has any"
    change = f"; say which of them is meant with {param('map_tags', f'{first.name}=TAG')}" if there else ""
    raise InputError(f"the stage {first.stage} needs the {word} {names}, which the benchmark has not; {own}{change}")


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


def refuse_others(folder: Path, what: str, ours: Collection[str], benchmark: str) -> None:
    """Refuse to write into a folder that holds something else than ``ours``, or over an edited benchmark."""
    refuse_remote(folder, what)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; {what} needs a folder")
    names = [entry.name for entry in folder.iterdir()] if folder.exists() else []
    if others := [name for name in names if name not in ours and not name.startswith(".")]:
        raise InputError(f'{folder} holds "{others[0]}", which is not part of {what}; choose another folder')
    if is_benchmark(folder / benchmark):
        refuse_to_replace(folder / benchmark, overwrite=True)
