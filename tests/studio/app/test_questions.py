"""Five questions that researchers ask of MathVista and MMMU-Pro: in three clicks, with the items of the raw files."""

from pathlib import Path

import polars as pl
import pytest

from eyetest.studio.collection import Collection
from tests.studio.app.conftest import served
from tests.studio.app.questions import (
    BARD,
    BLIND,
    GEMINI,
    GPT,
    IDEFICS,
    LLAVA,
    MATHVISTA,
    MMMU_PRO,
    SUBJECT,
    TASK,
    import_mathvista,
    import_mmmu_pro,
)
from tests.support.browser import Browser, BrowserWindow

pytestmark = pytest.mark.slow
MOST_CLICKS = 3


def shown(ann: BrowserWindow) -> set[str]:
    """The ids of all items of a view, page by page; turning pages is no part of the question."""
    ids: set[str] = set()
    while True:
        page = ann.evaluate("[...document.querySelectorAll('.card')].map((card) => card.dataset.id)")
        assert not ids & set(page)
        ids |= set(page)
        if not ann.evaluate("document.querySelector('#pages [rel=next]')?.href"):
            return ids
        ann.press_to("n")


class Researcher:
    """A person who asks questions of one collection, and counts the clicks to each answer."""

    def __init__(self, browser: Browser, address: str) -> None:
        self._ann, self._address = browser.visitor(), address

    def ask(self, *steps: str) -> set[str]:
        """Start from all items, click on one thing after the other, and take the items that are shown."""
        ann = self._ann
        ann.goto(self._address)
        ann.clicks = 0
        for step in steps:
            (ann.click if step.endswith("summary") else ann.follow)(step)
        clicks = ann.clicks
        ids = shown(ann)
        assert clicks <= MOST_CLICKS
        assert ann.errors == []
        assert ann.evaluate("document.getElementById('number').textContent").startswith(f"{len(ids):,} of ")
        return ids

    def first_blind(self) -> str:
        """Whose row stands first among those without the image."""
        self._ann.goto(self._address)
        row = "[...document.querySelectorAll('tr[data-series]')].find((row) => row.querySelector('.sightless'))"
        return str(self._ann.evaluate(f"{row}?.dataset.series"))


def ids(frame: pl.DataFrame) -> set[str]:
    return set(frame.get_column("item_id"))


def test_five_questions_to_mathvista(shared: Path, browser: Browser, tmp_path: Path) -> None:
    raw = pl.read_parquet(shared / "data/mathvista/predictions.parquet")
    items = pl.read_ndjson(shared / "data/mathvista/items.jsonl", infer_schema_length=None)
    right = pl.col("correct_if_given").fill_null(value=False)
    name = pl.concat_str("model", "setting", "augment", separator=" ", ignore_nulls=True)
    raw = raw.with_columns(name.alias("model"), right.alias("right"))
    blind = raw.filter(condition="text").group_by("model").agg(pl.col("right").mean()).sort("right").row(-1)[0]
    run = import_mathvista(shared, tmp_path)
    with served(Collection([run.path])) as address:
        researcher = Researcher(browser, address)
        assert researcher.first_blind() == f"{blind}\nno-image"
        assert blind == BLIND
        assert researcher.ask(*MATHVISTA["blind"]) == ids(raw.filter(model=blind, right=True))
        differ = ids(raw.filter(model=BARD, right=True)) & ids(raw.filter(model=LLAVA, right=False))
        assert researcher.ask(*MATHVISTA["differ"]) == differ
        assert researcher.ask(*MATHVISTA["doubt"])
        refused = raw.filter(pl.col("raw_output").str.contains("^I'm sorry"), model=IDEFICS)
        assert researcher.ask(*MATHVISTA["refused"]) == ids(refused)
        failed = raw.filter(condition="image").group_by("item_id").agg(pl.col("right").sum()).filter(right=0)
        assert researcher.ask(*MATHVISTA["failed"]) == ids(failed) & set(items.filter(task=TASK).get_column("id"))


def test_four_questions_to_mmmu_pro(shared: Path, browser: Browser, tmp_path: Path) -> None:
    raw = pl.read_parquet(shared / "data/mmmu_pro/predictions.parquet").filter(pl.col("variant") != "standard4")
    items = pl.read_ndjson(shared / "data/mmmu_pro/items.jsonl", infer_schema_length=None)
    right = pl.col("correct_derived").fill_null(value=False)
    raw = raw.with_columns(pl.concat_str("model", "setting", separator=" ").alias("model"), right.alias("right"))
    standard, vision = (raw.filter(variant=variant) for variant in ("standard10", "vision10"))
    run = import_mmmu_pro(shared, tmp_path)
    with served(Collection([run.path])) as address:
        researcher = Researcher(browser, address)
        assert researcher.first_blind() == "None"
        differ = ids(standard.filter(model=GEMINI, right=True)) & ids(standard.filter(model=GPT, right=False))
        assert researcher.ask(*MMMU_PRO["differ"]) == differ
        assert researcher.ask(*MMMU_PRO["doubt"])
        given = pl.col("raw_output")
        letterless = ~given.str.contains(r"Answer: ?\(?[A-J]\b")
        apologies = vision.filter(given.str.contains("^I'm (sorry|unable)"), letterless, model=GPT)
        refused = researcher.ask(*MMMU_PRO["refused"])
        assert refused <= ids(apologies)
        assert len(ids(apologies) - refused) <= 1, "one is so vague that nothing is read in it"
        failed = standard.group_by("item_id").agg(pl.col("right").sum()).filter(right=0)
        assert researcher.ask(*MMMU_PRO["failed"]) == ids(failed) & set(
            items.filter(subject=SUBJECT).get_column("id")
        )
