"""A checkpoint in a local folder: what it is, and its weights. Nothing is fetched, and no code of its own is run."""

from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from eyetest.errors import InputError, MissingExtraError

_WEIGHTS = "*.safetensors"
_LOOKED_AT = 16
_PIECE = 1 << 16
_LOCAL: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
LOADING_ERRORS = (OSError, ValueError, KeyError, ImportError)
"""What transformers raises over a folder that it cannot make sense of."""
_SMALL_FILES = ("*.json", "*.jinja", "*.model", "*.txt")


class Checkpoint(msgspec.Struct, frozen=True):
    """What a folder holds, known without loading it."""

    folder: Path
    fingerprint: str
    dtype: str


def find_checkpoint(folder: Path, backend: str = "transformers") -> Checkpoint:
    """The checkpoint in a folder that a backend is to run, or what is lacking in one line."""
    for package in dict.fromkeys((backend, "torch", "transformers")):
        if find_spec(package) is None:
            raise MissingExtraError(f"{backend}: needs {package}: pip install 'eyetest[{backend}]'")
    if not folder.is_dir():
        raise InputError(f"{backend}:{folder} is no folder; name one that holds a checkpoint")
    try:
        config = msgspec.json.decode((folder / "config.json").read_bytes())
    except (FileNotFoundError, msgspec.DecodeError):
        raise InputError(f"{backend}:{folder} has no config.json that can be read; is it a checkpoint?") from None
    if not any(folder.glob(_WEIGHTS)):
        raise InputError(f"{backend}:{folder} has no *.safetensors; other files of weights could run code")
    parts = [config, *(config.get(key) or {} for key in ("text_config", "llm_config"))]
    names = (str(part.get("dtype") or part.get("torch_dtype") or "") for part in parts)
    return Checkpoint(folder, _fingerprint(folder), next(filter(None, names), "float32").removeprefix("torch."))


def _fingerprint(folder: Path) -> str:
    """What tells a checkpoint from another: its small files, and of its weights sizes, headers and samples."""
    told = blake2b(digest_size=16)
    for pattern in _SMALL_FILES:
        for path in sorted(folder.glob(pattern)):
            told.update(path.name.encode() + path.read_bytes())
    for path in sorted(folder.glob(_WEIGHTS)):
        size = path.stat().st_size
        told.update(f"{path.name} {size}".encode())
        with path.open("rb") as file:
            for piece in range(_LOOKED_AT):
                file.seek(piece * max(0, size - _PIECE) // (_LOOKED_AT - 1))
                told.update(file.read(_PIECE))
    return told.hexdigest()


def load(checkpoint: Checkpoint, device: str, dtype: str) -> tuple[Any, Any]:
    """The model and its processor, or its tokenizer where it only reads."""
    import torch  # noqa: PLC0415 (the core does without)
    import transformers  # noqa: PLC0415

    transformers.utils.logging.disable_progress_bar()
    try:
        processor, sees = load_processor(checkpoint)
        kind = transformers.AutoModelForImageTextToText if sees else transformers.AutoModelForCausalLM
        model = kind.from_pretrained(checkpoint.folder, dtype=getattr(torch, dtype), use_safetensors=True, **_LOCAL)
    except LOADING_ERRORS as error:
        raise InputError(f"transformers:{checkpoint.folder}: {in_a_line(error)}") from None
    return model.eval().to(device), processor


def load_processor(checkpoint: Checkpoint) -> tuple[Any, bool]:
    """What turns words and pictures into numbers, and whether it takes pictures at all."""
    import transformers  # noqa: PLC0415 (the core does without)

    config = transformers.AutoConfig.from_pretrained(checkpoint.folder, **_LOCAL)
    sees = type(config) in transformers.AutoModelForImageTextToText._model_mapping
    kind = transformers.AutoProcessor if sees else transformers.AutoTokenizer
    return kind.from_pretrained(checkpoint.folder, **_LOCAL), sees


def in_a_line(error: Exception) -> str:
    """What a library says at length, cut."""
    return " ".join(str(error).split())[:300]
