"""One look at each image, candidate pairs of copies by thumbnails alone, and one image laid over another."""

import io
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image, ImageDraw, ImageFont

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.benchmarks.folder import distinct_images
from eyetest.probes.copies import Thumbnail, likeness, promising_pairs
from eyetest.probes.images import image_facts, in_parallel, open_small
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
    assert facts.keys() == distinct_images(subject.items).keys()
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


_COARSE, _SIDE, _TEMPLATES = 10, 32, 300
Floats = npt.NDArray[np.float32]


def sampled(low: float = 0.0, high: float = 1.0) -> Floats:
    """What reads a coarse field between two ends of it, at the side of a thumbnail."""
    at = np.linspace(low, high, _SIDE) * (_COARSE - 1)
    return np.asarray(np.maximum(0, 1 - np.abs(at[:, None] - np.arange(_COARSE))), np.float32)


def thumbnail(field: Floats, rng: np.random.Generator, across: Floats, down: Floats) -> Thumbnail:
    """A field as it is seen, with the noise of JPEG."""
    shades = down @ field @ across.T + rng.normal(0, 2, (_SIDE, _SIDE))
    return np.clip(shades, 0, 255).astype(np.uint8)


def made_up(count: int) -> tuple[list[Thumbnail], set[tuple[int, int]]]:
    """So many thumbnails, and which pairs of them are copies."""
    rng = np.random.default_rng(count)
    templates = rng.uniform(0, 255, (_TEMPLATES, _COARSE, _COARSE)).astype(np.float32)
    thumbnails: list[Thumbnail] = []
    copies = set()
    plain = sampled()
    while len(thumbnails) < count:
        field = rng.uniform(0, 255, (_COARSE, _COARSE)).astype(np.float32)
        if rng.random() < 0.5:
            kept = rng.random((_COARSE, _COARSE)) < 0.8
            field = np.where(kept, templates[rng.integers(_TEMPLATES)], field)
        thumbnails.append(thumbnail(field, rng, plain, plain))
        if rng.random() < 0.01 and len(thumbnails) < count:
            cut = [sampled(rng.uniform(0, 0.04), rng.uniform(0.96, 1)) for _ in range(2)]
            copies.add((len(thumbnails) - 1, len(thumbnails)))
            thumbnails.append(thumbnail(field, rng, cut[0], cut[1]))
    order = rng.permutation(count)
    where = np.argsort(order)
    moved = {(int(min(where[i], where[j])), int(max(where[i], where[j]))) for i, j in copies}
    return [thumbnails[index] for index in order], moved


def pairs(thumbnails: list[Thumbnail]) -> set[tuple[int, int]]:
    found = promising_pairs(thumbnails, 24, 0.05, lambda share: None).tolist()
    assert all(one < other for one, other in found)
    assert len(found) == len({(one, other) for one, other in found})
    return {(one, other) for one, other in found}


def test_copies_are_among_the_pairs() -> None:
    thumbnails, copies = made_up(2_000)
    assert copies <= pairs(thumbnails)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_few_images(count: int) -> None:
    image = np.arange(32 * 32, dtype=np.uint8).reshape(32, 32)
    assert pairs([image] * count) == ({(0, 1)} if count == 2 else set())
