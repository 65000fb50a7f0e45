"""``compare``: who leads, in four forms; models and modalities; items to read."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.runs.written import separated
from tests.support.command import call

pytestmark = pytest.mark.journey

SKILLS = {"alpha": 0.9, "beta": 0.5, "gamma": 0.5, "delta": 0.1}


def bring_in(name: str, columns: dict[str, list[Any]], *words: object) -> None:
    """A run from a matrix of verdicts."""
    rows = zip(*columns.values(), strict=True)
    separated(Path(f"{name}.csv"), ["item", *columns], *([f"q{n:03}", *row] for n, row in enumerate(rows)))
    call("import", f"{name}.csv", "--to", name, "--matrix", "item", *words).fine()


@pytest.fixture
def run(workdir: Path) -> str:
    drawn = np.random.default_rng(1).random((100, len(SKILLS)))
    scores = {m: [int(x < skill) for x in drawn[:, i]] for i, (m, skill) in enumerate(SKILLS.items())}
    bring_in("r", scores)
    return "r"


def found(*words: object) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(call("compare", *words, "--output", "json").fine())
    return answer


def test_many_models_are_ranked_and_few_get_a_sentence_for_each_pair(run: str) -> None:
    ranking, more = call("compare", run).out.strip().split("\n\n")
    assert ranking.splitlines()[0].split() == ["shared", "rank", "model", "score", "unread", "rank", "n", "missing"]
    assert [line.split()[0] for line in ranking.splitlines()[1:]] == ["1", "2", "2", "4"]
    assert ranking.splitlines()[1].split()[1:] == ["alpha", "0.950", "0.000", "1", "[1,", "1]", "100", "0"]
    assert more == "6 pairs: --model A,B compares two, --output json holds all"
    assert len(found(run)["pairs"]) == 6
    _, pairs, verdicts = call("compare", run, "--model", "alpha,beta,gamma").out.strip().split("\n\n")
    assert len(pairs.splitlines()) == 1 + 3
    first, second, third = verdicts.splitlines()
    assert first.startswith("alpha leads ")
    assert "a clear lead (p = " in first
    assert "after Holm's correction for 3 pairs" in second
    assert "too close to call; this benchmark can tell" in third
    assert third.endswith("points apart at 80 % power")


@pytest.mark.parametrize("words", [("r", "--model", "beta,alpha"), ("--model", "beta", "r", "-m", "alpha")])
def test_two_models_are_named_in_any_way(run: str, words: tuple[str, ...]) -> None:
    (pair,) = found(*words)["pairs"]
    assert (pair["a"], pair["b"], pair["p"]) == ("alpha", "beta", pair["p_adjusted"])
    assert pair["difference"] > 0
    assert pair["verdict"].startswith("alpha leads beta by")
    reported = call("compare", *words)
    assert "shared rank" not in reported.out
    assert reported.out.splitlines()[0].split() == [
        *("a", "b", "difference", "p", "only", "a", "only", "b", "detectable", "n", "clusters")
    ]


def test_items_that_flip_are_listed(run: str) -> None:
    answer = found(run, "--model", "alpha,delta")
    (pair,) = answer["pairs"]
    assert answer["settings"] == {"level": 0.95}
    assert len(answer["flips"]) == pair["only_a"] + pair["only_b"]
    assert [row["only"] for row in answer["flips"]].count("alpha") == pair["only_a"]


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("r", "nowhere"), "nowhere is no run folder"),
        (("r", "--model", "alpha,nowhere"), "--model: no scores of 'nowhere'"),
        (("r", "--model", "alpah,beta"), 'did you mean "alpha"?'),
        (("r", "--model", "alpha"), "at least two names"),
        (("--model", "alpha,beta"), "name a run"),
        (("r", "--where", "modalty=image"), 'did you mean "modality"?'),
    ],
)
def test_bad_input_gets_one_line(run: str, words: tuple[str, ...], part: str) -> None:
    assert part in call("compare", *words).refused()


def test_escape_sequences_do_not_reach_the_terminal(run: str) -> None:
    bring_in("odd", {"a\x1b[31m": [1, 1], "b": [0, 1]})
    assert "\x1b" not in call("compare", "odd").fine()


def test_real_answers(shared: Path, workdir: Path) -> None:
    """MMMU-Pro's own answers with ten options: the counts and p-values are those of statsmodels on its matrix."""
    theirs = pytest.importorskip("statsmodels.stats.contingency_tables")
    matrix = shared / "data/mmmu_pro/matrix.csv"
    header = r"(?P<condition>[^|]+)\|(?P<model>[^|]+)\|(?P<variant>[^|]+)\|(?P<ask>.+)"
    kept = "modality=variant:standard10>image,vision10>screenshot,standard4>"
    words = ("--to", "run", "--matrix", "item", "--header", header, "--map-values", kept)
    call("import", matrix, *words).fine()
    answer = found("run", "--where", "ask=direct")
    assert [row["tie"] for row in answer["ranking"]] == [1, 1, 3, 3, 3, 5, 6, 7]
    assert any("compared under modality image" in line for line in answer["notes"])
    columns = pl.read_csv(matrix)
    for pair in answer["pairs"]:
        a, b = (columns[f"image|{pair[side]}|standard10|direct"].to_numpy() == 1 for side in "ab")
        table = [[int((a & b).sum()), int((a & ~b).sum())], [int((~a & b).sum()), int((~a & ~b).sum())]]
        assert (pair["only_a"], pair["only_b"], pair["n"]) == (table[0][1], table[1][0], 1_730)
        assert pair["p"] == pytest.approx(theirs.mcnemar(table, exact=False, correction=True).pvalue)
