"""Statements, pairs, steps and expressions: golds are those of the files, read here by other means."""

import csv
import json
from pathlib import Path

from tests.reform.conftest import NATIVE, Reformed, gold, golds, written

WORDS = {
    "entailment": "yes",
    "neutral": "not sure",
    "contradiction": "no",
    "supported": "yes",
    "NEI": "not sure",
    "refuted": "no",
}


def test_labels_become_yes_no_and_not_sure(items: Reformed, tmp_path: Path) -> None:
    path = NATIVE / "snli-ve/snli_ve_test.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    expected = {row["pairID"]: WORDS[row["gold_label"]] for row in rows}
    assert golds(items("SNLI_VE", path)) == expected
    undecided = {"pairID": "x", "Flikr30kID": "1.jpg", "sentence2": "It rains.", "gold_label": "-"}
    lines = "".join(json.dumps(row) + "\r\n" for row in (*rows, undecided))
    assert golds(items("snli-ve", written(tmp_path / "a", lines_jsonl="\ufeff" + lines))) == expected
    table = "Flickr30kID,pairID,hypothesis,gold_label\n7.jpg,p1,It rains.,neutral\n8.jpg,p2,It snows.,contradiction\n"
    reformed = items("snli-ve", written(tmp_path / "b", rows_csv=table))
    assert golds(reformed) == {"p1": "not sure", "p2": "no"}
    assert [item.tags["missing_images"] for item in reformed] == [["7.jpg"], ["8.jpg"]]


def test_a_claim_comes_with_its_evidence_and_image(items: Reformed) -> None:
    with (NATIVE / "mocheg/Corpus2.csv").open(newline="") as file:
        expected = {row["claim_id"]: WORDS[row["cleaned_truthfulness"]] for row in csv.DictReader(file)}
    reformed = items("mocheg", NATIVE / "mocheg")
    assert golds(reformed) == expected
    assert reformed[0].hint == "The town says that the statue was painted on Monday."
    assert reformed[0].tags["missing_images"] == ["900-proof-00-statue.jpg"]


def test_pairs_are_asked_in_both_directions(items: Reformed) -> None:
    rows = [json.loads(line) for line in (NATIVE / "winoground/examples.jsonl").read_text().splitlines()]
    reformed = {item.id: item for item in items("winoground", NATIVE / "winoground")}
    assert len(reformed) == 4 * len(rows)
    for row in rows:
        for n in (0, 1):
            caption, image = reformed[f"{row['id']}:caption-{n}"], reformed[f"{row['id']}:image-{n}"]
            assert gold(caption) == row[f"caption_{n}"]
            assert caption.tags["missing_images"] == [row[f"image_{n}"]]
            assert row[f"caption_{n}"] in image.question
            assert gold(image) == f"<image {n + 1}>"
            assert image.tags["missing_images"] == [row["image_0"], row["image_1"]]
            assert (caption.group or caption.id) == image.group == f"{row['id']}:caption-0"


def test_steps_are_shown_next_and_before(items: Reformed) -> None:
    method = json.loads((NATIVE / "wikihow/101_fold-a-paper-boat/wikihow.json").read_text())["methods"][0]
    headlines = [step["headline"] for step in method["steps"]]
    for ask, away in (("shown", 0), ("next", 1), ("previous", -1)):
        reformed = {item.id: item for item in items("wikihow", NATIVE / "wikihow", ask=ask)}
        for n, step in enumerate(method["steps"]):
            key = f"101_fold-a-paper-boat:1:{n + 1}"
            assert (key in reformed) == (bool(step["img"]) and 0 <= n + away < len(headlines))
            if key in reformed:
                assert gold(reformed[key]) == headlines[n + away]
                assert {choice.text for choice in reformed[key].choices} <= set(headlines)


def test_expressions_mean_their_box_in_every_form(items: Reformed, tmp_path: Path) -> None:
    references = json.loads((NATIVE / "refcoco/refs(unc).json").read_text())
    boxes = {
        entry["id"]: entry["bbox"]
        for entry in json.loads((NATIVE / "refcoco/instances.json").read_text())["annotations"]
    }
    stated = {str(ref["ref_id"]): {sentence["sent"] for sentence in ref["sentences"]} for ref in references}
    instances = (NATIVE / "refcoco/instances.json").read_text()
    plain = written(tmp_path / "json", refs_json=json.dumps(references), instances_json=instances)
    rows = [
        {"ref_id": ref["ref_id"], "image": ref["file_name"], "sent": sentence["sent"], "height": 400, "width": 600}
        | {"bbox": [x, y, x + w, y + h]}
        for ref in references
        for x, y, w, h in [boxes[ref["ann_id"]]]
        for sentence in ref["sentences"][:1]
    ]
    lines = written(tmp_path / "lines", refs_jsonl="\n".join(map(json.dumps, rows)))
    for path in (NATIVE / "refcoco", plain, lines):
        reformed = items("refcoco", path)
        assert {item.id for item in reformed} >= {"31", "32", "33"}
        for item in reformed:
            (ref,) = (ref for ref in references if str(ref["ref_id"]) == item.id)
            assert gold(item) in stated[item.id]
            assert not {choice.text for choice in item.choices if not choice.correct} & stated[item.id]
            assert item.tags["box"] == boxes[ref["ann_id"]]
            assert item.tags["missing_images"] == [f"COCO_train2014_{ref['image_id']:012d}.jpg"]
