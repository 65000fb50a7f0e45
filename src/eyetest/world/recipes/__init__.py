"""Recipes for the zoo in the drawn world, to be read and copied: each names who sits on its panels."""

from importlib import resources

_ENDING = ".yaml"


def world_recipes() -> dict[str, str]:
    """Every recipe as it is written, by name."""
    files = (file for file in resources.files(__name__).iterdir() if file.name.endswith(_ENDING))
    return {file.name.removesuffix(_ENDING): file.read_text(encoding="utf-8") for file in sorted(files, key=str)}
