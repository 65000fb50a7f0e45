"""One look at each image, and one image laid over another."""

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.probes.copies import likeness
from eyetest.probes.images import distinct_images, image_facts, in_parallel, open_small
from eyetest.probes.subject import Subject
from eyetest.records import Item, Manifest
from tests.support.drawn import draw_benchmark


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


def written(path: Path, images: dict[str, bytes]) -> Benchmark:
    with BenchmarkWriter(path, Manifest(name=path.name)) as writer:
        for name, data in images.items():
            writer.add(Item(id=name, question="?", images=(writer.images.put(data),), references=("x",)))
    return Benchmark(path)


def test_blank_tiny_and_damaged_images_are_told_apart_from_sound_ones(tmp_path: Path) -> None:
    sound = encoded(chart([10, 40, 80], "Sales"))
    benchmark = written(
        tmp_path / "b",
        {
            "blank": encoded(Image.new("RGB", (90, 90), "#336699")),
            "tiny": encoded(chart([9, 8], "x").resize((12, 40))),
            "sound": sound,
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


def test_missing_image_is_a_problem_not_a_failure(tmp_path: Path) -> None:
    benchmark = written(tmp_path / "b", {"a": encoded(chart([1, 2], "A")), "b": encoded(chart([3, 4], "B"))})
    gone = next(iter(benchmark)).images[0]
    benchmark.images.path(gone).unlink()
    assert "missing" in image_facts(Subject(benchmark))[gone.sha256].problem


def test_every_distinct_image_is_looked_at_and_progress_ends_at_one(tmp_path: Path) -> None:
    told: list[float] = []
    subject = Subject(draw_benchmark(tmp_path / "b", items=40), progress=lambda what, share: told.append(share))
    facts = image_facts(subject)
    assert facts.keys() == distinct_images(subject).keys()
    assert all(one.comparable for one in facts.values())
    assert told == sorted(told)
    assert told[-1] == 1


def test_two_colours_of_equal_grey_are_not_one_colour(tmp_path: Path) -> None:
    image = Image.new("RGB", (64, 64), (255, 0, 0))
    image.paste((0, 130, 0), (0, 0, 32, 64))
    assert np.ptp(np.asarray(image.convert("L"))) <= 1
    (facts,) = image_facts(Subject(written(tmp_path / "b", {"a": encoded(image)}))).values()
    assert not facts.one_colour


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


def test_transparent_pixels_are_white_like_the_page() -> None:
    image = Image.new("RGBA", (40, 40), (0, 0, 0, 0))
    assert open_small(encoded(image), 16).getpixel((5, 5)) == (255, 255, 255)


def test_interrupt_ends_the_work() -> None:
    started: list[int] = []

    def work(number: int) -> int:
        started.append(number)
        if number == 300:
            raise KeyboardInterrupt
        return number

    with pytest.raises(KeyboardInterrupt):
        in_parallel(work, range(100_000))
    assert len(started) < 5_000


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


def test_colour_alone_tells_two_images_apart() -> None:
    red, green = (Image.new("RGB", (200, 200), "white") for _ in range(2))
    ImageDraw.Draw(red).ellipse((60, 60, 140, 140), fill=(255, 0, 0))
    ImageDraw.Draw(green).ellipse((60, 60, 140, 140), fill=(0, 130, 0))
    assert likeness(red, green) < 0.4
