"""Words are read as transcribed, and shown cut out or in a drawn box."""

from pathlib import Path

import pytest
from PIL import Image

from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError
from eyetest.records import Item
from tests.reform.conftest import Reformed, sample


def golds(items: list[Item]) -> dict[str, tuple[str, ...]]:
    return {item.id: item.references for item in items}


def test_a_word_is_cut_out_or_its_box_is_drawn(tmp_path: Path, reformed: Reformed) -> None:
    Image.new("RGB", (1024, 768), "white").save(tmp_path / "00f1.jpg")
    images = {}
    for show in ("crop", "drawn"):
        item = reformed("textocr", sample("textocr"), images=tmp_path, show=show)[0]
        images[show] = Benchmark(tmp_path / "reformed").images.open(item.images[0]).convert("RGB")
    assert images["crop"].size == (200, 40)
    assert {images["drawn"].getpixel(corner) for corner in ((100, 50), (300, 90), (200, 50))} == {(255, 0, 0)}


def test_images_called_alike_in_two_lists_are_two(tmp_path: Path, reformed: Reformed) -> None:
    for split, word in (("train", "Tea"), ("test", "Milk")):
        (tmp_path / split).mkdir()
        (tmp_path / split / "gt.txt").write_text(f'word_1.png, "{word}"\n')
    words = golds(reformed("ic15", tmp_path))
    assert words == {"train/gt:word_1.png": ("Tea",), "test/gt:word_1.png": ("Milk",)}


def test_a_torn_line_is_named(tmp_path: Path, reformed: Reformed) -> None:
    (tmp_path / "gt_img_1.txt").write_text("1,2,3,4,5,6,7,8,a\n1,2,3\n")
    with pytest.raises(InputError, match=r"gt_img_1.txt line 2: found '1,2,3', expected a line such as '1,2,3,4"):
        reformed("ic15", tmp_path / "gt_img_1.txt")
