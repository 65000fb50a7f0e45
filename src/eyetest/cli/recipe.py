"""``eyetest recipe list|show|check|new``: the recipes there are, and one of your own."""

import re
from pathlib import Path
from typing import Annotated

from eyetest.cli.options import argument, option
from eyetest.cli.terminal import echo, out, program, safe
from eyetest.errors import InputError, nearest
from eyetest.recipes import load_recipe, recipe_names, recipe_text
from eyetest.screens import SCREENS
from eyetest.store.replacing import replacing_file
from eyetest.wording import counted, listed, typed

_ACTIONS = ("list", "show", "check", "new")


def recipe(
    action: Annotated[str, argument("list|show|check|new", "What to do.")],
    name: Annotated[str | None, argument("NAME", "A recipe by name, or a YAML file.")] = None,
    to: Annotated[Path | None, option("--to", "new: where the copy goes (default: NAME.yaml).", "FILE")] = None,
) -> None:
    """List recipes and screens, show one, check one of your own, or begin a new one from one that is there."""
    if action not in _ACTIONS:
        raise InputError(f'no such thing as "{action}"; {nearest(action, _ACTIONS)}')
    if action == "list":
        _list()
        return
    if name is None:
        raise InputError(f"which recipe? eyetest recipe {action} NAME; there are {', '.join(recipe_names())}")
    text = recipe_text(name)
    if action == "show":
        echo(safe(text, None))
    elif action == "check":
        found = load_recipe(name)
        panels = listed((f"{panel} of {one.size}" for panel, one in found.panels.items()), 8)
        stages = " → ".join(stage.title for stage in found.stages)
        out.print(safe(f"{name}: {counted(len(found.stages), 'stage')} ({stages}); panels: {panels or 'none'}"))
    else:
        load_recipe(name)
        place = to or Path(f"my-{Path(name).stem}.yaml")
        if place.exists():
            raise InputError(f"{place} is there already; choose another name with --to")
        with replacing_file(place, overwrite=False) as file:
            file.write_text(text, encoding="utf-8")
        out.print(safe(f"{place}: change it, then {typed(program(), 'recipe', 'check', place)}"), soft_wrap=True)


def _list() -> None:
    width = max(map(len, (*recipe_names(), *SCREENS)))
    out.print("recipes", style="bold")
    for name in recipe_names():
        first = re.split(r"[.;]\s", load_recipe(name).about)[0]
        out.print(f"  {name:<{width}}  {first}", soft_wrap=True)
    out.print("screens and grades", style="bold")
    for name in SCREENS:
        out.print(f"  {name:<{width}}  {SCREENS[name].summary}", soft_wrap=True)
