"""Everything that is known of a benchmark before its card is written: counted from its items, said, or on record."""

from collections import Counter
from typing import NamedTuple

from eyetest.benchmarks import Benchmark
from eyetest.benchmarks.folder import ITEMS
from eyetest.records import Item, Manifest, sorting_tags, tag_word
from eyetest.reports.dataset_card.statements import Licence, Statements
from eyetest.reports.refinements import RefinementHistory, Residual

_SOURCE_TAGS = ("source", "dataset")
_LICENCE_TAGS = ("licence", "license")


class CardLayout(NamedTuple):
    """How a benchmark lies in the folder that a card is for: what ``datasets`` opens, which first steps are shown."""

    data_files: str
    """What ``load_dataset`` opens; nothing where it opens nothing."""
    pictures_inside: bool
    has_croissant: bool = False


FOLDER = CardLayout(ITEMS, pictures_inside=False, has_croissant=True)
EXPORTS = {
    "lmms-eval": CardLayout("data/test-*.parquet", pictures_inside=True),
    "datasets": CardLayout("", pictures_inside=True),
}
"""By format: exports that are folders which people upload as they are."""


class SourceLicence(NamedTuple):
    """A dataset that items come from, how many do, and under what licence it is."""

    name: str
    items: int
    licence: Licence


class Known(NamedTuple):
    """What a card can rest on."""

    manifest: Manifest
    said: Statements
    refinement: RefinementHistory | None
    groups: dict[str, Counter[str]]
    """By tag: how many items have each of its values. Only tags that sort items into a few groups."""
    sources: list[SourceLicence]
    with_gold: int
    with_pictures: int
    changed: int
    """Items with a lineage of their own: made or mended out of others."""
    picture_formats: tuple[str, ...]
    layout: CardLayout = FOLDER

    @property
    def name(self) -> str:
        """How people call the benchmark."""
        return self.said.name or self.manifest.name

    @property
    def licence(self) -> Licence:
        """That of the whole: what a person said for the card, or else what the manifest says."""
        return Licence(self.said.licence or self.manifest.licence)

    @property
    def unlicensed(self) -> list[SourceLicence]:
        """Sources of which nobody said the licence."""
        return [source for source in self.sources if not source.licence.is_known]

    @property
    def left_blind(self) -> list[Residual]:
        """What is on record of how much is still answered without the pictures."""
        return self.refinement.left_blind if self.refinement else []

    @property
    def chance(self) -> float | None:
        """What choosing at random gives on the choice items."""
        counts = self.manifest.counts
        if not counts.choice_items:
            return None
        return sum(items / int(options) for options, items in counts.options.items()) / counts.choice_items


def survey(benchmark: Benchmark, said: Statements, refinement: RefinementHistory | None) -> Known:
    """Read all items once or twice, no picture, and count what a card tells."""
    tags = sorting_tags(benchmark)
    groups: dict[str, Counter[str]] = {tag: Counter() for tag in tags}
    sources: dict[str, Counter[str]] = {}
    formats: set[str] = set()
    with_gold = with_pictures = changed = 0
    for item in benchmark:
        for tag in tags:
            groups[tag][tag_word(item.tags.get(tag)) or ""] += 1
        for name in _sources(item, benchmark.manifest):
            sources.setdefault(name, Counter())[_word(item, _LICENCE_TAGS)] += 1
        formats.update(image.format for image in item.images)
        with_gold += item.has_gold
        with_pictures += bool(item.images)
        changed += bool(item.lineage)
    counts = (with_gold, with_pictures, changed, tuple(sorted(formats)))
    return Known(benchmark.manifest, said, refinement, groups, _licensed(sources, said), *counts)


def _sources(item: Item, manifest: Manifest) -> set[str]:
    """The datasets that an item comes from: its tag, and whatever its lineage names beside the benchmark itself."""
    steps = [step.source for step in manifest.lineage]
    own = {manifest.name, *steps, *(source.rpartition(" ")[0] for source in steps)}
    named = {step.source for step in item.lineage if step.source} - own
    return {name for name in (_word(item, _SOURCE_TAGS), *named) if name}


def _word(item: Item, tags: tuple[str, ...]) -> str:
    return next((word for tag in tags if (word := tag_word(item.tags.get(tag)))), "")


def _licensed(sources: dict[str, Counter[str]], said: Statements) -> list[SourceLicence]:
    """Sources with what was said of them; else with what their items say, one line a licence."""
    rows = []
    for name, told in sources.items():
        counts = Counter({said.sources[name]: told.total()}) if name in said.sources else told
        rows += [SourceLicence(name, items, Licence(licence)) for licence, items in counts.items()]
    rows += [SourceLicence(name, 0, Licence(word)) for name, word in said.sources.items() if name not in sources]
    return sorted(rows, key=lambda source: (-source.items, source))
