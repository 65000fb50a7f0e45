"""A whole benchmark of screenshots."""

from pathlib import Path

import msgspec
import polars as pl
import pytest

from eyetest.benchmarks import Benchmark
from eyetest.benchmarks.folder import LAYOUT
from eyetest.errors import InputError
from eyetest.harden.screenshot.style import FACTORS, design
from eyetest.harden.screenshot.taking import Screenshots, ScreenshotSettings, screenshot_notes, take_screenshots
from eyetest.records import Choice, Item
from tests.scoring.test_table import make_bench


def test_items_keep_what_they_are(own: Benchmark, taken: Screenshots) -> None:
    before, after = list(own), list(taken.benchmark)
    rows = design([item.id for item in own], "screen", 7)
    for old, new, row in zip(before, after, rows, strict=True):
        (image,) = new.images
        assert taken.benchmark.images.open(image).size == (image.width, image.height)
        same = msgspec.structs.replace(new, images=old.images, tags=old.tags, lineage=old.lineage)
        assert same == old
        assert new.tags == row
        assert new.lineage[-1].step == "screenshot"
        assert new.lineage[-1].seed == 7
    assert taken.verdicts == ()
    assert taken.unread_formulas == 0
    for look in ("look_font", "look_theme", "look_frame"):
        assert len({item.tags[look] for item in after}) > 1
    assert len({item.images[0].sha256 for item in after}) == len(after)


def test_layout_lies_beside_the_items(taken: Screenshots) -> None:
    rows = pl.read_parquet(taken.benchmark.path / LAYOUT)
    assert rows.columns == ["item", "part", "number", "left", "top", "right", "bottom"]
    assert (rows["part"] == "option").sum() == sum(len(item.choices) for item in taken.benchmark)
    assert ((rows["right"] > rows["left"]) & (rows["bottom"] > rows["top"])).all()


@pytest.mark.journey
def test_processes_give_the_same_pixels(own: Benchmark, taken: Screenshots, tmp_path: Path) -> None:
    again = take_screenshots(own, tmp_path / "again", ScreenshotSettings(seed=7), workers=2)
    assert [item.images for item in again.benchmark] == [item.images for item in taken.benchmark]
    assert again.benchmark.manifest.fingerprint == taken.benchmark.manifest.fingerprint


@pytest.fixture
def three(tmp_path: Path) -> Benchmark:
    choices = (Choice("yes", correct=True), Choice("no"))
    items = [
        Item(id="good", question="Is it?", choices=choices),
        Item(id="open", question="How many?", references=("3",)),
    ]
    items.insert(1, Item(id="long", question="word " * 50_000, choices=choices))
    return make_bench(tmp_path / "three", items)


def test_photographs_and_what_is_left_out(three: Benchmark, tmp_path: Path) -> None:
    done = take_screenshots(three, tmp_path / "to", ScreenshotSettings(look="photo"))
    assert [item.id for item in done.benchmark] == ["good", "open"]
    assert [(verdict.item, verdict.reason) for verdict in done.verdicts] == [("long", "too long for one page")]
    assert screenshot_notes(done) == ["left out: long: too long for one page"]
    (good, _) = done.benchmark
    assert good.images[0].format == "jpeg"
    assert set(good.tags) == {"look", *FACTORS["photo"]}
    assert good.tags["look"] == "photo"
    again = take_screenshots(three, tmp_path / "again", ScreenshotSettings(look="photo"))
    assert [item.images for item in again.benchmark] == [item.images for item in done.benchmark]
    with pytest.raises(InputError, match="already there"):
        take_screenshots(three, tmp_path / "to", ScreenshotSettings())
    take_screenshots(three, tmp_path / "to", ScreenshotSettings(), overwrite=True)


def test_nothing_is_left_of_a_failure(three: Benchmark, tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        take_screenshots(three, tmp_path / "to", ScreenshotSettings(), progress=stop)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["three"]
