"""``eyetest card`` as a person uses it, and the cards that ``refine`` and ``export`` write."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from eyetest.benchmarks import Benchmark, is_benchmark
from eyetest.reports.dataset_card import Statements
from tests.cli.test_docs import commands
from tests.commands.test_refine import here as here
from tests.conftest import ROOT
from tests.recipes.benches import INSPECTORS, MAJORITY, make_bench, outcome, write_yaml
from tests.runs.conftest import Eyetest
from tests.support.command import call_narrowly

REFINE = ("refine", "b", "--recipe", "recipe.yaml", "--models", "models.yaml")
CARD = ("README.md", "croissant.json")


def card(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in CARD]


def front(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((folder / "README.md").read_text().split("---\n")[1])
    return content


def test_a_refinement_has_a_card_and_the_same_one_wherever_it_is_made(here: Path, eyetest: Eyetest) -> None:
    eyetest(*REFINE, "--to", "one").fine()
    first = card(here / "one/benchmark")
    eyetest(*REFINE, "--to", "two").fine()
    assert card(here / "two/benchmark") == first
    eyetest(*REFINE, "--to", "one").fine()
    assert card(here / "one/benchmark") == first, "its own card is no obstacle"
    for named in ("one", "one/benchmark"):
        eyetest("export", named, "--format", "card").fine()
        assert card(here / "one/benchmark") == first
    text = first[0].decode()
    kept = len(Benchmark(here / "one/benchmark"))
    assert f"40 items of **small** went in, {kept} are left." in text
    assert "| inspectors | i1, i2, i3, i4 | none | no-image-guess, direct, 10 × an item |" in text


def test_the_card_says_how_to_make_it_again(here: Path, eyetest: Eyetest) -> None:
    write_yaml(
        here / "recipe.yaml", MAJORITY | {"stages": [*MAJORITY["stages"], {"review": {"reviewers": 1}}], "seed": 7}
    )
    write_yaml(here / "models.yaml", INSPECTORS | {"i 5": "scripted:blind=0.5,seed=5"})
    eyetest(*REFINE, "--hold-out", "i 5", "--skip-review", "--to", "first").fine()
    text = (here / "first/benchmark/README.md").read_text()
    recipe = re.search(r"```yaml\n(.*?)```", text, re.DOTALL)
    command = re.search(r"^\$ eyetest (.*)$", text, re.MULTILINE)
    assert recipe
    assert command
    (here / "recipe.yaml").write_text(recipe[1])
    eyetest(*("b" if word == "BENCH" else word for word in shlex.split(command[1]))).fine()
    assert outcome(here / "refined") == outcome(here / "first")
    assert card(here / "refined/benchmark") == card(here / "first/benchmark")


def test_what_was_said_outlives_the_card(here: Path, eyetest: Eyetest) -> None:
    eyetest(*REFINE, "--to", "d").fine()
    said = eyetest(
        "export", "d/benchmark", "--fact", "licence=CC-BY-4.0", "--fact", "language=en", "--format", "card"
    ).fine()
    assert "not stated: about, contact, citation" in said
    assert "licence is unknown" not in said
    assert yaml.safe_load((here / "d/card.yaml").read_text()) == {"licence": "CC-BY-4.0", "language": ["en"]}
    eyetest(*REFINE, "--to", "d").fine()
    assert (front(here / "d/benchmark")["license"], front(here / "d/benchmark")["language"]) == ("cc-by-4.0", ["en"])
    eyetest("export", "d", "--fact", "language=", "--format", "card").fine()
    assert "language" not in front(here / "d/benchmark")


def test_half_a_card_is_not_taken_for_a_persons(here: Path, eyetest: Eyetest) -> None:
    """A refinement that is killed between the two files goes on all the same."""
    eyetest(*REFINE, "--to", "d").fine()
    (here / "d/benchmark/croissant.json").unlink()
    (here / "d/benchmark/.croissant.json.partial-x").mkdir()
    eyetest(*REFINE, "--to", "d").fine()
    assert (here / "d/benchmark/croissant.json").is_file()


def test_what_was_said_outlives_the_items(here: Path, eyetest: Eyetest) -> None:
    eyetest("export", "b", "--format", "vlmevalkit", "--to", "b.tsv").fine()
    eyetest("import", "b.tsv", "--to", "again").fine()
    eyetest("export", "again", "--fact", "licence=CC-BY-4.0", "--format", "card").fine()
    eyetest("import", "b.tsv", "--to", "again", "--overwrite").fine()
    assert not (here / "again/README.md").exists(), "it spoke of items that were replaced"
    eyetest("export", "again", "--format", "card").fine()
    assert front(here / "again")["license"] == "cc-by-4.0"


def test_what_a_person_wrote_is_not_replaced(here: Path, eyetest: Eyetest) -> None:
    eyetest(*REFINE, "--to", "d").fine()
    readme = here / "d/benchmark/README.md"
    mine = readme.read_text().replace("# small-refined", "# My small benchmark")
    readme.write_text(mine)
    assert "was written or changed by a person" in eyetest("export", "d", "--format", "card").refused()
    (here / "models.yaml").write_text("not: [models")
    assert "README.md" in eyetest(*REFINE, "--to", "d").refused(), "before anything else is looked at"
    assert readme.read_text() == mine
    eyetest("export", "d", "--overwrite", "--format", "card").fine()
    assert "# My small" not in readme.read_text()
    (here / "b/README.md").write_text("mine")
    assert "b/README.md was written or changed by a person" in eyetest("export", "b", "--format", "card").refused()
    assert not (here / "b/croissant.json").exists()


def test_a_card_yaml_that_is_wrong_stops_a_refinement_before_it_asks(here: Path, eyetest: Eyetest) -> None:
    (here / "d").mkdir()
    (here / "d/card.yaml").write_text("licens: MIT\n")
    assert 'card.yaml: no setting "licens"; did you mean "licence"?' in eyetest(*REFINE, "--to", "d").refused()
    assert not (here / "d/run").exists()


def test_any_benchmark_and_any_place(here: Path, eyetest: Eyetest) -> None:
    said = eyetest("export", "b", "--format", "card").fine()
    assert "README.md, croissant.json → b" in said
    assert "the licence is unknown: --fact licence=…" in said
    assert is_benchmark(here / "b")
    eyetest("export", "b", "--to", "elsewhere", "--fact", "contact=me", "--format", "card").fine()
    assert card(here / "elsewhere")[1] == card(here / "b")[1]
    assert (here / "elsewhere/card.yaml").read_text() == "contact: me\n"
    assert not (here / "b/card.yaml").exists()
    eyetest("export", "b", "--format", "vlmevalkit", "--to", "b.tsv").fine()
    assert "name one with --to" in eyetest("export", "b.tsv", "--format", "card").refused()
    assert "put it beside items.parquet" in eyetest("export", "b.tsv", "--to", "of-a-file", "--format", "card").fine()
    assert "nowhere does not exist" in eyetest("export", "nowhere", "--format", "card").refused()
    assert (
        "is a file; a card goes into a folder"
        in eyetest("export", "b", "--to", "b.tsv", "--format", "card").refused()
    )


def test_a_refinement_that_waits_has_no_card_yet(here: Path, eyetest: Eyetest) -> None:
    write_yaml(here / "recipe.yaml", {"stages": [{"review": {"reviewers": 1}}]})
    eyetest(*REFINE, "--to", "d").fine()
    assert "holds no benchmark yet" in eyetest("export", "d", "--format", "card").refused()
    eyetest(*REFINE, "--to", "d", "--skip-review").fine()
    assert (
        "40 items passed a review stage without a review by a person" in (here / "d/benchmark/README.md").read_text()
    )


@pytest.mark.filterwarnings("ignore")
def test_exports_that_are_uploaded_carry_it(here: Path, eyetest: Eyetest, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    eyetest(*REFINE, "--to", "d").fine()
    eyetest("export", "d", "--fact", "licence=MIT", "--format", "card").fine()
    for name in ("lmms-eval", "datasets"):
        for overwrite in ((), ("--overwrite",)):
            eyetest("export", "d/benchmark", "--format", name, "--to", name, *overwrite).fine()
        assert front(here / name)["license"] == "mit"
        assert "went in" in (here / name / "README.md").read_text()
        assert "croissant" not in (here / name / "README.md").read_text()
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", here / "cache")
    loaded = datasets.load_dataset(str(here / "lmms-eval"), split="test")
    assert loaded["id"][:] == [item.id for item in Benchmark(here / "d/benchmark")]
    assert loaded[0]["images"][0].size
    assert "configs" not in front(here / "datasets")
    (here / "lmms-eval/README.md").write_text("mine")
    again = eyetest("export", "d/benchmark", "--format", "lmms-eval", "--to", "lmms-eval", "--overwrite")
    assert "holds 'README.md', which eyetest did not write" in again.refused()


def test_the_page_about_cards(here: Path, eyetest: Eyetest) -> None:
    make_bench(here / "mine")
    eyetest(*REFINE, "--to", "refined").fine()
    given = commands("cards.md")
    assert [words[0] for words in given] == ["export"] * 4
    for words in given:
        call_narrowly(*words).fine()
    shown = re.search(r"```yaml\n(.*?)```", (ROOT / "docs/cards.md").read_text(), re.DOTALL)
    assert shown
    (here / "refined/card.yaml").write_text(shown[1])
    eyetest("export", "refined", "--format", "card").fine()
    assert front(here / "refined/benchmark")["pretty_name"] == "Animals"
    assert list(yaml.safe_load(shown[1])) == list(Statements.__struct_fields__), (
        "the page shows everything that can be said"
    )
