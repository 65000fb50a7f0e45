"""What is true of every item of a world. Nothing that refines a benchmark reads it."""

from pathlib import Path
from typing import ClassVar

import msgspec

from eyetest.errors import InputError
from eyetest.tabular.record_files import read_parquet

TRUTH = "truth.parquet"


class Truth(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One item: which flaws it has, and what would be right."""

    table_version: ClassVar[int] = 1

    item: str
    flaws: tuple[str, ...] = ()
    kind: str
    axis: str
    options: int
    gold: str
    """The letter that is marked."""
    gold_before: str
    """The letter that was marked before the flaw was planted."""
    right: tuple[str, ...] = ()
    """The letters that are right by the picture; none where the picture does not show it."""
    twin: str = ""
    """The item that this one repeats."""
    fact: str = ""
    leaked_to: tuple[str, ...] = ()
    """``text`` for the language models' corpus, or the names of groups of vision models."""
    crowd: int = 0
    """From 0 to 3, how much more than needed there is to see."""
    phrasing: int = 0
    shown: str = ""
    """The kind whose picture is shown."""
    scene: str = "{}"
    """Everything the picture shows, as JSON."""


def read_truth(world: Path) -> list[Truth]:
    """The truth table of a world."""
    path = world / TRUTH
    if not path.is_file():
        raise InputError(f"{world} is no world: there is no {TRUTH} in it")
    try:
        return msgspec.convert(read_parquet(path).to_pylist(), list[Truth])
    except msgspec.ValidationError as error:
        raise InputError(f"{path} is not a truth table of this version: {error}") from None
