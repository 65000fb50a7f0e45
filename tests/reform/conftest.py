"""Where hand-made annotation files in native formats lie, and how a test reforms files of its own."""

import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from eyetest.records import Item
from eyetest.reform.building import Reforming, reform
from eyetest.reform.catalog import load_dataset

NATIVE = Path(__file__).parent / "native"
"""A folder for each dataset of the catalogue that has files of its own."""
SAME_FILES = {
    **dict.fromkeys(("coco-classes", "coco-grounded", "coco-missing"), "coco-counting"),
    **dict.fromkeys(("coco-matching", "coco-selection"), "coco-caption"),
    **dict.fromkeys(("aokvqar", "aokvqra"), "aokvqa"),
    **{"vqa-mt": "vqav2", "textocr-grounded": "textocr", "vizwiz-quality-yes-no": "vizwiz-quality"},
}
Reformed = Callable[..., list[Item]]
"""The items that a dataset of the catalogue becomes: its name, annotation files, ``images``, ``settings``."""


@pytest.fixture
def items(tmp_path: Path) -> Reformed:
    def made(name: str, *annotations: Path, images: Path | None = None, **settings: object) -> list[Item]:
        dataset = load_dataset(name)
        dataset = msgspec.structs.replace(dataset, settings=dataset.settings | settings)
        plan = Reforming(
            dataset=dataset, annotations=annotations, images=images, to=tmp_path / "reformed", overwrite=True
        )
        return list(reform(plan).benchmark)

    return made


def sample(name: str) -> Path:
    """The files of a dataset of the catalogue."""
    return NATIVE / SAME_FILES.get(name, name)


def gold(item: Item) -> str:
    return item.choices[item.gold[0]].text


def golds(items: list[Item]) -> dict[str, str]:
    return {item.id: gold(item) for item in items}


def written(folder: Path, **files: str) -> Path:
    """A folder with text files; ``val_json`` is ``val.json``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / re.sub("_([a-z]+)$", r".\1", name)).write_text(text)
    return folder
