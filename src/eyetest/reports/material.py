"""What a report is made of: results, and what their measures come to, each computed once."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import polars as pl

from eyetest.measures import MEASURES, Measured, NotMeasurable, Results, Settings
from eyetest.measures.aligned import protocol_label
from eyetest.measures.results import EXTERNAL, PROTOCOL, TAG, own_settings
from eyetest.probes import PROBES, Subject
from eyetest.probes.duplicate_images import identical_pictures
from eyetest.records import BLIND_SIGHTS, Condition, Finding, Score, columns

MOST_TAGS = 2
MOST_VALUES = 30
NEARLY_ALL = 0.9
"""The share of the items that a model has to have answered to be called the best."""
_TELLING = ("core", "axis", "capability", "category", "task", "domain", "discipline", "subject", "skill", "context")
"""Names of tags that say what an item asks of a model, the most general first."""
_NEED_NO_ANSWERS = "baselines"
_USUAL = {axis: getattr(Condition(), axis) for axis in PROTOCOL}
_NOBODY = "no answers were given: name a run beside the benchmark"
Scope = Literal["usual", "usual and blind", "all"]
"""Which answers: under the usual protocol, under it and without the picture, or under any."""
Asked = tuple[str, tuple[str, ...], Scope, tuple[tuple[str, str], ...]]
"""A measure, by which tags, over which answers, and with which settings of its own."""


@dataclass(frozen=True)
class Material:
    """Results with all that figures want to know of them, and what else was found on the way."""

    results: Results
    settings: Settings = field(default_factory=Settings)
    external: Mapping[str, float] = field(default_factory=dict)
    """A score of each model from elsewhere."""
    funnel: pl.DataFrame | None = None
    """Items in and out of each stage of a refinement."""
    duplicates: Sequence[Finding] | None = None
    """What is there twice, where somebody looked."""
    fewer_options: pl.DataFrame | None = None
    """Accuracy on the same items with fewer options: ``dataset``, ``options`` and what `accuracy` gives."""
    corpora: pl.DataFrame | None = None
    """Scores of whole corpora, where a metric has one that is no mean over items."""
    own: Mapping[str, str] = field(default_factory=dict)
    """Settings of measures' own, told to those that know them."""
    _known: dict[Asked, Measured | NotMeasurable] = field(default_factory=dict, repr=False)

    def measured(self, name: str, by: Sequence[str] = (), *, scope: Scope = "usual") -> pl.DataFrame:
        """The table of a measure over some of the answers; raises what the measure raises."""
        key = (name, tuple(by), scope, tuple(sorted(self.own.items())))
        if key not in self._known:
            try:
                self._known[key] = self._measure(name, tuple(by), scope)
            except NotMeasurable as reason:
                self._known[key] = reason
        known = self._known[key]
        if isinstance(known, NotMeasurable):
            raise known
        return known.table

    def with_own(self, **own: str) -> "Material":
        """The same with more settings of measures' own; what was measured is shared."""
        return replace(self, own={**self.own, **own})

    def measures(self) -> list[str]:
        """What was measured, in the words of ``eyetest measure``."""
        return sorted({" --by ".join((name, *by)) for name, by, *_ in self._known})

    def notes(self) -> list[str]:
        """What has to be said beside the tables, each with the measure that says it."""
        measured = [(key[0], known) for key, known in self._known.items() if isinstance(known, Measured)]
        return list(dict.fromkeys(f"{name}: {note}" for name, known in measured for note in known.notes))

    @cached_property
    def is_answered(self) -> bool:
        """Whether anybody was asked."""
        return bool(len(self.results.scores.head(1).collect()))

    @cached_property
    def usual(self) -> Results:
        """The scores of each benchmark under the protocol that most were asked by: with the picture, if any were.

        Weighed choices, which may be many to an item, stand back where as many models wrote their answers.
        """
        as_usual = (pl.col(axis).cast(pl.String) == value for axis, value in _USUAL.items())
        counts = (
            self.results.scores.group_by("benchmark", *PROTOCOL)
            .agg(pl.col("score").count(), pl.col("model").n_unique().alias("models"))
            .with_columns(
                (pl.col("sight").cast(pl.String) == "image").alias("sees"),
                (pl.col("method").cast(pl.String) == _USUAL["method"]).alias("writes"),
                pl.sum_horizontal(as_usual).alias("usual"),
            )
            .collect(engine="streaming")
        )
        order = ["sees", "models", "writes", "score", "usual", *PROTOCOL]
        chosen = counts.sort(order, descending=[*(True,) * 5, *(False for _ in PROTOCOL)])
        first = chosen.unique("benchmark", keep="first", maintain_order=True).select("benchmark", *PROTOCOL)
        kept = self.results.scores.join(first.lazy(), on=("benchmark", *PROTOCOL), how="semi")
        return replace(self.results, scores=kept)

    def under_usual(self, table: pl.DataFrame, but: str = "") -> pl.DataFrame:
        """The rows of a table over all answers that are of the usual protocols, but for one axis that may differ."""
        axes = [axis for axis in PROTOCOL if axis in table.columns and axis != but]
        if not axes:
            return table
        usual = self.usual.scores.select(pl.col(axes).cast(pl.String)).unique().collect()
        return table.join(usual, on=axes, how="semi", maintain_order="left")

    @cached_property
    def usual_and_blind(self) -> Results:
        """The usual scores, and beside them all that were given without the picture: what a gain is made of."""
        usual = self.usual.scores.select("benchmark", *PROTOCOL).unique()
        blind = self.results.scores.filter(pl.col("sight").cast(pl.String).is_in(BLIND_SIGHTS))
        others = blind.join(usual, on=("benchmark", *PROTOCOL), how="anti")
        return replace(self.results, scores=pl.concat([self.usual.scores, others]))

    @cached_property
    def usual_protocols(self) -> list[str]:
        """How the usual protocol of each benchmark puts a question, in few words."""
        asked = self.usual.scores.select(pl.col(PROTOCOL).cast(pl.String)).unique().collect()
        return sorted(words for row in asked.rows() if (words := protocol_label(row)))

    @cached_property
    def tags(self) -> tuple[str, ...]:
        """The tags by which capabilities are told: those the user named, or those that look like capabilities."""
        if self.settings.by:
            self.results.by_tags(self.settings.by)
            return self.settings.by
        fit = [tag for tag in self.results.tags if 2 <= self._values(tag) <= MOST_VALUES]
        return tuple(sorted((tag for tag in fit if _rank(tag) < len(_TELLING)), key=_rank)[:MOST_TAGS])

    @cached_property
    def comparable_tags(self) -> tuple[str, ...]:
        """Those tags that have few enough values for all of them to be held against each other."""
        return tuple(tag for tag in self.tags if self._values(tag) <= MOST_VALUES)

    def _values(self, tag: str) -> int:
        return self.results.items.get_column(TAG + tag).drop_nulls().n_unique()

    def _measure(self, name: str, by: tuple[str, ...], scope: Scope) -> Measured:
        if not self.is_answered and name != _NEED_NO_ANSWERS:
            raise NotMeasurable(_NOBODY)
        measure = MEASURES[name]
        said: dict[str, Any] = {key: value for key, value in self.own.items() if key in measure.own}
        said |= {EXTERNAL: self.external} if EXTERNAL in measure.own else {}
        settings = replace(self.settings, by=by, own=own_settings(measure, said))
        if scope == "all" or not self.is_answered:
            return measure.measure(self.results, settings)
        return measure.measure(self.usual if scope == "usual" else self.usual_and_blind, settings)


def unanswered(items: pl.DataFrame) -> Results:
    """Items that nobody was asked about, as results."""
    return Results(pl.LazyFrame(schema=dict.fromkeys(("benchmark", *columns(Score)), pl.String)), items)


def cheap_duplicates(subject: Subject) -> Iterator[Finding]:
    """What is there twice and costs nothing to see: repeated questions, pictures of equal bytes. None is opened."""
    yield from PROBES["duplicate-items"].run(subject)
    yield from identical_pictures(subject)


def _rank(tag: str) -> int:
    words = tag.lower().replace("-", "_").split("_")
    return min((rank for rank, word in enumerate(_TELLING) if word in words), default=len(_TELLING))
