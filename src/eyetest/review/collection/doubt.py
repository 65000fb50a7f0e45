"""How far the models that saw the picture speak against an item: the odds of the measure ``wrong-golds``."""

from collections.abc import Callable, Iterator, Sequence
from threading import Lock

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyetest.measures.results import AXES, TAG
from eyetest.measures.stats.intervals import Floats
from eyetest.measures.stats.recurring import recurring
from eyetest.records import MAX_CHOICES, letter
from eyetest.review.collection.answers import SIGHTED
from eyetest.review.collection.replies import RunReplies

_ENOUGH_VOICES = 2
_TASK = TAG + "task"
_QUICK = 60_000
"""Items × models that are weighed within a blink; more take up to some seconds."""
_PLACES = {letter(place): place for place in range(MAX_CHOICES)}


class GoldDoubts:
    """Computed when somebody first asks, because weighing 20,000 items takes longer than all else at the start."""

    def __init__(
        self, items: pl.DataFrame, options: Callable[[], pl.Series], runs: Sequence[RunReplies], models: int
    ) -> None:
        self._items, self._options, self._runs = items, options, runs
        self._lock = Lock()
        self._column: pl.Series | None = None
        self.quick = len(items) * models <= _QUICK

    @property
    def known(self) -> bool:
        """Whether nobody would have to wait."""
        return self._column is not None or self.quick

    def column(self) -> pl.Series:
        """By position the log odds that it is flawed; null without options, a gold, and two models that chose."""
        with self._lock:
            if self._column is None:
                doubts = np.full(len(self._items), np.nan)
                for rows, own in self._weighed():
                    doubts[rows] = own
                self._column = pl.Series("doubt", doubts, nan_to_null=True)
        return self._column

    def _weighed(self) -> Iterator[tuple[NDArray[np.int64], Floats]]:
        """Benchmark by benchmark, because a model may be skilled at one and not at another."""
        from eyetest.measures.stats.consensus import suspicion  # noqa: PLC0415 (slow to load)

        asked = pl.col("options").list.len() > 1
        golden = self._items.with_columns(self._options()).filter(asked, pl.col("gold").is_not_null())
        for (name,), items in golden.group_by("benchmark", maintain_order=True):
            golds = [[_PLACES[mark] for mark in gold.split(", ")] for gold in items.get_column("gold")]
            chosen = _voices(self._choices(str(name), items, golds), len(items))
            heard = (chosen >= 0).sum(axis=1) >= _ENOUGH_VOICES
            if not heard.any():
                continue
            texts = items.get_column("options").to_list()
            first, sizes = np.array([gold[0] for gold in golds]), np.array([len(options) for options in texts])
            tasks = items.get_column(_TASK).to_list() if _TASK in items.columns else None
            doubts = suspicion(chosen, sizes, first, recurring(texts), tasks).doubts
            yield items.get_column("position").to_numpy()[heard], doubts[heard]

    def _choices(self, benchmark: str, items: pl.DataFrame, golds: Sequence[Sequence[int]]) -> pl.DataFrame:
        """``row, model, place`` of all that was chosen; of several golds one is as good as another."""
        rows = items.select("item", pl.int_range(pl.len(), dtype=pl.Int64).alias("row"))
        same = [(row, other, gold[0]) for row, gold in enumerate(golds) for other in gold[1:]]
        alike = pl.DataFrame(same, schema={"row": pl.Int64, "place": pl.Int64, "gold": pl.Int64}, orient="row")
        runs = [run for run in self._runs if run.benchmark == benchmark]
        if not runs:
            return pl.DataFrame(schema={"row": pl.Int64, "model": pl.String, "place": pl.Int64})
        key = ("item", "model", *(AXES if len(runs) > 1 else ()))  # within one run nothing is there twice
        for sight in (SIGHTED, None):
            every = pl.concat([run.choices(key, sight) for run in runs])
            if len(every):
                break
        if len(runs) > 1:
            every = every.unique(key, keep="first", maintain_order=True)
        place = pl.col("choice").replace_strict(_PLACES, default=None, return_dtype=pl.Int64)
        return (
            every.select("item", "model", "choice")
            .join(rows, on="item")
            .select("row", "model", place.alias("place"))
            .drop_nulls()
            .join(alike, on=("row", "place"), how="left")
            .select("row", "model", pl.coalesce("gold", "place").alias("place"))
        )


def _voices(choices: pl.DataFrame, size: int) -> NDArray[np.int64]:
    """Items × models: the place that each chose most; -1 where none was read or two lead."""
    most = pl.col("place").mode()
    voices = choices.group_by("row", "model").agg(most.first().alias("place"), most.len().alias("leading"))
    models = choices.get_column("model").unique().sort()
    chosen = np.full((size, max(len(models), 1)), -1, np.int64)
    column = pl.DataFrame({"model": models, "column": np.arange(len(models))})
    clear = voices.filter(pl.col("leading") == 1).join(column, on="model")
    at = clear.select("row", "column").to_numpy().T
    chosen[at[0], at[1]] = clear.get_column("place").to_numpy()
    return chosen
