"""Which rows of two accounts are one answer, and why the two count it differently."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

from eyetest.results.reconcile.credits import Account, Credit

CAUSES = {
    "reading": "the same reply, read as another answer",
    "unread": "read by one, not by the other",
    "judge": "a judge model decided for one of them",
    "guess": "drawn at random where nothing was read",
    "errors": "a failed call: counted, left out, answered",
    "truncated": "one reply is the beginning of the other",
    "wrong id": "the reply stands under another item",
    "dropped": "the item is missing on one side",
    "duplicate": "the item has more rows on one side",
    "gold": "the sides hold different answers right",
    "replies": "other replies: not the same run",
    "metric": "same reading and gold, other credit",
    "unscored": "one gives the row no score",
    "average": "categories of any size weigh the same",
    "luck": "guesses came out other than expected",
    "rounding": "the number has so few digits",
    "unexplained": "no known way of counting gives it",
}
"""What a point of a gap can come from, in words."""
OF_NO_ITEM = ("luck", "rounding", "unexplained")
"""What no row can be blamed for."""
_DISTINCT = 12
"""A shorter reply, such as a letter, is said about many items, so that it does not tell under which it belongs."""
_CUT = 20
"""A shorter beginning may be another reply."""


class Pair(NamedTuple):
    """One answer on both sides; None where a side has no such row. ``why`` says what is known of that."""

    a: Credit | None
    b: Credit | None
    why: str = ""


def pairs_of(a: Account, b: Account) -> list[Pair]:
    """Every row of both accounts, once: with its like on the other side, or alone."""
    tested = all(any(credit.test for credit in account.credits) for account in (a, b))
    ours, theirs = (_by_answer(account, tested=tested) for account in (a, b))
    paired: list[Pair] = []
    for key in ours | theirs:
        paired += _matched(ours.get(key, []), theirs.get(key, []))
    return _moved(paired)


def _by_answer(account: Account, *, tested: bool) -> dict[tuple[str, str, str], list[Credit]]:
    """Rows by what they answer."""
    rows = defaultdict[tuple[str, str, str], list[Credit]](list)
    for credit in account.credits:
        rows[credit.group, credit.item, credit.test if tested else ""].append(credit)
    return rows


def _matched(ours: list[Credit], theirs: list[Credit]) -> list[Pair]:
    """Rows of one item: those with the same words together, the others in the order of the files."""
    if len(ours) == len(theirs) == 1:
        return [Pair(ours[0], theirs[0])]
    same, ours, theirs = _alike(ours, theirs)
    both = min(len(ours), len(theirs))
    pairs = [*same, *(Pair(one, other) for one, other in zip(ours[:both], theirs[:both], strict=True))]
    alone = "duplicate" if pairs else "dropped"
    return [
        *pairs,
        *(Pair(one, None, alone) for one in ours[both:]),
        *(Pair(None, one, alone) for one in theirs[both:]),
    ]


def _alike(ours: Sequence[Credit], theirs: Sequence[Credit]) -> tuple[list[Pair], list[Credit], list[Credit]]:
    """Pairs of rows with the same words, and what is left of both sides."""
    by_words: dict[str | None, list[Credit]] = defaultdict(list)
    for credit in theirs:
        by_words[credit.words].append(credit)
    pairs, left = [], []
    for credit in ours:
        if by_words[credit.words]:
            pairs.append(Pair(credit, by_words[credit.words].pop(0)))
        else:
            left.append(credit)
    taken = Counter(id(pair.b) for pair in pairs)
    return pairs, left, [credit for credit in theirs if not taken[id(credit)]]


def _moved(pairs: list[Pair]) -> list[Pair]:
    """The same pairs; where the very words of one side stand under another item on the other, it is said."""
    odd = [pair.why == "dropped" or _other_words(pair) for pair in pairs]
    if not any(odd):
        return pairs
    homes = [_homes(pair.a for pair in pairs), _homes(pair.b for pair in pairs)]

    def elsewhere(credit: Credit | None, side: int) -> bool:
        key = (credit.group, credit.words) if credit else ("", None)
        home = homes[side].get(key)
        return credit is not None and home is not None and home != credit.item and bool(homes[1 - side].get(key))

    return [
        pair._replace(why="wrong id") if is_odd and (elsewhere(pair.a, 1) or elsewhere(pair.b, 0)) else pair
        for pair, is_odd in zip(pairs, odd, strict=True)
    ]


def _other_words(pair: Pair) -> bool:
    return pair.a is not None and pair.b is not None and not pair.a.says_as(pair.b)


def _homes(credits_: Iterable[Credit | None]) -> dict[tuple[str, str | None], str]:
    """Under which item words stand that are said about one item only."""
    items: dict[tuple[str, str | None], str] = {}
    for credit in credits_:
        if credit is None or credit.failed or len(credit.words or "") < _DISTINCT:
            continue
        key = (credit.group, credit.words)
        items[key] = credit.item if items.get(key, credit.item) == credit.item else ""
    return items


CreditPart = tuple[str, Fraction]
"""A cause, and by how much it changes a row's credit."""


def parts_of(a: Credit, b: Credit, why: str = "") -> list[CreditPart]:
    """What changes the credit of a row that both count, in parts that sum to the change.

    Where both readings and both golds are known and explain the credits, a change of both is shared evenly over the
    two orders in which it can have come about (Shapley).
    """
    assert a.score is not None and b.score is not None  # noqa: PT018 (mypy reads both)
    change = b.score - a.score
    golds_differ = a.gold is not None and b.gold is not None and a.gold != b.gold
    if not golds_differ:
        return [(_read_cause(a, b, why), change)]
    if not (_explained(a) and _explained(b)):
        same = a.says_as(b) and (a.reading == b.reading or a.reading is None or b.reading is None)
        return [("gold" if same or not change else _read_cause(a, b, why), change)]
    crossed = Fraction(_is_right(b, a)) - Fraction(_is_right(a, b))
    read = (crossed + change) / 2
    parts = [(_read_cause(a, b, why), read), ("gold", change - read)]
    return [part for part in parts if part[1]] or [("gold", Fraction(0))]


def _is_right(read: Credit, by: Credit) -> bool:
    return read.reading is not None and read.reading in (by.gold or "").split()


def _explained(credit: Credit) -> bool:
    """Whether the reading, or that there is none, and a gold of letters are all that the score comes from."""
    known = credit.reading is not None or credit.reader == "nobody"
    letters = all(len(word) == 1 for word in (credit.gold or "").split())
    return known and letters and not credit.by_text and credit.score == int(_is_right(credit, credit))


def _read_cause(a: Credit, b: Credit, why: str) -> str:
    """Why the two sides made different things of one answer."""
    if a.failed or b.failed:
        return "errors"
    if a.text is not None and b.text is not None and not a.says_as(b):
        return _reply_cause(a, b, why)
    for reader, cause in (("guess", "guess"), ("judge", "judge"), ("nobody", "unread")):
        if (a.reader == reader) != (b.reader == reader) or (a.reader == reader == "guess"):
            return cause
    known = a.reading is not None and b.reading is not None
    if a.by_text or b.by_text or (known and a.reading == b.reading):
        return "metric"
    return "reading"


def _reply_cause(a: Credit, b: Credit, why: str) -> str:
    """Why the replies differ."""
    if why == "wrong id":
        return why
    shorter, longer = sorted((a.words or "", b.words or ""), key=len)
    is_cut = len(shorter) >= _CUT and longer.startswith(shorter)
    return "truncated" if is_cut or a.truncated or b.truncated else "replies"


def left_out_cause(pair: Pair) -> str:
    """Why only one side counts a row."""
    other = pair.b if pair.a is not None and pair.a.score is not None else pair.a
    if other is None:
        return pair.why or "dropped"
    if any(side is not None and side.failed for side in (pair.a, pair.b)):
        return "errors"
    return "unread" if other.reader == "nobody" and other.reading is None else "unscored"
