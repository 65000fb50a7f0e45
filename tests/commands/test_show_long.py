"""Texts that nobody reads to the end are not laid out to the end: what is printed does not grow with them."""

import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from eyetest.cli import main
from eyetest.commands.results import LONGEST_SHOWN, safe


@pytest.fixture(autouse=True)
def _handler() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def shown(path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    monkeypatch.setattr(sys, "argv", ["eyetest", "show", str(path), *more])
    with pytest.raises(SystemExit) as stop:
        main()
    assert not stop.value.code
    return capsys.readouterr().out


FIELDS = ("question", "options", "answer", "hint", "description", "tag", "id")


@pytest.mark.parametrize(
    ("field", "piece"), [*((field, "x") for field in FIELDS), ("options", "é \t"), ("hint", "a\n" * 9)]
)
@pytest.mark.parametrize("asked", [(), ("--condition", "image")], ids=["item", "prompt"])
def test_an_item(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    field: str,
    piece: str,
    asked: tuple[str, ...],
) -> None:
    sizes = []
    for length in (2 * LONGEST_SHOWN, 50 * LONGEST_SHOWN):
        row: dict[str, object] = {"id": "1", "question": "What?", "answer": "a"}
        text = f"begin{piece * (length // len(piece))}end"
        row |= {"options": [text, "b"], "answer": "A"} if field == "options" else {field: text}
        path = tmp_path / f"{length}.jsonl"
        path.write_text(json.dumps(row))
        said = shown(path, monkeypatch, capsys, str(row["id"]), *asked)
        sizes.append(len(said))
    assert sizes[1] < sizes[0] + 2_000
    if not asked and field not in ("tag", "description", "id"):
        assert " characters … " in " ".join(said.replace("│", " ").split())


def test_many_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    row = {"id": "1", "question": "What?", "answer": [f"a{n}" for n in range(2_000)]}
    path = tmp_path / "b.jsonl"
    path.write_text(json.dumps(row | {f"tag {n}": n for n in range(2_000)}))
    said = shown(path, monkeypatch, capsys, "1")
    assert len(said.splitlines()) < 300
    assert "and 1,900 more references (--output json prints all)" in said
    assert "and 1,900 more tags (--output json prints all)" in said
    assert len(json.loads(shown(path, monkeypatch, capsys, "1", "--output", "json"))["tags"]) == 2_000


def test_both_ends_are_shown() -> None:
    assert safe("a" * LONGEST_SHOWN) == "a" * LONGEST_SHOWN
    assert safe("abcdefghij", 4) == "ab … 6 characters … ij"
    assert safe("abcdefghij", None) == "abcdefghij"
