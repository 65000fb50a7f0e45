"""The stand-in that reads screenshots: from pixels to a zoo member's reply."""

from collections.abc import Sequence

import msgspec
import pytest
from eyetest_world import load_rates, new_world

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.errors import MissingExtraError
from eyetest.harden.screenshot.style import PLAINEST
from eyetest.harden.screenshot.taking import ScreenshotSettings, Studio
from eyetest.ocr import choose_engine
from eyetest.prompts import SCREENSHOT_STEP
from eyetest.records import Condition, Item, Lineage, Manifest, Response
from tests.models.asked import Embedded, texts

pytestmark = pytest.mark.journey

ITEMS = 4


@pytest.fixture(autouse=True, scope="module")
def _engine() -> None:
    try:
        choose_engine()
    except MissingExtraError as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    try:
        choose_engine()
    except MissingExtraError as missing:
        pytest.skip(str(missing))
    return new_world(tmp_path_factory.mktemp("world") / "w", load_rates("none"), items=18, seed=5)


@pytest.fixture(scope="module")
def shots(world: Benchmark, tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """The same items as plain screenshots."""
    to = tmp_path_factory.mktemp("shots") / "s"
    studio = Studio(world.images.root, ScreenshotSettings())
    with BenchmarkWriter(to, Manifest(name="shots")) as writer:
        for item in list(world)[:ITEMS]:
            image = writer.images.put(studio.draw(item, PLAINEST["screen"]).file)
            lineage = (*item.lineage, Lineage(step=SCREENSHOT_STEP))
            writer.add(msgspec.structs.replace(item, images=(image,), lineage=lineage))
    return Benchmark(to)


def ask(spec: str, bench: Benchmark, items: Sequence[Item], condition: Condition) -> list[str]:
    """What a model says to items."""
    replies = Embedded(spec, bench).about(items, condition)
    assert all(isinstance(reply, Response) for reply in replies), replies
    return texts(replies)


def test_it_reads_pages_and_answers_as_the_member_does_the_plain_items(world: Benchmark, shots: Benchmark) -> None:
    plain = ask("embedded:owl-m", world, list(world)[:ITEMS], Condition())
    read = ask("reader:owl-m", shots, list(shots), Condition(modality="screenshot"))
    assert sum(one == other for one, other in zip(plain, read, strict=True)) >= ITEMS - 1
    transcripts = ask("reader:owl-m", shots, list(shots)[:1], Condition(modality="screenshot", ask="ocr"))
    for item, text in zip(shots, transcripts, strict=False):
        assert item.question.split()[-1].rstrip("?.") in text
        assert f"A. {item.choices[0].text}" in text
        assert text.splitlines()[-1].startswith("Answer: ")


def test_what_is_no_screenshot_it_answers_as_the_member_does(world: Benchmark) -> None:
    items = list(world)[:2]
    for condition in (Condition(), Condition(modality="no-image")):
        assert ask("reader:owl-m", world, items, condition) == ask("embedded:owl-m", world, items, condition)
