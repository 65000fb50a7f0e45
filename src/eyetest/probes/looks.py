"""Can the gold be guessed from how options look: the longest, the most precise, the one in the middle?

Each habit is tested as a guesser would use it. In an item where only some options show the trait, luck alone puts
the gold among them with a known chance; over all items the hits are compared with that, to both sides: golds that
avoid a trait rule options out. Sets of options that recur
(yes and no, the same four colours) are left out here: there it would only measure which answer is frequent.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from eyetest.measures.stats.luck import as_odd
from eyetest.probes.subject import Subject, too_few
from eyetest.probes.words import decimals, normalise, quantity, words
from eyetest.records import Finding, Item
from eyetest.wording import percent

Trait = Callable[[Sequence[str]], set[int]]
_RECURRING = 10


def longest(texts: Sequence[str]) -> set[int]:
    """The options with the most characters."""
    return _extreme([len(text) for text in texts], max)


def shortest(texts: Sequence[str]) -> set[int]:
    """The options with the fewest characters."""
    return _extreme([len(text) for text in texts], min)


def most_precise(texts: Sequence[str]) -> set[int]:
    """The numbers with the most digits behind the point."""
    return _extreme([decimals(text) for text in texts], max) if any(decimals(text) for text in texts) else set()


def odd_case(texts: Sequence[str]) -> set[int]:
    """The option that is written in another case than all others."""
    return _odd_one([case_of(text) for text in texts])


def odd_form(texts: Sequence[str]) -> set[int]:
    """The option that is of another kind than all others: a number among words, a sentence among single words."""
    return _odd_one([form_of(text) for text in texts])


def shares_most_words(texts: Sequence[str]) -> set[int]:
    """The option that has most words in common with the others, as distractors made from the gold give it away."""
    bags = [set(words(text)) for text in texts]
    common = [sum(len(bag & other) for j, other in enumerate(bags) if i != j) for i, bag in enumerate(bags)]
    return _extreme(common, max) if max(common) else set()


def middle_number(texts: Sequence[str]) -> set[int]:
    """Where all options are different numbers: those of the middle half."""
    numbers = [quantity(text) for text in texts]
    if len(texts) < 3 or None in numbers or len(set(numbers)) < len(numbers):
        return set()
    order = sorted(range(len(texts)), key=lambda i: numbers[i] or 0.0)
    edge = len(texts) // 4 if len(texts) >= 4 else 1
    return set(order[edge : len(texts) - edge])


TRAITS: dict[str, tuple[Trait, str]] = {
    "longest": (longest, "the longest option"),
    "shortest": (shortest, "the shortest option"),
    "precise": (most_precise, "the most precise number"),
    "case": (odd_case, "the only option in another case"),
    "odd-one-out": (odd_form, "the only option of another form"),
    "common-words": (shares_most_words, "the option that shares most words with the others"),
    "middle": (middle_number, "a number from the middle of the range"),
}


class Looks:
    """The probe: one test for each trait."""

    name = "looks"
    summary = "Can the gold be guessed from how options look?"

    def run(self, subject: Subject) -> Iterator[Finding]:
        """All tests, or a word that there was nothing to test."""
        tests = list(self._tests(subject))
        yield from tests or [too_few(self.name, subject, "whose options are their own and show the same trait")]

    def _tests(self, subject: Subject) -> Iterator[Finding]:
        """A test for each trait that enough items show."""
        items = without_recurring_options(subject.choice_items)
        texts = [[choice.text for choice in item.choices] for item in items]
        for kind, (trait, what) in TRAITS.items():
            marked = [trait(options) for options in texts]
            told = [
                (item, showing)
                for item, showing in zip(items, marked, strict=True)
                if 0 < len(showing) < len(item.choices)
            ]
            if len(told) < subject.thresholds.min_items:
                continue
            chances = [len(showing) / len(item.choices) for item, showing in told]
            hits = [item.id for item, showing in told if item.gold[0] in showing]
            expected = sum(chances)
            avoids = len(hits) < expected
            yield Finding(
                probe=self.name,
                kind=f"gold-{kind}",
                severity="suspect",
                verdict="keep",
                title=f"The gold is {what} in {'only ' if avoids else ''}{percent(len(hits) / len(told))} "
                f"of {len(told):,} items; {percent(expected / len(told))} by luck",
                detail="A guesser who knows this habit "
                + ("rules options out without a picture." if avoids else "needs no picture."),
                items=() if avoids else tuple(hits),
                p=as_odd(len(hits), chances),
                numbers={"n": len(told), "hits": len(hits), "expected": expected},
            )


def without_recurring_options(items: Sequence[Item]) -> list[Item]:
    """Items whose set of options is their own, or nearly."""
    keys = [frozenset(normalise(choice.text) for choice in item.choices) for item in items]
    common = Counter(keys)
    return [item for item, key in zip(items, keys, strict=True) if common[key] < _RECURRING]


def _extreme(values: Sequence[int], which: Callable[[Sequence[int]], int]) -> set[int]:
    best = which(values)
    return {i for i, value in enumerate(values) if value == best}


def _odd_one(kinds: Sequence[str]) -> set[int]:
    counted = Counter(kinds)
    if len(kinds) < 3 or len(counted) != 2 or min(counted.values()) != 1:
        return set()
    return {i for i, kind in enumerate(kinds) if counted[kind] == 1}


def case_of(text: str) -> str:
    """In which letters an option is written: upper, capital, lower, or none."""
    letters = [char for char in text if char.isalpha()]
    if not letters:
        return "none"
    if all(char.isupper() for char in letters):
        return "upper"
    return "capital" if letters[0].isupper() else "lower"


def form_of(text: str) -> str:
    """Whether an option is a number, a word, a phrase or a sentence."""
    if quantity(text) is not None:
        return "number"
    count = len(words(text))
    return "word" if count <= 1 else "phrase" if count <= 5 else "sentence"


PROBE = Looks()
