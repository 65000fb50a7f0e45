"""All answers of a run at once, against the plain way: one row after the other."""

import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.records import (
    Answer,
    Asked,
    Choice,
    Item,
    Manifest,
    Response,
    RunBenchmark,
    RunStep,
    Score,
    columns,
)
from eyetest.runs import Run, RunWriter
from eyetest.runs.stored import answers_frame
from eyetest.scoring import Scorer
from eyetest.scoring.scorer import corpus_table, score_table
from tests.scoring.metrics import corpus_metric

Reply = str | Mapping[str, Any] | None
REFUSAL = "I'm sorry, but I cannot see an image."
CONTRACT = [
    *("item", "model", "modality", "ask", "shots", "template", "order", "letters", "method", "history"),
    *("prompts", "sample"),
    *("request", "outcome", "reading", "choice", "rule", "metric", "score", "marked", "probability"),
]


def request(number: int) -> str:
    """A request id, as long as real ones."""
    return f"{number:032x}"


def make_bench(path: Path, items: Iterable[Item], name: str = "b") -> Benchmark:
    """A benchmark of these items; golds may be missing."""
    with BenchmarkWriter(path, Manifest(name=name), gold_required=False) as writer:
        for item in items:
            writer.add(item)
    return Benchmark(path)


def make_run(
    path: Path, asked: Sequence[tuple[Asked, str]], replies: Iterable[Response], benchmark: Benchmark | None = None
) -> Run:
    """A run folder with this plan and these responses."""
    about = RunBenchmark.of(benchmark.manifest, benchmark.path) if benchmark else None
    with RunWriter(path) as run:
        with run.planning() as plan:
            for row, id_ in asked:
                plan.add(row, id_)
        run.record(RunStep(what="ask"), {}, about)
        for response in replies:
            run.journal.append(response)
    return Run(path)


def make_answers(path: Path, replies: Iterable[tuple[Asked, Reply]], benchmark: Benchmark | None = None) -> Run:
    """A run in which these were the replies, each to a request of its own.

    A reply is a text, None where the call failed, or the fields of a response that was answered if they do not say.
    """
    plan, given = [], []
    for number, (row, reply) in enumerate(replies):
        plan.append((row, request(number)))
        fields: dict[str, Any] = {"outcome": "failed" if reply is None else "answered"}
        fields |= reply if isinstance(reply, Mapping) else {"text": reply}
        given.append(Response(request=request(number), **fields))
    return make_run(path, plan, given, benchmark)


def animals(id_: str = "i", *gold: int, question: str = "Which one?", **more: Any) -> Item:
    texts = ("cat", "dog", "bird", "fish")
    choices = tuple(Choice(text, n in gold) for n, text in enumerate(texts))
    return Item(id=id_, question=question, choices=choices, **more)


def answers_of(rows: Sequence[Mapping[str, Any]]) -> pl.LazyFrame:
    """Answers as a frame, without a folder: the other columns have their usual values."""
    usual = msgspec.structs.asdict(Answer(item="i", model="m")) | {"candidates": None, "request": ""}
    filled = [usual | {"request": request(number)} | dict(row) for number, row in enumerate(rows)]
    schema = {name: pl.Int64 if isinstance(usual[name], int) else pl.String for name in usual}
    return pl.DataFrame(filled, schema=schema | {"given": pl.Float64}).lazy()


def table(rows: Sequence[Mapping[str, Any]], items: Sequence[Item], **scorer: Any) -> pl.DataFrame:
    return score_table(answers_of(rows), items, Scorer(**scorer)).collect()


def test_columns_are_those_of_the_contract_in_order_and_plain(tmp_path: Path) -> None:
    assert tuple(CONTRACT) == columns(Score)
    make_run(
        tmp_path / "r",
        [(Asked(item="i", model="m"), request(1))],
        [Response(request=request(1), outcome="answered", text="B")],
    )
    for frame in (answers_frame(tmp_path / "r"), answers_of([{"text": "B"}])):
        found = score_table(frame, [animals("i", 1)], Scorer()).collect()
        assert found.columns == CONTRACT
        whole = {"template": pl.Int64, "order": pl.Int64, "sample": pl.Int64, "score": pl.Float64}
        plain = whole | {"marked": pl.Boolean, "probability": pl.Float64}
        assert dict(found.schema) == {name: plain.get(name, pl.String()) for name in CONTRACT}
        assert [msgspec.convert(row, Score).score for row in found.iter_rows(named=True)] == [1.0]
    empty = score_table(answers_of([]), [animals("i", 1)], Scorer()).collect()
    assert (empty.columns, len(empty)) == (CONTRACT, 0)


def test_one_row_an_answer_in_the_order_of_the_plan(tmp_path: Path) -> None:
    """Also where many say the same, and the same each time: a table that moves about cannot be compared."""
    models, items = 40, 250
    plan = [
        (Asked(item=f"q{n}", model=f"m{m}"), request(models * n + m)) for m in range(models) for n in range(items)
    ]
    drawn = random.Random(0)
    replies = [Response(request=id_, outcome="answered", text=drawn.choice("ABCD?")) for _, id_ in plan]
    drawn.shuffle(replies)
    make_run(tmp_path / "r", plan, replies)
    bench = [animals(f"q{n}", n % 4) for n in range(items)]
    first, second = (score_table(answers_frame(tmp_path / "r"), bench, Scorer()).collect() for _ in range(2))
    assert first.get_column("request").to_list() == [id_ for _, id_ in plan]
    assert first.select(columns(Asked)).rows() == [msgspec.structs.astuple(row) for row, _ in plan]
    assert first.equals(second)


def test_two_items_share_a_request_and_are_judged_each_by_its_own_gold(tmp_path: Path) -> None:
    plan = [(Asked(item=name, model="m", order=order), request(1)) for order in (0, 3) for name in ("one", "other")]
    make_run(tmp_path / "r", plan, [Response(request=request(1), outcome="answered", text="dog")])
    found = score_table(answers_frame(tmp_path / "r"), [animals("one", 1), animals("other", 2)], Scorer()).collect()
    expected = [(name, order, "B", right) for order in (0, 3) for name, right in (("one", 1.0), ("other", 0.0))]
    assert found.select("item", "order", "choice", "score").rows() == expected
    assert set(found.get_column("request")) == {request(1)}


def hostile(drawn: random.Random) -> str | None:
    pieces = ("A", "b", "3", "cat", "dog", "not B", "(C)", "\x00", "\x1b[2J", "\u202e", "[bold]", "é", "🐟", *"\n ")
    joined = "".join(drawn.choices(pieces, k=drawn.randrange(1, 6)))
    return drawn.choice([None, "", REFUSAL, joined, f"The answer is {drawn.choice('ABCD')}"])


def test_ten_thousand_random_rows_equal_the_plain_loop() -> None:
    drawn = random.Random(1)
    choice = [animals(f"c{n}", *drawn.sample(range(4), drawn.choice((0, 1, 1, 1, 2)))) for n in range(40)]
    texts = [
        Item(id=f"t{n}", question="How many?", references=tuple(drawn.choices(("3", "dog", "cat"), k=n % 5)))
        for n in range(20)
    ]
    items = {item.id: item for item in (*choice, *texts)}
    rows: list[dict[str, Any]] = [
        {
            "item": drawn.choice([*items, "unknown"]),
            "model": f"m{drawn.randrange(5)}",
            "modality": drawn.choice(("image", "no-image")),
            "template": drawn.randrange(3),
            "order": drawn.choice((0, 0, 1, -5, 2**62)),
            "letters": drawn.choice(("upper", "lower", "digit")),
            "sample": drawn.randrange(4),
            "outcome": drawn.choice(("answered", "answered", "answered", "truncated", "blocked", "failed")),
            "text": hostile(drawn),
            "given": drawn.choice((None, None, None, 0.0, 0.5, 1.0)),
            "candidates": drawn.choice(
                (None, None, None, "[[-1.0],[-2.0],[-3.0],[-4.0]]", "[[-1],[-1],[-2],[-3]]", "[[null],[0],[-1],[-2]]")
            ),
        }
        for _ in range(10_000)
    ]
    scorer = Scorer()
    expected = []
    for number, row in enumerate(rows):
        if row["item"] not in items:
            continue
        asked = Asked(**{name: row[name] for name in columns(Asked) if name in row})
        weights = msgspec.json.decode(row["candidates"]) if row["candidates"] else ()
        candidates = tuple(float("nan") if weight is None else weight for (weight,) in weights)
        replies = Response(
            request="", outcome=row["outcome"], text=row["text"], given=row["given"], candidates=candidates
        )
        one = scorer.score(items[row["item"]], asked.condition, replies)
        read = (one.reading, one.choice, one.rule, one.metric, one.score, one.marked, one.probability)
        expected.append((*msgspec.structs.astuple(asked), request(number), row["outcome"], *read))
    found = score_table(answers_of(rows), list(items.values()), scorer).collect()
    assert found.rows() == expected
    assert {row[14] for row in expected} == {None, "chosen", "text", "refused", "ambiguous", "cut off", "unparsed"}


def captioned(n: int, *references: str) -> Item:
    return Item(id=f"k{n}", question="Describe it.", references=references, tags={"task": "caption"})


CAPTIONS = [
    captioned(0, "a red bus on the street", "the bus is red"),
    captioned(1, "two dogs play in the grass", "dogs playing"),
    captioned(2, "a man rides a horse", "man on a brown horse"),
    captioned(3, "a plate of food on a table", "food on a plate"),
]
SAID = ("a red bus on a street", "two dogs in the grass", "a man and a horse", "a plate of food")


def caption_rows(**more: Any) -> list[dict[str, Any]]:
    return [{"item": item.id, "text": text, **more} for item, text in zip(CAPTIONS, SAID, strict=True)]


@pytest.mark.parametrize("metric", ["cider", "bleu-1", "bleu-4", "rouge-l"])
def test_captions_are_scored_by_corpus(metric: str) -> None:
    """One corpus a model, condition and sample: each equals calling the metric on it alone."""
    groups: list[dict[str, Any]] = [
        {"model": "one"},
        {"model": "other"},
        {"model": "one", "modality": "no-image"},
        {"model": "one", "sample": 1},
        {"model": "one", "template": 2},
        {"model": "one", "shots": "two"},
    ]
    rows = [
        row | {"text": " ".join(str(row["text"]).split()[: 3 + number])}
        for number, group in enumerate(groups)
        for row in caption_rows(**group)
    ]
    order = random.Random(2)
    order.shuffle(rows)
    frame = answers_of(rows)
    found = score_table(frame, iter(CAPTIONS), Scorer(metric=metric))
    scores = found.collect()
    assert set(scores.get_column("metric")) == {metric}
    assert set(scores.get_column("reading")) == {"text"}
    corpora = corpus_table(frame, CAPTIONS, found)
    assert len(corpora) == len(groups)
    for number, group in enumerate(groups):
        words = [" ".join(text.split()[: 3 + number]) for text in SAID]
        alone = corpus_metric(metric).score_all(words, [item.references for item in CAPTIONS])
        usual = {"modality": "image", "sample": 0, "template": 0, "shots": "none"} | group
        same = [pl.col(name) == value for name, value in usual.items()]
        mine = scores.filter(same).sort("item").get_column("score").to_list()
        assert mine == pytest.approx(alone.items, abs=1e-12)
        assert corpora.filter(same).get_column("overall").to_list() == pytest.approx([alone.overall], abs=1e-12)


def test_refusals_and_blocked_questions_are_empty_captions_and_failures_are_none() -> None:
    """Left out of the corpus, a refusal would change what the others score; as its own words, it could score."""
    rows = caption_rows()
    rows[1] |= {"text": REFUSAL}
    rows[2] |= {"text": "", "outcome": "blocked"}
    found = table(rows, CAPTIONS, metric="cider")
    alone = corpus_metric("cider").score_all([SAID[0], "", "", SAID[3]], [item.references for item in CAPTIONS])
    assert found.get_column("score").to_list() == pytest.approx([alone.items[0], 0.0, 0.0, alone.items[3]])
    assert found.get_column("reading").to_list() == ["text", "refused", None, "text"]
    bleu = corpus_metric("bleu-1").score_all([SAID[0], "", "", SAID[3]], [item.references for item in CAPTIONS])
    scores = score_table(answers_of(rows), CAPTIONS, Scorer(metric="bleu-1"))
    assert corpus_table(answers_of(rows), CAPTIONS, scores).get_column("overall").to_list() == [bleu.overall]
    rows[1] |= {"text": "", "outcome": "failed"}
    rows[2] |= {"text": None, "outcome": "answered"}
    found = table(rows, CAPTIONS, metric="cider")
    alone = corpus_metric("cider").score_all([SAID[0], SAID[3]], [CAPTIONS[0].references, CAPTIONS[3].references])
    assert found.get_column("score").to_list() == [alone.items[0], None, None, alone.items[1]]
