"""The list of good practices by the stage of a benchmark's life: ``practices.yaml``."""

from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Literal

import msgspec

from eyetest.errors import InputError, nearest
from eyetest.store.handwritten import convert, parse_yaml

Answer = Literal["yes", "no", "ask"]


class Practice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of the list."""

    name: str
    practice: str
    check: str = ""
    said: str = ""
    absent: Answer = "ask"
    """What it means that nobody said it."""


@cache
def practices() -> dict[str, tuple[Practice, ...]]:
    """The list, by the stage of life."""
    text = resources.files(__package__).joinpath("practices.yaml").read_text(encoding="utf-8")
    return convert(parse_yaml(text, "practices.yaml"), dict[str, tuple[Practice, ...]], "practices.yaml")


def check_practices(names: Iterable[str], where: str) -> None:
    """Refuse a practice that is not on the list."""
    known = [practice.name for stage in practices().values() for practice in stage]
    for name in names:
        if name not in known:
            raise InputError(f'{where}: no practice "{name}"; {nearest(name, known)}')
