"""``eyetest init``: what it writes is what runs, and nothing that is there is lost."""

import re
import shlex
import sys
from pathlib import Path

import pytest

from eyetest.jobs.init import SERVERS
from eyetest.store.handwritten import read_yaml
from tests.endpoint import Endpoint
from tests.support.command import call

DOCS = Path(__file__).parents[2] / "docs/servers.md"


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    call("world", "new", "--item-count", 24, "--size", 48, "--flaws", "none", "--to", "w").fine()
    return Path("w/benchmark")


def commands(page: Path) -> list[list[str]]:
    return [shlex.split(line)[1:] for line in re.findall(r"^\$ (.*)$", page.read_text(), re.MULTILINE)]


@pytest.mark.slow
def test_all_that_it_writes_runs(bench: Path, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-secret-0123456789")
    monkeypatch.setenv("EYETEST_ALLOW_ENV", "MY_KEY")
    where = ("--server", "other", "--address", endpoint.url, "--key-env", "MY_KEY")
    done = call("init", bench, *where, "--model", "one,two,three", "--model", "four", "--goal", "all")
    assert "sk-secret" not in done.fine() + Path("models.yaml").read_text() + Path("eyetest.md").read_text()
    assert read_yaml(Path("models.yaml"))["two"] == {"spec": f"openai:two@{endpoint.url}", "key_env": "MY_KEY"}
    typed = commands(Path("eyetest.md"))
    assert [words[0] for words in typed] == [
        *("audit", "show", "run", "run", "measure", "report", "compare", "run", "compare"),
        *("refine", "refine", "card"),
    ]
    assert all(f"  eyetest {' '.join(words)}\n" in done.out for words in typed)
    for words in typed:
        assert call(*words).code == 0, words
    assert Path("audit.html").exists()
    assert Path("report.html").exists()
    assert Path("refined/benchmark").exists()


def test_what_it_writes_runs(bench: Path, endpoint: Endpoint) -> None:
    call(
        "init", bench, "--server", "vllm", "--address", endpoint.url, "--model", "one", "--goal", "eyes,better"
    ).fine()
    *asked, report = commands(Path("eyetest.md"))
    assert [words[0] for words in (*asked, report)] == ["run", "run", "measure", "report"]
    for words in asked:
        assert call(*words).code == 0, words
    assert len(endpoint.answered) == 48
    assert "needs 2 models for that, and has 1" in Path("eyetest.md").read_text()


def test_three_questions(bench: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = iter([str(bench), "4", "qwen3-vl:8b", "", "sound"])
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda question: next(said))
    told = call("init", "--to", "here").fine()
    assert next(said, None) is None
    assert read_yaml(Path("here/models.yaml")) == {
        "qwen3-vl:8b": {"spec": "openai:qwen3-vl:8b@http://127.0.0.1:11434/v1"}
    }
    assert commands(Path("here/eyetest.md"))[0] == ["audit", str(bench), "--page", "here/audit.html"]
    assert "Where is the model?" in told


def test_without_a_model(bench: Path) -> None:
    told = call("init", bench, "--server", "none", "--goal", "sound,eyes").fine()
    assert not Path("models.yaml").exists()
    assert "models.yaml needs 1 model for that, and has 0" in Path("eyetest.md").read_text()
    assert "eyetest audit" in told


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ((), "--server is missing, and nobody is here to be asked"),
        (("--server", "vlm"), 'did you mean "vllm"?'),
        (("--server", "vllm"), "--model is missing"),
        (("--server", "vllm", "--model", "m"), "--goal is missing"),
        (("--server", "vllm", "--model", "m", "--goal", "sond"), 'did you mean "sound"?'),
        (("--server", "other", "--model", "m", "--goal", "all"), "--address is missing"),
        (("--server", "vllm", "--model", "m", "--goal", "all", "--address", "http://me:word@h/v1"), "without a name"),
        (("--server", "vllm", "--model", "m", "--goal", "all", "--key-env", "sk-0123"), "not the key itself"),
    ],
)
def test_bad_input_writes_nothing(bench: Path, more: tuple[str, ...], told: str) -> None:
    said = call("init", bench, *more).refused()
    assert told in said
    assert not {"word", "sk-0123"} & set(re.findall(r"[\w-]+", said))
    assert not Path("eyetest.md").exists()


def test_nothing_is_overwritten(bench: Path) -> None:
    Path("models.yaml").write_text("mine: {}\n")
    words = ("init", bench, "--server", "vllm", "--model", "m", "--goal", "sound")
    assert "models.yaml" in call(*words).refused()
    assert Path("models.yaml").read_text() == "mine: {}\n"
    call(*words, "--overwrite").fine()
    assert "m" in read_yaml(Path("models.yaml"))


def test_the_page_about_servers_has_their_addresses() -> None:
    page = DOCS.read_text()
    assert [one.title for one in SERVERS.values() if one.address and one.title not in page] == []
    addresses = [one.address for name, one in SERVERS.items() if name != "openai" and one.address]
    assert [address for address in addresses if address not in page] == []
    assert [one.key_env for one in SERVERS.values() if one.key_env and one.key_env not in page] == []
