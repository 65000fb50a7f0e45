"""The share of unread answers beside every accuracy, and the note above 5 %."""

from typing import Any

import pytest

from eyetest.measures import MEASURES, Settings
from eyetest.measures.printed import caveats
from tests.measures.tables import results

FEW = Settings(resamples=100)
UNREAD: tuple[dict[str, Any], ...] = (
    {"reading": "refused"},
    {"reading": "ambiguous"},
    {"reading": "unparsed"},
    {"reading": "cut off", "outcome": "truncated"},
    {"reading": None, "outcome": "blocked"},
    {"reading": None, "outcome": "failed", "score": None},
)
READ: tuple[dict[str, Any], ...] = (
    {"reading": "chosen"},
    {"reading": "text"},
    {"reading": "unparsed", "rule": "given", "metric": "given"},
    {"reading": None, "rule": "given", "metric": "given"},
)


def answers(*kinds: dict[str, Any], model: str = "m", modality: str = "image") -> list[dict[str, Any]]:
    return [
        {"model": model, "modality": modality, "item": str(i), "score": 0.0} | kind for i, kind in enumerate(kinds)
    ]


@pytest.mark.parametrize(("kind", "share"), [*((kind, 0.5) for kind in UNREAD), *((kind, 0.0) for kind in READ)])
def test_every_kind_of_answer_is_read_or_unread(kind: dict[str, Any], share: float) -> None:
    """An imported score stands whatever our rules make of the words."""
    table = MEASURES["accuracy"].measure(results(answers({"score": 1.0}, kind)), FEW).table
    assert table.item(0, "unread") == share
    assert table.columns[:5] == ["model", "accuracy", "accuracy_low", "accuracy_high", "unread"]


def test_unread_answers_are_wrong_and_failed_calls_are_left_out() -> None:
    found = results(answers({"score": 1.0}, {"reading": "unparsed"}, UNREAD[-1]))
    row = MEASURES["accuracy"].measure(found, FEW).table.row(0, named=True)
    assert (row["accuracy"], row["n"], row["unscored"]) == (0.5, 2, 1)
    assert row["unread"] == pytest.approx(2 / 3)


@pytest.mark.parametrize("name", ["accuracy", "guessing", "ranks", "circular", "overall"])
def test_the_share_is_that_of_the_row_in_every_table_of_accuracies(name: str) -> None:
    items = [{"item": str(i), "options": 4, "group": f"g{i // 2}", "tag.task": f"t{i % 2}"} for i in range(4)]
    rows = []
    for model, unread in (("a", 1), ("b", 3)):
        kinds = [{"reading": "unparsed"}] * unread + [{"score": 1.0}] * (4 - unread)
        rows += answers(*kinds, model=model)
    table = MEASURES[name].measure(results(rows, items), FEW).table
    assert dict(table.select("model", "unread").iter_rows()) == {"a": 0.25, "b": 0.75}


def test_by_tag_and_protocol_each_row_has_its_own_share() -> None:
    items = [{"item": str(i), "tag.core": "x" if i < 2 else "y"} for i in range(4)]
    rows = answers({"reading": "unparsed"}, {}, {}, {}) + answers(
        {}, {}, {}, {"reading": "refused"}, modality="no-image"
    )
    table = MEASURES["accuracy"].measure(results(rows, items), Settings(by=("core",))).table
    shares = {
        (modality, core): share
        for modality, core, share in table.select("modality", "tag.core", "unread").iter_rows()
    }
    assert shares == {("image", "x"): 0.5, ("image", "y"): 0.0, ("no-image", "x"): 0.0, ("no-image", "y"): 0.5}


def test_above_five_per_cent_a_note_names_the_model_and_the_share() -> None:
    """Of 2,318 replies 2,306 could not be read: an accuracy of 0 says nothing about the model."""
    broken = answers(*[{"reading": "unparsed"}] * 2_306, *[{}] * 12, model="broken")
    fine = answers(*[{"reading": "refused"}] * 5, *[{"score": 1.0}] * 95, model="fine")
    (note,) = caveats(results(broken + fine))
    assert note.endswith("broken 99 % (2,306 of 2,318, mostly unparsed)")
    assert "fine" not in note
    assert caveats(results(fine)) == ()
    (note,) = caveats(
        results(fine + answers(*[{"reading": None, "outcome": "failed"}] * 7, {}, model="fine", modality="no-image"))
    )
    assert "fine, no-image 88 % (7 of 8, mostly failed)" in note


def test_yes_and_no_count_what_says_neither() -> None:
    items = [{"item": str(i), "yes": True, "options": 2} for i in range(4)]
    rows = answers({"score": 1.0}, {}, {"reading": "unparsed"}, UNREAD[-1])
    row = MEASURES["yes-no"].measure(results(rows, items), FEW).table.row(0, named=True)
    assert (row["unread"], row["n"]) == (0.5, 3)
    assert row["accuracy"] == pytest.approx(1 / 3)
