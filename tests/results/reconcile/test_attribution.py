"""The parts of a gap sum to the gap, whatever two accounts look like; each cause is found where it was planted."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.errors import InputError
from eyetest.results.reconcile import CAUSES, Account, Credit, attribute, paired_by_order, reconciled

LONG = "The reply goes on for a while before it says {} at its very end."
SCORES = st.none() | st.sampled_from([Fraction(0), Fraction(1)]) | st.floats(0, 1, width=16).map(Fraction)
CREDITS = st.builds(
    Credit,
    item=st.sampled_from("1234567"),
    group=st.sampled_from(["m", "n"]),
    text=st.none() | st.sampled_from(["A", "B", LONG.format("A"), LONG.format("B"), LONG.format("A")[:30]]),
    failed=st.booleans(),
    truncated=st.booleans(),
    reading=st.none() | st.sampled_from("ABC"),
    reader=st.sampled_from(["rules", "judge", "guess", "none", "unknown"]),
    gold=st.none() | st.sampled_from(["A", "B", "A C"]),
    score=SCORES,
    by_text=st.booleans(),
)


def accounts(*, once: bool = False) -> st.SearchStrategy[Account]:
    unique_by = (lambda credit: (credit.group, credit.item)) if once else None
    rows = st.lists(CREDITS, min_size=1, max_size=14, unique_by=unique_by)
    return rows.map(lambda rows: Account("x", tuple(rows))).filter(lambda account: account.counted > 0)


@given(accounts(), accounts())
def test_the_parts_are_the_gap_exactly(a: Account, b: Account) -> None:
    told = reconciled(a, b)
    assert sum((share.points for share in told.shares), Fraction(0)) == told.gap == b.score - a.score
    assert sum(told.causes["points"]) == pytest.approx(float(100 * told.gap))
    assert set(told.causes["cause"]) <= CAUSES.keys()


@given(accounts(once=True), accounts(once=True))
def test_swapping_the_sides_swaps_the_signs(a: Account, b: Account) -> None:
    there, back = (dict(reconciled(*sides).causes.select("cause", "points").rows()) for sides in ((a, b), (b, a)))
    assert there == {cause: -points for cause, points in back.items()}


def credit(item: str, **more: object) -> Credit:
    base = {"text": LONG.format(f"B for {item}"), "reading": "B", "reader": "rules", "gold": "B"}
    return Credit(**({"item": item, "score": Fraction(1)} | base | more))  # type: ignore[arg-type]


WRONG: dict[str, object] = {"reading": "A", "score": Fraction(0)}
SAME = [credit(str(number)) for number in range(8)]
PLANTED = {
    "reading": (credit("x"), credit("x", **WRONG)),
    "unread": (credit("x"), credit("x", reading=None, reader="none", score=Fraction(0))),
    "judge": (credit("x"), credit("x", reader="judge", **WRONG)),
    "guess": (credit("x"), credit("x", reader="guess", **WRONG)),
    "errors": (credit("x", failed=True, text=None, score=None), credit("x", failed=True, score=Fraction(0))),
    "truncated": (credit("x"), credit("x", text=LONG[:30], **WRONG)),
    "replies": (credit("x"), credit("x", text="Something else altogether, at length.", **WRONG)),
    "gold": (credit("x"), credit("x", gold="D", score=Fraction(0))),
    "metric": (credit("x"), credit("x", score=Fraction(1, 3))),
    "unscored": (credit("x"), credit("x", gold=None, score=None)),
    "dropped": (credit("x", **WRONG), None),
}


@pytest.mark.parametrize("cause", PLANTED)
def test_a_planted_cause_is_the_only_one(cause: str) -> None:
    one, other = PLANTED[cause]
    a, b = ([*SAME, *([row] if row else [])] for row in (one, other))
    told = reconciled(Account("a", tuple(a)), Account("b", tuple(b)))
    assert told.causes.select("cause", "rows").rows() == [(cause, 1)]
    assert [share.item for share in told.shares] == ["x"]


def test_a_row_that_is_there_twice() -> None:
    again = credit("3", text="Another one, rather long.", **WRONG)
    told = reconciled(Account("a", tuple(SAME)), Account("b", (*SAME, again)))
    assert told.causes.select("cause", "rows").rows() == [("duplicate", 1)]
    assert told.gap == Fraction(8, 9) - 1
    assert paired_by_order(told.a, Account("b", (*SAME, again))) == 1
    tested = Account("t", (credit("3", test="0"), credit("3", test="1")))
    assert (paired_by_order(tested, tested), paired_by_order(tested, Account("u", (credit("3"),)))) == (0, 1)


def test_another_gold_and_another_reading_share_what_they_do_together() -> None:
    """A reads the gold, B reads something that its own gold is not: either change alone would have cost the point."""
    a, b = credit("x"), credit("x", reading="A", gold="D", score=Fraction(0))
    told = reconciled(Account("a", (a,)), Account("b", (b,)))
    assert dict(told.causes.select("cause", "points").rows()) == {"reading": -50, "gold": -50}


def test_nothing_to_count_is_said() -> None:
    with pytest.raises(InputError, match="none of its 1 rows has a score"):
        reconciled(Account("a", (credit("x", score=None),)), Account("b", (credit("x"),)))
    assert attribute(Account("a", tuple(SAME)), Account("b", tuple(SAME))) == []
