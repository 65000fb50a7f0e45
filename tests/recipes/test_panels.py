"""Who sits where: named, by the recipe, or all there are; another size is refused unless the recipe allows it."""

from typing import Any

import msgspec
import pytest

from eyetest.errors import InputError
from eyetest.recipes.panels import Seated, answer_notes, answering_models, recorded, seat
from eyetest.records import ModelEntry, Panel, Recipe
from tests.measures.tables import results

MODELS = {name: ModelEntry(spec="scripted:", base="base-of-b" if name == "b" else None) for name in "abcde"}


def recipe(rescale: bool = False, **panel: Any) -> Recipe:
    made = msgspec.convert({"size": 3, "modality": "no-image", **panel}, Panel)
    return Recipe(panels={"inspectors": made}, rescale={"inspectors": "proportional"} if rescale else {})


def seated(found: Recipe, *named: str, models: str = "abcde", hold_out: str = "") -> tuple[str, str]:
    """Who decides and who is held out, as letters."""
    known = {name: MODELS[name] for name in models}
    panels = seat(found, known, {"inspectors": named} if named else {}, tuple(hold_out))
    one = panels["inspectors"]
    return "".join(s.model for s in one.seats), "".join(s.model for s in one.held_out)


def test_the_named_ones_in_their_order() -> None:
    assert seated(recipe(), "c", "a", "b") == ("cab", "")


def test_those_of_the_recipe_or_all_there_are() -> None:
    assert seated(recipe(models={"b": {}, "a": {}, "e": {}})) == ("bae", "")
    assert seated(recipe(), models="abd") == ("abd", "")
    assert seated(recipe(models={"b": {}, "a": {}, "e": {}}), "c", "d", "e") == ("cde", "")


def test_bases_are_known() -> None:
    panels = seat(recipe(), MODELS, {"inspectors": ["a", "b", "c"]})
    assert [one.base for one in panels["inspectors"].seats] == [None, "base-of-b", None]


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("", "panel inspectors has 3 seats, not 5: name its models with --panel inspectors="),
        ("ab", "panel inspectors has 3 seats, not 2"),
        ("abx", "panel inspectors: no model x; there are a, b, c, d, e"),
        ("aab", "panel inspectors: a has 2 seats; a model has one"),
    ],
)
def test_a_panel_that_does_not_fit(named: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        seated(recipe(), *named)
    assert str(error.value).startswith(message)


def test_another_size_where_the_recipe_says_how() -> None:
    assert seated(recipe(rescale=True)) == ("abcde", "")
    assert seated(recipe(rescale=True), "a") == ("a", "")


def test_a_panel_of_nobody_is_never_right() -> None:
    with pytest.raises(InputError, match="3 seats, not 0"):
        seated(recipe(rescale=True), "a", hold_out="a")


def test_who_is_held_out() -> None:
    assert seated(recipe(held_out=2)) == ("abc", "de")
    assert seated(recipe(held_out=2), "a", "b", "c") == ("abc", ""), "three are a panel without anybody held out"
    assert seated(recipe(), hold_out="ad") == ("bce", "ad")
    assert seated(recipe(held_out=2), hold_out="ad") == ("bce", "ad"), "the user's word goes first"


def test_somebody_who_is_nowhere_cannot_be_held_out() -> None:
    with pytest.raises(InputError, match=r"--hold-out: x is on no panel"):
        seated(recipe(), "a", "b", "c", hold_out="x")
    with pytest.raises(InputError, match=r"--hold-out: d is on no panel"):
        seated(recipe(), "a", "b", "c", hold_out="d")


def test_an_unknown_panel() -> None:
    with pytest.raises(InputError, match='no panel "inspector"; it has inspectors'):
        seat(recipe(), MODELS, {"inspector": ["a"]})


def test_orders_are_conditions_of_their_own() -> None:
    one = seat(recipe(orders=3, samples=2), MODELS, {"inspectors": "abc"})["inspectors"]
    assert [(condition.order, condition.modality) for condition in one.conditions()] == [
        *((order, "no-image") for order in range(3))
    ]
    assert one.tests == 6


# Recorded answers.


def said(*rows: dict[str, Any]) -> Any:
    return results([{"modality": "no-image", "score": 1, **row} for row in rows])


def hear(found: Any, names: str = "a", **panel: Any) -> list[tuple[Any, ...]]:
    one = seat(recipe(**panel, rescale=True), MODELS, {"inspectors": names})["inspectors"]
    frame = recorded(found, one)
    return frame.select("item", "model", "ask", "sample").sort("item", "model", "ask", "sample").rows()


def test_the_panels_own_protocol_is_heard() -> None:
    found = said(
        {"item": "1", "model": "a", "ask": "cot"},
        {"item": "1", "model": "a", "ask": "direct"},
        {"item": "1", "model": "a", "modality": "image"},
        {"item": "1", "model": "b"},
    )
    assert hear(found) == [("1", "a", "direct", 0)]
    assert hear(found, ask="cot") == [("1", "a", "cot", 0)]


def test_another_protocol_if_there_is_only_one() -> None:
    found = said({"item": "1", "model": "a", "ask": "cot"}, {"item": "2", "model": "a", "ask": "cot"})
    assert hear(found) == [("1", "a", "cot", 0), ("2", "a", "cot", 0)]
    both = said({"item": "1", "model": "a", "ask": "cot"}, {"item": "2", "model": "a", "ask": "ocr"})
    with pytest.raises(InputError, match="panel inspectors: a was asked in 2 ways"):
        hear(both)


def test_as_many_tests_as_the_panel_makes() -> None:
    found = said(*({"item": "1", "model": "a", "sample": sample} for sample in (5, 3, 1)))
    assert [row[3] for row in hear(found)] == [1]
    assert [row[3] for row in hear(found, samples=2)] == [1, 3]
    assert [row[3] for row in hear(found, orders=4)] == [1, 3, 5]


def test_who_answered_with_a_modality() -> None:
    found = said(
        {"item": "1", "model": "b"}, {"item": "1", "model": "a"}, {"item": "1", "model": "c", "modality": "gray"}
    )
    assert answering_models(found, Panel(size=1, modality="no-image")) == ["a", "b"]
    assert isinstance(seat(recipe(rescale=True), MODELS, {})["inspectors"], Seated)


def test_without_the_image_is_without_the_image_however_it_was_asked() -> None:
    """The panel's own words go first; else the way in which most is answered."""
    ways = {"no-image": (1, 0, 0), "no-image-guess": (1, 1, 0), "gray": (0, 0, 1)}
    rows = [
        {"item": str(i), "model": "a", "modality": modality, "score": float(score)}
        for modality, scores in ways.items()
        for i, score in enumerate(scores)
    ]
    found, other = said(*rows), said(*(row for row in rows if row["modality"] != "no-image"))
    one = seat(recipe(rescale=True), MODELS, {"inspectors": "a"})["inspectors"]
    assert set(recorded(found, one)["modality"]) == {"no-image"}
    heard = recorded(other, one)
    assert set(heard["modality"]) == {"no-image-guess"}
    assert answering_models(other, one.panel) == ["a"]
    assert answer_notes(one, recorded(found, one)) == []
    assert answer_notes(one, heard) == ["panel inspectors: a without answers for no-image; no-image-guess is used"]


def test_a_image_is_not_to_be_had_for_none() -> None:
    with pytest.raises(InputError, match="a answered nothing with modality no-image or no-image-guess or gray"):
        hear(said({"item": "1", "model": "a", "modality": "nothing"}))
    with pytest.raises(InputError, match=r"a answered nothing with modality image$"):
        hear(said({"item": "1", "model": "a"}), modality="image")
