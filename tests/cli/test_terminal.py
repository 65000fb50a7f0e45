"""Whatever terminal, pipe, disk or name there is: a command ends with its work done, or with one line."""

import copy
import json
import os
import resource
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from eyetest.benchmarks import BenchmarkWriter
from eyetest.cli.app import all_commands
from eyetest.errors import typed
from eyetest.recipes.reviews import ReviewSettings, open_review
from eyetest.records import Choice, Item, Manifest
from tests.conftest import png
from tests.recipes.benches import MAJORITY, write_yaml
from tests.support.command import call

pytestmark = pytest.mark.journey

MODELS = {"модель :smile: [bold]b[/bold] →": "scripted:right=0.7,blind=0.4", "β é": "scripted:right=0.2,blind=0.1"}
ODD = "Ω-№; $(x) → é 日本"
BASE = [sys.executable, "-W", "error", "-c", "from eyetest.cli import main; main()"]


def odd_bench(folder: Path) -> None:
    with BenchmarkWriter(folder, Manifest(name="Ωβ → :smile: é")) as writer:
        red = writer.images.put(png("red"))
        for n in range(12):
            choices = (Choice(f"кот {n}", True), Choice(f"chien é {n}"), Choice("犬"), Choice("→ ≤ –"))
            question, tags = f"Was — [red]ist[/red] das …? {n}", {"ключ": f"é{n % 2}"}
            writer.add(Item(id=f"{ODD} {n}", question=question, images=(red,), choices=choices, tags=tags))


@pytest.fixture
def here(workdir: Path) -> Path:
    odd_bench(workdir / "бенч é")
    write_yaml(workdir / "m.yaml", MODELS)
    recipe = copy.deepcopy(MAJORITY)
    recipe["panels"]["inspectors"]["size"] = recipe["stages"][0]["keep"]["hits"]["value"] = 2
    write_yaml(workdir / "r.yaml", recipe)
    open_review([workdir / "бенч é"], ReviewSettings()).project.close()
    return workdir


COMMANDS: list[tuple[object, ...]] = [
    ("doctor", "--models", "m.yaml"),
    ("reform", "list"),
    ("show", "бенч é"),
    ("show", "бенч é", f"{ODD} 3"),
    ("show", "бенч é", f"{ODD} 3", "--output", "json"),
    ("audit", "бенч é", "--fix", "repaired", "--page", "a.html", "--verdicts-to", "v.csv"),
    ("audit", "бенч é", "--output", "json"),
    ("export", "бенч é", "--format", "jsonl", "--to", "x"),
    ("import", "x", "--to", "i → é"),
    ("run", "бенч é", "--models", "m.yaml", "--condition", "image,no-image", "--to", "run é"),
    ("show", "run é"),
    ("score", "run é"),
    ("show", "run é", f"{ODD} 3"),
    ("score", "--options", "кот,犬", "--text", "кот →"),
    ("measure", "accuracy", "run é", "--output", "json"),
    ("measure", "accuracy", "run é", "--output", "csv"),
    ("measure", "gain", "run é"),
    ("measure", "--list"),
    ("compare", "run é"),
    ("compare", "run é", "--output", "json"),
    ("run", "бенч é", "--models", "m.yaml", "--until", ">".join(MODELS), "--to", "race é"),
    ("report", "run é", "--page", "r.html"),
    ("open", "run é", "--bundle", "bundle é"),
    ("refine", "бенч é", "--recipe", "r.yaml", "--models", "m.yaml", "--to", "ref"),
    ("export", "бенч é", "--to", "card é", "--format", "card"),
    ("world", "new", "--to", "w", "--item-count", "18"),
    ("harden", "options", "бенч é", "--to", "ten é", "--option-count", "6"),
    ("harden", "screenshot", "бенч é", "--to", "shot é"),
    ("harden", "renew", "w/benchmark", "--to", "new é"),
    ("harden", "renew", "w/benchmark", "--twins", "3", "--to", "twins é"),
    ("review", "--help"),
    ("review", "invite", "é [red]→ :smile:", "--on", "бенч é"),
    ("review", "бенч é", "--address", "none"),
    ("review", "бенч é", "--address", "none", "--output", "json"),
    ("review", "invite", "é [red]→ :smile:", "--on", "бенч é", "--revoke"),
    ("review", "revise", "--help"),
    ("review", "export", "--help"),
    ("review", "import", "--help"),
    ("world", "models"),
    ("run", "бенч é", "--describe", "scripted:", "--to", "d"),
    ("subset", "бенч é", "--only", "ключ=é1", "--to", "s"),
    ("subset", "--help"),
    ("reconcile", "run é", "run é", "--rules-b", "mmstar", "--to", "gap é"),
    ("reconcile", "run é", "60", "--model", "β é", "--where", "modality=image", "--output", "json"),
    ("export", "run é", "--to", "a.jsonl"),
    ("import", "a.jsonl", "--to", "again é"),
    ("merge", "run é", "again é", "--to", "merged é"),
    ("demo", "--help"),
    ("pool", "бенч é", "--to", "pool é"),
    ("similar", "--help"),
    ("leaderboard", "run é", "--page", "board é.html"),
    ("certify", "бенч é", "run é", "--page", "certificate é.html"),
]


def test_no_command_is_forgotten() -> None:
    said = {str(words[0]) for words in COMMANDS} | {" ".join(map(str, words[:2])) for words in COMMANDS}
    assert set(all_commands()) <= said


def test_every_command_writes_ascii(here: Path) -> None:
    for words in COMMANDS:
        done = call(*words, encoding="ascii")
        assert done.code == 0, (words, done)
        assert "Traceback" not in done.err
        if "json" in words:
            json.loads(done.out)
            assert done.out.isascii()


def test_names_are_neither_markup_nor_emoji(here: Path) -> None:
    call("run", "бенч é", "--models", "m.yaml", "--to", "run").fine()
    name = next(iter(MODELS))
    for words in (("score", "run"), ("show", "run"), ("compare", "run"), ("measure", "accuracy", "run")):
        reported = call(*words).fine()
        assert name in reported, words
        assert "😄" not in reported, words
    assert ":smile:" in call("show", "бенч é").fine()


def test_a_reader_that_has_seen_enough_ends_it_quietly(here: Path) -> None:
    ours, theirs = os.pipe()
    process = subprocess.Popen([*BASE, "show", "бенч é", "--limit", "12"], stdout=theirs, stderr=subprocess.PIPE)
    os.close(theirs)
    os.close(ours)
    _, reported = process.communicate()
    assert (process.returncode, reported) == (0, b"")


def test_a_full_disk_behind_the_output(here: Path) -> None:
    with Path("/dev/full").open("w") as full:
        process = subprocess.run([*BASE, "show", "бенч é"], stdout=full, stderr=subprocess.PIPE, check=False)
    assert process.returncode == 2
    assert process.stderr == b"error: standard output: no space left on device\n"


WRITING: list[tuple[object, ...]] = [
    ("import", "x", "--to", "new"),
    ("export", "бенч é", "--format", "vlmevalkit", "--to", "new.tsv"),
    ("export", "бенч é", "--format", "parquet", "--to", "new"),
    ("export", "run", "--to", "new.csv"),
    ("export", "run", "--to", "new.parquet"),
    ("import", "a.jsonl", "--to", "new"),
    ("run", "бенч é", "--models", "m.yaml", "--to", "new"),
    ("score", "run"),
    ("report", "run", "--page", "new.html"),
    ("refine", "бенч é", "--recipe", "r.yaml", "--models", "m.yaml", "--to", "new"),
    ("export", "бенч é", "--to", "new", "--format", "card"),
    ("audit", "бенч é", "--page", "new.html"),
    ("audit", "бенч é", "--fix", "new"),
]


@pytest.mark.parametrize("words", WRITING, ids=lambda words: " ".join(map(str, words[:1])))
def test_a_file_that_cannot_grow_is_named(
    here: Path, words: tuple[object, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    call("run", "бенч é", "--models", "m.yaml", "--to", "run").fine()
    call("export", "бенч é", "--format", "jsonl", "--to", "x").fine()
    call("export", "run", "--to", "a.jsonl").fine()
    before = {path: path.read_bytes() for path in (here / "run").rglob("*") if path.is_file()}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (600, limits[1]))
    try:
        done = call(*words)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert done.code == 2, done
    errors = [line for line in done.err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, done.err
    assert "file too large" in errors[0]
    assert "new" in errors[0] or "run/scores" in errors[0]
    assert "damaged" not in done.err
    assert {path: path.read_bytes() for path in before} == before
    assert not [path for path in here.iterdir() if path.suffix in (".html", ".tsv", ".csv")]


@pytest.mark.parametrize(
    "words",
    [
        ("show", b"\xff"),
        ("import", b"x\xff.tsv", "--to", "b"),
        ("report", b"\xff", "--page", "r.html"),
        ("show", "n" * 300),
        ("show", "a\nb"),
        ("import", "бенч é/benchmark.json/", "--to", "b"),
        ("show", "--", "-x"),
        ("export", "бенч é", "--format", "jsonl", "--to", "n" * 300),
    ],
)
def test_odd_names_get_one_line(here: Path, words: tuple[str | bytes, ...]) -> None:
    done = subprocess.run([*BASE, *words], capture_output=True, check=False)
    assert done.returncode == 2, done
    assert done.stderr.startswith(b"error: ")
    assert done.stderr.count(b"\n") == 1


NAMES = "a b; rm -rf x|-x|$(touch y)|`id`|a\nb|it's|é  ü|!x|a\x1b[2Jb|~|| |*|\\"


@pytest.mark.parametrize("name", NAMES.split("|"))
def test_suggested_words_are_what_a_shell_makes_of_them(name: str) -> None:
    line = typed("printf", "%s|", name, "end")
    assert "\n" not in line
    assert " ".join(line.split()) == line
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    assert done.stdout == f"{name}|end|"


@pytest.mark.parametrize("item", ["-x", "a b; touch y", "$(touch y)", "--help"])
def test_the_command_that_an_audit_suggests_runs(here: Path, item: str) -> None:
    with BenchmarkWriter(here / "odd b; x", Manifest(name="b")) as writer:
        red = writer.images.put(png("red"))
        for name in (item, f"{item} again"):
            twins = (Choice("cat", True), Choice("cat"))
            writer.add(Item(id=name, question="Which?", images=(red,), choices=twins))
    reported = call("audit", "odd b; x").fine()
    (line,) = (line for line in reported.splitlines() if line.startswith("Look first:"))
    words = shlex.split(line.removeprefix("Look first:"))
    assert words[:2] == ["eyetest", "show"]
    assert words[-1].removesuffix(" again") == item
    assert "Which?" in call(*words[1:]).fine()
