"""Every command of the README and of pages on formats, measures, refining and reforming runs in its order."""

import base64
import json
import re
import shlex
import shutil
from pathlib import Path

import polars as pl
import pytest
import yaml

from eyetest.benchmarks import Benchmark, export_benchmark
from eyetest.commands.suite import read_suite
from eyetest.records.recipe import Suite, SuiteBenchmark
from tests.conftest import ROOT, png
from tests.endpoint import Endpoint
from tests.support.command import Eyetest, call, call_narrowly
from tests.support.drawn import draw_benchmark

pytestmark = pytest.mark.journey

ITEMS = 24


def commands(page: str) -> list[list[str]]:
    docs = (ROOT / page if page == "README.md" else ROOT / "docs" / page).read_text()
    return [shlex.split(line) for line in re.findall(r"^\$ eyetest (.*?)(?: +#.*)?$", docs, re.MULTILINE)]


def offline(word: str) -> str:
    """A fake in the place of a server that is not there."""
    return re.sub(r"openai:\S+", "scripted:right=0.8,blind=0.4", word)


@pytest.fixture
def eyetest() -> Eyetest:
    """Calls the command line as a terminal of 80 columns does: what pages tell one to type has to fit."""
    return call_narrowly


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    draw_benchmark(tmp_path / "drawn", items=ITEMS, seed=1)
    export_benchmark(Benchmark(tmp_path / "drawn"), "vlmevalkit", tmp_path / "mine.tsv")
    rows = pl.read_csv(tmp_path / "mine.tsv", separator="\t", infer_schema=False)
    rows.with_columns(source=pl.lit("drawn")).write_csv(tmp_path / "mine.tsv", separator="\t")
    named = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/refine.md").read_text(), re.DOTALL)[0])
    entries = {name: {"spec": offline(entry["spec"]) + f",seed={i}"} for i, (name, entry) in enumerate(named.items())}
    (tmp_path / "models.yaml").write_text(yaml.safe_dump(entries))
    return tmp_path


def test_the_first_example_is_true(eyetest: Eyetest) -> None:
    shown = re.findall(
        r"^\$ eyetest (score --text .*)\n((?:.*: chosen .*\n)+)", (ROOT / "README.md").read_text(), re.MULTILINE
    )
    ((words, reported),) = shown
    assert eyetest(*shlex.split(words)).fine() == reported
    assert reported.count("B. dog") == 1
    assert reported.count("A. cat") == 4


@pytest.fixture
def real(mine: Path, shared: Path) -> Path:
    """Choice items of MathVista as a TSV with images, as people have it."""
    folder = shared / "data/mathvista"
    items = [json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines()]
    rows = [
        {
            "index": item["id"], "image": base64.b64encode((folder / item["image"]).read_bytes()).decode(),
            "question": item["question"], **dict(zip("ABCDEFGH", item["options"], strict=False)),
            "answer": item["answer_letter"], "category": item["task"],
        }
        for item in items
        if item["options"] and len(item["options"]) <= 8
    ]  # fmt: skip
    pl.DataFrame(rows[:ITEMS], infer_schema_length=None).write_csv(mine / "mybench.tsv", separator="\t")
    return mine


def readme_commands(first: str) -> list[list[str]]:
    """What the README types, on files that it speaks of; not what is left running."""
    Path("mine.jsonl").write_text(
        "".join(f'{{"id": {n}, "prompt": "Which?", "choices": ["a{n}", "b"], "gold": "A"}}\n' for n in range(40))
    )
    shown = (words for words in commands("README.md") if words[0] != "open")
    return [[first if word == "17" else offline(word) for word in words] for words in shown]


def test_readme_and_init(real: Path, eyetest: Eyetest, endpoint: Endpoint) -> None:
    """The three paths of the README, then what ``init`` writes, on a real file."""
    first = pl.read_csv("mybench.tsv", separator="\t", infer_schema=False)["index"][0]
    wanted = [words for words in readme_commands(first) if words[0] != "demo"]  # tested elsewhere
    assert [words[0] for words in wanted].count("run") == 2
    for words in wanted:
        done = eyetest(*words)
        assert done.code == 0, (words, done.err)
    assert Path("both.html").stat().st_size > 100_000
    assert len(pl.read_csv("refined.tsv", separator="\t", infer_schema=False)) <= ITEMS


def test_refine(mine: Path, eyetest: Eyetest) -> None:
    items = [item.id for item in Benchmark(mine / "drawn")]
    answers = ["item,model,modality,text", *(f"{item},r{m},no-image-guess,A" for item in items for m in range(5))]
    (mine / "predictions.csv").write_text("\n".join(answers))
    given = commands("refine.md")
    assert [words[0] for words in given] == [
        *("audit", "show", "refine", "refine", "export", "show"),
        *("pool", "import", "refine", "run", "run", "subset", "subset"),
    ]
    for words in given:
        recorded = "--answers" in words
        typed = ["again" if recorded and word == "refined" else offline(word) for word in words]
        *typed, _, file = [*typed, ">", "out.txt"] if ">" not in typed else typed
        done = (call if words[0] == "show" else eyetest)(*typed)
        assert done.code == 0, (typed, done.err)
        Path(file).write_text(done.out)
    assert (mine / "better.tsv").exists()
    assert (mine / "again/verdicts.parquet").exists()
    assert all(item.description for item in Benchmark(mine / "described/benchmark"))


def test_peers(mine: Path, eyetest: Eyetest) -> None:
    shutil.copy("mine.tsv", "mybench.tsv")
    rows = pl.read_csv("mine.tsv", separator="\t", infer_schema=False).drop("image", "history", strict=False)
    said = rows.with_columns(pl.concat_str(pl.lit("A "), "B").alias("prediction"))
    said.write_csv("llava_mybench.tsv", separator="\t")
    for words in commands("peers.md"):
        if words[0] != "compare":  # for two models
            done = eyetest(*words)
            assert done.code == 0, (words, done.err)
    assert (mine / "LMUData/fixed.tsv").exists()
    read = eyetest("reconcile", "answers", "answers", "--rules-b", "vlmevalkit", "--output", "json").fine()
    assert json.loads(read)["items"]


def test_measures(mine: Path, eyetest: Eyetest) -> None:
    eyetest("run", "mine.tsv", "--models", "models.yaml", "--condition", "image,no-image", "--to", "run").fine()
    for words in commands("measures.md"):
        eyetest(*(word.replace("against=A", "against=reader-1") for word in words)).fine()
    docs = (ROOT / "docs/measures.md").read_text()
    reported = eyetest("measure", "--list").fine()
    for name in re.findall(r"^(\S+) ", reported, re.MULTILINE):
        assert f"`{name}`" in docs, name
    code = re.search(r"```python\n(.*?)```", docs, re.DOTALL)
    assert code
    space: dict[str, object] = {}
    exec(code[1], space)
    assert len(space["table"]) > 1  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore:no WordNet here")  # `make wordnet` installs it; names are compared without
def test_reform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, eyetest: Eyetest) -> None:
    monkeypatch.chdir(tmp_path)
    native = ROOT / "tests/reform/native/vqav2"
    shutil.copytree(native, tmp_path, dirs_exist_ok=True)
    shutil.copytree(native, tmp_path / "annotations")
    for folder in ("val2014", "photos"):
        (tmp_path / folder).mkdir()
    birds = ("heron", "owl", "wren", "stork", "crane", "robin", "finch")
    for name in birds:
        (tmp_path / "photos" / f"{name}.png").write_bytes(png())
    rows = [f"{n},{name}.png,{name},winter" for n, name in enumerate(birds)]
    (tmp_path / "plants.csv").write_text("\n".join(("photo_id,file,species,season", *rows)))
    docs = (ROOT / "docs/reform.md").read_text()
    (tmp_path / "plants.yaml").write_text(re.findall(r"```yaml\n(.*?)```", docs, re.DOTALL)[0])
    for words in commands("reform.md"):
        eyetest(*map(offline, words)).fine()
    space: dict[str, Benchmark] = {}
    exec(re.findall(r"```python\n(.*?)```", docs, re.DOTALL)[0], space)
    assert len(space["bench"]) == len(Benchmark(tmp_path / "plants")) == len(birds)
    assert all(item.images for item in space["bench"])
    assert (tmp_path / "reformed.html").stat().st_size > 10_000


def test_formats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, eyetest: Eyetest) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EYETEST_CACHE", "cache")
    quiz = [f"{n},What is shown in {n}?,cat {n},dog {n},{'AB'[n % 2]}" for n in range(12)]
    Path("quiz.csv").write_text("\n".join(("id,question,A,B,answer", *quiz)))
    for words in commands("formats.md"):
        eyetest(*words).fine()


def test_reconcile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, eyetest: Eyetest) -> None:
    monkeypatch.chdir(shutil.copytree(ROOT / "docs/examples/reconcile", tmp_path / "here"))
    first, *others = commands("reconcile.md")
    (shown,) = re.findall(r"```text\n(.*?)```", (ROOT / "docs/reconcile.md").read_text(), re.DOTALL)
    reported = "".join(f"{line.rstrip()}\n" for line in eyetest(*first).fine().splitlines())
    assert reported == shown
    assert max(map(len, shown.splitlines())) <= 80
    for words in others:
        eyetest(*words).fine()


def test_the_suite_on_the_page_is_one(tmp_path: Path) -> None:
    (page,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/suite.md").read_text(), re.DOTALL)
    assert page.count("\n") <= 20
    (tmp_path / "suite.yaml").write_text(page)
    suite, base = read_suite(tmp_path / "suite.yaml")
    assert base == tmp_path
    assert [entry.bench for entry in suite.benchmarks] == ["flowers", "pets.tsv", "mmstar", "mmmu_pro", ""]
    keys = {field for kind in (Suite, SuiteBenchmark) for field in kind.__struct_fields__}
    docs = (ROOT / "docs/suite.md").read_text()
    assert [key for key in keys if f"`{key}`" not in docs and f"{key}:" not in page] == []
