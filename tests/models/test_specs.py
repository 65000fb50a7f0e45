"""Models by specs and files; fakes that answer by rule, and answers that were recorded before."""

from collections import Counter
from pathlib import Path

import pytest

from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError
from eyetest.models import Surroundings, make_models, parse_models, read_models
from eyetest.records import Condition
from eyetest.running import Asking, Limits, Progress, Session
from eyetest.runs import read_answers, read_responses
from tests.running.benches import make_bench
from tests.support.refusals import refusal


def yaml(folder: Path, text: str) -> Path:
    path = folder / "models.yaml"
    path.write_text(text)
    return path


def test_names_of_specs() -> None:
    words = [
        "openai:org/qwen@http://h:8000/v1",
        "openai:gpt-4o",
        "big one=openai:qwen@http://h/v1?x=1",
        "replay:old/run#teacher",
        "replay:old/answers.parquet",
        "scripted:right=0.7,seed=3",
    ]
    found = parse_models(words)
    assert list(found) == ["org/qwen", "gpt-4o", "big one", "teacher", "answers", "scripted:right=0.7,seed=3"]
    assert found["big one"].spec == "openai:qwen@http://h/v1?x=1"


def test_a_file_names_models(tmp_path: Path) -> None:
    path = yaml(
        tmp_path,
        """
        small: scripted:right=0.4
        large:
          spec: openai:large@http://h/v1
          sampling: {temperature: 0.5, max_tokens: 20}
          price: {input: 1.5, output: 3}
          size_b: 72
          trained_on: [coco]
          concurrency: 4
          detail: high
        7b: scripted:right=0.5
        """,
    )
    listed = read_models(path)
    assert list(listed) == ["small", "large", "7b"]
    assert listed["large"].sampling == {"temperature": 0.5, "max_tokens": 20}
    assert listed["large"].price is not None
    assert listed["large"].price.of(1_000_000, 1_000_000) == 4.5
    assert list(parse_models([], path)) == ["small", "large", "7b"]
    assert list(parse_models(["7b", "scripted:right=1"], path)) == ["7b", "scripted:right=1"]
    with pytest.raises(InputError, match='no model "lrage"; did you mean "large"'):
        parse_models(["lrage"], path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("m: opnai:x@http://h/v1", 'no kind of model named "opnai"; did you mean "openai"?'),
        ("m: qwen", "m: 'qwen' is no spec; write KIND:…"),
        ("m: {spec: 'scripted:', temprature: 1}", 'm: no setting "temprature"; known: attempts, backoff, base'),
        ("m: {spec: 'scripted:', samplng: {}}", 'm: no setting "samplng"; did you mean "sampling"?'),
        ("m: {base: x}", "m: Object missing required field `spec`"),
        ("m: {spec: 3}", "m, spec: found 3, expected a text"),
        ("m: {spec: 'scripted:', detail: huge}", "m, detail: no value 'huge'; known: "),
        ("m: {spec: 'scripted:', concurrency: many}", "concurrency"),
        ("m: {spec: 'scripted:', concurrency: -1}", "concurrency"),
        ("", "expected names of models, each with a spec"),
        ("m: [", "is not YAML"),
        ("m: !!python/object/apply:os.system ['true']", "is not YAML"),
    ],
)
def test_files_that_are_none(tmp_path: Path, text: str, message: str) -> None:
    path = yaml(tmp_path, text)
    assert message in refusal(read_models, path)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "no model: name one with --model"),
        (["gpt-4o"], 'no model "gpt-4o"; write KIND:'),
        (["scirpted:"], 'did you mean "scripted"?'),
        (["m=scripted:", "m=scripted:right=1"], 'two models are called "m"; give them names: --model NAME='),
        ([":x"], 'no kind of model named ""'),
        (["scripted:rihgt=1"], 'scripted: "rihgt" is no setting; did you mean "right"?'),
        (["scripted:right=much"], "scripted, right: found 'much', expected a number"),
        (["scripted:right=1.5"], "scripted: right is a probability from 0 to 1"),
        (["scripted:fail=nan"], "scripted: fail is a probability"),
    ],
)
def test_words_that_are_none(words: list[str], message: str) -> None:
    assert message in refusal(lambda: make_models(parse_models(words), Surroundings()))


QUICK = Limits(backoff=0.0)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    return make_bench(tmp_path_factory.mktemp("bench") / "b", 200)


def run(bench: Benchmark, to: Path, *specs: str, **asking: object) -> Progress:
    return Session(bench, parse_models(specs), Asking(limits=QUICK, **asking)).run(to)  # type: ignore[arg-type]


def test_it_refuses_and_fails(bench: Benchmark, tmp_path: Path) -> None:
    run(bench, tmp_path / "refuse", "scripted:refuse=1")
    assert {row.text for row in read_responses(tmp_path / "refuse")} == {"I'm sorry, but I can't answer this."}
    progress = run(bench, tmp_path / "fail", "scripted:fail=0.3")
    rows = list(read_responses(tmp_path / "fail"))
    assert {row.outcome for row in rows} == {"answered"}
    assert progress.retries["server"] == sum(row.attempts - 1 for row in rows) > 40
    run(bench, tmp_path / "dead", "scripted:dead=0.2")
    outcomes = Counter((row.outcome, row.error, row.attempts) for row in read_responses(tmp_path / "dead"))
    assert outcomes.keys() == {("answered", "", 1), ("failed", "bad-request", 1)}
    assert 20 <= outcomes["failed", "bad-request", 1] <= 60


def test_a_run_can_be_replayed(bench: Benchmark, tmp_path: Path) -> None:
    conditions = (Condition(), Condition(modality="no-image"))
    asking = {"conditions": conditions, "samples": 2, "sampling": {"temperature": 1}, "limit": 30}
    run(bench, tmp_path / "old", "m=scripted:right=0.5,refuse=0.1,dead=0.1", **asking)
    run(bench, tmp_path / "new", f"m=replay:{tmp_path / 'old'}", **asking)
    old, new = list(read_answers(tmp_path / "old")), list(read_answers(tmp_path / "new"))
    assert len(old) == 120
    assert old == new
    assert any(row.outcome == "failed" for row in new), "a failure is replayed as one"
    assert {row.error for row in read_responses(tmp_path / "new") if row.outcome == "failed"} == {"recorded-failure"}


def test_what_was_never_recorded_fails_and_says_so(bench: Benchmark, tmp_path: Path) -> None:
    run(bench, tmp_path / "old", "m=scripted:", limit=5)
    progress = run(bench, tmp_path / "new", f"m=replay:{tmp_path / 'old'}", limit=8)
    assert progress.outcomes == {"answered": 5, "failed": 3}
    (said,) = {row.error for row in read_responses(tmp_path / "new") if row.outcome == "failed"}
    assert said == "not-recorded"
    progress = run(bench, tmp_path / "more", f"m=replay:{tmp_path / 'old'}", limit=5, samples=2)
    assert progress.outcomes == {"answered": 5, "failed": 5}, "another sample is another answer"
