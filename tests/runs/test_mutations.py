"""Damaged and hostile tables of answers: each becomes a run, or is refused in one line, in bounded memory."""

import csv
import io
import json
from pathlib import Path

import pytest

from eyetest.runs import open_answers
from tests.mutations import mutations, peak_memory, refusals

ROWS = [
    {
        "item": str(n),
        "model": "m",
        "modality": "image",
        "sample": n % 3,
        "text": f'The "answer" is {n}, é\n',
        "given": 0.5,
    }
    for n in range(20)
]


def separated(separator: str) -> bytes:
    file = io.StringIO()
    writer = csv.DictWriter(file, ROWS[0], delimiter=separator)
    writer.writeheader()
    writer.writerows(ROWS)
    return file.getvalue().encode()


SOUND = {
    "a.csv": separated(","),
    "a.tsv": separated("\t"),
    "a.jsonl": "".join(json.dumps(row) + "\n" for row in ROWS).encode(),
    "a.json": json.dumps(ROWS, ensure_ascii=False).encode(),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SOUND)
def test_mutations(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(SOUND[name])
    assert len(list(open_answers(path))) == 20
    said = refusals(lambda file: list(open_answers(file)), path, mutations(SOUND[name], 2_000))
    assert 200 < len(said) < 2_000
    assert all(str(path) in line for line in said)
    assert peak_memory() < 2 * 2**30
