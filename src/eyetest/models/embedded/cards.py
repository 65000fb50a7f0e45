"""What is known of each embedded model: how large it is, how it replies, what it learnt and what leaked to it."""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

import msgspec
import yaml

from eyetest.errors import InputError, nearest
from eyetest.store.handwritten import parse_yaml

_FILES = resources.files(__name__.rpartition(".")[0]) / "zoo"


class Card(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One model."""

    name: str
    base: str = ""
    """The language model it was built on; a language model has none."""
    style: str
    """How it replies when it is asked for a mark."""
    parameters: int
    width: int
    layers: int
    resolution: int = 0
    """Pixels a side that it sees."""
    texts_read: int
    """Texts in all its training, its base's included."""
    scenes_seen: int = 0
    leaked: float = 0.0
    """The share of the default world's items that were in its training with their pictures and answers."""
    leaked_group: str = ""
    """The group of those items, as the world's truth table names it."""
    leaked_texts: float = 0.0
    """The share of the default world's items whose questions and answers it read as text."""
    facts: int = 0
    """How many of the invented facts it was told."""

    @property
    def sees(self) -> bool:
        """Whether it has eyes."""
        return self.resolution > 0


class Cards(Mapping[str, Card]):
    """All models by name."""

    def __init__(self, by_name: Mapping[str, Card]) -> None:
        self._by_name = by_name

    def __getitem__(self, name: str) -> Card:
        if name not in self._by_name:
            raise InputError(f'no embedded model "{name}"; {nearest(name, self._by_name)}')
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)


@cache
def cards() -> Cards:
    """The zoo: language models first, each kind from the largest to the smallest."""
    content = parse_yaml((_FILES / "cards.yaml").read_text(encoding="utf-8"), "cards.yaml")
    return Cards({one.name: one for one in msgspec.convert(content, list[Card])})


def weights(name: str) -> Traversable:
    """A file of the zoo."""
    return _FILES / name


def models_file(taste: float = 0.0, belief: float = 0.0, leaks: str = "") -> str:
    """A ``models.yaml`` with the whole zoo; with habits, if asked for. ``leaks``: what leaked of a world, a file.

    All remember what leaked as text, and each what leaked to its group.
    """
    rows = {}
    for card in cards().values():
        row: dict[str, object] = {"spec": f"embedded:{card.name}", "size_b": round(card.parameters / 1e9, 7)}
        groups = "+".join(("text", card.leaked_group)) if card.leaked_group else "text"
        habits = {"taste": taste, "belief": belief, "memory": f"{leaks}#{groups}" if leaks else ""}
        if given := {name: value for name, value in habits.items() if value}:
            row["sampling"] = given
        rows[card.name] = row | ({"base": card.base, "series": "birds"} if card.sees else {"series": "moles"})
    return yaml.safe_dump(rows, sort_keys=False, default_flow_style=None)
