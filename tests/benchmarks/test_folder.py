import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.errors import InputError, ItemError
from eyetest.records import Choice, Item, Lineage, Manifest
from tests.conftest import png


def text_item(name: str, **fields: object) -> Item:
    return msgspec.structs.replace(Item(id=name, question="What?", references=("it",)), **fields)


def make(to: Path, *items: Item, overwrite: bool = False) -> Benchmark:
    with BenchmarkWriter(to, Manifest(name="b", licence="CC0-1.0", canary="tweet"), overwrite=overwrite) as writer:
        for item in items:
            writer.add(item)
    return Benchmark(to)


def test_the_folder_is_what_the_contract_says(tmp_path: Path) -> None:
    with BenchmarkWriter(tmp_path / "b", Manifest(name="b")) as writer:
        image = writer.images.put(png())
        writer.add(text_item("1", images=(image, image)))
    assert sorted(p.name for p in (tmp_path / "b").iterdir()) == ["benchmark.json", "images", "items.parquet"]
    assert (tmp_path / "b/images" / image.sha256[:2] / f"{image.sha256}.png").read_bytes() == png()
    manifest = json.loads((tmp_path / "b/benchmark.json").read_bytes())
    assert {"name", "version", "counts", "licence", "source", "canary", "lineage"} <= set(manifest)
    assert manifest["counts"]["images"] == 1


def test_items_are_found_by_id_in_any_row_group(tmp_path: Path) -> None:
    benchmark = make(tmp_path / "b", *(text_item(f"item {n}") for n in range(4_500)))
    assert len(benchmark) == 4_500
    numbers = (0, 1_999, 2_000, 4_499)
    assert [benchmark[f"item {n}"].id for n in numbers] == [f"item {n}" for n in numbers]
    assert "item 7" in benchmark
    assert "item 4500" not in benchmark
    with pytest.raises(InputError, match="no item 'item4' in b; did you mean \"item 4\""):
        benchmark["item4"]


def test_the_fingerprint_is_that_of_the_content(tmp_path: Path) -> None:
    first = make(tmp_path / "1", text_item("a", tags={"x": 1, "y": 2}), text_item("b"))
    same = make(tmp_path / "2", text_item("a", tags={"y": 2, "x": 1}), text_item("b"))
    other = make(tmp_path / "3", text_item("b"), text_item("a", tags={"x": 1, "y": 2}))
    assert first.manifest.fingerprint == same.manifest.fingerprint != other.manifest.fingerprint


def test_a_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(ItemError, match="item '1': id: found '1' again, expected an id of its own"):
        make(tmp_path / "b", text_item("1"), text_item("1"))
    with pytest.raises(InputError, match="no items"):
        make(tmp_path / "b")
    assert list(tmp_path.iterdir()) == []


def test_the_old_folder_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    make(tmp_path / "b", text_item("old"))
    with pytest.raises(InputError, match="already there"):
        make(tmp_path / "b", text_item("new"))
    with pytest.raises(ItemError):
        make(tmp_path / "b", text_item("new"), text_item(""), overwrite=True)
    assert [item.id for item in Benchmark(tmp_path / "b")] == ["old"]
    assert [item.id for item in make(tmp_path / "b", text_item("new"), overwrite=True)] == ["new"]
    assert [p.name for p in tmp_path.iterdir()] == ["b"]


def test_what_is_not_ours_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b/thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match=r"holds 'thesis\.tex', which eyetest did not write"):
        make(tmp_path / "b", text_item("1"), overwrite=True)
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="already there, and it is a file"):
        make(tmp_path / "file", text_item("1"), overwrite=True)
    assert (tmp_path / "b/thesis.tex").read_text() == "years of work"


def test_a_damaged_manifest_says_so(tmp_path: Path) -> None:
    make(tmp_path / "b", text_item("1"))
    manifest = tmp_path / "b/benchmark.json"
    manifest.write_text(manifest.read_text().replace('"folder_version": 5', '"folder_version": 99'))
    with pytest.raises(InputError, match=r"version 99 \(int\); this eyetest reads 5"):
        Benchmark(tmp_path / "b")
    manifest.write_text("[]")
    with pytest.raises(InputError, match="is not a benchmark manifest"):
        Benchmark(tmp_path / "b")


def test_an_option_of_which_nothing_is_said_leaves_the_fingerprint_as_it_was(tmp_path: Path) -> None:
    choices = (Choice("a", correct=True), Choice("b"))
    benchmark = make(tmp_path / "b", Item(id="1", question="What?", choices=choices))
    text = b'{"choices":[{"correct":true,"text":"a"},{"correct":false,"text":"b"}],"id":"1","question":"What?"}'

    assert benchmark.manifest.fingerprint == hashlib.sha256(text).hexdigest()


def test_a_changed_benchmark_knows_what_it_was(tmp_path: Path) -> None:
    first = make(tmp_path / "first", text_item("1"), text_item("2"))
    step = Lineage(step="subset", note="one of two")
    manifest = msgspec.structs.replace(first.manifest, version="2", lineage=(step,))
    with BenchmarkWriter(tmp_path / "second", manifest) as writer:
        writer.adopt(first["1"], first)
    second = Benchmark(tmp_path / "second").manifest
    with BenchmarkWriter(tmp_path / "copy", second) as writer:
        writer.adopt(first["1"], first)

    (before,) = second.revisions
    assert (before.fingerprint, before.version, before.change) == (
        first.manifest.fingerprint,
        "2",
        "subset: one of two",
    )
    assert datetime.fromisoformat(before.time) <= datetime.now(UTC)
    assert Benchmark(tmp_path / "copy").manifest.revisions == second.revisions
