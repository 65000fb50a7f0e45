"""``transformers:DIR``: a checkpoint in a local folder, run in this process by Hugging Face transformers."""

from eyetest.models.base import Backend, target_of
from eyetest.models.checkpoint.loading import find_checkpoint
from eyetest.models.checkpoint.model import CheckpointModel

BACKEND = Backend(
    "transformers",
    "a checkpoint in a local folder, run here by Hugging Face transformers: transformers:DIR",
    lambda name, entry, world: CheckpointModel(name, entry, find_checkpoint(target_of(entry.spec)), world),
    hosted=True,
)
