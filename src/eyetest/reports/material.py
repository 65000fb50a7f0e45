"""Input of a report: results, and their measures, each computed once."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import polars as pl

from eyetest.measures import MEASURES, Measured, NotMeasurable, Results, Settings
from eyetest.measures.aligned import protocol_label
from eyetest.measures.results import EXTERNAL, PROTOCOL, TAG, own_settings
from eyetest.probes import PROBES, Subject
from eyetest.probes.duplicates import identical_images
from eyetest.records import BLIND_MODALITIES, Condition, Finding, Score, columns

MOST_TAGS = 2
MOST_VALUES = 30
NEARLY_ALL = 0.9  # share of the items that a model must have answered to be called the best
# Names of tags that state what an item asks of a model, most general first
_TELLING = ("core", "axis", "capability", "category", "task", "domain", "discipline", "subject", "skill", "context")
_NEED_NO_ANSWERS = "baselines"
_USUAL = {axis: getattr(Condition(), axis) for axis in PROTOCOL}
_NOBODY = "no answers were given: name a run beside the benchmark"
Scope = Literal["usual", "usual and blind", "all"]
"""Which answers: usual protocol, that and without the image, or any."""
Asked = tuple[str, tuple[str, ...], Scope, tuple[tuple[str, str], ...]]  # a measure, its tags, scope and own settings


@dataclass(frozen=True)
class Material:
    """Results with all data for figures, and what else was found on the way."""

    results: Results
    settings: Settings = field(default_factory=Settings)
    external: Mapping[str, float] = field(default_factory=dict)  # score of each model from elsewhere
    funnel: pl.DataFrame | None = None
    duplicates: Sequence[Finding] | None = None  # repeats, where they were searched for
    fewer_options: pl.DataFrame | None = None
    """Accuracy on the same items with fewer options: ``dataset``, ``options`` and the columns of `accuracy`."""
    corpora: pl.DataFrame | None = None  # scores of whole corpora, for metrics that are no mean over items
    own: Mapping[str, str] = field(default_factory=dict)
    _known: dict[Asked, Measured | NotMeasurable] = field(default_factory=dict, repr=False)

    def measured(self, name: str, by: Sequence[str] = (), *, scope: Scope = "usual") -> pl.DataFrame:
        """The table of a measure over some answers; raises what the measure raises."""
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

    def measures(self) -> list[str]:
        """The measures used, as ``eyetest measure`` names them."""
        return sorted({" --by ".join((name, *by)) for name, by, *_ in self._known})

    def notes(self) -> list[str]:
        """Notes beside the tables, each with the measure that gives it."""
        measured = [(key[0], known) for key, known in self._known.items() if isinstance(known, Measured)]
        return list(dict.fromkeys(f"{name}: {note}" for name, known in measured for note in known.notes))

    @cached_property
    def is_answered(self) -> bool:
        """Whether any model was asked."""
        return bool(len(self.results.scores.head(1).collect()))

    @cached_property
    def usual(self) -> Results:
        """The scores of each benchmark under the protocol of most models; images and written answers go first."""
        as_usual = (pl.col(axis).cast(pl.String) == value for axis, value in _USUAL.items())
        counts = (
            self.results.scores.group_by("benchmark", *PROTOCOL)
            .agg(pl.col("score").count(), pl.col("model").n_unique().alias("models"))
            .with_columns(
                (pl.col("modality").cast(pl.String) == "image").alias("sees"),
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
        """The usual scores, and all scores without the image: what a gain is computed from."""
        usual = self.usual.scores.select("benchmark", *PROTOCOL).unique()
        blind = self.results.scores.filter(pl.col("modality").cast(pl.String).is_in(BLIND_MODALITIES))
        others = blind.join(usual, on=("benchmark", *PROTOCOL), how="anti")
        return replace(self.results, scores=pl.concat([self.usual.scores, others]))

    @cached_property
    def usual_protocols(self) -> list[str]:
        """Short description of the usual protocol of each benchmark."""
        asked = self.usual.scores.select(pl.col(PROTOCOL).cast(pl.String)).unique().collect()
        return sorted(words for row in asked.rows() if (words := protocol_label(row)))

    @cached_property
    def tags(self) -> tuple[str, ...]:
        """The tags of capabilities: those the user named, or those that look like capabilities."""
        if self.settings.by:
            self.results.by_tags(self.settings.by)
            return self.settings.by
        fit = [tag for tag in self.results.tags if 2 <= self._values(tag) <= MOST_VALUES]
        return tuple(sorted((tag for tag in fit if _rank(tag) < len(_TELLING)), key=_rank)[:MOST_TAGS])

    @cached_property
    def comparable_tags(self) -> tuple[str, ...]:
        """Tags with few enough values to compare all of them."""
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
    """Items that no model was asked about, as results."""
    return Results(pl.LazyFrame(schema=dict.fromkeys(("benchmark", *columns(Score)), pl.String)), items)


def cheap_duplicates(subject: Subject) -> Iterator[Finding]:
    """Repeats that cost nothing to find: repeated questions, images of equal bytes. None is opened."""
    yield from PROBES["duplicate-items"].run(subject)
    yield from identical_images(subject)


def _rank(tag: str) -> int:
    words = tag.lower().replace("-", "_").split("_")
    return min((rank for rank, word in enumerate(_TELLING) if word in words), default=len(_TELLING))
