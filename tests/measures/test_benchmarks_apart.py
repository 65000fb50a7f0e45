"""Every row of every measure is about one benchmark: beside another one its numbers are those of the benchmark alone.

The two benchmarks differ in all that a measure could take from the other one: items, models, protocols, tests,
methods, options, tags, editions, and whether a reply, a transcript or a likelihood is there.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from eyetest.measures import MEASURES, NotMeasurable, Results
from eyetest.measures.results import EXCHANGED_TYPES, REPLY_TYPES
from eyetest.records import ModelEntry
from eyetest.records.tables import Price
from tests.measures.tables import measure, results

Row = dict[str, Any]
OF_PAIRS = ("correlation", "linked", "rank-shifts")
"""Measures whose rows name two benchmarks, or two settings."""
RESAMPLED = ("gain", "spread", "yes-no")
OWN: Mapping[str, tuple[dict[str, Any], ...]] = {
    "no-image-hits": ({"over": "items"},),
    "likelihood": ({"over": "items"},),
}


@dataclass
class Shape:
    """How a benchmark is asked."""

    name: str
    skills: Mapping[str, float]
    asks: tuple[str, ...]
    tests: tuple[Row, ...]
    method: str
    options: int
    rows: list[Row] = field(default_factory=list)
    items: list[Row] = field(default_factory=list)
    replies: list[Row] = field(default_factory=list)


FIRST = Shape(
    name="first",
    skills={"a": 0.8, "b": 0.6, "c": 0.5},
    asks=("direct", "cot"),
    tests=({"order": 0}, {"order": 1}, {"order": 0, "template": 1}),
    method="likelihood",
    options=4,
)
SECOND = Shape(
    name="second",
    skills={"a": 0.3, "b": 0.5, "d": 0.9},
    asks=("cot",),
    tests=({"order": 2}, {"order": 2, "sample": 1}, {"order": 3}),
    method="first-token",
    options=2,
)


def filled(shape: Shape, ids: Iterator[int], items: Iterable[int], skill: float = 0.0) -> Shape:
    """The shape with its items, answers and replies, as drawn from their numbers."""
    rng = np.random.default_rng(len(shape.name))
    full = replace(shape, rows=[], items=[], replies=[])
    for number in items:
        gold = number % shape.options
        edition = ("original", "twin")[number % 2]
        item: Row = {"benchmark": shape.name, "item": f"i{number}", "group": f"i{number - number % 2}"}
        item |= {"options": shape.options, "position": gold, "golds": [gold], "gold": "ABCD"[gold]}
        item |= {"cluster": f"c{number // 4}", "content": f"{shape.name[0]}{number}", "yes": number % 2 == 0}
        item |= {"tag.edition": edition, "tag.task": "uvw"[number % 3]}
        full.items.append(item)
        for model, ability in shape.skills.items():
            for row in asked(shape, item, model):
                right = rng.random() < ability + skill - 0.2 * (row["modality"] == "no-image")
                choice = gold if right else int(rng.integers(shape.options))
                add_answer(full, row, choice, gold, next(ids), rng)
    return full


def asked(shape: Shape, item: Row, model: str) -> Iterator[Row]:
    """The answers to be filled in: every modality, way of asking and test."""
    about = {"benchmark": shape.name, "item": item["item"], "model": model}
    for modality in ("image", "no-image", "no-question"):
        for test in shape.tests:
            yield about | {"modality": modality, "ask": "direct", "method": shape.method} | test
            for ask in shape.asks:
                yield about | {"modality": modality, "ask": ask} | test
    yield about | {"modality": "screenshot", "ask": "ocr"} | shape.tests[0]
    for ask in shape.asks:
        yield about | {"modality": "screenshot", "ask": ask} | shape.tests[0]


def add_answer(shape: Shape, row: Row, choice: int, gold: int, number: int, rng: np.random.Generator) -> None:
    """Add an answer, some of which failed or were not read, and its reply."""
    row |= {"request": f"r{number}", "choice": "ABCD"[choice], "marked": True, "score": float(choice == gold)}
    draw = rng.random()
    if draw < 0.03:
        row |= {"outcome": "failed", "reading": None, "choice": None, "score": None}
    elif draw < 0.06:
        row |= {"reading": "refused", "choice": None, "score": 0.0}
    shape.rows.append(row)
    reply: Row = {"benchmark": shape.name, "request": row["request"], "text": "It is so. " * (number % 5)}
    reply |= {"seconds": 0.5 + number % 3, "tokens_in": 10, "tokens_out": number % 7}
    reply |= {"says": ("yes", "no")[choice % 2], "descriptive": number % 3, "analytical": number % 4, "other": 0}
    if "method" in row:
        logs = np.log(rng.dirichlet(np.ones(shape.options))).tolist()
        reply |= {"candidates": json.dumps([(log, 2, 5) for log in logs])}
    if row["ask"] == "ocr":
        reply |= {"copied": float(rng.random())}
    shape.replies.append(reply)


MODELS = {
    "a": ModelEntry(spec="scripted:", base="b", price=Price(input=1.0, output=2.0)),
    "b": ModelEntry(spec="scripted:"),
    "c": ModelEntry(spec="scripted:", base="b"),
    "d": ModelEntry(spec="scripted:", base="a"),
}


def joined(*shapes: Shape) -> Results:
    """The results of some benchmarks together."""
    rows = [row for shape in shapes for row in shape.rows]
    items = [item for shape in shapes for item in shape.items]
    replies = [reply for shape in shapes for reply in shape.replies]
    exchanged = pl.LazyFrame(schema=EXCHANGED_TYPES)
    found = results(rows, items, MODELS)
    return replace(found, replies=pl.LazyFrame(replies, schema=REPLY_TYPES), exchanged=exchanged)


@cache
def shapes() -> dict[str, Shape]:
    """Two benchmarks, and a refinement of the first that another run answered better."""
    ids = iter(range(10**9))
    first, second = filled(FIRST, ids, range(16)), filled(SECOND, ids, range(8))
    refined = filled(replace(FIRST, name="firm", tests=({"order": 0}, {"order": 1})), ids, [0, 1, 6, 7, 12, 13], 0.2)
    return {"first": first, "second": second, "firm": refined}


def rows_of(name: str, by: tuple[str, ...], own: Row, *shapes: Shape) -> pl.DataFrame | None:
    """The table of a measure, with the benchmark in a column; None where the measure does not apply."""
    try:
        table = measure(name, joined(*shapes), by, 50, **own).table
    except NotMeasurable:
        return None
    if "benchmark" not in table.columns:
        table = table.select(pl.lit(shapes[0].name).alias("benchmark"), pl.all())
    return table


@pytest.mark.parametrize("by", [(), ("task",)], ids=["whole", "by tag"])
@pytest.mark.parametrize("beside", ["second", "firm"])
@pytest.mark.parametrize("name", sorted(set(MEASURES) - set(OF_PAIRS)))
def test_rows_about_a_benchmark_are_those_of_the_benchmark_alone(name: str, beside: str, by: tuple[str, ...]) -> None:
    pair = shapes()["first"], shapes()[beside]
    measured = False
    for own in [{}, *OWN.get(name, ())]:
        together = rows_of(name, by, own, *pair)
        if together is None:
            assert by, f"{name} applies to each of the benchmarks, and not to both"
            continue
        for shape in pair:
            part = together.filter(pl.col("benchmark") == shape.name)
            alone = rows_of(name, by, own, shape)
            if alone is None:
                assert part.is_empty(), f"{name} does not apply to {shape.name}"
                continue
            alone = alone.filter(pl.col("benchmark") == shape.name)
            columns = [column for column in alone.columns if column in part.columns]
            if name in RESAMPLED:
                columns = [column for column in columns if not column.endswith(("_low", "_high"))]
            assert len(alone)
            first, second = (table.select(columns).sort(columns) for table in (part, alone))
            assert_frame_equal(first, second, check_dtypes=False)
            measured = True
    assert measured or by
