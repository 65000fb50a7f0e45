"""Drawn scenes as datasets in their publishers' formats: what is known of each scene, written as annotations."""

import json
from pathlib import Path
from random import Random

import msgspec
from eyetest_world.canvas import png
from eyetest_world.drafting import Draft, draft, kind_of, render

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.records import Choice, Item, Manifest

SIZE = 128
ASKED = ("pattern-of", "direction", "dice", "clock", "gears", "thermometer")
"""Kinds whose distractors the world does not take from the image, of which an open question says nothing."""


class DrawnDataset(msgspec.Struct, frozen=True):
    """Scenes, the benchmark that the world itself makes of them, and where their images are."""

    drafts: tuple[Draft, ...]
    original: Benchmark
    images: Path


def draw_dataset(folder: Path, kinds: tuple[str, ...], count: int, seed: int) -> DrawnDataset:
    """So many scenes of these kinds in turns, asked about as the world asks."""
    drafts = [draft(kind_of(kinds[n % len(kinds)]), None, 0, Random(f"{seed}/{n}")) for n in range(count)]
    images = folder / "images"
    images.mkdir(parents=True)
    with BenchmarkWriter(folder / "original", Manifest(name="original")) as writer:
        for number, made in enumerate(drafts):
            data = png(render(made, SIZE))
            (images / f"{number:012d}.png").write_bytes(data)
            choices = tuple(Choice(text, correct=place == made.gold) for place, text in enumerate(made.options))
            image = (writer.images.put(data),)
            tags = {"kind": made.kind}
            writer.add(Item(id=str(number), question=made.question, images=image, choices=choices, tags=tags))
    return DrawnDataset(tuple(drafts), Benchmark(folder / "original"), images)


def write_vqa(dataset: DrawnDataset, folder: Path) -> None:
    """Open questions and the answers of ten people who agree."""
    folder.mkdir()
    questions = [
        {"image_id": n, "question": made.question, "question_id": n} for n, made in enumerate(dataset.drafts)
    ]
    answers = [
        {
            "question_id": n,
            "image_id": n,
            "question_type": made.kind,
            "answer_type": "other",
            "multiple_choice_answer": made.options[made.gold],
            "answers": [{"answer": made.options[made.gold], "answer_id": person} for person in range(1, 11)],
        }
        for n, made in enumerate(dataset.drafts)
    ]
    (folder / "questions.json").write_text(json.dumps({"questions": questions}))
    (folder / "annotations.json").write_text(json.dumps({"annotations": answers}))


def write_folders(dataset: DrawnDataset, folder: Path) -> None:
    """Every image in a folder that is named after what it shows."""
    for number, made in enumerate(dataset.drafts):
        name = folder / made.options[made.gold].replace(" ", "_") / f"{number:012d}.png"
        name.parent.mkdir(parents=True, exist_ok=True)
        name.write_bytes((dataset.images / name.name).read_bytes())


def write_coco(dataset: DrawnDataset, path: Path) -> None:
    """A box for every shape; its category is its colour and its form."""
    names = sorted({_category(one) for made in dataset.drafts for one in made.scene["things"]})
    numbers = {name: number for number, name in enumerate(names, 1)}
    annotations: list[dict[str, object]] = []
    for image, made in enumerate(dataset.drafts):
        for one in made.scene["things"]:
            radius = one["radius"] * SIZE / 100
            x, y = (value * SIZE / 100 for value in one["at"])
            box = [x - radius, y - radius, 2 * radius, 2 * radius]
            entry = {
                "id": len(annotations) + 1,
                "image_id": image,
                "category_id": numbers[_category(one)],
                "bbox": box,
            }
            annotations.append(entry | {"area": box[2] * box[3], "iscrowd": 0, "segmentation": []})
    images = [
        {"id": n, "file_name": f"{n:012d}.png", "width": SIZE, "height": SIZE} for n in range(len(dataset.drafts))
    ]
    categories = [{"id": number, "name": name, "supercategory": "shape"} for name, number in numbers.items()]
    path.write_text(json.dumps({"images": images, "annotations": annotations, "categories": categories}))


def _category(thing: dict[str, str]) -> str:
    return f"{thing['colour']} {thing['shape']}"
