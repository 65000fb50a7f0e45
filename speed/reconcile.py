"""Attribute gaps on MMMU-Pro's 53,630 public answers: two rule sets, and the 27 counts that its authors published.

    python speed/reconcile.py [--shared ../shared]

The answers are brought in and scored by both rule sets first, as a user's run is; that is timed apart. Then every gap
is attributed, its parts are summed in fractions, and it is said whether they are the gap.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import polars as pl

from eyetest.benchmarks import Import, ReadOptions, import_benchmark
from eyetest.commands.reconcile import reconcile
from eyetest.commands.score import score
from eyetest.results.joining import bring_answers
from eyetest.runs.importing import AnswerFile, parse_field_map

RELEASED = "gpt-4o(release-example)"
PARTS = (("four", "options"), ("ten", "options10"), ("released", "options10_final"))
COLUMNS = (
    ("four", "standard4", "direct"),
    ("ten", "standard10", "direct"),
    ("ten", "vision10", "direct"),
    ("four", "standard4", "cot"),
    ("ten", "standard10", "cot"),
    ("ten", "vision10", "cot"),
)
PUBLISHED = {
    "gpt-4o-2024-08-06": (902, 698, 734, 1125, 953, 866),
    "gemini-1.5-pro-exp-0801": (958, 715, 702, 1049, 857, 774),
    "InternVL2-8B": (747, 560, 337, 743, 556, 439),
    "InternVL2-40B": (856, 619, 505, 818, 635, 557),
    "InternVL2-Llama3-76B": (898, 653, 454, 949, 730, 657),
    "llava-onevision-qwen2-7b-vo-hf": (757, 518, 275, 737, 514, 319),
    "llava-onevision-qwen2-72b-vo-hf": (907, 662, 438, 895, 657, 414),
}
"""How many of 1,730 answers the authors' parser held to be right (MMMU, commit e3be682, results_summary.xlsx)."""
ITEMS = 1_730
TWO = ("eyetest", "mmmu")


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Say how long something took, by the clock and by the processor."""
    clock, used = time.perf_counter(), time.process_time()
    yield
    print(f"{what}: {time.perf_counter() - clock:.1f} s by the clock, {time.process_time() - used:.1f} s of CPU")


def bring_in(data: Path, to: Path) -> dict[str, Path]:
    """The runs, each about the options that its models were shown."""
    models = pl.scan_parquet(data / "predictions.parquet").select(pl.col("model").unique().sort()).collect()
    earlier = [f"model={name}" for name in models.to_series() if name != RELEASED]
    where = {
        "four": ["variant=standard4"],
        "ten": ["variant=standard10", "variant=vision10", *earlier],
        "released": [f"model={RELEASED}"],
    }
    for name, options in PARTS:
        read = ReadOptions(fields={"options": options, "answer": options.replace("options", "answer")})
        bench, _ = import_benchmark(data, to / name, Import(read=read))
        maps = ("item=item_id,text=raw_output,ask=setting", "model=model+variant")
        fields = parse_field_map(maps, (), (), where[name])
        bring_answers(AnswerFile(path=data / "predictions.parquet", fields=fields), to / f"{name}-run", bench)
    return {name: to / f"{name}-run" for name, _ in PARTS}


def two_rule_sets(runs: dict[str, Path]) -> None:
    """Every answer under two rule sets."""
    rows, whole = 0, True
    for name, run in runs.items():
        told = reconcile(run, run, rules_a=TWO[0], rules_b=TWO[1])
        rows += len(told.found.a.credits)
        whole &= sum((share.points for share in told.found.shares), Fraction(0)) == told.found.gap
        causes = ", ".join(f"{cause} {points:+.2f}" for cause, points in told.frame.select("cause", "points").rows())
        print(f"  {name}: {float(100 * told.found.gap):+.2f} points = {causes}")
    print(f"  {rows:,} answers, the parts are the gap: {whole}")


def published(runs: dict[str, Path]) -> None:
    """Every count that was published and whose answers are there."""
    counts, unexplained, native, longest = 0, 0, 0, 0.0
    for model, numbers in PUBLISHED.items():
        for (part, variant, ask), right in zip(COLUMNS, numbers, strict=True):
            name = f"{model} {variant}"
            asked = pl.scan_parquet(runs[part] / "plan.parquet").filter(
                pl.col("model").cast(pl.String) == name, pl.col("ask").cast(pl.String) == ask
            )
            if not asked.select(pl.len()).collect().item():
                continue
            begun = time.perf_counter()
            explained = reconcile(runs[part], f"{right}/{ITEMS}", model=[name], where={"ask": ask})
            longest = max(longest, time.perf_counter() - begun)
            told, ways = explained.found, explained.ways.filter(pl.col("gives it") != "")["way"]
            assert sum((share.points for share in told.shares), Fraction(0)) == told.gap
            counts += 1
            unexplained += any(share.cause == "unexplained" for share in told.shares)
            native += any(way.startswith("rules mmmu, unread guessed") for way in ways)
    print(f"  {counts} published counts, {unexplained} with something unexplained; {native} by the parser's own way")
    print(f"  the one that took longest: {longest:.1f} s")


def main() -> None:
    """Measure all of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, default=Path(os.environ.get("EYETEST_SHARED", "../shared")))
    data = parser.parse_args().shared / "data" / "mmmu_pro"
    with tempfile.TemporaryDirectory() as folder:
        with timed("brought in"):
            runs = bring_in(data, Path(folder))
        with timed("scored by both rule sets"):
            for run in runs.values():
                for rules in TWO:
                    score(run, rules=rules)
        with timed("two rule sets reconciled"):
            two_rule_sets(runs)
        with timed("published counts reconciled"):
            published(runs)


if __name__ == "__main__":
    main()
