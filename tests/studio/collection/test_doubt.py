"""Doubts of golds are log ratios of the measure ``wrong-golds``, and null where nothing could be weighed."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from eyetest.measures.items import wrong_golds
from eyetest.measures.results import Settings
from eyetest.pages.item_links import parse_query
from eyetest.records import Asked, Choice, Item
from eyetest.results.gather import results_of
from eyetest.runs import Run
from eyetest.scoring import Scorer
from eyetest.studio.collection import Collection
from tests.scoring.test_table import make_answers, make_bench

MODELS = "abcde"
CHOSEN = {
    "sound": "AAAAB",
    "doubted": "BBBBA",
    "scattered": "ABCCB",
    "two options": "BBBBA",
    "few": "B---A",
    "one voice": "--B--",
    "free": "-----",
}
"""By item what each model chose, gold A everywhere; ``free`` has no options."""
EASY = {f"easy {number}": "AAAAA" if number % 3 else "AAAAC" for number in range(24)}


def ask(folder: Path, chosen: Mapping[str, str]) -> Run:
    """A run in which models chose this where they saw the image, and D where they did not."""
    items = []
    for item in chosen:
        letters = {"free": "", "two options": "AB"}.get(item, "ABCD")
        choices = tuple(Choice(f"{item} {mark}", mark == "A") for mark in letters)
        items.append(Item(id=item, question="Which?", choices=choices, references=() if letters else ("7",)))
    marks = [(item, *own) for item, letters in chosen.items() for own in zip(MODELS, letters, strict=True)]
    replies = [
        (Asked(item=item, model=model, modality=modality), given)  # type: ignore[arg-type]
        for item, model, mark in marks
        for modality, given in (("image", mark), ("no-image", "D"))
        if mark != "-"
    ]
    return make_answers(folder / "run", replies, make_bench(folder / "bench", items))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """What five models chose, and of easy items, from which their skills are learnt."""
    return ask(tmp_path_factory.mktemp("doubt"), CHOSEN | EASY)


def test_doubts_are_the_ratios_of_wrong_golds_by_which_items_are_found_and_sorted(run: Run) -> None:
    collection = Collection([run.path])
    doubts = dict(zip(collection.items.get_column("id"), collection.doubts(), strict=True))
    table = wrong_golds.measure(results_of([run], Scorer()), Settings()).table
    ratios = dict(table.filter(modality="image").select("item", "ratio").iter_rows())
    assert {**doubts, "one voice": ratios["one voice"]} == pytest.approx(ratios | {"free": None})
    assert (doubts["one voice"], doubts["free"]) == (None, None)
    assert min(ratios["doubted"], ratios["two options"]) > ratios["few"] > ratios["sound"]
    assert ratios["doubted"] > 0 > ratios["sound"]
    shown = [row.id for row in collection.rows(collection.view(parse_query("doubt=0..&sort=-doubt")))]
    assert set(shown) == {"doubted", "two options"}
    assert collection.table.get_column("doubt").null_count() == 2
