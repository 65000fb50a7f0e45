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


def test_lines_end_as_they_do_on_other_systems() -> None:
    item = et.Item(id="1", question="one\r\ntwo\x07", references=("this",))
    assert "one\ntwo\ufffd" in html(item)


def test_an_item_whose_benchmark_was_never_opened_says_so() -> None:
    image = et.ImageRef("e" * 64, "png", 8, 8, 80)
    item = et.Item(id="1", question="What?", images=(image,), references=("this",))
    assert "its benchmark is not open" in html(item)


def test_cards_name_what_they_show(here: Path) -> None:
    assert "60 items (" in html(et.open("world/benchmark"))
    assert html(et.open_run("run")).count("<tr>") == 1 + 12
    refined = et.refine("world/benchmark", recipe="chance-aware", models="models.yaml", to="better")
    assert "chance-aware" in html(refined)
    assert "chance-aware    60" in repr(refined)


def test_long_tables_are_cut_and_say_so(here: Path) -> None:
    found = et.measure("items", "run")
    assert html(found).count("<tr>") == 1 + 40
    assert f"and {len(found) - 40} more rows in .frame" in html(found)


def test_notes_stand_below_the_table(here: Path) -> None:
    found = et.measure("gain", et.results("run", models={"seer": "scripted:", "squinter": "scripted:"}))
    assert any("Leakage: not measured" in note for note in found.notes)
    assert found.notes[0] in repr(found)
