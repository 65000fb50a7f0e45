"""The project file: values of options, conditions and models."""

import json
from pathlib import Path

import pytest

from tests.support.command import call
from tests.support.drawn import draw_benchmark


@pytest.fixture
def bench(workdir: Path) -> Path:
    draw_benchmark(workdir / "b", items=24)
    return Path("b")


def test_values_count_unless_an_option_states_another(bench: Path) -> None:
    Path("models.yaml").write_text('m: {spec: "openai:qwen@http://127.0.0.1:9/v1"}')
    Path("eyetest.yaml").write_text("seed: 3\nmodels: models.yaml\nconditions:\n  mine: {ask: cot}\nunknown: 1\n")
    probe = ("audit", bench, "--probe", "positions", "--output", "json")
    assert json.loads(call(*probe).fine())["seed"] == 3
    assert json.loads(call(*probe, "--seed", 5).fine())["seed"] == 5
    assert '"name": "m"' in call("doctor", "--output", "json").out
    assert "mine,ask=cot" in call("show", "conditions", "--output", "csv").fine()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seed: [1", "error: eyetest.yaml is not YAML: "),
        ("- seed", "error: eyetest.yaml: expected names of options with their values"),
        ("seed: x", "eyetest.yaml: seed: found 'x', expected a whole number"),
    ],
)
def test_a_bad_project_file_is_one_line(bench: Path, text: str, message: str) -> None:
    Path("eyetest.yaml").write_text(text)
    assert message in call("audit", bench).refused()
