"""``embedded:NAME``: small models of our own that live in the drawn world, with their weights in the package.

They are real networks, trained as ``tools/zoo`` says and run by onnxruntime: four language models and ten vision
models built on them. What is in their training data is known exactly, and stands on their cards.
"""

from eyetest.models.base import Backend, Model, Surroundings, target_of
from eyetest.models.embedded.cards import Card, cards, models_file
from eyetest.models.embedded.model import EmbeddedModel
from eyetest.records import ModelEntry

__all__ = ["BACKEND", "Card", "cards", "models_file"]


def make_embedded(name: str, entry: ModelEntry, surroundings: Surroundings) -> Model:
    """The model of this name."""
    return EmbeddedModel(name, entry, cards()[target_of(entry.spec)], surroundings)


BACKEND = Backend(
    "embedded",
    "a small model in the package that knows the drawn world: embedded:owl-m (eyetest zoo lists them)",
    make_embedded,
)
