"""``eyetest init`` and the project file: values of options, conditions and columns."""

import json
from pathlib import Path

import pytest

import eyetest as et
from eyetest.store.handwritten import read_yaml
from tests.runs.written import separated
from tests.support.command import call


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    call("world", "new", "--item-count", 24, "--size", 48, "--flaws", "none", "--to", "w").fine()
    return Path("w/benchmark")


def test_what_is_written_is_used(bench: Path) -> None:
    call("init").fine()
    assert (read_yaml(Path("eyetest.yaml")), read_yaml(Path("models.yaml"))) == ({"seed": 0}, None)
    assert "models.yaml is already there" in call("init", "--model", "m=openai:qwen@http://127.0.0.1:9/v1").refused()
    assert "no kind of model" in call("init", "--model", "opnai:m", "--to", "other").refused()
    secret = "m=openai:qwen@http://user:sekret@127.0.0.1:9/v1"
    assert "carries a key or password" in call("init", "--model", secret, "--to", "other").refused()
    assert not Path("other").exists()
    call("init", "--model", "m=openai:qwen@http://127.0.0.1:9/v1", "--overwrite").fine()
    assert read_yaml(Path("models.yaml")) == {"m": {"spec": "openai:qwen@http://127.0.0.1:9/v1"}}
    text = Path("eyetest.yaml").read_text().replace("seed: 0", "seed: 3")
    Path("eyetest.yaml").write_text(f"{text}conditions:\n  mine: {{ask: cot}}\nunknown: 1\n")
    probe = ("audit", bench, "--probe", "positions", "--output", "json")
    assert json.loads(call(*probe).fine())["seed"] == 3
    assert json.loads(call(*probe, "--seed", 5).fine())["seed"] == 5
    assert '"name": "m"' in call("doctor", "--output", "json").out
    assert "mine,ask=cot" in call("show", "conditions", "--output", "csv").fine()
    assert "m,openai:qwen@http://127.0.0.1:9/v1," in call("show", "models.yaml", "--output", "csv").fine()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seed: [1", "error: eyetest.yaml is not YAML: "),
        ("- seed", "error: eyetest.yaml: expected names of options with their values"),
        ("seed: x", 'invalid value for [seed] from eyetest.yaml: unable to convert "x" into int'),
    ],
)
def test_a_bad_project_file_is_one_line(bench: Path, text: str, message: str) -> None:
    Path("eyetest.yaml").write_text(text)
    assert message in call("audit", bench).refused()


def test_columns_are_stated_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    separated(Path("b.csv"), ["nr", "what", "x", "y", "right", "extra"], ["1", "Which?", "a", "b", "1", "z"])
    assert "no column for the question" in call("show", "b.csv").refused()
    notes = "map: {id: nr, question: what, options: [x, y], answer: right}\ngold_style: index\ndrop: [extra]\n"
    Path("b.yaml").write_text(notes)
    item = json.loads(call("show", "b.csv", "1", "--output", "json").fine())
    assert [choice.get("correct", False) for choice in item["choices"]] == [False, True]
    assert not item.get("tags")
    call("import", "b.csv", "--to", "kept").fine()
    assert et.open("b.csv")["1"] == et.open("kept")["1"]
    explicit = ("--map", "question=extra", "--drop", "what")
    assert json.loads(call("show", "b.csv", "1", *explicit, "--output", "json").fine())["question"] == "z"
    call("audit", "b.csv", *explicit, "--probe", "malformed").fine()
    for wrong, message in (
        ("mpa: {}\nformat: csv", 'b.yaml: no setting "mpa"'),
        ("map: {qestion: what}", "b.yaml: map"),
        ("gold_style: word", "b.yaml, gold_style"),
    ):
        Path("b.yaml").write_text(wrong)
        assert message in call("show", "b.csv").refused()
    Path("b.yaml").write_text("task: something of another tool\n")
    Path("eyetest.yaml").write_text(f"columns:\n  b.csv: {{{', '.join(notes.splitlines())}}}\n")
    assert json.loads(call("show", "b.csv", "1", "--output", "json").fine()) == item
    separated(Path("a.csv"), ["nr", "who", "reply"], ["1", "m", "b"])
    Path("a.yaml").write_text("map: {item: nr, model: who, text: reply}\n")
    assert "1 answer of 1 model" in call("import", "a.csv", "--to", "run").fine()
