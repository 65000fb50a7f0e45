"""Measure a table as large as ReForm-Eval's: 521,712 items, 26 models, five tests an item, 67.8 million scores.

    python speed/tables.py [--items 521712] [--models 26] [--tests 5]

The scores are made up: models of different skill, options of uneven charm, some answers unread. Accuracy and
instability entropy are measured together in a process of their own, at a quarter of the items and at all of
them, so that growth shows.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

MEASURE = """
import sys, time
import polars as pl
from eyetest.measures import MEASURES, Results, Settings
scores = pl.scan_parquet(sys.argv[1]).with_columns(pl.lit("many").alias("benchmark"))
results = Results(scores, pl.read_parquet(sys.argv[2]))
for name in ("accuracy", "instability"):
    began = time.perf_counter()
    own = {key: default for key, (default, _) in MEASURES[name].own.items()}
    found = MEASURES[name].measure(results, Settings(own=own)).table
    print(f"    {name}: {time.perf_counter() - began:.1f} s, {len(found)} rows")
"""
OPTIONS = 4


def columns(items: int, models: int, tests: int) -> Iterator[pa.Table]:
    """The scores of one model after another, in the columns of the scores table."""
    draw = np.random.default_rng(0)
    names = pa.array([f"item-{i:06d}" for i in range(items)])
    difficulty = draw.normal(0, 1.2, items)
    charm = draw.dirichlet([0.6] * (OPTIONS - 1), items).cumsum(axis=1)
    letters = pa.array(list("ABCD"))
    n = items * tests
    of_item = np.repeat(np.arange(items), tests)
    test = np.tile(np.arange(tests), items)
    for model in range(models):
        right = draw.random(n) < 1 / (1 + np.exp(difficulty[of_item] - (model / models * 3 - 1)))
        lure = (draw.random(n)[:, None] > charm[of_item]).sum(axis=1)
        gold = of_item % OPTIONS
        choice = np.where(right, gold, (gold + 1 + np.minimum(lure, OPTIONS - 2)) % OPTIONS)
        unread = draw.random(n) < 0.02
        yield pa.table(
            {
                "item": pa.DictionaryArray.from_arrays(pa.array(of_item, pa.int32()), names),
                "model": _constant(f"model-{model:02d}", n),
                "modality": _constant("image", n),
                "ask": _constant("direct", n),
                "shots": _constant("none", n),
                "template": pa.array(test),
                "order": pa.array(test),
                "letters": _constant("upper", n),
                "method": _constant("generate", n),
                "history": _constant("gold", n),
                "prompts": _constant("eyetest", n),
                "sample": pa.array(np.zeros(n, np.int64)),
                "request": _constant("", n),
                "outcome": _constant("answered", n),
                "reading": pa.DictionaryArray.from_arrays(pa.array(unread.astype(np.int8)), ["chosen", "unparsed"]),
                "choice": pa.DictionaryArray.from_arrays(pa.array(choice, pa.int8(), mask=unread), letters),
                "rule": _constant("eyetest/2 bare mark", n),
                "metric": _constant("accuracy", n),
                "score": pa.array((right & ~unread).astype(float)),
            }
        )


def _constant(word: str, count: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int8)), [word])


def write(folder: Path, items: int, models: int, tests: int) -> tuple[Path, Path]:
    """The scores and the item table, as files."""
    scores, known = folder / f"scores-{items}.parquet", folder / f"items-{items}.parquet"
    writer: pq.ParquetWriter | None = None
    for table in columns(items, models, tests):
        writer = writer or pq.ParquetWriter(scores, table.schema, compression="zstd", store_schema=False)
        writer.write_table(table, row_group_size=500_000)
    assert writer is not None
    writer.close()
    ids = [f"item-{i:06d}" for i in range(items)]
    pl.DataFrame({"item": ids}).with_columns(
        pl.lit("many").alias("benchmark"),
        pl.Series("cluster", [f"image-{i // 2:06d}" for i in range(items)]),
        pl.lit(None, pl.String).alias("group"),
        pl.lit(OPTIONS, pl.Int64).alias("options"),
        pl.Series("gold", ["ABCD"[i % OPTIONS] for i in range(items)]),
        pl.Series("position", [i % OPTIONS for i in range(items)]),
    ).write_parquet(known)
    return scores, known


def main() -> None:
    """Make the tables, measure them, say what it cost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=521_712)
    parser.add_argument("--models", type=int, default=26)
    parser.add_argument("--tests", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for items in (options.items // 4, options.items):
            scores, known = write(Path(folder), items, options.models, options.tests)
            print(f"{items * options.models * options.tests:,} scores:", flush=True)
            began = time.perf_counter()
            process = subprocess.Popen([sys.executable, "-c", MEASURE, str(scores), str(known)])
            _, status, usage = os.wait4(process.pid, 0)
            if status:
                sys.exit("measuring failed")
            cpu, peak = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
            print(f"  {time.perf_counter() - began:.0f} s wall, {cpu:.0f} s CPU, {peak:,.0f} MB peak")


if __name__ == "__main__":
    main()
