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


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cute80", {"timage/001.jpg": "HARBOUR", "timage/002.jpg": "7", "timage/003.jpg": "Café"}),
        ("ic15", {"word_1.png": "Bakery", "word_3.png": "5,- a piece", "word_4.png": 'say "hi"'}),
        ("ic15-grounded", {"img_1:1": "Fish, fresh daily", "img_1:2": "[07]", "img_2:1": '"OPEN"'}),
        ("iiit5k", {"test/1002_1.png": "QUARTZ", "test/1002_2.png": "1984", "test/1003_1.png": "N"}),
        ("wordart", {"test_image/1.png": "Sunrise", "test_image/2.png": "DRIFT", "test_image/3.png": "!Hey"}),
        ("coco-text", {"45346": "quay", "45348": "N° 12."}),
        ("textocr", {"00f1_1": "Apples", "00f1_3": "2.50"}),
    ],
)
def test_golds_are_the_transcriptions_and_illegible_words_are_no_items(
    name: str, expected: dict[str, str], tmp_path: Path, reformed: Reformed
) -> None:
    show = "drawn" if name == "ic15-grounded" else "crop"
    assert golds(reformed(name, sample(name), images=tmp_path, show=show)) == {
        key: (word,) for key, word in expected.items()
    }


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
