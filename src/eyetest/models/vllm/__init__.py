"""``vllm:DIR``: a checkpoint of your own, run in this process by vLLM.

The same folders as ``transformers:``, for many long answers on a GPU, or a model that several GPUs share.
"""

from pathlib import Path

from eyetest.models.base import Backend, Model, Surroundings, target_of
from eyetest.models.checkpoint.loading import find_checkpoint
from eyetest.models.vllm.model import VllmModel
from eyetest.records import ModelEntry


def make_vllm(name: str, entry: ModelEntry, surroundings: Surroundings) -> Model:
    """The checkpoint in the folder that the spec names."""
    folder = Path(target_of(entry.spec)).expanduser()
    return VllmModel(name, entry, find_checkpoint(folder, "vllm"), surroundings)


BACKEND = Backend("vllm", "a checkpoint in a local folder, run here by vLLM: vllm:DIR", make_vllm, hosted=True)
