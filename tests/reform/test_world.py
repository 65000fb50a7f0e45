"""The drawn world, written as native datasets and reformed back, is answered as well as it was: nothing is lost."""

from collections.abc import Mapping
from math import sqrt
from pathlib import Path

import msgspec
import numpy as np
import polars as pl

import eyetest as et
from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.records import Manifest
from eyetest.reform.building import Reforming, reform
from eyetest.reform.catalog import Dataset, load_dataset
from tests.support.native_world import ASKED, draw_dataset, write_coco, write_folders, write_vqa

IMAGES = 60
MODELS = {"eagle": "embedded:eagle-l", "wren": "embedded:wren-xs"}


def own(reader: str, reformer: str, settings: Mapping[str, str] | None = None) -> Dataset:
    said = dict(settings or {})
    return Dataset(name="drawn", dimension="FG", task="drawn", reader=reader, reformer=reformer, settings=said)


def scores(bench: Benchmark, to: Path) -> pl.DataFrame:
    """A row an answer, with the number of its image."""
    run = et.run(bench, models=MODELS, to=to)
    et.score(run)
    (table,) = (to / "scores").glob("*.parquet")
    number = pl.col("item").cast(pl.String).str.extract(r"(\d+)").cast(pl.Int64)
    return pl.read_parquet(table).select(number.alias("image"), "model", "score")


def assert_as_well(original: pl.DataFrame, reformed: pl.DataFrame) -> None:
    """The mean difference over images lies within three of its standard errors of nothing."""
    both = original.join(reformed, on=["image", "model"], suffix="_reformed")
    assert len(both) == len(reformed)
    difference = pl.col("score_reformed") - pl.col("score")
    by_image = both.group_by("image").agg(difference.mean().alias("d")).get_column("d").to_numpy()
    error = max(float(np.std(by_image, ddof=1)) / sqrt(len(by_image)), 0.01)
    assert abs(float(by_image.mean())) < 3 * error
    assert float(both.get_column("score").mean()) > 0.5  # type: ignore[arg-type]


def test_open_questions(tmp_path: Path) -> None:
    dataset = draw_dataset(tmp_path, ASKED, IMAGES, seed=3)
    write_vqa(dataset, tmp_path / "native")
    plan = Reforming(
        dataset=msgspec.structs.replace(load_dataset("vqav2"), name="drawn"),
        annotations=(tmp_path / "native",),
        images=dataset.images,
        to=tmp_path / "b",
    )
    done = reform(plan)
    assert (done.items, done.without_images) == (IMAGES, 0)
    assert_as_well(scores(dataset.original, tmp_path / "before"), scores(done.benchmark, tmp_path / "after"))


def test_folders_of_images(tmp_path: Path) -> None:
    dataset = draw_dataset(tmp_path, ("topic",), IMAGES, seed=3)
    write_folders(dataset, tmp_path / "native")
    how = own("folder", "classification", {"question": "What is the drawing about?"})
    native = tmp_path / "native"
    done = reform(Reforming(dataset=how, annotations=(native,), images=native, to=tmp_path / "b"))
    assert (done.items, done.without_images) == (IMAGES, 0)
    assert_as_well(scores(dataset.original, tmp_path / "before"), scores(done.benchmark, tmp_path / "after"))


def test_boxes_are_counted(tmp_path: Path) -> None:
    dataset = draw_dataset(tmp_path, ("count-shapes",), IMAGES, seed=3)
    write_coco(dataset, tmp_path / "instances.json")
    how = own("coco-objects", "counting", {"question": "How many {class}s are there in the image?"})
    plan = Reforming(
        dataset=how, annotations=(tmp_path / "instances.json",), images=dataset.images, to=tmp_path / "b"
    )
    done = reform(plan)
    asked = {f"{n}:{made.scene['asked'][1]} {made.scene['asked'][0]}" for n, made in enumerate(dataset.drafts)}
    with BenchmarkWriter(tmp_path / "asked", Manifest(name="asked")) as writer:
        for item in done.benchmark:
            if item.id in asked:
                writer.adopt(item, done.benchmark)
    part = Benchmark(tmp_path / "asked")
    assert len(part) == IMAGES
    for item in part:
        right = dataset.drafts[int(item.id.partition(":")[0])]
        assert [choice.text for choice in item.choices if choice.correct] == [right.options[right.gold]]
    assert_as_well(scores(dataset.original, tmp_path / "before"), scores(part, tmp_path / "after"))
