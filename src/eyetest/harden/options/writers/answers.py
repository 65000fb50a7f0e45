"""What other items of the benchmark offer: answers of the same kind, to questions that ask alike.

Only answers that come again and again are of one kind for certain: of a list, of a vocabulary. Where each is met just
once, what stands in another item is mostly beside the point, and a model has to write.

Golds and wrong options alike are taken over, as often as each other: whoever remembers which texts are right in other
items learns nothing.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence

from eyetest.harden.options.meanings import plainest, same_meaning
from eyetest.harden.options.writers.base import Case, Cases, Propose
from eyetest.harden.options.writers.numbers import read_written
from eyetest.records import tag_word
from eyetest.reform.distractors.answer_kinds import LISTS, in_case_of
from eyetest.reform.distractors.answers import OpenQuestion

_TYPES = ("question_type", "type", "task", "subject", "subfield", "category", "topic")
"""Tags in which benchmarks say what a question is about."""
_LEAST = 12
"""Different answers from which on questions that ask alike are a pool."""
_RECURS = 1.5
"""In how many items each of them is offered, on average, for it to be one."""
_OFFERED = 40
_LENGTHS = (1, 3, 7, 15)


class SameType:
    """Proposes what is offered for questions of the same type."""

    name = "other items"
    summary = "answers of the same kind that other items of the benchmark offer"
    place = 3

    def start(self, batch: Cases) -> Propose:
        """Sorts all options by what they answer."""
        pools = _pools(batch)

        def propose(case: Case, chance: random.Random) -> Iterable[str]:
            if read_written(case.gold) is not None:
                return ()
            listed = [in_case_of(case.gold, text) for text in _list_of(case)]
            pool = _pool_of(case, pools)
            return [*chance.sample(pool, min(_OFFERED, len(pool))), *chance.sample(listed, len(listed))]

        return propose


def _pools(batch: Cases) -> dict[Hashable, dict[str, str]]:
    pools: dict[Hashable, dict[str, str]] = defaultdict(dict)
    offered: Counter[Hashable] = Counter()
    for case in batch.cases:
        if read_written(case.gold) is None:
            for text in case.options:
                for key in _keys(case, text):
                    pools[key].setdefault(plainest(text), text)
                    offered[key] += 1
    return {key: pool for key, pool in pools.items() if offered[key] >= _RECURS * len(pool)}


def _keys(case: Case, text: str) -> Iterator[Hashable]:
    """What an answer is offered for, the narrowest first."""
    kind = case.kind
    if kind.name != "text":
        yield kind
        return
    types = tuple(word for tag in _TYPES if (word := tag_word(case.item.tags.get(tag))) is not None)
    asks = " ".join(OpenQuestion(case.item.question, case.gold).asks.split()[:2]).casefold()
    form = any(map(str.isdigit, text)), text[:1].isupper(), sum(len(text.split()) > length for length in _LENGTHS)
    yield (types, asks, form)
    if types:
        yield (types, form)
    yield (asks, form)


def _pool_of(case: Case, pools: dict[Hashable, dict[str, str]]) -> list[str]:
    own = {plainest(text) for text in case.options}
    for key in _keys(case, case.gold):
        pool = pools.get(key, {})
        if len(pool) >= _LEAST:
            return [text for said, text in pool.items() if said not in own]
    return []


def _list_of(case: Case) -> Sequence[str]:
    """The closed list that a gold is a member of, where it is one of a few by its nature."""
    kind = case.kind
    return LISTS[kind.name][int(str(kind.form[0]))] if kind.name in LISTS and kind.form else ()


def measure_risk(batch: Cases, chance: random.Random) -> tuple[int, int]:
    """How many of how many texts from the pool would have been right, had the gold not been known.

    For each item options are drawn as if it had no gold, and those that say what the gold says are counted.
    """
    pools = _pools(batch)
    gold_of: dict[Hashable, list[Case]] = defaultdict(list)
    for case in batch.cases:
        gold_of[plainest(case.gold)].append(case)
    hits = total = 0
    for case in batch.cases:
        pool = _pool_of(case, pools) if read_written(case.gold) is None else []
        if not pool:
            continue
        elsewhere = any(case.gold in other.options for other in gold_of[plainest(case.gold)] if other is not case)
        drawn = chance.sample([*pool, *([case.gold] if elsewhere else [])], min(case.need, len(pool)))
        total += len(drawn)
        hits += sum(bool(same_meaning(text, case.gold)) for text in drawn)
    return hits, total


WRITER = SameType()
