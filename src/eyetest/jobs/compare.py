"""Who is better, by how much, and whether the benchmark can tell."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import polars as pl

from eyetest.errors import InputError, heading, nearest, param, short
from eyetest.jobs.measure import AS_USUAL, Measurable, Scoring, Where, gather, settings, wanted
from eyetest.jobs.opening import several
from eyetest.jobs.views import card, words_of
from eyetest.measures import Results, Settings
from eyetest.measures.compare import RIGHT, Contest, contest, flips_of
from eyetest.measures.hits import HIT, mostly
from eyetest.measures.printed import caveats, plain
from eyetest.measures.results import PROTOCOL, narrowed, under_one_sight, values_of
from eyetest.pages.item_counts import ItemCount, ItemsAt
from eyetest.pages.item_links import AnswerFilter, Query

_MOST_SENTENCES = 40


@dataclass(frozen=True, repr=False)
class Compared:
    """Models held against each other, on the items that both of a pair answered.

    >>> compared = et.compare("run")
    >>> compared.ranking["model"][0]
    'seer'
    >>> {"a", "b", "difference", "verdict"} <= {*compared.frame.columns}
    True
    """

    results: Results
    contest: Contest
    settings: Settings
    notes: tuple[str, ...]
    varied: tuple[str, ...] = ()
    """In what of their protocol all answers differ, also those that were left out."""
    whole: bool = True
    """Whether all items were compared, rather than a chosen subset."""

    @cached_property
    def frame(self) -> pl.DataFrame:
        """One row a pair: the difference, its interval, the test, and the verdict in one sentence."""
        return plain(self.contest.pairs)

    @cached_property
    def ranking(self) -> pl.DataFrame:
        """The models in order; ``tie`` is 1 + the number of significantly better models."""
        return plain(self.contest.ranking)

    @cached_property
    def flips(self) -> pl.DataFrame:
        """The items that only one model of a pair has right, to read.

        >>> et.compare("run", ["seer", "language"]).flips.columns[:2]
        ['a', 'b']
        """
        return plain(flips_of(self.results, self.contest))

    @property
    def sentences(self) -> list[str]:
        """What may be said of each pair.

        >>> len(et.compare("run", ["seer", "language"]).sentences)
        1
        """
        return self.frame["verdict"].to_list()

    def __repr__(self) -> str:
        return "\n".join([*self.sentences, *(f"note: {line}" for line in self.notes)])

    def _repr_html_(self) -> str:
        columns: list[dict[str, Any]] = words_of(self.ranking)
        left_out = max(0, len(self.sentences) - _MOST_SENTENCES)
        more = [f"and {left_out:,} more pairs in .frame"] if left_out else []
        return card("comparison", columns, [*more, *self.notes], sentences=self.sentences[:_MOST_SENTENCES])


class FlipsView(NamedTuple):
    """The items that only one model of a pair has right, and where they are shown."""

    about: tuple[str, ...]
    only: str
    other: str
    items: ItemCount


def compare(
    runs: Measurable,
    models: str | Sequence[str] = (),
    *,
    sight: str | None = None,
    where: Where = (),
    all_pairs: bool = False,
    level: float = 0.95,
    power: float = 0.8,
    scoring: Scoring = AS_USUAL,
) -> Compared:
    """Say who leads, by how much, and whether that is more than chance.

    With ``models``, all pairs of those; without, all are ranked and neighbours in the ranking are compared, or with
    ``all_pairs`` everybody. Where there are several sights it is under ``image``, unless ``sight`` names others
    (``"image,blind"``). Adjustments are for all pairs that were tested together.

    >>> print(et.compare("run", ["seer", "language"]))
    seer leads language ...
    """
    how = settings((), level, 0, 2_000, {"power": power})
    gathered = gather(runs, scoring)
    kept, notes = under_one_sight(narrowed(gathered, wanted(where)), sight)
    names = _names(several(models), values_of(kept, "model"), values_of(gathered, "model"))
    result = contest(kept, names, how, all_pairs)
    varied = tuple(gathered.varied(PROTOCOL))
    return Compared(kept, result, how, (*notes, *result.notes, *caveats(kept)), varied, not where)


def flips_views(told: Compared, flips: pl.DataFrame, at: ItemsAt) -> list[FlipsView]:
    """Where the items of each pair are shown: by who is right and who wrong, or one by one where that says others."""
    families = told.contest.families
    exact, several = told.whole and _right_is_right(told.results), "benchmark" in families
    views = []
    for (*about, a, b, only), part in flips.group_by(*families, "a", "b", "only", maintain_order=True):
        other = b if only == a else a
        family = dict(zip(families, about, strict=True))
        words = _condition(told, family)
        filters = (AnswerFilter("right", str(only), words), AnswerFilter("wrong", str(other), words))
        count = ItemCount(len(part))
        if exact:
            count = at.count(len(part), Query(answers=filters, benchmark=str(family.get("benchmark", ""))))
        elif not several:
            count = at.named(part.get_column("item"))
        views.append(FlipsView(tuple(map(str, about)), str(only), str(other), count))
    return views


def _condition(told: Compared, family: Mapping[str, object]) -> str:
    """How a family was asked, in the words in which all answers differ."""
    same = [pl.col(name).cast(pl.String) == value for name, value in family.items()]
    first = told.results.scores.filter(*same).select(pl.col(PROTOCOL).cast(pl.String)).head(1).collect()
    return " ".join(first.item(0, axis) for axis in PROTOCOL if axis == PROTOCOL[0] or axis in told.varied)


def _right_is_right(results: Results) -> bool:
    """Whether a mean of one half and more is the same as most tests being right, which it is but for ties."""
    score, keys = pl.col("score"), ("benchmark", "model", *PROTOCOL, "item")
    hits = mostly((score >= HIT.value).sum(), score.count())
    by_item = results.scores.group_by(keys).agg((score.mean() >= RIGHT).alias("half"), hits.alias("most"))
    differ = by_item.filter(pl.col("half") & ~pl.col("most")).select(pl.len())
    return not differ.collect(engine="streaming").item()


def _names(words: Sequence[str], known: Sequence[str], anywhere: Sequence[str]) -> list[str]:
    """The models that some words name: one each, or several with commas between."""
    names = [
        name
        for word in words
        for name in ([word] if word in anywhere else filter(None, (part.strip() for part in word.split(","))))
    ]
    for name in names:
        if name in anywhere and name not in known:
            mend = f"see {param('sight')} and {param('where')}"
            raise InputError(f"{short(name)} has no answers under what is compared; {mend}")
        if name not in known:
            raise InputError(f"{heading('model')}: no model {short(name)} in these runs; {nearest(name, known)}")
    return names
