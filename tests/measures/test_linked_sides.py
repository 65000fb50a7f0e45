from typing import Any

import pytest

from eyetest.errors import InputError
from eyetest.measures import NotMeasurable, Results, Settings
from eyetest.measures.linked import TwoSettings, sides
from tests.measures.tables import results


def compare(of: Results, start: str, end: str, **more: Any) -> TwoSettings:
    return sides(of, Settings(own={"from": start, "to": end}, **more))


def asked(item: str, score: float | None, **more: Any) -> dict[str, Any]:
    return {"item": item, "score": score, **more}


BOTH = [asked("1", 1), asked("1", 0, ask="cot"), asked("2", 1), asked("3", 1, ask="cot")]


def test_tests_are_averaged_and_items_meet() -> None:
    two = compare(results([*BOTH, asked("1", 0, template=1)]), "ask=direct", "ask=cot")
    assert two.keys == ["model"]
    assert two.before.select("item", "score").rows() == [("1", 0.5), ("2", 1)]
    assert two.after.select("item", "score").rows() == [("1", 0), ("3", 1)]
    assert two.shared.select("item", "score", "score_after").rows() == [("1", 0.5, 0)]


def test_what_is_not_named_stays_apart() -> None:
    rows = [row | {"modality": modality} for row in BOTH for modality in ("image", "no-image")]
    two = compare(results(rows), "ask=direct", "ask=cot")
    assert two.keys == ["model", "modality"]
    assert len(two.shared) == 2


def test_benchmarks_meet_by_item() -> None:
    rows = [asked("1", 1, benchmark="old"), asked("1", 0, benchmark="new", modality="screenshot")]
    two = compare(results(rows), "benchmark=old", "benchmark = new , modality=screenshot")
    assert two.shared.select("score", "score_after").rows() == [(1, 0)]


def test_numbers_are_numbers() -> None:
    rows = [asked("1", 1, order=0), asked("1", 0, order=12)]
    assert compare(results(rows), "order=0", "order=12").shared.select("score_after").item() == 0


def test_a_mixture_has_to_be_told_apart() -> None:
    rows = [asked("1", 1), asked("1", 1, modality="no-image"), asked("1", 0, ask="cot", modality="screenshot")]
    with pytest.raises(InputError, match="from: say which modality is meant: image, no-image"):
        compare(results(rows), "ask=direct", "ask=cot,modality=screenshot")


def test_failed_calls_are_on_neither_side() -> None:
    two = compare(results([*BOTH, asked("4", None), asked("4", 1, ask="cot")]), "ask=direct", "ask=cot")
    assert two.shared.get_column("item").to_list() == ["1"]


@pytest.mark.parametrize(
    ("start", "end", "why"),
    [
        ("ask", "ask=cot", "from: 'ask' is not axis=value"),
        ("ask=", "ask=cot", "from: 'ask=' is not axis=value"),
        ("ask=direct", "asks=cot", 'to: no axis .*did you mean "ask"'),
        ("order=x", "order=1", "from: order is a whole number"),
    ],
)
def test_what_cannot_be_understood(start: str, end: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        compare(results(BOTH), start, end)


@pytest.mark.parametrize(
    ("start", "end", "why"),
    [
        ("", "ask=cot", "linked: say what to compare"),
        ("ask=direct", "", "linked: say what to compare"),
        ("ask=direct", "ask=ocr", "linked: nothing was scored under ask=ocr"),
    ],
)
def test_what_cannot_be_compared(start: str, end: str, why: str) -> None:
    with pytest.raises(NotMeasurable, match=why):
        compare(results(BOTH), start, end)


def test_sides_that_differ_in_something_unnamed() -> None:
    rows = [asked("1", 1), asked("1", 0, ask="cot", shots="two")]
    with pytest.raises(NotMeasurable, match="linked: no model was asked both ways with the same model, shots"):
        compare(results(rows), "ask=direct", "ask=cot")


def test_by_tag() -> None:
    two = compare(results(BOTH, [{"item": "1", "tag.kind": "x"}]), "ask=direct", "ask=cot", by=("kind",))
    assert two.keys == ["model", "tag.kind"]
    assert two.shared.get_column("tag.kind").to_list() == ["x"]
