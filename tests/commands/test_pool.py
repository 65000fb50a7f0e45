"""``pool``: two real benchmarks become one, whose refinement takes the answers of runs on both."""

from pathlib import Path

import pytest

from eyetest.benchmarks import Benchmark
from tests.support.command import call

pytestmark = pytest.mark.journey
RECIPE = """
panels: {blind: {size: 2, modality: no-image}}
stages:
  - {filter: blind-hits, panel: blind, keep: {hits: {op: "<=", value: 1}}}
  - {select: {per: kind, total: 40, short: keep-all}}
"""
MODELS = ("--model", "m=scripted:right=0.9,blind=0.5", "--model", "n=scripted:right=0.8,blind=0.5,seed=2")


def test_from_two_benchmarks_to_a_refinement(shared: Path, workdir: Path) -> None:
    for name in ("chartqa", "mathvista"):
        source, fact = shared / "data" / name / "items.jsonl", ("--fact", f"name={name}", "--fact", "licence=MIT")
        call("import", source, "--to", name, *fact).fine()
        call("run", name, *MODELS, "--condition", "no-image", "--to", f"run-{name}").fine()
    pooled = call("pool", "chartqa", "mathvista", "--drop-repeats", "--to", "pool").fine()
    assert "1,827 items of 2 benchmarks" in pooled
    assert "16 items repeat items of an earlier source (15 same, 1 other answer key)" in pooled
    asked = call("run", "pool", *MODELS, "-n", 30, "--to", "run").fine()
    assert "60 of 60 calls" in asked
    Path("r.yaml").write_text(RECIPE)
    answers = ("--answers", "run-chartqa", "--answers", "run-mathvista")
    maps = ("--map-tags", "chartqa:kind=subset,mathvista:kind=task")
    done = call("refine", "chartqa", "mathvista", "-r", "r.yaml", *answers, *maps, "--to", "better").fine()
    assert "40 items" in done
    better = Benchmark(workdir / "better/benchmark")
    assert (
        {item.id.split("/")[0] for item in better}
        == {"chartqa", "mathvista"}
        == {item.tags["benchmark"] for item in better}
    )
    assert "| mathvista |" in (better.path / "README.md").read_text()
    call("score", "run-chartqa", "--bench", "better").fine()
    assert "chartqa" in call("measure", "accuracy", "run-chartqa", "--by", "benchmark").fine()


@pytest.mark.parametrize(
    ("words", "line"), [(("gone",), "gone does not exist"), (("a=gone",), "gone does not exist")]
)
def test_bad_input_gets_one_line(workdir: Path, words: tuple[str, ...], line: str) -> None:
    assert line in call("pool", *words, "--to", "pool").refused()
    assert not Path("pool").exists()
