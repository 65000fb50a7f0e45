"""Answers and items belong together: by content before ids, by ids before row numbers; answers to other items are
refused."""

import hashlib
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import eyetest as et
from eyetest.commands.results import Written
from eyetest.errors import InputError
from eyetest.records.tables import order_word
from eyetest.runs import Run
from eyetest.tabular.table import Values
from tests.runs.foreign import WRITERS, Rows, benchmark_file, open_items, random_items
from tests.runs.written import answers, jsonl
from tests.support.command import call

SOME = settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def fresh(folder: Path) -> Path:
    """An empty folder for one example."""
    (inside := folder / f"case{len([*folder.iterdir()])}").mkdir()
    return inside


def drawn(seed: int, *, is_open: bool) -> Rows:
    return open_items(seed) if is_open else random_items(seed)


@pytest.mark.parametrize("tool", WRITERS)
@SOME
@given(seed=st.integers(0, 10**6), is_open=st.booleans())
def test_answers_find_their_items_in_any_order(tmp_path: Path, tool: str, seed: int, is_open: bool) -> None:
    folder, rows = fresh(tmp_path), drawn(seed, is_open=is_open)
    order = random.Random(seed).sample(range(len(rows)), len(rows))
    bench = benchmark_file(folder / "bench.jsonl", rows)
    path = WRITERS[tool](folder / "answers", rows, order)
    done = et.import_file(path, bench=bench, model=None if tool == "inspect_log" else "m", to=folder / "run")
    assert {answer.item: answer.text for answer in answers(folder / "run")} == {
        row["id"]: f"reply {row['id']}" for row in rows
    }
    assert done.facts["matched"] == {"content": len(rows)}
    assert "matched by content" in str(done)
    assert Run(folder / "run").manifest.steps[-1].options["matched"] == "content"


@pytest.mark.parametrize("tool", WRITERS)
@SOME
@given(seed=st.integers(0, 10**6), is_open=st.booleans())
def test_answers_to_other_items_are_refused(tmp_path: Path, tool: str, seed: int, is_open: bool) -> None:
    """The ids of both benchmarks are the same numbers."""
    folder, rows = fresh(tmp_path), drawn(seed, is_open=is_open)
    others = drawn(seed + 1, is_open=is_open)
    bench = benchmark_file(folder / "bench.jsonl", rows)
    path = WRITERS[tool](folder / "answers", others, range(len(others)))
    with pytest.raises(InputError) as refusal:
        et.import_file(path, bench=bench, model=None if tool == "inspect_log" else "m", to=folder / "run")
    message = str(refusal.value)
    assert f"{path.name} " in message
    assert "the file asks" in message
    assert "bench" in message
    assert not (folder / "run").exists()


# What is compared, and how.

ANIMALS: list[Values] = [
    {
        "id": f"q{n}",
        "question": f"What animal number {n} is shown here?",
        "options": ["cat", "dog", "cow"],
        "answer": key,
    }
    for n, key in enumerate("ABCABC")
]


def numbered(*rows: Values) -> list[Values]:
    """Rows as lm-eval logs them."""
    return [{"doc_id": number, "resps": [["B"]], "filtered_resps": ["B"], **row} for number, row in enumerate(rows)]


def bring(folder: Path, *rows: Values, **options: Any) -> Written:
    path = jsonl(folder / "answers.jsonl", *rows)
    bench = jsonl(folder / "bench.jsonl", *ANIMALS)
    return et.import_file(path, bench=bench, model="m", to=folder / "run", **options)


def refused(folder: Path, *rows: Values, **options: Any) -> str:
    with pytest.raises(InputError) as refusal:
        bring(folder, *rows, **options)
    return str(refusal.value)


def test_rows_with_nothing_to_compare_are_said_to_be_matched_by_number(tmp_path: Path) -> None:
    done = bring(tmp_path, *numbered({}, {}))
    assert "matched by row number only, nothing to compare" in str(done)
    options = Run(tmp_path / "run").manifest.steps[-1].options
    assert options["matched"] == "row number only, nothing to compare"


def test_a_table_of_ids_alone_is_said_to_be_matched_by_id(tmp_path: Path) -> None:
    done = bring(tmp_path, {"item": "q1", "text": "A"}, {"item": "q2", "text": "B"})
    assert done.facts["matched"] == {"id only, nothing to compare": 1}


def test_keys_alone_tell_a_foreign_file(tmp_path: Path) -> None:
    message = refused(tmp_path, *numbered({"target": "B"}, {"target": "C"}, {"target": "A"}))
    assert "answers.jsonl line 1: the file has 'B', the benchmark 'A' for item 'q0'" in message
    assert "3 answer keys of 3 differ" in message


def test_a_constant_is_no_key(tmp_path: Path) -> None:
    bench = benchmark_file(tmp_path / "bench.jsonl", random_items(1))
    path = jsonl(tmp_path / "a.jsonl", *numbered(*[{"target": "A"}] * 12))
    done = et.import_file(path, bench=bench, model="m", to=tmp_path / "run")
    assert done.facts["matched"] == {"row number only, nothing to compare": 12}


@pytest.mark.parametrize(
    "targets", ["ABC", (" A", " B", " C"), ("cat", "dog", "cow"), (0, 1, 2), ("A. cat", "B. dog", "C. cow")]
)
def test_keys_in_any_style_confirm_row_numbers(tmp_path: Path, targets: Sequence[object]) -> None:
    done = bring(tmp_path, *numbered(*({"target": target} for target in targets)))
    assert "matched by row number, key" in str(done)


def test_hashes_of_keys_are_compared(tmp_path: Path) -> None:
    hashes = [hashlib.sha256(key.encode()).hexdigest() for key in "ABC"]
    done = bring(tmp_path, *numbered(*({"target_hash": digest} for digest in hashes)))
    assert "matched by row number, key" in str(done)
    assert "differ" in refused(tmp_path, *numbered(*({"target_hash": digest} for digest in hashes[::-1])))


def asked(number: int, **more: object) -> Values:
    item = ANIMALS[number]
    letters = dict(zip("ABC", item["options"], strict=True))
    return {"index": item["id"], "question": item["question"], **letters, "prediction": "A", **more}


def test_corrected_keys_are_counted_and_said(tmp_path: Path) -> None:
    done = bring(tmp_path, asked(0, answer="A"), asked(1, answer="C"))
    assert done.facts["matched"] == {"content": 2}
    (note,) = (note for note in done.notes if "key" in note)
    assert note.startswith("1 row with another answer key than the benchmark")
    assert "answers.jsonl line 2: the file has 'C', the benchmark 'B'" in note


def test_other_options_are_refused(tmp_path: Path) -> None:
    message = refused(tmp_path, asked(0), asked(1, B="horse"))
    assert "answers.jsonl line 2" in message
    assert "the file has the options 'cat, horse, cow', the benchmark 'cat, dog, cow'" in message


def test_options_in_another_order_are_read_in_that_order(tmp_path: Path) -> None:
    bring(tmp_path, asked(0, A="dog", B="cat"), asked(1))
    read = {answer.item: order_word(answer.order) for answer in answers(tmp_path / "run")}
    assert read == {"q0": "BAC", "q1": "0"}


@pytest.mark.parametrize(
    "question",
    [
        "  What animal\nnumber 0   is shown here? ",
        "<image 1>\nWhat animal number 0 is shown here?",
        "<|vision_start|><|image_pad|><|vision_end|>What animal number 0 is shown here?",
        "What animal number ０ is shown here?",
        "Hint: look.\nQuestion: What animal number 0 is shown here?\nChoices:\n(A) cat\n(B) dog\n(C) cow\nAnswer:",
        "What animal number 0 is shown h...",
        "WHAT ANIMAL NUMBER 0 IS SHOWN HERE?",
    ],
)
def test_honest_differences_of_a_question_are_none(tmp_path: Path, question: str) -> None:
    done = bring(tmp_path, asked(0, question=question), asked(1))
    assert set(done.facts["matched"]) == {"content"}
    assert [note for note in done.notes if "labelled image by default" not in note] == []


@pytest.mark.parametrize("style", ["{}. ", "({}) ", "{}) ", "{}: "])
def test_letters_of_options_are_no_part_of_them(tmp_path: Path, style: str) -> None:
    options = [style.format(mark) + text for mark, text in zip("ABC", ["cat", "dog", "cow"], strict=True)]
    rows = ({"id": f"q{n}", "question": ANIMALS[n]["question"], "choices": options, "output": "A"} for n in range(3))
    assert bring(tmp_path, *rows).facts["matched"] == {"content": 3}


def test_one_row_of_another_item_may_be_left_out(tmp_path: Path) -> None:
    rows = asked(0), asked(1, question="Where is the boat?"), asked(2)
    message = refused(tmp_path, *rows)
    assert "answers.jsonl line 2: item 'q1' differs: the file asks 'Where is the boat?'" in message
    assert "leaves such rows out" in message
    done = bring(tmp_path, *rows, skip_bad=True)
    assert {answer.item for answer in answers(tmp_path / "run")} == {"q0", "q2"}
    assert any("1 row left out: answers.jsonl line 2" in note for note in done.notes)


def test_a_foreign_file_is_no_set_of_bad_rows(tmp_path: Path) -> None:
    rows = (asked(n, question=f"Solve x + {n} = 7 for x.") for n in range(3))
    assert "3 of 3 rows differ and none agrees" in refused(tmp_path, *rows, skip_bad=True)


def test_row_numbers_of_a_larger_dataset_are_not_those_of_its_part(tmp_path: Path) -> None:
    """A refined benchmark has fewer items than the file has rows."""
    docs = [{"question": f"What plant number {n} is shown here?"} for n in range(9)]
    docs += [{"question": item["question"], "options": item["options"]} for item in ANIMALS]
    done = bring(tmp_path, *numbered(*({"doc": doc, "resps": [[doc["question"]]]} for doc in docs)))
    assert {answer.item: answer.text for answer in answers(tmp_path / "run")} == {
        str(item["id"]): item["question"] for item in ANIMALS
    }
    assert any("9 answers to items that are not in the benchmark left out" in note for note in done.notes)


def test_answers_added_to_a_run_are_checked_against_its_items(tmp_path: Path) -> None:
    bring(tmp_path, asked(0))
    foreign = jsonl(tmp_path / "more.jsonl", asked(1, question="Solve x + 1 = 7 for x."))
    with pytest.raises(InputError, match="the file asks 'Solve x"):
        et.import_file(foreign, model="n", to=tmp_path / "run")


def test_another_benchmark_for_the_same_run_is_refused(tmp_path: Path) -> None:
    bring(tmp_path, asked(0))
    other = benchmark_file(tmp_path / "other.jsonl", random_items(1))
    with pytest.raises(InputError, match=r'"bench", 6 items\) than "other" \(12 items\); choose another place'):
        et.import_file(jsonl(tmp_path / "more.jsonl", asked(1)), bench=other, model="n", to=tmp_path / "run")


def test_bad_lines_of_answers_are_left_out_where_that_is_wanted(tmp_path: Path) -> None:
    lines = [
        '{"item": "q1", "model": "m", "text": "A"}',
        '{"it',
        '{"item": "q2", "model": "m", "text": "A", "sample": "x"}',
    ]
    (path := tmp_path / "a.jsonl").write_text("\n".join(lines))
    with pytest.raises(InputError, match=r"line 2 is not JSON: .* leaves such rows out"):
        et.import_file(path, to=tmp_path / "run")
    done = et.import_file(path, to=tmp_path / "run", skip_bad=True)
    assert (done.facts["answers"], done.facts["skipped"]) == (1, 2)


def test_a_score_says_where_only_ids_join(tmp_path: Path) -> None:
    et.import_file(jsonl(tmp_path / "a.jsonl", {"item": "q1", "model": "m", "text": "A"}), to=tmp_path / "run")
    bench = jsonl(tmp_path / "bench.jsonl", *ANIMALS)
    other = benchmark_file(tmp_path / "other.jsonl", random_items(1))
    assert any("by id only, nothing to compare" in note for note in et.score(tmp_path / "run", bench=bench).notes)
    assert any("by id only, nothing to compare" in note for note in et.measure("accuracy", tmp_path / "run").notes)
    with pytest.raises(InputError, match="holds no answer to any item of"):
        et.score(tmp_path / "run", bench=other)


def test_the_hint_of_a_measure_is_a_command_that_works(tmp_path: Path) -> None:
    et.import_file(jsonl(tmp_path / "a.jsonl", {"item": "q1", "model": "m", "text": "A"}), to=tmp_path / "run")
    said = call("measure", "accuracy", tmp_path / "run").refused()
    bench = jsonl(tmp_path / "bench.jsonl", *ANIMALS)
    _, command = said.strip().split("name the benchmark once: eyetest ")
    assert command == f"score {tmp_path / 'run'} --bench BENCHMARK"
    call(*command.replace("BENCHMARK", str(bench)).split()).fine()
    call("measure", "accuracy", tmp_path / "run").fine()
