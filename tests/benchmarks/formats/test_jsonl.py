import json
from pathlib import Path
from typing import Any

import pytest

import eyetest as et
from eyetest.benchmarks import Benchmark, Import, ReadOptions, import_benchmark
from eyetest.errors import InputError, ItemError
from eyetest.records import Turn
from eyetest.tabular.files import open_table
from tests.support.refusals import refusal


def imported(tmp_path: Path, *objects: dict[str, Any], **read: Any) -> Benchmark:
    path = tmp_path / "b.jsonl"
    path.write_text("".join(json.dumps(o) + "\n" for o in objects))
    return import_benchmark(path, tmp_path / "b", Import(read=ReadOptions(**read)))[0]


def question(**fields: Any) -> dict[str, Any]:
    return {"id": "1", "question": "What?", "options": ["cat", "dog"], "answer": "dog"} | fields


def test_dialogue_and_one_array(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    path.write_text(json.dumps([question(history=[{"question": "Hm?", "answer": "Aha."}])], indent=1))
    benchmark, _ = import_benchmark(path, tmp_path / "b")
    assert benchmark["1"].history == (Turn("Hm?", "Aha."),)


def test_held_back_golds_need_permission(tmp_path: Path) -> None:
    with pytest.raises(
        ItemError, match=r"b\.jsonl line 1: item '1': answer: found no gold answer, expected one right"
    ):
        imported(tmp_path, question(answer="?"))
    assert not imported(tmp_path, question(answer="?"), gold_required=False)["1"].has_gold


def test_skipping_bad_items_lists_them(tmp_path: Path) -> None:
    path = tmp_path / "b.jsonl"
    rows = [question(), question(id="2", answer="bird"), question(id="1"), question(id="3", image="gone.png")]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    benchmark, skipped = import_benchmark(path, tmp_path / "b", Import(skip_bad=True))
    assert [item.id for item in benchmark] == ["1"]
    assert [s.field for s in skipped] == ["answer", "id", "image"]
    listed = [json.loads(line) for line in (tmp_path / "b/skipped.jsonl").read_text().splitlines()]
    assert listed[0]["where"] == "b.jsonl line 2"
    assert listed[0]["found"] == "'bird'"


def test_an_index_is_not_assumed_because_one_answer_fits_nothing(tmp_path: Path) -> None:
    rows = [question(id=str(n), options=list("wxyz"), answer=a) for n, a in enumerate([1, 2, 3, "?!"])]
    with pytest.raises(InputError, match="--gold-style index or --gold-style number"):
        imported(tmp_path, *rows)


def test_deep_nesting_and_large_numbers_are_reported(tmp_path: Path) -> None:
    deep: Any = 1
    for _ in range(300):
        deep = [deep]
    with pytest.raises(ItemError, match="line 1: extra: found values nested too deeply"):
        imported(tmp_path, question(extra=deep))
    with pytest.raises(ItemError, match="line 1: extra: found values nested too deeply"):
        imported(tmp_path, question(eyetest={"tags": {"extra": deep}}))
    with pytest.raises(ItemError, match="line 1: eyetest: found"):
        imported(tmp_path, question(eyetest={"lineage": [{"step": "x", "seed": 2**63}]}))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3\n", "b.jsonl line 1: found 3 (int), expected a JSON object"),
        ("\n", "b.jsonl holds no items"),
        ("[]", "b.jsonl holds no items"),
        ('{"question": "a", "options": {"A": {}}, "answer": "b"}', "line 1: options: found {} (dict), expected text"),
    ],
)
def test_bad_lines_are_reported(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "b.jsonl").write_bytes(text.encode())
    assert message in refusal(import_benchmark, tmp_path / "b.jsonl", tmp_path / "b")
    assert not (tmp_path / "b").exists()


def test_results_beside_what_they_add_up_to_are_rows(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text('{"acc": 50, "args": {"shots": 2}, "results": {"7": {"output": "A"}, "8": {"output": "B"}}}')
    assert [row.values for row in open_table(path)] == [{"key": "7", "output": "A"}, {"key": "8", "output": "B"}]


def test_items_whose_images_are_elsewhere_keep_their_names(tmp_path: Path) -> None:
    path = tmp_path / "b.jsonl"
    path.write_text('{"question": "Is it red?", "answer": "yes", "image": "far/away.png"}\n')
    with pytest.raises(ItemError, match=r"away\.png"):
        import_benchmark(path, tmp_path / "b")
    with pytest.raises(InputError, match='did you mean "images"'):
        et.import_file(path, to=tmp_path / "b", allow_missing="gold,image")
    assert et.import_file(path, to=tmp_path / "b", allow_missing="gold,images").facts["images"] == 0
    assert [item.tags["image"] for item in et.open(tmp_path / "b")] == ["far/away.png"]


def test_all_json_files_of_a_folder_are_one_benchmark(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "b.jsonl").write_text('{"question": "Which?", "options": ["cat", "dog"], "answer": "a,b"}\n')
    (folder / "a.json").write_text(
        '{"n1": {"question": "Who?", "answer": "a cat"}, "n2": {"question": "Who?", "answer": "x"}}'
    )
    (folder / "notes.txt").write_text("no items")
    read = ReadOptions(format="jsonl", gold_style="letter")
    benchmark, _ = import_benchmark(folder, tmp_path / "all", Import(read=read))
    assert [(item.id, item.tags["file"], item.gold) for item in benchmark] == [
        ("0", "a", ()), ("1", "a", ()), ("2", "b", (0, 1))
    ]  # fmt: skip
    (folder / "c.json").symlink_to(tmp_path / "secret.json")
    (tmp_path / "secret.json").write_text('[{"question": "Secret?", "answer": "yes"}]')
    with pytest.raises(InputError, match="is a link that leaves"):
        import_benchmark(folder, tmp_path / "more", Import(read=read))
