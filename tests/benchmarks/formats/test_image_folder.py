"""Folders of images as classifiers are trained on and as Hugging Face loads them."""

import json
from pathlib import Path

import pytest

from eyetest.benchmarks import Benchmark, import_benchmark, open_benchmark
from eyetest.errors import InputError
from tests.conftest import png

COLOURS = {"tabby_cat": "red", "dog": "blue", "bird": "green"}


def draw(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(png(COLOURS.get(Path(name).parent.name, "red")))
    return root


def imported(root: Path) -> Benchmark:
    return import_benchmark(root, root.parent / "b")[0]


def test_a_folder_is_a_class(tmp_path: Path) -> None:
    root = draw(tmp_path / "pets", "tabby_cat/1.png", "dog/1.png", "dog/deep/../2.JPG", "bird/1.png", "readme.png")
    benchmark = imported(root)

    assert benchmark.manifest.origin.format == "imagefolder"
    assert [item.id for item in benchmark] == ["bird/1.png", "dog/1.png", "dog/2.JPG", "tabby_cat/1.png"]
    cat = benchmark["tabby_cat/1.png"]
    assert cat.question == "What does this image show?"
    assert [(choice.text, choice.correct) for choice in cat.choices] == [
        ("bird", False),
        ("dog", False),
        ("tabby cat", True),
    ]
    assert benchmark.images.read(cat.images[0]) == png("red")


def test_splits_become_a_tag_and_not_a_class(tmp_path: Path) -> None:
    root = draw(tmp_path / "pets", "train/dog/1.png", "train/bird/1.png", "test/dog/1.png")
    found = {item.id: (item.tags, item.choices[item.gold[0]].text) for item in imported(root)}
    assert found["test/dog/1.png"] == ({"split": "test"}, "dog")
    assert found["train/bird/1.png"] == ({"split": "train"}, "bird")


def test_classes_that_are_numbers_are_golds_by_name(tmp_path: Path) -> None:
    root = draw(tmp_path / "digits", *(f"{digit}/a.png" for digit in range(4)))
    assert [item.choices[item.gold[0]].text for item in imported(root)] == ["0", "1", "2", "3"]


def test_more_classes_than_letters_are_asked_for_openly(tmp_path: Path) -> None:
    root = draw(tmp_path / "many", *(f"class {number:02d}/a.png" for number in range(27)))
    items = list(imported(root))
    assert [item.references for item in items[:2]] == [("class 00",), ("class 01",)]
    assert not any(item.choices for item in items)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_metadata_says_what_images_show(tmp_path: Path, kind: str) -> None:
    root = draw(tmp_path / "pets", "a.png", "more/b.png")
    rows = [{"file_name": "a.png", "label": "dog", "source": "web"}, {"file_name": "more/b.png", "label": "bird"}]
    lines = (
        [json.dumps(row) for row in rows]
        if kind == "jsonl"
        else ["file_name,label,source", "a.png,dog,web", "more/b.png,bird,"]
    )
    (root / f"metadata.{kind}").write_text("\n".join(lines))

    first, second = imported(root)
    assert (first.id, first.tags, first.gold) == ("a.png", {"source": "web"}, (1,))
    assert (second.id, [choice.text for choice in second.choices]) == ("more/b.png", ["bird", "dog"])


def test_metadata_of_splits_may_bring_questions(tmp_path: Path) -> None:
    root = draw(tmp_path / "vqa", "train/a.png", "test/a.png")
    for split, question in (("train", "Which?"), ("test", "What?")):
        row = {"file_name": "a.png", "question": question, "options": ["x", "y"], "answer": "y"}
        (root / split / "metadata.jsonl").write_text(json.dumps(row))
    assert [(item.id, item.question, item.gold, item.tags) for item in imported(root)] == [
        ("test/a.png", "What?", (1,), {"split": "test"}),
        ("train/a.png", "Which?", (1,), {"split": "train"}),
    ]


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ("name,label\na.png,x\n", "has no column file_name"),
        ("file_name,label\n../secret.png,x\na.png,y\n", "which leaves"),
        ("file_name,label\nnone.png,x\na.png,y\n", "no such file"),
        ("file_name,label\n,x\n", "expected the name of an image"),
        ("file_name,text\na.png,A dog.\n", "no column for the question"),
    ],
)
def test_metadata_that_is_wrong_is_told(tmp_path: Path, metadata: str, message: str) -> None:
    (tmp_path / "secret.png").write_bytes(png())
    root = draw(tmp_path / "pets", "a.png")
    (root / "metadata.csv").write_text(metadata)
    with pytest.raises(InputError) as caught:
        imported(root)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_images_that_lead_out_or_are_none_are_refused(tmp_path: Path) -> None:
    root = draw(tmp_path / "pets", "dog/1.png", "bird/1.png")
    (tmp_path / "secret.png").write_bytes(png())
    (root / "dog/2.png").symlink_to(tmp_path / "secret.png")
    with pytest.raises(InputError, match="which leaves"):
        imported(root)
    (root / "dog/2.png").unlink()
    (root / "dog/2.png").write_text("no image")
    with pytest.raises(InputError, match="which is no image"):
        imported(root)


def test_a_folder_of_images_alone_is_no_benchmark(tmp_path: Path) -> None:
    for root in (draw(tmp_path / "one", "images/1.png"), draw(tmp_path / "splits", "train/1.png", "test/1.png")):
        with pytest.raises(InputError, match="is no benchmark that eyetest recognises"):
            imported(root)


def test_a_image_more_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EYETEST_CACHE", str(tmp_path / "cache"))
    root = draw(tmp_path / "pets", "dog/1.png", "bird/1.png")
    assert len(open_benchmark(root)) == 2
    draw(root, "dog/2.png")
    assert len(open_benchmark(root)) == 3
