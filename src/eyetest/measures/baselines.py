"""What guessing scores: at random, and by the most frequent letter."""

from collections.abc import Mapping
from typing import Any, ClassVar

import polars as pl

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
            raise NotMeasurable("baselines: no item with options is known; name the benchmark with --bench")
        left = len(results.items) - len(choice)
        notes = (f"left out: {counted(left, 'item')} without options or a known gold",) if left else ()
        return Measured(pl.DataFrame(rows, infer_schema_length=None), notes)


MEASURES = (Baselines(),)
