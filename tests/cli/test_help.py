"""Tables in a narrow terminal drop columns, never digits."""

import re
from pathlib import Path

import pytest

from eyetest.cli.terminal import out
from eyetest.commands.results import Column, fitting
from tests.runs.conftest import Eyetest
from tests.support.command import call

WIDTHS = (80, 60)
MODELS = ("qwen2.5-vl-72b-instruct", "llava-onevision-qwen2-7b")


def test_columns_go_from_the_right_and_none_is_cut() -> None:
    columns = [
        Column("model", ["a model of long words", "b"], has_words=True),
        Column("score", ["0.123 [0.100, 0.145]", "1.000 [0.900, 1.000]"]),
        Column("only a", ["1,234", "2"]),
        Column("clusters", ["12,345", "1"]),
    ]
    for width in range(10, 70):
        kept, dropped = fitting(columns, width)
        assert [one for one, _ in kept] + dropped == columns
        assert all(given >= one.narrowest for one, given in kept)
        assert sum(given for _, given in kept) + 2 * (len(kept) - 1) <= width or len(kept) == 2
    assert len(fitting(columns, 60)[0]) == 4
    assert [one.name for one in fitting(columns, 35)[1]] == ["clusters"]
    assert fitting(columns, 60)[0][0][1] == len("a model of long words")


def numbers(text: str) -> set[str]:
    """What stands in a text that has a digit."""
    return {word for word in text.split() if re.search(r"\d", word)}


def test_tables_in_a_narrow_terminal(tmp_path: Path, eyetest: Eyetest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    eyetest("world", "new", "--item-count", 18, "--size", 48, "--to", "w").fine()
    specs = (f"{name}=scripted:right=0.{place + 4},blind=0.3,seed={place}" for place, name in enumerate(MODELS))
    asked = [word for spec in specs for word in ("--model", spec)]
    eyetest("run", "w/benchmark", *asked, "--condition", "image,no-image", "--to", "r").fine()
    Path("suite.yaml").write_text("{benchmarks: [w/benchmark], models: ['scripted:right=0.7'], limit: 4}")
    for words in (
        ("compare", "r", "--flips", "2"),
        ("measure", "gain", "r"),
        ("measure", "accuracy", "r", "--by", "core", "--where", "modality=image"),
        ("show", "r"),
        ("score", "r"),
        ("reconcile", "r", "r", "--rules-b", "mmmu"),
        ("show", "w/benchmark"),
        ("world", "models"),
        ("reform", "list"),
        ("suite", "suite.yaml", "--to", "s"),
    ):
        wide = eyetest(*words)
        monkeypatch.setenv("TTY_COMPATIBLE", "1")
        monkeypatch.setenv("NO_COLOR", "1")
        for width in WIDTHS:
            monkeypatch.setattr(out, "_width", width)
            narrow = eyetest(*words)
            shown = re.sub(r"\x1b\[[\d;]*m", "", narrow.out)
            assert numbers(re.sub(r"\d+ more column", "", shown)) <= numbers(wide.out), (words, width)
            cut = [line for line in shown.splitlines() if "…" in line]
            assert not cut or words[0] in ("show", "reconcile"), cut
            if "more column" in narrow.out:
                names = ", ".join(re.findall(r"more columns? \((.*?)\): widen", shown.replace("\n", " ")))
                assert all(word in wide.out for word in names.replace(",", "").split())
        monkeypatch.undo()
        monkeypatch.chdir(tmp_path)


def test_measures_and_pages_of_some_modalities_and_models(
    tmp_path: Path, eyetest: Eyetest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    table = [
        "item,model,modality,given",
        *(f"{n},{m},{s},{n % 2}" for n in range(8) for m in "ab" for s in ("image", "no-image")),
    ]
    Path("a.csv").write_text("\n".join(table))
    eyetest("import", "a.csv", "--to", "r").fine()
    done = eyetest("measure", "accuracy", "r", "--where", "modality=no-image", "--model", "a", "--output", "csv")
    told = done.out.splitlines()
    assert len(told) == 2
    assert ",blind" in told[1] or "blind," in told[1] or told[1].startswith("a")
    assert 'did you mean "no-image"?' in eyetest("measure", "accuracy", "r", "--where", "modality=no-imag").refused()
    eyetest("report", "r", "--where", "modality=image", "--model", "a", "--page", "p.html", "--resamples", 100).fine()
    page = Path("p.html").read_text()
    assert "modality=image" in page


def test_more_items_than_a_world_has_are_refused() -> None:
    assert "100000" in call("world", "new", "--to", "w", "--item-count", 100_001).refused()
