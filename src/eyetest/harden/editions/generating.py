"""What a generator is: whoever can draw an item again from the data that its picture and its gold follow from."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, Protocol

import msgspec

from eyetest.errors import EyetestError, InputError, param
from eyetest.records import Choice, Item

OF_THE_PICTURE = ("image_name", "image_sha256_original", "image_reencoded", "orig_width", "orig_height")
"""Tags of published datasets that speak of the old picture's file."""


class NotRenewable(EyetestError):  # noqa: N818 (says why an item stays as it is; nothing went wrong)
    """An item that cannot be drawn again, and why, in words short enough to be counted."""


class Original(NamedTuple):
    """An item as it is, and where data may lie that it does not hold itself."""

    item: Item
    data: Path
    """What the user named, or the folder that the benchmark's folder lies in."""


class Redrawn(msgspec.Struct, frozen=True, kw_only=True):
    """What a generator drew. Everything else of the item stays as it was."""

    question: str
    choices: tuple[Choice, ...] = ()
    references: tuple[str, ...] = ()
    picture: bytes
    """The bytes of a picture file."""
    description: str = ""
    tags: dict[str, Any] = {}
    """Those that change with the scene; None for one that no longer holds."""
    scene: dict[str, Any] = {}
    """Everything that the picture shows, as JSON, so that the gold can be found again by somebody else."""


class Generator(Protocol):
    """One kind of data. Both ways of drawing raise `NotRenewable` where an item does not lend itself to it."""

    name: str
    summary: str

    def knows(self, original: Original) -> bool:
        """Whether the item is of this kind, so that no other generator needs to be asked."""
        ...

    def renew(self, original: Original, rng: Random) -> Redrawn:
        """The same kind of question about a new scene."""
        ...

    def twins(self, original: Original, rng: Random) -> Iterator[Redrawn]:
        """The same question about scenes changed so that another answer is right, in each another one.

        As many as there are: whoever asks stops when there are enough. Of a choice item, question and options stay,
        the old gold among them.
        """
        ...


def rng_of(step: str, seed: int, item_id: str) -> Random:
    """The draws of one item, the same whatever else is drawn beside it."""
    return Random(f"{step}/{seed}/{item_id}")


def load_generator(path: Path) -> Generator:
    """The generator in somebody's own Python file. It is run: whoever names a file here trusts it."""
    if not path.is_file():
        raise InputError(f"{param('generator')}: no file {path}")
    spec = importlib.util.spec_from_file_location(f"eyetest_generator_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise InputError(f"{param('generator')}: {path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(f"{param('generator')}: {path}: {type(error).__name__}: {error}") from error
    generator = getattr(module, "GENERATOR", None)
    lacks = [one for one in ("name", "summary", "knows", "renew", "twins") if not hasattr(generator, one)]
    if generator is None or lacks:
        raise InputError(f"{param('generator')}: {path} has no GENERATOR with {', '.join(lacks)}")
    own: Generator = generator
    return own
