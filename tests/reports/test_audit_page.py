"""The page of an audit: whole, alone in the world, and deaf to what a dataset would have it do."""

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.pages import item_view
from eyetest.pages.item_links import NOWHERE, ItemsAt
from eyetest.pages.page import odds
from eyetest.probes.audit import Audit, hold
from eyetest.records import Choice, Finding, Item, Manifest, Turn
from eyetest.reports import audit_page
from eyetest.reports.audit_page import figures, write_audit_page
from tests.conftest import png
from tests.reports.pages import HOSTILE, Browse, Tags
from tests.support.browser import Browser
from tests.support.drawn import draw_benchmark


def audit_of(benchmark: Benchmark, *findings: Finding, **rest: Any) -> Audit:
    return Audit(
        benchmark=benchmark.manifest.name,
        fingerprint=benchmark.manifest.fingerprint,
        items=len(benchmark),
        level=0.05,
        seed=7,
        probes=tuple(dict.fromkeys(finding.probe for finding in findings)),
        findings=tuple(hold(findings, 0.05)),
        **rest,
    )


def fact(items: tuple[str, ...], **rest: Any) -> Finding:
    return Finding(**{"probe": "malformed", "kind": "odd", "severity": "bad", "title": "Odd", "items": items, **rest})


def page_of(benchmark: Benchmark, audit: Audit, to: Path, most_items: int = 60, at: ItemsAt = NOWHERE) -> str:
    write_audit_page(audit, benchmark, to, at, most_items=most_items, overwrite=True)
    return to.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    return draw_benchmark(tmp_path_factory.mktemp("drawn") / "b", items=96)


@pytest.fixture
def hostile(tmp_path: Path) -> tuple[Benchmark, Audit]:
    """A benchmark and an audit in which every text is an attack."""
    with BenchmarkWriter(tmp_path / "hostile", Manifest(name=HOSTILE[1])) as writer:
        image = writer.images.put(png())
        for number, text in enumerate(HOSTILE):
            writer.add(
                Item(
                    id=f"{number} {text}",
                    question=f"<image 1> {text}",
                    images=(image,),
                    choices=(Choice(text, correct=True), Choice(f"{text}!")),
                    hint=text,
                    history=(Turn(text, text),),
                    tags={text: text},
                )
            )
            writer.add(Item(id=f"free {number} {text}", question=text, references=(text,)))
    benchmark = Benchmark(tmp_path / "hostile")
    ids = tuple(item.id for item in benchmark)
    findings = []
    for text in HOSTILE:
        texts = {"probe": text, "kind": text, "title": text, "detail": f"{text} `{text}`"}
        numbers = {text: text, "positions": {text: 3, "b": 4}, "by": {text: {"accuracy": 0.4, "chance": 0.2}}}
        grid = {"rows": {text: {text: text}, "other": {text: 1}}}
        findings.append(fact(ids, groups=((ids[0], text),), evidence=dict.fromkeys((*ids, text), text), **texts))
        findings.append(fact((), p=0.001, severity="suspect", numbers={**numbers, **grid}, **texts))
        findings.append(fact((), p=0.9, severity="suspect", numbers=numbers, **texts))
        findings.append(fact(ids[:1], severity="note", **texts))
    scores = {text: dict.fromkeys(ids, 0.5) for text in HOSTILE}
    return benchmark, audit_of(benchmark, *findings, item_scores=scores)


def test_hostile_texts_are_only_words(hostile: tuple[Benchmark, Audit], tmp_path: Path) -> None:
    benchmark, audit = hostile
    page = page_of(benchmark, audit, tmp_path / "page.html", at=ItemsAt("items/index.html#", HOSTILE[0]))
    tags = Tags(page)
    tags.check_inert("items/index.html#")
    assert tags.tags["title"] > 1
    assert page.count("</style>") == 1
    assert "\x00" not in page
    assert "\x1b" not in page
    words = "".join(tags.words)
    for text in HOSTILE[:-1]:
        assert text in words
    assert "default-src 'none'; img-src data:" in "".join(tags.values("content"))
    tags.check_targets()


def test_more_than_a_page_shows_is_a_link(drawn: Benchmark, tmp_path: Path) -> None:
    ids = tuple(item.id for item in drawn)
    findings = [fact(ids, title="all"), fact(ids[:3], title="three", kind="other"), fact(ids[:2], kind="other")]
    page = page_of(drawn, audit_of(drawn, *findings), tmp_path / "page.html", 20, ItemsAt("http://127.0.0.1:1/?"))
    assert re.search(
        r'and 8\d more: see all <a class="items" href="http://127.0.0.1:1/\?finding=odd" data-items="96">96</a>', page
    )
    assert page.count('<article class="item">') == 20
    assert '?finding=other" data-items="3"' in page
    assert f'?id={ids[0]}&amp;id={ids[1]}" data-items="2"' in page  # another finding of its kind has more


def test_the_whole_story_is_told(drawn: Benchmark, tmp_path: Path) -> None:
    findings = [
        fact(("1", "2"), title="Two broken", verdict="drop", evidence={"1": "seen at one"}),
        fact(("3",), probe="duplicates", title="A pair", groups=(("3", "4"),)),
        fact((), title="B is right too often", severity="suspect", p=1 / 40_000, numbers={"positions": [1, 9, 2, 1]}),
        fact((), title="Length is fine", severity="suspect", p=0.3),
        fact((), title="Guessing scores 25.0", severity="note", numbers={"n": 96, "unknown": {"deep": [1, 2]}}),
    ]
    audit = audit_of(drawn, *findings, item_scores={"shortcut": {"1": 0.875}})
    words = " ".join("".join(Tags(page_of(drawn, audit, tmp_path / "page.html")).words).split())
    assert all(finding.title in words for finding in findings)
    assert "3 of 96 items need attention; 1 of 2 tests raised an alarm. Most serious: Two broken. A pair." in words
    for told in ("seen at one", "once in 40,000", "once in 20,000", "0.88", "unknown", "p = 0.3", "Passed"):
        assert told in words, told
    assert words.index("Two broken") < words.index("B is right too often") < words.index("Guessing scores")
    assert drawn.manifest.fingerprint in words


def test_a_sound_benchmark_is_called_so(drawn: Benchmark, tmp_path: Path) -> None:
    page = page_of(drawn, audit_of(drawn, fact((), severity="suspect", p=0.3)), tmp_path / "page.html")
    assert "Nothing needs attention among 96 items" in page
    assert "Needs attention" not in page
    untested = page_of(drawn, audit_of(drawn), tmp_path / "untested.html")
    assert "tests: not carried out" in untested
    assert "Nothing needs attention" not in untested


def test_a_group_is_shown_together_or_not_at_all() -> None:
    groups = (("1", "2"), ("3", "4", "5"), tuple(map(str, range(10, 30))))
    finding = fact(("2", "40"), groups=groups)
    assert audit_page.spread([finding], 100) == [[*groups, ("40",)]]
    assert audit_page.spread([finding], 4) == [[groups[0], ("40",)]]
    assert audit_page.spread([finding], 0) == [[]]


def test_missing_and_broken_images_leave_a_place(tmp_path: Path) -> None:
    benchmark = draw_benchmark(tmp_path / "b", items=8)
    first, second = benchmark.images.path(benchmark["0"].images[0]), benchmark.images.path(benchmark["1"].images[0])
    first.unlink()
    second.write_bytes(b"x" * benchmark["1"].images[0].size)
    page = page_of(benchmark, audit_of(benchmark, fact(("0", "1", "2", "gone"))), tmp_path / "page.html")
    assert page.count("<b>No image</b>") == 2
    assert len(Tags(page).images) == 1
    assert "This item is in another benchmark." in page


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16", "I", "F"])
def test_every_kind_of_pixel_becomes_a_thumbnail(mode: str, tmp_path: Path) -> None:
    drawn = Image.new(mode, (900, 300))
    data = io.BytesIO()
    drawn.save(data, "TIFF")
    with BenchmarkWriter(tmp_path / "b", Manifest(name="b")) as writer:
        image = writer.images.put(data.getvalue())
        writer.add(Item(id="1", question="?", images=(image,), references=("x",)))
    benchmark = Benchmark(tmp_path / "b")
    page = page_of(benchmark, audit_of(benchmark, fact(("1",))), tmp_path / "page.html")
    assert re.search('<image id="image-1" width="240" height="80"', page)


def test_a_page_of_many_noisy_images_stays_small_and_opens_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Image.Image] = []
    shrink = item_view.draw_small

    def counting(image: Image.Image, side: int) -> tuple[str, bytes]:
        opened.append(image)
        return shrink(image, side)

    monkeypatch.setattr(item_view, "draw_small", counting)
    rng = np.random.default_rng(0)
    with BenchmarkWriter(tmp_path / "b", Manifest(name="b")) as writer:
        for number in range(60):
            images = []
            for _ in range(4):
                data = io.BytesIO()
                Image.fromarray(rng.integers(0, 255, (256, 256, 3), dtype=np.uint8)).save(
                    data, "PNG", compress_level=0
                )
                images.append(writer.images.put(data.getvalue()))
            writer.add(
                Item(id=str(number), question="word " * 5_000, images=tuple(images), references=("long " * 2_000,))
            )
    benchmark = Benchmark(tmp_path / "b")
    audit = audit_of(benchmark, fact(tuple(item.id for item in benchmark), evidence={"1": "e" * 100_000}))
    page = page_of(benchmark, audit, tmp_path / "page.html")
    assert len(page) < 5 * 2**20
    assert 20 < len(opened) < 120
    assert page.count('<article class="item">') == 60
    assert "left out to keep this page small" in page


@pytest.mark.parametrize(
    ("numbers", "bars", "rest"),
    [
        ({}, 0, 0),
        ({"positions": [1, 2, 3], "expected": 2.0}, 1, 0),
        ({"positions": [1, 2, 3], "expected": 2.0, "options": ["a", "b", "c"], "n": 6}, 1, 1),
        ({"positions": [1, "2"], "expected": 1.0}, 0, 2),
        ({"positions": [0, 0], "expected": 0}, 1, 0),
        ({"positions": [np.int64(3), np.float64(2)], "expected": np.float64(2)}, 1, 0),
        ({"positions": [1, 2], "expected": float("nan")}, 0, 2),
        ({"by": {"x": {"n": 1}, "y": {"n": 2}}, "none": None, "object": object()}, 0, 3),
    ],
)
def test_numbers_are_drawn_where_they_can_be_and_listed_where_not(
    numbers: dict[str, Any], bars: int, rest: int, drawn: Benchmark, tmp_path: Path
) -> None:
    made = figures(numbers)
    assert [made.bars is not None, len(made.rest)] == [bars, rest]
    page = page_of(drawn, audit_of(drawn, fact((), numbers=numbers)), tmp_path / "page.html")
    assert page.count('<svg class="chart') == bars


@pytest.mark.parametrize(
    ("p", "words"),
    [
        (0.0, "less than once in a million"),
        (0.00025, "once in 4,000"),
        (1 / 200, "once in 200"),
        (0.1, "once in 10"),
        (0.31, "31 times in 100"),
        (1.0, "nearly always"),
    ],
)
def test_p_values_in_plain_words(p: float, words: str) -> None:
    assert odds(p) == words


def test_a_browser_opens_it_without_errors(
    hostile: tuple[Benchmark, Audit], browse: Browse, browser: Browser, tmp_path: Path
) -> None:
    control = tmp_path / "control.html"
    control.write_text("<img src='http://tracker.invalid/x.png'><script>console.error('error')</script>")
    _, errors, asked = browse(control)
    assert "error" in errors
    assert "http://tracker.invalid/x.png" in asked

    page_of(*hostile, tmp_path / "page.html")
    document, said, asked = browse(tmp_path / "page.html")
    assert "<h2>Method</h2>" in document
    assert said == []
    assert asked == []
