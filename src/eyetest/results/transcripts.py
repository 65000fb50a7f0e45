"""How faithfully models copied a screenshot's text before they answered (``ask: ocr``): MMMU-Pro's OCR accuracy."""

import re

import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.measures.results import REPLY_TYPES
from eyetest.prompts.building import remove
from eyetest.records import Item
from eyetest.results.scores import answers_of
from eyetest.runs import Run
from eyetest.scoring.metrics.same_text import edit_similarity

_TABLE = {name: REPLY_TYPES[name] for name in ("request", "copied")}
_ANSWER = re.compile(r"^\W*answer\W*:", re.IGNORECASE | re.MULTILINE)
_MARK = re.compile(r"^[ \t]*[*_]*[(\[]?[A-Z][)\].:][*_]*[ \t]+", re.MULTILINE)


def transcript_of(reply: str) -> str:
    """What a reply copies: what stands before its last ``Answer:``, without the marks of options."""
    answers = list(_ANSWER.finditer(reply))
    return _MARK.sub("", reply[: answers[-1].start()] if answers else reply)


def text_of(item: Item) -> str:
    """What is to be copied: hint, question and options, in the order in which they stand on the page."""
    return "\n".join(remove(text) for text in (item.hint, item.question, *(choice.text for choice in item.choices)))


def transcribed(run: Run, benchmark: Benchmark | None) -> pl.LazyFrame:
    """The likeness to its text of each reply that was asked to copy a screenshot first: ``request, copied``."""
    if benchmark is None:
        return pl.LazyFrame(schema=_TABLE)
    asked = (pl.col("ask").cast(pl.String) == "ocr") & (pl.col("sight").cast(pl.String) == "screenshot")
    said = answers_of(run, benchmark).filter(asked).drop_nulls("text")
    plain = said.select(pl.col("item", "request").cast(pl.String), "text").unique("request")

    def copied(rows: pl.DataFrame) -> pl.DataFrame:
        texts = {item.id: text_of(item) for item in benchmark} if len(rows) else {}
        values = [
            (request, edit_similarity(transcript_of(text), texts[item]))
            for item, request, text in rows.iter_rows()
            if item in texts
        ]
        return pl.DataFrame(values, schema=_TABLE, orient="row")

    return plain.map_batches(copied, schema=_TABLE)
