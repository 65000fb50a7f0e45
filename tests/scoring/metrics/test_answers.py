"""What single answers score by each metric (`answers.jsonl`), and that no formula hangs."""

import json
from pathlib import Path
from typing import Any

import pytest

from eyetest.scoring.metrics import Context, item_metric

ANSWERS = [json.loads(line) for line in Path(__file__).with_name("answers.jsonl").read_text("utf-8").splitlines()]
HOSTILE = [
    *("9**9**9**9", "9^{9^{9^{9}}}", "99999999!", "((((9!)!)!)!)!", "\\binom{99999999}{49999999}"),
    *("(x+y+z)^{999999}", "x^{x^{x^{x^{x}}}}", "1e999999", "10^{-999999}", "__import__('os').system('true')"),
    *("(" * 50_000 + "1" + ")" * 50_000, "-" * 50_000 + "1", "1/" * 100_000 + "1", "2^" * 100_000 + "2"),
    *("\\sqrt{" * 20_000 + "2" + "}" * 20_000, "\\frac{1}{" * 20_000 + "2" + "}" * 20_000, "1" * 100_000),
    *("\\boxed{" * 50_000, "\\text{" * 50_000, "\\int_0^1 x dx " * 50_000, "1, " * 300_000, "a and " * 100_000),
    "+".join(["\\sin^2 x"] * 100),
]


@pytest.mark.parametrize("row", ANSWERS, ids=lambda row: f"{row['metric']}, {row['about']}: {row['answer'][:40]}")
def test_each_answer_scores_as_stated(row: dict[str, Any]) -> None:
    context = Context(row.get("question", ""), row.get("tags", {}))
    score = item_metric(row["metric"]).score(row["answer"], row["references"], context)
    assert score == (None if row["score"] is None else pytest.approx(row["score"], rel=0, abs=1e-12))


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_formula_hangs_or_is_run(text: str) -> None:
    metric = item_metric("open")
    for gold in ("5", "x+1", "\\frac{1}{3}+x", "\\{1, 2\\}", "a cat", text[:900] + "+0"):
        assert metric.score(text, [gold], Context()) in (0.0, 1.0)
        assert metric.score(gold, [text], Context()) in (0.0, 1.0)
