"""Statements, pairs, steps and expressions: golds are those of the files, read here by other means."""

import json
from pathlib import Path

from tests.reform.conftest import NATIVE, Reformed, gold, golds, written


def test_lines_with_a_mark_of_byte_order_and_tables_are_read_alike(items: Reformed, tmp_path: Path) -> None:
    labels = {"entailment": "yes", "neutral": "not sure", "contradiction": "no", "-": None}
    rows = [
        {"pairID": label, "Flikr30kID": "1.jpg", "sentence2": "It rains.", "gold_label": label} for label in labels
    ]
    lines = "\ufeff" + "".join(json.dumps(row) + "\r\n" for row in rows)
    table = "Flickr30kID,pairID,hypothesis,gold_label\n" + "".join(f"7.jpg,{one},It rains.,{one}\n" for one in labels)
    for folder in (written(tmp_path / "a", lines_jsonl=lines), written(tmp_path / "b", rows_csv=table)):
        assert golds(items("snli-ve", folder)) == {label: word for label, word in labels.items() if word}


def test_pairs_are_asked_in_both_directions(items: Reformed) -> None:
    rows = [json.loads(line) for line in (NATIVE / "winoground/examples.jsonl").read_text().splitlines()]
    reformed = {item.id: item for item in items("winoground", NATIVE / "winoground")}
    assert len(reformed) == 4 * len(rows)
    for row in rows:
        for n in (0, 1):
            caption, image = reformed[f"{row['id']}:caption-{n}"], reformed[f"{row['id']}:image-{n}"]
            assert gold(caption) == row[f"caption_{n}"] in image.question
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
