"""A checkpoint in a local folder and its settings. Nothing is downloaded; none of its code is run."""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from eyetest.errors import InputError, MissingExtraError, short
from eyetest.models.base import Call
from eyetest.records import ModelEntry, Response

_WEIGHTS = "*.safetensors"
_LOOKED_AT = 16
_PIECE = 1 << 16
_LOCAL: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
LOADING_ERRORS = (OSError, ValueError, KeyError, ImportError)  # what transformers raises for an invalid folder
_SMALL_FILES = ("*.json", "*.jinja", "*.model", "*.txt")


class Checkpoint(msgspec.Struct, frozen=True):
    """The contents of a folder, known without loading it."""

    folder: Path
    fingerprint: str
    dtype: str


def find_checkpoint(folder: str | Path, backend: str = "transformers") -> Checkpoint:
    """The checkpoint in a folder for a backend; an error of one line says what is missing."""
    folder = Path(folder).expanduser()
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
        processor, takes_images = load_processor(checkpoint)
        kind = transformers.AutoModelForImageTextToText if takes_images else transformers.AutoModelForCausalLM
        model = kind.from_pretrained(checkpoint.folder, dtype=getattr(torch, dtype), use_safetensors=True, **_LOCAL)
    except LOADING_ERRORS as error:
        raise InputError(f"transformers:{checkpoint.folder}: {in_a_line(error)}") from None
    return model.eval().to(device), processor


def load_processor(checkpoint: Checkpoint) -> tuple[Any, bool]:
    """The processor or tokenizer, and whether it takes images."""
    import transformers  # noqa: PLC0415 (optional)

    config = transformers.AutoConfig.from_pretrained(checkpoint.folder, **_LOCAL)
    takes_images = type(config) in transformers.AutoModelForImageTextToText._model_mapping
    kind = transformers.AutoProcessor if takes_images else transformers.AutoTokenizer
    return kind.from_pretrained(checkpoint.folder, **_LOCAL), takes_images


def in_a_line(error: Exception) -> str:
    """A library's long message, shortened."""
    return " ".join(str(error).split())[:300]


_SETTINGS = ("temperature", "top_p", "max_tokens", "max_completion_tokens", "seed", "model")
_DTYPES = ("float32", "bfloat16", "float16")


class SamplingSettings(msgspec.Struct, frozen=True):
    """The sampling settings of a call."""

    seed: int
    temperature: float = 0.0
    top_p: float = 1.0
    most: int = 512


def check_settings(backend: str, sampling: Mapping[str, Any], own: Sequence[str]) -> None:
    """Refuse unknown settings before anything is loaded; ``own`` are those of the backend alone."""
    for key, value in sampling.items():
        if key not in (*_SETTINGS, *own):
            raise InputError(f'{backend}: "{key}" is no setting; it knows {", ".join((*own, *_SETTINGS[:3]))}')
        if key == "dtype" and value not in _DTYPES:
            raise InputError(f"{backend}: dtype is one of {', '.join(_DTYPES)}, not {short(value)}")


def identity(entry: ModelEntry, checkpoint: Checkpoint, own: Sequence[str]) -> dict[str, Any]:
    """What determines an answer beside the prompt: the weights, their precision, and the sampling."""
    sent = {key: value for key, value in entry.sampling.items() if key not in own}
    settings = {"model": checkpoint.folder.name, "weights": checkpoint.fingerprint, **sent}
    settings["dtype"] = str(entry.sampling.get("dtype", checkpoint.dtype))
    return settings


def sampling_of(call: Call) -> SamplingSettings:
    """The sampling settings of a call, from its request."""
    settings = call.request.settings
    most = settings.get("max_tokens", settings.get("max_completion_tokens", 512))
    return SamplingSettings(
        int(call.id[:15], 16),
        float(settings.get("temperature", 0)),
        float(settings.get("top_p", 1)),
        int(most),
    )


def written_response(call: Call, tokenizer: Any, tokens: Sequence[int], *, ended: bool, tokens_in: int) -> Response:
    """The response to a call that was answered with tokens."""
    return Response(
        request=call.id,
        outcome="answered" if ended else "truncated",
        text=tokenizer.decode(tokens, skip_special_tokens=True).strip(),
        finish="stop" if ended else "length",
        tokens_in=tokens_in,
        tokens_out=len(tokens),
    )
