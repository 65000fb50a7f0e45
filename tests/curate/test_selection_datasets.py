"""Parts of a benchmark: what no compared model was trained on, and what somebody asked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.curate.selection import Candidate, only_with, plain_name, unseen
from eyetest.errors import InputError
from eyetest.records import ModelEntry

ITEMS = [
    Candidate("1", {"dimension": "CG", "task": "scene", "source": "TDIUC"}),
    Candidate("2", {"dimension": "CG", "task": "sport", "source": "TDIUC"}),
    Candidate("3", {"dimension": "FG", "task": "counting", "source": "COCO"}),
    Candidate("4", {"dimension": "VGR", "task": "vqa", "source": "OK-VQA"}),
    Candidate("5", {"dimension": "VGR", "task": "vqa", "source": "VQAv2"}),
    Candidate("6", {"dimension": "VGR", "task": "vqa"}),
]


def trained(*names: str) -> ModelEntry:
    return ModelEntry(spec="scripted:x", trained_on=names)


def test_all_tags_must_match_and_any_of_their_values() -> None:
    assert only_with(ITEMS, ["dimension=CG,FG"]) == ITEMS[:3]
    assert only_with(ITEMS, ["dimension=CG,FG", "task=sport,counting,vqa"]) == ITEMS[1:3]
    assert only_with(ITEMS, ["source=COCO, OK-VQA"]) == ITEMS[2:4]
    assert only_with(ITEMS, []) == ITEMS


def test_what_no_item_has_is_refused_with_the_nearest() -> None:
    with pytest.raises(InputError, match="no item has a tag 'dimensions'; did you mean \"dimension\""):
        only_with(ITEMS, ["dimensions=CG"])
    with pytest.raises(InputError, match="no item has the task 'count'; did you mean \"counting\""):
        only_with(ITEMS, ["task=vqa,count"])
    with pytest.raises(InputError, match="no item has the source 'vqa_V2'; did you mean \"VQAv2\""):
        only_with(ITEMS, ["source=vqa_V2"])
    with pytest.raises(InputError, match="no item has the dimension ''; known: CG, FG, VGR"):
        only_with(ITEMS, ["dimension=CG,"])
    with pytest.raises(InputError, match=r"no item has dimension 'CG' and source 'COCO' or 'VQAv2'$"):
        only_with(ITEMS, ["dimension=CG", "source=COCO,VQAv2"])


def test_the_union_of_what_the_models_trained_on_is_left_out() -> None:
    models = {"a": trained("vqa v2", "ok_vqa"), "b": trained("VQAV2"), "c": trained()}
    kept, notes = unseen(ITEMS, models, "source")
    assert [item.id for item in kept] == ["1", "2", "3", "6"]
    assert notes == [
        "1 item of OK-VQA left out: a trained on it",
        "1 item of VQAv2 left out: a, b trained on it",
        "c: nothing is known of what they were trained on (trained_on:)",
        "1 item without the tag source kept",
    ]


def test_a_name_that_matches_no_dataset_is_told_with_one_like_it() -> None:
    models = {"a": trained("VQA v2.0", "LLaVA-150k"), "b": trained("llava_150K")}
    kept, notes = unseen(ITEMS, models, "source")
    assert kept == ITEMS
    assert notes[:2] == [
        "a trained on VQA v2.0, which is not in this benchmark (nearest: VQAv2)",
        "a, b trained on LLaVA-150k, which is not in this benchmark",
    ]


def test_everything_may_be_left_out_and_another_tag_may_name_the_dataset() -> None:
    items = [Candidate("1", {"corpus": "coco"}), Candidate("2", {"corpus": "COCO"})]
    kept, notes = unseen(items, {"a": trained("Coco")}, "corpus")
    assert kept == []
    assert [note.split(" left out")[0] for note in notes] == ["1 item of COCO", "1 item of coco"]
    with pytest.raises(InputError, match="no item has a tag 'source'"):
        unseen(items, {"a": trained("Coco")}, "source")


@given(st.lists(st.sampled_from(["ok", "VQA", "v2", "Coco", "é"]), min_size=1, max_size=4), st.data())
def test_names_are_the_same_however_they_are_joined_and_cased(words: list[str], data: st.DataObject) -> None:
    joints = st.sampled_from(["-", "_", " ", "", " - ", "–"])
    written = words[0]
    for word in words[1:]:
        written += data.draw(joints) + data.draw(st.sampled_from([word, word.upper(), word.lower()]))
    assert plain_name(written) == plain_name("".join(words))


def test_names_of_nothing_but_separators_stay_apart() -> None:
    assert plain_name("-") != plain_name("_")
    assert plain_name("CIFAR10") != plain_name("CIFAR100")
