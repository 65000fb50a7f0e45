"""The page of a refinement: whole, alone in the world, and deaf to what a dataset would have it do."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.pages.item_links import ItemsAt, reason_kind
from eyetest.records import Choice, Item, Manifest, Panel, Recipe, Verdict
from eyetest.reports.refinements import (
    Interval,
    Members,
    RefinedFrom,
    RefinedItems,
    RefinementRecord,
    Residual,
    ranking_shift,
    together,
    write_refine_page,
)
from eyetest.reports.report import Material
from tests.conftest import png
from tests.reports.pages import HOSTILE, Browse, Tags
from tests.reports.synthetic import panel


@pytest.fixture
def bench(tmp_path: Path) -> Benchmark:
    with BenchmarkWriter(tmp_path / "b", Manifest(name="".join(HOSTILE))) as writer:
        image = writer.images.put(png("teal"))
        for number, words in enumerate(HOSTILE * 3):
            choices = tuple(Choice(f"{words} {place}", place == 1) for place in range(4))
            item = Item(id=f"{number} {words}", question=words, choices=choices, images=(image,), tags={words: words})
            writer.add(item)
    return Benchmark(tmp_path / "b")


@pytest.fixture
def page(bench: Benchmark, tmp_path: Path) -> Path:
    items = {item.id: item for item in bench}
    verdicts = [
        Verdict(
            item=item, stage="s", verdict=("drop", "review", "keep")[i % 3], reason=HOSTILE[i % 8], hits=i, p=0.01
        )
        for i, item in enumerate(items)
    ]
    left = [Verdict(item=v.item, stage="t", verdict="keep") for v in verdicts if v.verdict == "keep"]
    record = RefinementRecord(
        eyetest="1",
        benchmark=RefinedFrom(bench.manifest.name, "f"),
        recipe=Recipe(about=HOSTILE[1], panels={HOSTILE[3]: Panel(size=1)}),
        panels={HOSTILE[3]: Members((HOSTILE[4],), (HOSTILE[5],))},
        residual_blind=(
            Residual(HOSTILE[2], "panel", "before", Interval(0.4, 0.3, 0.5, 24), 2, 1, 1),
            Residual("p", "held out", "after", Interval(0.0, 0.0, 0.0, 8), 1, 1, 1),
        ),
        notes=(HOSTILE[7],),
    )
    stages = [("".join(HOSTILE), verdicts), ("last", left)]
    kept = [items[verdict.item] for verdict in left]
    at = ItemsAt("items/index.html#", HOSTILE[0])
    write_refine_page(record, stages, RefinedItems(items, kept, [bench]), tmp_path / "report.html", at)
    return tmp_path / "report.html"


def test_what_comes_from_outside_stays_text(page: Path) -> None:
    tags = Tags(page.read_text())
    tags.check_inert("items/index.html#")
    assert [value for value in tags.values("href") if "stage=%3Cscript%3E" in value]
    words = "".join(tags.words)
    for hostile in HOSTILE[:7]:
        assert hostile in words
    assert "49" not in "".join(line for line in tags.words if "{{" in line)


def test_it_tells_the_way_through(page: Path) -> None:
    words = " ".join(" ".join(Tags(page.read_text()).words).split())
    assert "8 of 24 items are left; 16 were removed. How many items can still be answered" in words
    assert "6 of 8 , a random sample" in words
    assert "Nothing was removed here." in words
    assert "40.0 [30.0, 50.0]" in words
    assert len(Tags(page.read_text()).images) == 1  # one image, however many items show it


@pytest.mark.parametrize(
    ("who", "after", "told"),
    [
        (
            "panel",
            Interval(0.26, 0.2, 0.29),
            "whose score is biased downwards, scores 40.0 [30.0, 50.0] before and 26.0 [20.0, 29.0]",
        ),
        ("held out", Interval(0.35, 0.2, 0.5), "35.0 [20.0, 50.0] on the items left; the intervals overlap."),
    ],
)
def test_it_begins_with_what_is_still_answered_blind(
    bench: Benchmark, tmp_path: Path, who: str, after: Interval, told: str
) -> None:
    blind = [
        Residual("p", who, when, share, 2) for when, share in (("before", Interval(0.4, 0.3, 0.5)), ("after", after))
    ]
    record = RefinementRecord("1", RefinedFrom("b", ""), Recipe(), {}, residual_blind=tuple(blind))
    write_refine_page(record, [], RefinedItems({}, [], [bench]), tmp_path / "page.html")
    assert told in (tmp_path / "page.html").read_text()


def test_the_ranking_is_that_of_the_measure_before_and_after() -> None:
    """By the measure `ranks` on all items and on those left; another gold counts after, not before."""
    found, gone = panel(["good", "fair", "poor"]), [str(item) for item in range(20)]
    words, table = ranking_shift(Material(found), gone) or ("", pl.DataFrame())
    left = replace(found, scores=found.scores.filter(~pl.col("item").cast(pl.String).is_in(gone)))
    for when, results in (("before", found), ("after", left)):
        ranks = Material(results).measured("ranks").sort("model")
        assert table.sort("model")[f"rank {when}"].to_list() == ranks["tie"].to_list()
        assert table.sort("model")[f"rank {when}_high"].to_list() == ranks["rank_high"].to_list()
        low, score, high = (table[f"score {when}{end}"] for end in ("_low", "", "_high"))
        assert ((low <= score) & (score <= high)).all()
    assert words.startswith("The order of models does not change: 0 of 3 have another place by score")
    wrong = replace(found, scores=found.scores.with_columns(pl.col("score") * (pl.col("model") != "good")))
    assert "changes: " in (ranking_shift(Material(found), gone, wrong) or ("",))[0]
    blind = replace(found, scores=found.scores.filter(pl.col("modality") == "no-image"))
    assert ranking_shift(Material(blind), gone) is None


def test_an_empty_refinement_is_a_page_too(bench: Benchmark, tmp_path: Path) -> None:
    record = RefinementRecord("1", RefinedFrom("none", ""), Recipe(), {}, paused="review")
    write_refine_page(record, [], RefinedItems({}, [], [bench]), tmp_path / "empty.html")
    assert "the stage review waits for review" in (tmp_path / "empty.html").read_text()


def test_a_browser_opens_it_in_silence(page: Path, browse: Browse) -> None:
    document, said, asked = browse(page)
    assert "<h2>Method</h2>" in document
    assert (said, asked) == ([], [])


def test_figures_become_ranges() -> None:
    told = ["17 of 36 blind answers right, p = 0.0032", "18 of 32 blind answers right, p = 1.6e-05"]
    assert reason_kind(told[0]) == reason_kind(told[1])
    assert together(told) == "17 to 18 of 32 to 36 blind answers right, p = 1.6e-05 to 0.0032"
    assert together(told[:1]) == told[0]
    assert together(["1,200 items", "900 items"]) == "900 to 1,200 items"
    # names keep their digits
    assert reason_kind("qwen2 said 3") != reason_kind("qwen3 said 3")
    assert together(["qwen2 said 3", "qwen2 said 5"]) == "qwen2 said 3 to 5"
