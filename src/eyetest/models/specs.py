"""Models from a user's words: ``openai:qwen@http://host/v1``, ``name=spec``, or names in a ``models.yaml``."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from eyetest.errors import InputError, nearest, param, short
from eyetest.models.base import Backend, Model, Surroundings
from eyetest.records import ModelEntry
from eyetest.redaction import learn_environment, plain_word, redact
from eyetest.registry import Registry
from eyetest.store.handwritten import convert, read_yaml

BACKENDS: Registry[Backend] = Registry("kind of model", "eyetest.models", "BACKEND", "model")
_NAMED = re.compile(r"(?P<name>[\w.\-/: ]+?)=(?P<spec>[a-z]+:.*)", re.DOTALL)


def parse_models(words: Sequence[str], models_file: Path | None = None) -> dict[str, ModelEntry]:
    """The named models: specs, ``NAME=SPEC``, or names of the file (also ``A,B``); without words, all of the file."""
    learn_environment()
    listed = read_models(models_file) if models_file else {}
    if not words:
        if not listed:
            example = param("spec", "openai:qwen@http://127.0.0.1:8000/v1")
            raise InputError(f"no model: name one with {param('spec')}, such as {example}")
        return listed
    chosen: dict[str, ModelEntry] = {}
    for word in (name for given in words for name in _names(given, listed)):
        name, entry = _one(word, listed)
        if name in chosen:
            named = param("spec", "NAME=SPEC")
            raise InputError(f'two models are called "{plain_word(name)}"; give them names: {named}')
        chosen[name] = entry
    return _named_harmlessly(chosen)


def read_models(path: Path) -> dict[str, ModelEntry]:
    """A ``models.yaml``: name → spec and metadata of the model."""
    return named_models(read_yaml(path), str(path))


def named_models(content: Any, where: str) -> dict[str, ModelEntry]:
    """The contents of a ``models.yaml``: names, each with a spec, or with a spec and metadata."""
    learn_environment()
    if not isinstance(content, dict) or not content:
        raise InputError(f"{where}: expected names of models, each with a spec")
    return _named_harmlessly(
        {str(name): _entry(value, f"{where}: {plain_word(str(name))}") for name, value in content.items()}
    )


def make_models(entries: dict[str, ModelEntry], surroundings: Surroundings) -> list[Model]:
    """The models, ready to be opened, each with its own limits of time."""
    models = []
    for name, entry in entries.items():
        waits = {"connect_seconds": entry.connect, "first_byte_seconds": entry.first_byte}
        waits = {key: value for key, value in (waits | {"total_seconds": entry.timeout}).items() if value is not None}
        own = msgspec.structs.replace(surroundings, **waits)
        models.append(BACKENDS[entry.spec.partition(":")[0]].make(name, entry, own))
    return models


def _names(word: str, listed: dict[str, ModelEntry]) -> list[str]:
    """Names of the file between commas; anything else is one word, because specs hold commas."""
    names = [part.strip() for part in word.split(",")]
    return names if word not in listed and all(name in listed for name in names) else [word]


def _one(word: str, listed: dict[str, ModelEntry]) -> tuple[str, ModelEntry]:
    if word in listed:
        return word, listed[word]
    named = _NAMED.fullmatch(word)
    if named and named["name"].partition(":")[0] not in BACKENDS:
        return named["name"], _checked(ModelEntry(spec=named["spec"]), plain_word(word))
    if ":" in word:
        return _default_name(word), _checked(ModelEntry(spec=word), plain_word(word))
    known = nearest(word, listed) if listed else "write KIND:…, such as openai:MODEL@URL"
    raise InputError(f'no model "{plain_word(word)}"; {known}')


def _entry(value: Any, where: str) -> ModelEntry:
    if isinstance(value, str):
        value = {"spec": value}
    return _checked(value if isinstance(value, ModelEntry) else convert(value, ModelEntry, where), where)


def _checked(entry: ModelEntry, where: str) -> ModelEntry:
    kind, colon, _ = entry.spec.partition(":")
    if not colon:
        word = short(plain_word(entry.spec))
        raise InputError(f"{where}: {word} is no spec; write KIND:…, such as openai:MODEL@URL")
    if kind not in BACKENDS:
        BACKENDS[plain_word(kind)]
    return entry


def _named_harmlessly(entries: dict[str, ModelEntry]) -> dict[str, ModelEntry]:
    """Refuse a model name with a key or an address: it is written wherever its answers are."""
    for number, name in enumerate(entries, 1):
        if redact(name) != name:
            raise InputError(f"the name of model {number} holds a key or an address; name it yourself: NAME=SPEC")
    return entries


def _default_name(spec: str) -> str:
    kind, _, target = spec.partition(":")
    if kind == "openai":
        return re.split("@https?://", target, maxsplit=1, flags=re.IGNORECASE)[0] or spec
    if kind == "replay" and "#" in target:
        return target.rpartition("#")[2]
    return Path(target).stem if kind == "replay" else spec
