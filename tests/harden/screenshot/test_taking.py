"""A whole benchmark of screenshots."""

from pathlib import Path

import msgspec
import pytest

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.benchmarks.folder import LAYOUT
from eyetest.commands.harden_screenshot import harden_screenshot
from eyetest.errors import InputError
from eyetest.harden.screenshot.style import FACTORS, Look, design
from eyetest.harden.screenshot.taking import (
    PartBox,
    Screenshots,
    ScreenshotSettings,
    screenshot_notes,
    take_screenshots,
)
from eyetest.prompts import build
from eyetest.records import Choice, Condition, ImagePart, Item, Manifest, sorting_tags
from eyetest.tabular.record_files import read_parquet


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
    assert {"look_font", "look_theme", "look_frame"} <= set(sorting_tags(after))
    assert len({item.images[0].sha256 for item in after}) == len(after)


def test_a_model_is_shown_the_image_alone(taken: Screenshots) -> None:
    prompt = build(taken.benchmark["q01"], Condition(modality="screenshot"))
    (message,) = prompt.messages
    assert sum(isinstance(part, ImagePart) for part in message.parts) == 1
    assert "图" not in str(message)


def test_layout_lies_beside_the_items(taken: Screenshots) -> None:
    rows = [msgspec.convert(row, PartBox) for row in read_parquet(taken.benchmark.path / LAYOUT).to_pylist()]
    options = [row for row in rows if row.part == "option"]
    assert len(options) == sum(len(item.choices) for item in taken.benchmark)
    assert all(row.right > row.left and row.bottom > row.top for row in rows)


def test_processes_give_the_same_pixels(own: Benchmark, taken: Screenshots, tmp_path: Path) -> None:
    again = take_screenshots(own, tmp_path / "again", ScreenshotSettings(seed=7), workers=2)
    assert [item.images for item in again.benchmark] == [item.images for item in taken.benchmark]
    assert again.benchmark.manifest.fingerprint == taken.benchmark.manifest.fingerprint


@pytest.fixture
def three(tmp_path: Path) -> Benchmark:
    def choices(*texts: str) -> tuple[Choice, ...]:
        return tuple(Choice(text, at == 0) for at, text in enumerate(texts))

    with BenchmarkWriter(tmp_path / "three", Manifest(name="three")) as writer:
        writer.add(Item(id="good", question="Is it?", choices=choices("yes", "no")))
        writer.add(Item(id="long", question="word " * 50_000, choices=choices("yes", "no")))
        writer.add(Item(id="open", question="How many?", references=("3",)))
    return Benchmark(tmp_path / "three")


@pytest.mark.parametrize("look", ["phone", "photo", "print"])
def test_other_looks_and_what_is_left_out(three: Benchmark, tmp_path: Path, look: Look) -> None:
    done = take_screenshots(three, tmp_path / "to", ScreenshotSettings(look=look))
    assert [item.id for item in done.benchmark] == ["good", "open"]
    assert [(verdict.item, verdict.reason) for verdict in done.verdicts] == [("long", "too long for one page")]
    assert screenshot_notes(done) == ["left out: long: too long for one page"]
    (good, _) = done.benchmark
    assert good.images[0].format == ("png" if look == "phone" else "jpeg")
    assert set(good.tags) == {"look", *FACTORS[look]}
    assert good.tags["look"] == look
    again = take_screenshots(three, tmp_path / "again", ScreenshotSettings(look=look))
    assert [item.images for item in again.benchmark] == [item.images for item in done.benchmark]
    with pytest.raises(InputError, match="already there"):
        take_screenshots(three, tmp_path / "to", ScreenshotSettings())
    take_screenshots(three, tmp_path / "to", ScreenshotSettings(), overwrite=True)


def test_wrong_words_are_told_with_the_right_one(three: Benchmark, tmp_path: Path) -> None:
    with pytest.raises(InputError, match='look: no look "foto"; did you mean "photo"'):
        harden_screenshot(three, to=tmp_path / "to", look="foto")
    with pytest.raises(InputError, match="the benchmark itself"):
        take_screenshots(three, three.path, ScreenshotSettings(), overwrite=True)
    assert len(three) == 3


def test_nothing_is_left_of_a_failure(three: Benchmark, tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        take_screenshots(three, tmp_path / "to", ScreenshotSettings(), progress=stop)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["three"]
