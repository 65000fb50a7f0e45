"""Parquet, against the `datasets` package itself."""

from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from eyetest.benchmarks import Import, ReadOptions, export_benchmark, import_benchmark
from eyetest.benchmarks.formats import lmms_eval_task
from eyetest.errors import InputError
from eyetest.records import Choice
from tests.conftest import png
from tests.support.drawn import draw_benchmark

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def image_file(colour: str) -> dict[str, Any]:
    return {"bytes": png(colour), "path": f"{colour}.png"}


def write_parquet(path: Path, rows: list[dict[str, Any]], **types: pa.DataType) -> Path:
    table = pa.Table.from_pylist(rows)
    for name, kind in types.items():
        values = pa.array([row.get(name) for row in rows], kind)
        table = table.set_column(table.column_names.index(name), name, values)
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path)
    return path


def test_mmmu_layout(tmp_path: Path) -> None:
    columns = "id question options answer img_type question_type image_1 image_2 image_3"
    choice_row = ("validation_Art_1", "Is <image 2> like <image 1>?", "['<image 1>', \"it's\", 'None']", "B")
    seen = ("['Paintings']", "multiple-choice", image_file("red"), image_file("blue"), None)
    text_row = ("validation_Art_2", "How many?", "[]", "['6', 'six']")
    plotted = ("['Plots']", "open", image_file("red"), None, None)
    table = ((*choice_row, *seen), (*text_row, *plotted))
    rows = [dict(zip(columns.split(), row, strict=True)) for row in table]
    write_parquet(tmp_path / "data/validation-00000-of-00001.parquet", rows, image_3=IMAGE)
    benchmark, _ = import_benchmark(tmp_path, tmp_path / "b")
    choice, text = benchmark
    assert choice.choices == (Choice("<image 1>"), Choice("it's", True), Choice("None"))
    assert [image.width for image in choice.images] == [8, 8]
    assert choice.image_numbers == (2, 1)
    assert text.references == ("6", "six")
    assert text.tags == {"img_type": "['Plots']", "question_type": "open"}


@pytest.mark.parametrize(
    "text",
    [
        "What is it?\nOptions: A: a cat, black, B: nan, C: a dog",
        "What is it?\nChoices:\n(A) a cat, black\n(B) nan\n(C) a dog",
        "What is it?\nA. a cat, black\nB. nan\nC. a dog",
    ],
)
def test_mmstar_layouts(tmp_path: Path, text: str) -> None:
    meta = {"source": "AI2D", "split": "test", "image_path": "images/1.png"}
    rows = [
        {"index": n, "question": text, "image": png(), "answer": "A", "category": "math", "meta_info": meta}
        for n in range(3)
    ]
    benchmark, _ = import_benchmark(write_parquet(tmp_path / "mmstar.parquet", rows), tmp_path / "b")
    item = benchmark["2"]
    assert item.question == "What is it?"
    assert item.choices == (Choice("a cat, black", True), Choice("nan"), Choice("a dog"))
    assert item.tags["meta_info"]["source"] == "AI2D"


def test_datasets_opens_what_we_export(tmp_path: Path) -> None:
    benchmark = draw_benchmark(tmp_path / "drawn", items=16)
    export_benchmark(benchmark, "parquet", tmp_path / "drawn.parquet")
    loaded = datasets.load_dataset(
        "parquet", data_files=str(tmp_path / "drawn.parquet"), split="train", cache_dir=str(tmp_path / "hf")
    )
    assert loaded["id"][:] == [item.id for item in benchmark]
    for row, item in zip(loaded, benchmark, strict=True):
        assert row["question"] == item.question
        assert [image.size for image in row["images"]] == [(i.width, i.height) for i in item.images]
        assert (row["options"] or []) == [choice.text for choice in item.choices]


def test_the_lmms_eval_task_file_says_where_everything_is(tmp_path: Path) -> None:
    benchmark = draw_benchmark(tmp_path / "drawn", items=8)
    notes = export_benchmark(benchmark, "lmms-eval", tmp_path / "task")
    assert "--include_path" in notes[0]

    class Loader(yaml.SafeLoader):
        pass

    Loader.add_constructor("!function", lambda loader, node: f"function {node.value}")
    task = yaml.load((tmp_path / "task/eyetest_task.yaml").read_text(), Loader)
    assert task["task"] == "drawn"
    assert Path(task["dataset_kwargs"]["data_files"]["test"]).is_file()
    assert task["process_results"] == "function utils.process_results"
    assert (tmp_path / "task/utils.py").read_text() == Path(lmms_eval_task.__file__).read_text()


def test_the_lmms_eval_functions_score_choices_and_text() -> None:
    doc: dict[str, Any] = {"question": "Which?", "options": ["cat", "dog"], "answer_letter": "B", "hint": "Look."}
    right = ("B", "(B)", "b.", "A dog\nAnswer: B", "The answer is B.")
    for reply in (*right, "The answer is not B", "A", "", "Both"):
        assert lmms_eval_task.process_results(doc, [reply])["accuracy"] == (reply in right), reply
    assert lmms_eval_task.doc_to_target(doc) == "B"
    assert lmms_eval_task.doc_to_text(doc).startswith("Look.\nWhich?\nA. cat\nB. dog\n")
    doc = {"question": "Which?", "options": None, "answer": ["Dog", "hound"], "hint": None}
    assert lmms_eval_task.process_results(doc, [" a dog"])["accuracy"] == 0
    assert lmms_eval_task.process_results(doc, ["Hound."])["accuracy"] == 1


def test_class_labels_are_read_by_name(tmp_path: Path) -> None:
    names = datasets.ClassLabel(names=["cat", "dog"])
    features = {"question": datasets.Value("string"), "answer": names, "options": datasets.Value("string")}
    rows = {"question": ["What?", "What?"], "answer": [1, 0], "options": ["['cat', 'dog']"] * 2}
    labelled = datasets.Dataset.from_dict(rows, features=datasets.Features(features))
    labelled.to_parquet(str(tmp_path / "labelled.parquet"))
    benchmark, _ = import_benchmark(tmp_path / "labelled.parquet", tmp_path / "b")
    assert [item.gold for item in benchmark] == [(1,), (0,)]


def test_dates_decimals_and_nan(tmp_path: Path) -> None:
    columns = {
        "question": pa.array(["What?", "What?"]),
        "answer": pa.array(["x", "y"]),
        "when": pa.array([0, 1], pa.timestamp("ns")),
        "price": pa.array(["1.50", None]).cast(pa.decimal128(5, 2)),
        "score": pa.array([float("nan"), 0.5]),
        "took": pa.array([5, 6], pa.duration("s")),
        "where": pa.array([0, 1], pa.timestamp("s", tz="Nowhere/Land")),
    }
    pq.write_table(pa.table(columns), tmp_path / "b.parquet")
    with pytest.raises(InputError, match=r"where cannot be read .* leave it out with --drop where"):
        import_benchmark(tmp_path / "b.parquet", tmp_path / "b")
    how = Import(read=ReadOptions(drop=("where",)))
    benchmark, _ = import_benchmark(tmp_path / "b.parquet", tmp_path / "b", how)
    assert benchmark["0"].tags == {"when": "1970-01-01 00:00:00.000000000", "price": "1.50", "took": "5"}
    assert benchmark["1"].tags["score"] == 0.5


def test_text_that_is_not_utf8_is_reported(tmp_path: Path) -> None:
    bad = pa.array([b"caf\xe9"]).view(pa.string())
    pq.write_table(pa.table({"question": bad, "answer": pa.array(["x"])}), tmp_path / "b.parquet")
    with pytest.raises(InputError, match=r"b\.parquet: question: found bytes that are not UTF-8"):
        import_benchmark(tmp_path / "b.parquet", tmp_path / "b")
