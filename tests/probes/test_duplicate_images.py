"""Copies of images are found; images that only look alike are not."""

import io
import random
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.probes.duplicates import duplicate_images
from eyetest.probes.subject import Subject
from eyetest.records import Finding, Item, Manifest
from tests.probes.test_images import chart, encoded, written

CHART = chart([30, 80, 55, 95, 10, 60], "Visitors by year")
COPY = encoded(CHART.crop((20, 10, 620, 465)), "JPEG", quality=70)


def findings(benchmark: Benchmark) -> dict[str, Finding]:
    return {finding.kind: finding for finding in duplicate_images.run(Subject(benchmark))}


def test_equal_bytes_are_a_note_and_copies_a_suspicion(tmp_path: Path) -> None:
    other = encoded(chart([80, 30, 95, 55, 60, 10], "Visitors by year"))
    images = {"a": encoded(CHART), "b": encoded(CHART), "c": COPY, "d": other}
    found = findings(written(tmp_path / "b", images))
    assert found["identical-images"].severity == "note"
    assert found["identical-images"].groups == (("a", "b"),)
    near = found["near-identical-images"]
    assert (near.severity, near.groups, near.items) == ("suspect", (("a", "b", "c"),), ("a", "b", "c"))
    assert "a, b" in near.evidence["c"]
    assert "images-across-splits" not in found


def test_a_image_in_two_splits_is_noted(tmp_path: Path) -> None:
    other = encoded(chart([80, 30, 95, 55, 60, 10], "Guests"))
    images, splits = {"a": encoded(CHART), "b": COPY, "c": other}, {"a": "train", "b": "test", "c": "test"}
    found = findings(written(tmp_path / "b", images, splits))
    across = found["images-across-splits"]
    assert (across.severity, across.groups) == ("suspect", (("a", "b"),))
    assert "train" in across.evidence["b"]


def altered(image: Image.Image, rng: random.Random) -> bytes:
    """A copy such as people make: cropped, resized, saved again."""
    kind = rng.choice(["save", "resize", "crop", "both", "both"])
    if kind in ("crop", "both"):
        left, top, right, low = (rng.uniform(0.01, 0.05) for _ in range(4))
        width, height = image.size
        image = image.crop((int(width * left), int(height * top), int(width * (1 - right)), int(height * (1 - low))))
    if kind in ("resize", "both"):
        scale = rng.uniform(0.5, 2)
        image = image.resize((int(image.width * scale), int(image.height * scale)), Image.Resampling.BICUBIC)
    data = io.BytesIO()
    image.save(data, "JPEG", quality=rng.randint(60, 90))
    return data.getvalue()


@pytest.mark.slow
def test_twenty_planted_copies_among_charts_are_found_and_charts_are_not(
    real_benchmark: Callable[[str], Benchmark], tmp_path: Path
) -> None:
    source = real_benchmark("chartqa")
    rng = random.Random(20)
    first = {item.images[0].sha256: item for item in source}
    chosen = rng.sample(sorted(first), 20)
    with BenchmarkWriter(tmp_path / "planted", Manifest(name="planted")) as writer:
        for item in source:
            writer.adopt(item, source)
        for number, sha256 in enumerate(chosen):
            opened = source.images.open(first[sha256].images[0]).convert("RGBA")
            page = Image.new("RGB", opened.size, "white")
            page.paste(opened, mask=opened.getchannel("A"))
            image = writer.images.put(altered(page, rng))
            writer.add(Item(id=f"copy {number}", question="?", images=(image,), references=("x",)))
    near = findings(Benchmark(tmp_path / "planted"))["near-identical-images"]
    group_of = {item: set(group) for group in near.groups for item in group}
    found = [n for n, sha256 in enumerate(chosen) if first[sha256].id in group_of.get(f"copy {n}", ())]
    assert found == list(range(20))
    image_of = {item.id: item.images[0].sha256 for item in source}
    false = [group for group in near.groups if len({image_of[i] for i in group if i in image_of}) > 1]
    assert len(false) <= 5
    assert near.numbers["pairs_left_out"] == 0


def test_identical_images_of_mathvista_are_all_listed(real_benchmark: Callable[[str], Benchmark]) -> None:
    benchmark = real_benchmark("mathvista")
    original: defaultdict[str, set[str]] = defaultdict(set)
    for item in benchmark:
        if item.images:
            original[item.tags["image_sha256_original"]].add(item.id)
    groups = [items for items in original.values() if len(items) > 1]
    assert (len(groups), sum(map(len, groups))) == (19, 47)
    found = findings(benchmark)["identical-images"]
    listed = [set(group) for group in found.groups]
    assert all(any(group <= other for other in listed) for group in groups)
