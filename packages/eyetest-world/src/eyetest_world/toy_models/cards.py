"""What is known of each toy model: how large it is, how it replies, what it was trained on and what leaked to it."""

from collections.abc import Iterable
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

import msgspec
import yaml

from eyetest.errors import InputError, nearest
from eyetest.models.base import target_of
from eyetest.store.handwritten import parse_yaml

_FILES = resources.files("eyetest_world.toy_models") / "zoo"


class Card(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One model."""

    name: str
    base: str = ""  # the language model it was built on; a language model has none
    style: str  # how it replies when it is asked for a mark
    parameters: int
    width: int
    layers: int
    resolution: int = 0  # pixels a side that it sees
    texts_read: int  # texts in all its training, its base's included
    scenes_seen: int = 0
    leaked: float = 0.0
    """The share of the default world's items that were in its training with their images and answers."""
    leaked_group: str = ""  # the group of those items, as the world's truth table names it
    leaked_texts: float = 0.0
    """The share of the default world's items whose questions and answers it read as text."""
    facts: int = 0  # how many of the invented facts it was trained on

    @property
    def sees(self) -> bool:
        """Whether it has eyes."""
        return self.resolution > 0


@cache
def cards() -> dict[str, Card]:
    """All toy models by name: language models first, each kind from the largest to the smallest."""
    content = parse_yaml((_FILES / "cards.yaml").read_text(encoding="utf-8"), "cards.yaml")
    return {card.name: card for card in msgspec.convert(content, list[Card])}


def card_of(spec: str) -> Card:
    """The card of the model that a spec such as ``embedded:owl-m`` names."""
    name = target_of(spec)
    if name not in cards():
        raise InputError(f'no embedded model "{name}"; {nearest(name, cards())}')
    return cards()[name]


def weights(name: str) -> Traversable:
    """A file of the zoo."""
    return _FILES / name


def models_file(taste: float = 0.0, belief: float = 0.0, leaks: str = "", names: Iterable[str] = ()) -> str:
    """A ``models.yaml`` of toy models, by default all, and habits if asked for; ``leaks`` is the leaks of a world."""
    rows = {}
    for card in (cards()[name] for name in names or cards()):
        row: dict[str, object] = {"spec": f"embedded:{card.name}", "size_b": round(card.parameters / 1e9, 7)}
        groups = "+".join(("text", card.leaked_group)) if card.leaked_group else "text"
        habits = {"taste": taste, "belief": belief, "memory": f"{leaks}#{groups}" if leaks else ""}
        if given := {name: value for name, value in habits.items() if value}:
            row["sampling"] = given
        rows[card.name] = row | ({"base": card.base, "series": "vision"} if card.sees else {"series": "language"})
    return yaml.safe_dump(rows, sort_keys=False, default_flow_style=None)
