"""Copies of images are found; images that only look alike are not."""

import io
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest
from PIL import Image

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.probes.duplicates import DuplicateImages
from eyetest.probes.subject import Subject, load_thresholds
from eyetest.records import Finding, Item, Manifest
from tests.probes.test_images import chart, encoded
from tests.support.drawn import draw_benchmark

CHART = chart([30, 80, 55, 95, 10, 60], "Visitors by year")
COPY = encoded(CHART.crop((20, 10, 620, 465)), "JPEG", quality=70)


def findings(benchmark: Benchmark, against: Benchmark | None = None) -> dict[str, Finding]:
    return {finding.kind: finding for finding in DuplicateImages().run(Subject(benchmark, against=against))}


def written(path: Path, items: Sequence[tuple[str, str, bytes]]) -> Benchmark:
    with BenchmarkWriter(path, Manifest(name=path.name)) as writer:
        for name, split, data in items:
            image = writer.images.put(data)
            writer.add(Item(id=name, question="?", images=(image,), references=("x",), tags={"split": split}))
    return Benchmark(path)


def commented(jpeg: bytes, number: int) -> bytes:
    """The same JPEG with a comment of its own: other bytes, the same pixels."""
    comment = f"number {number}".encode()
    return jpeg[:2] + b"\xff\xfe" + (len(comment) + 2).to_bytes(2, "big") + comment + jpeg[2:]


def test_equal_bytes_are_a_note_and_copies_a_suspicion(tmp_path: Path) -> None:
    other = encoded(chart([80, 30, 95, 55, 60, 10], "Visitors by year"))
    found = findings(
        written(
            tmp_path / "b", [("a", "", encoded(CHART)), ("b", "", encoded(CHART)), ("c", "", COPY), ("d", "", other)]
        )
    )
    assert found["identical-images"].severity == "note"
    assert found["identical-images"].groups == (("a", "b"),)
    near = found["near-identical-images"]
    assert (near.severity, near.groups, near.items) == ("suspect", (("a", "b", "c"),), ("a", "b", "c"))
    assert "a, b" in near.evidence["c"]
    assert "images-across-splits" not in found


def test_drawn_images_that_look_alike_are_not_copies(tmp_path: Path) -> None:
    found = findings(draw_benchmark(tmp_path / "b", items=72, seed=3))
    by_id = {item.id: item for item in Benchmark(tmp_path / "b")}
    for group in found["near-identical-images"].groups:
        assert len({by_id[item].description for item in group}) == 1


def test_a_image_in_two_splits_is_told(tmp_path: Path) -> None:
    other = encoded(chart([80, 30, 95, 55, 60, 10], "Guests"))
    found = findings(
        written(tmp_path / "b", [("a", "train", encoded(CHART)), ("b", "test", COPY), ("c", "test", other)])
    )
    across = found["images-across-splits"]
    assert (across.severity, across.groups) == ("suspect", (("a", "b"),))
    assert "train" in across.evidence["b"]


def test_splits_that_share_nothing_are_sound(tmp_path: Path) -> None:
    other = encoded(chart([80, 30, 95, 55, 60, 10], "Guests"))
    found = findings(written(tmp_path / "b", [("a", "train", encoded(CHART)), ("b", "test", other)]))
    assert found["images-across-splits"].severity == "sound"
    assert found["near-identical-images"].severity == "sound"


def test_images_of_another_benchmark_are_named(tmp_path: Path) -> None:
    ours = written(tmp_path / "ours", [("a", "", encoded(CHART)), ("z", "", encoded(chart([1, 90, 4], "Rain")))])
    theirs = written(tmp_path / "theirs", [("t1", "", COPY), ("t2", "", encoded(chart([50, 5, 70], "Snow")))])
    found = findings(ours, theirs)
    shared = found["images-also-in-other"]
    assert (shared.severity, shared.items) == ("bad", ("a",))
    assert "theirs" in shared.evidence["a"]
    assert "t1" in shared.evidence["a"]
    assert found["near-identical-images"].severity == "sound"


def test_other_wrapping_of_the_same_pixels_needs_no_comparison(tmp_path: Path) -> None:
    jpeg = encoded(CHART, "JPEG", quality=90)
    found = findings(written(tmp_path / "b", [(str(n), "", commented(jpeg, n)) for n in range(50)]))
    near = found["near-identical-images"]
    assert [len(group) for group in near.groups] == [50]
    assert near.numbers["pairs_compared"] == 0


def test_blank_images_are_nobodys_copy(tmp_path: Path) -> None:
    blanks = [encoded(Image.new("RGB", (100 + n, 100), "white")) for n in range(4)]
    found = findings(written(tmp_path / "b", [(str(n), "", blank) for n, blank in enumerate(blanks)]))
    assert found["near-identical-images"].severity == "sound"


def test_the_limit_on_comparisons_is_told(tmp_path: Path) -> None:
    thresholds = load_thresholds()
    images = msgspec.structs.replace(thresholds.images, most_pairs=1)
    thresholds = msgspec.structs.replace(thresholds, images=images)
    copies = [encoded(CHART, "JPEG", quality=quality) for quality in (60, 70, 80, 90)]
    benchmark = written(tmp_path / "b", [(str(n), "", copy) for n, copy in enumerate(copies)])
    near, *_ = DuplicateImages().run(Subject(benchmark, thresholds))
    assert near.numbers["pairs_compared"] == 1
    assert near.numbers["pairs_left_out"] == 5
    assert "5 more pairs" in near.detail


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
