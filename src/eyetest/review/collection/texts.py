"""Search in what stands in items and in what was replied to them: words, in any case, all of them in one text."""

import re
from collections.abc import Sequence
from threading import Lock

import numpy as np
import polars as pl

from eyetest.measures.stats.intervals import Bools
from eyetest.runs import Run
from eyetest.runs.plan import PLAN, scan_table
from eyetest.runs.stored import one_line_if_damaged, responses_frame

_WORD = re.compile(r'"([^"]+)"|(\S+)')


class SearchTexts:
    """The texts of all items, small letters; replies are read when somebody first searches."""

    def __init__(self, items: pl.DataFrame, runs: Sequence[tuple[Run, str]]) -> None:
        """``runs``: each with the name of its benchmark."""
        own = pl.concat_str(
            pl.col("question").fill_null(""), pl.col("options").list.join("\n").fill_null(""), separator="\n"
        )
        self._size = len(items)
        self._items = items.select("position", "benchmark", "item")
        self._own = items.select("position", own.str.to_lowercase().alias("text"))
        self._runs = runs
        self._replies: pl.DataFrame | None = None
        self._lock = Lock()

    def read_replies(self) -> pl.DataFrame:
        """The replies, read once, whoever asks first."""
        with self._lock:
            if self._replies is None:
                parts = [self._of_run(run, name) for run, name in self._runs]
                none = pl.DataFrame(schema={"position": pl.Int64, "text": pl.String})
                self._replies = pl.concat([none, *parts])
        return self._replies

    def _of_run(self, run: Run, name: str) -> pl.DataFrame:
        items = self._items.lazy().filter(pl.col("benchmark") == name)
        with one_line_if_damaged(run.path):
            plan = scan_table(run.path / PLAN).select("item", "request")
            said = responses_frame(run.path).select("request", pl.col("text").str.to_lowercase()).drop_nulls("text")
            asked = plan.join(items, on="item").select("position", "request")
            return asked.join(said, on="request").select("position", "text").unique().collect()

    def having(self, words: str) -> Bools:
        """Which items have all of the words in their own text, or in one reply."""
        mask = np.zeros(self._size, bool)
        wanted = [phrase or word for phrase, word in _WORD.findall(words.lower())]
        for texts in (self._own, self.read_replies()):
            has = [pl.col("text").str.contains(word, literal=True) for word in wanted]
            mask[texts.filter(*has).get_column("position").to_numpy()] = True
        return mask
