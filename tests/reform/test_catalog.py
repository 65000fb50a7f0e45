"""Every dataset of the catalogue is reformed from a hand-made sample in its publisher's format."""

import json
from pathlib import Path

import msgspec
import pytest

from eyetest.benchmarks import Benchmark
from eyetest.records import Item, OptionProvenance
from eyetest.reform.building import MISSING, REFORM_STEP, Reforming, reform
from eyetest.reform.catalog import described_datasets, load_dataset
from eyetest.reform.distractors import plain
from tests.reform.conftest import NATIVE, sample
from tests.support.command import call


def reformed(name: str, to: Path) -> Benchmark:
    plan = Reforming(dataset=load_dataset(name), annotations=(sample(name),), to=to / name)
    return reform(plan).benchmark


GOLDS = json.loads(Path(__file__).with_name("golds.json").read_text("utf-8"))
"""What each sample says of its records, by id: right answers, hint, and images that are not there."""


@pytest.mark.parametrize("name", described_datasets())
def test_a_dataset_reforms_its_sample(name: str, tmp_path: Path) -> None:
    dataset = load_dataset(name)
    items = list(reformed(name, tmp_path))
    found = {item.id: [[*answers(item)], item.hint, [*item.tags.get(MISSING, ())]] for item in items}
    assert found == GOLDS[name]
    for item in items:
        assert {tag: item.tags[tag] for tag in ("dataset", "dimension", "task")} == {
            "dataset": name,
            "dimension": dataset.dimension,
            "task": dataset.task,
        }
        assert item.lineage[0].step == REFORM_STEP
        assert item.lineage[0].item
        if item.choices:
            assert_options_hold(item)
    assert msgspec.structs.asdict(dataset)["licence"]
    assert dataset.url.startswith("https://")
    assert dataset.files


def answers(item: Item) -> tuple[str, ...]:
    return tuple(choice.text for choice in item.choices if choice.correct) or item.references


def assert_options_hold(item: Item) -> None:
    assert len(item.gold) == 1
    assert len({plain(choice.text) for choice in item.choices}) == len(item.choices) >= 2
    for choice in item.choices:
        if not choice.correct and isinstance(choice.provenance, OptionProvenance):
            assert choice.provenance.author


def test_a_name_is_found_however_it_is_spelt(tmp_path: Path) -> None:
    output = call("reform", "Doc-VQA", "-a", NATIVE / "docvqa", "--to", tmp_path / "b").fine()
    assert "3 items of 3 records" in output
    assert "3 items without images" in output


def test_bad_words_are_answered_with_the_nearest_right_one(tmp_path: Path) -> None:
    assert 'did you mean "docvqa"?' in call("reform", "docvqaa").refused()
    own = tmp_path / "own.yaml"
    own.write_text("{name: x, dimension: CG, task: t, reader: tabel, reformer: text}")
    assert 'did you mean "table"?' in call("reform", own).refused()
    own.write_text("{name: x, dimension: CG, task: t, reader: funsd, reformer: text, settings: {metrik: words}}")
    assert 'did you mean "metric"?' in call("reform", own).refused()


def test_a_dataset_like_another_says_only_what_differs(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("{name: pages, like: docvqa, settings: {question: 'On this page: {question}'}}")
    dataset, like = load_dataset(str(own)), load_dataset("docvqa")
    assert (dataset.name, dataset.read, dataset.task) == ("pages", like.read, like.task)
    assert dataset.settings == like.settings | {"question": "On this page: {question}"}
    own.write_text("{name: pages, like: docvqaa}")
    assert 'did you mean "docvqa"?' in call("reform", own).refused()
