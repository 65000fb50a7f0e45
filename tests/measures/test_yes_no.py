"""Yes and no by POPE's definitions, counted by hand, and pairs of models item by item."""

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import polars as pl
import pytest

from eyetest.measures import MEASURES, NotMeasurable, Settings
from eyetest.measures.results import REPLY_TYPES, Results
from tests.measures.tables import grid, results
from tests.runs.written import jsonl
from tests.support.command import call

SAID = {"tp": (True, "yes"), "fp": (False, "yes"), "tn": (False, "no"), "fn": (True, "no"), "?": (True, None)}


def answered(counts: dict[str, int], model: str = "m") -> Results:
    """Results with so many true and false yeses and noes, and yeses that were missed by saying neither."""
    rows, items, replies = [], [], []
    for kind, count in counts.items():
        gold, says = SAID[kind]
        for number in range(count):
            name = f"{kind}{number}"
            right = says is not None and (says == "yes") == gold
            rows.append({"item": name, "model": model, "score": float(right), "request": name, "reading": "text"})
            items.append({"item": name, "cluster": name, "yes": gold})
            replies.append({"benchmark": "bench", "request": name, "text": says or "a dog", "says": says})
    return replace(results(rows, items), replies=pl.LazyFrame(replies, schema=REPLY_TYPES))


def test_the_four_numbers_by_hand() -> None:
    """30 + 10 yeses said, 30 + 15 + 5 true: precision 3/4, recall 3/5, F1 2/3, share of yes 40 of 100."""
    row = MEASURES["yes-no"].measure(answered({"tp": 30, "fp": 10, "tn": 40, "fn": 15, "?": 5}), Settings()).table
    (found,) = row.to_dicts()
    assert found["accuracy"] == pytest.approx(0.70)
    assert found["precision"] == pytest.approx(0.75)
    assert found["recall"] == pytest.approx(0.60)
    assert found["f1"] == pytest.approx(2 / 3)
    assert found["yes_rate"] == pytest.approx(0.40)
    assert (found["gold_yes"], found["unread"], found["n"]) == (0.5, 0.05, 100)
    assert all(found[f"{name}_low"] < found[name] < found[f"{name}_high"] for name in ("precision", "recall", "f1"))


def test_who_always_says_yes() -> None:
    (found,) = MEASURES["yes-no"].measure(answered({"tp": 25, "fp": 25}), Settings()).table.to_dicts()
    assert (found["accuracy"], found["recall"], found["yes_rate"]) == (0.5, 1.0, 1.0)
    assert found["f1"] == pytest.approx(2 / 3)


def test_who_never_says_yes() -> None:
    """Nothing was said of which a share could be right."""
    (found,) = MEASURES["yes-no"].measure(answered({"tn": 9, "fn": 3}), Settings()).table.to_dicts()
    assert (found["precision"], found["recall"], found["f1"], found["yes_rate"]) == (None, 0.0, 0.0, 0.0)


def test_the_interval_of_f1_covers() -> None:
    """Draws of 200 from a known world: F1 is inside 95 % intervals about as often as they say."""
    rng = Random(20)
    truth = 2 * 0.4 / (0.4 + 0.1 + 0.5)
    covered = 0
    for _ in range(60):
        kinds = rng.choices(["tp", "fp", "fn", "tn"], [0.4, 0.1, 0.1, 0.4], k=200)
        of = answered({kind: kinds.count(kind) for kind in ("tp", "fp", "fn", "tn")})
        (found,) = MEASURES["yes-no"].measure(of, Settings(resamples=300)).table.to_dicts()
        covered += found["f1_low"] <= truth <= found["f1_high"]
    assert covered >= 52


def test_other_items_are_left_out() -> None:
    with pytest.raises(NotMeasurable, match="no answer in words"):
        MEASURES["yes-no"].measure(grid({"a": [1, 0]}), Settings())


def test_from_a_file_to_the_table(tmp_path: Path) -> None:
    """Texts and options, in several spellings, by category."""
    bench = jsonl(
        tmp_path / "pope.jsonl",
        {"id": "1", "question": "Is there a dog?", "answer": "yes", "category": "random"},
        {"id": "2", "question": "Is there a cat?", "answer": "No", "category": "random"},
        {"id": "3", "question": "Is there an owl?", "options": ["Yes", "No"], "answer": "B", "category": "popular"},
        {"id": "4", "question": "Is there a bat?", "options": ["Yes", "No"], "answer": "A", "category": "popular"},
        {"id": "5", "question": "How many?", "answer": "7", "category": "popular"},
    )
    texts = {"1": "Yes, there is.", "2": "Yes.", "3": "A", "4": "I am not sure.", "5": "7"}
    said = jsonl(tmp_path / "a.jsonl", *({"item": item, "model": "m", "text": text} for item, text in texts.items()))
    call("import", said, "--to", tmp_path / "run", "--bench", bench).fine()
    done = call("measure", "yes-no", tmp_path / "run", "--by", "category", "--output", "json")
    found = json.loads(done.out)
    assert "left out: 1 item whose gold is neither yes nor no" in found["notes"]
    table = {row["category"]: row for row in found["rows"]}
    keys = ("accuracy", "precision", "recall", "f1", "yes_rate", "unread", "n")
    assert [table["random"][key] for key in keys] == pytest.approx([0.5, 0.5, 1.0, 2 / 3, 1.0, 0, 2])
    assert [table["popular"][key] for key in keys] == pytest.approx([0.0, 0.0, 0.0, 0.0, 0.5, 0.5, 2])


def test_win_rates_by_hand() -> None:
    of = grid({"a": [1, 1, 1, 0, 0.5, None], "b": [1, 0, 0, 1, 0.5, 1]})
    (found,) = MEASURES["differences"].measure(of, Settings(own={"wins": True})).table.to_dicts()
    assert (found["wins"], found["losses"], found["ties"], found["n"]) == (0.4, 0.2, 0.4, 5)
    assert found["wins_low"] < 0.4 < found["wins_high"]


def test_win_rates_against_one() -> None:
    of = grid({"a": [1, 0], "b": [0, 0], "c": [1, 1]})
    table = MEASURES["differences"].measure(of, Settings(own={"against": "c", "wins": True})).table
    assert table.select("a", "b", "wins", "losses").rows() == [("a", "c", 0.0, 0.5), ("b", "c", 0.0, 1.0)]
