"""What replies would be worth as answers to another item of their family: an original and its twins.

Answers in words have no letter that could be compared, so a reply is held to the golds of the others by the metric
that scored it. Whoever knows an original by heart gives its gold on the twins as well.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.measures.results import EXCHANGED_TYPES
from eyetest.records import EDITION, ORIGINAL, TWIN, Condition, Item
from eyetest.results.scores import answers_of
from eyetest.runs import Run
from eyetest.scoring.scorer import Said, Scorer

_TABLE = {name: EXCHANGED_TYPES[name] for name in ("request", "whose", "worth")}


def exchanged(run: Run, benchmark: Benchmark | None, scorer: Scorer) -> pl.LazyFrame:
    """Each reply in words to an original or a twin, by each gold of its family: ``request, whose, worth``."""
    if benchmark is None:
        return pl.LazyFrame(schema=_TABLE)
    said = answers_of(run, benchmark).select(pl.col("item", "request", "ask", "outcome").cast(pl.String), "text")
    plain = said.filter(pl.col("outcome") != "failed").unique(("item", "request"))

    def valued(rows: pl.DataFrame) -> pl.DataFrame:
        families = _families(benchmark) if len(rows) else {}
        return pl.DataFrame(_values(rows, families, scorer), schema=_TABLE, orient="row").unique()

    return plain.map_batches(valued, schema=_TABLE)


def _families(items: Iterable[Item]) -> dict[str, list[Item]]:
    """By item, all that share its question and differ in their picture and gold."""
    families: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        if item.tags.get(EDITION) in (ORIGINAL, TWIN) and item.has_gold and not item.is_choice:
            families[item.id if item.tags[EDITION] == ORIGINAL else item.group].append(item)
    return {item.id: family for family in families.values() for item in family}


def _values(
    rows: pl.DataFrame, families: Mapping[str, Sequence[Item]], scorer: Scorer
) -> Iterator[tuple[str, str, float]]:
    for item, request, ask, outcome, text in rows.iter_rows():
        for other in families.get(item, ()):
            worth = scorer.score(other, Condition(ask=ask), Said(outcome, text)).score
            if worth is not None:
                yield request, other.id, worth
