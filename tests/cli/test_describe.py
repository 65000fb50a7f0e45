"""``eyetest run --describe``: images become text, for models that see none."""

import json
from pathlib import Path

import pytest

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.records import Choice, Item, Manifest
from tests.conftest import png
from tests.endpoint import Attempt, Endpoint, Reply, failure
from tests.support.command import call

pytestmark = pytest.mark.journey


@pytest.fixture
def here(workdir: Path) -> Path:
    """Items with no, one and two images; two share theirs; one has a description already."""
    choices = (Choice("a zebra", True), Choice("a quagga"))
    with BenchmarkWriter(workdir / "b", Manifest(name="b")) as writer:
        red, blue = (writer.images.put(png(colour)) for colour in ("red", "blue"))
        writer.add(Item(id="one", question="Which animal?", images=(red,), choices=choices))
        writer.add(Item(id="same", question="Which beast?", images=(red,), choices=choices))
        writer.add(Item(id="two", question="What differs?", images=(red, blue), references=("the zebra",)))
        writer.add(Item(id="none", question="What is 1 + 1?", references=("2",)))
        writer.add(Item(id="known", question="Which?", images=(blue,), choices=choices, description="all blue"))
    return workdir


@pytest.fixture
def describer(endpoint: Endpoint) -> Endpoint:
    endpoint.answer = lambda attempt: f"  {len(attempt.images)} images: {attempt.key}\n"
    return endpoint


def command(endpoint: Endpoint, *more: object) -> tuple[object, ...]:
    return ("run", "b", "--describe", f"openai:eye@{endpoint.url}", "--to", "d", *more)


def descriptions(folder: Path) -> dict[str, str]:
    return {item.id: item.description for item in Benchmark(folder / "d/benchmark")}


def test_descriptions_land_in_the_benchmark(here: Path, describer: Endpoint) -> None:
    """And the describer never sees the question."""
    said = call(*command(describer)).fine()
    found = descriptions(here)
    assert found["one"].startswith("1 images: ")
    assert found["one"] == found["same"], "the same images are described once"
    assert found["two"].startswith("2 images: ")
    assert (found["none"], found["known"]) == ("", "all blue")
    assert len(describer.attempts) == 2
    assert "3 descriptions by eye → d/benchmark" in said
    old, new = Benchmark(here / "b"), Benchmark(here / "d/benchmark")
    assert [item.id for item in new] == [item.id for item in old]
    assert new.manifest.fingerprint != old.manifest.fingerprint
    assert (new.manifest.lineage[-1].step, new.manifest.lineage[-1].note) == ("describe", "described by eye")
    for item in new:
        for image in item.images:
            assert new.images.path(image).exists()
    for attempt in describer.attempts:
        sent = json.dumps(attempt.body)
        assert not [word for word in ("zebra", "quagga", "animal", "beast", "differs", "Which") if word in sent]
        assert "Describe this image" in attempt.question
    assert [len(attempt.images) for attempt in describer.attempts].count(2) == 1
    assert "There are 2 images" in next(a.question for a in describer.attempts if len(a.images) == 2)


def test_what_was_described_by_others_is_kept_unless_told(here: Path, describer: Endpoint) -> None:
    call(*command(describer)).fine()
    reported = call("run", "d/benchmark", "--describe", f"openai:eye@{describer.url}", "--to", "e").refused()
    assert "every item with an image has a description already; --overwrite describes them again" in reported
    call(*command(describer, "--overwrite")).fine()
    assert descriptions(here)["known"].startswith("1 images: ")
    assert len(describer.attempts) == 3


def test_a_failed_call_leaves_an_item_without(here: Path, describer: Endpoint) -> None:
    def only_single(attempt: Attempt) -> Reply | None:
        return failure(400, "too many images") if len(attempt.images) > 1 else None

    describer.rule = only_single
    said = call(*command(describer)).fine()
    assert "1 item without a description: the call failed or was refused" in said
    assert descriptions(here)["two"] == ""
    describer.rule = lambda attempt: None
    call(*command(describer)).fine()
    assert descriptions(here)["two"] == "", "not by itself"
    call(*command(describer, "--retry-failed")).fine()
    assert descriptions(here)["two"].startswith("2 images")
    assert len(describer.attempts) == 3
