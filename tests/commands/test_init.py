"""``eyetest init``: what it writes is what runs, and nothing that is there is lost."""

import json
import re
import shlex
import sys
from pathlib import Path

import pytest

import eyetest as et
from eyetest.commands.init import SERVERS
from eyetest.store.handwritten import read_yaml
from tests.runs.written import separated
from tests.support.command import call

DOCS = Path(__file__).parents[2] / "docs/servers.md"


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    call("world", "new", "--item-count", 24, "--size", 48, "--flaws", "none", "--to", "w").fine()
    return Path("w/benchmark")


def commands(page: Path) -> list[list[str]]:
    return [shlex.split(line)[1:] for line in re.findall(r"^\$ (.*)$", page.read_text(), re.MULTILINE)]


def test_three_questions(bench: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = iter([str(bench), "4", "qwen3-vl:8b", "", "sound"])
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    asked: list[str] = []

    def answer(question: str) -> str:
        asked.append(question)
        return next(said)

    monkeypatch.setattr("builtins.input", answer)
    call("init", "--to", "here").fine()
    assert next(said, None) is None
    assert read_yaml(Path("here/models.yaml")) == {
        "qwen3-vl:8b": {"spec": "openai:qwen3-vl:8b@http://127.0.0.1:11434/v1"}
    }
    assert commands(Path("here/eyetest.md"))[0] == ["audit", str(bench), "--page", "here/audit.html"]
    assert asked[1].startswith("Where is the model?\n  1  vllm ")


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ((), "--server is missing, and there is no terminal to ask at"),
        (("--server", "vlm"), 'did you mean "vllm"?'),
        (("--server", "other", "--model", "m", "--goal", "all"), "--address is missing"),
        (("--server", "vllm", "--model", "m", "--goal", "all", "--address", "http://me:word@h/v1"), "without a name"),
    ],
)
def test_bad_input_writes_nothing(bench: Path, more: tuple[str, ...], told: str) -> None:
    said = call("init", bench, *more).refused()
    assert told in said
    assert "word" not in re.findall(r"[\w-]+", said)
    assert not Path("eyetest.md").exists()


def test_the_page_about_servers_has_their_addresses() -> None:
    page = DOCS.read_text()
    assert [one.title for one in SERVERS.values() if one.address and one.title not in page] == []
    addresses = [one.address for name, one in SERVERS.items() if name != "openai" and one.address]
    assert [address for address in addresses if address not in page] == []
    assert [one.key_env for one in SERVERS.values() if one.key_env and one.key_env not in page] == []


def test_the_project_file_is_completed_and_used(bench: Path) -> None:
    Path("eyetest.yaml").write_text("# mine\nseed: 3\n")
    call("init", bench, "--server", "none", "--goal", "sound").fine()
    call("init", bench, "--server", "vllm", "--model", "m", "--goal", "sound", "--overwrite").fine()
    text = Path("eyetest.yaml").read_text()
    assert text.startswith("# mine\nseed: 3\n")
    assert read_yaml(Path("eyetest.yaml")) == {"seed": 3, "models": "models.yaml"}
    call("init", bench, "--server", "vllm", "--model", "m", "--goal", "sound", "--overwrite").fine()
    assert Path("eyetest.yaml").read_text() == text
    Path("eyetest.yaml").write_text(f"{text}conditions:\n  mine: {{ask: cot}}\nunknown: 1\n")
    probe = ("audit", bench, "--probe", "positions", "--output", "json")
    assert json.loads(call(*probe).fine())["seed"] == 3
    assert json.loads(call(*probe, "--seed", 5).fine())["seed"] == 5
    assert '"name": "m"' in call("doctor", "--output", "json").out
    assert "mine,ask=cot" in call("show", "conditions", "--output", "csv").fine()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("seed: [1", "error: eyetest.yaml is not YAML: "),
        ("- seed", "error: eyetest.yaml: expected names of options with their values"),
        ("seed: x", 'invalid value for [seed] from eyetest.yaml: unable to convert "x" into int'),
    ],
)
def test_a_bad_project_file_is_one_line(bench: Path, text: str, told: str) -> None:
    Path("eyetest.yaml").write_text(text)
    assert told in call("audit", bench).refused()


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
    for wrong, told in (
        ("mpa: {}\nformat: csv", 'b.yaml: no setting "mpa"'),
        ("map: {qestion: what}", "b.yaml: map"),
    ):
        Path("b.yaml").write_text(wrong)
        assert told in call("show", "b.csv").refused()
    Path("b.yaml").write_text("task: something of another tool\n")
    Path("eyetest.yaml").write_text(f"columns:\n  b.csv: {{{', '.join(notes.splitlines())}}}\n")
    assert json.loads(call("show", "b.csv", "1", "--output", "json").fine()) == item
    separated(Path("a.csv"), ["nr", "who", "said"], ["1", "m", "b"])
    Path("a.yaml").write_text("map: {item: nr, model: who, text: said}\n")
    assert "1 answer of 1 model" in call("import", "a.csv", "--to", "run").fine()
