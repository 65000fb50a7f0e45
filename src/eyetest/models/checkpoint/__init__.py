"""``transformers:DIR``: a checkpoint in a local folder, run in this process by Hugging Face transformers."""

from pathlib import Path

from eyetest.models.base import Backend, Model, Surroundings, target_of
from eyetest.models.checkpoint.loading import find_checkpoint
from eyetest.models.checkpoint.model import CheckpointModel
from eyetest.records import ModelEntry


def make_checkpoint(name: str, entry: ModelEntry, surroundings: Surroundings) -> Model:
    """The checkpoint in the folder that the spec names."""
    return CheckpointModel(name, entry, find_checkpoint(Path(target_of(entry.spec)).expanduser()), surroundings)


BACKEND = Backend(
    "transformers",
    "a checkpoint in a local folder, run here by Hugging Face transformers: transformers:DIR",
    make_checkpoint,
    hosted=True,
)
