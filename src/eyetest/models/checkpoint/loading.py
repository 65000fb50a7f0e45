"""A checkpoint in a local folder and its settings. Nothing is downloaded; none of its code is run."""

from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from eyetest.errors import InputError, MissingExtraError, short
from eyetest.models.base import Call
from eyetest.records import ModelEntry

_WEIGHTS = "*.safetensors"
_LOOKED_AT = 16
_PIECE = 1 << 16
_LOCAL: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
_SMALL_FILES = ("*.json", "*.jinja", "*.model", "*.txt")


class Checkpoint(msgspec.Struct, frozen=True):
    """The contents of a folder, known without loading it."""

    folder: Path
    fingerprint: str
    dtype: str


def find_checkpoint(folder: str | Path) -> Checkpoint:
    """The checkpoint in a folder; an error of one line says what is missing."""
    folder = Path(folder).expanduser()
    for package in ("transformers", "torch"):
        if find_spec(package) is None:
            raise MissingExtraError(f"transformers: needs {package}: pip install 'eyetest[transformers]'")
    if not folder.is_dir():
        raise InputError(f"transformers:{folder} is no folder; name one that holds a checkpoint")
    try:
        config = msgspec.json.decode((folder / "config.json").read_bytes())
    except (FileNotFoundError, msgspec.DecodeError):
        raise InputError(f"transformers:{folder} has no config.json that can be read; is it a checkpoint?") from None
    if not any(folder.glob(_WEIGHTS)):
        raise InputError(f"transformers:{folder} has no *.safetensors; other files of weights could run code")
    parts = [config, *(config.get(key) or {} for key in ("text_config", "llm_config"))]
    names = (str(part.get("dtype") or part.get("torch_dtype") or "") for part in parts)
    return Checkpoint(folder, _fingerprint(folder), next(filter(None, names), "float32").removeprefix("torch."))


def _fingerprint(folder: Path) -> str:
    """Identifies a checkpoint: its small files, and of its weights sizes, headers and samples."""
    digest = blake2b(digest_size=16)
    for pattern in _SMALL_FILES:
        for path in sorted(folder.glob(pattern)):
            digest.update(path.name.encode() + path.read_bytes())
    for path in sorted(folder.glob(_WEIGHTS)):
        size = path.stat().st_size
        digest.update(f"{path.name} {size}".encode())
        with path.open("rb") as file:
            for piece in range(_LOOKED_AT):
                file.seek(piece * max(0, size - _PIECE) // (_LOOKED_AT - 1))
                digest.update(file.read(_PIECE))
    return digest.hexdigest()


def load(checkpoint: Checkpoint, device: str, dtype: str) -> tuple[Any, Any]:
    """The model and its processor, or its tokenizer where it takes text only."""
    import torch  # noqa: PLC0415 (optional)
    import transformers  # noqa: PLC0415

    transformers.utils.logging.disable_progress_bar()
    try:
        config = transformers.AutoConfig.from_pretrained(checkpoint.folder, **_LOCAL)
        takes_images = type(config) in transformers.AutoModelForImageTextToText._model_mapping
        reader = transformers.AutoProcessor if takes_images else transformers.AutoTokenizer
        processor = reader.from_pretrained(checkpoint.folder, **_LOCAL)
        kind = transformers.AutoModelForImageTextToText if takes_images else transformers.AutoModelForCausalLM
        model = kind.from_pretrained(checkpoint.folder, dtype=getattr(torch, dtype), use_safetensors=True, **_LOCAL)
    except (OSError, ValueError, KeyError, ImportError) as error:  # an invalid folder, with a long message
        raise InputError(f"transformers:{checkpoint.folder}: {' '.join(str(error).split())[:300]}") from None
    return model.eval().to(device), processor


_OWN = ("dtype", "device", "batch_tokens")
_SETTINGS = ("temperature", "top_p", "max_tokens", "max_completion_tokens", "seed", "model")
_DTYPES = ("float32", "bfloat16", "float16")


class SamplingSettings(msgspec.Struct, frozen=True):
    """The sampling settings of a call."""

    seed: int
    temperature: float
    top_p: float
    most: int


def identity(entry: ModelEntry, checkpoint: Checkpoint) -> dict[str, Any]:
    """What determines an answer beside the prompt: the weights, their precision, and the sampling, checked."""
    for key, value in entry.sampling.items():
        if key not in (*_SETTINGS, *_OWN):
            known = ", ".join((*_OWN, *_SETTINGS[:3]))
            raise InputError(f'transformers: "{key}" is no setting; it knows {known}')
        if key == "dtype" and value not in _DTYPES:
            raise InputError(f"transformers: dtype is one of {', '.join(_DTYPES)}, not {short(value)}")
    sent = {key: value for key, value in entry.sampling.items() if key not in _OWN}
    dtype = str(entry.sampling.get("dtype", checkpoint.dtype))
    return {"model": checkpoint.folder.name, "weights": checkpoint.fingerprint, **sent, "dtype": dtype}


def sampling_of(call: Call) -> SamplingSettings:
    """The sampling settings of a call, from its request."""
    settings = call.request.settings
    return SamplingSettings(
        seed=int(call.id[:15], 16),
        temperature=float(settings.get("temperature", 0)),
        top_p=float(settings.get("top_p", 1)),
        most=int(settings.get("max_tokens", settings.get("max_completion_tokens", 512))),
    )
