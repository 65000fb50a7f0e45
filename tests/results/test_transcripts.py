"""What a reply copies, what it should copy, and how like the two are."""

from pathlib import Path

import polars as pl
import pytest

from eyetest.measures import MEASURES, Settings
from eyetest.prompts import SCREENSHOT_STEP
from eyetest.records import Asked, Choice, Item, Lineage, Response
from eyetest.results.gather import results_of, transcribed, transcript_of
from eyetest.scoring import Scorer
from tests.scoring.test_table import make_bench, make_run, request

ITEM = Item(
    id="1",
    question="Which bird <image 1> is blue?",
    choices=(Choice("The heron", correct=True), Choice("A. owl")),
    lineage=(Lineage(step=SCREENSHOT_STEP),),
)


def test_letters_and_the_answer_are_no_part_of_a_transcript() -> None:
    reply = "Which bird is blue?\nA. The heron\n**(B)** A. owl\nAnswer: the transcript\n\n**Answer: A**"
    assert transcript_of(reply).strip() == "Which bird is blue?\nThe heron\nA. owl\nAnswer: the transcript"
    assert transcript_of("no answer at all") == "no answer at all"


def test_only_transcripts_of_screenshots_are_judged(tmp_path: Path) -> None:
    bench = make_bench(tmp_path / "b", [ITEM])
    asked = [
        Asked(item="1", model="m", modality="screenshot", ask="ocr"),
        Asked(item="1", model="m", modality="screenshot"),
        Asked(item="1", model="m", ask="ocr"),
    ]
    replies = ("Which bird is blue?\nA. The heron\nB. A. owl\nAnswer: A", "A", "Answer: A")
    plan = [(one, request(n)) for n, one in enumerate(asked)]
    said = [Response(request=request(n), outcome="answered", text=text) for n, text in enumerate(replies)]
    run = make_run(tmp_path / "r", plan, said, bench)
    assert transcribed(run, bench).collect().rows() == [(request(0), pytest.approx(1.0))]
    assert transcribed(run, None).collect().schema == {"request": pl.String, "copied": pl.Float64}
    table = MEASURES["ocr-accuracy"].measure(results_of([run], Scorer()), Settings()).table
    assert table.select("model", "accuracy", "score", "n").rows() == [("m", 1.0, 1.0, 1)]
