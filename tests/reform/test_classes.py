"""Datasets of images with a class: every published form is read, and golds are those of the files."""

import json
from pathlib import Path

import pytest

from eyetest.errors import InputError
from eyetest.reform.building import Reforming, reform
from eyetest.reform.catalog import load_dataset
from tests.conftest import png
from tests.reform.conftest import Reformed, golds, written

NAMES = ["n01514668 cock", "n02391049 zebra", "n07753592 banana"]


def test_every_form_of_imagenet_labels_is_read(items: Reformed, tmp_path: Path) -> None:
    names = "\n".join(NAMES)
    forms = {
        "val_txt": "ILSVRC2012_val_00000001.JPEG 2\nILSVRC2012_val_00000002.JPEG 0\n",
        "LOC_val_solution_csv": "ImageId,PredictionString\r\nILSVRC2012_val_00000001,n07753592 1 2 3 4 \r\n"
        "ILSVRC2012_val_00000002,n01514668 1 2 3 4 \r\n",
        "val_annotations_txt": "ILSVRC2012_val_00000001.JPEG\tn07753592\t0\t0\t9\t9\n"
        "ILSVRC2012_val_00000002.JPEG\tn01514668\t0\t0\t9\t9\n",
    }
    for name, text in forms.items():
        folder = written(tmp_path / name, synset_words_txt=names, **{name: text})
        expected = {"ILSVRC2012_val_00000001": "banana", "ILSVRC2012_val_00000002": "cock"}
        assert golds(items("imagenet-1k", folder)) == expected


def test_folders_by_class_are_read_with_their_images(items: Reformed, tmp_path: Path) -> None:
    for synset in ("n02391049", "n07753592"):
        (tmp_path / "val" / synset).mkdir(parents=True)
        (tmp_path / "val" / synset / "a.JPEG").write_bytes(png())
    written(tmp_path / "val", synset_words_txt="\n".join(NAMES))
    reformed = items("imagenet-1k", tmp_path / "val", images=tmp_path / "val")
    assert golds(reformed) == {"n02391049/a.JPEG": "zebra", "n07753592/a.JPEG": "banana"}
    assert all(item.images for item in reformed)
    for number in (21, 3):
        (tmp_path / "flowers/valid" / str(number)).mkdir(parents=True)
        (tmp_path / "flowers/valid" / str(number) / "image_1.jpg").write_bytes(png())
    assert list(golds(items("flowers102", tmp_path / "flowers")).values()) == ["fire lily", "canterbury bells"]


@pytest.mark.parametrize(("name", "file"), [("cifar10", "test_batch"), ("refcoco", "refs(unc).p")])
def test_pickles_are_not_read(items: Reformed, tmp_path: Path, name: str, file: str) -> None:
    """These nine bytes make a list of 2 GB where they are unpickled."""
    (tmp_path / file).write_bytes(b"\x80\x04]r\xff\xff\xff\x0f.")
    with pytest.raises(InputError, match=r"docs/reform\.md"):
        items(name, tmp_path)


def test_other_files_are_answered_with_what_was_expected(items: Reformed, tmp_path: Path) -> None:
    written(tmp_path / "x", odd_txt="something else entirely\n", broken_json="{")
    for name in ("imagenet-1k", "cifar10", "flowers102", "pets37", "medic"):
        with pytest.raises(InputError, match=r"expected|not JSON"):
            items(name, tmp_path / "x")


def test_a_limit_counts_items_and_unusable_images_are_counted(items: Reformed, tmp_path: Path) -> None:
    words = ("tomato", "bread", "milk", "tea", "rice")
    records = [{"question_id": n, "image": f"../{n}.jpg", "question": "What is this?"} for n in range(5)]
    votes = [[{"answer": vote} for vote in (word, word, "x")] for word in words]
    answered = [{"question_id": n, "answers": own} for n, own in enumerate(votes)]
    twice = {"questions": [records[0], *records]}
    folder = written(tmp_path / "v", q_json=json.dumps(twice), a_json=json.dumps({"annotations": answered}))
    (tmp_path / "v/images").mkdir()
    plan = Reforming(
        dataset=load_dataset("vizwiz"), annotations=(folder,), images=folder / "images", to=tmp_path / "r", limit=4
    )
    for n in range(5):
        (folder / f"{n}.jpg").write_bytes(png())
    done = reform(plan)
    assert golds(list(done.benchmark)) == dict(zip("0123", words, strict=False))
    assert (done.items, done.passed_over) == (4, {"the same record again": 1})
    assert [note for note in done.notes if "4 images cannot be used" in note and "(4 such)" in note]
