"""What a guesser without images gets from letters, frequent answers, surface cues and the question. Cues are tested
both ways; recurring option sets are left out, as they only show which answer is frequent.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from eyetest.errors import percent
from eyetest.measures.stats.chance import as_odd, uneven
from eyetest.probes.features import decimals
from eyetest.probes.rates import rate_of
from eyetest.probes.shortcuts import fact_groups
from eyetest.probes.subject import MIN_ITEMS, Subject, by_option_count, no_choices, probe, too_few
from eyetest.records import Finding, Item, letter
from eyetest.results.dependence import first_of_facts
from eyetest.text import folded, holds_phrase, read_number, words

_RECURRING_SETS = 5
_RECURRING = 10
_SHORTEST_ANSWER = 3  # a gold of fewer characters is never called "named in the question"


@probe("frequent-answer", "Is one answer right too often where the same options recur?")
def _frequent_answer(subject: Subject) -> Iterator[Finding]:
    """A test of each set of options that recurs."""
    items = subject.choice_items
    if not items:
        yield no_choices(_frequent_answer.name, subject)
        return
    sets: dict[tuple[str, ...], list[Item]] = {}
    for item in items:
        sets.setdefault(tuple(sorted(folded(choice.text) for choice in item.choices)), []).append(item)
    large = sorted(sets.items(), key=lambda pair: -len(pair[1]))[:_RECURRING_SETS]
    for options, group in large:
        if len(group) < MIN_ITEMS or len(set(options)) < len(options):
            continue
        counted = Counter(folded(item.choices[item.gold[0]].text) for item in group)
        counts = [counted[option] for option in options]
        top = max(options, key=lambda option: counted[option])
        yield Finding(
            probe=_frequent_answer.name,
            kind=f"frequent-answer-{'-'.join(options)[:40]}",
            severity="note",
            title=f'"{top}" is right in {percent(counted[top] / len(group))} of {len(group):,} items with '
            f"the same {len(options)} options",
            detail=f"The options are {', '.join(options)}; evenly spread, each would be right in "
            f"{percent(1 / len(options))}.",
            p=uneven(counts, subject.rng("recurring", *options)),
            numbers={"options": list(options), "positions": counts, "expected": len(group) / len(options)},
        )


@probe("positions", "Are golds spread evenly over the letters?")
def positions(subject: Subject) -> Iterator[Finding]:
    """All tests, or a note that there was nothing to test."""
    groups = by_option_count(subject.choice_items).items()
    enough = [(options, items) for options, items in groups if len(items) >= MIN_ITEMS]
    if not enough:
        yield too_few(positions.name, subject, "with one number of options")
    for options, items in enough:
        counted = Counter(item.gold[0] for item in items)
        counts = [counted[position] for position in range(options)]
        oddest = max(range(options), key=lambda position: abs(counts[position] - len(items) / options))
        share, expected = counts[oddest] / len(items), 1 / options
        yield Finding(
            probe=positions.name,
            kind=f"gold-position-{options}",
            severity="suspect",
            verdict="fix",
            title=f"The gold is {letter(oddest)} in {percent(share)} of the {len(items):,} items with {options} "
            f"options; {percent(expected)} if spread evenly",
            detail="Answering one letter always, or never, beats chance. `--fix` reorders options.",
            p=uneven(_counts_by_fact(subject, items, options), subject.rng("positions", options)),
            numbers={"options": options, "positions": counts, "expected": len(items) / options, "n": len(items)},
        )


def _counts_by_fact(subject: Subject, items: Sequence[Item], options: int) -> list[int]:
    """How often the gold has each position; of the translations of a question one counts for each position."""
    counts = Counter(items[place].gold[0] for place in first_of_facts(items, subject.choice_items))
    return [counts[position] for position in range(options)]


@probe("named-answer", "Does the question name its own answer?")
def named_answer(subject: Subject) -> Iterator[Finding]:
    """A test of whether the option that the question names is the gold more often than by chance."""
    if not subject.choice_items:
        yield no_choices(named_answer.name, subject)
        return
    places = [(item, only_named_option(item)) for item in subject.choice_items]
    marked = [(item, {place}) for item, place in places if place is not None]
    if not marked:
        title = "No question names just one of its options"
        yield Finding(probe=named_answer.name, kind="answer-in-question", severity="sound", title=title)
        return
    trait = "the only option that the question names"
    yield _habit(subject, named_answer.name, "answer-in-question", trait, marked)


def _habit(subject: Subject, probe: str, kind: str, trait: str, marked: Sequence[tuple[Item, set[int]]]) -> Finding:
    """A test of how often the gold is among the options with a trait, in either direction, with its rate."""
    chances = [len(places) / len(item.choices) for item, places in marked]
    hits = [item.gold[0] in places for item, places in marked]
    groups = fact_groups([item for item, _ in marked])
    rate = rate_of(np.array(hits, dtype=float), np.array(chances), groups)
    expected = sum(chances)
    avoids = sum(hits) < expected
    medium = subject.medium.one
    consequence = f"rules options out without the {medium}" if avoids else f"needs no {medium}"
    return Finding(
        probe=probe,
        kind=kind,
        severity="suspect",
        verdict="keep",
        title=f"The gold is {trait} in {'only ' if avoids else ''}{rate.sentence} "
        f"of {len(marked):,} items; {percent(rate.chance)} by chance",
        detail=f"A guesser who knows this habit {consequence}: {rate.above_chance} beside chance.",
        p=_p_by_fact(subject, marked),
        numbers={"n": len(marked), "hits": sum(hits), "expected": expected, **rate.numbers},
    )


def _p_by_fact(subject: Subject, shown: Sequence[tuple[Item, set[int]]]) -> float:
    """How likely so many hits are by chance; of the translations of a question one counts."""
    counted = [shown[place] for place in first_of_facts([item for item, _ in shown], subject.choice_items)]
    hits = sum(item.gold[0] in showing for item, showing in counted)
    return as_odd(hits, [len(showing) / len(item.choices) for item, showing in counted])


def only_named_option(item: Item) -> int | None:
    """The one option that question or hint names word for word; short options and numbers do not count."""
    asked = words(f"{item.question} {item.hint}")
    named = [
        i
        for i, choice in enumerate(item.choices)
        if len(choice.text.strip()) >= _SHORTEST_ANSWER
        and read_number(choice.text) is None
        and holds_phrase(asked, words(choice.text))
    ]
    return named[0] if len(named) == 1 else None


def shares_most_words(texts: Sequence[str]) -> set[int]:
    """The option with most words in common with the others, as distractors made from the gold give it away."""
    bags = [set(words(text)) for text in texts]
    common = [sum(len(bag & other) for j, other in enumerate(bags) if i != j) for i, bag in enumerate(bags)]
    return _extreme(common, max) if max(common) else set()


def middle_number(texts: Sequence[str]) -> set[int]:
    """The numbers of the middle half, where all options are different numbers."""
    numbers = [read.value for text in texts if (read := read_number(text))]
    if len(texts) < 3 or len(set(numbers)) < len(texts):
        return set()
    order = sorted(range(len(texts)), key=numbers.__getitem__)
    edge = len(texts) // 4 if len(texts) >= 4 else 1
    return set(order[edge : len(texts) - edge])


TRAITS: dict[str, tuple[Callable[[Sequence[str]], set[int]], str]] = {
    "longest": (lambda texts: _extreme([len(text) for text in texts], max), "the longest option"),
    "shortest": (lambda texts: _extreme([len(text) for text in texts], min), "the shortest option"),
    "precise": (
        lambda texts: _extreme([decimals(text) for text in texts], max) if any(map(decimals, texts)) else set(),
        "the most precise number",
    ),
    "case": (lambda texts: _odd_one([case_of(text) for text in texts]), "the only option in another case"),
    "odd-one-out": (lambda texts: _odd_one([form_of(text) for text in texts]), "the only option of another form"),
    "common-words": (shares_most_words, "the option that shares most words with the others"),
    "middle": (middle_number, "a number from the middle of the range"),
}
"""By name: which options show the trait, and what it is called."""


@probe("surface-cues", "Can the gold be guessed from surface cues of its options?")
def _surface_cues(subject: Subject) -> Iterator[Finding]:
    """All tests, or a note that there was nothing to test."""
    keys = [frozenset(folded(choice.text) for choice in item.choices) for item in subject.choice_items]
    common = Counter(keys)
    unique = (item for item, key in zip(subject.choice_items, keys, strict=True) if common[key] < _RECURRING)
    texts = [(item, [choice.text for choice in item.choices]) for item in unique]
    tested = False
    for kind, (trait, what) in TRAITS.items():
        marked = ((item, trait(options)) for item, options in texts)
        shown = [(item, showing) for item, showing in marked if 0 < len(showing) < len(item.choices)]
        if len(shown) < MIN_ITEMS:
            continue
        tested = True
        yield _habit(subject, _surface_cues.name, f"gold-{kind}", what, shown)
    if not tested:
        yield too_few(_surface_cues.name, subject, "whose options are their own and show the same trait")


def _extreme(values: Sequence[int], which: Callable[[Sequence[int]], int]) -> set[int]:
    best = which(values)
    return {i for i, value in enumerate(values) if value == best}


def _odd_one(kinds: Sequence[str]) -> set[int]:
    counted = Counter(kinds)
    if len(kinds) < 3 or len(counted) != 2 or min(counted.values()) != 1:
        return set()
    return {i for i, kind in enumerate(kinds) if counted[kind] == 1}


def case_of(text: str) -> str:
    """Case of an option: upper, capital, lower, or none."""
    letters = [char for char in text if char.isalpha()]
    if not letters:
        return "none"
    if all(char.isupper() for char in letters):
        return "upper"
    return "capital" if letters[0].isupper() else "lower"


def form_of(text: str) -> str:
    """Whether an option is a number, a word, a phrase or a sentence."""
    if read_number(text):
        return "number"
    count = len(words(text))
    return "word" if count <= 1 else "phrase" if count <= 5 else "sentence"


PROBE = (_frequent_answer, positions, named_answer, _surface_cues)
