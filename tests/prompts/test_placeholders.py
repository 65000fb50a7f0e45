from collections.abc import Callable
from functools import partial

import pytest

from eyetest.prompts.building import label, label_within, remove
from tests.support.work import steps


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("two  spaces <image>", "two  spaces <image>"),
        ("a <image 1> b", "a b"),
        ("a<image 1>b", "a b"),
        ("如图<image 1>所示", "如图所示"),
        ("<image 1> What?", "What?"),
        ("<image 1>\nWhat?", "What?"),
        ("Q\n <image 1> <image 2>\nWhat?", "Q\nWhat?"),
        ("Look at <image 1>.", "Look at."),
        ("the circuit (<image 1>) has", "the circuit has"),
        ("[<image 1>]", ""),
        ("(<image 1> left)", "(left)"),
        ("<image 1> <image 2>", ""),
        ("keep  this <image 1> as  it is", "keep  this as  it is"),
        ("in <image1> than in <IMAGE_2>?", "in than in?"),
        ("<img 1><img2>What? <|image_3|>", "What?"),
        ("<image x> and <imagination 1>", "<image x> and <imagination 1>"),
    ],
)
def test_removal_leaves_no_gap(text: str, left: str) -> None:
    assert remove(text) == left


def test_only_unknown_ones_are_removed() -> None:
    assert remove("<image 1> and <image 2>, <image 3>", known=2) == "<image 1> and <image 2>,"
    assert remove("<image 0>x <image 1>", known=1) == "x <image 1>"


def test_labels() -> None:
    assert label("as <image 01> and <image 2>") == "as [image 1] and [image 2]"
    assert label("as <image 1> and <image 2>", known=1) == "as <image 1> and [image 2]"
    assert label_within("<image 1>\n See <image 2> <image 3>\n<image 2>", images=2) == " See [image 2]\n"


@pytest.mark.parametrize(
    "hostile",
    [
        lambda n: "<image 1> " * n,
        lambda n: "<image 1>" + " " * 10 * n,
        lambda n: "(" * 4 * n + "<image 1>",
        lambda n: "<image " * 2 * n,
    ],
)
def test_work_on_hostile_texts_grows_as_they_do(hostile: Callable[[int], str]) -> None:
    """Calls are counted here; what happens inside patterns is measured in ``speed/hostile.py``."""
    small, large = hostile(2_000), hostile(8_000)
    works: list[Callable[[str], str]] = [remove, label, lambda text: label_within(text, 1)]
    for work in works:
        assert steps(partial(work, large)) <= 4.5 * steps(partial(work, small)) + 100
