"""Every number on a page that stands for items leads to exactly as many of them."""

from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from eyetest_world import load_rates, new_world
from eyetest_world.demo.folder import world_recipes
from eyetest_world.toy_models.cards import cards

import eyetest as et
from eyetest.errors import InputError
from eyetest.pages.item_links import ItemCount, ItemsAt, Query, items_at, parse_query
from eyetest.studio.collection import Collection
from tests.reports.pages import HOSTILE, Browse, Tags
from tests.studio.app.conftest import hostile as hostile

pytestmark = pytest.mark.journey

ITEMS = 90
QUICK = [
    "malformed",
    "positions",
    "duplicate-items",
    "duplicate-images",
    "surface-cues",
    "named-answer",
    "option-order",
]
SERVED = "http://127.0.0.1:8765/?"


class Links(HTMLParser):
    """The links of a page that say for how many items they stand."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.counts: list[tuple[str, int]] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        own = dict(attrs)
        if tag == "a" and (said := own.get("data-items")):
            self.counts.append((own["href"] or "", int(said)))

    def follow(self, collection: Collection, before: str = SERVED) -> set[str]:
        """Follow all of them; gives the keys by which they say what they mean."""
        assert self.counts
        for href, items in self.counts:
            assert href.startswith(before), href
            view = collection.view(parse_query(href.removeprefix(before)))
            assert len(view) == items, href
        every = "&".join(href.removeprefix(before) for href, _ in self.counts)
        return {part.partition("=")[0] for part in every.split("&")}


class Studio(NamedTuple):
    """A small world, what models answered, and what became of its items."""

    folder: Path
    run: Path
    refined: Path

    @property
    def bench(self) -> Path:
        return self.folder / "w" / "benchmark"


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Studio:
    folder = tmp_path_factory.mktemp("studio")
    new_world(folder / "w", load_rates("default"), items=ITEMS)
    (folder / "models.yaml").write_text(scripted_models())
    (folder / "recipe.yaml").write_text(world_recipes()["everything"])
    bench, models = folder / "w" / "benchmark", folder / "models.yaml"
    et.run(bench, models=models, condition="no-image-guess", samples=5, temperature=1.0, to=folder / "run")
    et.run(bench, models=models, condition="image", to=folder / "run")
    et.refine(bench, recipe=folder / "recipe.yaml", models=models, answers=folder / "run", to=folder / "refined")
    return Studio(folder, folder / "run", folder / "refined")


def scripted_models() -> str:
    """The demo's models by their names, answering by script."""
    rows = {
        name: {"spec": f"scripted:right={0.35 + 0.04 * n:.2f},blind=0.3,seed={n}"}
        | ({"base": card.base} if card.base else {})
        for n, (name, card) in enumerate(cards().items())
    }
    return yaml.safe_dump(rows)


def test_numbers_of_a_refinement_lead_to_their_items(studio: Studio) -> None:
    page = studio.refined / "report.html"
    collection = Collection([studio.bench, studio.run, studio.refined])
    keys = Links(page).follow(collection)
    assert 0 < len(collection.view(Query(verdict="kept"))) < ITEMS
    assert keys >= {"stage", "verdict"}
    assert f"eyetest open {studio.bench} {studio.run} {studio.refined}" in page.read_text()


def test_numbers_of_an_audit_lead_to_their_items(studio: Studio) -> None:
    page = studio.folder / "audit.html"
    et.audit(studio.bench, probe=QUICK, page=page)
    findings = studio.folder / "audit-findings.json"
    collection = Collection([studio.bench, findings])
    keys = Links(page).follow(collection)
    assert keys >= {"finding", "id", "gold", "options"}
    assert f"eyetest open {studio.bench} {findings}" in page.read_text()
    with pytest.raises(InputError, match="already there"):
        et.audit(studio.bench, probe=QUICK[:1], page=page)


def test_numbers_of_a_report_lead_to_their_items(studio: Studio) -> None:
    page = studio.folder / "report.html"
    et.report([studio.run, studio.refined], page=page)
    collection = Collection([studio.run, studio.refined])
    keys = Links(page).follow(collection)
    assert keys >= {"benchmark", "stage", "verdict", "tag.axis", "id"}
    et.report(studio.run, page=page, overwrite=True)
    keys = Links(page).follow(Collection([studio.run]))
    assert keys >= {"", "tag.axis"}
    assert "&lt;a class" not in page.read_text()
    assert "benchmark" not in keys


@pytest.mark.parametrize(
    ("said", "before", "command"),
    [
        (None, SERVED, "eyetest open 'my run'"),
        ("http://127.0.0.1:9000", "http://127.0.0.1:9000/?", ""),
        ("https://lab.example/items/", "https://lab.example/items/?", ""),
        ("pages/items", "items/index.html#", "eyetest open 'my run' --bundle pages/items"),
        ("other/a b", "../other/a%20b/index.html#", "eyetest open 'my run' --bundle 'other/a b'"),
    ],
)
def test_where_numbers_lead(said: str | None, before: str, command: str) -> None:
    at = items_at(said, Path("pages/report.html"), [Path("my run")])
    assert (at.before, at.command) == (before, command)
    assert at.is_bundle == before.endswith("#")


@pytest.mark.parametrize("said", ["http://", "http://a:b/", "https://x/?text=a", "http://x/#a", "http://me:pw@x/"])
def test_an_address_that_is_none_is_refused(said: str) -> None:
    with pytest.raises(InputError, match="expected http://HOST:PORT/"):
        items_at(said, Path("report.html"), [])


def test_a_number_is_a_link_only_where_there_is_something_to_see() -> None:
    at = ItemsAt("items/index.html#")
    assert ItemCount(1234).__html__() == "1,234"
    assert at.count(0, Query(verdict="drop")).__html__() == "0"
    assert at.count(1234, Query(verdict="drop")).__html__() == (
        '<a class="items" href="items/index.html#verdict=drop" data-items="1234">1,234</a>'
    )
    assert at.named(map(str, range(5_000))) == ItemCount(5_000)
    assert at.named(["x" * 40_000, "y" * 40_000]) == ItemCount(2)


def test_links_with_hostile_names_are_followed(hostile: Collection, tmp_path: Path, browse: Browse) -> None:
    bench = next(iter(hostile.benchmarks.values())).path
    run = bench.parent / "run"
    et.report(run, page=tmp_path / "report.html", by=["kind"])
    et.audit(bench, probe=QUICK[:4], page=tmp_path / "audit.html")
    both = Collection([run, tmp_path / "audit-findings.json"])
    for page in ("report.html", "audit.html"):
        assert Links(tmp_path / page).follow(both)
        Tags((tmp_path / page).read_text()).check_inert(SERVED, "data:text/csv")
        document, said, asked = browse(tmp_path / page)
        assert (said, asked) == ([], [])
        assert "data-items" in document
    hrefs = [href for href, _ in Links(tmp_path / "report.html").counts]
    assert any("tag.kind=%3Cscript%3E" in href for href in hrefs)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_in_a_link_is_no_more_than_a_name(name: str) -> None:
    query = Query(tags=((name, name),), stage=name, ids=(name, "b"))
    count = ItemsAt(SERVED).count(2, query)
    assert parse_query(count.href.removeprefix(SERVED)) == query
    assert not set("<>\"' \n") & set(count.href)
    assert count.__html__().count("<") == 2
