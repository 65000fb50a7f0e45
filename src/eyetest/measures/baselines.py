"""What guessing scores: at random, and by the most frequent letter."""

from collections.abc import Mapping
from typing import Any, ClassVar

import polars as pl

from eyetest.errors import param
from eyetest.measures.means import mean_columns
from eyetest.measures.results import Measured, NotMeasurable, Results, Settings
from eyetest.measures.stats.guessing import guessing
from eyetest.records import letter
from eyetest.wording import counted


class Baselines:
    """Random choice and frequent choice; a score means what it is above these."""

    name = "baselines"
    summary = "what random and most-frequent-letter guessing score, overall and by tag"
    own: ClassVar[Mapping[str, tuple[Any, str]]] = {}

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a benchmark and tag value."""
        tags = results.by_tags(settings.by)
        choice = results.items.filter(pl.col("options").is_not_null() & pl.col("position").is_not_null())
        rows: list[dict[str, Any]] = []
        for key, part in choice.sort("benchmark", *tags).group_by("benchmark", *tags, maintain_order=True):
            found = guessing(part.get_column("options").to_list(), part.get_column("position").to_list())
            assert found is not None
            row = dict(zip(("benchmark", *tags), key, strict=True))
            rows.append(
                row
                | {"random": found.random, "frequent": found.frequent, "letter": letter(found.place), "n": found.n}
            )
        if not rows:
            raise NotMeasurable(f"baselines: no item with options is known; name the benchmark with {param('bench')}")
        left = len(results.items) - len(choice)
        notes = (f"left out: {counted(left, 'item')} without options or a known gold",) if left else ()
        return Measured(pl.DataFrame(rows, infer_schema_length=None), notes)


class AboveGuessing:
    """Each model on the items with options, beside what guessing scores on the very same items."""

    name = "above-guessing"
    summary = "accuracy on items with options, beside what random guessing scores on the same items"
    own: ClassVar[Mapping[str, tuple[Any, str]]] = {}

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a series and tag value; items without options, which cannot be guessed at, are left out."""
        tags = results.by_tags(settings.by)
        keys = [*results.keys(), *tags]
        of_item = (
            results.with_items("cluster", "options", *tags)
            .filter(pl.col("options").is_not_null() & pl.col("score").is_not_null())
            .group_by(*keys, "item", "cluster")
            .agg(pl.col("score").mean().alias("accuracy"), (1 / pl.col("options").first()).alias("guessing"))
            .with_columns((pl.col("accuracy") - pl.col("guessing")).alias("above"))
        )
        found = mean_columns(of_item, keys, ["accuracy", "guessing", "above"], signed=["above"], level=settings.level)
        if found.is_empty():
            raise NotMeasurable("above-guessing: no answer to an item with options has a score")
        values = [f"{name}{end}" for name in ("accuracy", "above") for end in ("", "_low", "_high")]
        return Measured(found.select(*keys, "guessing", *values, pl.col("accuracy_n").alias("n")))


MEASURES = (Baselines(), AboveGuessing())
