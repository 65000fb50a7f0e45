"""Small Parquet files that stand for gigabytes are refused in bounded memory; honest ones come through unchanged."""

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eyetest.tabular.record_files import bounded_batches, open_bounded, read_parquet

IDS = [str(number) for number in range(3_000)]


def repeated(times: int, length: int) -> pa.Array:
    """One long text, referred to again and again."""
    return pa.DictionaryArray.from_arrays(pa.array([0] * times, pa.int32()), pa.array(["x" * length]))


def many(values: pa.Array) -> pa.Array:
    """All values in one list."""
    return pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values)


def answers(**columns: Any) -> dict[str, Any]:
    rows = len(next(iter(columns.values())))
    return {"item": IDS[:rows], "model": ["m"] * rows, "text": ["A"] * rows} | columns


PLAIN: dict[str, Any] = {"use_dictionary": False}
DELTA = PLAIN | {"column_encoding": {"text": "DELTA_BYTE_ARRAY"}}
BOMBS: dict[str, tuple[Callable[[], dict[str, Any]], dict[str, Any], str]] = {
    "a text in every row": (lambda: answers(text=repeated(3_000, 3_000_000)), {}, "unfolds into more than"),
    "a text in a list": (lambda: answers(text=many(repeated(2_000, 3_000_000))), {}, "unfolds into more than"),
    "a beginning in every row": (lambda: answers(text=["y" * 2_000_000] * 1_500), DELTA, "unfolds into more than"),
    "nothing in a list": (lambda: answers(text=many(pa.nulls(2**26, pa.int8()))), {}, "unfolds into more than"),
    "a page of one letter": (lambda: answers(text=["z" * 400_000_000]), PLAIN, "a few of its bytes unpack into"),
    "wide values": (
        lambda: answers(text=pa.array([b"w" * 2_000_000] * 2, pa.binary(2_000_000))),
        {},
        "values of 2,000,000 bytes each",
    ),
}
READ = """
import sys
from pathlib import Path
from eyetest.errors import InputError
from eyetest.tabular.files import known_table
from tests.mutations import peak_memory
try:
    for _ in known_table(Path(sys.argv[1])):
        pass
except InputError as error:
    print(error)
print(peak_memory())
"""
QUICK = ("a text in every row", "a text in a list", "nothing in a list", "wide values")


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in BOMBS]
)
def test_bombs(tmp_path: Path, name: str) -> None:
    make, how, message = BOMBS[name]
    path = tmp_path / "a.parquet"
    how = {"dictionary_pagesize_limit": 2**30, "store_schema": False} | how
    pq.write_table(pa.table(make()), path, compression="zstd", **how)
    assert path.stat().st_size < 500_000
    done = subprocess.run([sys.executable, "-c", READ, path], capture_output=True, text=True, check=True)
    refusal, memory = done.stdout.splitlines()
    assert message in refusal
    assert int(memory) < 2 * 2**30


def honest(rows: int) -> pa.Table:
    lot = random.Random(5)
    image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    texts = [f"What is {lot.choice('abc') * lot.randint(0, 3_000)}?" for _ in range(20)]
    return pa.table(
        {
            "id": [str(number) for number in range(rows)],
            "question": pa.array([lot.choice(texts) for _ in range(rows)]).dictionary_encode(),
            "options": pa.array([[lot.choice(texts) for _ in range(lot.randint(0, 5))] for _ in range(rows)]),
            "images": pa.array(
                [[{"bytes": lot.randbytes(2_000), "path": "x"}] for _ in range(rows)], pa.list_(image)
            ),
            "score": pa.array([lot.choice((0.5, None)) for _ in range(rows)]),
            "embedding": pa.array([[0.0] * 16] * rows, pa.list_(pa.float32(), 16)),
            "facts": pa.array([[("k", "v")]] * rows, pa.map_(pa.string(), pa.string())),
        }
    )


MIXED = {"store_schema": False, "dictionary_pagesize_limit": 5_000, "data_page_size": 1_000, "write_batch_size": 50}


@pytest.mark.parametrize(
    "how", [{}, {"use_dictionary": False}, {"data_page_version": "2.0"}, {"store_schema": False}, MIXED]
)
def test_honest_files_come_through(tmp_path: Path, how: dict[str, Any]) -> None:
    table, path = honest(1_000), tmp_path / "a.parquet"
    pq.write_table(table, path, row_group_size=300, **how)
    with open_bounded(path) as file:
        batches = list(bounded_batches(path, file, 64))
        some = list(bounded_batches(path, file, 64, ["question", "id"]))
    assert max(batch.num_rows for batch in batches) <= 64
    assert [row for batch in batches for row in batch.to_pylist()] == table.to_pylist()
    assert [row for batch in some for row in batch.to_pylist()] == table.select(["question", "id"]).to_pylist()
    assert read_parquet(path).to_pylist() == table.to_pylist()
