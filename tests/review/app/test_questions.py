"""Five questions that researchers ask of MathVista and MMMU-Pro: in three clicks, with the items of the raw files."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from eyetest.benchmarks import Benchmark, Import, ReadOptions, import_benchmark
from eyetest.measures.stats.consensus import recurring, suspicion
from eyetest.records import letter
from eyetest.review.collection import Collection
from eyetest.runs import Run
from tests.review.app.conftest import served
from tests.support.browser import Browser, Visitor
from tests.support.command import call

pytestmark = pytest.mark.slow
MOST_CLICKS = 3


@pytest.fixture(scope="module")
def mathvista(
    shared: Path, real_benchmark: Callable[[str], Benchmark], tmp_path_factory: pytest.TempPathFactory
) -> Run:
    """All answers to MathVista, each way of asking as a model of its own."""
    run = tmp_path_factory.mktemp("questions") / "mathvista"
    columns = "item=item_id,text=raw_output,given=correct_if_given,model=model+setting+augment"
    sights = "sight=condition:text>blind,caption>caption,image>image"
    answers = shared / "data/mathvista/predictions.parquet"
    told = ("--bench", real_benchmark("mathvista").path, "--map", columns, "--set", "trial=0", "--map-values", sights)
    call("import-answers", answers, "--to", run, *told).fine()
    return Run(run)


@pytest.fixture(scope="module")
def mmmu_pro(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """All answers to MMMU-Pro with ten options, as text with pictures or as a screenshot; nobody was asked blind."""
    folder = tmp_path_factory.mktemp("questions")
    ten = ReadOptions(fields={"options": "options10", "answer": "answer10"})
    import_benchmark(shared / "data/mmmu_pro", folder / "bench", Import(read=ten))
    columns = "item=item_id,text=raw_output,given=correct_derived,model=model+setting"
    sights = "sight=variant:standard10>image,vision10>screenshot,standard4>"
    answers = shared / "data/mmmu_pro/predictions.parquet"
    told = ("--bench", folder / "bench", "--map", columns, "--map-values", sights)
    call("import-answers", answers, "--to", folder / "run", *told).fine()
    return Run(folder / "run")


def shown(ann: Visitor) -> set[str]:
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
    """Somebody who asks questions of one collection, and counts the clicks to each answer."""

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
        """Whose row stands first among those without the picture."""
        self._ann.goto(self._address)
        row = "[...document.querySelectorAll('tr[data-series]')].find((row) => row.querySelector('.sightless'))"
        return str(self._ann.evaluate(f"{row}?.dataset.series"))


def answered(kind: str, model: str, condition: str) -> str:
    """The number of a model's answers of a kind, in the table of what models score."""
    return f'.models a[data-value="{kind}:{model}@{condition}"]'


def value(key: str, of: str) -> str:
    """A filter on the left."""
    return f'.value[data-key="{key}"][data-value="{of}"]'


def ids(frame: pl.DataFrame) -> set[str]:
    return set(frame.get_column("item_id"))


def facet(key: str) -> str:
    """What opens a list of filters."""
    return f'details.facet:has([data-key="{key}"]) > summary'


def doubted(run: Run, least: float) -> set[str]:
    """Whose gold the answers speak against that much, weighed from the table of scores as a whole."""
    items = {item.id: item for item in Benchmark(run.path / "benchmark") if item.gold and len(item.choices) > 1}
    scores = pl.read_parquet(run.path / "scores/eyetest.parquet")
    chosen = scores.filter(pl.col("choice").is_not_null(), pl.col("score").is_not_null(), sight="image")
    table = chosen.filter(pl.col("item").is_in(list(items))).pivot("model", index="item", values="choice")
    place = pl.exclude("item").replace_strict({letter(n): n for n in range(26)}, return_dtype=pl.Int64)
    asked = [items[name] for name in table.get_column("item")]
    ratios = suspicion(
        table.select(place.fill_null(-1)).to_numpy(),
        [len(item.choices) for item in asked],
        [item.gold[0] for item in asked],
        recurring([choice.text for choice in item.choices] for item in asked),
    ).ratios
    voices = table.select(pl.sum_horizontal(pl.exclude("item").is_not_null())).to_series().to_numpy()
    return {item.id for item, ratio, n in zip(asked, ratios, voices, strict=True) if n > 1 and ratio >= least}


def test_five_questions_to_mathvista(mathvista: Run, shared: Path, browser: Browser) -> None:
    raw = pl.read_parquet(shared / "data/mathvista/predictions.parquet")
    items = pl.read_ndjson(shared / "data/mathvista/items.jsonl", infer_schema_length=None)
    right = pl.col("correct_if_given").fill_null(value=False)
    name = pl.concat_str("model", "setting", "augment", separator=" ", ignore_nulls=True)
    raw = raw.with_columns(name.alias("model"), right.alias("right"))
    blind = raw.filter(condition="text").group_by("model").agg(pl.col("right").mean()).sort("right").row(-1)[0]
    one, other = "multimodal-bard zero-shot", "llava-llama-2-13b zero-shot"
    with served(Collection.open([mathvista.path])) as address:
        researcher = Researcher(browser, address)
        assert researcher.first_blind() == f"{blind}\nblind"
        assert researcher.ask(answered("right", blind, "blind")) == ids(raw.filter(model=blind, right=True))
        differ = ids(raw.filter(model=one, right=True)) & ids(raw.filter(model=other, right=False))
        assert researcher.ask(answered("right", one, "image"), answered("wrong", other, "image")) == differ
        assert researcher.ask(value("doubt", "1..3")) == doubted(mathvista, 1)
        refused = raw.filter(pl.col("raw_output").str.contains("^I'm sorry"), model="idefics-9b-instruct zero-shot")
        assert researcher.ask(answered("refused", "idefics-9b-instruct zero-shot", "image")) == ids(refused)
        failed = raw.filter(condition="image").group_by("item_id").agg(pl.col("right").sum()).filter(right=0)
        task = items.filter(task="figure question answering").get_column("id").cast(pl.String)
        steps = (facet("tag.task"), value("tag.task", "figure question answering"), value("difficulty", "1"))
        assert researcher.ask(*steps) == ids(failed) & set(task)


def test_four_questions_to_mmmu_pro(mmmu_pro: Run, shared: Path, browser: Browser) -> None:
    raw = pl.read_parquet(shared / "data/mmmu_pro/predictions.parquet").filter(pl.col("variant") != "standard4")
    items = pl.read_ndjson(shared / "data/mmmu_pro/items.jsonl", infer_schema_length=None)
    right = pl.col("correct_derived").fill_null(value=False)
    raw = raw.with_columns(pl.concat_str("model", "setting", separator=" ").alias("model"), right.alias("right"))
    standard, vision = (raw.filter(variant=variant) for variant in ("standard10", "vision10"))
    one, other = "gemini-1.5-pro-exp-0801 direct", "gpt-4o-2024-08-06 direct"
    with served(Collection.open([mmmu_pro.path])) as address:
        researcher = Researcher(browser, address)
        assert researcher.first_blind() == "None"
        differ = ids(standard.filter(model=one, right=True)) & ids(standard.filter(model=other, right=False))
        assert researcher.ask(answered("right", one, "image"), answered("wrong", other, "image")) == differ
        assert researcher.ask(value("doubt", "3..")) == doubted(mmmu_pro, 3)
        said = pl.col("raw_output")
        apologies = vision.filter(
            said.str.contains("^I'm (sorry|unable)"), ~said.str.contains("Answer:"), model=other
        )
        refused = researcher.ask(answered("refused", other, "screenshot"))
        assert refused <= ids(apologies)
        assert len(ids(apologies) - refused) <= 1, "one is so vague that nothing is read in it"
        failed = standard.group_by("item_id").agg(pl.col("right").sum()).filter(right=0)
        subject = items.filter(subject="Music").get_column("id")
        steps = (facet("tag.subject"), value("tag.subject", "Music"), value("difficulty", "1"))
        assert researcher.ask(*steps) == ids(failed) & set(subject)
