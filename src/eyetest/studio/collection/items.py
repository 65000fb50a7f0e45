"""Items as a table of columns to filter and sort by, and the positions of scores and verdicts in it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyetest.benchmarks import Benchmark
from eyetest.measures.results import TAG
from eyetest.measures.stats.sets import set_labels
from eyetest.records import MAX_CHOICES, ImageRef, letter, tag_word
from eyetest.studio.collection.answers import KEY, TESTS
from eyetest.studio.collection.sources import Judged
from eyetest.wording import counted

BETWEEN = "/"  # benchmark and item, where two benchmarks have an item of the same name
_STORED = ("id", "question", "group", "tags", "choices", "images")
_TEXTS = dict.fromkeys(("benchmark", "item", "question", "gold", "image", "group"), pl.String)
_POSITION = pl.int_range(pl.len(), dtype=pl.Int64).alias("position")
_LETTERS = {place: letter(place) for place in range(MAX_CHOICES)}
_read_tags = msgspec.json.Decoder(dict[str, Any]).decode


class ItemColumns:
    """The items of some benchmarks by their names, as a table to be filtered and sorted."""

    def __init__(self, benchmarks: Mapping[str, Benchmark]) -> None:
        self._benchmarks = benchmarks.values()
        hashes = pl.col("images").list.eval(pl.element().struct.field("sha256"))
        right = pl.col("choices").list.eval(pl.element().struct.field("correct").arg_true())
        letters = right.list.eval(pl.element().replace_strict(_LETTERS, return_dtype=pl.String))
        tables = [pl.DataFrame(schema={**_TEXTS, "images": pl.Int64, "hashes": pl.List(pl.String)})]
        for name, benchmark in benchmarks.items():
            stored = benchmark.scan(_STORED).select(
                pl.lit(name).alias("benchmark"),
                pl.col("id").alias("item"),
                *("question", "group", "tags"),
                pl.when(right.list.len() > 0).then(letters.list.join(", ")).alias("gold"),
                hashes.list.first().alias("image"),
                hashes.list.len().cast(pl.Int64).alias("images"),
                hashes.alias("hashes"),
            )
            table = stored.collect(engine="streaming")
            tables.append(table.with_columns(_tags(table.drop_in_place("tags"))))
        table = pl.concat(tables, how="diagonal")
        self._links = table.select("benchmark", "item", "group", "hashes")
        self.table = table.drop("group", "hashes")

    @cached_property
    def options(self) -> pl.Series:
        """The texts of all options, by position; read on demand, since they are most of the data."""
        texts = pl.col("choices").list.eval(pl.element().struct.field("text")).alias("options")
        tables = [
            benchmark.scan(["choices"]).select(texts).collect(engine="streaming") for benchmark in self._benchmarks
        ]
        options = pl.concat([pl.DataFrame(schema={"options": pl.List(pl.String)}), *tables]).to_series()
        return options.extend_constant(None, len(self.table) - len(options))

    def add_unknown(self, unknown: Mapping[str, Iterable[str]]) -> None:
        """Add items that answers or verdicts name but no benchmark has, by benchmark."""
        rows = [(name, item) for name, items in unknown.items() for item in items]
        added = pl.DataFrame(rows, schema={"benchmark": pl.String, "item": pl.String}, orient="row")
        self.table = pl.concat([self.table, added], how="diagonal")

    def places(self) -> dict[str, pl.DataFrame]:
        """By benchmark its items, and the ``position`` of each."""
        table = self.table.select("benchmark", "item").with_columns(_POSITION)
        parts = table.partition_by("benchmark", include_key=False, as_dict=True)
        return {str(name): part for (name,), part in parts.items()}

    def named(self) -> pl.DataFrame:
        """The table with a ``position`` and a unique ``id``, with the benchmark where two have the same item."""
        id_ = pl.col("item").alias("id")
        if self.table.get_column("benchmark").n_unique() > 1:
            apart = pl.concat_str("benchmark", pl.lit(BETWEEN), "item")
            id_ = pl.when(pl.col("item").is_duplicated()).then(apart).otherwise("item").alias("id")
        return self.table.select(_POSITION, id_, pl.all())

    def image(self, sha256: str) -> ImageRef | None:
        """An image of some item by its hash."""
        found = self._images.filter(pl.col("sha256") == sha256).head(1).to_dicts()
        return ImageRef(**found[0]) if found else None

    @cached_property
    def _images(self) -> pl.DataFrame:
        """All images, a row each; read on demand."""
        images = (
            benchmark.scan(["images"]).explode("images").drop_nulls("images").unnest("images")
            for benchmark in self._benchmarks
        )
        tables = [scan.unique().collect(engine="streaming") for scan in images]
        return pl.concat([pl.DataFrame(schema={"sha256": pl.String}), *tables], how="diagonal")

    def clusters(self) -> NDArray[np.int64]:
        """The cluster of each position: items that share an image or a group depend on each other."""
        links = self._links.with_row_index("row")
        shown = links.select("row", key="hashes").explode("key").drop_nulls()
        grouped = links.filter(pl.col("group") != "").select("row", key=pl.struct("benchmark", "group"))
        heads = links.select("row", key=pl.struct("benchmark", group="item"))
        grouped = pl.concat([grouped, heads.join(grouped, on="key", how="semi")])
        return set_labels(len(self.table), _coded(shown), _coded(grouped))


def _coded(rows: pl.DataFrame) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    coded = rows.select(pl.col("row").cast(pl.Int64), pl.col("key").rank("dense").cast(pl.Int64))
    return coded.get_column("row").to_numpy(), coded.get_column("key").to_numpy()


def _tags(texts: pl.Series) -> list[pl.Series]:
    """Tags of a single value, as words. Most items share their tags, so each text is parsed once."""
    distinct = texts.unique(maintain_order=True).drop_nulls()
    columns: dict[str, list[str | None]] = {}
    for row, text in enumerate(distinct):
        for tag, value in _read_tags(text).items() if text else ():
            if (word := tag_word(value)) is not None:
                columns.setdefault(TAG + tag, [None] * len(distinct))[row] = word
    words = [pl.Series(tag, values, pl.String) for tag, values in columns.items()]
    rows = pl.DataFrame([distinct, pl.int_range(len(distinct), eager=True).alias("row")])
    alike = texts.to_frame().join(rows, on=texts.name, how="left", maintain_order="left").get_column("row")
    return [column.gather(alike) for column in words]


def named_benchmarks(benchmarks: Sequence[Benchmark]) -> dict[str, Benchmark]:
    """Benchmarks by name; two versions of one are distinguished by their folders."""
    names = Counter(benchmark.manifest.name for benchmark in benchmarks)
    named: dict[str, Benchmark] = {}
    for benchmark in benchmarks:
        name, folder = benchmark.manifest.name, benchmark.path.resolve()
        places = (folder.name, f"{folder.parent.name}/{folder.name}", *range(2, len(benchmarks) + 2))
        tries = [name] if names[name] == 1 else [f"{name} ({place})" for place in places]
        named[next(tried for tried in tries if tried not in named)] = benchmark
    return named


def place_scores(frame: pl.DataFrame, places: pl.DataFrame | None) -> pl.DataFrame:
    """Scores by position, after items that no benchmark has were added to the table."""
    if places is not None and frame.get_column("position").null_count():
        frame = frame.drop("position").join(places, on="item")
    return frame.drop("item")


def without_repeated(names: Sequence[str], frames: Sequence[pl.DataFrame], notes: list[str]) -> list[pl.DataFrame]:
    """Scores without answers that an earlier run contains too, which would count twice."""
    kept: list[tuple[str, pl.DataFrame]] = []
    for name, frame in zip(names, frames, strict=True):
        rest = frame
        for other_name, other in kept:
            if other_name == name:
                rest = rest.join(other, on=["position", *KEY, *TESTS], how="anti", maintain_order="left")
        if fewer := len(frame) - len(rest):
            notes.append(f"{counted(fewer, 'answer')} to {name} in two runs: the run that was named first counts")
        kept.append((name, rest))
    return [frame for _, frame in kept]


def unknown_items(
    table: pl.DataFrame,
    names: Sequence[str],
    frames: Sequence[pl.DataFrame],
    judged: Sequence[Judged],
    names_by_fingerprint: Mapping[str, str],
) -> dict[str, dict[str, None]]:
    """By benchmark the items of scores (``frames`` of benchmarks ``names``) or verdicts that are in none here."""
    unknown: dict[str, dict[str, None]] = {}
    for name, frame in zip(names, frames, strict=True):
        missed = frame.filter(pl.col("position").is_null()).get_column("item")
        unknown.setdefault(name, {}).update(dict.fromkeys(missed.unique(maintain_order=True)))
    known = {str(key[0]): set(part.get_column("item")) for key, part in table.group_by("benchmark")} if judged else {}
    anywhere = set().union(*known.values())
    for judgement in judged:
        about = names_by_fingerprint.get(judgement.fingerprint)
        there = known.get(about, set()) if about else anywhere.union(*unknown.values())
        missed_items = [item for item in judgement.items if item not in there]
        unknown.setdefault(about or judgement.benchmark, {}).update(dict.fromkeys(missed_items))
    return unknown
