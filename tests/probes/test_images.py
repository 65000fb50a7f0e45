"""One look at each image, candidate pairs of copies by thumbnails alone, and one image laid over another."""

import io
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.probes.images import image_facts, likeness, open_small
from eyetest.probes.subject import Subject
from eyetest.records import Item, Manifest


def chart(values: list[int], title: str) -> Image.Image:
    image = Image.new("RGB", (640, 480), "white")
    draw = ImageDraw.Draw(image)
    draw.text((40, 20), title, fill="black", font=ImageFont.load_default(size=26))
    for number, value in enumerate(values):
        draw.rectangle((60 + number * 90, 420 - value * 3, 120 + number * 90, 420), fill="#2f6fab")
        draw.text((75 + number * 90, 430), f"20{number + 10}", fill="black", font=ImageFont.load_default(size=16))
    draw.line((40, 420, 610, 420), fill="black", width=2)
    return image


def encoded(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    data = io.BytesIO()
    image.save(data, kind, **options)
    return data.getvalue()


def written(path: Path, images: Mapping[str, bytes], splits: Mapping[str, str] = MappingProxyType({})) -> Benchmark:
    """A benchmark of images by the names of their items, some of them in splits."""
    with BenchmarkWriter(path, Manifest(name=path.name)) as writer:
        for name, data in images.items():
            image, tags = writer.images.put(data), {"split": splits.get(name, "")}
            writer.add(Item(id=name, question="?", images=(image,), references=("x",), tags=tags))
    return Benchmark(path)


def test_blank_tiny_and_damaged_images_are_separated_from_sound_ones(tmp_path: Path) -> None:
    benchmark = written(
        tmp_path / "b",
        {
            "blank": encoded(Image.new("RGB", (90, 90), "#336699")),
            "tiny": encoded(chart([9, 8], "x").resize((12, 40))),
            "sound": encoded(chart([10, 40, 80], "Sales")),
            "damaged": encoded(chart([70, 20, 30], "Costs")),
        },
    )
    images = {item.id: item.images[0] for item in benchmark}
    path = benchmark.images.path(images["damaged"])
    path.write_bytes(path.read_bytes()[:400].ljust(images["damaged"].size, b"\0"))
    subject = Subject(benchmark)
    facts = {name: image_facts(subject)[image.sha256] for name, image in images.items()}
    assert [name for name in facts if facts[name].one_colour] == ["blank"]
    assert [name for name in facts if facts[name].tiny] == ["tiny"]
    assert [name for name in facts if facts[name].problem] == ["damaged"]
    assert [name for name in facts if facts[name].comparable] == ["sound"]
    assert image_facts(subject) is image_facts(subject)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "CMYK", "I;16", "I", "F"])
def test_every_kind_of_pixel_is_opened_as_colour(mode: str) -> None:
    image = chart([20, 60, 90], "Modes")
    if mode == "I;16":
        image = Image.fromarray((np.asarray(image.convert("L")).astype(np.uint16)) * 257)
    else:
        image = image.convert("L").convert(mode) if mode in ("I", "F") else image.convert(mode)
    opened = open_small(encoded(image, "TIFF"), 128)
    assert opened.mode == "RGB"
    grey = np.asarray(opened.convert("L"))
    assert grey.min() < 60
    assert grey.max() > 200


def test_a_copy_is_alike_and_a_changed_chart_is_not() -> None:
    original = chart([30, 80, 55, 95, 10, 60], "Visitors by year")
    copy = original.crop((20, 10, 620, 465)).resize((420, 318))
    copy = open_small(encoded(copy, "JPEG", quality=65), 384)
    bar = chart([30, 80, 55, 85, 10, 60], "Visitors by year")
    title = chart([30, 80, 55, 95, 10, 60], "Visitors by week")
    assert likeness(original, original) > 0.99
    assert likeness(original, copy) > 0.5
    assert likeness(original, bar) < 0.2
    assert likeness(original, title) < 0.2
