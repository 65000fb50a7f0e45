"""Golds of real annotation samples about text and space, against what plain code reads in the same files."""

import json
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from eyetest.benchmarks import Benchmark
from eyetest.records import Item
from eyetest.reform.building import Reforming, reform
from eyetest.reform.catalog import load_dataset


@pytest.fixture
def native(shared: Path) -> Path:
    folder = shared / "data" / "native"
    if not folder.is_dir():
        pytest.skip(f"no native samples: {folder} is missing")
    return folder


def reformed(name: str, annotations: Path, to: Path) -> list[Item]:
    reform(Reforming(dataset=load_dataset(name), annotations=(annotations,), to=to))
    return list(Benchmark(to))


def test_docvqa(native: Path, tmp_path: Path) -> None:
    items = reformed("docvqa", native / "DocVQA" / "val_v1.0.json", tmp_path / "b")
    entries = {
        str(entry["questionId"]): entry for entry in json.loads((native / "DocVQA/val_v1.0.json").read_text())["data"]
    }
    assert len(items) == len(entries)
    for item in items:
        assert item.id == item.lineage[0].item
        assert item.question == entries[item.id]["question"].strip()
        assert set(item.references) == {answer.strip() for answer in entries[item.id]["answers"]}


def test_funsd(native: Path, tmp_path: Path) -> None:
    items = reformed("FUNSD", native / "FUNSD", tmp_path / "b")
    expected = {}
    for path in native.glob("FUNSD/*/annotations/*.json"):
        form = json.loads(path.read_text())["form"]
        answers = {block["id"]: block["text"] for block in form if block["label"] == "answer"}
        for block in form:
            linked = [answers[value] for value in {link[1]: None for link in block["linking"]} if value in answers]
            if block["label"] == "question" and block["text"].strip() and " ".join(linked).strip():
                expected[f"{path.stem}:{block['id']}"] = (block["text"].strip(), " ".join(linked).strip())
    assert {item.id: item.references for item in items} == {key: (answer,) for key, (_, answer) in expected.items()}
    assert all(f'"{expected[item.id][0]}"' in item.question for item in items)


def test_funsd_asks_what_reform_eval_asked(native: Path, shared: Path, tmp_path: Path) -> None:
    outputs = shared / "oracles" / "reform" / "FUNSD_KIEOpenEnded_generation_blip2_blip2_t5_instruct.json"
    items = reformed("funsd", native / "FUNSD" / "testing_data", tmp_path / "b")
    ours = Counter(
        (item.id.split(":")[0], item.question.split('"', 1)[1].rsplit('"', 1)[0], item.references[0])
        for item in items
    )
    theirs = Counter(
        (Path(row["image"]).stem, row["question"].split('"', 1)[1].rsplit('"', 1)[0].strip(), row["answer"].strip())
        for row in json.loads(outputs.read_text())
    )
    forms = {form for form, _, _ in ours}
    assert ours == Counter({key: count for key, count in theirs.items() if key[0] in forms})


@pytest.mark.parametrize("name", ["ICDAR15", "ic15-grounded"])
def test_icdar(name: str, native: Path, tmp_path: Path) -> None:
    items = reformed(name, native / "ICDAR15", tmp_path / "b")
    expected = {}
    for path in (native / "ICDAR15").glob("gt_img_*.txt"):
        for number, line in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), 1):
            if (text := ",".join(line.split(",")[8:])) != "###":
                expected[f"{path.stem[3:]}:{number}"] = (text,)
    assert {item.id: item.references for item in items} == expected


def lines_of_vsr(native: Path) -> dict[str, dict[str, object]]:
    return {
        f"{path.stem}:{number}": json.loads(line)
        for path in (native / "VSR").glob("*.jsonl")
        for number, line in enumerate(path.read_text().splitlines(), 1)
    }


def test_vsr(native: Path, tmp_path: Path) -> None:
    items = reformed("VSR", native / "VSR", tmp_path / "b")
    lines = lines_of_vsr(native)
    assert {item.id for item in items} == set(lines)
    for item in items:
        assert str(lines[item.id]["caption"]) in item.question
        assert item.choices[item.gold[0]].text == ("yes" if lines[item.id]["label"] == 1 else "no")
    one = reformed("vsr", native / "VSR" / "random_dev.jsonl", tmp_path / "one")
    assert [item.id for item in one] == [str(number) for number in range(1, 301)]


def test_vsr_relations(native: Path, tmp_path: Path) -> None:
    dataset = msgspec.structs.replace(load_dataset("vsr-relation"), settings={"matched": False})
    items = list(reform(Reforming(dataset=dataset, annotations=(native / "VSR",), to=tmp_path / "b")).benchmark)
    lines = lines_of_vsr(native)
    true = {key for key, line in lines.items() if line["label"] == 1}
    assert {item.id for item in items} <= true
    assert len(items) >= 0.9 * len(true)
    for item in items:
        relation, caption = str(lines[item.id]["relation"]), str(lines[item.id]["caption"])
        subject, thing = (part.removesuffix(" is").strip() for part in caption.split(f" {relation} ", 1))
        assert item.choices[item.gold[0]].text == caption
        for choice in item.choices:
            assert choice.text.startswith(f"{subject} ")
            assert choice.text.endswith(f" {thing}")
            assert choice.correct == (choice.text == caption)
