"""Answers come in from each tool's own files, as that tool writes them."""

import json
from pathlib import Path
from typing import Any

import pytest

from eyetest.runs import Run
from tests.runs.written import API_FAILURE, REQUEST_FAILED, answers, imported, jsonl, separated, texts, xlsx
from tests.support.command import call

CELL = 32_767
VLMEVALKIT = ("index", "question", "A", "B", "answer", "category", "prediction")
EXPECTED: dict[str, tuple[str | None, str]] = {
    "1": ("None", "answered"),
    "2": ("NA", "answered"),
    "3": (None, "failed"),
    "4": ("", "answered"),
    "1000005": ("B", "answered"),
}


def vlmevalkit_rows() -> list[tuple[Any, ...]]:
    said = {1: "None", 2: "NA", 3: API_FAILURE, 4: "", 1_000_005: "B"}
    return [(index, "What?", "None", "NA", "A", "nan", text) for index, text in said.items()]


def outcomes(run: Path) -> dict[str, tuple[str | None, str]]:
    return {answer.item: (answer.text, answer.outcome) for answer in answers(run)}


@pytest.mark.parametrize("suffix", [".xlsx", ".tsv", ".json"])
def test_vlmevalkit(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"gpt_MMBench{suffix}"
    if suffix == ".xlsx":
        xlsx(path, VLMEVALKIT, *vlmevalkit_rows())
    elif suffix == ".tsv":
        separated(path, VLMEVALKIT, *vlmevalkit_rows())
    else:
        path.write_text(json.dumps([dict(zip(VLMEVALKIT, row, strict=True)) for row in vlmevalkit_rows()], indent=4))
    said = call("import", path, "--to", tmp_path / "run", "--model", "gpt, the 4th").fine()
    assert outcomes(tmp_path / "run") == EXPECTED
    assert "5 answers of 1 model (4 answered, 1 failed)" in said
    assert {answer.model for answer in answers(tmp_path / "run")} == {"gpt, the 4th"}
    assert {answer.modality for answer in answers(tmp_path / "run")} == {"image"}


def test_mmmu_s_answers_by_id(tmp_path: Path) -> None:
    """What its evaluation takes: a letter, or a text, under each id."""
    path = tmp_path / "total_val_output.json"
    path.write_text(json.dumps({"validation_Art_1": "B", "validation_Math_2": "12.5", "validation_Math_3": 7}))
    call("import", path, "--to", tmp_path / "run", "--model", "qwen_vl").fine()
    assert texts(tmp_path / "run") == {"validation_Art_1": "B", "validation_Math_2": "12.5", "validation_Math_3": "7"}


def test_mmmu_s_outputs_by_subject(tmp_path: Path) -> None:
    """``index2ans`` says under which letters options were shown, which need not be the benchmark's."""
    bench = jsonl(
        tmp_path / "bench.jsonl", {"id": "v_1", "question": "Which?", "options": ["a cat", "a dog"], "answer": "A"}
    )
    shown = {"all_choices": ["A", "B"], "index2ans": {"B": "a cat", "A": "a dog"}}
    row = {"id": "v_1", "question_type": "multiple-choice", "answer": "B", "response": "B"} | shown
    path = tmp_path / "output.json"
    path.write_text(json.dumps([row], indent=4))
    call("import", path, "--to", tmp_path / "run", "--bench", bench, "--model", "llava").fine()
    (answer,) = answers(tmp_path / "run")
    assert (answer.model, answer.text, answer.order != 0) == ("llava", "B", True)
    assert "1.000" in call("score", tmp_path / "run").fine()


@pytest.mark.parametrize(
    ("length", "outcome"), [(CELL - 1, "answered"), (CELL, "truncated"), (CELL + 9, "truncated")]
)
def test_a_full_excel_cell_was_cut_off(tmp_path: Path, length: int, outcome: str) -> None:
    text = "x" * length + "Answer: B"
    cut = text[:length]
    path = xlsx(tmp_path / "p.xlsx", ["index", "prediction"], [1, cut])
    (answer,) = answers(imported(path, "--model", "m"))
    assert (answer.outcome, answer.text) == (outcome, cut[:CELL])


def lmms(doc_id: object, **values: object) -> dict[str, object]:
    return {"doc_id": doc_id, "target": "B", "input": "What?", **values}


def test_lmms_eval_samples(tmp_path: Path) -> None:
    path = jsonl(
        tmp_path / "20260801_samples_mmstar.jsonl",
        lmms(0, resps=[["The answer is B"]], filtered_resps=["B"], exact_match=1.0),
        lmms(1, filtered_resps=["C"], exact_match=0.0),
        lmms(2, resps=[[REQUEST_FAILED]], filtered_resps=["D"], exact_match=0.0),
        lmms(3, resps=[], filtered_resps=[["A"]], exact_match=float("nan")),
        lmms(4, resps=[[""]], filtered_resps=[""], exact_match=0.0),
        lmms(5, resps=[[]], filtered_resps=[], exact_match=0.0),
        lmms(6, resps=[["half a pair \ud83d"]], filtered_resps=["x"], exact_match=0.0),
    )
    options = ("--to", tmp_path / "run", "--model", "llava")
    call("import", path, *options, "--map", "given=exact_match").fine()
    assert [(answer.item, answer.text, answer.outcome, answer.given) for answer in answers(tmp_path / "run")] == [
        ("0", "The answer is B", "answered", 1.0),
        ("1", "C", "answered", 0.0),
        ("2", None, "failed", None),
        ("3", "A", "answered", None),
        ("4", "", "answered", 0.0),
        ("5", None, "answered", 0.0),
        ("6", "half a pair \ufffd", "answered", 0.0),
    ]


def test_lmms_eval_likelihoods_are_no_texts(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "s.jsonl", lmms(0, resps=[[[-1.5, False]], [[-0.2, True]]], acc=1.0))
    options = ("--to", tmp_path / "run", "--model", "m")
    assert "line 1: resps: found likelihoods" in call("import", path, *options).refused()
    call("import", path, *options, "--map", "given=acc").fine()
    (answer,) = answers(tmp_path / "run")
    assert (answer.text, answer.given, answer.method) == (None, 1.0, "likelihood")


def bench(folder: Path) -> Path:
    items = ({"id": f"q{n}", "question": "What?", "options": ["a", "b"], "answer": "A"} for n in (5, 3, 9))
    return jsonl(folder / "bench.jsonl", *items)


def test_lmms_eval_positions_are_the_benchmarks(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "s.jsonl", lmms(2, filtered_resps=["c"]), lmms(0, filtered_resps=["a"]))
    options = ("--to", tmp_path / "run", "--model", "m", "--bench", bench(tmp_path))
    call("import", path, *options).fine()
    assert texts(tmp_path / "run") == {"q9": "c", "q5": "a"}
    about = Run(tmp_path / "run").manifest.benchmark
    assert about is not None
    assert about.items == 3


@pytest.mark.parametrize("position", [3, -1, True, "0", None, 1.0])
def test_lmms_eval_positions_outside_the_benchmark(tmp_path: Path, position: object) -> None:
    """A negative position must not count from the end."""
    path = jsonl(tmp_path / "s.jsonl", lmms(0, filtered_resps=["a"]), lmms(position, filtered_resps=["c"]))
    done = call("import", path, "--to", tmp_path / "r", "--model", "m", "--bench", bench(tmp_path))
    assert "s.jsonl line 2: doc_id" in done.refused()
    assert not (tmp_path / "r").exists()


def test_unknown_items_are_left_out_and_told(tmp_path: Path) -> None:
    rows = [{"item": name, "model": "m", "text": "A"} for name in ("q3", "q4", "q5", "zz")]
    path = jsonl(tmp_path / "a.jsonl", *rows)
    said = call("import", path, "--to", tmp_path / "run", "--bench", bench(tmp_path)).fine()
    assert "2 answers to items that are not in the benchmark left out: 'q4', 'zz'" in said
    assert set(texts(tmp_path / "run")) == {"q3", "q5"}
    path = jsonl(tmp_path / "b.jsonl", *rows[1::2])
    done = call("import", path, "--to", tmp_path / "other", "--bench", bench(tmp_path))
    assert "none of its items is in the benchmark; the first are 'q4', 'zz'" in done.refused()
    assert not (tmp_path / "other").exists()


def test_verdicts_alone_are_marked_as_given(tmp_path: Path) -> None:
    words = ["1", "0", "True", "false", "0.5", "NA", "right", "WRONG", "1.0"]
    path = separated(tmp_path / "v.csv", ["item", "model", "given"], *([n, "m", w] for n, w in enumerate(words)))
    said = call("import", path, "--to", tmp_path / "run").fine()
    found = answers(tmp_path / "run")
    assert [answer.given for answer in found] == [1, 0, 1, 0, 0.5, None, 1, 0, 1]
    assert {answer.text for answer in found} == {None}
    assert [answer.item for answer in found if answer.outcome == "failed"] == ["5"]
    assert "8 of them without a reply" in said


def test_other_tools_json_and_objects_under_keys(tmp_path: Path) -> None:
    """MathVista's own results: objects under the item's id, with NaN as Python writes it."""
    path = tmp_path / "r.json"
    path.write_text(json.dumps({"1": {"response": "B", "score": float("nan")}, "2": {"response": "C", "score": 1}}))
    options = ("--map", "item=key,text=response,given=score", "--model", "m")
    assert [(answer.item, answer.text, answer.given) for answer in answers(imported(path, *options))] == [
        ("1", "B", None),
        ("2", "C", 1.0),
    ]


def test_a_folder_comes_in_file_by_file_and_its_names_say_who_answered(tmp_path: Path) -> None:
    """Those before a file with a mistake stay, and may come again."""
    outputs, row = tmp_path / "outputs", {"item": "1", "text": "A"}
    outputs.mkdir()
    jsonl(outputs / "gpt-4.1.jsonl", row)
    mine = jsonl(outputs / "mine.jsonl", row | {"modality": "seen"})
    (outputs / "notes.txt").write_text("no answers")
    said = call("import", outputs, "--to", tmp_path / "run").refused()
    assert "mine.jsonl line 1" in said
    assert "1 of 2 files" in said
    jsonl(mine, row | {"model": "the file knows"})
    assert "2 answers of 2 models" in call("import", outputs, "--to", tmp_path / "run").fine()
    assert {answer.model for answer in answers(tmp_path / "run")} == {"gpt-4.1", "the file knows"}
