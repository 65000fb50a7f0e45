"""Replies of a model that saw no image: most decline, and what names no option must not be read as one."""

import json
import re
from collections import Counter
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

from eyetest.scoring.rules import read_choice

_NOT_WORDS = re.compile(r"\W+")
_LETTER = re.compile(r"(?<!\w)[A-H](?![\w'])")
_DECLINES = re.compile(r"^(?:I'm sorry|The (?:question|text) (?:does not|doesn't) provide)")


def names_an_option(text: str, options: list[str]) -> bool:
    """Whether any option's text, or any capital letter that letters one, stands in the reply as words of its own."""
    words = f" {_NOT_WORDS.sub(' ', text.lower())} "
    return bool(_LETTER.search(text)) or any(f" {_NOT_WORDS.sub(' ', o.lower()).strip()} " in words for o in options)


def test_blind_replies_that_name_no_option_are_not_choices(shared: Path) -> None:
    folder = shared / "data" / "mathvista"
    items = {item["id"]: item for item in map(json.loads, (folder / "items.jsonl").read_text("utf-8").splitlines())}
    table = pq.read_table(folder / "predictions.parquet")
    run = {"model": "gpt-4-0613", "setting": "zero-shot", "condition": "text"}
    for column, value in run.items():
        table = table.filter(pc.equal(table[column], value))
    kinds: Counter[str] = Counter()
    for row in table.select(["item_id", "raw_output"]).to_pylist():
        options, text = items[row["item_id"]]["options"], row["raw_output"] or ""
        if not options or names_an_option(text, options):
            continue
        reading = read_choice(text, options)
        kinds[reading.kind] += 1
        if _DECLINES.match(text):
            assert reading.kind == "refused", text

    assert kinds.total() > 200
    assert kinds["chosen"] / kinds.total() < 0.02, kinds
    assert kinds["refused"] > 200
