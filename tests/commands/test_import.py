"""``import`` without options: what people have is recognised, and one error names everything that is missing."""

from pathlib import Path

import pytest

from tests.runs.written import answers, jsonl, separated
from tests.support.command import call
from tests.support.drawn import draw_benchmark


@pytest.mark.parametrize("item", ["item_id", "id", "index", "question_id"])
@pytest.mark.parametrize("reply", ["response", "prediction", "output", "answer", "text"])
def test_usual_columns(tmp_path: Path, item: str, reply: str) -> None:
    path = separated(tmp_path / "a.csv", [item, "model", reply], ["1", "m", "A"], ["2", "m", "B"])
    assert "2 answers of 1 model" in call("import", path, "--to", tmp_path / "run").fine()
    assert [(one.item, one.text) for one in answers(tmp_path / "run")] == [("1", "A"), ("2", "B")]


@pytest.mark.parametrize(
    ("header", "rows", "told"),
    [
        (["id", "gpt", "llava"], [["0", 1, 0], ["1", 0, 1]], "rows are items and columns models"),
        (["", "gpt", "llava"], [["0", 1.0, 0.0], ["1", "", 1.0]], "rows are items and columns models"),
        (["model", "0", "1"], [["gpt", "true", "false"], ["llava", "1", ""]], "rows are models and columns items"),
        (["name", "0", "1"], [["gpt", 1, 0]], "rows are models and columns items"),
    ],
)
def test_a_matrix(tmp_path: Path, header: list[str], rows: list[list[object]], told: str) -> None:
    bench = draw_benchmark(tmp_path / "bench", items=4)
    path = separated(tmp_path / "m.csv", header, *rows)
    done = call("import", path, "--to", tmp_path / "run", "--bench", bench.path)
    assert told in done.fine()
    assert {one.item for one in answers(tmp_path / "run")} == {"0", "1"}
    assert {one.model for one in answers(tmp_path / "run")} <= {"gpt", "llava"}


def test_one_error_names_all_that_is_missing(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "a.jsonl", {"qid": "1", "who": "m", "said": "A"})
    reported = call(
        "import", path, "--fill", "modality=no-image", "--where", "shot=1", "--to", tmp_path / "run"
    ).refused()
    for part in ('no column "shot"', "item: --map item=COLUMN", "model: --model NAME", "reply: --map text=COLUMN"):
        assert part in reported
    assert "perhaps qid, who, said" in reported
    items = call("import", path, "--map", "question=q,options=o", "--drop", "x", "--to", tmp_path / "b").refused()
    assert '--drop: no column "x"' in items
    assert '--map question: no column "q"' in items
    assert '--map options: no column "o"' in items
