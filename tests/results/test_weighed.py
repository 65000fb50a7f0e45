"""What a run has stored of weighed choices comes to measures as it was, and comes to the scores that it has."""

from pathlib import Path

import polars as pl
import pytest

from eyetest.measures import MEASURES, Settings
from eyetest.measures.likelihood import weighed
from eyetest.records import Asked, Choice, Item, Response
from eyetest.results.gather import results_of
from eyetest.scoring import Scorer
from tests.scoring.test_table import make_bench, make_run, request

ITEMS = [
    Item(id="two", question="?", choices=(Choice("a"), Choice("bb", correct=True))),
    Item(id="three", question="?", choices=(Choice("a", correct=True), Choice("bb"), Choice("c", correct=True))),
    Item(id="tie", question="?", choices=(Choice("a", correct=True), Choice("b"))),
    Item(id="open", question="?", references=("x",)),
]


def reply(number: int, candidates: tuple[float | None, ...], sizes: bool = True) -> Response:
    tokens, lengths = ((1,) * len(candidates), (3,) * len(candidates)) if sizes else ((), ())
    given = {"candidates": candidates, "candidate_tokens": tokens, "candidate_bytes": lengths}
    return Response(request=request(number), outcome="answered", text="", **given)  # type: ignore[arg-type]


def test_candidates_are_read_as_scoring_reads_them(tmp_path: Path) -> None:
    bench = make_bench(tmp_path / "b", ITEMS)
    asked = [Asked(item=item.id, model="m", method="likelihood") for item in ITEMS[:3]]
    failed = Asked(item="two", model="n", method="likelihood")
    plan = [
        *((one, request(n)) for n, one in enumerate(asked)),
        (Asked(item="open", model="m"), request(8)),
        (failed, request(9)),
    ]
    responses = [reply(0, (-2.0, -1.0)), reply(1, (None, -5.0, -4.0), sizes=False), reply(2, (-1.0, -1.0))]
    responses += [Response(request=request(8), outcome="answered", text="x")]
    responses += [Response(request=request(9), outcome="failed", error="timeout")]
    of = results_of([make_run(tmp_path / "r", plan, responses, bench)], Scorer())
    answers = weighed(of)
    assert answers.rows["item"].to_list() == ["three", "tie", "two"]
    assert answers.logs[0].tolist() == [-float("inf"), -5.0, -4.0]
    assert answers.golds.tolist() == [[True, False, True], [True, False, False], [False, True, False]]
    assert answers.bytes[2, :2].tolist() == [3, 3]
    row = MEASURES["likelihood"].measure(of, Settings()).table.row(0, named=True)
    stored = of.scores.filter(pl.col("method") == "likelihood").select(pl.col("score").mean()).collect().item()
    assert row["sum"] == pytest.approx(stored) == pytest.approx(2 / 3)
    assert (row["n"], row["per_token"], row["per_byte"]) == (3, 0.5, 0.5)
