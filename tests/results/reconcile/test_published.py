"""Numbers that were printed: how they are read, which ways of counting give them, and what is left over."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.errors import InputError
from eyetest.results.reconcile import Account, Credit, explained, read_published


@pytest.mark.parametrize(
    ("word", "value", "step"),
    [
        ("54.0", Fraction(54, 100), Fraction(1, 1000)),
        ("54 %", Fraction(54, 100), Fraction(1, 100)),
        ("0.540", Fraction(54, 100), Fraction(1, 1000)),
        ("0.5%", Fraction(5, 1000), Fraction(1, 1000)),
        ("1", Fraction(1), Fraction(1)),
        ("698/1730", Fraction(698, 1730), Fraction(0)),
    ],
)
def test_a_number_says_how_exact_it_is(word: str, value: Fraction, step: Fraction) -> None:
    number = read_published(word)
    assert number is not None
    assert (number.score, number.step) == (value, step)


@pytest.mark.parametrize("word", ["5/0", "7/5", "140"])
def test_impossible_scores_are_refused(word: str) -> None:
    with pytest.raises(InputError, match="is no score"):
        read_published(word)


def credit(item: int, right: int, **more: object) -> Credit:
    base = {"reading": "A", "reader": "rules", "gold": "A", "options": 4, "text": "A"}
    return Credit(**({"item": str(item), "score": Fraction(right)} | base | more))  # type: ignore[arg-type]


RIGHT = [credit(number, 1) for number in range(6)]
WRONG = [credit(number, 0, reading="B") for number in range(6, 8)]
UNREAD = [credit(number, 0, reading=None, reader="none", kind="unparsed") for number in range(8, 10)]
FAILED = [credit(number, 0, reading=None, failed=True, text=None, score=None) for number in range(10, 12)]
OURS = Account("eyetest", (*RIGHT, *WRONG, *UNREAD, *FAILED))


def told(number: str, account: Account = OURS) -> tuple[str, dict[str, float]]:
    published = read_published(number)
    assert published is not None
    found, ways = explained(account, {account.name: account}, published)
    assert sum((share.points for share in found.shares), Fraction(0)) == found.gap
    return ways[0].words, dict(found.causes.select("cause", "points").rows())


@pytest.mark.parametrize(
    ("number", "way", "causes"),
    [
        ("60.0", "unread wrong, failed calls left out", {}),
        ("75.0", "unread left out, failed calls left out", {"unread": 15.0}),
        ("6/12", "unread wrong, failed calls wrong", {"errors": -10.0}),
        ("8/10", "unread guessed, failed calls left out", {"chance": 15.0, "guess": 5.0}),
    ],
)
def test_the_way_that_gives_a_number(number: str, way: str, causes: dict[str, float]) -> None:
    """Guesses are expected on the items, and chance is what is left."""
    assert told(number) == (f"rules eyetest, {way}", causes)


def test_a_number_cut_off_or_rounded() -> None:
    two_thirds = Account("eyetest", tuple(credit(number, int(number < 2)) for number in range(3)))
    for number, rest in (("66.7", 0.0333), ("66.6", -0.0667)):
        way, causes = told(number, two_thirds)
        assert way == "rules eyetest"
        assert causes == {"rounding": pytest.approx(rest, abs=1e-3)}


def test_what_no_way_gives_is_unexplained() -> None:
    assert told("31.4")[1]["unexplained"] < 0


def test_chance_beyond_belief_explains_nothing() -> None:
    """Forty of forty guesses at one in four."""
    unread = Account("mmmu", tuple(credit(n, 0, reading=None, reader="none") for n in range(40)))
    assert told("40/40", unread)[1]["unexplained"] > 0


SOME = st.sampled_from([RIGHT[0], WRONG[0], UNREAD[0], FAILED[0]])


@given(st.lists(SOME, min_size=1, max_size=20), st.integers(0, 1000))
def test_whatever_the_number_all_of_it_is_attributed(rows: list[Credit], mille: int) -> None:
    account = Account("mmmu", (*(row._replace(item=str(n)) for n, row in enumerate(rows)), credit(-1, 1)))
    told(f"{mille / 10:.1f}%", account)
