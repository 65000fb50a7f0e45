"""Datasets as data: which files, which reader, which reformer. One YAML file for each lies in this folder."""

from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import msgspec

from eyetest.errors import InputError, nearest
from eyetest.reform.readers import READERS
from eyetest.reform.reformers import REFORMERS
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
"""ReForm-Eval's eight. A dataset of one's own may have another."""


class Dataset(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a dataset is reformed: one file of the catalogue, or one of your own."""

    name: _Word
    title: str = ""
    dimension: _Word
    """The capability that it is about: one of `DIMENSIONS`, or a word of one's own."""
    task: _Word
    reader: str
    """The format of its annotation files."""
    read: dict[str, Any] = {}
    """What the reader is told."""
    reformer: str
    """The kind of question that is made of it."""
    settings: dict[str, Any] = {}
    """What the reformer is told."""
    files: str = ""
    """Which of the publisher's files the annotations are."""
    pictures: str = ""
    """Where the pictures come from, and how they lie."""
    url: str = ""
    """Where annotations are to be had."""
    licence: str = ""
    aliases: tuple[str, ...] = ()
    """Other names that people know it by."""

    def checked(self, where: str) -> tuple[msgspec.Struct, msgspec.Struct]:
        """What the reader and the reformer are told, or one line about what is wrong."""
        if self.reader not in READERS:
            raise InputError(f'{where}: no reader named "{self.reader}"; {nearest(self.reader, READERS)}')
        if self.reformer not in REFORMERS:
            raise InputError(f'{where}: no reformer named "{self.reformer}"; {nearest(self.reformer, REFORMERS)}')
        reading = convert(self.read, READERS[self.reader].settings, f"{where}, read")
        return reading, convert(self.settings, REFORMERS[self.reformer].settings, f"{where}, settings")


def dataset_names() -> list[str]:
    """The datasets of the catalogue."""
    files = resources.files(__name__).iterdir()
    return sorted(file.name.removesuffix(_ENDING) for file in files if file.name.endswith(_ENDING))


def load_dataset(name: str) -> Dataset:
    """The dataset of this name, however it is spelt, or the one that a YAML file describes."""
    known = {_plain(one): one for one in dataset_names()}
    if name.lower().endswith((_ENDING, ".yml")):
        where, text = name, read_text(Path(name))
    elif entry := known.get(_plain(name)) or _aliases().get(_plain(name)):
        where, text = f"{entry}{_ENDING}", _catalogue_text(entry)
    else:
        raise InputError(
            f'no dataset "{name}" in the catalogue, and no YAML file; {nearest(name, known.values(), 8)}'
        )
    dataset = convert(parse_yaml(text, where) or {}, Dataset, where)
    dataset.checked(where)
    return dataset


def _aliases() -> dict[str, str]:
    entries = {name: parse_yaml(_catalogue_text(name), name) or {} for name in dataset_names()}
    return {_plain(alias): name for name, entry in entries.items() for alias in entry.get("aliases", ())}


def _catalogue_text(name: str) -> str:
    return (resources.files(__name__) / f"{name}{_ENDING}").read_text(encoding="utf-8")


def _plain(name: str) -> str:
    """A name without case and joints: VQA-v2, vqa_v2 and VQAv2 are one dataset."""
    return "".join(letter for letter in name.lower() if letter not in _JOINTS)
