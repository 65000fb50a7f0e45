"""Datasets as data: files, reader and reformer of each, in one YAML file in this folder."""

from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import msgspec

from eyetest.errors import InputError, heading, nearest
from eyetest.store.handwritten import convert, parse_yaml, read_text

_ENDING = ".yaml"
_JOINTS = "-_ ./"
_Word = Annotated[str, msgspec.Meta(min_length=1)]
DIMENSIONS = {
    "CG": "coarse-grained perception",
    "FG": "fine-grained perception",
    "STP": "scene text perception",
    "VGR": "visually grounded reasoning",
    "Spatial": "spatial understanding",
    "CMI": "cross-modal inference",
    "Desc": "visual description",
    "Dialog": "multi-turn dialogue",
}
"""ReForm-Eval's eight; user datasets may have others."""


class Dataset(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a dataset is reformed: a file of the catalogue, or the user's."""

    name: _Word
    title: str = ""
    dimension: _Word
    """Its capability: one of `DIMENSIONS`, or another word."""
    task: _Word
    reader: str
    read: dict[str, Any] = {}
    reformer: str
    settings: dict[str, Any] = {}
    files: str = ""  # which of the publisher's files hold the annotations
    images: str = ""  # source and layout of the images
    url: str = ""
    licence: str = ""

    def checked(self, where: str) -> tuple[msgspec.Struct, msgspec.Struct]:
        """Settings of the reader and the reformer, or a line on what is wrong."""
        from eyetest.reform.readers import READERS  # noqa: PLC0415 (a list of datasets needs neither)
        from eyetest.reform.reformers import REFORMERS  # noqa: PLC0415

        for kind, name, known in (("reader", self.reader, READERS), ("reformer", self.reformer, REFORMERS)):
            if name not in known:
                raise InputError(f'{where}: no {kind} named "{name}"; {nearest(name, known)}')
        reading = convert(self.read, READERS[self.reader].settings, f"{where}, read")
        return reading, convert(self.settings, REFORMERS[self.reformer].settings, f"{where}, settings")

    def with_settings(self, settings: Mapping[str, Any]) -> "Dataset":
        """The dataset with other settings of its reformer, each of which is checked."""
        from eyetest.reform.reformers import REFORMERS  # noqa: PLC0415 (a list of datasets needs none)

        changed = dict(self.settings)
        for name, value in settings.items():
            changed[name] = value
            convert(changed, REFORMERS[self.reformer].settings, heading("set", name), is_one_setting=True)
        return msgspec.structs.replace(self, settings=changed)


def load_dataset(name: str) -> Dataset:
    """The dataset of this name in any spelling, or the one that a YAML file describes."""
    if name.lower().endswith((_ENDING, ".yml")):
        where, described = name, parse_yaml(read_text(Path(name)), name) or {}
    else:
        if (entry := _known().get(_plain(name))) is None:
            hint = nearest(name, _entries(), 8)
            raise InputError(f'no dataset "{name}" in the catalogue, and no YAML file; {hint}')
        where, described = f"{entry}{_ENDING}", _entries()[entry]
    dataset = convert(_completed(described, where), Dataset, where)
    dataset.checked(where)
    return dataset


def described_datasets() -> dict[str, dict[str, Any]]:
    """The descriptions in the catalogue by name, unchecked, so that no reader and no reformer is loaded."""
    return {name: _completed(described, name) for name, described in _entries().items()}


@cache
def _entries() -> dict[str, dict[str, Any]]:
    """The files of the catalogue by name, as written."""
    files = sorted(resources.files(__name__).iterdir(), key=lambda file: file.name)
    return {
        file.name.removesuffix(_ENDING): msgspec.yaml.decode(file.read_bytes())
        for file in files
        if file.name.endswith(_ENDING)
    }


def _known() -> dict[str, str]:
    """Names in the catalogue by their plain spelling."""
    return {_plain(entry): entry for entry in _entries()}


def _completed(described: Any, where: str) -> Any:
    """A description, completed by that of the dataset named under ``like``."""
    if not isinstance(described, dict) or (like := described.get("like")) is None:
        return described
    if (entry := _known().get(_plain(str(like)))) is None:
        raise InputError(f'{where}: no dataset "{like}" in the catalogue; {nearest(str(like), _entries(), 8)}')
    own = {key: value for key, value in described.items() if key != "like"}
    return _merged(_completed(_entries()[entry], entry), own)


def _merged(ours: Any, theirs: Any) -> Any:
    """Merge two descriptions, ``theirs`` first, objects key by key."""
    if not isinstance(ours, dict) or not isinstance(theirs, dict):
        return theirs
    return ours | {key: _merged(ours.get(key), value) for key, value in theirs.items()}


def _plain(name: str) -> str:
    """A name without case and separators: VQA-v2, vqa_v2 and VQAv2 are one dataset."""
    return "".join(letter for letter in name.lower() if letter not in _JOINTS)
