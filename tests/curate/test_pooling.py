"""Pools: what ids, tags, lineage and answers become, and which items repeat those of an earlier source."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import eyetest as et
from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.benchmarks.folder import LEGIBILITY
from eyetest.benchmarks.tags import read_table
from eyetest.errors import InputError
from eyetest.records import Choice, Item, Manifest, tag_words
from eyetest.records.tables import Condition, shown_order
from tests.conftest import png
from tests.support.refusals import refusal
from tests.support.tables import read_csv

LONG = "How many of the people on the left side of the photo are wearing a red hat and a scarf"


def write(folder: Path, name: str, rows: list[dict[str, Any]], licence: str = "") -> Path:
    """A benchmark of choice items on images by colour."""
    with BenchmarkWriter(folder / name, Manifest(name=name, licence=licence, canary=f"canary {name}")) as writer:
        for number, row in enumerate(rows):
            colour = row.pop("colour", None)
            texts = row.pop("options", ("cat", "dog", "bird", "fish"))
            gold = row.pop("gold", 1)
            made = {
                "id": str(number),
                "question": f"Which animal is number {number} of {name}?",
                "images": (writer.images.put(png(colour)),) if colour else (),
                "choices": tuple(Choice(text, n == gold) for n, text in enumerate(texts)),
            }
            writer.add(Item(**made | row))
    return folder / name


@pytest.fixture
def sources(workdir: Path) -> Path:
    first: list[dict[str, Any]] = [
        {"colour": "red", "question": LONG, "tags": {"category": "x", "metric": "exact"}, "group": "1"},
        {"colour": "red", "tags": {"category": "y", "dialogue": "d", "turn": 1}},
        {"colour": "blue", "question": "What is this?"},
        {"question": "Only words?"},
    ]
    second: list[dict[str, Any]] = [
        {"colour": "red", "question": LONG.upper() + "?", "tags": {"l2": "z"}},
        {"colour": "red", "question": f"{LONG} today", "tags": {"l2": "z"}},
        {"colour": "blue", "question": "What is this?", "gold": 2, "id": "b"},
        {"colour": "green", "question": "What is this?"},
        {"question": "Only words?"},
        {"question": "Only words? <image 1>"},
    ]
    write(workdir, "first", first, "MIT")
    write(workdir, "second", second, "CC-BY-4.0")
    pl.DataFrame({"item": ["1", "2"], "share": [0.5, 1.0]}).write_parquet(workdir / "first" / LEGIBILITY)
    return workdir


def test_what_a_pool_keeps_of_each_source(sources: Path) -> None:
    words = ["core=category", "second:core=l2"]
    pooled = et.pool(["first", "second", "first"], to="pool", map_tags=words)
    items = {item.id: item for item in pooled.benchmark}
    assert [*items][:5] == ["first/0", "first/1", "first/2", "first/3", "second/0"]
    assert items["first/0"].tags == {"category": "x", "metric": "exact", "benchmark": "first", "core": "x"}
    assert (items["first/0"].group, items["first/1"].tags["dialogue"]) == ("first/1", "first/d")
    assert (items["second/0"].tags["core"], items["first-2/0"].tags["benchmark"]) == ("z", "first-2")
    assert (items["second/b"].own_id, items["second/b"].gold) == ("b", (2,))
    manifest = pooled.benchmark.manifest
    assert [source.name for source in manifest.sources] == ["first", "second", "first-2"]
    assert [step.source for step in manifest.lineage] == ["first 1", "second 1", "first-2 1"]
    assert (manifest.name, manifest.licence, manifest.canary) == ("pool", "", "canary first canary second")
    rated = [f"{source}/{item}" for source in ("first", "first-2") for item in (1, 2)]
    assert pl.read_parquet("pool/legibility.parquet")["item"].to_list() == rated
    et.export_file(pooled.benchmark, format="card")
    assert "| second | 6 | CC-BY-4.0 |" in (pooled.benchmark.path / "README.md").read_text()
    order = Condition(order=7)
    assert shown_order(items["first/0"], order) == shown_order(Benchmark(Path("first"))["0"], order)


@pytest.mark.parametrize(("drop", "left"), [(False, 10), (True, 8)])
def test_repeats_across_sources(sources: Path, drop: bool, left: int) -> None:
    pooled = et.pool(["first", "second"], to="pool", drop_repeats=drop)
    assert len(pooled.benchmark) == left
    rows = [(row["item"], row["repeats"], row["kind"]) for row in read_csv(Path("pool/repeats.csv"))]
    assert rows == [
        ("second/0", "first/0", "same"),
        ("second/b", "first/2", "other answer key"),
        ("second/4", "first/3", "same"),
    ]
    assert "3 items repeat items of an earlier source (2 same, 1 other answer key)" in pooled.notes[0]


def test_tags_through_a_table(sources: Path) -> None:
    Path("t.yaml").write_text("Letters: [x, y]\nz: End\n")
    assert read_table(Path("t.yaml")) == {"x": "Letters", "y": "Letters", "z": "End"}
    Path("part.yaml").write_text("x: One\n")
    Path("metrics.yaml").write_text("second: anls\n")
    maps = ["kind=category@part.yaml", "metric=benchmark@metrics.yaml"]
    pooled = et.pool(["first", "second"], to="pool", map_tags=maps)
    assert [item.tags.get("kind") for item in pooled.benchmark][:3] == ["One", None, None]
    assert [item.tags.get("metric") for item in pooled.benchmark][:5] == ["exact", None, None, None, "anls"]
    assert "1 item with a category that part.yaml does not name: y" in pooled.notes


def test_tags_are_made_at_import_as_in_a_pool(workdir: Path) -> None:
    Path("t.yaml").write_text("Arts: [music, painting]\n")
    Path("b.csv").write_text("question,answer,subject\nWho?,me,music\nWhy?,so,physics\n")
    made = et.import_file("b.csv", to="b", map_tags=["core=subject", "field=subject@t.yaml"])
    tags = [{"subject": "music", "core": "music", "field": "Arts"}, {"subject": "physics", "core": "physics"}]
    assert [item.tags for item in Benchmark(Path("b"))] == tags
    assert made.notes == ["1 item with a subject that t.yaml does not name: physics"]
    Path("r.yaml").write_text("stages: [{select: {per: core, count: 1}}]")
    for words, line in (("cor=subject", "needs the tag core"), ("core=topic", "no item has a tag 'topic'")):
        with pytest.raises(InputError, match=line):
            et.refine("b.csv", recipe="r.yaml", models={"m": "scripted:"}, to="d", map_tags=words)
    refined = et.refine("b.csv", recipe="r.yaml", models={"m": "scripted:"}, to="d", map_tags="core=subject")
    assert [item.tags["core"] for item in refined.benchmark] == ["music", "physics"]
    for words, line in (("core=topic", "no item has a tag 'topic'"), ("x:core=subject", "no source 'x'")):
        with pytest.raises(InputError, match=f"map-tags: {line}"):
            et.import_file("b.csv", to="c", map_tags=words)
        assert not Path("c").exists()


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("core", "expected [SOURCE:]TAG=OTHER[@FILE]"),
        ("core=", "expected [SOURCE:]TAG=OTHER[@FILE]"),
        ("frist:core=category", "no source 'frist'; did you mean \"first\"?"),
        ("second:core=category", "no item of second has a tag 'category'"),
        ("core=category@gone.yaml", "gone.yaml"),
        ("core=category@twice.yaml", "'x' becomes 'a' and 'b'"),
        ("core=category@list.yaml", "expected old: new, or new: [old, old]"),
    ],
)
def test_maps_that_cannot_be_are_refused(sources: Path, words: str, line: str) -> None:
    Path("twice.yaml").write_text("a: [x]\nb: [x]\n")
    Path("list.yaml").write_text("[x]\n")
    assert line in refusal(et.pool, ["first", "second"], to="pool", map_tags=words)
    assert not Path("pool").exists()


def test_answers_of_runs_on_the_sources_count(sources: Path) -> None:
    models = {"m": "scripted:right=0.5,seed=3", "n": "scripted:right=0.5,seed=4"}
    asked = "image,image+order=7"
    runs = [et.run(name, models=models, condition=asked, to=f"run-{name}") for name in ("first", "second")]
    pool = et.pool(["first", "second"], to="pool", drop_repeats=True).benchmark
    own = {run.path.name: et.measure("accuracy", run).frame for run in runs}
    for run in runs:
        et.score(run, bench=pool)
    both = et.measure("accuracy", runs, by="benchmark").frame
    first = both.filter(pl.col("benchmark") == "first").drop("benchmark")
    assert first["accuracy"].to_list() == own["run-first"]["accuracy"].to_list()
    assert both["n"].to_list() == [3, 3, 1, 1] * 2  # one item of each has no image, and is labelled so


def test_several_benchmarks_are_pooled_on_the_way(sources: Path) -> None:
    run = et.run(["first", "more=second"], models={"m": "scripted:right=1"}, to="run")
    assert run.manifest.benchmark is not None
    assert run.manifest.benchmark.items == 10
    assert {row["item"].split("/")[0] for row in run.plan().to_pylist()} == {"first", "more"}
    assert et.audit(["first", "more=second"], probe="malformed").benchmark.path == Path(run.manifest.benchmark.path)


def test_a_list_counts_once_for_each_value(workdir: Path) -> None:
    kinds: list[Any] = ["a", ["a", "b"], "['b', 'c']", None]
    bench = Benchmark(write(workdir, "lists", [{"tags": {"kind": kind} if kind else {}} for kind in kinds]))
    assert [tag_words(kind) for kind in (*kinds, {"x": 1}, ["x", "x"])] == [
        ("a",), ("a", "b"), ("b", "c"), (), (), ("x",),
    ]  # fmt: skip
    run = et.run(bench, models={"m": "scripted:right=1"}, condition="no-image", to="run")
    counted = et.measure("accuracy", run, by="kind")
    rows = {row["kind"]: (row["n"], row["missing"]) for row in counted.frame.to_dicts()}
    assert rows == {None: (1, 0), "a": (2, 0), "b": (2, 0), "c": (1, 0)}
    assert "an item with several values of kind counts once for each: the groups overlap" in counted.notes
    assert et.measure("guessing", run, by="kind").frame["n"].to_list() == [1, 2, 2, 1]
    assert et.measure("accuracy", run, where="kind=b").frame["n"].to_list() == [2]
    assert [item.id for item in et.subset(bench, only="kind=b", to="part").benchmark] == ["1", "2"]
    (workdir / "wide.yaml").write_text("X: [a]\nY: [b, c]\n")
    pooled = et.pool([bench], to="pool", map_tags={"wide": "kind@wide.yaml"}).benchmark
    assert [item.tags.get("wide") for item in pooled] == ["X", ["X", "Y"], "Y", None]
