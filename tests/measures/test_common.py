"""What all measures share: tag values, protocols and benchmarks are measured as if each were alone."""

from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from eyetest.measures import MEASURES, NotMeasurable, Results
from eyetest.measures.results import REPLY_TYPES, narrowed
from tests.measures.tables import measure, results

BY_TAG = (
    *("accuracy", "best-no-image", "circular", "differences", "gain", "guessing"),
    *("instability", "length", "no-image-hits", "spread"),
)
ONE_TABLE = ("items", "ranks", "wrong-golds")
RESAMPLED = ("gain", "spread")  # each part has resamples of its own


@cache
def panel() -> Results:
    """Three models, 30 items in two benchmarks and of two kinds, both with the image and without, two ways of asking
    and two orders; some calls failed.
    """
    rng, rows = np.random.default_rng(0), list[dict[str, Any]]()
    items: list[dict[str, Any]] = [
        {"benchmark": bench, "item": f"{bench}{i}", "tag.core": "xy"[i % 2], "options": 4, "position": i % 4}
        | {"gold": "ABCD"[i % 4], "cluster": f"{bench}{i // 4}", "golds": [i % 4], "content": f"{bench}{i}"}
        for bench in "pq"
        for i in range(30)
    ]
    for item in items:
        for model, skill in (("a", 0.8), ("b", 0.6), ("c", 0.4)):
            for modality, ask, order in (
                (m, a, o) for m in ("image", "no-image") for a in ("direct", "cot") for o in (0, 1)
            ):
                right = rng.random() < skill - 0.2 * (modality == "no-image")
                choice = item["gold"] if right else "ABCD"[rng.integers(4)]
                row = {name: item[name] for name in ("benchmark", "item")} | {"model": model, "modality": modality}
                row |= {"ask": ask, "order": order, "request": f"r{len(rows)}", "choice": choice, "marked": True}
                failed = {"outcome": "failed", "reading": None, "choice": None, "score": None}
                rows.append(row | (failed if rng.random() < 0.03 else {"score": float(choice == item["gold"])}))
    replies = [
        {"benchmark": row["benchmark"], "request": row["request"], "text": "It is so. " * (i % 5)}
        for i, row in enumerate(rows)
    ]
    return replace(results(rows, items), replies=pl.LazyFrame(replies, schema=REPLY_TYPES))


measured = partial(measure, resamples=50)


@pytest.mark.parametrize(
    ("name", "axis", "value"),
    [
        *((name, "core", value) for name in BY_TAG if name != "no-image-hits" for value in "xy"),
        *((name, "ask", value) for name in BY_TAG + ONE_TABLE for value in ("direct", "cot")),
        *((name, "benchmark", value) for name in BY_TAG + ONE_TABLE for value in "pq"),
    ],
)
def test_each_part_is_measured_as_if_it_were_alone(name: str, axis: str, value: str) -> None:
    whole = measured(name, panel(), ("core",) if axis == "core" else ()).table
    alone = measured(name, narrowed(panel(), [(axis, [value])])).table
    column = "tag.core" if axis == "core" else axis
    if column not in whole.columns:
        assert name in ("gain", "best-no-image", "no-image-hits"), "the way of asking is in words"
        return
    part = whole.filter(pl.col(column).cast(pl.String) == value).cast({column: pl.String})
    shared = [other for other in alone.columns if other in part.columns and other != column]
    values = [other for other in shared if name not in RESAMPLED or not other.endswith(("_low", "_high"))]
    keys = [other for other in values if part.schema[other] == pl.String]
    part, alone = (
        table.select(values).filter(~pl.any_horizontal(pl.col(keys).str.starts_with("mean of")))
        for table in (part, alone)
    )
    assert len(alone)
    assert_frame_equal(part.sort(keys), alone.sort(keys), check_dtypes=False)


@pytest.mark.parametrize("name", sorted(MEASURES))
def test_without_any_score_nothing_is_measured_and_one_line_says_so(name: str) -> None:
    failed = {"outcome": "failed", "reading": None, "choice": None}
    of = results([{"item": "1", "model": model, **failed} for model in "ab"])
    if name == "accuracy":
        assert measured(name, of).table["accuracy"].to_list() == [None, None]
        return
    with pytest.raises(NotMeasurable, match=rf"^{name}: [^\n]+$"):
        measured(name, of)
