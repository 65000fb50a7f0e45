"""Dataset cards that ``refine`` and ``export`` write."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from eyetest.benchmarks import Benchmark, is_benchmark
from eyetest.reports.dataset_card import Statements
from tests.commands.test_refine import USUAL
from tests.commands.test_refine import finished as finished
from tests.commands.test_refine import here as here
from tests.commands.test_refine import refined as refined
from tests.conftest import ROOT
from tests.recipes.benches import INSPECTORS, MAJORITY, outcome, write_yaml
from tests.support.command import call, call_narrowly

pytestmark = pytest.mark.journey

CARD = ("README.md", "croissant.json")


def card(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in CARD]


def front(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((folder / "README.md").read_text().split("---\n")[1])
    return content


def test_a_refinement_has_a_card_and_the_same_one_wherever_it_is_made(refined: Path) -> None:
    """Also after a kill between its two files."""
    first = card(refined / "early/benchmark")
    call(*USUAL, "--to", "two").fine()
    assert card(refined / "two/benchmark") == first
    (refined / "early/benchmark/croissant.json").unlink()
    (refined / "early/benchmark/.croissant.json.partial-x").mkdir()
    call(*USUAL, "--to", "early").fine()
    assert card(refined / "early/benchmark") == first
    for named in ("early", "early/benchmark"):
        call("export", named, "--format", "card").fine()
        assert card(refined / "early/benchmark") == first
    text = first[0].decode()
    assert f"40 items of **small** went in, {len(Benchmark(refined / 'early/benchmark'))} are left." in text
    assert "| inspectors | i1, i2, i3, i4 | none | no-image-guess, direct, 10 × an item |" in text


def test_the_card_says_how_to_make_it_again(refined: Path) -> None:
    stages = [*MAJORITY["stages"], {"review": {"reviewers": 1}}]
    write_yaml(refined / "recipe.yaml", MAJORITY | {"stages": stages, "seed": 7})
    write_yaml(refined / "models.yaml", INSPECTORS | {"i 5": "scripted:blind=0.5,seed=5"})
    call(*USUAL, "--hold-out", "i 5", "--to", "first").fine()
    assert "holds no benchmark yet" in call("export", "first", "--format", "card").refused()
    call(*USUAL, "--hold-out", "i 5", "--skip-review", "--to", "first").fine()
    text = (refined / "first/benchmark/README.md").read_text()
    assert "items passed a review stage without a review by a person" in text
    recipe = re.search(r"```yaml\n(.*?)```", text, re.DOTALL)
    command = re.search(r"^\$ eyetest (.*)$", text, re.MULTILINE)
    assert recipe
    assert command
    (refined / "recipe.yaml").write_text(recipe[1])
    call(*("b" if word == "BENCH" else word for word in shlex.split(command[1]))).fine()
    assert outcome(refined / "refined") == outcome(refined / "first")
    assert card(refined / "refined/benchmark") == card(refined / "first/benchmark")


def test_statements_outlive_the_card_and_the_items(refined: Path) -> None:
    stated = ("--fact", "licence=CC-BY-4.0", "--fact", "language=en", "--format", "card")
    said = call("export", "early/benchmark", *stated).fine()
    assert "not stated: about, contact, citation" in said
    assert yaml.safe_load((refined / "early/card.yaml").read_text()) == {"licence": "CC-BY-4.0", "language": ["en"]}
    call(*USUAL, "--to", "early").fine()
    assert (front(refined / "early/benchmark")["license"], front(refined / "early/benchmark")["language"]) == (
        "cc-by-4.0",
        ["en"],
    )
    call("export", "early", "--fact", "language=", "--format", "card").fine()
    assert "language" not in front(refined / "early/benchmark")
    call("export", "b", "--format", "vlmevalkit", "--to", "b.tsv").fine()
    call("import", "b.tsv", "--to", "again").fine()
    call("export", "again", *stated).fine()
    call("import", "b.tsv", "--to", "again", "--overwrite").fine()
    assert not (refined / "again/README.md").exists(), "it described items that were replaced"
    call("export", "again", "--format", "card").fine()
    assert front(refined / "again")["license"] == "cc-by-4.0"


def test_a_card_that_a_person_wrote_is_not_replaced(refined: Path) -> None:
    readme = refined / "early/benchmark/README.md"
    mine = readme.read_text().replace("# small-refined", "# My small benchmark")
    readme.write_text(mine)
    assert "was written or changed by a person" in call("export", "early", "--format", "card").refused()
    (refined / "models.yaml").write_text("not: [models")
    assert "README.md" in call(*USUAL, "--to", "early").refused(), "before anything else is read"
    assert readme.read_text() == mine
    call("export", "early", "--overwrite", "--format", "card").fine()
    assert "# My small" not in readme.read_text()
    (refined / "b/README.md").write_text("mine")
    assert "b/README.md was written or changed by a person" in call("export", "b", "--format", "card").refused()
    assert not (refined / "b/croissant.json").exists()
    (refined / "d").mkdir()
    (refined / "d/card.yaml").write_text("licens: MIT\n")
    assert 'card.yaml: no setting "licens"; did you mean "licence"?' in call(*USUAL, "--to", "d").refused()
    assert not (refined / "d/run").exists()


def test_any_benchmark_and_any_folder(refined: Path) -> None:
    said = call("export", "b", "--format", "card").fine()
    assert "README.md, croissant.json → b" in said
    assert "the licence is unknown: --fact licence=…" in said
    assert is_benchmark(refined / "b")
    call("export", "b", "--to", "elsewhere", "--fact", "contact=me", "--format", "card").fine()
    assert card(refined / "elsewhere")[1] == card(refined / "b")[1]
    assert (refined / "elsewhere/card.yaml").read_text() == "contact: me\n"
    assert not (refined / "b/card.yaml").exists()
    call("export", "b", "--format", "vlmevalkit", "--to", "b.tsv").fine()
    assert "put it beside items.parquet" in call("export", "b.tsv", "--to", "of-a-file", "--format", "card").fine()
    for words, reported in (
        (("b.tsv",), "name one with --to"),
        (("nowhere",), "nowhere does not exist"),
        (("b", "--to", "b.tsv"), "is a file; a card goes into a folder"),
    ):
        assert reported in call("export", *words, "--format", "card").refused()


@pytest.mark.filterwarnings("ignore")
def test_exports_that_are_uploaded_carry_it(refined: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    call("export", "early", "--fact", "licence=MIT", "--format", "card").fine()
    for overwrite in ((), ("--overwrite",)):
        call("export", "early/benchmark", "--format", "lmms-eval", "--to", "lmms-eval", *overwrite).fine()
    assert front(refined / "lmms-eval")["license"] == "mit"
    assert (refined / "lmms-eval/croissant.json").is_file()
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", refined / "cache")
    loaded = datasets.load_dataset(str(refined / "lmms-eval"), split="test")
    assert loaded["id"][:] == [item.id for item in Benchmark(refined / "early/benchmark")]
    assert loaded[0]["images"][0].size
    (refined / "lmms-eval/README.md").write_text("mine")
    again = call("export", "early/benchmark", "--format", "lmms-eval", "--to", "lmms-eval", "--overwrite")
    assert "holds 'README.md', which eyetest did not write" in again.refused()


def test_the_page_about_cards(refined: Path) -> None:
    (refined / "early").rename(refined / "refined")
    shown = re.search(r"```yaml\n(.*?)```", (ROOT / "docs/cards.md").read_text(), re.DOTALL)
    assert shown
    (refined / "refined/card.yaml").write_text(shown[1])
    call_narrowly("export", "refined", "--format", "card").fine()
    assert front(refined / "refined/benchmark")["pretty_name"] == "Animals"
    assert list(yaml.safe_load(shown[1])) == list(Statements.__struct_fields__), "the page shows every statement"
