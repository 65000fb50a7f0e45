"""``eyetest init`` and the project file: values of options, conditions and columns."""

import json
from pathlib import Path

import pytest

from eyetest.store.handwritten import read_yaml
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
