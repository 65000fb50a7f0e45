"""The same items with fewer options: the gold stays, and its place gives nothing away."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.benchmarks import Benchmark
from eyetest.curate.repair import FEWER_OPTIONS, fewer_options
from eyetest.errors import InputError
from eyetest.records import Choice, Item
from tests.scoring.test_table import animals, make_bench
from tests.support.command import call


def item(options: int, gold: int, id_: str = "i") -> Item:
    choices = tuple(Choice(f"thing {place}", place == gold) for place in range(options))
    return Item(id=id_, question="Which?", choices=choices)


@given(options=st.integers(2, 12), data=st.data(), seed=st.integers(0, 99))
def test_the_gold_and_the_first_distractors_stay(options: int, data: st.DataObject, seed: int) -> None:
    whole = item(options, data.draw(st.integers(0, options - 1)))
    count = data.draw(st.integers(2, options))
    fewer = fewer_options(whole, count, seed)
    assert fewer is not None
    assert len(fewer.choices) == count
    assert [one for one in fewer.choices if one.correct] == [one for one in whole.choices if one.correct]
    wrong = [one for one in whole.choices if not one.correct]
    assert [one for one in fewer.choices if not one.correct] == wrong[: count - 1]
    if count == options:
        assert fewer is whole
    else:
        step = fewer.lineage[-1]
        assert (step.step, step.note, step.seed) == (FEWER_OPTIONS, f"{options} → {count}", seed)


def test_where_the_gold_stood_does_not_show() -> None:
    """Golds all at the end, as where a list is simply cut, would all be B of two."""
    places = Counter((fewer_options(item(10, 9, str(n)), 2) or item(2, 0)).gold[0] for n in range(400))
    assert 150 < places[0] < 250


def test_what_cannot_have_as_many_is_left_out() -> None:
    assert fewer_options(item(3, 0), 4) is None
    assert fewer_options(animals("i"), 2) is None, "no gold"
    assert fewer_options(animals("i", 0, 1), 2) is None, "two golds"
    choices = (Choice("a cat", correct=True), Choice("a dog"), Choice("all of the above"))
    tied = Item(id="i", question="Which?", choices=choices)
    assert fewer_options(tied, 2) is None
    with pytest.raises(InputError, match="--option-count: found 1, expected 2 to 26"):
        fewer_options(item(3, 0), 1)


def test_the_command(workdir: Path) -> None:
    make_bench(workdir / "b", [*(animals(str(n), n % 4, tags={"task": "pq"[n % 2]}) for n in range(8)), item(2, 0)])
    done = call("subset", "b", "--only", "task=p", "--option-count", 3, "--seed", 5, "--to", "three")
    assert "4 items of 9" in done.fine()
    part = Benchmark(workdir / "three/benchmark")
    assert (part.manifest.name, part.manifest.counts.options) == ("b-3-options", {"3": 4})
    assert part.manifest.lineage[-1].note == "only task=p; 3 options each, seed 5"
    done = call("subset", "b", "--option-count", 4, "--to", "four")
    assert "1 item left out: fewer than 4 options" in done.err
    assert "no item has 9 options" in call("subset", "b", "--option-count", 9, "--to", "nine").refused()
    assert not (workdir / "nine").exists()
