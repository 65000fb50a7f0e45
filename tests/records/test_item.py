from typing import Any

import msgspec
import pytest

from eyetest.errors import ItemError
from eyetest.records import Choice, ImageRef, Item, Turn, check, image_numbers, letter
from tests.support.refusals import refusal

IMAGE = ImageRef(sha256="a" * 64, format="png", width=4, height=3, size=90)


def item(**fields: Any) -> Item:
    return Item(**({"id": "1", "question": "What?", "references": ("it",)} | fields))


def test_the_gold_travels_with_the_choice() -> None:
    choices = (Choice("cat"), Choice("dog", True), Choice("bird"))
    made = item(references=(), choices=choices)
    turned = msgspec.structs.replace(made, choices=choices[::-1])
    assert (made.gold, turned.gold) == ((1,), (1,))
    assert msgspec.structs.replace(made, choices=(choices[1], choices[0])).gold == (0,)


def test_images_are_named_in_question_hint_and_choices() -> None:
    choices = (Choice("<image 3>", True), Choice("as in <image 1>"))
    made = item(question="See <image 2>.", hint="<image 1>", references=(), choices=choices, images=(IMAGE,) * 3)
    assert made.image_numbers == (2, 1, 3)
    assert choices[1].images == (1,)
    assert image_numbers("<image 0> <image x> <image 12>< image 3>") == (0, 12)


@pytest.mark.parametrize(
    ("fields", "field", "found"),
    [
        ({"id": " "}, "id", "' '"),
        ({"question": "\n"}, "question", "neither text nor image"),
        ({"references": ()}, "answer", "no gold answer"),
        ({"references": (" ",)}, "answer", "no gold answer"),
        ({"references": (), "choices": (Choice("a"), Choice("b"))}, "answer", "no gold answer"),
        ({"references": (), "choices": (Choice("a", True),) * 27}, "choices", "27 options"),
        ({"choices": (Choice("a", True),)}, "references", "references beside choices"),
        ({"tags": {"": 1}}, "tags", "''"),
    ],
)
def test_an_error_names_item_and_field_and_what_was_found(fields: dict[str, Any], field: str, found: str) -> None:
    made = item(**fields)
    for where, before in (("", ""), ("b.tsv row 7", "b.tsv row 7: ")):
        line = refusal(check, made, where, error=ItemError)
        assert line.startswith(f"{before}item {made.id!r}: {field}: found {found}, expected ")


def test_sound_items_have_no_problems() -> None:
    for made in (
        item(),
        item(question="", images=(IMAGE,)),
        item(references=("a", "", "b"), hint="h", history=(Turn("q", "a"),)),
        item(references=(), choices=(Choice("nan", True), Choice("nan"))),
        item(question="<image 5>"),
        *(item(references=(), choices=(Choice("x", True),) * count) for count in (1, 2, 9, 12, 26)),
    ):
        check(made)
    check(item(references=()), gold_required=False)
    assert (letter(0), letter(25)) == ("A", "Z")
