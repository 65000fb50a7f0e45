"""Bad input gets one clear line and exit code 2; a new run is not begun, and a run that is there stays as it was."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.runs.written import content, jsonl, separated
from tests.support.command import MAIN, call
from tests.test_bad_input import written

GOOD: dict[str, object] = {"item": "1", "model": "m", "text": "A"}
Make = Callable[[Path], Path]


def rows(*found: dict[str, object]) -> Make:
    return lambda folder: jsonl(folder / "a.jsonl", *found)


def after_good(**values: object) -> Make:
    return rows(GOOD, {"item": "2", "model": "m", "text": "B"} | values)


def folder_named_csv(folder: Path) -> Path:
    (folder / "a.csv").mkdir()
    return folder / "a.csv"


FILES: dict[str, tuple[Make, str]] = {
    "missing": (lambda folder: folder / "gone.csv", "gone.csv is no file"),
    "an empty folder": (folder_named_csv, "a.csv: there is no file of answers"),
    "another ending": (written("a.txt", "x"), "a.txt: expected a table (CSV, TSV, Excel, JSON"),
    "empty CSV": (written("a.csv", ""), "a.csv is empty"),
    "header alone": (written("a.csv", "item,model,text\n"), "a.csv holds no answers"),
    "half a JSON": (written("a.json", '[{"item": 1}'), "a.json is not JSON"),
    "half a line": (
        written("a.jsonl", '{"item": "1", "model": "m", "text": "A"}\n{"it'),
        "a.jsonl line 2 is not JSON",
    ),
    "a line that is no object": (written("a.jsonl", "[1]\n"), "a.jsonl: expected a list of objects"),
    "deep JSON": (written("a.jsonl", "[" * 200_000), "a.jsonl is nested too deeply"),
    "no item column": (
        rows({"uid": 1, "model": "m", "text": "A"}),
        "line 1: no column for the item: --map item=COLUMN, perhaps uid (the columns are uid, model, text)",
    ),
    "no model column": (rows({"item": 1, "text": "A"}), "no column for the model: --model NAME or --map"),
    "no answer column": (rows({"item": 1, "model": "m", "said": "A"}), "no column for the reply: --map text=COLUMN"),
    "empty item": (after_good(item=""), "line 2: neither item nor model may be empty"),
    "null model": (after_good(model=None), "line 2: neither item nor model may be empty"),
    "list for an item": (after_good(item=["1"]), "a.jsonl line 2: item: found ['1'] (list), expected text"),
    "object for a text": (after_good(text={"a": 1}), "a.jsonl line 2: text: found {'a': 1} (dict), expected text"),
    "list for a modality": (after_good(modality=["image"]), "a.jsonl line 2: modality: found ['image'] (list)"),
    "object for a score": (after_good(given={"a": 1}), "a.jsonl line 2: found {'a': 1} (dict)"),
    "unknown modality": (
        after_good(modality="seen"),
        "line 2: modality: found 'seen', expected one of image, no-image",
    ),
    "unknown ask": (after_good(ask="pot"), "rename it with --map-values 'ask=pot>direct'"),
    "unknown outcome": (after_good(outcome="ok"), "line 2: outcome: found 'ok', expected one of answered"),
    "a setting for a sample": (
        after_good(sample="cot"),
        "line 2: sample: found 'cot', expected a whole number from 0",
    ),
    "negative sample": (after_good(sample=-1), "line 2: sample: found -1 (int), expected a whole number"),
    "endless sample": (after_good(sample=10**30), "line 2: sample: found 1000000"),
    "score above 1": (after_good(given=2), "line 2: given: found 2 (int), expected a score from 0 to 1"),
    "endless score": (after_good(given=float("inf")), "line 2: given: found inf (float)"),
    "duplicate": (
        rows(GOOD, GOOD),
        "line 2: item '1' was answered by 'm' under the same condition in a.jsonl line 1 already",
    ),
}


@pytest.mark.parametrize("case", FILES)
@pytest.mark.parametrize("there", [False, True], ids=["new", "there"])
def test_files(tmp_path: Path, case: str, there: bool) -> None:
    make, message = FILES[case]
    source, run = tmp_path / "source", tmp_path / "run"
    source.mkdir()
    if there:
        before_path = jsonl(tmp_path / "before.jsonl", GOOD | {"text": "before"})
        call("import", before_path, "--to", run).fine()
    before = content(run)
    line = call("import", make(source), "--to", run, "--fill", "shots=none", "--overwrite").refused()
    assert message in line
    assert content(run) == before
    assert run.exists() == there
    assert {path.name for path in tmp_path.iterdir()} <= {"source", "before.jsonl", "run"}


OPTIONS: list[tuple[list[str], str]] = [
    (["--map", "itme=id"], '--map: no field "itme"; did you mean "item"?'),
    (["--map", "item"], "--map: found 'item', expected FIELD=COLUMN, such as item=item_id"),
    (["--map", "item=itm"], 'a.jsonl line 1: no column "itm"; did you mean "item"?'),
    (["--map", "item=item,item=text"], "--map: 'item' is given twice"),
    (["--map-values", "modality"], "--map-values takes FIELD=VALUE>OURS"),
    (["--map-values", "modality=text"], "--map-values takes FIELD=VALUE>OURS"),
    (["--map-values", "modalty=text>no-image"], 'no field "modalty"; did you mean "modality"?'),
    (
        ["--map-values", "modality=text>no-imag"],
        '--map-values modality: no modality "no-imag"; did you mean "no-image"?',
    ),
    (
        ["--map", "modality=item", "--map-values", "modality=text:a>no-image"],
        "modality is given twice with different values",
    ),
    (["--fill", "modality=no-imag"], '--fill modality: no modality "no-imag"; did you mean "no-image"?'),
    (["--fill", "sample=x"], "sample: found 'x', expected a whole number"),
    (
        ["--fill", "modality=no-image", "--map", "modality=item"],
        "--fill modality: modality is mapped to a column as well",
    ),
    (["--where", "item"], "--where: found 'item', expected COLUMN=VALUE"),
    (["--where", "item=9"], "--where: no row has the item '9'; known: 1"),
    (["--map-values", "item=1>"], "all 1 rows were left out by --where or --map-values"),
    (["--model", ""], "--model: the name is empty"),
    (["--model", "x", "--map", "model=item"], "--model: --map or --fill names the model as well"),
    (["--matrix", "items"], '--matrix: rows are items or models, not "items"; did you mean "item"?'),
    (["--header", "(?P<item>.*)"], "--header is about a matrix"),
    (["--matrix", "item", "--header", "("], "--header: '(' is no pattern"),
    (["--matrix", "item", "--header", ".*"], "--header needs named groups"),
    (["--matrix", "item", "--header", "(?P<model>x+)"], "--header: the column 'model' does not fit the pattern"),
    (["--matrix", "item"], "a.jsonl line 1, column 'model': given: found 'm', expected a score from 0 to 1"),
    (["--bench", "gone"], "gone does not exist"),
]


@pytest.mark.parametrize(("options", "message"), OPTIONS, ids=[" ".join(options) for options, _ in OPTIONS])
def test_options(tmp_path: Path, options: list[str], message: str) -> None:
    path = jsonl(tmp_path / "a.jsonl", GOOD)
    assert message in call("import", path, "--to", tmp_path / "run", *options).refused()
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.jsonl"]


def test_a_missing_parent_is_made_only_for_good_input(tmp_path: Path) -> None:
    bad = jsonl(tmp_path / "bad.jsonl", GOOD, GOOD)
    call("import", bad, "--to", tmp_path / "a/b/run").refused()
    assert not (tmp_path / "a").exists()
    call("import", jsonl(tmp_path / "a.jsonl", GOOD), "--to", tmp_path / "a/b/run").fine()
    assert (tmp_path / "a/b/run/run.json").is_file()


def test_names_that_are_no_text(tmp_path: Path) -> None:
    """A file name and a model's name of any bytes; run.json is text all the same."""
    path = separated(Path(os.fsdecode(os.fsencode(tmp_path) + b"/p\xff.csv")), ["item", "text"], ["1", "A"])
    run = tmp_path / "run"
    command: list[str | Path] = [*MAIN, "import", path, "--to", run, "--model", os.fsdecode(b"m\xff")]
    done = subprocess.run(command, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (run / "run.json").read_text().isascii()
