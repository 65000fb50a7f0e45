"""A certificate: it holds what measures and probes find, and an altered page, answer or benchmark is noticed."""

from collections.abc import Callable
from pathlib import Path

import eyetest_world
import polars as pl
import pytest
from eyetest_world.commands import renew

import eyetest as et
from eyetest.benchmarks import Benchmark
from eyetest.commands.certify import Statement
from eyetest.errors import InputError
from tests.scoring.test_oracles import bring
from tests.support.command import call

MODELS = {f"m{seed}": f"scripted:right=0.{7 + seed % 3},blind=0.3,seed={seed}" for seed in range(6)}
LINES = [
    *("shortcuts", "duplicates", "dependent items"),
    *("answerable without the image", "label errors", "smallest detectable difference"),
    *("unread answers", "contamination", "instability"),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world with planted errors, answers to it, other answers, and a page."""
    folder = tmp_path_factory.mktemp("certify")
    world = eyetest_world.new_world(folder / "world", eyetest_world.load_rates("default"), items=120, size=64, seed=3)
    et.run(world, models=MODELS, condition="image,no-image", to=folder / "run")
    et.run(
        world, models=MODELS | {"m0": "scripted:right=0.2,seed=9"}, condition="image,no-image", to=folder / "other"
    )
    et.certify(world, folder / "run", page=folder / "page.html")
    return folder


def differing(found: et.Certificate) -> list[str]:
    return found.frame.filter(~pl.col("same")).get_column("line").to_list()


def test_planted_errors_are_on_the_page_with_what_was_not_tested(place: Path) -> None:
    found = et.certify(check=place / "page.html")
    assert (found.exit_code, differing(found)) == (0, [])
    lines = {line.name: line for line in found.about.lines}
    assert list(lines) == LINES
    truth = pl.read_parquet(place / "world/truth.parquet")
    copies = truth.filter(pl.col("flaws").list.contains("exact-duplicate")).height
    assert copies > 0
    assert any("repeat" in says for says in lines["duplicates"].says)
    assert any("planted keys found at this cut" in says for says in lines["label errors"].says)
    assert "no item is a twin" in lines["contamination"].says[0]
    assert not lines["contamination"].is_tested
    assert all(line.command.startswith("eyetest ") for line in lines.values())


@pytest.mark.parametrize(
    ("old", "new", "noticed"),
    [
        ("repeats of another item", "repeats of no item", {"duplicates", "hash"}),
        ("<h2>Not tested</h2>", "<h2>Everything tested</h2>", {"page"}),
        ('"seed": 0', '"seed": 1', {"hash", "page"}),
    ],
)
def test_an_altered_page_is_noticed(place: Path, old: str, new: str, noticed: set[str]) -> None:
    text, page = (place / "page.html").read_text(), place / "altered.html"
    old, new = (words.replace('"', "&#34;") for words in (old, new))
    assert old in text
    page.write_text(text.replace(old, new))
    found = et.certify(check=page)
    assert found.exit_code == 1
    assert noticed <= set(differing(found))


def test_other_answers_and_another_benchmark_are_noticed(place: Path) -> None:
    told = call("certify", place / "world/benchmark", place / "other", "--check", place / "page.html")
    assert told.code == 1
    found = et.certify(place / "world/benchmark", place / "other", check=place / "page.html")
    assert {"input 1", "input 2"} <= set(differing(found))
    assert "input 0" not in differing(found)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("nothing",), "--page"),
        (("--check", "none.html"), "no certificate"),
        (("--page", "x.html"), "name a benchmark"),
    ],
)
def test_bad_input_gets_one_line(words: tuple[str, ...], part: str, workdir: Path) -> None:
    assert part in call("certify", *words).refused()


@pytest.mark.journey
def test_a_real_benchmark_with_recorded_answers(
    shared: Path, real_benchmark: Callable[[str], Benchmark], tmp_path: Path
) -> None:
    """MathVista's published answers: the page is recomputed, and one answer less is noticed."""
    source = real_benchmark("mathvista")
    answers = pl.read_parquet(shared / "data/mathvista/predictions.parquet").filter(condition="text")
    for name, table in (("run", answers), ("less", answers.head(len(answers) - 1))):
        table.write_parquet(tmp_path / f"{name}.parquet")
        maps = ("item=item_id,given=correct_if_given", "model=model+setting")
        said = {"constants": ("modality=no-image,sample=0",)}
        bring(tmp_path / f"{name}.parquet", tmp_path / name, source, maps, **said)
    made = et.certify(source, tmp_path / "run", page=tmp_path / "page.html")
    lines = {line.name: line for line in made.about.lines}
    assert lines["answerable without the image"].is_tested
    assert lines["shortcuts"].is_tested
    assert not lines["contamination"].is_tested
    assert et.certify(check=tmp_path / "page.html").exit_code == 0
    assert et.certify(source, tmp_path / "less", check=tmp_path / "page.html").exit_code == 1


def test_clean_models_are_named_on_the_page_and_p_is_adjusted(tmp_path: Path) -> None:
    """Every p is relative to the named models, or the page says why there is none."""
    world = eyetest_world.new_world(tmp_path / "world", eyetest_world.load_rates("none"), items=40, size=64, seed=5)
    twins = renew(world, to=tmp_path / "twins", twins=1).benchmark
    models = {f"m{seed}": f"scripted:right=0.6,seed={seed}" for seed in range(7)}
    et.run(twins, models=models, to=tmp_path / "run")
    plain = contamination_line(et.certify(twins, tmp_path / "run", page=tmp_path / "plain.html"))
    assert all("Holm over all models" in says and "if memories are firm" in says for says in plain.says)
    page = et.certify(twins, tmp_path / "run", page=tmp_path / "page.html", clean="m0,m1,m2,m3,m4")
    made = contamination_line(page)
    assert made.says[0].startswith("m0: named as clean")
    assert all("relative to" in says or "not tested" in says for says in made.says)
    assert made.command.endswith("--set clean=m0,m1,m2,m3,m4")
    assert et.certify(check=tmp_path / "page.html").exit_code == 0
    with pytest.raises(InputError, match="clean"):
        et.certify(check=tmp_path / "page.html", clean="m0")
    with pytest.raises(InputError, match="no model 'nobody'"):
        et.certify(twins, tmp_path / "run", page=tmp_path / "other.html", clean="m0,nobody")
    assert not (tmp_path / "other.html").exists()


def contamination_line(made: et.Certificate) -> Statement:
    (line,) = [line for line in made.about.lines if line.name == "contamination"]
    return line
