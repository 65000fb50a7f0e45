"""Golds of real annotation samples, read a second time by code of the test's own."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from eyetest.reform.building import MISSING
from tests.reform.conftest import Reformed, gold


def loaded(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8-sig"))


def test_vqa_v2(shared: Path, items: Reformed) -> None:
    folder = shared / "data/native/VQAv2"
    known = {str(entry["question_id"]): entry for entry in loaded(folder / "vqa_annotatons_test.json")["annotations"]}
    asked = {str(entry["question_id"]): entry for entry in loaded(folder / "vqa_questions_test.json")["questions"]}
    found = items("vqav2", folder)
    assert {item.id for item in found} == set(asked)
    for item in found:
        people = {answer["answer"].lower() for answer in known[item.id]["answers"]}
        assert gold(item) == known[item.id]["multiple_choice_answer"]
        assert item.question == asked[item.id]["question"].strip()
        assert item.tags[MISSING] == [str(asked[item.id]["image_id"])]
        if gold(item) not in ("yes", "no"):
            assert all(choice.correct or choice.text.lower() not in people for choice in item.choices)


def test_a_okvqa(shared: Path, items: Reformed) -> None:
    folder = shared / "data/native/A-OKVQA"
    entries = {entry["question_id"]: entry for entry in loaded(folder / "aokvqa_v1p0_val.json")}
    for name in ("aokvqa", "aokvqra"):
        found = {item.id: item for item in items(name, folder / "aokvqa_v1p0_val.json")}
        assert found.keys() == entries.keys()
        for number, item in found.items():
            entry = entries[number]
            assert gold(item) == entry["choices"][entry["correct_choice_idx"]]
            assert [choice.text for choice in item.choices] == entry["choices"]
            assert item.hint == (entry["rationales"][0] if name == "aokvqra" else "")
    for item in items("aokvqar", folder / "aokvqa_v1p0_val.json"):
        entry = entries[item.id]
        assert gold(item) == entry["rationales"][0]
        assert not {choice.text for choice in item.choices if not choice.correct} & set(entry["rationales"])
        assert entry["choices"][entry["correct_choice_idx"]] in item.question


def test_visdial(shared: Path, items: Reformed) -> None:
    folder = shared / "data/native/VisDial"
    data = loaded(folder / "visdial_1.0_val_crowdsourced.json")["data"]
    dense = loaded(folder / "visdial_1.0_val_dense_annotations_crowdsourced.json")
    apt = {(str(entry["image_id"]), entry["round_id"]): entry["gt_relevance"] for entry in dense}
    dialogs = {str(dialog["image_id"]): dialog for dialog in data["dialogs"]}
    found = items("visdial", folder)
    checked: Counter[str] = Counter()
    for item in found:
        image, number = str(item.tags["dialogue"]), item.tags["turn"]
        turns = dialogs[image]["dialog"]
        turn = turns[number - 1]
        assert gold(item) == data["answers"][turn["answer_options"][turn["gt_index"]]]
        before = [(data["questions"][one["question"]], data["answers"][one["answer"]]) for one in turns[: number - 1]]
        assert [(one.question.rstrip("?"), one.answer) for one in item.history] == before
        relevance = apt.get((image, number))
        if relevance:
            right = {data["answers"][n] for n, share in zip(turn["answer_options"], relevance, strict=True) if share}
            assert not right & {choice.text for choice in item.choices if not choice.correct}
            checked["dense"] += 1
    assert len(found) > 100
    assert checked["dense"] >= 8


def test_funsd(shared: Path, items: Reformed) -> None:
    found = items("FUNSD", shared / "data/native/FUNSD")
    expected = {}
    for path in shared.glob("data/native/FUNSD/*/annotations/*.json"):
        form = json.loads(path.read_text())["form"]
        answers = {block["id"]: block["text"] for block in form if block["label"] == "answer"}
        for block in form:
            linked = [answers[value] for value in {link[1]: None for link in block["linking"]} if value in answers]
            if block["label"] == "question" and block["text"].strip() and " ".join(linked).strip():
                expected[f"{path.stem}:{block['id']}"] = (block["text"].strip(), " ".join(linked).strip())
    assert {item.id: item.references for item in found} == {key: (answer,) for key, (_, answer) in expected.items()}
    assert all(f'"{expected[item.id][0]}"' in item.question for item in found)


def test_funsd_asks_what_reform_eval_asked(shared: Path, items: Reformed) -> None:
    outputs = shared / "oracles" / "reform" / "FUNSD_KIEOpenEnded_generation_blip2_blip2_t5_instruct.json"
    found = items("funsd", shared / "data/native/FUNSD" / "testing_data")
    ours = Counter(
        (item.id.split(":")[0], item.question.split('"', 1)[1].rsplit('"', 1)[0], item.references[0])
        for item in found
    )
    theirs = Counter(
        (Path(row["image"]).stem, row["question"].split('"', 1)[1].rsplit('"', 1)[0].strip(), row["answer"].strip())
        for row in json.loads(outputs.read_text())
    )
    forms = {form for form, _, _ in ours}
    assert ours == Counter({key: count for key, count in theirs.items() if key[0] in forms})


@pytest.mark.parametrize("name", ["IC-15", "ic15-grounded"])
def test_icdar(name: str, shared: Path, items: Reformed) -> None:
    found = items(name, shared / "data/native/ICDAR15")
    assert all(item.tags[MISSING] for item in found)
    expected = {}
    for path in (shared / "data/native/ICDAR15").glob("gt_img_*.txt"):
        for number, line in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), 1):
            if (text := ",".join(line.split(",")[8:])) != "###":
                expected[f"{path.stem[3:]}:{number}"] = (text,)
    assert {item.id: item.references for item in found} == expected


def test_vsr(shared: Path, items: Reformed) -> None:
    found = items("VSR", shared / "data/native/VSR")
    lines = {
        f"{path.stem}:{number}": json.loads(line)
        for path in (shared / "data/native/VSR").glob("*.jsonl")
        for number, line in enumerate(path.read_text().splitlines(), 1)
    }
    assert {item.id for item in found} == set(lines)
    for item in found:
        assert lines[item.id]["caption"] in item.question
        assert gold(item) == ("yes" if lines[item.id]["label"] == 1 else "no")
    one = items("vsr", shared / "data/native/VSR" / "random_dev.jsonl")
    assert [item.id for item in one] == [str(number) for number in range(1, 301)]
