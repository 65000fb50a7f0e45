"""The leaderboard: its numbers against the measures, its ranks by their rule, its page in a browser and by weight."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from eyetest.measures import MEASURES, Results, Settings
from eyetest.measures.results import REPLY_TYPES
from eyetest.pages.item_links import items_at
from eyetest.records import ModelEntry
from eyetest.records.tables import Price
from eyetest.reports import leaderboard as leaderboard_module
from eyetest.reports.leaderboard import TYPES, VIEWS, board_of, leaderboard, write_leaderboard_page
from eyetest.reports.report import Material
from tests.measures.tables import by_model, results
from tests.reports.pages import HOSTILE, Tags
from tests.reports.synthetic import panel
from tests.support.browser import Browser

NAMES = ("alpha", "beta", "gamma", "delta")
MOST_BYTES = 3_000_000


def several(*sizes: int) -> Results:
    """The same models on benchmarks of different sizes; the last model lacks the last benchmark."""
    parts = []
    for number, size in enumerate(sizes):
        found, name = panel(NAMES, size), pl.lit(f"bench {number}").alias("benchmark")
        scores = found.scores.with_columns(name)
        if number == len(sizes) - 1:
            scores = scores.filter(pl.col("model") != NAMES[-1])
        parts.append(replace(found, scores=scores, items=found.items.with_columns(name)))
    joined = {field: pl.concat([getattr(part, field) for part in parts]) for field in ("scores", "items")}
    return replace(parts[0], **joined)


def rows(table: pl.DataFrame, benchmark: str) -> dict[str, dict[str, Any]]:
    return by_model(table.filter(benchmark=benchmark))


def test_scores_are_those_of_the_measures_and_ranks_count_significantly_better_models() -> None:
    found = panel(NAMES, 120)
    material = Material(found)
    table = rows(leaderboard(material), "bench")
    for row in MEASURES["accuracy"].measure(found, Settings()).table.iter_rows(named=True):
        view = "image" if row["modality"] == "image" else "no_image"
        assert [table[row["model"]][view + end] for end in ("", "_low", "_high")] == [
            row[f"accuracy{end}"] for end in ("", "_low", "_high")
        ]
    gains = MEASURES["gain"].measure(found, Settings()).table.filter(~pl.col("model").str.starts_with("mean"))
    assert {row["model"]: row["gain_low"] for row in gains.iter_rows(named=True)} == {
        name: row["gain_low"] for name, row in table.items() if row["gain"] is not None
    }
    ranks = MEASURES["ranks"].measure(material.usual, Settings()).table
    assert dict(ranks.select("model", "tie").iter_rows()) == {name: row["image_rank"] for name, row in table.items()}
    assert len({row["image_rank"] for row in table.values()}) > 1


def test_in_the_mean_each_benchmark_counts_alike_and_its_tests_are_stratified() -> None:
    table = leaderboard(Material(several(40, 160, 80)))
    mean = rows(table, "mean of 3")
    assert NAMES[-1] not in mean  # it lacks one
    for name in NAMES[:3]:
        each = [rows(table, f"bench {number}")[name] for number in range(3)]
        assert mean[name]["image"] == pytest.approx(np.mean([row["image"] for row in each]))
        assert mean[name]["gain"] == pytest.approx(np.mean([row["gain"] for row in each]))
        variances = [((row["image_high"] - row["image_low"]) / 3.92) ** 2 for row in each]
        width = mean[name]["image_high"] - mean[name]["image_low"]
        assert width == pytest.approx(3.92 * np.sqrt(sum(variances)) / 3, rel=0.1)


@pytest.mark.science
def test_equal_models_share_the_first_rank_of_the_mean() -> None:
    """Where no model is better, at most 5 % of boards tell any apart (Holm over all pairs)."""
    wrong = 0
    for seed in range(200):
        draw = np.random.default_rng(seed)
        right = draw.random((5, 3, 60)) < draw.random((3, 60))
        answers = [
            {"benchmark": f"b{b}", "item": str(i), "model": f"m{m}", "score": float(right[m, b, i])}
            for m in range(5) for b in range(3) for i in range(60)
        ]  # fmt: skip
        mean = leaderboard(Material(results(answers))).filter(benchmark="mean of 3")
        wrong += bool(mean["image_rank"].ne_missing(1).any())
    assert wrong <= 18  # 10 expected at most; P(more than 18) < .01


def large(models: int, benchmarks: int) -> tuple[Material, pl.DataFrame]:
    """A board of this size without answers behind it."""
    draw = np.random.default_rng(0)
    names = [f"organisation-{i % 17}/vision-model-{i}-{i * 7 % 72}b-instruct" for i in range(models)]
    benches = [f"benchmark {i} with a name" for i in range(benchmarks)]
    table = []
    for benchmark in (f"mean of {benchmarks}", *benches):
        for i, model in enumerate(names):
            row = {"benchmark": benchmark, "model": model, "unread": draw.random() / 20, "n": 1000}
            for view, value in zip(VIEWS, draw.random(3), strict=True):
                row |= {
                    view: value,
                    f"{view}_low": value - 0.03,
                    f"{view}_high": value + 0.03,
                    f"{view}_rank": 1 + i // 3,
                }
            table.append(row)
    entries = {
        name: ModelEntry(spec="scripted:", open=i % 3 > 0, size_b=(2.0, 7.0, 72.0)[i % 3])
        for i, name in enumerate(names)
    }
    answers = [{"benchmark": name, "item": "1", "model": names[0], "score": 1.0} for name in benches]
    return Material(results(answers, (), entries)), pl.DataFrame(table, schema=TYPES)


def written(material: Material, table: pl.DataFrame, to: Path) -> Path:
    at = items_at(None, to, [Path("runs")])
    write_leaderboard_page(material, board_of(material, at, table), at, ("A title", ""), to, overwrite=True)
    return to


def test_200_models_on_40_benchmarks_are_one_page_of_3_mb_with_all_data(tmp_path: Path, browser: Browser) -> None:
    page = written(*large(200, 40), tmp_path / "large.html")
    assert page.stat().st_size < MOST_BYTES
    visitor = browser.visitor(1440, 900)
    visitor.goto(page)
    shown = "document.querySelectorAll('#board tbody tr:not(.late, [hidden])').length"
    assert visitor.evaluate(shown) == 30
    visitor.evaluate("document.querySelector('#board').parentElement.scrollTo(0, 1e6)")
    visitor.wait(f"{shown} === 60")
    visitor.type("input[type=search]", "model-199-")
    visitor.wait(f"{shown} === 1")
    assert visitor.evaluate("document.querySelectorAll('#board tbody tr').length") == 200
    assert [url for url in visitor.requests if not url.startswith(("file:", "data:"))] == []
    assert visitor.errors == []
    visitor.close()


def test_a_board_sorts_switches_filters_links_and_saves(tmp_path: Path, browser: Browser) -> None:
    found = several(40, 60)
    entries = {name: ModelEntry(spec="scripted:", open=name < "c") for name in NAMES}
    page = written(
        material := Material(replace(found, models=entries), Settings(by=("model.open",))),
        leaderboard(material),
        tmp_path / "board.html",
    )
    visitor = browser.visitor(1440, 900)
    visitor.goto(page)
    column = "[...document.querySelectorAll('#board tbody tr:not([hidden])')].map((row) => row.cells[{}].textContent)"
    names = visitor.evaluate(column.format(1))
    assert names[0] == "alpha"
    means = visitor.evaluate(column.format(3))
    visitor.click("#board thead th:nth-child(2) [role=button]")
    assert visitor.evaluate(column.format(1)) == sorted(names)
    visitor.click("#board thead th:nth-child(4) [role=button]")
    assert visitor.evaluate(column.format(3)) == means
    visitor.evaluate("document.querySelector('[value=gain]').click()")
    assert visitor.evaluate(column.format(3)) != means
    gains = [float(text.split()[0].replace("−", "-")) for text in visitor.evaluate(column.format(3)) if text != "–"]
    assert gains == sorted(gains, reverse=True)
    assert len(gains) == 3
    choose = "s = document.querySelector('select'); s.value = 'open=yes'; s.dispatchEvent(new Event('change'))"
    visitor.evaluate(f"(() => {{ const {choose}; }})()")
    assert sorted(visitor.evaluate(column.format(1))) == ["alpha", "beta"]
    href = visitor.evaluate("document.querySelector('#board tbody tr td:nth-child(5) a').href")
    first = visitor.evaluate(column.format(1))[0]
    assert href == f"http://127.0.0.1:8765/?benchmark=bench%200&answer=scored%3A{first}%40image"
    visitor.evaluate(
        "URL.createObjectURL = (blob) => { blob.text().then((text) => { window.saved = text; }); return '#'; }"
    )
    visitor.evaluate("document.querySelector('#save-csv').click()")
    visitor.wait("window.saved")
    head, row, *_ = visitor.evaluate("window.saved").splitlines()
    assert head.startswith('"model","benchmark","image","image_low","image_high","image_rank","no_image"')
    assert row.startswith('"alpha","mean of 2",')
    assert visitor.errors == []
    visitor.close()


def test_hostile_names_stay_text(tmp_path: Path, browser: Browser) -> None:
    answers = [
        {"benchmark": benchmark, "item": str(i), "model": model, "score": float(i % 2)}
        for benchmark in (HOSTILE[0], HOSTILE[5]) for model in HOSTILE for i in range(4)
    ]  # fmt: skip
    entries = {name: ModelEntry(spec="scripted:", group=name, series=HOSTILE[1]) for name in HOSTILE}
    material = Material(results(answers, (), entries))
    page = written(material, leaderboard(material), tmp_path / "hostile.html")
    Tags(page.read_text()).check_inert("http://127.0.0.1:8765/")
    visitor = browser.visitor()
    visitor.goto(page)
    visitor.click("#board thead th:nth-child(2) [role=button]")
    assert visitor.evaluate("document.querySelectorAll('#board img, #board iframe').length") == 0
    assert visitor.errors == []
    visitor.close()


def body_rows(page: str) -> list[list[str]]:
    """The texts of the cells of a board's rows, as they stand in the page."""
    body = page.split("<tbody>")[1].split("</tbody>")[0]
    rows = [row.split("</tr>")[0] for row in body.split("<tr")[1:]]
    return [
        [" ".join(re.sub("<[^>]+>", "", cell).split()) for cell in re.split(r"</t[dh]>", row.partition(">")[2])[:-1]]
        for row in rows
    ]


def test_every_row_is_written_by_one_renderer(tmp_path: Path) -> None:
    """Rows from the 31st on had other digits, and what they spent in full: 26.960161834210087."""
    material, table = large(70, 2)
    spent = pl.Series("cost", [26.960161834210087 / (1 + row) for row in range(len(table))])
    page = written(material, table.with_columns(spent), tmp_path / "board.html").read_text()
    rows = body_rows(page)
    assert len(rows) == 70
    number = r"\d+\.\d"
    for row in rows:
        assert re.fullmatch(rf"{number} \[−?{number}, {number}\] #\d+", row[2]), row
        assert re.fullmatch(number, row[-2]), row
        assert re.fullmatch(r"\d+\.\d\d", row[-1]), row
    script = Path(leaderboard_module.__file__).parents[1] / "pages/templates/page.js"
    for formatter in ("toFixed", "toLocaleString", "toPrecision", "Intl.", "Math.round"):
        assert formatter not in script.read_text()


def test_an_unknown_cost_is_a_dash_and_no_zero(tmp_path: Path) -> None:
    """Of two models one has a price; the other's cost is unknown on each benchmark, and so is its sum."""
    found = several(20, 20)
    prices = {"alpha": Price(input=1e6, output=0.0)}
    entries = {name: ModelEntry(spec="scripted:", price=prices.get(name)) for name in NAMES}
    asked = found.scores.with_columns(pl.concat_str("benchmark", "model", "item", "modality").alias("request"))
    spent = asked.select("benchmark", "request").unique().with_columns(tokens_in=pl.lit(2), tokens_out=pl.lit(0))
    missing = [
        pl.lit(None, kind).alias(name) for name, kind in REPLY_TYPES.items() if name not in spent.collect_schema()
    ]
    replies = spent.with_columns(missing).select(list(REPLY_TYPES))
    material = Material(replace(found, scores=asked, models=entries, replies=replies))
    table = leaderboard(material)
    costs = {(row["benchmark"], row["model"]): row["cost"] for row in table.iter_rows(named=True)}
    known = {key for key, cost in costs.items() if cost is not None}
    assert known == {key for key in costs if key[1] == "alpha"}
    assert costs["mean of 2", "alpha"] == costs["bench 0", "alpha"] + costs["bench 1", "alpha"]
    page = written(material, table, tmp_path / "board.html").read_text()
    shown = {row[1]: row[-1] for row in body_rows(page)}
    assert {name: shown[name] for name in NAMES[1:3]} == dict.fromkeys(NAMES[1:3], "–")
    assert shown["alpha"] not in ("–", "0.00")
