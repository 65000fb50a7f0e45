from dataclasses import replace

import polars as pl
import pytest

from eyetest.measures import MEASURES, NotMeasurable, Settings
from eyetest.measures.replies import split_sentences
from tests.measures.tables import results


def test_sentences() -> None:
    assert split_sentences("The bar is 3.5 cm. It rises!  Why?\n- so\n\n**B**") == [
        "The bar is 3.5 cm.",
        "It rises!",
        "Why?",
        "- so",
        "**B**",
    ]
    assert split_sentences("图中有三个人。答案是B。") == ["图中有三个人。", "答案是B。"]
    assert split_sentences(" \n--- \n") == []


def test_length_by_setting() -> None:
    rows = [
        {"item": "1", "request": "r1"},
        {"item": "2", "request": "r2"},
        {"item": "1", "request": "r3", "ask": "cot"},
    ]
    texts = {"r1": "B", "r2": "It is C.", "r3": "One two. Three."}
    replies = pl.LazyFrame({"benchmark": ["bench"] * 3, "request": [*texts], "text": [*texts.values()]})
    elsewhere = pl.LazyFrame({"benchmark": ["x"], "request": ["r1"], "text": ["of another benchmark"]})
    of = replace(results(rows), replies=pl.concat([replies, elsewhere]))
    table = MEASURES["length"].measure(of, Settings()).table
    assert table.select("ask", "words", "sentences", "characters", "n").rows() == [
        ("cot", 3, 2, 15, 1),
        ("direct", 2, 1, 4.5, 2),
    ]
    with pytest.raises(NotMeasurable, match="in words"):
        MEASURES["length"].measure(results(rows), Settings())
