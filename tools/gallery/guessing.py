"""Rules and learners that guess keys without an image: none of eyetest's own words, features or learners."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logit
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression

Floats = NDArray[np.float64]
_WORD = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]|[^\W_\u3040-\u30ff\u4e00-\u9fff]+")
_WIDE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
_NUMBER = re.compile(r"[-−]?\d[\d,]*(?:\.\d+)?")
_RECURRING = 10
"""Options that as many items offer show which answer is frequent, not how a key looks: rules leave them out."""
_PIECES = 40


class Question(NamedTuple):
    """An item with options and one key."""

    text: str
    options: tuple[str, ...]
    key: int
    group: int = 0


def words(text: str) -> list[str]:
    """Words and numbers in lower case; each Chinese character is one."""
    return _WORD.findall(text.lower())


def same(text: str) -> str:
    """A text without case and spacing, to compare it."""
    return " ".join(text.lower().split())


def number(text: str) -> float | None:
    """The number of an option that is one, perhaps with a unit."""
    found = _NUMBER.findall(text)
    if len(found) != 1 or sum(map(str.isalpha, text)) > 10:
        return None
    return float(found[0].replace(",", "").replace("−", "-"))


def _digits(text: str) -> int:
    """Digits after the decimal point."""
    found = re.search(r"\d\.(\d+)", text)
    return len(found[1]) if found else 0


def _case(text: str) -> str:
    letters = [sign for sign in text if sign.isalpha()]
    if not letters:
        return "none"
    return "upper" if all(sign.isupper() for sign in letters) else "first" if letters[0].isupper() else "lower"


def _form(text: str) -> str:
    if number(text) is not None:
        return "number"
    count = len(words(text)) - len(_WIDE.findall(text)) // 2
    return "word" if count <= 1 else "phrase" if count <= 5 else "sentence"


def _at(values: Sequence[float], best: float) -> set[int]:
    return {place for place, value in enumerate(values) if value == best}


def _alone(kinds: Sequence[str]) -> set[int]:
    counts = Counter(kinds)
    if len(kinds) < 3 or sorted(counts.values()) != [1, len(kinds) - 1]:
        return set()
    return {place for place, kind in enumerate(kinds) if counts[kind] == 1}


def _shared_words(options: Sequence[str]) -> list[int]:
    """For each option the words that it shares with each other one."""
    bags = [{*words(option)} for option in options]
    return [sum(len(bag & other) for n, other in enumerate(bags) if n != m) for m, bag in enumerate(bags)]


def _middle(question: Question) -> set[int]:
    numbers = [value for option in question.options if (value := number(option)) is not None]
    if len(numbers) < len(question.options) or len({*numbers}) < max(3, len(numbers)):
        return set()
    edge = max(1, len(numbers) // 4)
    return {numbers.index(value) for value in sorted(numbers)[edge : len(numbers) - edge]}


def _precise(question: Question) -> set[int]:
    digits = [_digits(option) for option in question.options]
    return _at(digits, max(digits)) if max(digits) else set()


def _common(question: Question) -> set[int]:
    shared = _shared_words(question.options)
    return _at(shared, max(shared)) if max(shared) else set()


def _named(question: Question) -> set[int]:
    asked = f" {' '.join(words(question.text))} "
    named = {
        place
        for place, option in enumerate(question.options)
        if len(option.strip()) > 2 and number(option) is None and f" {' '.join(words(option))} " in asked
    }
    return named if len(named) == 1 else set()


RULES: dict[str, Callable[[Question], set[int]]] = {
    "gold-longest": lambda q: _at([len(o) for o in q.options], max(map(len, q.options))),
    "gold-shortest": lambda q: _at([len(o) for o in q.options], min(map(len, q.options))),
    "gold-precise": _precise,
    "gold-case": lambda q: _alone([_case(o) for o in q.options]),
    "gold-odd-one-out": lambda q: _alone([_form(o) for o in q.options]),
    "gold-common-words": _common,
    "gold-middle": _middle,
    "answer-in-question": _named,
}
"""By kind of finding, the options that a guesser by it would choose."""


def own_options(questions: Sequence[Question]) -> list[Question]:
    """Those whose options few others offer."""
    sets = [frozenset(map(same, question.options)) for question in questions]
    counts = Counter(sets)
    return [question for question, options in zip(questions, sets, strict=True) if counts[options] < _RECURRING]


def _looks(question: Question) -> Floats:
    """How each option looks, and how it looks beside the others."""
    options, numbers = question.options, [number(option) for option in question.options]
    known = [value for value in numbers if value is not None]
    own = np.array([[
        len(o), len(words(o)), sum(map(str.isdigit, o)), sum(map(str.isupper, o)), _digits(o),
        sum(not sign.isalnum() and not sign.isspace() for sign in o), o[:1].isupper(), o.endswith("."),
        len({*words(o)} & {"not", "no", "none", "never", "without"}), len({*words(o)} & {"all", "always", "only"}),
        value is not None, 0 if value is None else sum(other < value for other in known),
        0 if value is None else abs(value - float(np.median(known))), value is not None and value % 1 == 0,
    ] for o, value in zip(options, numbers, strict=True)], dtype=float)  # fmt: skip
    own = np.column_stack([own, _shared_words(options), _pieces_shared(options)])
    rank = (own[:, None] > own[None]).mean(1) - (own[:, None] < own[None]).mean(1)
    whole = np.tile([len(options), len(known)], (len(options), 1))
    return np.column_stack([own, own - own.mean(0), rank, whole])


def _pieces_shared(options: Sequence[str]) -> list[float]:
    """Share of an option's pairs of characters that the most similar other option has."""
    pieces = [{o[n : n + 2] for n in range(max(1, len(o) - 1))} for o in map(same, options)]
    return [
        max(len(own & other) / max(1, len(own)) for m, other in enumerate(pieces) if m != n)
        for n, own in enumerate(pieces)
    ]


def _asked(question: Question) -> Floats:
    """How much of each option is in the question."""
    asked = {*words(question.text)}
    shares = np.array([len({*words(o)} & asked) / max(1, len({*words(o)})) for o in question.options])
    return np.column_stack([shares, shares - shares.mean()])


def learnt(view: str, known: Sequence[Question], asked: Sequence[Question]) -> list[Floats]:
    """Scores of the options of some questions by learners trained on others.

    ``surface``: gradient boosting on how options look. ``text``: the same with overlaps with the question and pieces
    of the options' characters, and logistic regression on character n-grams of options and on words of the question
    beside the whole option; their standardised scores are added.
    """
    keys = np.concatenate([np.arange(len(q.options)) == q.key for q in known])
    both = (known, asked)
    tables = [np.vstack([_looks(q) for q in part]) for part in both]
    if view == "surface":
        return _by_question(_boosted(tables[0], tables[1], keys), asked)
    texts = [[same(option) for q in part for option in q.options] for part in both]
    grams = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), min_df=2, sublinear_tf=True).fit(texts[0])
    crossed = HashingVectorizer(analyzer=lambda pairs: pairs, n_features=2**18, alternate_sign=False)
    crosses = [
        [[f"{word}|{same(option)}" for word in {*words(q.text)}] for q in part for option in q.options]
        for part in both
    ]
    sparse_tables = [
        sparse.hstack([grams.transform(text), crossed.transform(pairs)]).tocsr()
        for text, pairs in zip(texts, crosses, strict=True)
    ]
    linear = LogisticRegression(C=3.0, max_iter=300).fit(sparse_tables[0], keys)
    reduced = TruncatedSVD(min(_PIECES, len(grams.vocabulary_)), random_state=0).fit(grams.transform(texts[0]))
    tables = [
        np.hstack([table, np.vstack([_asked(q) for q in part]), reduced.transform(grams.transform(text))])
        for table, part, text in zip(tables, both, texts, strict=True)
    ]
    scores = [_boosted(tables[0], tables[1], keys), linear.decision_function(sparse_tables[1])]
    return _by_question(sum((one - one.mean()) / (one.std() or 1.0) for one in scores), asked)


def _boosted(known: Floats, asked: Floats, keys: NDArray[np.bool_]) -> Floats:
    learner = HistGradientBoostingClassifier(max_iter=150, learning_rate=0.05, max_leaf_nodes=15, random_state=0)
    chances = learner.fit(known, keys).predict_proba(asked)[:, 1]
    return np.asarray(logit(np.clip(chances, 1e-6, 1 - 1e-6)))


def _by_question(scores: Floats, asked: Sequence[Question]) -> list[Floats]:
    return np.split(scores, np.cumsum([len(q.options) for q in asked])[:-1])
