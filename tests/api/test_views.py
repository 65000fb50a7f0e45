"""What notebooks show: images inline, the gold marked, and nothing of a dataset as markup."""

import re
from html.parser import HTMLParser
from pathlib import Path

import eyetest as et
from eyetest.benchmarks import BenchmarkWriter
from tests.conftest import png

EVIL = "<script>alert('x')</script><img src=x onerror=alert(1)>"


class Tags(HTMLParser):
    """Which elements a card has, and with what attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


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
        tags = Tags(html(thing)).found
        assert "script" not in [tag for tag, _ in tags]
        assert not [attributes for _, attributes in tags if "onerror" in attributes]
        assert all((attributes["src"] or "").startswith("data:image/") for tag, attributes in tags if tag == "img")
    assert "alert" in html(bench[EVIL])


def test_an_item_shows_its_image_and_its_gold(here: Path) -> None:
    item = next(iter(et.open("world/benchmark")))
    told = html(item)
    assert re.search(r'<img src="data:image/\w+;base64,', told)
    gold = re.findall(r'<li class="gold"[^>]*>(.*?)</li>', told)
    assert len(gold) == 1
    assert item.choices[item.gold[0]].text in gold[0]
