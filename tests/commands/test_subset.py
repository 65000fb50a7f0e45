"""``subset``: parts of a benchmark, with a word about what was left out and why."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eyetest.benchmarks import Benchmark
from tests.runs.written import separated
from tests.scoring.test_table import animals, make_bench
from tests.support.command import call

pytestmark = pytest.mark.journey

SOURCES = ("VQAv2", "OK-VQA", "GQA")


@pytest.fixture
def bench(workdir: Path) -> Path:
    items = [
        animals(str(n), 1, question=f"Which is {n}?", tags={"source": SOURCES[n % 3], "task": "pq"[n % 2]})
        for n in range(12)
    ]
    make_bench(workdir / "b", items)
    return workdir


def ids(path: Path) -> list[str]:
    return [item.id for item in Benchmark(path)]


def test_what_no_model_was_trained_on(bench: Path) -> None:
    (bench / "models.yaml").write_text(
        "a: {spec: 'scripted:', trained_on: [ok_vqa]}\nb: {spec: 'scripted:', trained_on: [COCO]}\nc: 'scripted:'\n"
    )
    done = call("subset", "b", "--unseen-by", "models.yaml", "--to", "part")
    assert "8 items of 12" in done.fine()
    assert "4 items of OK-VQA left out: a trained on it" in done.err
    assert "b trained on COCO, which is not in this benchmark" in done.err
    assert "c: nothing is known of what they were trained on" in done.err
    assert {item.tags["source"] for item in Benchmark(bench / "part/benchmark")} == {"VQAv2", "GQA"}
    table = call("subset", "b", "--only", "source=GQA", "--to", "gqa", "--output", "csv").fine().splitlines()
    assert table[0].startswith("id,question,options,")
    assert len(table) == 1 + len(ids(bench / "gqa/benchmark"))


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ((), "which items?"),
        (("--answers", "b", "--estimate", "b"), "leave the other options out"),
        (("--only", "task"), "expected COLUMN=VALUE, or COLUMN=A,B"),
        (("--only", "tsk=p"), 'did you mean "task"?'),
        (("--only", "source=gqa"), 'did you mean "GQA"?'),
        (("--unseen-by", "gone.yaml"), "gone.yaml"),
        (("--only", "source=GQA", "--aim", "like"), "an aim takes --answers RUN"),
        (("--answers", "b", "--aim", "lik"), 'did you mean "like"?'),
    ],
)
def test_bad_input_gets_one_line(bench: Path, words: tuple[str, ...], line: str) -> None:
    assert line in call("subset", "b", "--to", "part", *words).refused()
    assert not (bench / "part").exists()


def test_a_small_part_stands_for_the_whole(workdir: Path) -> None:
    rng = np.random.default_rng(1)
    ability, slope, ease = rng.normal(0, 1, 24), rng.uniform(0.4, 2, 300), rng.normal(0.3, 1.2, 300)
    right = rng.random((300, 24)) < 1 / (1 + np.exp(-(np.outer(slope, ability) + ease[:, None])))
    names = [f"i{n}" for n in range(300)]
    make_bench(workdir / "b", [animals(name, 1, question=name) for name in names])
    write_matrix(workdir / "known.csv", names, right[:, :18], 0)
    call("import", "known.csv", "--to", "known", "--matrix", "item").fine()
    done = call("subset", "b", "--answers", "known", "--share", "0.2", "--to", "part")
    assert "60 items of 300" in done.fine()
    for line in ("models stronger than the panel's held out", "random items", "estimated scores are off by"):
        assert line in done.err
    kept = ids(workdir / "part/benchmark")
    scores = call("subset", "b", "--answers", "known", "--share", "0.2", "--aim", "scores", "--to", "scores")
    assert "for models like the panel's held out" in scores.err
    call("subset", "b", "--answers", "known", "--share", "0.2", "--to", "other").fine()
    assert ids(workdir / "other/benchmark") == kept
    places = [names.index(name) for name in kept]
    write_matrix(workdir / "new.csv", kept, right[places, 18:], 18)
    call("import", "new.csv", "--to", "new", "--matrix", "item").fine()
    estimated = json.loads(call("subset", "part", "--estimate", "new", "--output", "json").fine())
    assert any("ordered by part_score" in line for line in estimated["notes"])
    rows = estimated["rows"]
    truth = {f"m{n}": right[:, n].mean() for n in range(18, 24)}
    off = [abs(row["full_score"] - truth[row["model"]]) for row in rows]
    assert np.mean(off) < 0.06
    assert sum(row["full_score_low"] <= truth[row["model"]] <= row["full_score_high"] for row in rows) >= 5
    assert {(row["n"], row["of"]) for row in rows} == {(60, 300)}
    plain = [abs(row["part_score"] - truth[row["model"]]) for row in rows]
    assert np.mean(off) < np.mean(plain) + 0.01, "where the drawn items are like the rest, both are as good"


def write_matrix(path: Path, items: list[str], right: Any, first: int) -> None:
    rows = ([name, *row] for name, row in zip(items, right.astype(int).tolist(), strict=True))
    separated(path, ["item", *(f"m{first + n}" for n in range(right.shape[1]))], *rows)
