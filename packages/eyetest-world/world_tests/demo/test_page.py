"""The page about a world: its numbers are those of the verdicts, and no dataset has a say in what it does."""

from pathlib import Path

import msgspec
import pytest
import yaml
from eyetest_world import FLAWS, load_rates, new_world, read_truth
from eyetest_world.demo.page import write_world_page
from eyetest_world.demo.story import Tried, WorldStory
from eyetest_world.toy_models.cards import cards

import eyetest as et
from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.models import read_models
from eyetest.records import Verdict
from eyetest.results.gather import results_of
from eyetest.scoring import Scorer
from tests.reports.pages import HOSTILE, Tags
from tests.support.accessibility import check_light_and_still
from tests.support.browser import Browser

pytestmark = pytest.mark.journey

ITEMS = 90
ABOUT = {"folder": HOSTILE[0], "subsets": "200", "world": HOSTILE[1]}


def hostile(bench: Benchmark, to: Path) -> Benchmark:
    """The same items, whose texts want to be more than texts."""
    with BenchmarkWriter(to, bench.manifest) as writer:
        for place, item in enumerate(bench):
            question = f"{item.question} {HOSTILE[place % len(HOSTILE)]}"
            writer.adopt(msgspec.structs.replace(item, question=question), bench)
    return Benchmark(to)


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> WorldStory:
    """A screen that finds all doubtful golds, half of what leaked, and blames one good item."""
    place = tmp_path_factory.mktemp("world")
    bench = hostile(new_world(place / "w", load_rates("default"), items=ITEMS), place / "b")
    fresh = new_world(place / "f", load_rates("none"), items=ITEMS, seed=8)
    rows = {
        name: {"spec": f"scripted:right={0.4 + 0.04 * n:.2f},blind=0.3,seed={n}"}
        | ({"base": card.base} if card.base else {})
        for n, (name, card) in enumerate(cards().items())
    }
    (place / "models.yaml").write_text(yaml.safe_dump(rows))
    asked = et.run(bench, models=place / "models.yaml", condition="image,no-image-guess", to=place / "run")
    seen = et.run(fresh, models=place / "models.yaml", condition="image,no-image-guess", to=place / "seen")
    truths, models = read_truth(place / "w"), read_models(place / "models.yaml")
    leaked = [truth.item for truth in truths if "leaked-to-lvlms" in truth.flaws]
    clean = next(truth.item for truth in truths if not truth.flaws and truth.item not in {t.twin for t in truths})
    gone = {*leaked[::2], clean, *(truth.item for truth in truths if "wrong-gold" in truth.flaws)}
    verdicts = [
        Verdict(item=t.item, stage="leaks", verdict="drop" if t.item in gone else "keep", reason=HOSTILE[2])
        for t in truths
    ]
    good = [
        Verdict(item=f"f{n}", stage="leaks", verdict="drop" if n < 3 else "keep", reason="") for n in range(ITEMS)
    ]
    doubts = [
        Verdict(item=t.item, stage="wrong-gold", verdict="review" if "wrong-gold" in t.flaws else "keep", reason="")
        for t in truths
    ]
    tried = [
        Tried("golds", "all that it is made for", "", doubts, on_flawless=good),
        Tried("leaks", HOSTILE[3], HOSTILE[4], verdicts, 2.4, HOSTILE[5], good),
    ]
    kept = [truth.item for truth in truths if truth.item not in gone]
    corrupted, skill = (results_of([run], Scorer(), models=models) for run in (asked, seen))
    return WorldStory(bench, truths, tried, kept, [asked], corrupted, skill, calls=7)


@pytest.fixture(scope="module")
def page(story: WorldStory, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("page") / "report.html"
    write_world_page(story, ABOUT, place)
    return place


def test_what_comes_from_outside_stays_text(page: Path) -> None:
    tags = Tags(page.read_text())
    tags.check_inert()
    words = "".join(tags.words)
    for text in HOSTILE[:5]:
        assert text in words


def test_each_planted_error_is_found_or_missed_with_a_reason(story: WorldStory, page: Path) -> None:
    words = " ".join("".join(Tags(page.read_text()).words).split())
    assert {kind.flaw for kind in story.kinds} == {*story.flaws}
    for kind in story.kinds:
        assert not set(kind.found) & set(kind.missed)
        assert {*kind.found, *kind.missed} == {*kind.planted} == {*story.planted(kind.flaw)}
        assert sum(kind.finders.values()) == len(kind.found)
        assert kind.has_filter == (kind.flaw == "leaked-to-lvlms"), "the last recipe looks for nothing else"
        assert f"{kind.flaw}{FLAWS[kind.flaw]}" in words
    unsought = sum(len(kind.missed) for kind in story.kinds if not kind.has_filter)
    assert f"Of the missed ones, {unsought} are of kinds for which there is no filter" in words
    assert words.count("No filter looks for this kind.") == sum(
        bool(kind.missed) for kind in story.kinds if not kind.has_filter
    )
    (leaks,) = [kind for kind in story.kinds if kind.has_filter]
    assert story.recall.value == len(leaks.found) / len(leaks.planted)


def test_a_plain_count_stands_beside_each_filter(story: WorldStory) -> None:
    golds, leaks = story.plain_counts
    assert golds.found == golds.planted == golds.flagged == len(story.planted("wrong-gold"))
    assert leaks.planted == len(story.planted("leaked-to-lvlms"))
    assert 0 <= golds.by_count < golds.found
    assert golds.is_better


def test_the_page_is_accessible_light_and_still(page: Path, browser: Browser) -> None:
    check_light_and_still(browser, page, most_bytes=1_500_000)
