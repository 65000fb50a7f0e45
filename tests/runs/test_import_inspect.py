"""Logs of inspect-ai become runs, with what was really shown and answered."""

import json
import struct
import zipfile
from pathlib import Path

import pytest

from eyetest.records.tables import order_word
from tests.conftest import ROOT
from tests.runs.inspect_logs import asked_by, eval_file, header, packed, sample
from tests.runs.written import answers, jsonl, texts
from tests.support.command import call

REAL = ROOT / "tests/fixtures/inspect-0.3.285.eval"
HEADER = b'{"eval": {"model": "m"}}'


def test_a_real_log_of_shuffled_options(tmp_path: Path) -> None:
    """Its prompts and answers were written anew as if nothing had been shuffled; that is undone."""
    assert "name the benchmark that it asks with --bench" in call("import", REAL, "--to", tmp_path / "run").refused()
    bench = asked_by(tmp_path / "b.jsonl", REAL)
    printed = call("import", REAL, "--bench", bench, "--to", tmp_path / "run").fine()
    assert "3 answers of 1 model (3 answered)" in printed
    shown = {answer.item: order_word(answer.order) for answer in answers(tmp_path / "run")}
    assert shown == {"1": "ABDC", "2": "CDBA", "3": "BCDA"}
    assert texts(tmp_path / "run") == {
        "1": "The first is the one that I see.\n\nANSWER: A",
        "2": "ANSWER: B",
        "3": "I cannot see an image.",
    }
    assert ",0.33333" in call("measure", "accuracy", tmp_path / "run", "--output", "csv").fine()


def test_what_became_of_samples(tmp_path: Path) -> None:
    log = eval_file(
        tmp_path / "x.eval",
        [
            sample("a", "ANSWER: B"),
            sample("a", "B it is", epoch=2),
            sample("b", "So the", stop="max_tokens"),
            sample("c", "", stop="content_filter"),
            sample("c", "B", epoch=2, stop="abort"),
            sample("c", "B", epoch=3, stop="unknown"),
            sample("d", "half", error={"message": "gone"}),
            sample("e", None),
            sample("f", "late", limit={"type": "time"}),
            sample("g", "wrong key", invalidation={"reason": "mistake"}),
            sample(
                "h", "ANSWER: A", shown=["dog", "cat", "bird", "fish"], scores={"choice": {"value": float("nan")}}
            ),
        ],
        header(cot=True),
    )
    bench = asked_by(tmp_path / "b.jsonl", log)
    call("import", log, "--bench", bench, "--to", tmp_path / "run", "--map", "given=choice").fine()
    found = {(row.item, row.sample): (row.outcome, row.text) for row in answers(tmp_path / "run")}
    assert found == {
        ("a", 0): ("answered", "ANSWER: B"),
        ("a", 1): ("answered", "B it is"),
        ("b", 0): ("truncated", "So the"),
        ("c", 0): ("blocked", ""),
        ("c", 1): ("failed", None),
        ("c", 2): ("answered", "B"),
        ("d", 0): ("failed", None),
        ("e", 0): ("failed", None),
        ("f", 0): ("truncated", "late"),
        ("g", 0): ("failed", None),
        ("h", 0): ("answered", "ANSWER: A"),
    }
    rows = {row.item: row for row in answers(tmp_path / "run")}
    assert {row.model for row in rows.values()} == {"openai/gpt"}
    assert {row.ask for row in rows.values()} == {"cot"}
    assert [rows[item].given for item in "adh"] == [1.0, None, None]
    assert order_word(rows["h"].order) == "BACD"
    assert rows["a"].order == 0


def test_options_of_a_benchmark_are_found_by_their_words(tmp_path: Path) -> None:
    """The log's own dataset may have been shuffled, whatever the benchmark has."""
    bench = jsonl(
        tmp_path / "bench.jsonl",
        {"id": "a", "question": "Which?", "options": ["fish", "bird", "dog", "cat"], "answer": "C"},
    )
    log = eval_file(tmp_path / "x.eval", [sample("a", "ANSWER: B"), sample("elsewhere", "ANSWER: B")])
    printed = call("import", log, "--to", tmp_path / "run", "--bench", bench)
    assert "1 answers to items that are not in the benchmark" in printed.err
    assert order_word(next(iter(answers(tmp_path / "run"))).order) == "reversed"


def test_a_folder_of_logs(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    (logs / "again").mkdir(parents=True)
    eval_file(logs / "1.eval", [sample("a", None, error={"message": "gone"}), sample("b", "B")])
    eval_file(logs / "2.eval", [sample("a", "ANSWER: B"), sample("b", "B")])
    eval_file(logs / "again/3.eval", [sample("a", "ANSWER: A")], header("google/gemini"))
    bench = asked_by(tmp_path / "b.jsonl", logs / "1.eval")
    printed = call("import", logs, "--bench", bench, "--to", tmp_path / "run").fine()
    assert "5 answers of 2 models" in printed
    found = {(row.model, row.item): row.text for row in answers(tmp_path / "run")}
    assert found[("openai/gpt", "a")] == "ANSWER: B"
    assert found[("google/gemini", "a")] == "ANSWER: A"


@pytest.mark.parametrize(
    ("parts", "sizes", "problem"),
    [
        ({"header.json": b"{}"}, {}, "not as inspect-ai writes it"),
        ({"other.txt": b""}, {}, "no log of inspect-ai"),
        (
            {"header.json": b'{"eval": {"model": "m"}}', "samples/a.json": b"0" * 10**6},
            {"samples/a.json": 99},
            "damaged",
        ),
        ({"header.json": b"{}", "samples/a.json": b"{}"}, {"samples/a.json": 2**32 - 1}, "unfolds into more than"),
        ({"header.json": b"{}"}, {"header.json": 2**29}, "larger than"),
    ],
)
def test_bad_logs(tmp_path: Path, parts: dict[str, bytes], sizes: dict[str, int], problem: str) -> None:
    log = packed(tmp_path / "x.eval", parts, sizes)
    bench = jsonl(tmp_path / "b.jsonl", {"id": "a", "question": "Which?", "answer": "C"})
    assert problem in call("import", log, "--bench", bench, "--to", tmp_path / "run").refused()
    assert not (tmp_path / "run").exists()


def test_a_log_as_json_is_to_be_converted(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{\n  "version": 2,\n  "status": "success"\n}')
    line = call("import", tmp_path / "x.json", "--to", tmp_path / "run").refused()
    assert "inspect log convert" in line


def with_directory_elsewhere(path: Path, shift: int) -> Path:
    """The same zip, whose end says that its directory begins that many bytes later, so that parts begin earlier."""
    data = bytearray(path.read_bytes())
    end = data.rindex(b"PK\5\6") + 16
    (begin,) = struct.unpack_from("<I", data, end)
    struct.pack_into("<I", data, end, begin + shift)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("shift", [1, 1_000, 2**31])
@pytest.mark.parametrize("compression", [93, zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED])
def test_parts_before_the_beginning_of_the_file_are_refused(tmp_path: Path, compression: int, shift: int) -> None:
    """Such a place is damage in the file; the system calls it an error of its own."""
    path = tmp_path / "x.eval"
    if compression == 93:
        eval_file(path, [sample(1, "ANSWER: B")])
    else:
        with zipfile.ZipFile(path, "w", compression) as archive:
            archive.writestr("header.json", json.dumps(header()))
            archive.writestr("samples/1_epoch_1.json", json.dumps(sample(1, "ANSWER: B")))
    bench = asked_by(tmp_path / "b.jsonl", path)
    with_directory_elsewhere(path, shift)
    refusal = call("import", path, "--bench", bench, "--to", tmp_path / "run").refused()
    assert "x.eval" in refusal
    assert len(refusal.splitlines()) == 1
