"""Who is asked, in a user's words and in models.yaml."""

from pathlib import Path

import pytest

from eyetest.errors import InputError
from eyetest.models import parse_models, read_models


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
        ("m: {spec: 3}", "m, spec: Expected `str`, got `int`"),
        ("m: {spec: 'scripted:', detail: huge}", "m, detail: Invalid enum value 'huge'"),
        ("m: {spec: 'scripted:', concurrency: many}", "concurrency"),
        ("m: {spec: 'scripted:', concurrency: -1}", "concurrency"),
        ("", "expected names of models, each with a spec"),
        ("m: [", "is not YAML"),
        ("m: !!python/object/apply:os.system ['true']", "is not YAML"),
    ],
)
def test_files_that_are_none(tmp_path: Path, text: str, message: str) -> None:
    path = yaml(tmp_path, text)
    with pytest.raises(InputError) as caught:
        read_models(path)
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "no model: name one with --model"),
        (["gpt-4o"], 'no model "gpt-4o"; write KIND:'),
        (["scirpted:"], 'did you mean "scripted"?'),
        (["m=scripted:", "m=scripted:right=1"], 'two models are called "m"; give them names: --model NAME='),
        ([":x"], 'no kind of model named ""'),
    ],
)
def test_words_that_are_none(words: list[str], message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_models(words)
    assert message in str(caught.value)
