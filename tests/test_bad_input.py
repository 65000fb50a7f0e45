"""Bad input gets one clear line, exit code 2, no traceback, and nothing half-written."""

import base64
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.conftest import png
from tests.support.command import call

LARGE = base64.b64encode(png(size=(300, 300))).decode()


def tsv(*rows: str, header: str = "index\timage\tquestion\tA\tB\tanswer") -> str:
    return "\n".join((header, *rows)) + "\n"


def jsonl(folder: Path, **fields: object) -> Path:
    path = folder / "b.jsonl"
    path.write_text(json.dumps({"id": "1", "question": "What?", "options": ["a", "b"], "answer": "A"} | fields))
    return path


def written(name: str, content: str | bytes) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        data = content.encode() if isinstance(content, str) else content
        (folder / name).write_bytes(data)
        return folder / name

    return make


def zipped(name: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("b.tsv", b"\0" * (100 * 2**20))
        return folder / name

    return make


def parquet(folder: Path) -> Path:
    rows = [{"id": "1", "question": "What?", "answer": "x", "image": {"bytes": png()[:40], "path": "1.png"}}]
    pq.write_table(pa.Table.from_pylist(rows), folder / "b.parquet")
    return folder / "b.parquet"


def damaged_parquet(folder: Path) -> Path:
    data = parquet(folder).read_bytes()
    (folder / "b.parquet").write_bytes(data[: len(data) // 2])
    return folder / "b.parquet"


CASES: dict[str, tuple[Callable[[Path], Path], str]] = {
    "missing file": (lambda folder: folder / "gone.tsv", "gone.tsv does not exist"),
    "header alone": (written("b.tsv", tsv()), "b.tsv holds no items"),
    "wrong columns": (written("b.tsv", "a\tb\n1\t2\n"), "no column for the question among a, b; name it with --map"),
    "unknown kind": (written("b.xyz", "?"), "is no benchmark that eyetest recognises; name its format with --format"),
    "truncated image": (
        written("b.tsv", tsv(f"1\t{LARGE[:-40]}\tq\ta\tb\tA")),
        "row 1: image: found an image that",
    ),
    "zip named tsv": (zipped("b.tsv"), "b.tsv"),
    "zip named parquet": (zipped("b.parquet"), "b.parquet is not a Parquet file"),
    "zip itself": (zipped("b.zip"), "b.zip is no benchmark that eyetest recognises"),
    "not UTF-8 JSON": (written("b.jsonl", b'{"question": "caf\xe9", "answer": "x"}'), "line 1 is not JSON"),
    "a 100 MB cell": (
        written("b.tsv", tsv(f"1\t\t{'x' * 100_000_000}\ta\tb\tA")),
        "row 1: found more than 64 MB in a cell",
    ),
    "a million options": (
        lambda folder: jsonl(folder, options=["x"] * 1_200_000),
        "line 1: options: found 1,200,000 options, expected at most 26",
    ),
    "a list of a million": (
        lambda folder: jsonl(folder, options=f"[{'a, ' * 1_000_000}]"),
        "line 1: options: found",
    ),
    "an endless number": (written("b.jsonl", f'{{"question": {"9" * 6_000}}}'), "line 1 is not JSON"),
    "image in Parquet": (parquet, "row 1: image: found"),
    "damaged Parquet": (damaged_parquet, "b.parquet is not a Parquet file"),
    "empty folder": (lambda folder: folder, "is no benchmark that eyetest recognises"),
}


@pytest.mark.parametrize("case", CASES)
def test_one_line_and_exit_code_2(workdir: Path, case: str) -> None:
    make, message = CASES[case]
    source = workdir / "source"
    source.mkdir()
    line = call("import", make(source), "--to", workdir / "b").refused()
    assert message in line
    assert len(line) < 400
    assert [path.name for path in workdir.iterdir()] == ["source"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["import", "b.jsonl", "--to", "b", "--format", "josnl"], 'no format named "josnl"; did you mean "jsonl"?'),
        (["import", "b.jsonl", "--to", "b", "--map", "questoin=q"], 'no field "questoin"; did you mean "question"?'),
        (["import", "b.jsonl", "--to", "b", "--map", "question"], "--map: found 'question', expected FIELD=COLUMN"),
        (["import", "b.jsonl", "--to", "b", "--map", "question=qestion"], 'did you mean "question"?'),
        (["import", "b.jsonl", "--to", "b", "--gold-style", "lettre"], 'did you mean "letter"?'),
        (["import", "b.jsonl", "--to", "b", "--images", "gone"], "--images: gone is no folder"),
        (["import", "b.jsonl", "--to", "b", "--drop", "gone"], '--drop: no column "gone"'),
        (["import", "b.jsonl", "--to", "b", "--format", "parquet"], "b.jsonl is not a Parquet file"),
        (["import", "b.jsonl", "--to", "b", "--format", "vlmevalkit"], "b.jsonl"),
        (["import", "b.jsonl", "--to", "b.jsonl/b"], "b.jsonl"),
        (["export", "b.jsonl", "--to", "b.jsonl", "--format", "parquet"], "already there"),
        (["export", "b.jsonl", "--to", "x", "--format", "parqet"], 'did you mean "parquet"?'),
        (["show", "gone"], "gone does not exist"),
        (["show", "b.jsonl", "2"], "no item '2' in b"),
    ],
)
def test_bad_options(workdir: Path, arguments: list[str], message: str) -> None:
    before = jsonl(workdir).read_bytes()
    assert message in call(*arguments).refused()
    assert [path.name for path in workdir.iterdir()] == ["b.jsonl"]
    assert (workdir / "b.jsonl").read_bytes() == before
