"""Damaged and hostile files: each is read into a benchmark, or refused in one line, in bounded memory."""

import base64
import json
from pathlib import Path

import pytest

from eyetest.benchmarks import import_benchmark
from eyetest.benchmarks.opening import Import
from eyetest.benchmarks.rows import ReadOptions
from tests.conftest import png
from tests.mutations import mutations, peak_memory, refusals

IMAGES = [base64.b64encode(png(colour)).decode() for colour in ("red", "blue", "green")]
TSV = "index\timage\tquestion\tA\tB\tC\tanswer\thint\tcategory\n" + "".join(
    f'{n}\t{IMAGES[n % 3] if n < 6 else n - 6}\t"What, {n}?"\ta "cat"\tdog\t{n}\t{"ABC"[n % 3]}\tLook.\tkind {n}\n'
    for n in range(12)
)
ROWS = [
    {
        "id": str(n),
        "question": f"What is <image 1>, {n}?",
        "image": f"data:image/png;base64,{IMAGES[n % 3]}",
        "options": ["cat", "dog", f"{n}"] if n % 2 else "['cat', 'dog', '3']",
        "answer": "ABC"[n % 3],
        "history": [{"question": "q", "answer": "a"}],
        "tags": {"kind": n, "deep": [[1.5, None, {"a": "é"}]]},
    }
    for n in range(12)
]
SOUND = {
    "b.tsv": TSV.encode(),
    "b.jsonl": "".join(json.dumps(row) + "\n" for row in ROWS).encode(),
    "b.json": json.dumps(ROWS, ensure_ascii=False).encode(),
    "b.csv": "".join(TSV.splitlines(keepends=True)[:7])
    .replace(",", ";")
    .replace("\t", ",")
    .replace(' "cat"', " cat")
    .encode(),
}


@pytest.mark.filterwarnings("ignore::eyetest.errors.ReadingWarning")
@pytest.mark.slow
@pytest.mark.parametrize("skip_bad", [False, True])
@pytest.mark.parametrize("name", SOUND)
def test_mutations(tmp_path: Path, name: str, skip_bad: bool) -> None:
    how = Import(read=ReadOptions(gold_required=not skip_bad), skip_bad=skip_bad, overwrite=True)

    def read(file: Path) -> None:
        benchmark, _ = import_benchmark(file, tmp_path / "b", how)
        assert len(list(benchmark)) == len(benchmark)

    (tmp_path / name).write_bytes(SOUND[name])
    read(tmp_path / name)
    said = refusals(read, tmp_path / name, mutations(SOUND[name], 2_000))
    assert 200 < len(said) < 2_000
    assert peak_memory() < 2 * 2**30
    assert {path.name for path in tmp_path.iterdir()} == {name, "b"}
