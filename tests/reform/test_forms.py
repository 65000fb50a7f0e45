"""The forms in which datasets go round beside the published one: cut, merged into one file, as rows, packed."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from eyetest.errors import InputError
from tests.reform.conftest import Reformed, golds, written

QUESTIONS = [
    {"image_id": 9, "question": "Which sport is it?", "question_id": 91},
    {"image_id": 12, "question": "Which plant is it?", "question_id": 121},
]
ANSWERS = [
    {"question_id": 91, "answers": [{"answer": "rowing"}, {"answer": "rowing"}, {"answer": "tennis"}]},
    {"question_id": 121, "answers": [{"answer": "fern"}]},
]
RECEIPTS = {
    "X01": {"company": "TEA & CO", "date": "03/04/2019", "total": "4.20"},
    "X02": {"company": "MILK BAR", "address": "2, LONG LANE", "total": "1.00"},
}
WORDS = {
    "7": {"id": 7, "image_id": 31, "bbox": [1, 2, 30, 9], "utf8_string": "Quay", "legibility": "legible"},
    "8": {"id": 8, "image_id": 32, "bbox": [1, 2, 30, 9], "utf8_string": "No. 5", "legibility": "legible"},
}


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def merged() -> list[dict[str, Any]]:
    return [question | answer for question, answer in zip(QUESTIONS, ANSWERS, strict=True)]


def in_one_list() -> list[dict[str, Any]]:
    """As the rows of a table: answers are plain texts, the image has a name."""
    return [
        {
            "question_id": entry["question_id"],
            "question": entry["question"],
            "image": f"val2014/{entry['image_id']}.jpg",
            "answer": [answer["answer"] for answer in entry["answers"]],
        }
        for entry in merged()
    ]


@pytest.mark.parametrize("rows", [merged(), in_one_list()], ids=["merged", "rows"])
@pytest.mark.parametrize("form", ["sample_json", "sample_jsonl"])
def test_questions_and_answers_may_be_in_one_file(
    rows: list[dict[str, Any]], form: str, items: Reformed, tmp_path: Path
) -> None:
    text = json.dumps(rows) if form == "sample_json" else lines(rows)
    assert golds(items("okvqa", written(tmp_path / "o", **{form: text}))) == {"91": "rowing", "121": "fern"}


@pytest.mark.parametrize("named", ["Questions/q.json", "Annotations/a.json.gz"])
def test_the_other_half_lies_in_the_folder_beside_packed_or_not(named: str, items: Reformed, tmp_path: Path) -> None:
    written(tmp_path / "Questions", q_json=json.dumps(QUESTIONS))
    (tmp_path / "Annotations").mkdir()
    (tmp_path / "Annotations/a.json.gz").write_bytes(gzip.compress(json.dumps({"annotations": ANSWERS}).encode()))
    written(tmp_path / "Other", q_json=json.dumps([entry | {"question_id": 5} for entry in QUESTIONS]))
    assert golds(items("okvqa", tmp_path / named)) == {"91": "rowing", "121": "fern"}


def test_of_questions_alone_nothing_becomes_an_item(items: Reformed, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no class: 2"):
        items("tdiuc-color", written(tmp_path / "t", q_json=json.dumps({"questions": QUESTIONS})))


def test_numbers_in_words_have_numbers_in_words_beside_them(items: Reformed, tmp_path: Path) -> None:
    answers = [
        {"question_id": 91, "question_type": "counting", "answers": [{"answer": "two"}]},
        {"question_id": 121, "question_type": "counting", "answers": [{"answer": "3"}]},
    ]
    annotations = written(tmp_path / "t", q_json=json.dumps(QUESTIONS), a_json=json.dumps(answers))
    by_words, by_figures = items("tdiuc-counting", annotations)
    assert golds([by_words, by_figures]) == {"91": "two", "121": "3"}
    assert not any(choice.text.isdigit() for choice in by_words.choices)
    assert all(choice.text.isdigit() for choice in by_figures.choices)


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("all_json", json.dumps(RECEIPTS)),
        ("all_jsonl", lines([{"id": name} | fields for name, fields in RECEIPTS.items()])),
        ("all_json", lines([{"file_name": f"{name}.jpg"} | fields for name, fields in RECEIPTS.items()])),
        ("all_json", json.dumps([{"key": name, "entities": fields} for name, fields in RECEIPTS.items()])),
    ],
    ids=["by name", "rows", "lines", "entities"],
)
def test_receipts_may_be_in_one_file(form: str, text: str, items: Reformed, tmp_path: Path) -> None:
    expected = {f"{name}:{field}": (value,) for name, fields in RECEIPTS.items() for field, value in fields.items()}
    reformed = items("sroie", written(tmp_path / "s", **{form: text}))
    assert {item.id: item.references for item in reformed} == expected


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("cut_json", json.dumps({"anns": WORDS, "imgs": {"31": {"id": 31, "file_name": "a/31.jpg"}}})),
        ("words_json", json.dumps({"anns": WORDS})),
        ("annot_csv", 'id,image_id,bbox,utf8_string\n7,31,"[1.0, 2, 30, 9]",Quay\n8,32,"[1, 2, 30, 9]",No. 5\n'),
    ],
)
def test_words_need_no_list_of_images(form: str, text: str, items: Reformed, tmp_path: Path) -> None:
    reformed = items("coco-text", written(tmp_path / "c", **{form: text}))
    assert {item.id: item.references for item in reformed} == {"7": ("Quay",), "8": ("No. 5",)}
    assert reformed[1].tags["missing_images"] == ["COCO_train2014_000000000032.jpg"]


def test_records_without_a_name_are_numbered(items: Reformed, tmp_path: Path) -> None:
    covers = [{"image": "images/b1.jpg", "questions": ["Who wrote it?"], "answers": ["A. Nobody"]}]
    asked = [{"question": f"What is {n}?", "image": f"{n}.jpg", "answers": ["tea", "tea"]} for n in "ab"]
    scenes = [{"question": f"Is {n} red?", "imageId": n, "answer": n} for n in ("yes", "no")]
    cover = items("ocrvqa", written(tmp_path / "o", d_json=json.dumps(covers)))
    question = items("textvqa", written(tmp_path / "t", d_json=json.dumps({"data": asked})))
    assert {item.id: item.references for item in cover} == {"b1:0": ("A. Nobody",)}
    assert [(item.id, set(item.references)) for item in question] == [("1", {"tea"}), ("2", {"tea"})]
    assert golds(items("gqa", written(tmp_path / "g", d_json=json.dumps(scenes)))) == {"1": "yes", "2": "no"}


def test_files_called_alike_in_two_folders_are_two(items: Reformed, tmp_path: Path) -> None:
    for folder, answer in ((tmp_path / "v", "red"), (tmp_path / "v" / "dev", "blue")):
        written(folder, color_csv=f"category,question,answer\ntench,What colour is it?,{answer}\n")
    reformed = items("imagenetvc", tmp_path / "v")
    assert golds(reformed) == {"v/color:1": "red", "dev/color:1": "blue"}
    assert {item.tags["question_type"] for item in reformed} == {"color"}


def test_truth_may_be_written_as_truth_values(items: Reformed, tmp_path: Path) -> None:
    asked = [
        {"question_index": n, "question": "Is it?", "image_filename": "a.png", "answer": answer}
        for n, answer in enumerate((True, False, 2))
    ]
    halves = {"one_json": json.dumps({"questions": asked[:2]}), "two_json": json.dumps({"questions": asked[2:]})}
    reformed = items("clevr", written(tmp_path / "c", **halves))
    assert golds(reformed) == {"one:0": "yes", "one:1": "no", "two:2": "2"}


def test_flaws_may_be_rows(items: Reformed, tmp_path: Path) -> None:
    rows = 'image,flaws,unrecognizable\nVizWiz_val_1.jpg,"{""BLR"": 5, ""DRK"": 0}",1\n'
    reformed = items("vizwiz-quality", written(tmp_path / "v", val_csv=rows))
    assert golds(reformed) == {"VizWiz_val_1.jpg": "It is blurred"}


def test_pairs_may_come_without_their_images(items: Reformed, tmp_path: Path) -> None:
    pairs = written(tmp_path / "w", x_csv="id,caption_0,caption_1\n7,a cat on a mat,a mat on a cat\n")
    reformed = items("winoground", pairs)
    shown = {item.id: item.tags["missing_images"] for item in reformed}
    of_images = {shown[key][0]: gold for key, gold in golds(reformed).items() if len(shown[key]) == 1}
    assert of_images == {"ex_7_img_0": "a cat on a mat", "ex_7_img_1": "a mat on a cat"}


def test_articles_may_be_lines_of_one_file(items: Reformed, tmp_path: Path) -> None:
    def article(name: str) -> dict[str, Any]:
        steps = [
            {"headline": f"Do {name}{n}.", "img": f"https://x.org/{n}.jpg", "step_id": f"{name}_0_{n}"}
            for n in range(3)
        ]
        return {"file_id": name, "goal": "How to Do", "methods": [{"name": "", "steps": steps}]}

    reformed = items("wikihow", written(tmp_path / "w", WikihowText_json=lines([article("5"), article("6")])))
    assert golds(reformed) == {f"{name}_0_{n}": f"Do {name}{n}." for name in "56" for n in range(3)}
    assert reformed[0].tags["missing_images"] == ["5_0_0.png"]


def test_quotes_are_part_of_a_word_unless_a_comma_sets_it_off(items: Reformed, tmp_path: Path) -> None:
    words = written(tmp_path / "w", test_txt='1.png "Hi"\n2.png, "Hi"\n')
    assert {item.id: item.references for item in items("wordart", words)} == {"1.png": ('"Hi"',), "2.png": ("Hi",)}


def test_rows_may_have_lost_their_images(items: Reformed, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"image": None, "caption": ["A pier.", "A jetty."], "img_id": "3", "filename": "33.jpg"},
        {"image": {"bytes": None, "path": None}, "caption": ["A mole."], "img_id": "4", "filename": "44.jpg"},
    ]
    reformed = items("flickr30k", written(tmp_path / "f", test_jsonl=lines(rows)))
    assert {item.id: item.references for item in reformed} == {"3": ("A pier.", "A jetty."), "4": ("A mole.",)}
    assert [item.tags["missing_images"] for item in reformed] == [["33.jpg"], ["44.jpg"]]


@pytest.mark.parametrize("header", ["image,caption", "image_name,comment_number,comment"])
def test_captions_may_be_a_table(header: str, items: Reformed, tmp_path: Path) -> None:
    between = "0," if "number" in header else ""
    rows = f'{header}\n33.jpg,{between}"A pier, long ."\n33.jpg,{between}A jetty .\n44.jpg,{between}A mole .\n'
    reformed = items("flickr30k", written(tmp_path / "f", captions_csv=rows))
    expected = {"33.jpg": ("A pier, long .", "A jetty ."), "44.jpg": ("A mole .",)}
    assert {item.id: item.references for item in reformed} == expected


def test_expressions_are_found_beside_the_boxes(items: Reformed, tmp_path: Path) -> None:
    said = ("the tall cup", "the bowl")
    references = [
        {"ref_id": n, "ann_id": 70 + n, "image_id": 5, "sentences": [{"sent": words}]} for n, words in enumerate(said)
    ]
    boxes = [
        {"id": 70 + n, "image_id": 5, "category_id": 1, "bbox": [100 * n, 0, 50, 60]} for n in range(len(references))
    ]
    images = [{"id": 5, "file_name": "COCO_train2014_000000000005.jpg", "width": 300, "height": 200}]
    instances = {"images": images, "annotations": boxes, "categories": [{"id": 1, "name": "cup"}]}
    folder = written(tmp_path / "r", refs_json=json.dumps(references), instances_json=json.dumps(instances))
    reformed = golds(items("refcoco", folder / "instances.json"))
    assert reformed == golds(items("refcoco", folder / "refs.json")) == {"0": said[0], "1": said[1]}
