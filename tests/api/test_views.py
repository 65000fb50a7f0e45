"""What notebooks show: images inline, the gold marked, and nothing of a dataset as markup."""

import re
from pathlib import Path

import eyetest as et
from eyetest.benchmarks import BenchmarkWriter
from tests.conftest import png
from tests.reports.pages import Tags

EVIL = "<script>alert('x')</script><img src=x onerror=alert(1)>"


def html(thing: object) -> str:
    told: str = thing._repr_html_()  # type: ignore[attr-defined]
    return told


def evil_bench(to: Path) -> et.Benchmark:
    with BenchmarkWriter(to, et.Manifest(name=EVIL, licence=EVIL)) as writer:
        image = writer.images.put(png())
        choices = (et.Choice(EVIL, correct=True), et.Choice("b"))
        shared = {"hint": EVIL, "tags": {EVIL: EVIL}, "history": (et.Turn(EVIL, EVIL),)}
        writer.add(et.Item(id=EVIL, question=EVIL, images=(image,), choices=choices, **shared))  # type: ignore[arg-type]
        writer.add(et.Item(id="2", question=EVIL, references=(EVIL,)))
    return et.open(to)


def test_nothing_of_a_dataset_is_markup(tmp_path: Path) -> None:
    bench = evil_bench(tmp_path / "evil")
    run = et.run(bench, models={"m <b>": "scripted:"}, to=tmp_path / "run")
    for thing in (bench, bench[EVIL], bench["2"], run, et.measure("accuracy", run), et.audit(bench)):
        page = Tags(html(thing))
        assert not page.tags["script"]
        assert not page.values("onerror")
        assert all(source.startswith("data:image/") for source in page.values("src"))
    assert "alert" in html(bench[EVIL])


def test_an_item_shows_its_image_and_its_gold(here: Path) -> None:
    item = next(iter(et.open("world/benchmark")))
    told = html(item)
    assert re.search(r'<img src="data:image/\w+;base64,', told)
    gold = re.findall(r'<li class="gold"[^>]*>(.*?)</li>', told)
    assert len(gold) == 1
    assert item.choices[item.gold[0]].text in gold[0]
