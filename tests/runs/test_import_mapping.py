"""What the user says about a table: columns, values, constants, rows, matrices."""

from pathlib import Path

import pytest

from eyetest.records import Answer
from tests.runs.written import answers, imported, jsonl, separated
from tests.support.command import call

HEADER = ("item_id", "name", "setting", "condition", "sample", "raw_output", "ok")
ROWS = (
    ("1", "gpt", "zero-shot", "text", "0", "A", "1"),
    ("1", "gpt", "2-shot-cot", "image", "1", "B", "0"),
    ("1", "gpt", "2-shot-pot", "image", "2", "print(7)", ""),
    ("2", "gpt", "zero-shot", "text", "0", "C", "0"),
)
COLUMNS = "item=item_id,text=raw_output"
MODALITY = "modality=condition:text>no-image,image>image"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A long table in somebody else's words."""
    return separated(tmp_path / "p.csv", HEADER, *ROWS)


def test_the_briefs_own_words(table: Path, tmp_path: Path) -> None:
    """``sample`` is a prompt setting here: it has our name, and must be told not to be a repeat."""
    ask = "ask=setting:zero-shot>direct,2-shot-cot>cot,2-shot-pot>"
    shots = "shots=setting:zero-shot>none,2-shot-cot>two"
    options = ("--map", f"{COLUMNS},model=name,given=ok", "--map-values", MODALITY, "--map-values", ask)
    said = call(
        "import", table, "--to", tmp_path / "run", *options, "--map-values", shots, "--fill", "sample=0"
    ).fine()
    assert answers(tmp_path / "run") == [
        Answer(item="1", model="gpt", modality="no-image", text="A", given=1.0),
        Answer(item="1", model="gpt", modality="image", ask="cot", shots="two", text="B", given=0.0),
        Answer(item="2", model="gpt", modality="no-image", text="C", given=0.0),
    ]
    assert "1 rows were left out by --where or --map-values" in said


@pytest.mark.parametrize("absent", [None, "", float("nan")])
def test_values_with_brackets_and_empty_ones(tmp_path: Path, absent: object) -> None:
    seen = [absent, "<no_image>", "<no_question>", "<a>b>"]
    path = jsonl(
        tmp_path / "a.jsonl", *({"item": n, "model": "m", "saw": s, "text": "A"} for n, s in enumerate(seen))
    )
    rule = "modality=saw:<no_image>>no-image, <no_question>>no-question,<a>b>>nothing, >gray"
    call("import", path, "--to", tmp_path / "run", "--map-values", rule).fine()
    assert [answer.modality for answer in answers(tmp_path / "run")] == ["gray", "no-image", "no-question", "nothing"]


def test_where_takes_any_of_a_columns_values_and_all_of_the_columns(table: Path, tmp_path: Path) -> None:
    options = ("--map", f"{COLUMNS},model=name", "--where", "setting=zero-shot,2-shot-cot")
    said = call("import", table, "--to", tmp_path / "a", *options).fine()
    assert [answer.text for answer in answers(tmp_path / "a")] == ["A", "B", "C"]
    assert "1 rows were left out" in said
    call("import", table, "--to", tmp_path / "b", *options, "--where", "item_id=1,sample=0").fine()
    assert [answer.text for answer in answers(tmp_path / "b")] == ["A"]


def test_rows_need_not_have_the_same_columns(tmp_path: Path) -> None:
    path = jsonl(
        tmp_path / "a.jsonl",
        {"item": "1", "model": "m", "text": "A", "given": 1},
        {"text": "B", "item": "2", "model": "m"},
        {"item": "3", "model": "m", "given": 0},
        {"item": "4", "model": "m"},
    )
    found = [(answer.text, answer.given, answer.outcome) for answer in answers(imported(path))]
    assert found == [("A", 1, "answered"), ("B", None, "answered"), (None, 0, "answered"), (None, None, "failed")]


def test_matrix_of_items(tmp_path: Path) -> None:
    path = separated(
        tmp_path / "m.csv", ["sha", "cat", "dog"], ["q1", "1", "0"], ["q2", "", "nan"], ["q3", "0.0", "1.0"]
    )
    said = call("import", path, "--to", tmp_path / "run", "--matrix", "item").fine()
    assert "4 answers of 2 models (4 answered, 4 with scores from elsewhere, 4 of them without a reply)" in said
    assert {(a.item, a.model): (a.given, a.text) for a in answers(tmp_path / "run")} == {
        ("q1", "cat"): (1.0, None),
        ("q1", "dog"): (0.0, None),
        ("q3", "cat"): (0.0, None),
        ("q3", "dog"): (1.0, None),
    }


MMMU = r"(?P<modality><no_\w+>)?(?P<item>.+)"
MMMU_MODALITIES = "modality=<no_image>>no-image,<no_question>>no-question,<no_info>>nothing"


def test_matrix_of_models_with_a_header(tmp_path: Path) -> None:
    header = ["", "<no_image>q_1", "<no_question>q_1", "<no_info>q_1", "q_1"]
    path = separated(tmp_path / "m.csv", header, ["gpt", 0, 1, 0, 1], ["llava", 1, 0, 1, ""])
    options = ("--matrix", "model", "--header", MMMU, "--map-values", MMMU_MODALITIES)
    found = [
        (answer.model, answer.item, answer.modality, answer.given) for answer in answers(imported(path, *options))
    ]
    assert found == [
        ("gpt", "q_1", "no-image", 0),
        ("gpt", "q_1", "no-question", 1),
        ("gpt", "q_1", "nothing", 0),
        ("gpt", "q_1", "image", 1),
        ("llava", "q_1", "no-image", 1),
        ("llava", "q_1", "no-question", 0),
        ("llava", "q_1", "nothing", 1),
    ]


PIPES = r"(?P<condition>[^|]+)\|(?P<name>[^|]+)\|(?P<setting>[^|]+)(\|(?P<augment>.+))?"


def test_a_headers_groups_are_columns_like_any_other(tmp_path: Path) -> None:
    header = ["item_id", "text|gpt|zero-shot", "caption|gpt|cot|ocr", "caption|gpt|pot|ocr", "image|bard|zero-shot"]
    path = separated(tmp_path / "m.csv", header, ["1", 0, 1, 0, 1])
    options = ("--matrix", "item", "--header", PIPES, "--map", "model=name+augment")
    values = ("--map-values", "modality=condition:text>no-image", "--map-values", "ask=setting:zero-shot>direct,pot>")
    call("import", path, "--to", tmp_path / "run", *options, *values).fine()
    assert answers(tmp_path / "run") == [
        Answer(item="1", model="gpt", modality="no-image", given=0.0),
        Answer(item="1", model="gpt ocr", modality="caption", ask="cot", given=1.0),
        Answer(item="1", model="bard", given=1.0),
    ]
    call("import", path, "--to", tmp_path / "some", *options, *values[:2], "--where", "setting=cot").fine()
    assert [answer.model for answer in answers(tmp_path / "some")] == ["gpt ocr"]
